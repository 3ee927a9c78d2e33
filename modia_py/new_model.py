"""What `modia new` writes: a small model to start from."""

from __future__ import annotations

import shlex
from pathlib import Path

from .model_reference import UsageError

DEFAULT_FILE = "model.py"
TEXT = '''"""A mass on a spring, to start from: change the equations, run it again.

    python {file}
    modia simulate {file}:Oscillator --stop 5 -p c=80 --plot oscillator.png
"""

from modia_py import Model, Par, Var, der, simulate


class Oscillator(Model):
    """A mass on a spring with a damper, pushed aside and let go."""

    # Data: other values need no new translation.
    m = Par(1.0, nonzero=True, unit="kg", doc="mass")
    c = Par(40.0, unit="N/m", doc="stiffness of the spring")
    d = Par(0.5, unit="N.s/m", doc="damping")

    # Unknowns: init is a start value that holds.
    s = Var(init=0.1, unit="m", doc="position")
    v = Var(init=0.0, unit="m/s", doc="velocity")
    energy = Var(unit="J", doc="of the motion and in the spring")

    def equations(self):
        # As many as unknowns, in any order and in any form.
        return [
            der(self.s) == self.v,
            self.m * der(self.v) == -self.c * self.s - self.d * self.v,
            self.energy == self.m * self.v**2 / 2 + self.c * self.s**2 / 2,
        ]


if __name__ == "__main__":
    result = simulate(Oscillator(), stop_time=5.0)
    print(result)
    result.plot("s", "v", "energy", file="oscillator.png")
    print("oscillator.png is drawn")
'''


def write_new_model(file: str) -> str:
    """Write the model to a file that is not there yet; what to do with it."""
    path = Path(file if file.endswith(".py") else f"{file}.py")
    if path.exists():
        raise UsageError(f"{path} is there already: name another file, modia new NAME.py.")
    if not path.resolve().parent.is_dir():
        raise UsageError(f"There is no folder {path.parent} for {path}.")
    path.write_text(TEXT.format(file=path))
    typed = shlex.quote(str(path))
    return (
        f"{path} is a model of a mass on a spring. Simulate it:\n\n"
        f"  modia simulate {typed} --stop 5 --plot oscillator.png\n"
        f"  modia report {typed}\n"
        f"  python {typed}"
    )

"""From a new process to a first result: processor and wall seconds, without and with the disk cache.

    python benchmarks/first_plot.py [case ...]      all cases, or some: see CASES
    python benchmarks/first_plot.py --quick         without the longest

Each case runs in a process of its own, with a directory of its own for compiled programs: first empty, then
again. In case `changed` the second process simulates another model of the same size. `first` is the first
`simulate` (translation included), without imports, in brackets in processor time; `process` is all of it.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

LONG = {"rod 1000000", "ladder 100000"}
TIMES = {"rod 1000000": 11, "ladder 100000": 51}
"""Times of output; 501 elsewhere. All values of a million cells at 501 times are 4 GB."""
CASES = [
    "decay", "readme", "changed",
    *(f"light {n}" for n in (50, 100, 400, 1000, 2000)), *(f"heavy {n}" for n in (10, 100, 200, 1000)),
    *(f"arm {n}" for n in (2, 3, 6, 24)), "loop", "quaternion",
    "rod 100", "rod 100000", "rod 1000000", "ladder 10000", "ladder 100000", "chain 1000",
]  # fmt: skip


def many_equations(count: int, depth: int) -> Any:
    """Equations that all differ: random expressions of a depth, in four neighbours."""
    import numpy as np

    from modia_py import Model, Var, der

    functions: list[Callable[[Any], Any]] = [
        np.sin, np.cos, np.tanh, np.arctan, np.arcsinh, lambda z: np.exp(-z * z), lambda z: z / (1 + z * z),
        lambda z: np.sqrt(1 + z * z), lambda z: np.log(1 + z * z),
    ]  # fmt: skip
    rng = random.Random(1)

    def expression(leaves: list[Any], depth: int) -> Any:
        if depth == 0:
            return rng.choice(leaves)
        a, kind, f = expression(leaves, depth - 1), rng.randrange(4), rng.choice(functions)
        if kind == 0:
            return f(a)
        b = expression(leaves, depth - 1)
        if kind == 1:
            return a + rng.choice([0.3, 0.5, 0.7]) * b
        return a * f(b) if kind == 2 else f(a - b)

    class Many(Model):
        def __init__(self) -> None:
            super().__init__()
            for k in range(count):
                setattr(self, f"x{k}", Var(init=0.1 + 0.8 * k / count))

        def equations(self) -> Any:
            x = [getattr(self, f"x{k}") for k in range(count)]
            near = [[x[(k + j) % count] for j in (-1, 0, 1, 2)] for k in range(count)]
            return [der(x[k]) == 0.2 * np.tanh(expression(near[k], depth)) - x[k] for k in range(count)]

    return Many()


def changing(equations: str) -> Any:
    """Two models of the same size with different equations."""
    import numpy as np

    from modia_py import Model, Par, Var, der

    class Changing(Model):
        a = Par(1.0)
        b = Par(2.0)
        x = Var(init=1.0)
        y = Var(init=0.5)
        z = Var()

        def equations(self) -> Any:
            x, y, a, b = self.x, self.y, self.a, self.b
            if equations == "second":
                return [
                    der(x) == -np.tanh(y) * a,
                    der(y) == y * np.exp(-x) * b,
                    self.z == x**2 + 3.1 * a * y,
                ]
            return [der(x) == -y * np.sin(x) * a, der(y) == x - y * b, self.z == x * y]

    return Changing()


def model_of(case: str) -> tuple[Any, float]:
    kind, _, size = case.partition(" ")
    if kind in ("light", "heavy"):
        return many_equations(int(size), 2 if kind == "light" else 4), 1.0
    if kind == "arm":
        from spatial_arm import Arm

        return Arm(int(size)), 1.0
    if kind in ("loop", "quaternion"):
        from spatial_loop import FourBar, QuaternionPendulum

        return (FourBar if kind == "loop" else QuaternionPendulum)(), 1.0
    if kind == "changed":
        return changing(size), 1.0
    if kind == "chain":
        from certificate import PendulumChain

        return PendulumChain(int(size)), 0.5
    from modia_py.models.examples import Decay, HeatRod, Ladder, SlidingMass

    models = {"decay": Decay, "readme": SlidingMass, "rod": HeatRod, "ladder": Ladder}
    return models[kind](*([int(size)] if size else [])), 1.0


def measure(case: str) -> None:
    """In a process of its own: one line of JSON."""
    import resource

    import modia_py

    model, stop = model_of(case)
    wall, processor = time.perf_counter(), time.process_time()
    sim, times = modia_py.translate(model), TIMES.get(case, 501)
    result = sim.simulate(stop, times=times)
    if case == "readme":
        result.plot("s", "v").savefig(os.devnull, format="png")
    first = time.perf_counter() - wall, time.process_time() - processor
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # of the first run alone
    warm = []
    for _ in range(5 if first[0] < 20 else 1):
        began = time.perf_counter()
        sim.simulate(stop, times=times)
        warm.append(time.perf_counter() - began)
    print(
        json.dumps(
            {
                "first": first,
                "process": (time.time() - float(os.environ["BEGAN"]) - sum(warm), None),
                "warm": min(warm),
                "x": sim.translation.functions.size,
                "parts": {name: round(value, 3) for name, value in result.stats.seconds.items()},
                "memory": memory,
            }
        )
    )


def main() -> None:
    chosen = [case for case in sys.argv[1:] if not case.startswith("-")]
    names = chosen or [case for case in CASES if "--quick" not in sys.argv or case not in LONG]
    titles = "case", "x", "first (cpu)", "process", "cached: first", "process", "warm", "GB"
    print("{:15} {:>8} {:>18} {:>8} {:>15} {:>8} {:>8} {:>5}".format(*titles))
    for case in names:
        with tempfile.TemporaryDirectory() as directory:
            found = []
            for turn in ("first", "second"):
                environment = {**os.environ, "MODIA_PY_CACHE": directory, "BEGAN": str(time.time())}
                own = f"{case} {turn}" if case == "changed" else case
                command = [sys.executable, __file__, "--case", own]
                done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
                if done.returncode:
                    print(f"{case:15} failed: {done.stderr.strip().splitlines()[-1:]}")
                    break
                found.append(json.loads(done.stdout.splitlines()[-1]))
            else:
                new, again = found
                print(
                    f"{case:15} {new['x']:8d} {new['first'][0]:9.2f} ({new['first'][1]:6.2f}) "
                    f"{new['process'][0]:8.2f} {again['first'][0]:6.2f} ({again['first'][1]:6.2f}) "
                    f"{again['process'][0]:8.2f} {1e3 * new['warm']:6.1f}ms {new['memory']:5.2f}  "
                    f"{new['parts']}",
                    flush=True,
                )


if __name__ == "__main__":
    if "--case" in sys.argv:
        measure(sys.argv[sys.argv.index("--case") + 1])
    else:
        main()

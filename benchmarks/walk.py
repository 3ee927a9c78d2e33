"""How much code a repeated run goes through: files and functions of the project, counted.

    python benchmarks/walk.py [--list]

Two walks of the sliding mass: `simulate(SlidingMass(), 2.0)["f"]`, where the model is elaborated and found
again, and `sim.simulate(2.0)["f"]` of a translated model. Comprehensions and lambdas are counted apart.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import modia_py
from modia_py import simulate, translate
from modia_py.models.examples import SlidingMass

ROOTS = {str(Path(path).parent) for path in (modia_py.__file__,)} | {
    str(Path(module.__file__).parent)
    for name, module in list(sys.modules.items())
    if name in ("modia_py.arrays", "modia_py.solvers", "modia_py.models") and module.__file__
}


def walk(run: Callable[[], Any]) -> dict[str, set[str]]:
    """Functions met in a run that was made before, by file."""
    run(), run()
    met: dict[str, set[str]] = defaultdict(set)

    def note(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and any(code.co_filename.startswith(root) for root in ROOTS):
            met[code.co_filename].add(code.co_qualname)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return met


def main() -> None:
    sim = translate(SlidingMass())
    walks = {
        'simulate(SlidingMass(), 2.0)["f"]': lambda: simulate(SlidingMass(), 2.0)["f"],
        'sim.simulate(2.0)["f"]': lambda: sim.simulate(2.0)["f"],
    }
    for name, run in walks.items():
        met = walk(run)
        functions = [function for names in met.values() for function in names]
        named = [function for function in functions if not function.endswith(">")]
        print(f"{name}: {len(met)} files, {len(named)} functions, {len(functions)} with nested expressions")
        if "--list" in sys.argv:
            for file in sorted(met):
                print(f"    {file}: {', '.join(sorted(met[file]))}")


if __name__ == "__main__":
    main()

"""A repeated `simulate`: what it takes, and how much of that is integration.

    python benchmarks/repeat.py [case ...]      all cases, or some: see CASES

Milliseconds, the least of many runs of a model that was translated, compiled and run before with the same
data: of the processor, of a clock on the wall, and by this clock of the integration and of all besides
(start, stops, output between steps, certificate). `changed` is a run with one parameter changed each time,
in processor time.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

CASES = ["mass", "rod 100", "amplifier", "arm 6", "light 100", "light 400"]
SECONDS = 1.0
"""Of runs for each figure."""


def model_of(case: str) -> tuple[Any, float, str]:
    """A model, where its run ends, and a parameter that may be changed."""
    from first_plot import model_of as first_model_of

    from modia_py.models.examples import HeatRod, SlidingMass

    if case == "mass":
        return SlidingMass(), 2.0, "d"
    if case == "rod 100":
        return HeatRod(100), 1.0, "G"
    if case == "amplifier":
        from tests.testset_models import Amplifier

        return Amplifier(), 0.2, ""
    return (*first_model_of(case), "")


def least(call: Any) -> tuple[list[float], Any]:
    """Milliseconds of a run, each the least of many: processor, wall, integration, besides; and the run."""
    call(0)
    rows, end = [], time.process_time() + SECONDS
    while time.process_time() < end:
        processor, wall = time.process_time(), time.perf_counter()
        found = call(len(rows))
        processor, wall = time.process_time() - processor, time.perf_counter() - wall
        integration = found.stats.seconds["integrate"]
        rows.append((processor, wall, integration, wall - integration))
    return [1e3 * min(column) for column in zip(*rows, strict=True)], found


def main() -> None:
    import modia_py

    titles = "case", "x", "processor", "wall", "integration", "besides", "changed", "steps", "a step"
    print("{:12} {:>6} {:>9} {:>9} {:>12} {:>9} {:>9} {:>7} {:>8}".format(*titles))
    for case in sys.argv[1:] or CASES:
        model, stop, parameter = model_of(case)
        sim = modia_py.translate(model)
        times, found = least(lambda _, sim=sim, stop=stop: sim.simulate(stop))
        changed = float("nan")
        if parameter:
            value = float(found[parameter])

            def other(
                number: int, sim: Any = sim, stop: float = stop, given: Any = (parameter, value)
            ) -> Any:
                return sim.simulate(stop, params={given[0]: given[1] * (1 + 1e-3 * (number % 7))})

            changed = least(other)[0][0]
        steps = found.stats.steps
        print(
            "{:12} {:6d} {:9.2f} {:9.2f} {:12.2f} {:9.2f} {:9.2f} {:7d} {:5.1f} us".format(
                case, sim.translation.functions.size, *times, changed, steps, 1e3 * times[2] / steps
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()

"""A repeated `simulate`: what it takes, and how much of that is integration.

    python benchmarks/repeat.py [case ...]      all cases, or some: see CASES

Times are processor milliseconds, the least of many runs of a model that was translated, compiled and run
before with the same data. `besides` is all but the integration: start, stops, output between steps,
certificate. `changed` is a run with one parameter changed each time.
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


def least(call: Any) -> tuple[float, float, Any]:
    """Processor milliseconds of a run, those of its integration, and the run."""
    best, integration, found = 1e9, 1e9, call(0)
    end = time.process_time() + SECONDS
    number = 1
    while time.process_time() < end:
        began = time.process_time()
        found = call(number)
        best = min(best, time.process_time() - began)
        integration = min(integration, found.stats.seconds["integrate"])
        number += 1
    return 1e3 * best, 1e3 * integration, found


def main() -> None:
    import modia_py

    titles = "case", "x", "run", "integration", "besides", "changed", "steps", "a step"
    print("{:12} {:>6} {:>9} {:>12} {:>9} {:>9} {:>7} {:>8}".format(*titles))
    for case in sys.argv[1:] or CASES:
        model, stop, parameter = model_of(case)
        sim = modia_py.translate(model)
        run, integration, found = least(lambda _, sim=sim, stop=stop: sim.simulate(stop))
        changed = float("nan")
        if parameter:
            value = float(found[parameter])

            def other(
                number: int, sim: Any = sim, stop: float = stop, given: Any = (parameter, value)
            ) -> Any:
                return sim.simulate(stop, params={given[0]: given[1] * (1 + 1e-3 * (number % 7))})

            changed = least(other)[0]
        steps = found.stats.steps
        print(
            f"{case:12} {sim.translation.functions.size:6d} {run:6.2f} ms {integration:9.2f} ms "
            f"{run - integration:6.2f} ms {changed:6.2f} ms {steps:7d} {1e3 * integration / steps:5.1f} us",
            flush=True,
        )


if __name__ == "__main__":
    main()

"""Inline integration beside the plain method: unknowns that are iterated, steps, and processor time.

    python benchmarks/inline.py [--examples] [name ...]

The robot of `mechatronic_robot.py` for half a second and for four: steps, iterations, and the time of the
processor in the integrator, the least of five runs, with the whole iteration matrix sparse and dense.

With `--examples`, the examples of the repository and the test set as models (or those that are named):
steps of both methods, and how far apart results are at the end, in units of the tolerance, of the largest
values of each variable.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from modia_py import translate
from modia_py.models import examples, mechanisms, modelica_examples, switched_examples
from modia_py.simulation import run

sys.path.insert(0, str(Path(__file__).parent.parent))
from mechatronic_robot import MechatronicRobot

from tests import test_testset_models as testset

STOPS = {
    examples: {"SlidingMass": 2.0, "Pendulum": 10.0, "HeatRod": 20.0, "Ladder": 1.0, "Decay": 1.0},
    switched_examples: {
        "FullWaveRectifier": 0.06, "BuckConverter": 1e-2, "SixPulseBridge": 0.02, "StickSlip": 6.0,
        "CoulombOscillator": 3.0, "EngagingShafts": 2.0, "Thermostat": 6.0, "SampledMotor": 0.2,
    },
    modelica_examples: {
        "CoupledClutches": 1.5, "Friction": 3.0, "ElastoGap": 1.0, "Rectifier": 0.1,
        "IdealTriacCircuit": 2.0, "ClockedWithDiscreteController": 5.0,
    },
    mechanisms: {"Pendulum": 10.0, "DoublePendulum": 10.0, "SliderCrank": 2.0, "FourBar": 2.0},
}  # fmt: skip


def all_examples() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Name, model, and the options of its run."""
    for library, stops in STOPS.items():
        for name, stop in stops.items():
            full = f"{name} ({library.__name__.split('.')[-1]})" if name == "Pendulum" else name
            yield full, getattr(library, name)(), {"stop_time": stop}
    for name, case in testset.CASES.items():
        yield name, case.model(), {
            "stop_time": case.stop, "start_time": case.start, "inputs": case.inputs,
            "rtol": testset.RTOL, "atol": case.atol,
        }  # fmt: skip


def apart(one: Any, other: Any, rtol: float) -> float:
    """The largest difference at the end in units of the tolerance."""
    largest = 0.0
    for variable in one.variables:
        values = np.asarray(one[variable], float)
        off = np.abs(np.asarray(one.final(variable), float) - np.asarray(other.final(variable), float))
        tolerance = rtol * np.abs(values).max(initial=0.0) + 1e-3 * rtol
        largest = max(largest, float(np.max(off, initial=0.0)) / tolerance)
    return largest


def compare(name: str, model: Any, options: dict[str, Any]) -> None:
    """One line."""
    sim = translate(model)
    results, seconds = [], []
    for method in ("bdf", "inline-bdf"):
        sim.simulate(**options, method=method, progress=False)
        began = time.process_time()
        results.append(sim.simulate(**options, method=method, progress=False))
        seconds.append(1e3 * (time.process_time() - began))
    one, other = results
    found = sim.translation.discretized
    what = found[:40] if isinstance(found, str) else f"{len(found.tears):4} of {sum(found.sizes):4}"
    ratio = other.stats.steps / max(one.stats.steps, 1)
    off = apart(one, other, options.get("rtol", 1e-6))
    whole = other.stats.work.corrected_whole if hasattr(other.stats, "work") else ""
    print(
        f"{name:30}{what:>14}{one.stats.steps:8}{other.stats.steps:8}{ratio:7.3f}{off:9.2g}"
        f"{seconds[0]:9.1f}{seconds[1]:9.1f}  {whole}",
        flush=True,
    )


def robot() -> None:
    """The example of the paper."""
    sim = translate(MechatronicRobot())
    found = sim.translation.discretized
    assert not isinstance(found, str)
    print(
        f"equations {sim.flat.size}, unknowns {sim.translation.functions.size}, iterated {len(found.tears)}"
    )
    print(f"operations with formulas: {found.operations}")
    methods = (("bdf", "auto"), ("bdf", "dense"), ("inline-bdf", "dense"))
    for stop in (0.5, 4.0):
        print(f"{stop} seconds")
        best = dict.fromkeys(methods, np.inf)
        for count in range(6):  # in turns: what else the machine does is the same for all of them
            for method in methods:
                result, seconds = timed(sim, stop, *method)
                if count:
                    best[method] = min(best[method], seconds)
                if count == 5:
                    print(f"  {method[0]:10} {method[1]:6} {line(result.stats, best[method])}")


def timed(sim: Any, stop: float, method: str, solver: str) -> tuple[Any, float]:
    """A result, and seconds of the processor in the integrator."""
    spent = []

    def solve(*given: Any, **options: Any) -> Any:
        began = time.process_time()
        found = own(*given, **options)
        spent.append(time.process_time() - began)
        return found

    own, run.solve = run.solve, solve
    try:
        result = sim.simulate(stop, method=method, linear_solver=solver, progress=False)
    finally:
        run.solve = own
    return result, sum(spent)


def line(stats: Any, seconds: float) -> str:
    return (
        f"{stats.steps} steps, {stats.rejected} rejected, {stats.residuals} iterations, "
        f"{stats.jacobians} matrices, {1e3 * seconds:.1f} ms, {1e6 * seconds / stats.steps:.1f} us a step"
    )


def main(arguments: list[str]) -> None:
    names = [name for name in arguments if not name.startswith("--")]
    if not arguments:
        robot()
    if "--examples" in arguments or names:
        print(f"{'':30}{'iterated':>14}{'steps':>8}{'inline':>8}{'ratio':>7}{'apart':>9}{'ms':>9}{'ms':>9}")
        for name, model, options in all_examples():
            if not names or name in names:
                try:
                    compare(name, model, options)
                except Exception as error:
                    print(f"{name:30} {type(error).__name__}: {str(error)[:100]}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

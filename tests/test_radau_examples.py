"""Examples by Radau IIA end where they end by BDF."""

from __future__ import annotations

import numpy as np
import pytest

from modia_py import translate
from modia_py.models import examples, switched_examples

QUICK = {"Pendulum": 4.0}
LONG = {
    "SlidingMass": 2.0,
    "HeatRod": 20.0,
    "Ladder": 1.0,
    "Decay": 1.0,
    "StickSlip": 6.0,
    "SixPulseBridge": 0.02,
    "EngagingShafts": 2.0,
    "Thermostat": 6.0,
    "SampledMotor": 0.2,
}
CASES = [*QUICK.items(), *(pytest.param(*case, marks=pytest.mark.slow) for case in LONG.items())]


@pytest.mark.parametrize(("name", "stop"), CASES)
def test_examples_end_where_they_end_by_the_other_method(name, stop):
    library = examples if hasattr(examples, name) else switched_examples
    sim = translate(getattr(library, name)())
    one, other = (sim.simulate(stop, method=method, progress=False) for method in ("bdf", "radau"))
    assert other.stats.method.startswith("radau")
    assert other.stats.steps < one.stats.steps
    for variable in one.variables:
        first, second = np.asarray(one.final(variable), float), np.asarray(other.final(variable), float)
        tolerance = 1e-6 * np.abs(np.asarray(one[variable], float)).max(initial=0.0) + 1e-9
        assert np.abs(first - second).max(initial=0.0) <= 30 * tolerance, variable

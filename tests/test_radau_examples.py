"""Examples by Radau IIA end where they end by BDF."""

from __future__ import annotations

import numpy as np
import pytest

from modia_py import translate
from modia_py.models import examples, mechanisms, modelica_examples, switched_examples

LIBRARIES = (examples, switched_examples, modelica_examples, mechanisms)
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
    "BuckConverter": 1e-3,
    "CoulombOscillator": 3.0,
    "FullWaveRectifier": 0.04,
    "CoupledClutches": 1.5,
    "Friction": 3.0,
    "ElastoGap": 1.0,
    "DoublePendulum": 5.0,
    "FourBar": 2.0,
}
CASES = [*QUICK.items(), *(pytest.param(*case, marks=pytest.mark.slow) for case in LONG.items())]


@pytest.mark.parametrize(("name", "stop"), CASES)
def test_examples_end_where_they_end_by_the_other_method(name, stop):
    model = next(getattr(library, name) for library in LIBRARIES if hasattr(library, name))
    sim = translate(model())
    one, other = (sim.simulate(stop, method=method, progress=False) for method in ("bdf", "radau"))
    assert other.stats.method.startswith("radau")
    assert other.stats.steps < one.stats.steps
    for variable in one.variables:
        first, second = np.asarray(one.final(variable), float), np.asarray(other.final(variable), float)
        tolerance = 1e-6 * np.abs(np.asarray(one[variable], float)).max(initial=0.0) + 1e-9
        assert np.abs(first - second).max(initial=0.0) <= 30 * tolerance, variable

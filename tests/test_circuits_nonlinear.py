"""Five circuits with strong nonlinearities, against an independent integration of hand-written equations.

`tests/problems/nonlinear_circuits_reference.py` made the references: Radau IIA, nothing of modia_py. Errors
are measured in units of rtol * (largest value) + atol with the default atol, as everywhere.
"""

from __future__ import annotations

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from modia_py import Model, Par, connect, time, translate
from modia_py.models.electrical import Ground, Inductor, TwoPin

from .problems import nonlinear_circuits as circuits

DATA = json.loads((Path(__file__).parent / "data" / "nonlinear_circuits.json").read_text())
TOLERANCES = (1e-4, 1e-6, 1e-8)
ALLOWED = 5.0
"""In tolerances: errors of single steps are controlled, those of the result add up."""
NAMES = ["SchmittTrigger", "RingOscillator", "InverterChain"]
LONG = [pytest.param(name, marks=pytest.mark.slow) for name in NAMES]


def errors(sim, name, rtol):
    """The largest error of each variable, in tolerances."""
    case = DATA[name]
    result = sim.simulate(case["stop"], times=case["points"], rtol=rtol)
    found = {}
    for key, right in case["values"].items():
        right = np.asarray(right)
        off = np.abs(result[key][1:] - right).max()
        found[key] = max(0.0, off - case["doubt"][key]) / (rtol * np.abs(right).max() + rtol / 1000)
    return found


@pytest.mark.parametrize("name", ["Bridge", "Graetz", *LONG])
def test_circuits_equal_an_independent_integration(name):
    sim = translate(getattr(circuits, name)())
    for rtol in TOLERANCES:
        found = errors(sim, name, rtol)
        assert max(found.values()) < ALLOWED, (rtol, found)


class SineCurrent(TwoPin):
    I = Par(2.5)  # noqa: E741

    def equations(self):
        return [*super().equations(), self.i == self.I * np.sin(6 * time)]


class Blocked(Model):
    """A current source with an inductor, and a diode between them that blocks nearly all the time.

    The current of the inductor follows the source; the diode has what is left, and turns it into a
    voltage, ten thousand times as large.
    """

    source = SineCurrent()
    coil = Inductor(L=0.01, i=0.0)
    d = circuits.Diode(saturation=4e-9, thermal=0.08, leakage=2e4)
    ground = Ground()

    def equations(self):
        return [
            connect(self.source.p, self.coil.p, self.d.p, self.ground.p),
            connect(self.source.n, self.coil.n, self.d.n),
        ]


def voltage_of_the_coil(times):
    """u = -L d/dt (i of the source + i of the diode at u): iterated, each time by a factor of 3e-6."""

    def once_more(u):
        def current(t):
            conducted = 4e-9 * (jnp.exp(u(t) / 0.08) - 1) + u(t) / 2e4
            return 2.5 * jnp.sin(6 * t) + conducted

        return lambda t: -0.01 * jax.grad(current)(t)

    return jax.vmap(once_more(once_more(once_more(lambda t: 0.0 * t))))(times)


@pytest.fixture(scope="module")
def blocked():
    return translate(Blocked())


@pytest.mark.parametrize("rtol", TOLERANCES)
def test_output_between_steps_does_not_amplify_errors(blocked, rtol):
    result = blocked.simulate(1.0, times=301, rtol=rtol)
    right = np.asarray(voltage_of_the_coil(jnp.asarray(result.time)))
    off = np.abs(result["coil.u"][1:] - right[1:]) / (rtol * np.abs(right).max() + rtol / 1000)
    assert off.max() < ALLOWED

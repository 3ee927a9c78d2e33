"""Zero crossings that reach a run through the program of a model."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from modia_py import Input, Model, Par, Var, der, translate
from modia_py.program.crossings import Crossings
from modia_py.program.translation import TranslationCache
from modia_py.simulation.request import RunRequest
from modia_py.solvers import Status


class Ball(Model):
    g = Par(9.81)
    floor = Par(0.0)
    h = Var(init=1.0)
    v = Var(init=0.0)
    lift = Input()

    def equations(self):
        return [der(self.h) == self.v, der(self.v) == self.lift - self.g]


def with_crossings(model, make):
    """The model, translated, with the crossings that `make` makes from places of variables."""
    sim = translate(model)
    flat, values = sim.flat, sim.translation.functions.value_map

    def place(name):
        return int(values.place[0][flat.by_name[name].offset])

    sim.translation = dataclasses.replace(
        sim.translation, crossings=make(flat, place), cache=TranslationCache()
    )
    return sim


def bouncing(flat, place):
    floor, h, v = flat.by_name["floor"].offset, place("h"), place("v")

    def bounce(crossing, x, xdot, arguments):
        assert crossing.which == (0,)
        x[h] = arguments.p[floor]
        x[v] = -0.5 * x[v]
        return x, None

    return Crossings(lambda known: known["w"][h : h + 1] - known["p"][floor], bounce, directions=[-1])


def test_a_ball_bounces_between_stops_of_its_input():
    """A crossing, a jump of an input, and a second crossing, in one loop over stops."""
    sim = with_crossings(Ball(), bouncing)
    lift = ([0.0, 0.6], [0.0, 4.81], "previous")
    floor = 0.2
    run, *_ = sim._run(
        RunRequest(1.1, params={"floor": floor}, inputs={"lift": lift}, times=301, rtol=1e-9)
    )
    fall = np.sqrt(2 * (1 - floor) / 9.81)
    up = 0.5 * 9.81 * fall
    later = 0.6 - fall
    h, v = floor + up * later - 4.905 * later**2, up - 9.81 * later
    again = 0.6 + (v + np.sqrt(v**2 + 10 * (h - floor))) / 5
    assert run.status is Status.SUCCESS
    assert [crossing.time for crossing in run.crossings] == pytest.approx([fall, again], abs=1e-7)
    assert run.outputs.read("h", 0).min() > floor - 1e-6
    result = sim.simulate(1.1, params={"floor": floor}, inputs={"lift": lift}, times=301, rtol=1e-9)
    before = result.time < again
    expected = np.where(
        result.time < fall,
        1 - 4.905 * result.time**2,
        np.where(
            result.time < 0.6,
            floor + up * (result.time - fall) - 4.905 * (result.time - fall) ** 2,
            h + v * (result.time - 0.6) - 2.5 * (result.time - 0.6) ** 2,
        ),
    )
    np.testing.assert_allclose(result["h"][before], expected[before], atol=1e-7)
    assert result.stats.certificate.holds


def test_without_an_action_a_run_ends_at_its_first_crossing():
    def halfway(flat, place):
        return Crossings(lambda known: jnp.stack([known["w"][place("h")] - 0.5]))

    sim = with_crossings(Ball(), halfway)
    result = sim.simulate(1.5, inputs={"lift": 0.0})
    assert result.time[-1] <= np.sqrt(1 / 9.81) < result.time[-1] + 1.5 / 500
    assert result.final("h") >= 0.5

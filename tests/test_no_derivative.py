"""Where a simulation has no derivative, NaN and a warning say so; and cases close to that with one."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

from modia_py import Discrete, Model, ModelWarning, Par, Var, assign, der, reinit, time, translate, when

from .test_gradients import Ball


class Grazing(Model):
    a = Par(1.0)
    x, v = Var(init=0.0), Var(init=0.0)
    hit = Discrete(0.0)

    def equations(self):
        rows = [der(self.x) == 3 * (time - 1) ** 2 * self.a, der(self.v) == self.hit]
        return [*rows, when(self.x > self.a, assign(self.hit, 1.0))]


def test_where_there_is_no_derivative():
    f = translate(Grazing()).function(["v"], [2.0], ["a"], rtol=1e-9)
    with pytest.warns(ModelWarning, match="only touches its limit"):
        gradient = jax.grad(lambda theta: f(theta)["v"][0])({"a": 1.0})
    assert np.isnan(gradient["a"])


class Abrupt(Model):
    T = Par(0.5)
    x = Var(init=0.0)

    def equations(self):
        return [der(self.x) == np.where(time > self.T, 1.0, 0.0)]


def test_a_jump_without_event_that_a_parameter_moves():
    f = translate(Abrupt()).function(["x"], [1.0], ["T"])
    with pytest.warns(ModelWarning, match="Write `where"):
        gradient = jax.grad(lambda theta: f(theta)["x"][0])({"T": 0.5})
    assert np.isnan(gradient["T"])


@pytest.mark.slow
def test_an_output_at_the_time_of_an_event():
    f = translate(Ball()).function(["h"], [0.3, float(np.sqrt(2 / 9.81))], ["e"], ["h"], rtol=1e-9)
    with pytest.warns(ModelWarning, match="is a time of output"):
        assert np.isnan(jax.grad(lambda theta: f(theta)["h"][1])({"h": 1.0})["h"])
    # What does not move the event has a derivative, and so have other times.
    assert_allclose(jax.grad(lambda theta: f(theta)["h"][1])({"e": 0.7})["e"], 0.0, atol=1e-9)
    assert_allclose(jax.grad(lambda theta: f(theta)["h"][0])({"h": 1.0})["h"], 1.0)


class Steep(Model):
    """A slope that jumps where x passes a limit, and one that bends there."""

    a, limit = Par(1.0), Par(0.5)
    x, y = Var(init=0.1), Var(init=0.1)

    def equations(self):
        return [
            der(self.x) == np.where(self.x > self.limit, 1.0, 2.0) * self.a,
            der(self.y) == self.a + np.where(self.y > self.limit, self.y - self.limit, 0.0),
        ]


class Bent(Model):
    a, limit = Par(1.0), Par(0.5)
    v = Par(3.0)
    y, s = Var(init=0.1), Var(init=0.0)

    def equations(self):
        v = self.v * np.cos(self.s)
        return [
            der(self.y) == self.a + np.where(self.y > self.limit, self.y - self.limit, 0.0),
            der(self.s) == 1.0 + 0.1 * np.sign(v) * v**2 + np.abs(self.y - self.limit),
        ]


def test_a_jump_that_a_state_passes_without_an_event():
    f = translate(Steep()).function(["x", "y"], [0.1, 1.0], ["a", "limit"], ["x"])
    for take in (jax.jacfwd, jax.jacrev):
        with pytest.warns(ModelWarning, match=r"At time 0.2.* an equation jumps, .*np.where"):
            found = take(f)({"a": 1.0, "limit": 0.5, "x": 0.1})
        assert np.isnan(found["x"]["limit"]).all()
    late = translate(Steep()).function(["x"], [0.1], ["a", "limit"])
    assert_allclose(jax.jacrev(late)({"a": 1.0, "limit": 0.5})["x"]["a"], 0.2, rtol=1e-9)


def test_where_equations_only_bend_there_is_a_derivative():
    f = translate(Bent()).function(["y", "s"], [2.0], ["a", "limit", "v"], rtol=1e-9)
    theta = {"a": 1.0, "limit": 0.5, "v": 3.0}
    found = jax.jacrev(f)(theta)
    for name in theta:
        up, down = (f({**theta, name: theta[name] + shift}) for shift in (1e-4, -1e-4))
        for output in ("y", "s"):
            assert_allclose(found[output][name], (up[output] - down[output]) / 2e-4, rtol=1e-4, atol=1e-6)


class Balls(Model):
    e, height = Par(0.7), Par(1.0)

    def __init__(self, **changes):
        super().__init__(**changes)
        self.h, self.v = Var(3, init=self.height * np.ones(3)), Var(3, init=np.zeros(3))

    def equations(self):
        fall = [der(self.h) == self.v, der(self.v) == -9.81 * np.ones(3)]
        return [*fall, when(self.h < 0, reinit(self.v, -self.e * self.v))]


@pytest.mark.slow
def test_events_that_stay_together():
    """Three balls fall from one height: they bounce at one time, whatever the height is. Where one of
    them has another height, one bounces first."""
    sim = translate(Balls())
    f = sim.function(["h"], [0.7], ["e", "height"], ["h"], rtol=1e-9)
    one = translate(Ball()).function(["h"], [0.7], ["e"], ["h"], rtol=1e-9)
    alone = jax.jacrev(one)({"e": 0.7, "h": 1.0})["h"]
    for take in (jax.jacfwd, jax.jacrev):
        found = take(f)({"e": 0.7, "height": 1.0})["h"]
        assert_allclose(found["e"][0], np.ones(3) * alone["e"], rtol=1e-7)
        assert_allclose(found["height"][0], np.ones(3) * alone["h"], rtol=1e-7)
        with pytest.warns(ModelWarning, match="by coincidence"):
            assert np.isnan(take(f)({"h": np.ones(3)})["h"]["h"]).all()

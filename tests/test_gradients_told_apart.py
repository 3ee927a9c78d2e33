"""Cases whose gradients were plausible and wrong: they are right, or NaN with a reason."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

from modia_py import (
    Discrete,
    Input,
    Model,
    ModelWarning,
    Par,
    Var,
    assign,
    pre,
    sample,
    translate,
    when,
)

from .test_gradients import Swing
from .test_resolved_tangents import AtRest


class Filter(Model):
    """A digital filter: nothing for the integrator, and all in events."""

    a, period = Par(0.7), Par(0.125)
    u = Input()
    y = Var()
    s = Discrete(0.2)

    def equations(self):
        follows = assign(self.s, pre(self.s) + self.a * (self.u - pre(self.s)))
        return [self.y == 2 * self.s, when(sample(self.period), follows)]


@pytest.fixture(scope="module")
def filtering():
    return translate(Filter())


def test_a_model_without_states(filtering):
    theta = {"a": 0.7, "u": np.array([1.0, 0.5, 2.0]), "s": 0.2}
    inputs = {"u": (np.array([0.0, 0.45, 1.0]), theta["u"])}
    f = filtering.function(["y"], [0.05, 0.3, 0.95], ["a"], ["s"], inputs)

    def exact(theta):
        t, s, found = 0.125 * np.arange(8), theta["s"], []
        for value in np.interp(t, inputs["u"][0], theta["u"]):
            s = s + theta["a"] * (value - s)
            found.append(2 * s)
        return np.array([found[0], found[2], found[7]])

    for derivative in (jax.jacfwd, jax.jacrev):
        found = derivative(f)(theta)["y"]
        for name in ("a", "s"):
            up, down = ({**theta, name: theta[name] + shift} for shift in (1e-5, -1e-5))
            assert_allclose(found[name], (exact(up) - exact(down)) / 2e-5, atol=1e-8)
        assert_allclose(found["u"] @ np.ones(3), (exact({**theta, "u": theta["u"] + 1}) - exact(theta)))


def test_an_event_that_moves_where_an_input_bends(filtering):
    inputs = {"u": (np.array([0.0, 0.5, 1.0]), np.array([1.0, 0.5, 2.0]))}
    for derivative in (jax.jacfwd, jax.jacrev):
        f = filtering.function(["y"], [0.95], ["a", "period"], inputs=inputs)
        with pytest.warns(ModelWarning, match="at time 0.5, where an input jumps or bends"):
            assert np.isnan(derivative(f)({"period": 0.125})["y"]["period"])
        assert np.isfinite(derivative(f)({"a": 0.7})["y"]["a"])


class Loose(Swing):
    """Guesses only, which are not on the constraint: Newton's iteration decides where it starts."""

    x, y, vx = Var(guess=0.6), Var(guess=-0.9), Var(guess=0.1)


def test_states_that_are_drawn_from_their_guesses():
    sim = translate(Loose())
    for derivative in (jax.jacfwd, jax.jacrev):
        f = sim.function(["x"], [0.1], ["L"])
        with pytest.warns(ModelWarning, match="Nothing determines the start of x, y but guesses"):
            assert np.isnan(derivative(f)({"L": 1.0})["x"]["L"])
        # What does not move the start has a derivative.
        assert np.isfinite(derivative(sim.function(["x"], [0.1], ["g"]))({"g": 9.81})["x"]["g"])


@pytest.mark.slow
def test_threads_that_ask_for_the_derivatives_of_one_run():
    f = translate(AtRest()).function(["x"], [6.0], ["a"], ["v"], {"u": 0.0})
    gradient = jax.grad(lambda theta: f(theta)["x"][0])
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(gradient, [{"a": 0.0, "v": 0.0}] * 4))
    for each in found:
        assert_allclose(each["a"], (1 - np.cos(12.0)) / 4, atol=1e-3)
        assert_allclose(each["v"], np.sin(12.0) / 2, atol=1e-3)
    assert len({float(each["v"]) for each in found}) == 1

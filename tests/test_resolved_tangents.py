"""Derivatives of runs at rest, or that go straight: steps that do for the run are too long for them."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

from modia_py import Input, Model, ModelError, Par, Var, der, translate


class AtRest(Model):
    """Nothing moves, and everything would."""

    a, k = Par(0.0), Par(2.0)
    u = Input()
    x, v = Var(init=0.0), Var(init=0.0)

    def equations(self):
        return [der(self.x) == self.v, der(self.v) == self.a - self.k**2 * self.x + self.u]


@pytest.fixture(scope="module")
def at_rest():
    return translate(AtRest())


@pytest.mark.slow
def test_by_a_parameter(at_rest):
    t = np.array([0.3, 2.0, 6.0])
    f = at_rest.function(["x"], t, ["a"], ["v"], {"u": 0.0})
    for take in (jax.jacrev, jax.jacfwd):
        found = take(f)({"a": 0.0, "v": 0.0})["x"]
        assert_allclose(found["a"], (1 - np.cos(2 * t)) / 4, atol=1e-3)
        assert_allclose(found["v"], np.sin(2 * t) / 2, atol=1e-3)


def test_by_an_input_that_is_zero_everywhere(at_rest):
    """A linear model: a difference of large size is exact."""
    knots, zero = np.linspace(0.0, 6.0, 7), np.zeros(7)
    f = at_rest.function(["x"], [6.0], inputs={"u": (knots, zero)}, rtol=1e-8)
    found = jax.jacrev(f)({"u": zero})["x"]["u"][0]
    expected = [float(f({"u": row})["x"][0]) for row in np.eye(7)]
    assert_allclose(found, expected, atol=2e-5)


def test_the_wanted_accuracy(at_rest):
    errors = []
    for accuracy in (1e-2, 1e-4):
        f = at_rest.function(["x"], [3.0], ["a"], (), {"u": 0.0}, accuracy=accuracy)
        found = jax.jacfwd(f)({"a": 0.0})["x"]["a"][0]
        errors.append(abs(found - (1 - np.cos(6.0)) / 4) / 0.25)
        assert errors[-1] < 2 * accuracy
    assert errors[1] < errors[0]
    with pytest.raises(ModelError, match="accuracy = 0"):
        at_rest.function(["x"], [3.0], ["a"], (), {"u": 0.0}, accuracy=0)


class Differentiated(Model):
    """The derivative of an input: where that bends, equations jump."""

    u = Input()
    x, v = Var(), Var()
    w = Var(init=0.5)

    def equations(self):
        return [self.x == 3 * self.u, self.v == der(self.x), 2 * der(self.w) == self.v - self.w]


@pytest.mark.slow
def test_knots_of_a_table_that_is_straight():
    knots, values = np.arange(4.0), np.array([0.0, 1.0, 2.0, 0.0])
    f = translate(Differentiated()).function(["w"], [0.9999, 1.5], inputs={"u": (knots, values)}, rtol=1e-8)
    found = jax.jacrev(f)({"u": values})["w"]["u"][:, 0]
    first = -3 * (1 - np.exp(-np.array([0.9999, 1.0]) / 2))
    assert_allclose(found, [first[0], first[1] * np.exp(-0.25)], rtol=1e-6)


@pytest.mark.slow
def test_the_start_alone(at_rest):
    f = at_rest.function(["x", "der(v)"], [0.0], ["a"], ["x"], {"u": 0.0})
    found = jax.jacrev(f)({"a": 0.0, "x": 0.0})
    assert_allclose(
        [found["x"]["x"][0], found["der(v)"]["a"][0], found["der(v)"]["x"][0]], [1.0, 1.0, -4.0]
    )

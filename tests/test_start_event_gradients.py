"""Derivatives through the event at the start: what `initial()` and samples at this instant set anew."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from modia_py import (
    Discrete,
    Model,
    Par,
    Var,
    assign,
    der,
    initial,
    pre,
    reinit,
    sample,
    translate,
    when,
)

TIMES = np.array([0.0, 0.7, 1.5])
THETA = {"k": 0.5, "dose": 1.0, "first": 1.0, "factor": 2.0, "x": 0.3}


class Doses(Model):
    """A dose at the start and every second; a state that is set to the value it has already; and a rate
    that follows, in a second pass, from a value that the first pass has set."""

    k, dose, first, factor = Par(0.5), Par(1.0), Par(1.0), Par(2.0)
    x, y, z = Var(init=0.3), Var(init=1.0), Var(init=1.0)
    seen, rate = Discrete(0.3), Discrete(0.5)

    def equations(self):
        return [
            der(self.x) == -self.k * self.x,
            der(self.y) == -self.y,
            der(self.z) == -self.rate * self.z,
            when(sample(1.0), reinit(self.x, self.x + self.dose)),
            when(initial(), reinit(self.y, self.first), assign(self.seen, self.first)),
            when(pre(self.seen) > 0.5, assign(self.rate, self.factor * self.seen)),
        ]


def exact(theta):
    second = jnp.where(TIMES >= 1.0, theta["dose"] * jnp.exp(-theta["k"] * (TIMES - 1.0)), 0.0)
    return {
        "x": (theta["x"] + theta["dose"]) * jnp.exp(-theta["k"] * TIMES) + second,
        "y": theta["first"] * jnp.exp(-TIMES),
        "z": jnp.exp(-theta["factor"] * theta["first"] * TIMES),
    }


@pytest.fixture(scope="module")
def doses():
    params = ["k", "dose", "first", "factor"]
    return translate(Doses()).function(["x", "y", "z"], TIMES, params, ["x"], rtol=1e-9)


@pytest.mark.parametrize("derivative", [pytest.param(jax.jacfwd, marks=pytest.mark.slow), jax.jacrev])
def test_what_is_set_at_the_start(doses, derivative):
    found, expected = derivative(doses)(THETA), derivative(exact)(THETA)
    for output in ("x", "y", "z"):
        for name in THETA:
            assert_allclose(found[output][name], expected[output][name], atol=1e-7, err_msg=output + name)


@pytest.mark.slow
def test_second_derivatives(doses):
    along = {"k": 1.0, "dose": 0.5, "first": -0.7, "factor": 0.2, "x": 1.0}

    def curved(f):
        def gradient(theta):
            return jax.grad(lambda own: sum(jnp.sum(rows**2) for rows in f(own).values()))(theta)

        return jax.jvp(gradient, (THETA,), (along,))[1]

    found, expected = curved(doses), curved(exact)
    for name in THETA:
        assert_allclose(found[name], expected[name], rtol=1e-6, atol=1e-6)

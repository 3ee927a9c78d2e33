"""`linearization_function`: what `linearize` gives, with derivatives by all that moves the point."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

from modia_py import Discrete, Input, Model, ModelError, Par, Var, assign, der, time, translate, when
from modia_py.models.examples import HeatRod


class Cart(Model):
    """A pendulum on a cart, and a spring that depends on when the cart has met it."""

    m, length, c, limit = Par(0.3), Par(0.5), Par(2.0), Par(0.05)
    u = Input()
    s, v = Var(init=0.0), Var(init=0.2)
    phi, w = Var(init=0.4), Var(init=0.0)
    met = Discrete(0.0)

    def equations(self):
        m, length, phi, w = self.m, self.length, self.phi, self.w
        force = self.u + m * length * np.sin(phi) * w**2 - self.met * self.c * self.s
        return [
            der(self.s) == self.v,
            der(phi) == w,
            (1.0 + m) * der(self.v) + m * length * np.cos(phi) * der(w) == force,
            length * der(w) + np.cos(phi) * der(self.v) == -9.81 * np.sin(phi),
            when(self.s > self.limit, assign(self.met, 1.0 + time)),
        ]


THETA = {"m": 0.3, "length": 0.5, "c": 2.0, "limit": 0.05, "phi": 0.4, "u": 0.7}


@pytest.fixture(scope="module")
def cart():
    return translate(Cart())


@pytest.mark.slow
@pytest.mark.parametrize("at", [0.0, 0.6])
def test_matrices_and_their_derivatives(cart, at):
    options = {"outputs": ["der(v)", "phi"], "rtol": 1e-10}
    f = cart.linearization_function(at, ["m", "length", "c", "limit"], ["phi"], {"u": 0.7}, **options)
    params = ("m", "length", "c", "limit")

    def linear(theta):
        given = {"params": {name: theta[name] for name in params}, "init": {"phi": theta["phi"]}}
        return cart.linearize(at, inputs={"u": theta["u"]}, **given, **options)

    expected = linear(THETA)
    assert (f.states, f.inputs, f.outputs) == (expected.states, ("u",), ("der(v)", "phi"))
    for found, own in zip(f(THETA), expected, strict=True):
        assert_allclose(found, own, rtol=1e-7, atol=1e-8)
    forward, backward = jax.jacfwd(f)(THETA), jax.jacrev(f)(THETA)
    for name, value in THETA.items():
        h = 1e-4 * max(1.0, abs(value))
        up, down = (linear({**THETA, name: value + shift}) for shift in (h, -h))
        for k, part in enumerate("ABCD"):
            slope = (getattr(up, part) - getattr(down, part)) / (2 * h)
            size = max(np.abs(slope).max(), 1.0)
            assert_allclose(forward[k][name], slope, atol=2e-6 * size)
            assert_allclose(backward[k][name], forward[k][name], atol=1e-10 * size)


@pytest.mark.slow
def test_a_compiled_function(cart):
    """A pendulum that hangs on a cart: der(w) = -(1 + m) g / length phi."""
    f = cart.linearization_function(0.0, ["length"], ["phi"], {"u": 0.0})
    row, column = f.states.index("w"), f.states.index("phi")
    compiled = jax.jit(jax.value_and_grad(lambda theta: f(theta).A[row, column]))
    value, slope = compiled({"length": 0.5, "phi": 0.0})
    assert_allclose(value, -1.3 * 9.81 / 0.5)
    assert_allclose(slope["length"], 1.3 * 9.81 / 0.5**2)


def test_what_is_wrong_is_said(cart):
    with pytest.raises(ModelError, match="has no parameter 'mm'"):
        cart.linearization_function(0.0, ["mm"], inputs={"u": 0.0})
    with pytest.raises(ModelError, match="before start_time"):
        cart.linearization_function(-1.0, ["m"], inputs={"u": 0.0})
    with pytest.raises(ModelError, match="list of names"):
        cart.linearization_function(0.0, ["m"], inputs={"u": 0.0}, outputs="phi")
    with pytest.raises(ModelError, match="up to 500"):
        translate(HeatRod(600)).linearization_function(0.0)

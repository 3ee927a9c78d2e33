"""Derivatives of equations: as text, and against finite differences along smooth trajectories."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from modia_py import Input, Model, ModelWarning, Par, Var, der, function, time, where
from modia_py.expressions.calculus import differentiate, differentiate_equation
from modia_py.expressions.equation import Equation

from .helpers import time_derivative, trajectory, value_of


@function
def polar(x, y):
    return jnp.hypot(x, y), jnp.arctan2(y, x)


@function
def spring(x, *, stiff):
    return {"force": jnp.tanh(x) * (2.0 if stiff else 1.0), "energy": jnp.sum(x**2)}


class Cell(Model):
    q = Var(2)
    k = Par(2.0)


class Everything(Model):
    """A symbol of every kind and shape."""

    a = Par(1.5, nonzero=True)
    A = Par([[2.0, 1.0, 0.0], [0.5, 3.0, 1.0], [0.0, 1.0, 4.0]])
    n = Par([0.6, 0.8, 0.0])
    x = Var()
    y = Var()
    v = Var(3)
    w = Var(3)
    M = Var((3, 3))
    z = Var(8)
    u = Input(3)
    cells = Cell.array(4)


m = Everything()
CATALOGUE: list[tuple[Equation, str]] = [
    (m.a * der(m.x) == m.y, "a*der2(x) == der(y)"),
    (m.x * m.y == m.a, "der(x)*y + x*der(y) == 0"),
    (m.x / m.a == m.y, "der(x)/a == der(y)"),
    (m.x / m.y == 1, "der(x/y) == 0"),
    (np.sin(m.x) == np.exp(-m.y), "der(sin(x)) == der(exp(-y))"),
    (m.x**2 + m.y**2 == m.a**2, "der(x**2) + der(y**2) == 0"),
    (m.x**m.y == 2.0, "der(x**y) == 0"),
    (m.v == m.n * m.x, "der(v) == n*der(x)"),
    (m.n @ m.v == 0, "n @ der(v) == 0"),
    (m.v @ m.v == m.x, "der(v) @ v + v @ der(v) == der(x)"),
    (m.A @ m.v == m.w, "A @ der(v) == der(w)"),
    (m.M @ m.v == m.w, "der(M) @ v + M @ der(v) == der(w)"),
    (m.M.T @ m.v == m.w, "transpose(der(M)) @ v + transpose(M) @ der(v) == der(w)"),
    (np.cross(m.v, m.w) == m.u, "cross(der(v), w) + cross(v, der(w)) == der(u)"),
    (m.v == m.x, "der(v) == der(x)"),
    (m.v + 1 == m.x + np.ones(3), "der(v) == broadcast_to(der(x), (3,))"),
    (m.z[1:] - m.z[:-1] == m.x * np.arange(7), "der(z[1:]) - der(z[:-1]) == der(x)*[0, 1, 2, 3, 4, 5, 6]"),
    (m.z[[0, 3, 3]] == m.v, "der(z[[0, 3, 3]]) == der(v)"),
    (m.z[::-2].sum() == m.z[3] * time, "sum(der(z[::-2])) == der(z[3])*time + z[3]"),
    (
        np.concatenate([m.v, [1.0], m.z[:2]]).mean() == 0,
        "mean(concatenate([der(v), [0.0], der(z[:2])])) == 0",
    ),
    (np.stack([m.x, 2.0, m.y]) == m.v, "stack([der(x), 0, der(y)]) == der(v)"),
    (np.array([m.x, m.y, 1.0]) == m.v, "stack([der(x), der(y), 0]) == der(v)"),
    (np.linalg.norm(m.v) == m.x, "der(linalg.norm(v)) == der(x)"),
    (np.linalg.solve(m.A, m.v) == m.w, "linalg.solve(A, der(v)) == der(w)"),
    (np.linalg.solve(m.M + 9 * np.eye(3), m.v) == m.w, None),
    (
        np.einsum("ij,j->i", m.M, m.v) == m.w,
        "einsum('ij,j->i', der(M), v) + einsum('ij,j->i', M, der(v)) == der(w)",
    ),
    (np.where(m.x > 100, m.x, m.y * m.v) == m.w, "where(x > 100, der(x), der(y)*v + y*der(v)) == der(w)"),
    (where(m.x > 100, m.x, m.y * m.v) == m.w, "where(x > 100, der(x), der(y)*v + y*der(v)) == der(w)"),
    (np.interp(m.x, [0.0, 10.0], [1.0, 5.0]) == m.y, "der(interp(x, [0.0, 10.0], [1.0, 5.0])) == der(y)"),
    (np.cumsum(m.v) - np.diff(m.z[:4]) == 0, "cumsum(der(v)) - diff(der(z[:4])) == 0"),
    (np.diff(m.v, prepend=m.x) == m.w, None),
    (np.outer(m.v, m.w) == m.M, "outer(der(v), w) + outer(v, der(w)) == der(M)"),
    (np.tensordot(m.M, m.v, axes=1) == m.w, None),
    (np.maximum(m.x, 100 * m.y) == 0, "der(maximum(x, 100*y)) == 0"),
    (polar(m.x, m.y)[1] == polar(m.x, m.y)[0], "der(polar(x, y))[1] == der(polar(x, y))[0]"),
    (spring(m.v, stiff=True)["force"] == m.w, None),
    (spring(m.v, stiff=False)["energy"] == m.x, None),
    (
        m.cells.q[1:, 0] == m.cells.k[1:] * m.cells[:-1].q[:, 1],
        "der(cells[1:].q[:, 0]) == cells[1:].k*der(cells[:3].q)[:, 1]",
    ),
    (der(m.x * m.y) == der(der(m.x)), None),
    (time * m.x == np.sin(time), "x + time*der(x) == der(sin(time))"),
    (m.u == m.v * der(m.u), "der(u) == der(v)*der(u) + v*der2(u)"),
    (m.M.reshape(9)[2:5] == m.v, "reshape(der(M), 9)[2:5] == der(v)"),
    (-(+m.x) == abs(m.y) % 7.0, None),
    (scipy.special.erf(m.x) == m.y, "der(special.erf(x)) == der(y)"),
]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("equation", [entry[0] for entry in CATALOGUE], ids=str)
def test_derivative_agrees_with_finite_differences(equation, order):
    for _ in range(order - 1):
        equation = differentiate_equation(equation)
    derivative = differentiate_equation(equation)
    for side, moving in ((equation.lhs, derivative.lhs), (equation.rhs, derivative.rhs)):
        expected = np.broadcast_to(time_derivative(side, 0.4), side.shape)
        actual = value_of(moving, lambda leaf: trajectory(leaf, 0.4))
        np.testing.assert_allclose(actual, expected, rtol=1e-7, atol=1e-7)
        assert actual.shape == side.shape


@pytest.mark.parametrize(("equation", "text"), [entry for entry in CATALOGUE if entry[1]], ids=str)
def test_derivative_prints_as_an_equation(equation, text):
    assert str(differentiate_equation(equation)) == text


def test_derivative_of_a_parameter_is_zero_and_says_so():
    with pytest.warns(ModelWarning, match=r"der\(a\) is zero .*test_calculus.py:\d+.*a is a parameter"):
        zero = der(m.a)
    assert str(zero) == "0"


def test_derivatives_of_constants_and_time():
    assert str(der(time)) == "1"
    assert str(der(der(time))) == "0"
    assert der(m.v * 0 + 3).shape == (3,)
    assert str(differentiate(m.x - m.x)) == "der(x) - der(x)"


def test_der_of_a_slice_is_a_slice_of_der():
    assert der(m.z[2:4]) is der(m.z)[2:4]
    assert str(der(der(der(m.x)))) == "der3(x)"
    assert der(m.cells[1].q) is der(m.cells.q)[1]

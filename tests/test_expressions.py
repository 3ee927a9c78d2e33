"""Expressions: sharing, operators, numpy functions, printing, depth."""

from __future__ import annotations

import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from modia_py import (
    Connector,
    Flow,
    Model,
    ModelError,
    Par,
    Var,
    der,
    elaborate,
    flat_residual,
    function,
    time,
)
from modia_py.expressions.equation import Equation
from modia_py.expressions.expression import Constant, leaves_of
from modia_py.expressions.nodes import topological

from .helpers import trajectory, value_of


class Plant(Model):
    k = Par(2.0)
    b = Par([1.0, 2.0, 3.0])
    x = Var()
    y = Var()
    v = Var(3)
    M = Var((2, 3))


m = Plant()


def at(expr):
    return np.asarray(value_of(expr, lambda leaf: trajectory(leaf, 0.3)))


def plain(leaf_expr):
    return np.asarray(trajectory(leaf_expr, 0.3))


def test_equal_nodes_are_one_node():
    assert m.x + 2 * m.y is m.x + 2 * m.y
    assert np.sin(m.v)[1:] is np.sin(m.v)[1:]
    assert m.x + m.y is not m.y + m.x
    assert np.cross(m.v, [0, 0, 1]) is np.cross(m.v, [0, 0, 1])


def test_nodes_are_freed():
    expr = np.exp(m.x * 17.5) + 3
    alive = weakref.ref(expr)
    del expr
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize(
    "build",
    [
        lambda x, v, M: x + v - 2 * v / 3,
        lambda x, v, M: 1 / x + 2**x + x**2 + x**-1 + x**0.5,
        lambda x, v, M: -v + abs(v) // 2 + v % 0.7,
        lambda x, v, M: M @ v + M @ np.array([1.0, 2.0, 3.0]),
        lambda x, v, M: np.array([1.0, 2.0, 3.0]) @ v,
        lambda x, v, M: np.array([1.0, 2.0, 3.0]) * v + np.float64(2) * v,
        lambda x, v, M: np.sin(v) * np.arctan2(v, x) + np.sqrt(v) + np.hypot(v, 1.0),
        lambda x, v, M: M.T.sum(axis=0) + M.sum() + M.mean(axis=1),
        lambda x, v, M: np.stack([v, 2 * v, np.ones(3)]).max(axis=0),
        lambda x, v, M: np.concatenate([v, [5.0], M[0]]).prod(),
        lambda x, v, M: np.concatenate((v[::-1], v[[2, 0]], v[1:2])),
        lambda x, v, M: M.reshape(3, 2).ravel().cumsum().min(),
        lambda x, v, M: M[:, None, 1:] * v[1:] + M[..., 0][:, None, None],
        lambda x, v, M: M[np.array([True, False])],
        lambda x, v, M: np.where(v > x, v, -x) + np.clip(v, 0, 1),
        lambda x, v, M: np.linalg.norm(v) + np.linalg.det(M @ M.T),
        lambda x, v, M: np.dot(M, v).dot(np.ones(2)),
        lambda x, v, M: np.transpose(M, (1, 0)) @ M,
        lambda x, v, M: np.add.reduce(M) + np.max(v) + sum(v),
        lambda x, v, M: np.einsum("ij,j->i", M, v),
        lambda x, v, M: np.broadcast_to(x, (2, 2)) + np.full((2, 2), 3) + np.ones((2, 1)),
        lambda x, v, M: np.vstack([v, v])[:, 1] + np.tile(v, 2)[:2] + np.roll(v, 1)[:2],
        lambda x, v, M: (x < 1) | ~(x >= 2) & (x != 7),
        lambda x, v, M: np.polyval([1.0, 2.0, 3.0], v),
        lambda x, v, M: np.zeros_like(v) + np.shape(M)[0] + np.ndim(M) + np.size(M) + len(v),
    ],
)
def test_operators_and_numpy_functions_mean_what_numpy_means(build):
    expected = build(plain(m.x), plain(m.v), plain(m.M))
    expr = build(m.x, m.v, m.M)
    assert expr.shape == np.shape(expected)
    np.testing.assert_allclose(at(expr), expected, rtol=1e-12)


def test_functions_with_several_results_and_options():
    @function
    def rotate(v, *, angle, swap=False):
        c, s = jnp.cos(angle), jnp.sin(angle)
        pair = (c * v[0] - s * v[1], s * v[0] + c * v[1])
        return pair[::-1] if swap else pair

    a, b = rotate(m.v, angle=m.x)
    c, d = rotate(m.v, angle=m.x, swap=True)
    assert at(a) == at(d)
    assert at(b) == at(c)
    first, _ = rotate(np.ones(3), angle=0.0)  # outside of equations: the function itself
    assert first == 1.0
    assert str(a) == "rotate(v, angle=x)[0]"


def test_printing():
    texts = {
        m.x - (m.y - 1): "x - (y - 1)",
        (m.x - m.y) - 1: "x - y - 1",
        m.x / (m.y * 2): "x/(y*2)",
        -(m.x**2): "-x**2",
        (-m.x) ** 2: "(-x)**2",
        2 ** (m.x + 1): "2**(x + 1)",
        (m.x + m.y) * m.v[1:]: "(x + y)*v[1:]",
        m.M[0, ::2] @ m.v[[0, 2]]: "M[0, ::2] @ v[[0, 2]]",
        np.sin(m.x) * np.cross(m.v, m.b): "sin(x)*cross(v, b)",
        np.sum(m.M, axis=0): "sum(M, axis=0)",
        m.v * -1.5: "v*(-1.5)",
        m.v + np.arange(9.0).reshape(3, 3): "v + [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]]",
        m.v + np.arange(12.0).reshape(4, 3): "v + array(4, 3)",
        der(m.v)[0] * time: "der(v[0])*time",
    }
    assert {expr: str(expr) for expr in texts} == texts
    assert str(m.x * 2 == m.y) == "x*2 == y"
    assert str(np.ones(3) == m.v) == "[1.0, 1.0, 1.0] == v"


def test_equations_know_their_line():
    here = test_equations_know_their_line.__code__.co_firstlineno
    equations = [
        m.x == m.y,
        m.n == 0 if hasattr(m, "n") else m.x == 0,
    ]
    assert [e.source.line - here for e in equations] == [3, 4]
    assert str(equations[0].source).startswith("test_expressions.py:")


def test_equation_from_arrays_lists_and_numbers():
    assert isinstance(m.x == 0, Equation)
    assert isinstance(np.zeros(3) == m.v, Equation)
    assert isinstance(m.v == [1, 2, 3], Equation)
    assert isinstance(m.v == [m.x, 2, m.y], Equation)
    assert isinstance(np.float64(1) == m.x, Equation)
    assert (m.v == 0).shape == (3,)
    assert (m.x == np.zeros(3)).size == 3


@pytest.mark.parametrize("n", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_long_sums_work(n):
    """Build, print, differentiate, lower, compile and evaluate, without recursion on depth."""

    class Long(Model):
        x = Var(n)
        y = Var()

        def equations(self):
            total = self.y
            for k in range(n):
                total = total + k * self.x[k]
            return [total == 0, der(self.x) == -self.x]

    model = Long()
    flat = elaborate(model)
    total = flat.equations[0].equation.lhs
    assert str(total).startswith("y + 0*x[0] + 1*x[1] + 2*x[2]")
    assert len(str(total)) < 3000
    assert len(leaves_of(der(total))) == 2
    lowered = flat_residual(flat)
    v = lowered.unknowns.pack({"x": np.ones(n), "y": 5.0})
    jaxpr = jax.make_jaxpr(lowered.residual)(0.0, v, v, lowered.parameters())
    assert len(jaxpr.eqns) < 60
    residual = jax.jit(lowered.residual)(0.0, v, v, lowered.parameters())
    assert residual[flat_row(lowered, 0)] == pytest.approx(n * (n - 1) / 2 + 5)


def flat_row(lowered, k):
    return lowered.rows[k].start


@pytest.mark.slow
def test_deep_graphs_that_are_not_sums():
    expr = m.x
    for _ in range(50_000):
        expr = np.sin(expr) * m.k
    assert sum(1 for _ in topological([expr])) == 100_002
    assert str(der(expr)).startswith("der(sin(")
    del expr  # and is freed without a deep recursion either
    gc.collect()


def test_shared_graphs_print_in_bounded_time():
    expr = m.x
    for _ in range(200):
        expr = expr * expr
    assert str(expr).endswith(" ...")


def test_constants_keep_their_kind():
    assert isinstance((2 * m.x).args[0], Constant)
    assert (2 * m.x).args[0].dtype == "int64"
    assert (2.0 * m.x).args[0].dtype == "float64"


class Pin(Connector):
    v = Var()
    i = Flow()


def test_long_sums_over_many_shapes_and_signs():
    class Mixed(Model):
        x = Var(30)
        w = Var((30, 2))
        s = Var(2)

        def equations(self):
            e = np.zeros(2)
            for k in range(30):
                e = e - self.x[k] * self.w[k] if k % 3 else e + 2.0 * self.w[k] + k
            return [self.s == e, der(self.x) == 0, der(self.w) == 0]

    lowered = flat_residual(elaborate(Mixed()))
    rng = np.random.default_rng(1)
    x, w, s = rng.normal(size=30), rng.normal(size=(30, 2)), rng.normal(size=2)
    v = lowered.unknowns.pack({"x": x, "w": w, "s": s})
    expected = s - sum(-x[k] * w[k] if k % 3 else 2 * w[k] + k for k in range(30))
    residual = lowered.residual(0.0, v, v, lowered.parameters())
    np.testing.assert_allclose(residual[lowered.rows[0]], expected, rtol=1e-12)


def test_expressions_refuse_to_become_numbers():
    import math

    with pytest.raises(ModelError, match=r"`x` cannot become a float .*np\.sin"):
        math.sin(m.x)
    with pytest.raises(ModelError, match=r"`x < 1` cannot become a truth value .*np\.where"):
        if m.x < 1:
            pass
    with pytest.raises(TypeError, match="not a valid JAX type"):
        jnp.sin(m.x)
    with pytest.raises(ModelError, match=r"`x` cannot become an integer .*plain Python values"):
        [1, 2, 3][m.x]
    with pytest.raises(TypeError, match="scalar"):
        len(m.x)

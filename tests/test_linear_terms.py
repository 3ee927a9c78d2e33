"""Linear terms: what is known about the coefficient of each variable in an equation."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from modia_py import Model, Par, Var, der, time
from modia_py.expressions.calculus import differentiate_equation
from modia_py.expressions.linear_terms import CoefficientKind, Dependence, linear_terms

from .helpers import trajectory, value_of
from .test_calculus import CATALOGUE


class Plant(Model):
    m = Par(2.0, nonzero=True)
    R = Par(1.0)
    A = Par(np.eye(3))
    x = Var()
    y = Var()
    v = Var(3)
    w = Var(3)
    k = Var(10)


s = Plant()
INTEGER, CONSTANT, NONZERO, MAY_VANISH, NONLINEAR = CoefficientKind
ELEMENTWISE, BROADCAST, SUM, GENERAL = Dependence


@pytest.mark.parametrize(
    ("equation", "expected"),
    [
        (s.m * der(s.x) == s.y, {"der(x)": (NONZERO, "m"), "y": (INTEGER, "-1")}),
        (s.R * s.x == 2 * s.y + s.y, {"x": (MAY_VANISH, "R"), "y": (INTEGER, "-3")}),
        (s.x / s.m * 3 == -s.y / 4, {"x": (NONZERO, "3*(1/m)"), "y": (CONSTANT, "0.25")}),
        (s.x - s.x == s.y, {"y": (INTEGER, "-1")}),
        (s.x * s.y == 1, {"x": (MAY_VANISH, "y"), "y": (MAY_VANISH, "x")}),
        (s.x * s.x == s.y, {"x": (NONLINEAR, None), "y": (INTEGER, "-1")}),
        (np.sin(s.x) == s.x + time, {"x": (NONLINEAR, None)}),
        (s.v * [1.0, 0.0, 2.0] == s.w, {"v": (MAY_VANISH, "[1.0, 0.0, 2.0]"), "w": (INTEGER, "-1")}),
        (s.k[1:] == s.k[:-1], {"k[1:]": (INTEGER, "1"), "k[:-1]": (INTEGER, "-1")}),
        (s.k[1:] * s.k[:-1] == 0, {"k[1:]": (NONLINEAR, None), "k[:-1]": (NONLINEAR, None)}),
        (s.k[:5] * s.k[5:] == 0, {"k[:5]": (MAY_VANISH, "k[5:]"), "k[5:]": (MAY_VANISH, "k[:5]")}),
        (np.where(s.x > 0, s.y, 0) == 1, {"x": (NONLINEAR, None), "y": (MAY_VANISH, "where(x > 0, 1, 0)")}),
    ],
    ids=str,
)
def test_kinds_and_coefficients(equation, expected):
    terms = {str(term.node): term for term in linear_terms(equation)}
    actual = {
        name: (term.kind, None if term.coefficient is None else str(term.coefficient))
        for name, term in terms.items()
    }
    assert actual == expected


@pytest.mark.parametrize(
    ("equation", "expected"),
    [
        (s.v == s.x, {"v": (ELEMENTWISE, INTEGER), "x": (BROADCAST, INTEGER)}),
        (s.v.sum() == s.x, {"v": (SUM, INTEGER), "x": (ELEMENTWISE, INTEGER)}),
        (s.A @ s.v == 2.5 * s.w, {"v": (GENERAL, MAY_VANISH), "w": (ELEMENTWISE, CONSTANT)}),
        (s.v @ s.v == 1, {"v": (GENERAL, NONLINEAR)}),
        (np.sin(s.v) == s.v.sum(), {"v": (GENERAL, NONLINEAR)}),
        (np.sin(s.v) == s.w, {"v": (ELEMENTWISE, NONLINEAR), "w": (ELEMENTWISE, INTEGER)}),
        (s.v - s.v[0] == 0, {"v": (GENERAL, MAY_VANISH), "v[0]": (GENERAL, MAY_VANISH)}),
        (s.v[::-1] == s.v, {"v[::-1]": (GENERAL, MAY_VANISH), "v": (GENERAL, MAY_VANISH)}),
        (s.v.sum() + s.v[0] ** 2 == 0, {"v": (GENERAL, NONLINEAR), "v[0]": (GENERAL, NONLINEAR)}),
        (
            np.sin(s.k[:-1]) == s.k[1:],
            {"k[:-1]": (ELEMENTWISE, NONLINEAR), "k[1:]": (ELEMENTWISE, INTEGER)},
        ),
        (s.v @ s.w == 1, {"v": (GENERAL, MAY_VANISH), "w": (GENERAL, MAY_VANISH)}),
        (np.cross(s.v, s.w) == s.v, {"v": (GENERAL, MAY_VANISH), "w": (GENERAL, MAY_VANISH)}),
        (np.concatenate([s.v, s.w]) == 0, {"v": (GENERAL, MAY_VANISH), "w": (GENERAL, MAY_VANISH)}),
        (s.A * s.v == 0, {"v": (GENERAL, MAY_VANISH)}),
    ],
    ids=str,
)
def test_patterns(equation, expected):
    assert {str(t.node): (t.dependence, t.kind) for t in linear_terms(equation)} == expected


def test_sum_axes():
    class Grid(Model):
        g = Var((2, 3))
        r = Var(2)

    grid = Grid()
    (term,) = [t for t in linear_terms(grid.g.sum(axis=-1) == grid.r) if t.dependence is SUM]
    assert term.axes == (1,)
    assert "1 * g: a constant integer, all elements along the summed axes" in str(term)


@pytest.mark.parametrize("equation", [entry[0] for entry in CATALOGUE], ids=str)
@pytest.mark.parametrize("differentiated", [False, True])
def test_terms_agree_with_the_jacobian(equation, differentiated):
    """Where a term says linear the Jacobian does not depend on it, and equals the coefficient."""
    if differentiated:
        equation = differentiate_equation(equation)
    residual = equation.residual()
    by_leaf: dict = {}
    for term in linear_terms(equation):
        by_leaf.setdefault(term.leaf, []).append(term)
    for leaf, terms in by_leaf.items():
        if any(term.kind is NONLINEAR for term in terms):
            continue

        def along(value, leaf=leaf):
            return value_of(residual, lambda node: value if node is leaf else trajectory(node, 0.4))

        here = trajectory(leaf, 0.4)
        jacobian = np.asarray(jax.jacobian(along)(here)).reshape(residual.size, -1)
        elsewhere = np.asarray(jax.jacobian(along)(here * 0 + 0.1)).reshape(residual.size, -1)
        np.testing.assert_allclose(jacobian, elsewhere, rtol=1e-9, atol=1e-9)
        if len(terms) == 1 and terms[0].dependence is ELEMENTWISE:
            coefficient = value_of(terms[0].coefficient, lambda node: trajectory(node, 0.4))
            expected = np.zeros_like(jacobian)
            places = terms[0].positions.to_array().ravel()
            weights = np.broadcast_to(coefficient, residual.shape).ravel()
            np.add.at(expected, (np.arange(len(places)), places), weights)
            np.testing.assert_allclose(jacobian, expected, rtol=1e-9, atol=1e-12)

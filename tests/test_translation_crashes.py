"""Terms without a value: cancelled, of zero weight, or in rows that nobody asks for; and random attacks.

An equation is evaluated as the user wrote it, all rows at once. The random models are made of known
functions of time: all values of the index-1 form, at every derivative order, are compared with these, its
residual must vanish there, and its matrix must be regular.
"""

from __future__ import annotations

import numpy as np
import pytest

from modia_py import Model, Par, Var, connect, der, time, translate
from modia_py.expressions.linear_terms import linear_terms
from modia_py.models.electrical import Ground, Inductor, Resistor, TwoPin

from .manufactured import check_manufactured


class Slice(Model):
    """A derivative of one element only, of an alias."""

    x = Var(2)
    v = Var(2)
    w = Var()

    def equations(self):
        return [self.x == self.v, self.w == der(self.x[1]), self.v == np.cos(time)]


class HeldElement(Model):
    r = Var(2)
    v = Var(2)
    f = Var()
    b = Par([1.0, 0.5])
    g = Par([0.0, -9.81])

    def equations(self):
        force = np.stack([0 * self.f, self.f])
        return [der(self.r) == self.v + self.b, der(self.v) == self.g + force, self.r[1] == 0]


class ZeroTerm(Model):
    x = Var()
    y = Var(init=0.0)

    def equations(self):
        return [0 * der(self.x) + der(self.y) + self.y == time, self.y - self.x == time]


class CurrentSource(TwoPin):
    I = Par(1.0)  # noqa: E741

    def equations(self):
        return [*super().equations(), self.i == self.I]


class OpenEnd(Model):
    """The currents of the resistors are opposite, and cancel in the node that they share."""

    def __init__(self, **changes):
        super().__init__(**changes)
        self.source = CurrentSource()
        self.l1, self.l2 = Inductor(L=1.0), Inductor(L=2.0)
        self.r1, self.r2 = Resistor(R=1.0), Resistor(R=2.0)
        self.ground = Ground()

    def equations(self):
        source, l1, l2, r1, r2 = self.source, self.l1, self.l2, self.r1, self.r2
        return [
            connect(source.p, l1.p, l2.p, r1.p, r2.p),
            connect(source.n, l1.n, l2.n, self.ground.p),
            connect(r1.n, r2.n),
        ]


@pytest.mark.parametrize("tearing", ["auto", False])
@pytest.mark.parametrize("model", [Slice, HeldElement, ZeroTerm, OpenEnd])
def test_models_with_terms_without_a_value_translate(model, tearing):
    translate(model(), tearing=tearing, check=True)


def test_the_derivative_of_a_slice_of_an_alias():
    result = translate(Slice()).simulate(1.0)
    assert np.allclose(result["w"], -np.sin(result.time), atol=1e-6)
    assert np.allclose(result["x"], np.cos(result.time)[:, None], atol=1e-9)


def test_a_force_that_acts_on_one_element():
    result = translate(HeldElement()).simulate(1.0, init={"r": [0.0, 0.0], "v": [0.0, -0.5]})
    assert result.final("f") == pytest.approx(9.81)
    assert np.allclose(result.final("r"), [1.0, 0.0], atol=1e-6)


def test_zero_times_a_derivative():
    result = translate(ZeroTerm()).simulate(1.0)
    exact = result.time - 1 + np.exp(-result.time)
    assert np.allclose(result["y"], exact, atol=1e-5)
    assert np.allclose(result["x"], exact - result.time, atol=1e-5)


def test_currents_that_cancel():
    result = translate(OpenEnd()).simulate(1.0)
    assert np.allclose(result["l1.i"] + result["l2.i"], -1.0)
    assert np.allclose(result["r1.i"], 0.0, atol=1e-9)


class TwiceByAliases(Model):
    a = Var()
    b = Var()
    c = Var()
    x = Var(init=1.0)

    def equations(self):
        return [
            self.a == self.b,
            self.a + self.b + self.c == 0,
            self.c == np.sin(time) + 1,
            der(self.x) == -self.x * self.a,
        ]


def test_a_variable_in_an_equation_by_two_aliases_counts_twice():
    result = translate(TwiceByAliases(), check=True).simulate(1.0)
    assert np.allclose(result["a"], -(np.sin(result.time) + 1) / 2)
    assert result.final("x") == pytest.approx(np.exp((2 - np.cos(1.0)) / 2), rel=1e-5)


class ZeroSum(Model):
    x = Var(3)
    y = Var(3)

    def equations(self):
        return [
            2.5 * self.x + 0 * der(der(self.x)).sum() + 0 / self.y == 2.5 * np.sin(time),
            self.y == der(self.x) + 3,
        ]


def test_a_zero_coefficient_is_zero_on_every_way():
    model = ZeroSum()
    equation = model.equations()[0]
    assert [str(term.node) for term in linear_terms(equation)] == ["x"]
    result = translate(ZeroSum(), check=True).simulate(1.0)
    assert np.allclose(result["y"], np.cos(result.time)[:, None] + 3, atol=1e-6)
    assert "0/y" in str(equation)  # as written


def test_the_same_elements_written_differently_are_one_term():
    class Twice(Model):
        x = Var(3)
        u = Var()

        def equations(self):
            return [self.u - 2 * self.x[1] - self.x[1:2][0] == 0]

    terms = {str(term.node): float(term.coefficient.value) for term in linear_terms(Twice().equations()[0])}
    assert terms == {"u": 1.0, "x[1]": -3.0}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 12, 37, 55])
def test_random_models_have_their_manufactured_values(seed):
    check_manufactured(seed, "auto" if seed % 2 else False)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_random_models_have_their_manufactured_values(seed):
    check_manufactured(seed, "auto" if seed % 2 else False)


class HiddenBehindAnother(Model):
    """The first two rows constrain the same derivatives; their difference says w == der(x)."""

    x = Var()
    w = Var()
    f = Var()
    y = Var()

    def equations(self):
        return [
            self.w - der(self.x) + 2 * (self.y - der(self.f)) == 0,
            self.y == der(self.f),
            1.5 * der(self.w) == 1.5 * self.f - 1.5 * self.x,
            self.x == np.sin(2 * time),
        ]


def test_a_constraint_that_is_hidden_behind_another():
    result = translate(HiddenBehindAnother(), check=True).simulate(1.0)
    assert np.allclose(result["f"], -3 * np.sin(2 * result.time), atol=1e-5)
    assert np.allclose(result["y"], -6 * np.cos(2 * result.time), atol=1e-4)

"""Structures that cannot be solved: what is said of components, elements, parameters."""

from __future__ import annotations

import numpy as np
import pytest

from modia_py import (
    Connector,
    Discrete,
    Flow,
    Input,
    Model,
    Par,
    StructureError,
    Var,
    connect,
    der,
    time,
    translate,
    where,
)
from modia_py.models.electrical import Capacitor, ConstantVoltage, Ground, Pin, Resistor
from modia_py.models.rotational import Inertia, Torque


def message(model):
    with pytest.raises(StructureError) as caught:
        translate(model)
    return str(caught.value)


class NoBalance(Model):
    """A resistor that forgets that what flows in flows out."""

    p = Pin()
    n = Pin()
    R = Par(1.0)

    def equations(self):
        return [self.R * self.p.i == self.p.v - self.n.v]


class TwoLaws(NoBalance):
    u = Var()

    def equations(self):
        return [
            *super().equations(),
            self.p.i + self.n.i == 0,
            self.u == self.p.v - self.n.v,
            self.u == 3,
        ]


class Circuit(Model):
    def __init__(self, part, copies=0):
        super().__init__()
        self.v, self.c, self.g = ConstantVoltage(V=5.0), Capacitor(C=1.0, u=0.0), Ground()
        self.r = part.array(copies) if copies else part()

    def equations(self):
        return [
            connect(self.v.p, self.r.p),
            connect(self.r.n, self.c.p),
            connect(self.g.p, self.v.n, self.c.n),
        ]


def test_the_component_that_states_too_little_or_too_much_is_named():
    text = message(Circuit(NoBalance))
    assert "\nr (NoBalance) states 1 equation (test_missing_equations.py:" in text
    assert "for 2 unknowns of its own, r.p.i, r.n.i, and no equation outside of it determines one" in text
    assert "Is an equation missing, such as a balance of its flows?" in text
    assert "(Capacitor) states" not in text
    assert "r (NoBalance) states 3 equations" in message(Circuit(NoBalance, copies=3))
    text = message(Circuit(TwoLaws))
    assert "r (TwoLaws) states 4 equations" in text
    assert "for only 3 unknowns of its own, r.u, r.p.i, r.n.i." in text


class Driven(Model):
    a = Inertia(J=1.0)
    t = Torque()

    def equations(self):
        return [connect(self.t.flange, self.a.flange_a)]


def test_a_signal_that_nothing_gives_is_named():
    assert message(Driven()).endswith("Is an equation for t.tau missing?")


class Short(Model):
    v = ConstantVoltage(V=5.0)
    r = Resistor()
    g = Ground()

    def equations(self):
        return [connect(self.v.p, self.v.n, self.g.p, self.r.p, self.r.n)]


def test_a_short_circuit_is_named():
    text = message(Short())
    assert "v.n and v.p are connected with each other, and both belong to v (ConstantVoltage)" in text


class Rod(Model):
    T = Var(10, init=300.0)

    def equations(self):
        return [der(self.T[1:-1]) == self.T[2:] - 2 * self.T[1:-1] + self.T[:-2]]


def test_missing_boundary_values_are_named_once():
    text = message(Rod())
    assert "Under-determined by 2" in text
    assert text.count("der(T[1:-1]) ==") == 1
    assert "parts 0 to 7)" in text
    assert text.endswith(
        "Equations contain the derivative of other elements of T, and not that of T[0], T[9]: an equation "
        "for each of them (a boundary condition?) is probably missing."
    )


class Product(Model):
    h = Var(init=1.0)
    q, z = Var(), Var()

    def equations(self):
        return [der(self.h) == -self.q * self.z]


def test_unknowns_of_the_same_equations_are_one_part():
    assert "Under-determined by 2: h, q, z in only 1 equation:" in message(Product())


class Given(Model):
    h = Var(init=1.0)
    k = Par(3.0)
    d = Discrete(0.0)
    u = Input()

    def __init__(self, which):
        super().__init__()
        self.which = which

    def equations(self):
        x = getattr(self, self.which)
        return [der(self.h) == 1, x == where(self.h > 1, 0.0, 1.0) if self.which == "d" else x == 2]


@pytest.mark.parametrize(
    ("which", "said"),
    [
        ("k", "its value is that of Par(...), or Given(k=...). Declare it as a Var"),
        ("d", "d is a Discrete, which equations do not determine (test_missing_equations.py:"),
        ("u", "its values are given to `simulate` as inputs={'u': ...}."),
    ],
)
def test_equations_for_what_is_no_unknown(which, said):
    assert said in message(Given(which))


class Column(Model):
    x = Var((3, 1), init=1.0)
    y = Var(3)

    def equations(self):
        return [der(self.x) == -self.x, self.y == self.x]


def test_sides_that_broadcast_to_more_than_was_meant():
    assert "have the shapes (3,) and (3, 1), which broadcast to (3, 3): more equations" in message(Column())


class Frame(Connector):
    r, R = Var(2), Var((2, 2))
    f, t = Flow(2), Flow()


class Bar(Model):
    """Its orientation is that of its angle, and so are both frames."""

    a, b = Frame(), Frame()
    phi = Var()

    def equations(self):
        c, s = np.cos(self.phi), np.sin(self.phi)
        return [
            np.stack([np.stack([c, -s]), np.stack([s, c])]) == self.a.R,
            self.b.R == self.a.R,
            self.b.r == self.a.r + self.a.R[:, 0],
            self.a.f + self.b.f == 0,
            self.a.t + self.b.t == 0,
        ]


class Chain(Model):
    bars = [Bar() for _ in range(6)]

    def equations(self):
        return [connect(one.b, next.a) for one, next in zip(self.bars[:-1], self.bars[1:], strict=True)]


def test_orientations_that_are_stated_twice_are_no_short_circuits():
    text = message(Chain())
    assert "are connected with each other" not in text
    assert text.count("Over-determined by") == 3
    assert "more such parts" in text
    said = "The connector Frame has 6 elements that are equal where it is connected, and 3 flows. If those"
    assert said in text
    assert "only one of the components that meet may state them." in text


class Surplus(Model):
    """One equation too many beside the time, inputs, discrete variables and events, in a component."""

    x, y = Var(init=1.0), Var()
    u, d, k = Input(), Discrete(0.0), Par(1.0)

    def equations(self):
        return [
            der(self.x) == self.y * self.k,
            self.x == time + 1.0 + self.u * where(self.x > 2, self.d, 1.0),
            der(self.x) == 1.3,
        ]


class Plant(Model):
    parts = Surplus.array(2)
    alone = Surplus()

    def equations(self):
        return []


@pytest.mark.parametrize("model", [Surplus, Plant])
def test_what_stands_in_the_equations_does_not_matter(model):
    assert "too many" in message(model())

"""Wrong models, and the sentence each of them gets."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.special

from modia_py import (
    Connector,
    Flow,
    Input,
    Model,
    ModelError,
    Par,
    Var,
    connect,
    der,
    elaborate,
    flat_residual,
)
from modia_py.models.electrical import Ground, Pin, Resistor
from modia_py.models.examples import Ladder, SlidingMass


class Flange(Connector):
    phi = Var()
    tau = Flow()


class Shaft(Model):
    a = Flange()
    b = Flange()


def with_equations(build, **declared):
    """A model with these declarations, whose equations are what `build(self)` returns."""

    class Broken(Model):
        def __init__(self):
            for name, value in declared.items():
                setattr(self, name, value)

        def equations(self):
            return build(self)

    return Broken()


def message(act):
    with pytest.raises(ModelError) as caught:
        act()
    return str(caught.value)


def test_wrong_shape_at_the_line_where_it_was_written():
    text = message(lambda: elaborate(with_equations(lambda m: [m.x + m.y == 0], x=Var(3), y=Var(4))))
    assert re.search(
        r"add does not fit `x` of shape \(3,\), `y` of shape \(4,\) \(test_messages\.py:\d+\)", text
    )
    text = message(lambda: elaborate(with_equations(lambda m: [m.x == m.y], x=Var(3), y=Var(4))))
    assert re.search(r"The sides of `x == y` do not fit \(test_messages\.py:\d+\)", text)
    assert "`x` has shape (3,), `y` has shape (4,)" in text
    text = message(
        lambda: elaborate(with_equations(lambda m: [m.A @ m.x == 0], A=Par(np.eye(2)), x=Var(3)))
    )
    assert "matmul does not fit `A` of shape (2, 2), `x` of shape (3,)" in text
    text = message(lambda: elaborate(with_equations(lambda m: [m.x[3] == 0], x=Var(3))))
    assert "`x` of shape (3,) cannot be indexed so" in text
    assert "out of bounds" in text
    text = message(lambda: elaborate(with_equations(lambda m: [m.x[0.5] == 0], x=Var(3))))
    assert "an index must be of integers, slices or integer arrays, not 0.5" in text
    text = message(
        lambda: elaborate(with_equations(lambda m: [np.concatenate([m.x, m.y]) == 0], x=Var(), y=Var(2)))
    )
    assert "concatenate does not fit `x` of shape (), `y` of shape (2,)" in text


def test_unknown_parameter_names_propose_near_ones():
    assert re.search(
        r"Resistor has no parameter or variable 'r' \(test_messages.py:\d+\). Did you mean 'R'\?",
        message(lambda: Resistor(r=1.0)),
    )
    assert "Did you mean 'source.V'" in message(lambda: Ladder(5, **{"source.VV": 1.0}))
    assert "Did you mean 'r.R'" in message(lambda: Ladder(5, R=1.0))
    assert "has no parameter or variable 'r.RR'" in message(lambda: Ladder(5, r={"RR": 1.0}))
    assert "'r' is a Resistor of Ladder, not a parameter" in message(lambda: Ladder(5, r=1.0))
    assert "such as 'r." in message(lambda: Ladder(5, r=1.0))
    lowered = flat_residual(elaborate(Ladder(3)))
    text = message(lambda: lowered.parameters({"r.r": 1.0}))
    assert "Ladder has no parameter 'r.r'" in text
    assert "Did you mean 'r.R'" in text
    with pytest.raises(AttributeError, match=r"Resistor has no attribute 'Rr' .* Did you mean 'R'\?"):
        Resistor().Rr
    with pytest.raises(AttributeError, match=r"has no attribute 'us'"):
        Ladder(3).r.us
    assert not hasattr(Resistor(), "nothing")


def test_connecting_different_things():
    text = message(
        lambda: elaborate(with_equations(lambda m: [connect(m.r.p, m.s.a)], r=Resistor(), s=Shaft()))
    )
    assert "connectors of different classes" in text
    assert "r.p is a Pin, s.a is a Flange" in text
    text = message(
        lambda: elaborate(
            with_equations(lambda m: [connect(m.r[:-1].n, m.r.p)], r=Resistor.array(4), s=Shaft())
        )
    )
    assert "connect(r[0:3].n, r.p) joins arrays of different length" in text
    assert "r[0:3].n has (3,), r.p has (4,)" in text
    assert "connect takes connectors" in message(lambda: connect(Resistor(), Resistor()))
    assert "connect takes connectors" in message(lambda: connect(Resistor().p, 3))
    assert "two connectors or more" in message(lambda: connect(Resistor().p))
    text = message(lambda: elaborate(with_equations(lambda m: [connect(m.r.p, m.r.p)], r=Resistor())))
    assert "connect(r.p, r.p)" in text
    assert "connects a connector with itself" in text

    class Inner(Model):
        r = Resistor()

    text = message(
        lambda: elaborate(
            with_equations(lambda m: [connect(m.inner.r.p, m.g.p)], inner=Inner(), g=Ground())
        )
    )
    assert "inner.r.p is not a connector of Broken or of one of its components" in text

    class Wide(Connector):
        def __init__(self, n):
            self.v = Var(n)

    class Box(Model):
        def __init__(self, n):
            self.c = Wide(n)

    text = message(lambda: elaborate(with_equations(lambda m: [connect(m.a.c, m.b.c)], a=Box(2), b=Box(3))))
    assert "whose variables differ in 'v'" in text


def test_equations_that_are_not():
    text = message(lambda: elaborate(with_equations(lambda m: [m.x == 0, 1 == 2], x=Var())))
    assert "Item 2 of Broken.equations is the plain Python value False, not an equation" in text
    assert "returned nothing" in message(lambda: elaborate(with_equations(lambda m: None, x=Var())))
    assert "return [...]" in message(lambda: elaborate(with_equations(lambda m: None, x=Var())))
    text = message(lambda: elaborate(with_equations(lambda m: [m.x - 1], x=Var())))
    assert "the expression `x - 1`, not an equation: write ... == 0" in text
    assert "is None" in message(lambda: elaborate(with_equations(lambda m: [None], x=Var())))
    assert "neither an equation" in message(lambda: elaborate(with_equations(lambda m: ["x=1"], x=Var())))
    text = message(lambda: elaborate(with_equations(lambda m: [m.x == m.y == 0], x=Var(), y=Var())))
    assert "The equation `x == y`" in text
    assert "used as a truth value" in text
    assert "write chains such as a == b == c as two equations" in text
    text = message(lambda: elaborate(with_equations(lambda m: [(m.x > 0) == (m.y > 0)], x=Var(), y=Var())))
    assert "equates a relation" in text
    text = message(lambda: elaborate(with_equations(lambda m: [m.x + (m.y == 0) == 1], x=Var(), y=Var())))
    assert "The equation `y == 0` is used as a number" in text
    text = message(lambda: elaborate(with_equations(lambda m: [m.x == "one"], x=Var())))
    assert "'one' cannot stand in an equation" in text
    text = message(lambda: elaborate(with_equations(lambda m: [m.x == 1j], x=Var())))
    assert "cannot stand in an equation" in text

    class Misplaced(Model):
        r = Resistor()
        s = Resistor()

        def initial_equations(self):
            return [connect(self.r.p, self.s.p)]

    assert "connections belong into `equations`" in message(lambda: elaborate(Misplaced()))


def test_variables_outside_their_model():
    assert re.search(
        r"`SlidingMass.s` is a Var declaration, used outside its model \(test_messages.py:\d+\). "
        r"Write self.s",
        message(lambda: SlidingMass.s + 1),
    )
    other = SlidingMass()
    text = message(lambda: elaborate(with_equations(lambda m: [m.x == other.s], x=Var())))
    assert "`s` is used outside its model: in `x == s`" in text
    assert "belongs to <SlidingMass>, which is not one of the components of Broken" in text
    text = message(lambda: elaborate(with_equations(lambda m: [m.x == SlidingMass.s], x=Var())))
    assert "`SlidingMass.s` is a Var declaration" in text
    text = message(lambda: Par(2 * Resistor.R))
    assert "`Resistor.R` is a Par declaration" in text


def test_two_attributes_with_one_name():
    def declare_twice():
        class Twice(Model):
            x = Var()
            x = Par(1.0)

    assert "declares `x` twice" in message(declare_twice)

    class Again(Model):
        x = Var()

        def __init__(self):
            self.x = Var()

    assert "Again.x is already a Var" in message(Again)
    assert "two attributes cannot have one name" in message(Again)

    class Assigns(Model):
        R = Par(1.0)

        def __init__(self):
            self.R = 2.0

    assert "Assigns.R is already a Par" in message(Assigns)
    assert "Assigns(R=...)" in message(Assigns)

    def replace_by_number():
        class Half(Resistor):
            R = 0.5

    assert "Half.R replaces a Par by 0.5" in message(replace_by_number)

    class Shared(Model):
        def __init__(self):
            self.a = self.b = Resistor()

    assert "Shared.b is the component that is already `a`" in message(Shared)


def test_names_that_are_not_identifiers():
    for name in ("1x", "r-1", "a b", "lambda", ""):
        text = message(lambda name=name: with_equations(lambda m: [], **{name: Var()}))
        assert f"Broken declares {name!r}, which is not an identifier" in text
    text = message(lambda: type(Model)("Odd", (Model,), {"x y": Var()}))
    assert "Odd declares 'x y', which is not an identifier" in text

    def reserved():
        class Clash(Model):
            array = Var()

    assert "declares `array`" in message(reserved)


def test_parameter_values():
    assert "Parameter Resistor.R is NaN" in message(lambda: Resistor(R=float("nan")))
    assert "Parameter Nan.k is NaN" in message(type("Nan", (Model,), {"k": Par(np.nan)}))
    text = message(lambda: Resistor(R=[1.0, 2.0]))
    assert re.search(r"The value of Resistor.R has shape \(2,\) \(.*\), expected \(\)", text)
    text = message(lambda: SlidingMass(n=[1.0, 0.0]))
    assert "The value of SlidingMass.n has shape (2,)" in text
    assert "expected (3,)" in text
    text = message(lambda: SlidingMass(n=1.0))
    assert "has shape ()" in text
    text = message(lambda: Resistor.array(3, R=[1.0, 2.0]))
    assert "expected (), or (3,) with one for each copy" in text
    assert "must be real numbers, not 'two'" in message(lambda: Resistor(R="two"))
    assert "must be real numbers" in message(lambda: Resistor(R=1j))
    text = message(lambda: type("Zero", (Model,), {"m": Par([1.0, 0.0], nonzero=True)})())
    assert "Parameter Zero.m is zero" in text
    assert "declared nonzero" in text
    lowered = flat_residual(elaborate(Ladder(3)))
    assert "Parameter c.C is zero" in message(lambda: lowered.parameters({"c.C": [1.0, 0.0, 1.0]}))
    assert "Parameter r.R is NaN" in message(lambda: lowered.parameters({"r.R": np.nan}))
    text = message(lambda: lowered.parameters({"r.R": [1.0, 2.0]}))
    assert "The value of r.R has shape (2,)" in text
    assert "expected (), or (3,) with one for each copy" in text


def test_start_values_shapes_and_units():
    assert "The init of SlidingMass.s is not finite" in message(lambda: SlidingMass(s=np.inf))
    assert "The init of SlidingMass.r has shape (2,)" in message(lambda: SlidingMass(r=[1.0, 2.0]))
    assert "is not a shape" in message(lambda: Var(0))
    assert "is not a shape" in message(lambda: Var(2.5))
    assert "Var(init=...)" in message(lambda: Var(0.1))
    assert "unit must be text" in message(lambda: Var(unit=3))
    text = message(lambda: with_equations(lambda m: [], x=Var(), y=Var(init=SlidingMass().s)))
    assert "is not a parameter" in text
    text = message(lambda: type("Fed", (Model,), {"u": Input()})(u=1.0))
    assert "Fed.u is an input" in text


def test_component_arrays():
    assert "takes the number of copies, an integer, not 2.5" in message(lambda: Resistor.array(2.5))
    assert "has no copies" in message(lambda: Resistor.array(0))
    ladder = Ladder(3)
    assert "r has 3 copies; [5] does not select any" in message(lambda: ladder.r[5])
    assert "r[0] is one component and cannot be indexed" in message(lambda: ladder.r[0][0])
    assert "r.R cannot be assigned" in message(lambda: setattr(ladder.r, "R", 2.0))

    class Helper(Model):
        x = Var()

        def square(self):
            return self.x**2

    holder = with_equations(lambda m: [m.h.square() == 0], h=Helper.array(3))
    text = message(lambda: elaborate(holder))
    assert "h.square cannot be used on a component array" in text
    assert "Declare a Var for it" in text


def test_numpy_functions_that_cannot_work():
    m = SlidingMass()
    assert "has no counterpart in jax.numpy" in message(lambda: np.real_if_close(m.s))
    assert "np.add with out" in message(lambda: np.add(m.s, 1, out=np.zeros(())))
    assert "pbdv has no counterpart in JAX" in message(lambda: scipy.special.pbdv(m.s, m.s))


def test_parameters_computed_in_a_circle_or_from_elsewhere():
    class Outer(Model):
        def __init__(self, other):
            self.r = Resistor(R=2 * other.R)

    text = message(lambda: elaborate(Outer(Resistor())))
    assert "r.R is given as `2*R`, but Resistor.R belongs to another model" in text

    class Deep(Model):
        def __init__(self):
            self.r = Resistor.array(3)
            self.k = Par(self.r.R.sum())

    lowered = flat_residual(elaborate(Deep()))
    assert lowered.parameters({"r.R": [1.0, 2.0, 3.0]})[lowered.flat.by_name["k"].offset] == 6.0


def test_der_needs_an_expression():
    assert "is a Var declaration, used outside its model" in message(lambda: der(SlidingMass.s))
    assert str(der(3.0)) == "0"
    assert isinstance(Pin(), Connector)

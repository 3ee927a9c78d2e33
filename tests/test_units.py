"""Units: what a text means, what is compared, what is converted."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import pkgutil
import warnings

import numpy as np
import pytest

import modia_py.models
from modia_py import Input, Model, ModelError, Par, UnitWarning, Var, der, elaborate, simulate, translate
from modia_py.errors import UnknownNameError
from modia_py.language.unit_check import unit_conflicts
from modia_py.units import near_unit, parse_unit


@pytest.mark.parametrize(
    ("text", "same", "factor"),
    [
        ("kg.m2/s3", "W", 1.0),
        ("N.m/rad", "J", 1.0),
        ("km/h", "m/s", 1 / 3.6),
        ("rpm", "rad/s", 2 * np.pi / 60),
        ("W/m2/K", "W/(m2.K)", 1.0),
        ("kg*m/s**2", "N", 1.0),
        ("m s-1", "m/s", 1.0),
        ("m^2", "m2", 1.0),
        ("uF", "F", 1e-6),
        ("kOhm", "Ohm", 1e3),
        ("mmol/L", "mol/m3", 1.0),
        ("min", "s", 60.0),
        ("(N.s/m)/s", "kg/s2", 1.0),
        ("%", "1", 0.01),
        ("bar", "Pa", 1e5),
        ("kW.h", "kWh", 1.0),
        ("{cars}/h", "1/s", 1 / 3600),
    ],
)
def test_texts_of_units(text, same, factor):
    own, other = parse_unit(text), parse_unit(same)
    assert own.converts_to(other)
    assert own.converted(1.0, other) == pytest.approx(factor)


def test_what_is_no_unit():
    for text in ("apples", "", "kg$", "9"):
        assert parse_unit(text) is None


@pytest.mark.parametrize(
    ("text", "meant"),
    [("mps", "m/s"), ("Kg", "kg"), ("Nm", "N.m"), ("kJ/kgK", "kJ/(kg.K)"), ("ohms", "Ohm"), ("-", "1")],
)
def test_what_is_meant_by_an_unknown_unit(text, meant):
    assert parse_unit(text) is None
    assert near_unit(text) == meant


class Counting(Model):
    v = Var(init=0.0, unit="mps")
    people = Var(init=1.0, unit="{people}")
    growth = Par(1.0, unit="{people}/s")
    price = Par(1.0, unit="EUR")

    def equations(self):
        return [der(self.v) == 1, der(self.people) == self.growth]


def test_unknown_units_are_named():
    (text,) = unit_conflicts(elaborate(Counting()))
    assert "Unknown unit 'mps' (of v), 'EUR' (of price): what has it is not compared." in text
    assert "Did you mean 'm/s'? What is counted stands in braces: unit='{people}'." in text


def test_temperatures():
    celsius, fahrenheit, kelvin = map(parse_unit, ("deg C", "degF", "K"))
    assert celsius.converted(20.0, kelvin) == pytest.approx(293.15)
    assert celsius.converted(100.0, fahrenheit) == pytest.approx(212.0)


class Mixed(Model):
    volts = Var(unit="V")
    m = Par(1.0, unit="kg")
    t = Par(1.0, unit="s")
    x = Var(unit="m", init=0.0)
    y = Var(unit="mm")
    v = Par(1.0, unit="m/s")
    T = Var(unit="degC", init=20.0)
    room = Par(20.0, unit="degC")
    Tk = Var(unit="K")
    C = Par(1.0, unit="J/K")
    G = Par(1.0, unit="W/K")
    E = Var(unit="J")
    any = Par(2.0)
    u = Var(unit="V")

    def equations(self):
        return [
            self.volts == self.m * self.t,
            der(self.x) == self.v + self.x,
            self.y == self.x,
            self.C * der(self.T) == self.G * (self.room - self.T),
            self.Tk == self.T,
            0.5 * self.m * self.v**2 + 9.81 * self.m * self.x + self.any * self.x == self.E,
            self.u == 3.0 + self.any,
        ]


def test_both_units_and_the_line_are_named():
    texts = unit_conflicts(elaborate(Mixed()))
    assert len(texts) == 4
    assert texts[0].startswith("The sides of `volts == m*t` (test_units.py:")
    assert texts[0].endswith("have different units: `volts` is in V, `m*t` in kg.s.")
    assert "The terms `v` and `x` of `der(x) == v + x`" in texts[1]
    assert "`v` is in m/s, `x` in m" in texts[1]
    assert "`y` is in mm, `x` in m. Both measure the same; numbers are not converted." in texts[2]
    assert "`Tk` is in K, `T` in degC. Both measure the same" in texts[3]


def test_a_warning_that_can_be_switched_off():
    with pytest.warns(UnitWarning) as seen:
        translate(Mixed())
    assert "`volts == m*t`" in str(seen[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        translate(Mixed(), check_units=False)


def test_no_false_alarm_in_the_libraries():
    """Every component that can be made without arguments."""
    looked_at = 0
    for module in pkgutil.walk_packages(modia_py.models.__path__, "modia_py.models."):
        if module.name.endswith("demo"):
            continue
        for cls in vars(importlib.import_module(module.name)).values():
            own = inspect.isclass(cls) and issubclass(cls, Model) and cls.__module__ == module.name
            if own and all(
                parameter.default is not inspect.Parameter.empty or parameter.kind in (2, 4)
                for name, parameter in inspect.signature(cls.__init__).parameters.items()
                if name != "self"
            ):
                with contextlib.suppress(ModelError):  # some are abstract
                    assert unit_conflicts(elaborate(cls())) == [], cls
                    looked_at += 1
    assert looked_at > 100


class Plate(Model):
    """Numbers are in K everywhere; who wants degrees asks for them."""

    T = Var(init=293.15, unit="K")
    P = Input(unit="W")
    C = Par(2.0, unit="J/K")
    n = Var()

    def equations(self):
        return [self.C * der(self.T) == self.P, self.n == 1]


def test_results_in_another_unit():
    result = simulate(Plate(), 1.0, inputs={"P": 1.0}, times=3)
    np.testing.assert_allclose(result["T"], [293.15, 293.4, 293.65])
    np.testing.assert_allclose(result["T in degC"], [20.0, 20.25, 20.5])
    np.testing.assert_allclose(result["der(T) in degC/h"], 1800.0)
    np.testing.assert_allclose(result["time in min"], [0, 1 / 120, 1 / 60])
    assert result.final("T in degF") == pytest.approx(68.9)
    panels = result.plot("T in degC", ("T in degC", "T"), over="time in min").axes
    assert [axis.get_ylabel() for axis in panels] == ["T in degC", "T"]
    assert [text.get_text() for text in panels[1].get_legend().texts] == ["T in degC", "T in K"]
    assert panels[1].get_xlabel() == "time in min"
    for name, text in (
        ("T in kg", "T is in K, which cannot be given in kg"),
        ("T in foo", "'foo', in which T is asked for, is no known unit"),
        ("n in m", "n has no unit"),
        ("Q in m", "has no 'Q'"),
    ):
        with pytest.raises(UnknownNameError, match=text):
            result[name]

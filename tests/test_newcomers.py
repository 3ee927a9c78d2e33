"""Slips of newcomers, and the sentence each of them gets. Any error but a ModiaError would be a defect."""

# ruff: noqa: F821

from __future__ import annotations

import time as clock

import numpy as np
import pytest

import modia_py
from modia_py import (
    Input,
    Model,
    ModelError,
    SimulationError,
    StructureError,
    Var,
    connect,
    der,
    elaborate,
    simulate,
    translate,
)
from modia_py.models.electrical import (
    Capacitor,
    ConstantCurrent,
    ConstantVoltage,
    Ground,
    IdealDiode,
    Pin,
    Resistor,
    SineVoltage,
)

from .helpers import message


class Tank(Model):
    h = Var(init=1.0)
    level = Var()


def of_equations(build, **declared):
    """What is said of a model whose equations are `build(self)`."""

    class Slip(Tank):
        def __init__(self):
            super().__init__()
            for name, value in declared.items():
                setattr(self, name, value)

        def equations(self):
            return build(self)

    return message(lambda: elaborate(Slip()), ModelError)


def assigned(tank):
    tank.h[0] = 3


def over(tank):
    tank.level = 3


def one_copy(tank):
    tank.r[0] = 3


def added(tank):
    statements = []
    statements += der(tank.h) == 1
    return statements


def declared_late(tank):
    tank.z = Var()
    return [tank.z == 1]


def lost(tank):
    connect(tank.r[0].p, tank.r[1].p)
    return []


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda m: [level == 1], "`level` is not defined. It is declared in the model: write self.level."),
        (lambda m: [m.h == dre(m.h)], "`dre` is not defined."),
        (lambda m: [m.h == reinitt], "Did you mean reinit?"),
        (lambda m: [m.h == named], "write `from modia_py import named`"),
        (lambda m: [m.h == np.sin(clock)], "fails (test_newcomers.py:"),
        (lambda m: [m.Level == 1], "Did you mean 'level'?"),
        (assigned, "An equation is written with ==, in the list that `equations` returns"),
        (over, "an equation is written self.level == ..."),
        (one_copy, "r[0] cannot be assigned"),
        (added, "A statement is an equation `lhs == rhs`, or connect(a, b)."),
        (declared_late, "is declared while Slip.equations is evaluated"),
        (lambda m: [m.h == Var()], "A Var that has no name is used"),
        (lambda m: [m.h == 1 / 0], "ZeroDivisionError: division by zero."),
        (lambda m: [m.h.v == 1], "`h` is an expression, not a component."),
        (lambda m: [m.r], "is the component r: components are declared, equations are listed here."),
        (lambda m: ["h == 1"], "is 'h == 1', neither an equation"),
        (lambda m: [np.ones(2) == np.ones(2)], "is an array of [True, True], not an equation"),
        (lambda m: [connect(m.h, m.level)], "joined by an equation: self.h == self.level."),
        (lambda m: [connect(m.r[0].p.v, m.r[1].p.v)], "Connect the connector it belongs to."),
        (lambda m: [m.h == delay(m.h, 1)], "`delay` is not defined."),
        (lambda m: [connect(Pin, Pin)], "such as self.a.p, not the class Pin."),
        (lambda m: [connect(m.r[0].p, [m.r[1].p])], "The members of a list: connect(a, *others)."),
        (lambda m: [connect(m.cls.p, m.r[0].p)], "Is a class named without ()?"),
        (lambda m: [m.cls.p.v == 0], "Is a Pin named without ()?"),
        (lost, "has no effect: put it there."),
        (
            lambda m: [connect(m.r[0], m.r[1].p)],
            "not the Resistor r[0]. Its connectors: r.p, r.n.",
        ),
        (lambda m: [connect(m.r[3].p, m.r[0].p)], "[3] does not select any (test_newcomers.py:"),
        (lambda m: [connect(m.r[3].p, m.r[0].p)], "they are numbered 0 to 2."),
        (
            lambda m: [m.h == modia_py.time()],
            "is no function: write time, not time(); a product needs its *.",
        ),
        (lambda m: m.equations(), "RecursionError: it calls itself without end."),
    ],
)
def test_equations(build, said):
    text = of_equations(build, r=Resistor.array(3), cls=Resistor)
    assert said in text
    assert "test_newcomers.py:" in text or "Item 1" in text


def test_python_s_module_time():
    def build(self):
        time = clock
        return [self.h == time * 3]

    assert "`time` is Python's module there: write `from modia_py import time`." in of_equations(build)
    assert "time" not in modia_py.__all__
    assert modia_py.time is not clock


def test_an_array_of_equations_is_a_list_of_them():
    class Many(Model):
        h = Var(3, init=1.0)

        def equations(self):
            return np.array([der(self.h[k]) == k for k in range(3)])

    assert len(elaborate(Many()).equations) == 3


BODIES = {
    "x = Var": "Slip.x is the class Var (slip.py:1): write Var().",
    "x = Var(3.0)": "3.0 is not a shape (slip.py:2)",
    "x = Var(init=2.0, unt='m')": "unexpected keyword argument 'unt'. Did you mean 'unit'? (slip.py:2)",
    "x = Par()": "missing 1 required positional argument: 'value'",
    "x = Par('1.0')": "must be real numbers, not '1.0' (slip.py:2): no quotes.",
    "time = Var()": "Slip declares `time` (slip.py:1), a name that every model uses itself.",
    "def equation(self): return []": "has a method `equation` and no `equations` (slip.py:1)",
    "def equations(): return []": "lacks its self: def equations(self): ...",
    "equations = []": "expected a method: def equations(self): return [...].",
    "r = Resistor(10.0)": "takes values by name, not 10.0",
    "r = Resistor(Resistance=1.0)": "has no parameter or variable 'Resistance'",
}


@pytest.mark.parametrize(("body", "said"), BODIES.items())
def test_class_bodies(body, said):
    names = {**globals(), "Par": modia_py.Par}
    text = f"class Slip(Model):\n    {body}\n"
    assert said in message(lambda: exec(compile(text, "slip.py", "exec"), names), ModelError)


class Endless(Model):
    def __init__(self, **changes):
        super().__init__(**changes)
        self.child = Endless()


class Sized(Model):
    def __init__(self, n):
        super().__init__()
        self.x = Var(n)
        self.y = Var(m)


def test_constructors():
    assert "Endless contains itself without end (test_newcomers.py:" in message(Endless)
    assert "Sized.__init__ (test_newcomers.py:" in message(lambda: Sized(3))
    assert "`m` is not defined." in message(lambda: Sized(3))
    assert "missing 1 required positional argument: 'n'. Its arguments: n." in message(Sized)
    assert "unexpected keyword argument 'R'" in message(lambda: Sized(3, R=2))


class Two(Model):
    r = Resistor()
    g = Ground()


class Parallel(Two):
    a = ConstantVoltage(V=1.0)
    b = ConstantVoltage(V=1.0)

    def equations(self):
        return [connect(self.a.p, self.b.p, self.r.p), connect(self.a.n, self.b.n, self.g.p, self.r.n)]


class Series(Two):
    a = ConstantCurrent(I=1.0)
    b = ConstantCurrent(I=2.0)

    def equations(self):
        return [
            connect(self.a.p, self.b.n),
            connect(self.a.n, self.g.p, self.r.n),
            connect(self.b.p, self.r.p),
        ]


def test_sources_in_parallel_and_in_series_are_named():
    text = message(lambda: translate(Parallel()), StructureError)
    assert "a (ConstantVoltage) and b (ConstantVoltage) are connected in parallel, or in a loop" in text
    assert "each of them gives its u, one too many" in text
    text = message(lambda: translate(Series()), StructureError)
    assert "a (ConstantCurrent) and b (ConstantCurrent) are connected in series" in text


class Ramp(Model):
    u = Input()
    x = Var(init=0.0)
    y = Var()

    def equations(self):
        return [der(self.x) == self.u, self.y == self.u]


@pytest.fixture(scope="module")
def ramp():
    return translate(Ramp())


def test_options(ramp):
    def run(**options):
        return lambda: ramp.simulate(0.3, **{"inputs": {"u": 1.0}, **options})

    for options, said in (
        ({"rtoll": 1e-3}, "unexpected keyword argument 'rtoll'. Did you mean 'rtol' or 'atol'?"),
        ({"times": 0.1}, "times=4 is a point every 0.1; times=[0.1] is that time only."),
        ({"times": "0.1"}, "times is a number of points or an array of times, not '0.1'."),
        ({"times": ["0", "0.1"]}, "times is a number of points or an array of times"),
        ({"rtol": "1e-3"}, "rtol is the text '1e-3': write the number without quotes."),
        ({"atol": "1e-3"}, "atol must be a number, or numbers by name, not the text '1e-3'."),
        ({"params": 3}, "params are values by name, {'name': value}, not 3."),
        ({"init": [1.0]}, "init are values by name"),
        ({"init": {"x": "3"}}, "The start value of x is the text '3': write numbers without quotes."),
        ({"inputs": {"u": "1"}}, "The input u is the text '1': write numbers without quotes."),
        ({"inputs": {"u": lambda: 1.0}}, "takes 0 positional arguments but 1 was given"),
    ):
        assert said in message(run(**options), ModelError)
    assert "Did you mean 'tearing'" in message(lambda: translate(Ramp(), taring=True))
    assert "missing 1 required positional argument: 'stop_time'" in message(lambda: simulate(Ramp()))


def test_times_with_rounding_at_the_end(ramp):
    result = ramp.simulate(0.3, inputs={"u": 1.0}, times=np.arange(0, 0.31, 0.1))
    assert result.time[-1] == 0.3
    late = message(lambda: ramp.simulate(0.3, inputs={"u": 1.0}, times=[0.0, 0.3001]))
    assert "times go from 0 to 0.3001" in late


@pytest.mark.parametrize(
    ("table", "y", "end"),
    [
        (([0, 1, 1, 2], [0.0, 1.0, 3.0, 3.0]), [0, 0.5, 3, 3, 3], 3.5),
        (([0, 0.5, 1, 1, 1.5, 2], [0, 0.25, 1, 3, 3, 3.0], "cubic"), [0, 0.25, 3, 3, 3], 1 / 3 + 3),
        (([0, 1, 1, 2], [0.0, 1.0, 3.0, 3.0], "previous"), [0, 0, 3, 3, 3], 3.0),
        (([0, 0, 2], [5.0, 1.0, 1.0]), [1, 1, 1, 1, 1], 2.0),
    ],
)
def test_a_time_that_stands_twice_is_a_jump(ramp, table, y, end):
    result = ramp.simulate(2.0, inputs={"u": table}, times=5)
    np.testing.assert_allclose(result["y"][result.output_rows], y, atol=1e-9)
    assert result.final("x") == pytest.approx(end, rel=1e-6)


def test_tables_that_are_wrong(ramp):
    def run(table):
        return message(lambda: ramp.simulate(2.0, inputs={"u": table}))

    assert "The time 1 stands three times" in run(([0, 1, 1, 1, 2], [0, 1, 2, 3, 4]))
    assert "after 1 stands 0.5. A time that stands twice is a jump." in run(([0, 1, 0.5, 2], [0, 1, 2, 3]))


def test_series_of_pandas(ramp):
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([0.0, 1.0, 3.0, 3.0], index=[0, 1, 1, 2])
    result = ramp.simulate(2.0, inputs={"u": series}, times=2)
    assert result.final("x") == pytest.approx(3.5)
    hours = pandas.Series([0.0, 1.0], index=pandas.to_timedelta([0, 2], "s"))
    assert ramp.simulate(2.0, inputs={"u": hours}, times=2).final("x") == pytest.approx(1.0)
    dates = pandas.Series([0.0, 1.0], index=pandas.to_datetime(["2020-01-01", "2020-01-02"]))
    text = message(lambda: ramp.simulate(2.0, inputs={"u": dates}))
    assert "The index of a table of pandas holds dates: give seconds" in text


class Bang(Model):
    x = Var(init=1.0)

    def equations(self):
        return [der(self.x) == -np.sign(self.x)]


def test_a_jump_without_an_event_is_named_where_a_run_gives_up():
    text = message(lambda: simulate(Bang(), 2.0, max_steps=400), SimulationError)
    assert "These functions jump without an event:\n    `sign(x)` in `der(x) == -sign(x)` (test_new" in text
    assert "np.clip(x / small, -1, 1)" in text


class Shorted(Model):
    v = SineVoltage(V=5.0, f=50.0)
    d = IdealDiode(Ron=0.0)
    g = Ground()

    def equations(self):
        return [connect(self.v.p, self.d.p), connect(self.v.n, self.d.n, self.g.p)]


def test_a_start_that_an_ideal_diode_prevents_names_its_equation():
    text = message(lambda: simulate(Shorted(), 0.1), SimulationError)
    assert "Rows [" not in text
    assert "d.u == d.s*where(d.s < 0, 1, d.Ron) + d.Vknee  (ideal.py:" in text
    assert "is a parameter zero in them?" in text


def test_results_are_asked_by_name(ramp):
    result = ramp.simulate(0.3, inputs={"u": 1.0}, times=3)
    with pytest.raises(AttributeError, match=r"It is a name of the model: write result\['x'\]."):
        result.x
    assert not hasattr(result, "nothing")
    assert "there is no folder" in message(lambda: result.save("no/such/folder/a.nc"))
    assert "translated already: Ramp; call its own simulate" in message(lambda: simulate(ramp, 0.3))


class Window(Model):
    """A choice by the value of a variable, with events or without."""

    tau = Var(init=1.0)
    y = Var(init=0.0)

    def __init__(self, choose):
        super().__init__()
        self.choose = choose

    def equations(self):
        inside = (self.tau > 0.3) & (self.tau < 0.300001)
        return [der(self.tau) == -1.0, der(self.y) == self.choose(inside, 1e6, 0.0)]


def test_a_choice_without_an_event_is_noted():
    notes = simulate(Window(np.where), 1.0).notes
    assert (
        "np.where makes no event: `where((tau > 0.3) & (tau < 0.300001), 1000000, 0)` in `der(y) =="
        in notes[0]
    )
    result = simulate(Window(modia_py.where), 1.0)
    assert result.notes == ()
    assert result.final("y") == pytest.approx(1.0, rel=1e-4)


def test_a_parameter_of_others():
    def declared():
        class Wrong(Model):
            R, C = modia_py.Par(2.0), modia_py.Par(3.0)
            tau = modia_py.Par(R * C)

    assert "What depends on others is made in `__init__`: self.tau = Par(self.R * self.C)" in message(
        declared
    )

    class Right(Model):
        R, C = modia_py.Par(2.0), modia_py.Par(3.0)
        x = Var(init=1.0)

        def __init__(self, **changes):
            super().__init__(**changes)
            self.tau = modia_py.Par(self.R * self.C)

        def equations(self):
            return [self.tau * der(self.x) == -self.x]

    result = simulate(Right(), 6.0, params={"R": 4.0}, times=2)
    assert result.final("x") == pytest.approx(np.exp(-0.5), rel=1e-5)


class Charge(Model):
    v = ConstantVoltage(V=5.0)
    r = Resistor(R=0.0)
    c = Capacitor(C=1e-3, u=0.0)
    g = Ground()

    def equations(self):
        return [
            connect(self.v.p, self.r.p),
            connect(self.r.n, self.c.p),
            connect(self.g.p, self.v.n, self.c.n),
        ]


def test_a_parameter_that_is_zero_explains_a_contradiction():
    text = message(lambda: simulate(Charge(), 1.0), SimulationError)
    assert "This `init` value cannot hold at the start:\n    c.u = 0\n" in text
    assert "In these equations r.R is zero.\nThe nearest that agree: c.u = 5" in text


class Unheld(Model):
    """A pendulum for which nobody says where it begins."""

    r, v, F = Var(2), Var(2), Var()

    def equations(self):
        return [
            der(self.r) == self.v,
            der(self.v) == np.array([0.0, -9.81]) - self.F * self.r,
            self.r @ self.r == 1,
        ]


def test_what_need_not_move_from_its_guess_does_not():
    result = simulate(Unheld(), 0.1)
    assert np.linalg.norm(result["r"][0]) == pytest.approx(1.0)
    assert (result["v"][0] == 0.0).all()
    assert "no `init` determines the start of: r[0] = 0.63" in result.notes[0]


class Stiff(Model):
    """One state follows the other at once."""

    x, y = Var(init=1.0), Var(init=0.5)

    def equations(self):
        return [der(self.x) == -1e30 * (self.x - self.y), der(self.y) == -self.y]


def test_stiff_by_thirty_orders_of_magnitude():
    result = simulate(Stiff(), 1.0)
    np.testing.assert_allclose(result["y"], 0.5 * np.exp(-result.time), atol=1e-6)
    np.testing.assert_allclose(result["x"][1:], result["y"][1:], atol=1e-6)

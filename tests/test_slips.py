"""Slips of people who know circuits, processes, Modelica or numpy, and the sentences that they read."""

import math
import warnings

import jax.numpy as jnp
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.interpolate import interp1d

from modia_py import (
    Discrete,
    Model,
    ModelError,
    ModelWarning,
    Par,
    SimulationError,
    StructureError,
    Var,
    connect,
    der,
    elaborate,
    outer,
    simulate,
    translate,
    where,
)
from modia_py.models.blocks import LimPID, TransferFunction
from modia_py.models.electrical import Capacitor, ConstantCurrent, ConstantVoltage, Ground, Resistor

from .helpers import message


class Slips(Model):
    """A model whose equations a test writes."""

    n = Par(2)
    x = Var(3, init=1.0)
    d = Discrete(False)
    r = Resistor()

    def __init__(self, build):
        super().__init__()
        self.build = build

    def equations(self):
        return self.build(self)


def scattered(m):
    rates = np.zeros(3)
    rates[0] = m.x[1]
    return [der(m.x) == rates]


EQUATIONS = [
    (lambda m: [m.x < 3], "Item 1 of Slips.equations is the condition `x < 3`, not an equation"),
    (lambda m: [der(m.x) == m.r], "A component is not a number: name a variable of it."),
    (lambda m: [der(m.x) == np.sin], "A function has to be called."),
    (lambda m: [connect(m.r, m.r)], "not the Resistor r. Its connectors: r.p, r.n."),
    (lambda m: [m.x.copy() == 1], "an expression has no attribute 'copy'. `x` is an expression"),
    (lambda m: [m.x(0) == 1], "an expression is not callable. A variable, or the time, is no function"),
    (lambda m: [der(m.x) == -[1.0, 2.0, 3.0] * m.x], "A list is no array: np.array([...]) of numbers"),
    (lambda m: [der(m.x, 2) == 1], "A second derivative is der(der(x))."),
    (scattered, "An array of numbers cannot hold expressions: collect them in a list"),
    (lambda m: [der(m.x) == jnp.sin(m.x)], "relu = function(jax.nn.relu), from modia_py import function."),
    (lambda m: [der(m.x) == interp1d([0, 1], [0, 1])(m.x)], "Functions of numpy take expressions"),
    (
        lambda m: [m.x[m.n] == 1],
        "`n` is not known before the run. Sizes, counts and indices have to be known",
    ),
    (lambda m: [der(m.x) == np.arange(3.0)[m.n]], "Sizes, counts and indices have to be known"),
    (lambda m: [m.x[k] == 1 for k in range(m.n)], "`n` cannot become an integer (test_slips.py:"),
    (lambda m: [der(m.x[m.x > 0]) == 1], "Choose by value: np.where(condition, a, b)"),
    (lambda m: [m.x[k] == 1 for k in range(1, 4)], "with size 3; the first element is number 0."),
    (lambda m: [der(m.x) == np.nonzero(m.x)], "a shape that depends on values, which are not known"),
    (lambda m: [np.ones((3, 3)) @ m.x[:2] == 1], "the last axis of the first (3) has to be as long as the"),
    (
        lambda m: [np.ones((3, 2)) * m.x == 1],
        "axes are compared from the last one, and have to be equal or 1.",
    ),
    (
        lambda m: [np.ones((3, 2)) * m.x == 1],
        "Is the second one meant along the leading axes? Index it so: [:, None].",
    ),
    (
        lambda m: [der(m.x) == where(m.x < 0 & m.d, 1, 2)],
        "Each relation needs its parentheses: (x > 0) & (y > 1).",
    ),
    (lambda m: None, "Slips.equations returned nothing (test_slips.py:"),
]


@pytest.mark.parametrize(("build", "said"), EQUATIONS)
def test_equations(build, said):
    text = message(lambda: elaborate(Slips(build)), ModelError)
    assert said in text
    assert "test_slips.py:" in text or "Item 1" in text
    assert "Leaf" not in text


def test_rounding_of_python_is_that_of_numpy():
    m = Slips(list)
    assert str(round(m.x)) == str(np.round(m.x, 0))
    assert str(math.floor(m.x[0])) == str(np.floor(m.x[0]))
    assert str(math.ceil(m.x[0])) == str(np.ceil(m.x[0]))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"start": 1.0}, "Did you mean 'init' or 'guess'?"),
        ({"min": 0.0}, "'min'. Known names: shape, init,"),
        ({"units": "m"}, "Did you mean 'unit'?"),
        ({"description": "a"}, "Did you mean 'doc'?"),
    ],
)
def test_words_of_other_tools(arguments, said):
    assert said in message(lambda: Var(**arguments), ModelError)


class Decay(Model):
    x = Var(init=1.0)

    def equations(self):
        return [der(self.x) == -self.x]


@pytest.fixture(scope="module")
def decay():
    return translate(Decay())


@pytest.fixture(scope="module")
def decayed(decay):
    return decay.simulate(np.array(1.0), times=3)  # an array without axes is a number


def test_options_of_other_tools(decay):
    assert "Did you mean 'method'?" in message(lambda: decay.simulate(1.0, solver="ida"))
    assert "Did you mean 'times'?" in message(lambda: decay.simulate(1.0, saveat=0.1))
    assert "An interval is start_time=..., stop_time=..." in message(lambda: decay.simulate((0, 1)))
    for other in (1j, [1.0], None, np.inf):
        assert "stop_time must be a finite number" in message(lambda wrong=other: decay.simulate(wrong))


def test_files_of_pictures_and_results(decayed, tmp_path):
    assert decayed.time[-1] == 1.0
    folder = tmp_path / "none" / "a.png"
    assert "there is no folder" in message(lambda: decayed.plot("x", file=folder), OSError)
    assert "not .nope." in message(lambda: decayed.plot("x", file=tmp_path / "a.nope"), ModelError)
    assert "not 3." in message(lambda: decayed.plot(3), ModelError)
    assert "to_pandas(...), which has to_csv" in message(
        lambda: decayed.save(tmp_path / "a.csv"), ModelError
    )
    assert not plt.get_fignums()
    assert not list(tmp_path.iterdir())


class Annotated(Model):
    x: Var

    def equations(self):
        return [der(self.x) == 1]


class World(Model):
    g = Par(9.81)


class Ball(Model):
    world = outer(World)
    v = Var(init=0.0)

    def equations(self):
        return [der(self.v) == -self.world.g]


class Scene(Model):
    ball = Ball()


def test_declarations():
    text = message(lambda: elaborate(Annotated()), AttributeError)
    assert "`x: ...` in a class only says of which type it is: write x = Var()." in text
    text = message(lambda: elaborate(Scene()), ModelError)
    assert "ball.world is declared by outer(World) (test_slips.py:" in text
    assert "Write outer(World)." in message(lambda: outer(World()), ModelError)


def test_what_a_library_refuses_has_a_line():
    for call, said in (
        (lambda: TransferFunction(b=[1, 2, 3], a=[1, 1]), "no more b than a"),
        (lambda: TransferFunction(b=[1], a=[0, 1]), "leave leading zeros out"),
        (lambda: LimPID("PDI"), 'one of "P", "PI", "PD", "PID"'),
    ):
        text = message(call, ModelError)
        assert said in text
        assert "(test_slips.py:" in text


class Base(Model):
    x, y = Var(init=1.0), Var()

    def equations(self):
        return [der(self.x) == -self.x]


class Derived(Base):
    def equations(self):
        return [self.y == 2 * self.x]


class Whole(Base):
    def equations(self):
        return [*super().equations(), self.y == 2 * self.x]


def test_equations_that_take_the_place_of_others():
    text = message(lambda: translate(Derived()), StructureError)
    assert "Derived.equations (test_slips.py:" in text
    assert ") takes the place of Base.equations (test_slips.py:" in text
    assert "return [*super().equations(), ...] has both." in text
    assert translate(Whole())


class Wide(Model):
    x = Var(3, init=1.0)

    def equations(self):
        return [der(self.x) == np.ones((3, 3))]


def test_sides_that_broadcast_to_more_equations_than_unknowns():
    text = message(lambda: translate(Wide()), StructureError)
    assert "have the shapes (3,) and (3, 3), which broadcast to (3, 3)" in text


class Circuit(Model):
    v = ConstantVoltage(V=5.0)
    r = Resistor(R=1e3)
    g1, g2 = Ground(), Ground()


class AroundASource(Circuit):
    def equations(self):
        return [connect(self.v.p, self.r.p, self.g2.p), connect(self.v.n, self.r.n, self.g1.p)]


class BesideEachOther(Circuit):
    def equations(self):
        return [connect(self.v.p, self.r.p), connect(self.v.n, self.r.n, self.g1.p, self.g2.p)]


class OneEnd(Model):
    i, r, g = ConstantCurrent(I=1.0), Resistor(), Ground()

    def equations(self):
        return [connect(self.i.p, self.r.p), connect(self.r.n, self.g.p)]


def test_grounds_and_ends():
    text = message(lambda: translate(AroundASource()), StructureError)
    assert "g1 (Ground) and g2 (Ground) each give their v" in text
    assert "v (ConstantVoltage) gives its u between them: one too many." in text
    with pytest.warns(ModelWarning, match=r"g\d.p.i was set to zero: .* such as two grounds\?"):
        sim = translate(BesideEachOther())
    assert "such as two grounds?" in sim.report()
    assert "Nothing is connected to i.n, so" in message(lambda: translate(OneEnd()), StructureError)


class Row(Model):
    def __init__(self):
        super().__init__()
        self.c = [Capacitor(C=1.0, u=1.0), Capacitor(C=2.0, u=1.0)]
        self.r = Resistor()
        self.g = Ground()

    def equations(self):
        plus, minus = [c.p for c in self.c], [c.n for c in self.c]
        return [connect(*plus, self.r.p), connect(*minus, self.r.n, self.g.p)]


def test_lists_of_components_have_names_and_no_slices():
    sim = translate(Row())
    for name in ("c[0:2].C", "c.C", "c[2].C", "c[-1].C"):
        text = message(lambda name=name: sim.simulate(1.0, params={name: 1.0}), ModelError)
        assert "c is a list: its members have names of their own, c[0] to c[1]" in text
    text = message(lambda: sim.simulate(1.0, params={"c[1].c": 1.0}), ModelError)
    assert "Did you mean 'c[1].C' or 'c[0].C'?" in text


class Balanced(Model):
    """A steady state is asked for, and another value."""

    x, u = Var(init=1.0), Par(2.0)

    def equations(self):
        return [der(self.x) == -self.x + self.u]

    def initial_equations(self):
        return [der(self.x) == 0]


def test_the_nearest_start_fits_initial_equations():
    text = message(lambda: simulate(Balanced(), 1.0), SimulationError)
    assert "This `init` value cannot hold at the start:\n    x = 1\n" in text
    assert "The nearest that agree: x = 2 (off by 1)." in text


def test_small_matrices_are_printed():
    x = Slips(list).x
    assert str(np.eye(3) @ x) == "eye(3) @ x"
    assert str(np.diag([1.0, 2.0, 3.0]) @ x).startswith("[[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]")
    assert str(np.ones((3, 3)) @ x) == "full((3, 3), 1) @ x"


def test_a_second_ground_is_no_error():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        assert translate(BesideEachOther())


class Switched(Model):
    """Discrete variables that nothing changes: the start decides."""

    x, on, gains = Var(2, init=1.0), Discrete(True), Discrete([1, 2])

    def equations(self):
        return [der(self.x) == where(self.on, -self.gains * self.x, 0.0)]


def test_discrete_variables_that_nothing_changes_are_results():
    sim = translate(Switched())
    for values in ([1, 2], [3, 4]):
        result = sim.simulate(1.0, times=3, init={"gains": values})
        assert result["gains"].tolist() == [values] * 3
        assert result["on"].dtype == bool
        assert result["on"].all()
        np.testing.assert_allclose(result.final("x"), np.exp(-np.array(values)), rtol=1e-4)
        assert "gains" in str(result)


def test_a_choice_alone_in_an_equation_is_no_discrete_variable():
    class Alone(Model):
        x = Var(init=1.0)

        def equations(self):
            return [der(self.x) == 1, where(self.x < 0, 1, 2) == 1]

    text = message(lambda: translate(Alone()), StructureError)
    assert "1 equation for only constants:\n    where(x < 0, 1, 2) == 1" in text
    assert "assign(" not in text


@pytest.mark.parametrize("call", [translate, lambda model: simulate(model, 0.1)])
def test_a_warning_is_where_the_user_has_called(call):
    class Floating(Model):
        c = Capacitor(v=1.0)
        r = Resistor()

        def equations(self):
            return [connect(self.c.p, self.r.p), connect(self.c.n, self.r.n)]

    with pytest.warns(ModelWarning, match="is a ground missing") as caught:
        call(Floating())
    assert {warning.filename for warning in caught} == {__file__}

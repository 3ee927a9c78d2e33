"""Models as plans: rows, values and derivatives are those of the templates' own evaluation by XLA."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from modia_py import Input, Model, Par, SimulationError, Var, der, elaborate, function, time, translate
from modia_py.arrays.transform import transform
from modia_py.lowering.index1_functions import index1_functions
from modia_py.lowering.model_structure import model_structure
from modia_py.lowering.planned import WITH_X_AND_XDOT, with_plans
from modia_py.models.examples import Ladder, SlidingMass
from modia_py.models.mechanisms import DoublePendulum, FourBar, Pendulum, SliderCrank
from modia_py.plan import jaxpr_graph
from modia_py.simulation import second_opinion


class Driven(Model):
    """Inputs and their derivatives, the time, relations, and a parameter array."""

    u = Input()
    k = Par([1.0, 2.0, 3.0])
    x = Var(3, init=1.0)
    y = Var(3)
    z = Var(init=0.0)

    def equations(self):
        return [
            der(self.x) == -self.k * self.y + np.sin(der(self.u) * 0.1),
            self.y == np.where(self.x > 0.5, self.x, self.x**3) + np.cumsum(self.x),
            der(self.z) == np.linalg.norm(self.x - self.u) - self.z * (self.z > 0.2),
        ]


MODELS = {
    "sliding mass": SlidingMass,
    "pendulum": Pendulum,
    "double pendulum": DoublePendulum,
    "slider crank": SliderCrank,
    "four bars": FourBar,
    "ladder": lambda: Ladder(7),
    "driven": Driven,
}


LONG = "slider crank", "four bars"
AS_MARKED = [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in MODELS]


@pytest.mark.parametrize("tearing", [True, False])
@pytest.mark.parametrize("name", AS_MARKED)
def test_a_plan_is_what_the_templates_give(name, tearing):
    structure = model_structure(elaborate(MODELS[name]()))
    transformed = transform(
        structure.structure,
        structure.integers,
        structure.integer_rows,
        keep=structure.has_start,
        tearing=tearing,
    )
    compiled = index1_functions(structure, transformed)
    planned = with_plans(structure, compiled)
    assert planned.plans is not None, planned.why_not_planned
    n, random = compiled.size, np.random.default_rng(5)
    parameters = sum(p.size for p in structure.flat.parameters)
    inputs = compiled.input_size * (compiled.input_order + 1)
    t, x, xdot = 0.7, random.normal(size=n), random.normal(size=n)
    p, u = random.uniform(0.5, 2.0, size=parameters), random.normal(size=inputs)

    def matrices(residual):
        def both(x, xdot):
            return jax.jacfwd(residual, (1, 2))(t, x, xdot, p, u)

        return np.hstack(jax.jit(both)(x, xdot)) if n else np.zeros((0, 0))

    for one, other in ((planned.residual, compiled.residual), (planned.values, compiled.values)):
        expected = np.asarray(other(t, x, xdot, p, u))
        np.testing.assert_allclose(one(t, x, xdot, p, u), expected, rtol=1e-12, atol=1e-12)
    expected = matrices(compiled.residual)
    found = matrices(planned.residual)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max(initial=1.0))
    pattern = planned.plans.residual.pattern(WITH_X_AND_XDOT).toarray() != 0
    assert (pattern | (expected == 0)).all()


def test_what_calls_a_library_stays_a_piece_of_its_own():
    class Tank(Model):
        h = Var(init=1.0)
        A = Var(2, init=[1.0, 2.0])
        b = Var(2)

        def equations(self):
            matrix = np.array([[2.0, 1.0], [0.5, 3.0]])
            return [
                der(self.h) == -np.sqrt(self.h + 1.0),
                der(self.A) == -self.b,
                self.b == np.linalg.solve(matrix + self.h * np.eye(2), self.A),
            ]

    sim = translate(Tank())
    assert "left to XLA: linalg.solve" in sim.report()
    result = sim.simulate(1.0)
    exact = (np.sqrt(2.0) - 0.5) ** 2 - 1.0
    assert result.final("h") == pytest.approx(exact, abs=1e-5)


def named_as_numpy():
    """Functions of a user with names of numpy's."""

    @function
    def log(x):
        return jnp.log10(x)

    @function
    def add(a, b):
        return a + 2 * b

    return log, add


def filled(x):
    return x.at[jnp.array([0, 1, 7])].get(mode="fill", fill_value=2.0)


ODD = {
    "a user's log": (named_as_numpy()[0], np.log10),
    "a user's add": (lambda x: named_as_numpy()[1](x, x), lambda x: 3 * x),
    "column after column": (
        lambda x: np.ravel(np.stack([x, 2 * x]), order="F")[:3],
        lambda x: np.ravel(np.stack([x, 2 * x]), order="F")[:3],
    ),
    "beyond the end": (function(filled), lambda x: np.array([x[0], x[1], 2.0])),
    "single precision": (
        function(lambda x: x.astype(jnp.float32).astype(jnp.float64)),
        lambda x: x.astype(np.float32).astype(float),
    ),
    "far tail": (lambda x: 1e30 * scipy.special.erfc(8 + x), lambda x: 1e30 * scipy.special.erfc(8 + x)),
}


@pytest.mark.parametrize("name", ODD)
def test_what_could_be_mistaken_for_something_else(name):
    ours, exact = ODD[name]

    class Odd(Model):
        x = Var(3, init=[0.3, 0.6, 0.9])
        y = Var(3)

        def equations(self):
            return [der(self.x) == 0.1, self.y == ours(self.x)]

    result = translate(Odd()).simulate(1.0, times=5)
    expected = np.array([exact(x) for x in result["x"]])
    np.testing.assert_allclose(result["y"], expected, rtol=1e-12)


def test_a_function_that_is_taken_apart_wrongly_is_left_whole(monkeypatch):
    """A rule with a mistake: numpy's own function gives other numbers."""
    monkeypatch.setitem(jaxpr_graph._RULES, "cumsum", jaxpr_graph._cumulative("mul"))

    class Summed(Model):
        x = Var(4, init=[1.0, 2.0, 3.0, 4.5])
        y = Var(4)

        def equations(self):
            return [der(self.x) == 0 * self.x, self.y == np.cumsum(self.x)]

    sim = translate(Summed())
    assert "left to XLA: cumsum" in sim.report()
    np.testing.assert_allclose(sim.simulate(1.0).final("y"), [1.0, 3.0, 6.0, 10.5])


def test_the_report_says_how_equations_are_evaluated():
    assert "equations: a plan of" in translate(SlidingMass()).report()
    assert "equations: compiled by XLA, " in (text := translate(Ladder(1000)).report())
    assert "are long vectors" in text


def test_a_user_may_take_any_name():
    """A pulse of time that is called like a smooth function of numpy's is still searched for jumps."""

    @function
    def sin(t):
        return jnp.where((t > 500.0) & (t < 500.001), 1000.0, 0.0)

    class Pulse(Model):
        x = Var(init=0.0)

        def equations(self):
            return [der(self.x) == sin(time)]

    result = translate(Pulse()).simulate(1000.0)
    assert result.final("x") == pytest.approx(1.0, abs=1e-6)
    assert "jumps at time 500" in " ".join(result.notes)


def test_the_mean_of_a_long_vector_beside_many_equations_is_a_short_plan():
    class Mixed(Model):
        h = Var(200, init=1.0)
        s = Var(init=0.5)

        def equations(self):
            return [der(self.h) == -self.h * (1 + self.s), der(self.s) == -np.mean(self.h) * self.s]

    plan = translate(Mixed()).translation.functions.plans.residual.plan
    assert plan.levels < 20


class Wave(Model):
    x = Var(init=0.4)

    def equations(self):
        return [der(self.x) == np.sin(3 * self.x) - self.x]


def test_numpy_is_asked_for_a_second_opinion(monkeypatch):
    """As if native code and numpy had sines that differ a little: the first run notices."""
    usual = second_opinion.numpy_function

    def slightly_off(primitive):
        function = usual(primitive)
        return (lambda x: function(x) + 1e-6) if primitive.name == "sin" else function

    monkeypatch.setattr(second_opinion, "numpy_function", slightly_off)
    with pytest.raises(SimulationError, match=r"Native code and numpy do not agree[\s\S]*sin\(3\*x\)"):
        translate(Wave()).simulate(1.0)
    monkeypatch.undo()
    assert translate(Wave()).simulate(1.0).stats.certificate.holds

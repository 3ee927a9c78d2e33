"""Steady states: known ones, of any index; unique or named as not; derivatives against closed forms."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from modia_py import (
    Discrete,
    Input,
    Model,
    ModelError,
    Par,
    SimulationError,
    Var,
    der,
    time,
    translate,
    where,
)
from modia_py.models.examples import HeatRod, Ladder, Pendulum, SlidingMass


class Free(Model):
    F = Par(0.0)
    d = Par(0.0)
    s = Var(init=1.0)
    v = Var(init=0.0)

    def equations(self):
        return [der(self.s) == self.v, der(self.v) == self.F - self.d * self.v]


class TwoWells(Model):
    x = Var(init=0.3)

    def equations(self):
        return [der(self.x) == self.x - self.x**3]


class Sinh(Model):
    """x = arcsinh(u); the algebraic y follows."""

    u = Input()
    x = Var(init=0.0)
    y = Var()

    def equations(self):
        return [der(self.x) == self.u - self.y, self.y == np.sinh(self.x)]


class Heated(Model):
    """Heats until 20 degrees, less beyond."""

    beyond = Par(1.5)
    T = Var(init=15.0)
    count = Discrete(0)

    def equations(self):
        return [der(self.T) == where(self.T > 20.0, self.beyond, 5.0) - (self.T - 10.0) * 0.1]


class NoRest(Model):
    x = Var(init=0.3)

    def equations(self):
        return [der(self.x) == 1 + self.x**2]


class Moved(Model):
    x = Var()
    y = Var()
    z = Var(init=0.0)

    def equations(self):
        return [self.x == np.sin(time), self.y == der(self.x) + 1, der(self.z) == self.y - self.z]


@pytest.fixture(scope="module")
def mass():
    return translate(SlidingMass())


@pytest.fixture(scope="module")
def pendulum():
    return translate(Pendulum())


@pytest.fixture(scope="module")
def free():
    return translate(Free())


def test_a_pendulum_hangs(pendulum):
    """Index 3, from a start at which Newton's matrix is singular."""
    for state in (pendulum.steady_state(), pendulum.steady_state(init={"r": [0.6, -0.8]})):
        assert state["r"] == pytest.approx([0.0, -1.0], abs=1e-9)
        assert state["force"] == pytest.approx(9.81)
        assert state.is_stable
        assert np.abs(state.eigenvalues) == pytest.approx(np.sqrt(9.81))
    run = pendulum.simulate(1.0, init=state.start_values, times=5)
    assert np.ptp(run["r"], axis=0) == pytest.approx([0, 0], abs=1e-9)
    upright = pendulum.steady_state(init={"r": [0.01, 0.99995]}, prefer_stable=False)
    assert upright["r"] == pytest.approx([0.0, 1.0], abs=1e-9)
    assert upright.is_stable is False
    assert upright.result.notes == ("it is unstable: small deviations grow",)


def test_heat_and_circuits():
    rod = translate(HeatRod(20)).steady_state()
    heat = 293.15 + 100 / 2 + 100 / 20 * np.arange(19, -1, -1)
    assert rod["T"] == pytest.approx(heat, rel=1e-9)
    assert translate(HeatRod(20)).steady_state(time=20.0)["T"] == pytest.approx(np.full(20, 293.15))
    assert translate(Ladder(30)).steady_state()["c.u"] == pytest.approx(np.ones(30))


def test_stable_ones_are_preferred():
    sim = translate(TwoWells())
    assert sim.steady_state()["x"] == pytest.approx(1.0)
    assert sim.steady_state(settle=50.0)["x"] == pytest.approx(1.0)
    assert sim.steady_state(init={"x": -2.0})["x"] == pytest.approx(-1.0)
    unstable = sim.steady_state(prefer_stable=False)
    assert unstable["x"] == pytest.approx(0.0, abs=1e-9)
    assert repr(unstable) == "SteadyState(TwoWells: 1 variables, unstable)"


def test_discrete_values_are_those_of_the_run():
    assert translate(Heated()).steady_state()["T"] == pytest.approx(25.0)
    with pytest.raises(SimulationError, match="a relation is on the wrong side"):
        translate(Heated()).steady_state(params={"beyond": 0.0})


def test_what_is_free_is_named(free):
    with pytest.raises(SimulationError, match="not unique: nothing determines s"):
        free.steady_state()
    assert free.steady_state(params={"d": 1.0}, fixed={"s": 3.0})["s"] == pytest.approx(3.0)
    with pytest.raises(SimulationError, match=r"these equations do not hold: der\(v\) == F - d\*v"):
        free.steady_state(params={"F": 1.0})
    with pytest.raises(SimulationError, match=r"der\(x\) == 1 \+ x\*\*2"):
        translate(NoRest()).steady_state()
    with pytest.raises(SimulationError, match=r"driven by the time; these are not zero: der\(x\) = 1"):
        translate(Moved()).steady_state()


def test_wrong_names_and_values(free, mass):
    for call, text in (
        (lambda: free.steady_state(params={"q": 1.0}), "no parameter 'q'"),
        (lambda: free.steady_state(fixed={"q": 1.0}), "no variable 'q'"),
        (lambda: free.steady_state(fixed={"s": [1.0, 2.0]}), "has shape"),
        (lambda: free.steady_state(settle=-1.0), "positive"),
        (lambda: translate(Sinh()).steady_state(), "input u, for which nothing is given"),
        (lambda: mass.steady_state_function(["q"]), "no variable 'q'"),
        (lambda: mass.steady_state_function("s"), "list of names"),
        (lambda: mass.steady_state_function(["s"], params=["q"]), "no parameter 'q'"),
        (lambda: mass.steady_state_function(["s"], params=["c"])({"m": 1.0}), "not among the names"),
    ):
        with pytest.raises(ModelError, match=text):
            call()


@pytest.mark.slow
def test_derivatives_by_parameters(mass):
    """s = n.g m / c."""
    f = mass.steady_state_function(["s", "f"], params=["c", "m"])
    theta = {"c": jnp.array(1000.0), "m": jnp.array(1.0)}
    along = 0.8 * -9.81
    assert f(theta)["s"] == pytest.approx(along / 1000)
    expected = {"c": -along / 1e6, "m": along / 1000}
    for transform in (jax.jacfwd, jax.jacrev):
        found = transform(f)(theta)["s"]
        assert {name: float(value) for name, value in found.items()} == pytest.approx(expected, rel=1e-9)
    bent = jax.hessian(lambda theta: f(theta)["s"])(theta)
    assert float(bent["c"]["c"]) == pytest.approx(2 * along / 1e9, rel=1e-9)
    assert float(bent["c"]["m"]) == pytest.approx(-along / 1e6, rel=1e-9)
    many = jax.jit(jax.vmap(lambda c: f({"c": c})["s"]))(jnp.array([500.0, 1000.0]))
    assert many == pytest.approx([along / 500, along / 1000])


@pytest.mark.slow
def test_derivatives_by_inputs_and_of_the_pendulum(pendulum):
    f = translate(Sinh()).steady_state_function(["x"], inputs={"u": 4.0})
    assert float(jax.grad(lambda u: f({"u": u})["x"])(4.0)) == pytest.approx(1 / np.sqrt(17))
    f = pendulum.steady_state_function(["force", "r"], params=["m", "length"])
    theta = {"m": 2.0, "length": 0.5}
    slopes, found = jax.jacrev(f)(theta), f(theta)
    # No start has this length: it hangs or stands, whichever is found from the guesses.
    up = np.sign(float(found["r"][1]))
    assert found["r"] == pytest.approx([0.0, 0.5 * up], abs=1e-9)
    assert float(slopes["force"]["length"]) == pytest.approx(up * 2 * 9.81 / 0.5**2)
    assert slopes["r"]["length"] == pytest.approx([0.0, up], abs=1e-9)


def test_derivatives_where_something_is_fixed(free):
    f = free.steady_state_function(["s", "v"], params=["d"], fixed={"s": 3.0})
    assert float(jax.grad(lambda d: f({"d": d})["s"])(1.0)) == pytest.approx(0.0, abs=1e-12)


def test_where_there_is_none_the_function_is_nan(free):
    f = free.steady_state_function(["s"], params=["d"])
    assert np.isnan(float(f({"d": 1.0})["s"]))
    with pytest.raises(SimulationError, match="not unique"):
        f.state({"d": 1.0})

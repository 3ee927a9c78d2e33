"""Every run ends with a check of the equations as written: right, or an error that names the equation."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from modia_py import Input, Model, Par, Result, SimulationError, Var, der, translate
from modia_py.models.examples import Ladder, SlidingMass
from modia_py.models.mechanisms import Pendulum
from modia_py.results.statistics import LARGEST_VIOLATION
from modia_py.simulation.certificate import OutputTolerances, certify
from modia_py.solvers import Problem, Status, consistent_start, polish, solve

from .linear_solvers import GENERAL


class Cubic(Model):
    x = Var(init=-1.0)
    y = Var()

    def equations(self):
        return [der(self.x) == 2.0, self.y**3 + self.y == 10 * self.x]


class Logarithm(Model):
    x = Var(init=1.0)
    y = Var()

    def equations(self):
        return [der(self.x) == -1, self.y == np.log(self.x)]


class Root(Model):
    x = Var(init=1.0)
    y = Var()

    def equations(self):
        return [der(self.x) == -1, self.y == np.sqrt(self.x)]


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-10])
def test_an_algebraic_variable_that_feeds_no_derivative(rtol):
    result = translate(Cubic()).simulate(1.0, rtol=rtol)
    assert result.final("y") == pytest.approx(2.0, rel=10 * rtol)
    y, x = result["y"], result["x"]
    np.testing.assert_allclose(y**3 + y, 10 * x, atol=1e-12)
    assert result.stats.certificate.holds
    assert result.stats.certificate.times == 501


class Diode(Model):
    i = Var(init=-0.005)
    y = Var(guess=-5.0)

    def equations(self):
        return [1e-6 * (np.exp(self.y / 0.025) - 1) + self.y / 1000 == self.i, der(self.i) == 0.01]


def test_a_diode_on_a_current_ramp():
    assert translate(Diode()).simulate(1.0).final("y") == pytest.approx(0.21185269149, rel=1e-6)


class OfADerivative(Model):
    """y depends on a derivative: it is the derivative of its integral, and nothing else depends on it."""

    x = Var(init=1.0)
    y = Var()

    def equations(self):
        return [der(self.x) == -2 * self.x, self.y**3 + self.y == 10 * der(self.x)]


def test_an_unknown_that_depends_on_a_derivative():
    result = translate(OfADerivative()).simulate(3.0)
    exact = -20 * np.exp(-2 * result.time)
    y = result["y"]
    np.testing.assert_allclose(y**3 + y, exact, rtol=1e-5)


@pytest.mark.parametrize(
    ("model", "name", "text"), [(Logarithm, "y", "y == log(x)"), (Root, "y", "y == sqrt(x)")]
)
def test_what_is_not_a_number_is_an_error_with_the_result(model, name, text):
    with pytest.raises(SimulationError) as raised:
        translate(model()).simulate(2.0)
    message, result = str(raised.value), raised.value.result
    assert f"{name} becomes infinite or not a number at time 1" in message
    assert text in message
    assert "test_certificate.py:" in message
    assert "logarithm of a negative number" in message
    assert result.status is Status.VIOLATED
    assert not result.success
    assert not result.stats.certificate.holds
    assert np.isfinite(result[name][:250]).all()
    assert result["x"][-1] == pytest.approx(-1.0)


class SquareRoot(Model):
    x = Var(init=0.0)
    y = Var(guess=1.0)

    def equations(self):
        return [der(self.x) == 1, self.y**2 == 0.5 - self.x]


class Cosine(Model):
    x = Var(init=0.0)
    y = Var(guess=1.0)

    def equations(self):
        return [der(self.x) == 1, np.cos(self.y) == self.x]


class Fold(Model):
    x = Var(init=0.0)
    y = Var(guess=-1.0)

    def equations(self):
        return [der(self.x) == 1, self.y**3 - self.y == self.x]


@pytest.mark.parametrize(
    ("model", "end", "text"),
    [
        (SquareRoot, 0.5, "y**2 == 0.5 - x"),
        (Cosine, 1.0, "cos(y) == x"),
        (Fold, 2 / np.sqrt(27), "y**3 - y == x"),
    ],
)
@pytest.mark.parametrize("rtol", [1e-4, 1e-8])
def test_a_root_that_ceases_to_exist_ends_the_run_there(model, end, text, rtol):
    with pytest.raises(SimulationError) as raised:
        translate(model()).simulate(2.0, rtol=rtol)
    assert text in str(raised.value)
    result = raised.value.result
    assert end - 0.01 < result.time[-1] <= end + 1e-6
    assert np.isfinite(result["y"]).all()


class Driven(Model):
    """Index 2, with the derivative of an input, a vector and a parameter."""

    k = Par(2.0)
    u = Input()
    x = Var(2)
    v = Var(2)
    f = Var(2)

    def equations(self):
        return [
            self.x[0] == self.u,
            self.x[1] == self.k * self.u,
            self.v == der(self.x),
            self.f == self.v * self.k,
        ]


def test_inputs_and_their_derivatives_are_those_of_the_run():
    result = translate(Driven()).simulate(2.0, inputs={"u": jnp.sin})
    np.testing.assert_allclose(result["f"][:, 1], 4 * np.cos(result.time), atol=1e-6)
    assert result.stats.certificate.violation <= 1.0


@pytest.mark.parametrize("model", [SlidingMass, Pendulum])
def test_certificates_of_models_that_hold(model):
    result = translate(model()).simulate(2.0)
    certificate = result.stats.certificate
    assert certificate.violation < 1e-3
    assert "hold within" in str(certificate)
    assert "all times" in str(certificate)
    assert str(certificate) in str(result.stats)


def test_wrong_values_are_found_wherever_they_are():
    """Values are spoiled one after the other: each is noticed, and its equation named."""
    sim = translate(SlidingMass(), tearing=False)
    asked, program, outputs, work = _run_of(sim, 0.5)
    tolerances = OutputTolerances(asked.rtol, np.full(sim.flat.unknowns, 1e-9))
    assert certify(program, outputs, work, tolerances).holds
    (span,) = outputs.spans
    n, where = program.functions.size, program.functions.value_map
    used = np.unique(where.place[:2])  # what the equations contain: no second derivatives
    for place in used[(used >= 0) & (used < 2 * n)].tolist():
        part, k = ("x", place) if place < n else ("xdot", place - n)
        spoiled = getattr(span, part).copy()
        spoiled[7, k] += 1e-3 * (1 + abs(spoiled[7, k]))
        other = dataclasses.replace(span, **{part: spoiled})
        found = certify(program, type(outputs)(sim.flat, program, [other]), work, tolerances)
        assert found.violated_times == 1, (part, k)
        assert found.time == span.t[7]
        assert found.violation > LARGEST_VIOLATION
        assert "==" in found.equation


def _run_of(sim, stop):
    result_holder = {}
    original = sim._certified

    def keep(program, run, options):
        found = original(program, run, options)
        result_holder["kept"] = options, program, found.outputs, found.work
        return found

    sim._certified = keep
    sim.simulate(stop)
    return result_holder["kept"]


class AtRest(Model):
    """States that stay where they are, beside unknowns that are solved for together with them."""

    x, y, z = Var(4, init=[0.3, -0.7, 1.2, 2.5]), Var(20), Var(20)

    def equations(self):
        phase = np.outer(np.arange(20.0), np.ones(4)) @ self.x
        return [
            der(self.x) == 0 * self.x,
            self.y == np.sin(phase) + 0.1 * self.z,
            self.z == self.x.sum() + 0.3 * np.roll(self.y, 1),
        ]


def test_slopes_that_are_rounding_are_no_violation():
    sim = translate(AtRest(), tearing=False)
    asked, program, outputs, work = _run_of(sim, 1.0)
    tolerances = OutputTolerances(asked.rtol, np.full(sim.flat.unknowns, 1e-9))
    for slope, holds in ((1e-40, True), (1e-17, True), (1e-10, False)):
        spans = [dataclasses.replace(span, xdot=span.xdot + slope) for span in outputs.spans]
        found = certify(program, type(outputs)(sim.flat, program, spans), work, tolerances)
        assert found.holds is holds


def test_large_models_are_looked_at_at_some_times():
    result = translate(Ladder(3000)).simulate(0.1, params={"r.R": 1e-3}, init={"c.u": 0.0}, times=2000)
    certificate = result.stats.certificate
    assert certificate.holds
    assert 5 <= certificate.times < certificate.times_of_output == 2000
    assert f"{certificate.times} of 2000 times" in str(certificate)


def test_the_certificate_is_kept_in_files(tmp_path):
    result = translate(Cubic()).simulate(1.0)
    result.save(tmp_path / "cubic.nc")
    assert Result.load(tmp_path / "cubic.nc").stats.certificate == result.stats.certificate


# Output between steps ----------------------------------------------------------------------------------


def pendulum(t, x, xdot, length):
    q, v, lam, mu = x[:2], x[2:4], xdot[4], xdot[5]
    motion = [xdot[:2] - v + 2 * q * mu, xdot[2:4] + 2 * q * lam + jnp.array([0, 9.81])]
    return jnp.concatenate([*motion, jnp.stack([q @ q - length**2, 2 * q @ v])])


@pytest.fixture(scope="module")
def swinging():
    flags = np.arange(6)
    problem = Problem(pendulum, 6, 4, integrals=flags >= 4, multipliers=flags == 5)
    start = consistent_start(problem, 0.0, [0.9, 0.1, 0, 0, 0, 0], p=1.0)
    return problem, solve(problem, 0.0, 2.0, start.x, start.xdot, p=1.0, times=np.linspace(0, 2, 37))


@pytest.mark.parametrize("linear_solver", GENERAL)
def test_polished_rows_are_consistent(swinging, linear_solver):
    problem, solution = swinging
    found = polish(
        problem,
        solution.t,
        solution.x,
        solution.xdot,
        1.0,
        rtol=1e-6,
        atol=1e-9,
        linear_solver=linear_solver,
    )
    assert found.settled.all()
    q, v = found.x[:, :2], found.x[:, 2:4]
    np.testing.assert_allclose((q * q).sum(1), 1.0, atol=1e-15)
    np.testing.assert_allclose((q * v).sum(1), 0.0, atol=1e-14)
    force = ((v * v).sum(1) - 9.81 * q[:, 1]) / 2  # from the second derivative of the constraint
    np.testing.assert_allclose(found.xdot[:, 4], force, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.x[:, :4], solution.x[:, :4], atol=1e-6)


def test_rows_that_are_far_off_are_left_as_they_are(swinging):
    problem, solution = swinging
    x = solution.x.copy()
    x[5, 0] += 0.3
    found = polish(problem, solution.t, x, solution.xdot, 1.0, rtol=1e-6, atol=1e-9)
    assert not found.settled[5]
    assert found.settled.sum() == len(x) - 1
    np.testing.assert_array_equal(found.x[5], x[5])

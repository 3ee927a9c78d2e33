"""Derivatives of a run are those of its recorded steps: by `jax.jvp`, against finite differences."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from modia_py.solvers import Problem, Status, consistent_xdot, make_trajectory
from modia_py.solvers.compile_options import quick_jit
from modia_py.solvers.linear.dense import DenseSolver
from modia_py.solvers.loop.record import record_steps
from modia_py.solvers.loop.start import Origin, start
from modia_py.solvers.matrix.jacobian import gather_tables, pattern_of
from modia_py.solvers.method.context import Context, Method, Tables
from modia_py.solvers.method.formula import FORMULAS
from modia_py.solvers.method.replay import replay
from modia_py.solvers.method.settings import make_settings
from modia_py.solvers.method.state import NO_WORK


def decay(t, x, xdot, p):
    """Index 0."""
    return xdot + p * x**2


def circuit(t, x, xdot, p):
    """Index 1: a voltage behind an exponential."""
    return jnp.stack([xdot[0] - x[1] + jnp.sin(3 * t), x[0] + p * x[1] + 0.1 * (jnp.exp(x[1]) - 1)])


def robertson(t, x, xdot, p):
    """Index 1, stiff."""
    fast = 1e4 * x[1] * x[2]
    return jnp.stack(
        [xdot[0] + p * x[0] - fast, xdot[1] - p * x[0] + fast + 3e7 * x[1] ** 2, x.sum() - 1.0]
    )


def on_a_circle(t, x, xdot, p):
    """Index 2 in the special form: velocity given but for a multiplier, which enters by its integral."""
    a, b, _ = x
    force = xdot[2]
    return jnp.stack([xdot[0] + p * b - 2 * a * force, xdot[1] - p * a - 2 * b * force, a**2 + b**2 - 1.0])


def pendulum(t, x, xdot, p):
    """Index 3 in the form of Gear, Gupta and Leimkuhler: lambda and mu by their integrals."""
    q, v = x[:2], x[2:4]
    force, mu = xdot[4], xdot[5]
    return jnp.concatenate(
        [
            xdot[:2] - v + mu * q,
            xdot[2:4] + force * q + jnp.array([0.0, p]),
            (q @ q - 1.0)[None],
            (q @ v)[None],
        ]
    )


CASES = {
    "decay": (Problem(decay, 1, 1), [1.0], 0.7, 2.0),
    "circuit": (Problem(circuit, 2, 1), [0.0, 0.0], 0.5, 2.0),
    "robertson": (Problem(robertson, 3, 2), [1.0, 0.0, 0.0], 0.04, 10.0),
    "index 2": (Problem(on_a_circle, 3, 2, integrals=[0, 0, 1]), [1.0, 0.0, 0.0], 1.3, 2.0),
    "index 3": (
        Problem(pendulum, 6, 4, integrals=[0, 0, 0, 0, 1, 1], multipliers=[0, 0, 0, 0, 0, 1]),
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        9.81,
        1.0,
    ),
}


class Recorded:
    """A trajectory, and its steps made again for other parameters."""

    def __init__(self, name):
        self.problem, x0, self.p, end = CASES[name]
        self.x0 = jnp.asarray(x0)
        self.xdot0 = jnp.asarray(consistent_xdot(self.problem, 0.0, x0, self.p).xdot)
        self.times = jnp.linspace(0.0, end, 7)
        self.trajectory = make_trajectory(self.problem, self.p, max_steps=2000)
        pattern = pattern_of(self.problem, self.p)
        solver, formula = DenseSolver(pattern), FORMULAS["ndf"]
        method = Method(self.problem, solver, pattern.directions, formula)
        tables = Tables(gather_tables(pattern), solver.tables, self.problem.slope_places)
        settings = make_settings(
            self.problem, formula, False, t_end=end, rtol=1e-6, atol=1e-9, max_steps=2000, max_order=5
        )

        def record(p):
            context = Context(method, tables, settings, p)
            here = Origin(jnp.array([1.0, 0.0, 0.0, 1.0]), self.x0, self.xdot0, NO_WORK)
            return record_steps(context, start(context, here), 2000)

        self.record = jax.jit(record)(self.p)  # as the trajectory: a few steps depend on rounding
        count = int(self.record.count)
        self.static = self.record._replace(count=count)

        def again(x0, p):
            context = Context(method, tables, settings, p)
            return replay(context, self.record, 0.0, self.times, x0, self.xdot0)[0]

        def again_backward(x0, p):
            context = Context(method, tables, settings, p)
            return replay(context, self.static, 0.0, self.times, x0, self.xdot0)[0]

        self.again, self.again_backward = quick_jit(again, 0), again_backward

    def run(self, x0, p):
        return self.trajectory(self.times, x0, self.xdot0, p).x


QUICK = "index 3"
"""The highest index; the others are slow."""
PARAMS = [name if name == QUICK else pytest.param(name, marks=pytest.mark.slow) for name in CASES]


@pytest.fixture(scope="module", params=PARAMS)
def recorded(request):
    return Recorded(request.param)


def finite_difference(f, at, by):
    """Central, of fourth order."""
    return (8 * (f(at + by) - f(at - by)) - (f(at + 2 * by) - f(at - 2 * by))) / (12 * by)


def test_steps_made_again_are_those_of_the_run(recorded):
    run = recorded.trajectory(recorded.times, recorded.x0, recorded.xdot0, recorded.p)
    assert run.status == Status.SUCCESS
    assert run.counters.steps == recorded.record.count
    np.testing.assert_allclose(recorded.again(recorded.x0, recorded.p), run.x, rtol=1e-6, atol=1e-8)


def test_forward_derivatives_are_those_of_the_recorded_steps(recorded):
    """By a parameter and by a start value; jvp, linearize, jit and jacfwd give the same."""
    f, p = (lambda p: recorded.run(recorded.x0, p)), recorded.p
    _, dx = jax.jvp(f, (p,), (1.0,))
    expected = finite_difference(lambda p: recorded.again(recorded.x0, p), p, 1e-3 * p)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(dx, expected, rtol=1e-8, atol=1e-8 * scale)
    _, along = jax.linearize(f, p)
    np.testing.assert_allclose(along(2.0), 2 * dx, rtol=1e-12, atol=1e-12 * scale)
    np.testing.assert_allclose(jax.jit(jax.jacfwd(f))(p), dx, rtol=1e-9, atol=1e-10 * scale)


def test_the_same_steps_backward(recorded):
    """With the number of steps known, the derivative goes backward through the same solves, transposed."""
    weights = jnp.asarray(np.random.default_rng(3).normal(size=(7, recorded.problem.size)))

    def total(x0, p):
        return jnp.sum(weights * recorded.again_backward(x0, p))

    backward = quick_jit(jax.grad(total, (0, 1)), 0)(recorded.x0, recorded.p)
    forward = quick_jit(jax.jacfwd(total, (0, 1)), 0)(recorded.x0, recorded.p)
    for mine, other in zip(backward, forward, strict=True):
        scale = np.abs(other).max()
        np.testing.assert_allclose(mine, other, rtol=1e-8, atol=1e-8 * scale)


@pytest.fixture(scope="module")
def decaying():
    """x' = -p x^2 from 1: x = 1 / (1 + p t), infinite at t = 1 for p = -1."""
    return Recorded("decay")


@pytest.mark.slow
def test_lanes_have_their_own_derivatives_and_failures_have_none(decaying):
    slope = jax.jacfwd(lambda p: decaying.run(decaying.x0, p)[-1, 0])
    found = jax.vmap(slope)(jnp.array([0.5, 0.7]))
    np.testing.assert_allclose(found[1], slope(0.7), rtol=1e-9)
    exact = [-2.0 / (1 + 2.0 * p) ** 2 for p in (0.5, 0.7)]
    np.testing.assert_allclose(found, exact, rtol=1e-4)
    assert np.isnan(slope(-1.0))


@pytest.mark.slow
def test_many_directions_many_lanes_and_a_lane_that_fails(decaying):
    """vmap of jvp over directions and over parameters; jvp of vmap; linearize."""
    p, dp = jnp.array([0.5, -1.0, 0.7]), jnp.array([1.0, 1.0, 3.0])

    def last(p):
        return decaying.run(decaying.x0, p)[-1, 0]

    x, dx = jax.jit(jax.vmap(lambda p, dp: jax.jvp(last, (p,), (dp,))))(p, dp)
    exact = dp * -2.0 / (1 + 2.0 * p) ** 2
    np.testing.assert_allclose(np.asarray(dx)[[0, 2]], exact[jnp.array([0, 2])], rtol=1e-4)
    assert np.isnan(dx[1])
    y, dy = jax.jit(lambda p, dp: jax.jvp(jax.vmap(last), (p,), (dp,)))(p, dp)
    np.testing.assert_allclose(y, x, rtol=1e-12)
    np.testing.assert_allclose(dy, dx, rtol=1e-9)
    linear = jax.jit(lambda p, dp: jax.vmap(jax.linearize(last, p)[1])(dp))
    np.testing.assert_allclose(linear(0.7, dp), dp * dx[2] / 3, rtol=1e-9)
    assert np.all(np.isnan(linear(-1.0, dp)))


def test_a_start_off_the_constraints_has_no_derivative():
    problem, x0, p, _ = CASES["circuit"]
    trajectory = make_trajectory(problem, p, max_steps=100)
    found, slope = jax.jvp(
        lambda p: trajectory(jnp.linspace(0.0, 1.0, 3), jnp.asarray(x0) + 1.0, jnp.zeros(2), p),
        (p,),
        (1.0,),
    )
    assert found.status == Status.INCONSISTENT
    assert np.all(np.isnan(slope.x))
    assert np.all(np.isnan(slope.xdot))


@pytest.mark.parametrize("backward", [jax.grad, jax.jacrev])
def test_backward_is_an_error_that_says_what_to_do(decaying, backward):
    with pytest.raises(NotImplementedError, match=r"differentiated forward only: use `jax\.jvp`"):
        jax.jit(backward(lambda p: decaying.run(decaying.x0, p)[-1, 0]))(0.7)

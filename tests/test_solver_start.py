"""Consistent start values, impulses, and what a user can do wrong."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from modia_py.solvers import Problem, Status, consistent_start, consistent_xdot, impulse_start, solve

from .problems import testset

PENDULUM = testset.pendulum().problem
DECAY = Problem(lambda t, x, xdot, p: xdot + p * x, 2, 2)


def test_the_nearest_consistent_x_and_the_exact_xdot():
    start = consistent_start(PENDULUM, 0.0, [0.6, -0.7, 1.0, 0.0, 0.0, 0.0])
    q, v = start.x[:2], start.x[2:4]
    assert start.success
    assert q @ q == pytest.approx(1, abs=1e-14)
    assert q @ v == pytest.approx(0, abs=1e-14)
    multiplier = (v @ v - 9.81 * q[1]) / 2
    np.testing.assert_allclose(start.xdot[:2], v, atol=1e-12)
    assert start.xdot[4] == pytest.approx(multiplier, rel=1e-10)
    np.testing.assert_allclose(PENDULUM.residual(0.0, start.x, start.xdot, None), 0, atol=1e-12)


def test_fixed_values_stay_and_redundant_ones_are_welcome():
    fixed = [True, True, True, False, False, False]
    start = consistent_start(PENDULUM, 0.0, [0.6, -0.8, 1.0, 0.0, 0.0, 0.0], fixed=fixed)
    np.testing.assert_allclose(start.x[:4], [0.6, -0.8, 1.0, 0.75], atol=1e-12)


def test_contradicting_fixed_values_are_named():
    fixed = [True, True, False, False, False, False]
    start = consistent_start(PENDULUM, 0.0, [0.6, -0.9, 1.0, 0.0, 0.0, 0.0], fixed=fixed)
    assert start.status == Status.INCONSISTENT
    assert start.unsatisfied == (4,)
    assert "Rows [4] could not be satisfied" in start.message


def test_an_impulse_conserves_momentum():
    """Two bodies that move at different speeds are joined: v1 = v2."""

    def residual(t, x, xdot, p):
        m1, m2 = 1.0, 3.0
        v, force = x[:2], xdot[2]
        return jnp.stack([m1 * xdot[0] + force, m2 * xdot[1] - force, v[0] - v[1]])

    start = impulse_start(Problem(residual, 3, 2), 0.0, [8.0, 0.0, 0.0])
    np.testing.assert_allclose(start.x, [2.0, 2.0, 6.0], atol=1e-13)
    np.testing.assert_allclose(start.xdot, 0, atol=1e-13)


def test_line_search_and_homotopy_reach_what_newton_alone_does_not():
    problem = Problem(lambda t, x, xdot, p: jnp.arctan(5 * (x - 3.0)) + 0.1 * (x - 3.0), 1, 0)
    start = consistent_start(problem, 0.0, [-20.0])
    assert start.success
    assert start.x[0] == pytest.approx(3.0)


def test_xdot_is_computed_where_it_is_not_given():
    found = consistent_xdot(DECAY, 0.0, [1.0, -2.0], 3.0)
    np.testing.assert_allclose(found.xdot, [-3.0, 6.0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x0": [1.0, 2.0, 3.0]}, r"x0 has shape \(3,\); the problem has size 2"),
        ({"xdot0": [1.0]}, r"xdot0 has shape \(1,\)"),
        ({"x0": [1.0, np.nan]}, r"x0 is not finite at index \[1\]"),
        ({"p": np.nan}, "The parameter p is not finite"),
        ({"t1": -1.0}, "t1 = -1.0 is not after t0 = 0.0"),
        ({"t1": np.inf}, "is not finite"),
        ({"rtol": 0.0}, "rtol = 0.0 is not possible"),
        ({"atol": 0.0}, "atol must be positive"),
        ({"atol": np.ones(3)}, "atol has shape"),
        ({"max_steps": 0}, "max_steps = 0 allows no step"),
        ({"times": [0.5, 0.2]}, "increasing"),
        ({"times": [0.5, 2.0]}, "outside of the interval"),
        ({"max_order": 6}, "not between 1 and 5"),
        ({"initial_step": -1.0}, "initial_step"),
        ({"max_step": 0.0}, "max_step"),
    ],
)
def test_wrong_arguments_are_told(changes, message):
    arguments = {"t0": 0.0, "t1": 1.0, "x0": [1.0, 2.0], "p": 1.0} | changes
    with pytest.raises(ValueError, match=message):
        solve(DECAY, **arguments)


def test_wrong_problems_are_told():
    with pytest.raises(ValueError, match="not between 0 and the size 2"):
        Problem(DECAY.residual, 2, 3)
    with pytest.raises(ValueError, match="3 flags, but there are 2 rows"):
        Problem(DECAY.residual, 2, [True] * 3)
    with pytest.raises(ValueError, match=r"residual returns shape \(3,\)"):
        solve(Problem(lambda t, x, xdot, p: jnp.ones(3), 2, 2), 0.0, 1.0, [1.0, 2.0])


def test_too_few_steps_keep_what_was_computed(loop):
    solution = solve(DECAY, 0.0, 1.0, [1.0, 2.0], p=1.0, max_steps=5, loop=loop)
    assert solution.status == Status.MAX_STEPS
    assert "Try increasing `max_steps`" in solution.message
    assert 1 < len(solution.t) <= 6
    np.testing.assert_allclose(solution.x[:, 0], np.exp(-solution.t), rtol=1e-6)


def test_a_residual_that_is_never_finite(loop):
    solution = solve(
        Problem(lambda t, x, xdot, p: xdot + x / 0.0 * 0.0, 1, 1), 0.0, 1.0, [1.0], [0.0], loop=loop
    )
    assert solution.status == Status.NON_FINITE
    assert "Rows [0]" in solution.message


def test_a_residual_that_stops_being_finite(loop):
    """x = 1 - t until the root becomes imaginary at x = 0."""
    problem = Problem(lambda t, x, xdot, p: xdot + 1 + 0 * jnp.sqrt(x), 1, 1)
    solution = solve(problem, 0.0, 2.0, [1.0], loop=loop)
    assert solution.status == Status.NON_FINITE
    assert solution.t_last == pytest.approx(1.0, abs=1e-3)
    np.testing.assert_allclose(solution.x[:, 0], 1 - solution.t, atol=1e-8)


def test_a_solution_that_becomes_infinite_ends_with_a_status(loop):
    solution = solve(
        Problem(lambda t, x, xdot, p: xdot - x**2, 1, 1), 0.0, 2.0, [1.0], max_steps=20_000, loop=loop
    )
    assert solution.status.failed
    assert solution.t_last == pytest.approx(1.0, abs=1e-3)
    early = solution.t < 0.9
    np.testing.assert_allclose(solution.x[early, 0], 1 / (1 - solution.t[early]), rtol=1e-4)


def test_an_inconsistent_start_is_told(loop):
    solution = solve(PENDULUM, 0.0, 1.0, [0.6, -0.9, 0.0, 0.0, 0.0, 0.0], loop=loop)
    assert solution.status == Status.INCONSISTENT
    assert "consistent_start" in solution.message
    assert "4" in solution.message

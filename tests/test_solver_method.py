"""The formulas, the scaled matrix, and the order of convergence."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from modia_py.solvers import Problem
from modia_py.solvers.linear.dense import DenseSolver
from modia_py.solvers.matrix.jacobian import gather_tables, matrix_values, pattern_of
from modia_py.solvers.method.coefficients import DIFFERENCES, SIGNED_BINOMIALS
from modia_py.solvers.method.context import Context, Method, Tables
from modia_py.solvers.method.controller import IN_JAX
from modia_py.solvers.method.formula import FORMULAS
from modia_py.solvers.method.newton import correct
from modia_py.solvers.method.polynomial import Prediction, interpolate, predict, rescale
from modia_py.solvers.method.table import LARGE, advance_rows, move, start_again

from .problems.testset import pendulum, robertson


def differences_of(function, t, h):
    """Backward differences of a vector function at t."""
    return jnp.asarray(SIGNED_BINOMIALS @ np.stack([function(t - i * h) for i in range(DIFFERENCES)]))


def polynomial(t):
    return np.array([1 + t - 2 * t**2 + t**5, 3 * t**4 - t])


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_differences_reproduce_polynomials_of_their_degree(order):
    def power(t):
        return np.array([(1 + t) ** order])

    h, t = 0.1, 0.7
    D = differences_of(power, t, h)
    assert predict(D, order, h).x == pytest.approx(power(t + h), rel=1e-12)
    assert predict(D, order, h).xdot == pytest.approx(
        np.array([order * (1 + t + h) ** (order - 1)]), rel=1e-11
    )
    x, xdot = interpolate(D, order, h, jnp.asarray(-0.037))
    assert x == pytest.approx(power(t - 0.037), rel=1e-12)
    assert xdot == pytest.approx(np.array([order * (1 + t - 0.037) ** (order - 1)]), rel=1e-11)


@pytest.mark.parametrize("factor", [0.25, 0.9, 1.0, 3.0])
def test_rescaled_differences_are_those_of_the_same_polynomial(factor):
    D = differences_of(polynomial, 0.4, 0.1)
    new = rescale(D, jnp.asarray(factor), jnp.asarray(5))[:6]
    np.testing.assert_allclose(new, differences_of(polynomial, 0.4, 0.1 * factor)[:6], atol=1e-11)


def test_an_advance_gives_the_differences_one_step_later():
    h, t, order = 0.1, 0.4, jnp.asarray(3)
    D = differences_of(polynomial, t, h)
    d = jnp.asarray(polynomial(t + h)) - predict(D, order, h).x
    new = advance_rows(D, d, order, jnp.asarray(True))
    np.testing.assert_allclose(new[:6], differences_of(polynomial, t + h, h)[:6], atol=1e-11)


@pytest.mark.parametrize("order", [1, 3, 5])
@pytest.mark.parametrize("accepted", [True, False])
@pytest.mark.parametrize(("raised", "factor"), [(0, 1.0), (-1, 0.3), (0, 2.0)])
def test_large_tables_move_as_small_ones_do(order, accepted, raised, factor):
    random = np.random.default_rng(order)
    large = jnp.asarray(random.normal(size=(DIFFERENCES, LARGE)))
    d = jnp.asarray(random.normal(size=LARGE)) * (1.0 if accepted else np.nan)
    how = [jnp.asarray(value) for value in (order, accepted, max(1, order + raised), factor)]
    moved = move(large, d, *how)
    for part in (slice(0, LARGE // 2), slice(LARGE // 2, LARGE)):
        small = move(large[:, part], d[part], *how)
        # Rows above order + 2 mean nothing, and differ.
        np.testing.assert_allclose(moved[: order + 3, part], small[: order + 3], rtol=1e-11, atol=1e-11)


def test_a_restart_leaves_a_projected_x_and_a_slope():
    table = jnp.ones((DIFFERENCES, 3))
    for restart in (False, True):
        found = start_again(table, 0.5, jnp.full(3, 10.0), jnp.asarray(restart), lambda x: 2 * x)
        np.testing.assert_array_equal(found[:, 0], [3, 5, 0, 0, 0, 0, 0, 0] if restart else np.ones(8))


def context_of(problem, solver, formula=FORMULAS["ndf"]):
    """What the corrector needs, without settings of a run."""
    pattern = pattern_of(problem, None)
    method = Method(problem, solver, pattern.directions, formula)
    return Context(method, Tables(gather_tables(pattern), solver.tables, problem.slope_places), None, None)


@pytest.mark.parametrize("formula", ["ndf", "bdf"])
@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_observed_order_of_convergence(order, formula):
    """Fixed steps from exact start values on an index-1 problem with solution (sin t, cos t)."""

    def residual(t, x, xdot, p):
        return jnp.stack([xdot[0] - x[1] + (x[0] - jnp.sin(t)), x[0] ** 2 + x[1] ** 2 - 1])

    def exact(t):
        return np.array([np.sin(t), np.cos(t)])

    problem = Problem(residual, 2, 1)
    pattern = pattern_of(problem, None)
    solver = DenseSolver(pattern)
    gather = gather_tables(pattern)
    alpha = FORMULAS[formula].leading[order]
    context = context_of(problem, solver, FORMULAS[formula])

    @jax.jit
    def run(D, h, count):
        c, k = h / alpha, jnp.asarray(order)

        def step(i, D):
            t = 0.1 + (i + 1) * h
            at = predict(D, k, h)
            values = matrix_values(problem, pattern.directions, gather, t, at.x, at.xdot, None, c)
            factors = solver.factor(solver.tables, values, None)
            weights = jnp.full(2, 1e13)
            found = correct(context, factors, t, at, c, weights, jnp.asarray(0.95), True)
            return advance_rows(D, found.d, k, jnp.asarray(True))

        return jax.lax.fori_loop(0, count, step, D)

    errors = []
    counts = (40, 80, 160) if order < 5 else (20, 40, 80)
    for count in counts:
        h = 1.0 / count
        D = run(differences_of(exact, 0.1, h), h, count)
        errors.append(np.max(np.abs(D[0] - exact(1.1))))
    observed = np.log2(np.array(errors[:-1]) / errors[1:])
    assert observed[-1] == pytest.approx(order, abs=0.25)


@pytest.mark.parametrize("case", [robertson, pendulum])
def test_the_scaled_matrix_stays_well_conditioned_for_tiny_steps(case):
    case = case()
    problem, pattern = case.problem, pattern_of(case.problem, None)
    x = jnp.asarray(case.x0)
    xdot = jnp.zeros_like(x)

    def matrix(c):
        values = matrix_values(problem, pattern.directions, gather_tables(pattern), 0.0, x, xdot, None, c)
        dense = np.zeros((problem.size,) * 2)
        dense[pattern.rows, pattern.columns] = values
        return dense

    steps = 10.0 ** -np.arange(1.0, 15.0)
    scaled = [np.linalg.cond(matrix(c)) for c in steps]
    # Without scaling: dF/dxdot / c + dF/dx, that is, fd rows divided by c.
    unscaled = [np.linalg.cond(np.where(problem.row_flags[:, None], 1 / c, 1.0) * matrix(c)) for c in steps]
    assert max(scaled) <= 100 * max(scaled[-1], 1.0)
    assert scaled[-1] < 100
    assert unscaled[-1] > 1e10
    np.testing.assert_allclose(matrix(1e-14), matrix(1e-100), atol=1e-6)


def test_the_matrix_is_the_exact_jacobian():
    case = pendulum()
    rng = np.random.default_rng(1)
    x, xdot, c = jnp.asarray(rng.normal(size=6)), jnp.asarray(rng.normal(size=6)), 0.3
    pattern = pattern_of(case.problem, None)
    values = matrix_values(case.problem, pattern.directions, gather_tables(pattern), 0.0, x, xdot, None, c)
    found = np.zeros((6, 6))
    found[pattern.rows, pattern.columns] = values
    by_x, by_xdot = jax.jacobian(case.problem.residual, (1, 2))(0.0, x, xdot, None)
    expected = np.where(case.problem.row_flags[:, None], by_xdot + c * by_x, by_x)
    np.testing.assert_allclose(found, expected, atol=1e-13)
    assert pattern.directions < 6


@pytest.mark.parametrize("t", [1.0, 40.84, -3e6, 1e11])
def test_many_equal_steps_are_exact(t):
    h = IN_JAX.on_the_grid_of_time(jnp.asarray(1e-3 * max(abs(t), 1.0) / 7), jnp.asarray(t))
    now = t
    for _ in range(100):
        assert (now + h) - now == h
        now = float(now + h)


def test_an_iteration_that_jumps_to_and_fro_has_not_converged():
    """Right of zero the equation wants x = -1, left of it x = 1. Changes that cancel solve nothing."""
    problem = Problem(lambda t, x, xdot, p: jnp.where(x > 0, x + 1, x - 1), 1, 0)
    pattern = pattern_of(problem, None)
    solver = DenseSolver(pattern)
    factors = solver.prepare(jnp.ones(1))
    for start in (0.5, 1.0, 2.0):
        found = correct(
            context_of(problem, solver), factors, 0.0, Prediction(jnp.array([start]), jnp.zeros(1)),
            jnp.asarray(1.0), jnp.array([1e3]), jnp.asarray(0.1), True,
        )  # fmt: skip
        assert found.finite
        assert not found.converged

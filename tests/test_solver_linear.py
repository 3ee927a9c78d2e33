"""Linear solvers: all do the same, "auto" chooses, bad pivots are noticed, singular matrices are named."""

from __future__ import annotations

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sparse
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from modia_py.solvers import Problem, Status, solve
from modia_py.solvers.choose_solver import choose_solver
from modia_py.solvers.compiled import pattern_of
from modia_py.solvers.jacobian import Pattern, gather_tables, matrix_values
from modia_py.solvers.linear_band import BandSolver
from modia_py.solvers.linear_cholmod import import_cholmod

HAS_CHOLMOD = import_cholmod() is not None
SOLVERS = ["dense", "band", "klu", "superlu", *(["cholmod"] if HAS_CHOLMOD else [])]


def chain(n):
    """Diffusion along a chain, symmetric."""

    def residual(t, x, xdot, p):
        u = jnp.pad(x, 1)
        return xdot - p * (u[2:] - 2 * x + u[:-2])

    return Problem(residual, n, n)


@pytest.mark.parametrize("name", SOLVERS)
def test_factor_refactor_solve_and_transposed_solve(name):
    n = 30
    problem = chain(n)
    pattern = pattern_of(problem, 1.0)
    assert pattern.directions == 3
    solver = choose_solver(name, pattern).solver
    b = np.linspace(-1.0, 2.0, n)
    zero = jnp.zeros(n)
    values = [
        matrix_values(problem, 3, gather_tables(pattern), 0.0, zero, zero, 1.0, c) for c in (0.1, 0.7)
    ]
    factors = solver.prepare(values[0])

    @jax.jit
    def both(tables, values, factors, b):
        factors = solver.factor(tables, values, factors)
        return solver.solve(tables, factors, b), solver.solve_transposed(tables, factors, b)

    for entries in (values[1], values[0]):
        matrix = sparse.csr_matrix((np.asarray(entries), (pattern.rows, pattern.columns))).toarray()
        x, y = both(solver.tables, entries, factors, b)
        np.testing.assert_allclose(matrix @ x, b, atol=1e-12)
        np.testing.assert_allclose(matrix.T @ y, b, atol=1e-12)
    solver.release()


@given(
    n=st.integers(1, 40), lower=st.integers(0, 4), upper=st.integers(0, 4), seed=st.integers(0, 10**6),
    dominance=st.sampled_from([0.0, 1.0, 10.0]), shuffled=st.booleans(),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_bands_are_found_in_any_order_and_solved(n, lower, upper, seed, dominance, shuffled):
    """Random bands, where rows have to be swapped and where not, against a dense solution."""
    random = np.random.default_rng(seed)
    offsets = range(-min(lower, n - 1), min(upper, n - 1) + 1)
    diagonals = [random.normal(size=n - abs(k)) + dominance * (k == 0) for k in offsets]
    matrix = sparse.diags_array(diagonals, offsets=list(offsets)).toarray()
    assume(np.linalg.cond(matrix) < 1e8)
    if shuffled:
        matrix = matrix[random.permutation(n)][:, random.permutation(n)]
    rows, columns = np.nonzero(matrix)
    pattern = Pattern(
        n, rows.astype(np.int32), columns.astype(np.int32), np.zeros(n, np.int32), np.zeros(n)
    )
    solver = BandSolver(pattern)
    factors = solver.prepare(jnp.asarray(matrix[rows, columns]))
    b = random.normal(size=n)
    size = np.linalg.norm(np.linalg.inv(matrix), np.inf)
    for found, of in (
        (solver.solve(solver.tables, factors, jnp.asarray(b)), matrix),
        (solver.solve_transposed(solver.tables, factors, jnp.asarray(b)), matrix.T),
    ):
        np.testing.assert_allclose(found, np.linalg.solve(of, b), atol=1e-11 * size * n)


@pytest.mark.parametrize("name", SOLVERS)
def test_all_solvers_give_the_same_run(name):
    problem = chain(60)
    x0 = np.sin(np.pi * np.arange(1, 61) / 61)
    solution = solve(problem, 0.0, 10.0, x0, p=1.0, linear_solver=name, times=[10.0])
    decay = 4 * np.sin(np.pi / 122) ** 2
    assert solution.status == Status.SUCCESS
    assert solution.linear_solver.startswith(name)
    np.testing.assert_allclose(solution.x[-1], x0 * np.exp(-decay * 10), atol=1e-6)


def grid(n):
    def residual(t, x, xdot, p):
        u = jnp.pad(x.reshape(n, n), 1)
        return xdot - (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]).ravel()

    return Problem(residual, n * n, n * n)


def chosen_for(problem):
    pattern = pattern_of(problem, None)
    zero = jnp.zeros(problem.size)
    values = matrix_values(problem, pattern.directions, gather_tables(pattern), 0.0, zero, zero, None, 0.1)
    return str(choose_solver("auto", pattern, values))


def test_auto_says_what_it_chose_and_why():
    assert chosen_for(Problem(lambda t, x, xdot, p: xdot + x, 5, 5)) == "dense: 5 unknowns are few"
    assert chosen_for(Problem(lambda t, x, xdot, p: xdot + x.sum(), 100, 100)).startswith("dense: 100 % of")
    rod = Problem(lambda t, x, xdot, p: xdot + 2 * x - jnp.pad(x, (0, 1))[1:], 500, 500)
    assert chosen_for(rod) == "band: 500 unknowns, 0 diagonals below the main one and 1 above"
    ring = Problem(lambda t, x, xdot, p: xdot + 2 * x - jnp.roll(x, 7) - jnp.roll(x, -7), 500, 500)
    assert chosen_for(ring) == "band: 500 unknowns, 2 diagonals below the main one and 2 above"
    tied = Problem(lambda t, x, xdot, p: xdot + jnp.roll(x, 1) + jnp.roll(x, 23), 500, 500)
    assert chosen_for(tied).startswith("klu: 500 unknowns")
    if HAS_CHOLMOD:
        assert chosen_for(grid(80)) == "cholmod: 6400 unknowns, symmetric positive definite"
    unsymmetric = grid(80)
    wind = Problem(lambda t, x, xdot, p: unsymmetric.residual(t, x, xdot, p) + jnp.roll(x, 1), 6400, 6400)
    assert chosen_for(wind).startswith("klu")


def test_an_unknown_solver_is_named():
    with pytest.raises(
        ValueError, match="There is no linear solver 'lu'; there are auto, dense, band, klu"
    ):
        solve(chain(3), 0.0, 1.0, np.ones(3), p=1.0, linear_solver="lu")


def test_klu_renews_pivots_that_have_become_small():
    """The matrix is [[e, 1], [-1, e]] in blocks, with e = 3 at the start and 0 in the end."""

    def residual(t, x, xdot, p):
        e = jnp.maximum(1 - t, 0.0) * 3
        a, b = x[0::2], x[1::2]
        return jnp.concatenate([e * a + b - jnp.cos(t), -a + e * b - 2 * jnp.sin(t + 0.1)])

    solution = solve(
        Problem(residual, 60, 0), 0.0, 2.0, _blocks(0.0), linear_solver="klu", times=[2.0], rtol=1e-5
    )
    assert solution.status == Status.SUCCESS, solution.message
    assert solution.statistics.pivots_renewed >= 1
    np.testing.assert_allclose(solution.x[-1], _blocks(2.0), atol=1e-4)


def _blocks(t):
    e = max(1 - t, 0.0) * 3
    pair = np.linalg.solve([[e, 1.0], [-1.0, e]], [np.cos(t), 2 * np.sin(t + 0.1)])
    return np.tile(pair, 30)


@pytest.mark.parametrize("name", ["dense", "band", "klu", "superlu"])
def test_a_singular_problem_names_rows_and_columns(name):
    """x[2] occurs nowhere, and the last two rows say the same."""

    def residual(t, x, xdot, p):
        return jnp.stack([xdot[0] + x[1], x[0] - x[1], 2 * x[0] - 2 * x[1] + 0 * x[2]])

    solution = solve(Problem(residual, 3, 1), 0.0, 1.0, np.ones(3), np.zeros(3), linear_solver=name)
    assert solution.status == Status.SINGULAR
    assert "singular" in solution.message
    assert "columns [2]" in solution.message
    assert len(solution.x_last) == 3


def test_klujax_is_imported_only_when_chosen():
    program = (
        "import sys, modia_py\n"
        "from modia_py.solvers import Problem, solve\n"
        "solve(Problem(lambda t, x, xdot, p: xdot + x, 2, 2), 0.0, 1.0, [1.0, 2.0])\n"
        "assert 'klujax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)

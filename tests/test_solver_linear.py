"""Linear solvers: all do the same, "auto" chooses, bad pivots are noticed, singular matrices are named."""

from __future__ import annotations

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sparse
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from modia_py.solvers import Problem, Status, solve
from modia_py.solvers.linear.band import BandSolver
from modia_py.solvers.linear.choice import NAMES, choose_solver
from modia_py.solvers.linear.contract import SingularMatrix
from modia_py.solvers.matrix.jacobian import Pattern, gather_tables, matrix_values, pattern_of

from .linear_solvers import GENERAL, INSTALLED


def chain(n):
    """Diffusion along a chain, symmetric."""

    def residual(t, x, xdot, p):
        u = jnp.pad(x, 1)
        return xdot - p * (u[2:] - 2 * x + u[:-2])

    return Problem(residual, n, n)


@pytest.mark.parametrize("name", INSTALLED)
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


def three_diagonals(below, diagonal, above):
    """A solver of the matrix, with its values, and the matrix as scipy's `solve_banded` takes it.

    Entries beside the diagonal that are zero are not in the pattern."""
    n = len(diagonal)
    places = np.arange(n)
    rows = np.concatenate([places[1:], places, places[:-1]])
    columns = np.concatenate([places[:-1], places, places[1:]])
    values = np.concatenate([below, diagonal, above])
    by_rows = [k for k in np.lexsort((columns, rows)) if values[k] != 0.0 or rows[k] == columns[k]]
    pattern = Pattern(n, rows[by_rows], columns[by_rows], np.zeros(n, np.int32), np.zeros(n))
    banded = np.stack([np.r_[0, above], diagonal, np.r_[below, 0]])
    return BandSolver(pattern), jnp.asarray(values[by_rows]), banded


@pytest.mark.slow
@given(
    n=st.integers(2, 300), seed=st.integers(0, 10**6), dominance=st.sampled_from([0.0, 1.0, 3.0, 10.0]),
    decades=st.sampled_from([0.0, 3.0, 60.0]), absent=st.sampled_from([0.0, 0.3]),
)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_three_diagonals_from_both_ends(n, seed, dominance, decades, absent):
    """Against LAPACK. Rows in units that differ by decades must neither cost digits nor force swaps."""
    random = np.random.default_rng(seed)
    diagonal = random.normal(size=n) + dominance
    below, above = (random.normal(size=n - 1) * (random.random(n - 1) >= absent) for _ in range(2))
    units = 10 ** (decades * random.uniform(-1, 1, size=n))
    solver, values, _ = three_diagonals(below * units[1:], diagonal * units, above * units[:-1])
    transposed = np.stack([np.r_[0, below], diagonal, np.r_[above, 0]])
    unscaled = np.stack([np.r_[0, above], diagonal, np.r_[below, 0]])
    inverse = scipy.linalg.solve_banded((1, 1), unscaled, np.eye(n))
    assume(np.abs(inverse).max() < 1e6)
    b = random.normal(size=n)
    factors = solver.prepare(values)
    tolerance = 1e-13 * np.abs(inverse).sum() * np.abs(unscaled).max()
    x = solver.solve(solver.tables, factors, jnp.asarray(b * units))
    np.testing.assert_allclose(x, scipy.linalg.solve_banded((1, 1), unscaled, b), atol=tolerance)
    y = solver.solve_transposed(solver.tables, factors, jnp.asarray(b)) * units
    np.testing.assert_allclose(y, scipy.linalg.solve_banded((1, 1), transposed, b), atol=tolerance)


@pytest.mark.parametrize("n", [3, 4, 5, 6, 131, 132])
def test_a_small_pivot_is_noticed_wherever_it_is(n):
    """One diagonal entry is zero; elimination from the end where its neighbours come first is regular."""
    for at in range(n):
        diagonal = np.full(n, 4.0)
        diagonal[at] = 0.0
        solver, values, banded = three_diagonals(np.full(n - 1, 1.0), diagonal, np.full(n - 1, -1.0))
        b = np.cos(np.arange(n))
        x = solver.solve(solver.tables, solver.prepare(values), jnp.asarray(b))
        np.testing.assert_allclose(x, scipy.linalg.solve_banded((1, 1), banded, b), atol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 131, 132])
def test_singular_bands_are_noticed(n):
    """An empty column, anywhere; and differences of neighbours, whose last pivot is zero exactly."""
    for at in range(n):
        diagonal, below, above = np.full(n, 4.0), np.ones(n - 1), np.ones(n - 1)
        diagonal[at] = 0.0
        below[at : at + 1] = 0.0
        above[max(at - 1, 0) : at] = 0.0
        solver, values, _ = three_diagonals(below, diagonal, above)
        with pytest.raises(SingularMatrix):
            solver.prepare(values)
    differences = np.full(n, 2.0)
    differences[0] -= 1.0
    differences[-1] -= 1.0
    solver, values, _ = three_diagonals(np.full(n - 1, -1.0), differences, np.full(n - 1, -1.0))
    with pytest.raises(SingularMatrix):
        solver.prepare(values)


def test_tails_of_a_solution_become_zero():
    """What decays below the least normal number is slow to compute with, and rounding may keep it there."""
    n, middle = 3001, 1500
    solver, values, _ = three_diagonals(np.full(n - 1, -1.0), np.full(n, 4.0), np.full(n - 1, -1.0))
    factors = solver.prepare(values)
    decay = 2 - np.sqrt(3.0)
    for at in (0, middle, n - 1):
        b = np.zeros(n)
        b[at] = 1.0
        x = np.asarray(solver.solve(solver.tables, factors, jnp.asarray(b)))
        distance = np.abs(np.arange(n) - at)
        size = x[at]
        np.testing.assert_allclose(x[distance < 400], size * decay ** distance[distance < 400], rtol=1e-12)
        assert not np.any(x[distance > 700])


@pytest.mark.parametrize("name", INSTALLED)
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
    if "cholmod" in INSTALLED:
        assert chosen_for(grid(80)) == "cholmod: 6400 unknowns, symmetric positive definite"
    unsymmetric = grid(80)
    wind = Problem(lambda t, x, xdot, p: unsymmetric.residual(t, x, xdot, p) + jnp.roll(x, 1), 6400, 6400)
    assert chosen_for(wind).startswith("klu")


def test_an_unknown_solver_is_named():
    there_are = f"There is no linear solver 'lu'; there are {', '.join(NAMES)}"
    with pytest.raises(ValueError, match=there_are):
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


@pytest.mark.parametrize("name", GENERAL)
def test_a_singular_problem_names_rows_and_columns(name, loop):
    """x[2] occurs nowhere, and the last two rows say the same."""

    def residual(t, x, xdot, p):
        return jnp.stack([xdot[0] + x[1], x[0] - x[1], 2 * x[0] - 2 * x[1] + 0 * x[2]])

    solution = solve(
        Problem(residual, 3, 1), 0.0, 1.0, np.ones(3), np.zeros(3), linear_solver=name, loop=loop
    )
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

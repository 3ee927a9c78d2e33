"""A repeated run gives the same numbers, to the last bit: whatever runs beside it, and however busy the
machine is. And what a start says: of trajectories in pure JAX, and of roots."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sparse

from modia_py.solvers import Problem, Status, consistent_xdot, make_trajectory, solve
from modia_py.solvers.linear.choice import choose_solver
from modia_py.solvers.linear.cholmod import _one_thread, _openblas
from modia_py.solvers.matrix.jacobian import Pattern
from modia_py.solvers.roots import nonlinear as nonlinear_module

from .linear_solvers import INSTALLED

BACKENDS = [
    ("dense", "chain"), ("band", "chain"), ("band", "shuffled chain"), ("band", "wide band"),
    ("klu", "grid"), ("klu", "chain"), ("superlu", "grid"), ("cholmod", "grid"),
]  # fmt: skip
BACKENDS = [(name, kind) for name, kind in BACKENDS if name in INSTALLED]
"""Linear solvers, and a pattern that suits each."""

WIDTH = 16
"""Rows of the grid: long and narrow, so that large ones have little fill."""


def entries(kind, n):
    """Rows and columns of a symmetric pattern."""
    if kind == "grid":
        line = sparse.diags_array(
            [np.ones(WIDTH - 1), np.ones(WIDTH), np.ones(WIDTH - 1)], offsets=[-1, 0, 1]
        )
        m = n // WIDTH
        other = sparse.diags_array([np.ones(m - 1), np.ones(m - 1)], offsets=[-1, 1], shape=(m, m))
        matrix = sparse.kron(sparse.eye_array(m), line) + sparse.kron(other, sparse.eye_array(WIDTH))
    else:
        reach = 2 if kind == "wide band" else 1
        offsets = list(range(-reach, reach + 1))
        matrix = sparse.diags_array([np.ones(n - abs(k)) for k in offsets], offsets=offsets)
    matrix = sparse.coo_array(matrix)
    rows, columns = matrix.row, matrix.col
    if kind == "shuffled chain":
        place = np.random.default_rng(0).permutation(n)
        rows, columns = place[rows], place[columns]
    order = np.lexsort((columns, rows))
    return rows[order].astype(np.int32), columns[order].astype(np.int32)


def size_for(kind, n):
    return n - n % WIDTH if kind == "grid" else n


def made_for(name, kind, n):
    """A solver with factors of a symmetric positive definite matrix of the kind; and its values."""
    n = size_for(kind, n)
    rows, columns = entries(kind, n)
    values = jnp.asarray(np.where(rows == columns, 5.0 + np.sin(rows), -1.0 + 0.1 * np.cos(rows + columns)))
    solver = choose_solver(name, Pattern(n, rows, columns, np.zeros(n, np.int32), np.zeros(n))).solver
    return solver, values


def differences_beside_each_other(name, kind, n, many, repetitions):
    """How many of many solves in one program, which does them side by side, differ from the same alone."""
    solver, values = made_for(name, kind, n)
    factors = solver.prepare(values)
    right = jnp.asarray(np.random.default_rng(1).normal(size=(many, size_for(kind, n))))
    alone = [
        np.asarray(jax.jit(function)(solver.tables, factors, b))
        for function in (solver.solve, solver.solve_transposed)
        for b in right
    ]

    @jax.jit
    def together(tables, factors, right):
        return [f(tables, factors, b) for f in (solver.solve, solver.solve_transposed) for b in right]

    different = 0
    for _ in range(repetitions):
        found = together(solver.tables, factors, right)
        different += sum(not np.array_equal(x, y) for x, y in zip(found, alone, strict=True))
    solver.release()
    return different


@contextmanager
def busy_machine():
    """Other processes that keep two cores busy."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        yield
    finally:
        for process in others:
            process.kill()
            process.wait()


@pytest.mark.parametrize(("name", "kind"), BACKENDS)
def test_solves_beside_each_other(name, kind):
    assert differences_beside_each_other(name, kind, 300 if name == "dense" else 6400, 5, 6) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), BACKENDS)
def test_many_solves_beside_each_other(name, kind):
    for n in (1000, 10**4, 2 * 10**5)[: 1 if name == "dense" else 3]:
        many, repetitions = (12, 60) if n <= 10**4 else (6, 8)
        assert differences_beside_each_other(name, kind, n, many, repetitions) == 0
        with busy_machine():
            assert differences_beside_each_other(name, kind, n, many, repetitions // 2) == 0


@pytest.mark.parametrize(("name", "kind"), [backend for backend in BACKENDS if backend[0] != "dense"])
def test_factors_that_are_past_give_no_numbers(name, kind):
    """They are overwritten by the next factorization; a solve that comes too late must not use those."""
    solver, values = made_for(name, kind, 640)
    past = solver.prepare(values)
    b = jnp.ones(640)
    before = np.asarray(solver.solve(solver.tables, past, b))
    now = jax.jit(solver.factor)(solver.tables, 2 * values, past)
    np.testing.assert_allclose(solver.solve(solver.tables, now, b), before / 2, rtol=1e-13)
    for function in (solver.solve, solver.solve_transposed):
        assert np.all(np.isnan(function(solver.tables, past, b)))
    other = solver.twin()
    factors = other.prepare(values)
    np.testing.assert_array_equal(jax.jit(solver.solve)(other.tables, factors, b), before)
    np.testing.assert_allclose(solver.solve(solver.tables, now, b), before / 2, rtol=1e-13)


def test_a_zero_pivot_of_klu_is_not_the_end_of_the_program():
    """Blocks [[2, 1], [1, 2]] become [[0, 1], [1, 0]], which is regular with other pivots."""
    n = 50
    places = np.arange(n, dtype=np.int32)
    rows, columns = np.repeat(places, 2), np.stack([places - places % 2, places - places % 2 + 1]).T.ravel()
    on_diagonal = jnp.asarray(rows == columns)
    solver = choose_solver("klu", Pattern(n, rows, columns, np.zeros(n, np.int32), np.zeros(n))).solver
    factors, b = solver.prepare(jnp.where(on_diagonal, 2.0, 1.0)), jnp.ones(n)

    @jax.jit
    def renewed(tables, values, factors):
        factors = solver.factor(tables, values, factors)
        return factors, solver.solve(tables, factors, b)

    crossed = jnp.where(on_diagonal, 0.0, 1.0)
    factors, x = renewed(solver.tables, crossed, factors)
    assert np.all(np.isnan(x))
    factors, x = renewed(solver.tables, jnp.where(on_diagonal, 4.0, 0.0), factors)
    np.testing.assert_array_equal(x, 0.25 * b)
    np.testing.assert_array_equal(solver.solve(solver.tables, solver.prepare(crossed), b), b)


@pytest.mark.skipif("cholmod" not in INSTALLED or _openblas() is None, reason="no CHOLMOD with OpenBLAS")
def test_threads_of_blas_are_put_back_by_the_last_of_several_users():
    blas = _openblas()
    before = blas.openblas_get_num_threads()

    def use(_):
        with _one_thread():
            return blas.openblas_get_num_threads()

    try:
        blas.openblas_set_num_threads(2)
        with ThreadPoolExecutor(8) as threads:
            assert set(threads.map(use, range(400))) == {1}
        assert blas.openblas_get_num_threads() == 2
    finally:
        blas.openblas_set_num_threads(before)


def network(kind, n):
    """Heat in a network, with sources that are not linear. The first row is a constraint: x = cos(t)."""
    n = size_for(kind, n)
    rows, columns = entries(kind, n)
    degree = np.bincount(rows, minlength=n) - 1.0
    flags = np.arange(n) > 0

    def residual(t, x, xdot, p):
        into = jax.ops.segment_sum(x[p["columns"]], p["rows"], n, indices_are_sorted=True)
        fd = xdot - 10.0 * (into - x - p["degree"] * x) - jnp.sin(x) * jnp.cos(t)
        return jnp.where(jnp.arange(n) > 0, fd, x - jnp.cos(t))

    p = {"rows": rows, "columns": columns, "degree": degree}
    return Problem(residual, n, flags, pattern=(rows, columns)), p


def mean_field(n):
    """All coupled with all: sums and products of matrices."""
    matrix = np.random.default_rng(0).normal(size=(n, n)) / np.sqrt(n)

    def residual(t, x, xdot, p):
        return xdot + x - jnp.tanh(p @ x) - jnp.mean(x**2) * jnp.cos(t)

    return Problem(residual, n, n), matrix


def problem_for(name, kind, n):
    return mean_field(n) if name == "dense" else network(kind, n)


def runs_of(name, kind, n, **options):
    """A function that runs the same thing each time."""
    problem, p = problem_for(name, kind, n)
    x0 = 1.0 + np.sin(3 * np.pi * np.linspace(0, 1, problem.size))
    x0[0] = 1.0
    slopes = consistent_xdot(problem, 0.0, x0, p).xdot

    def run(**more):
        return solve(problem, 0.0, 1.0, x0, slopes, p, linear_solver=name, rtol=1e-4, **options, **more)

    return run


def assert_identical(first, second):
    assert first.status == second.status
    work, again = ({**vars(s.statistics), "seconds": 0, "chunks": 0} for s in (first, second))
    assert work == again
    for name in ("t", "x", "xdot", "x_last", "xdot_last"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


SUITABLE = {"dense": "full", "band": "shuffled chain"}
"""A pattern that suits a linear solver; a grid suits the others."""


@pytest.mark.parametrize("name", INSTALLED)
def test_chunks_threads_and_runs_inside_of_runs_change_nothing(name, loop, monkeypatch):
    """How long a chunk is depends on the clock, and other runs of the problem may come at any time."""
    run = runs_of(name, SUITABLE.get(name, "grid"), 192, times=np.linspace(0, 1, 41), loop=loop)
    alone = run()
    assert alone.success
    module = sys.modules["modia_py.solvers.integration"]
    with monkeypatch.context() as patched:
        patched.setattr(module, "FIRST_CHUNK", 0)  # twenty attempts
        patched.setattr(module, "CHUNK_SECONDS", 0.0)
        shorter = run()
        assert shorter.statistics.chunks > alone.statistics.chunks + 2
        assert_identical(alone, shorter)

        chunks = []

        def disturb(t, x, xdot):
            chunks.append(x)
            if len(chunks) % 2:
                run(max_steps=15)

        run(on_chunk=disturb)
        assert len(chunks) > 2
        np.testing.assert_array_equal(np.concatenate(chunks), alone.x)
    with ThreadPoolExecutor(4) as threads:
        for other in threads.map(lambda _: run(), range(8)):
            assert_identical(alone, other)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), [b for b in BACKENDS if b != ("klu", "chain")])
@pytest.mark.parametrize("n", [10**3, 10**4, 2 * 10**5])
def test_ten_runs_idle_and_ten_runs_busy(name, kind, n):
    if name == "dense" and n > 1000:
        pytest.skip("dense matrices of this size")
    run = runs_of(name, kind, n, max_steps=40 if n <= 10**4 and name != "dense" else 8)
    first = run()
    assert first.statistics.steps >= 6
    for _ in range(9):
        assert_identical(first, run())
    with busy_machine():
        for _ in range(10):
            assert_identical(first, run())


@pytest.mark.slow
def test_a_long_ladder_is_the_same_each_time():
    from modia_py import Model, connect, translate
    from modia_py.models.electrical import Capacitor, ConstantVoltage, Ground, Resistor

    class Ladder(Model):
        def __init__(self, n, **changes):
            super().__init__(**changes)
            self.source = ConstantVoltage(V=1.0)
            self.r, self.c = Resistor.array(n, R=1.0 / n), Capacitor.array(n, C=1.0 / n)
            self.ground = Ground()

        def equations(self):
            return [
                connect(self.source.p, self.r[0].p),
                connect(self.r[:-1].n, self.r[1:].p),
                connect(self.r.n, self.c.p),
                connect(self.c.n, self.source.n, self.ground.p),
            ]

    model = translate(Ladder(10**5))

    def run():
        result = model.simulate(1e-7, rtol=1e-6, atol=1e-8, times=[0.0, 5e-8, 1e-7])
        return result.stats.steps, np.asarray(result["c.u"])

    steps, first = run()
    again = [run() for _ in range(3)]
    with busy_machine():
        again += [run() for _ in range(2)]
    for other_steps, other in again:
        assert other_steps == steps
        np.testing.assert_array_equal(other, first)


CONSTRAINED = Problem(lambda t, x, xdot, p: jnp.stack([xdot[0] + x[0], x[1] - p * jnp.sqrt(x[0])]), 2, 1)
TIMES, SLOPES = jnp.linspace(0.0, 1.0, 4), jnp.array([-1.0, -0.5])


@pytest.fixture(scope="module")
def trajectory():
    return make_trajectory(CONSTRAINED, 1.0)


def test_a_trajectory_from_an_inconsistent_start(trajectory):
    starts = {
        (1.0, 1.0): Status.SUCCESS,
        (1.0, 1.0 + 1e-9): Status.SUCCESS,
        (1.0, 1.5): Status.INCONSISTENT,
        (-1.0, 1.0): Status.NON_FINITE,
        (1.0, np.inf): Status.NON_FINITE,
    }
    lanes = jax.jit(jax.vmap(trajectory, (None, 0, None, None)))
    found = lanes(TIMES, jnp.array(list(starts)), SLOPES, 1.0)
    assert found.status.tolist() == list(starts.values())
    for lane, (x0, status) in enumerate(starts.items()):
        if status == Status.SUCCESS:
            np.testing.assert_allclose(found.x[lane, :, 0], np.exp(-TIMES), atol=1e-5)
            np.testing.assert_allclose(found.x[lane, :, 1], np.exp(-TIMES / 2), atol=1e-5)
        else:
            assert found.rows[lane] == 0 == found.counters.steps[lane]
            assert not np.any(found.x[lane])
        if np.all(np.isfinite(x0)):
            assert solve(CONSTRAINED, 0.0, 1.0, x0, SLOPES, 1.0).status == status


@pytest.fixture
def jacobians(monkeypatch):
    """How many Jacobians roots have taken."""
    counted = []
    original = nonlinear_module.SparseSystem.jacobian

    def counting(self, x):
        counted.append(x)
        return original(self, x)

    monkeypatch.setattr(nonlinear_module.SparseSystem, "jacobian", counting)
    return counted


def test_small_elements_beside_large_ones(jacobians):
    exact = np.array([2e9, 1.5e-4])
    problem = Problem(lambda t, x, xdot, p: xdot - exact, 2, 2)
    for guess in ([2e9, 0.0], [0.0, 0.0], [2e9 * (1 + 1e-9), 1.0], [-1e30, 1e-30], [2e9, 1.5e-4]):
        jacobians.clear()
        start = consistent_xdot(problem, 0.0, [0.0, 0.0], guess=guess)
        assert start.success, start.message
        np.testing.assert_allclose(start.xdot, exact, rtol=1e-15)
        assert len(jacobians) <= 2


def test_small_elements_of_equations_that_are_not_linear(jacobians):
    def residual(t, x, xdot, p):
        a, b, c, d = xdot
        return jnp.stack([a**3 + a - 1e27, jnp.expm1(b) - 1.5e-10, c + a - 1e9 - 1e-3, 1e-20 * d - 3e-24])

    start = consistent_xdot(Problem(residual, 4, 4), 0.0, np.zeros(4), guess=[1.1e9, 0.0, 0.0, 0.0])
    assert start.success, start.message
    np.testing.assert_allclose(start.xdot[[0, 1, 3]], [1e9, np.log1p(1.5e-10), 3e-4], rtol=1e-12)
    assert abs(start.xdot[2] - 1e-3) < 1e-6  # as exactly as a difference of 1e9 can be
    assert len(jacobians) < 10


def test_a_root_at_rounding_takes_no_iterations(jacobians):
    """A chain whose residual is rounding from the start."""
    n = 500
    start = np.cumsum(np.full(n, 0.1)) * 1e5
    problem = Problem(lambda t, x, xdot, p: xdot - jnp.pad(xdot, (1, 0))[:-1] - 0.1 * 1e5, n, n)
    found = consistent_xdot(problem, 0.0, np.zeros(n), guess=start)
    assert found.success
    assert len(jacobians) == 1


def test_no_root_is_told_after_a_limited_search(jacobians):
    problem = Problem(lambda t, x, xdot, p: jnp.stack([xdot[0] ** 2 + 1, xdot[1] - 1]), 2, 2)
    found = consistent_xdot(problem, 0.0, np.zeros(2), guess=[1.0, 0.0])
    assert found.status == Status.INCONSISTENT
    assert (
        "Rows [0] could not be satisfied, neither by Newton's iteration nor by a homotopy" in found.message
    )
    assert "the largest residual is 1" in found.message
    assert len(jacobians) < 1000

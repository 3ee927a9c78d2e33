"""Diffusion on a square grid: CHOLMOD, KLU and SuperLU on the same symmetric matrix, and in the integrator.

    python benchmarks/diffusion2d.py [points on a side, 500 if not given]

The first table times one factorization (KLU: with known pivots) and one solve of the matrix I - c L, the
second a run. CHOLMOD needs a fast BLAS: with libopenblas beside it, it is several times faster than with
the reference BLAS.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from modia_py.solvers import Problem, solve
from modia_py.solvers.linear.choice import choose_solver
from modia_py.solvers.matrix.jacobian import gather_tables, matrix_values, pattern_of

SOLVERS = ("cholmod", "klu", "superlu")


def diffusion(n: int) -> Problem:
    """u_t = u_xx + u_yy on the unit square with u = 0 on the boundary, n inner points on a side."""

    def residual(t: Any, x: Any, xdot: Any, p: Any) -> Any:
        u = jnp.pad(x.reshape(n, n), 1)
        flow = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        return xdot - ((n + 1) ** 2 * flow).ravel()

    return Problem(residual, n * n, n * n)


def best_of(call: Any, repeat: int = 3) -> float:
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        jax.block_until_ready(call())
        times.append(time.perf_counter() - began)
    return min(times)


def main(n: int) -> None:
    problem = diffusion(n)
    began = time.perf_counter()
    pattern = pattern_of(problem, None)
    print(f"{pattern}; found in {time.perf_counter() - began:.1f} s")
    grid = np.arange(1, n + 1) / (n + 1)
    x0 = np.outer(np.sin(np.pi * grid), np.sin(np.pi * grid)).ravel()
    xdot0 = -np.asarray(problem.residual(0.0, jnp.asarray(x0), jnp.zeros(n * n), None))
    values = matrix_values(
        problem,
        pattern.directions,
        gather_tables(pattern),
        0.0,
        jnp.asarray(x0),
        jnp.asarray(xdot0),
        None,
        1e-4,
    )
    b = jnp.asarray(np.random.default_rng(0).normal(size=n * n))
    print(f"{'solver':10}{'factorize':>12}{'solve':>12}{'ratio':>8}")
    first = None
    for name in SOLVERS:
        solver = choose_solver(name, pattern).solver
        factors = solver.prepare(values)
        factor = jax.jit(solver.factor)
        run = jax.jit(solver.solve)
        t_factor = best_of(lambda: factor(solver.tables, values, factors))  # noqa: B023
        factors = factor(solver.tables, values, factors)
        t_solve = best_of(lambda: run(solver.tables, factors, b))  # noqa: B023
        first = first or t_factor
        print(f"{name:10}{t_factor:10.3f} s{t_solve:10.3f} s{t_factor / first:8.2f}", flush=True)
        solver.release()
    decay = 8 * (n + 1) ** 2 * np.sin(np.pi / (2 * (n + 1))) ** 2
    print(f"{'run':10}{'seconds':>12}{'steps':>8}{'factor.':>9}{'error':>10}")
    for name in ("auto", *SOLVERS):
        options = {"rtol": 1e-5, "atol": 1e-7, "times": [0.1], "linear_solver": name}
        solve(problem, 0.0, 1e-6, x0, xdot0, **(options | {"times": [1e-6]}))  # compiles
        solution = solve(problem, 0.0, 0.1, x0, xdot0, **options)
        error = np.max(np.abs(solution.x_last - x0 * np.exp(-decay * 0.1)))
        work = solution.statistics
        print(f"{name:10}{work.seconds:10.2f} s{work.steps:8}{work.factorizations:9}{error:10.1e}   "
              f"{solution.linear_solver}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)

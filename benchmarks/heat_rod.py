"""Nonlinear heat conduction in a rod with algebraic ends: this integrator beside IDA of scikit-SUNDAE, in
one run.

    pip install scikit-sundae;  python benchmarks/heat_rod.py [--large] [cells ...]

T_t = (k(T) T_x)_x with k = 1 + T/2, T = 0 at the start, T(0, t) = 1 - exp(-10 t) and T(1, t) = 0 as
algebraic rows. The error is the largest difference at t = 1 from a run with a tolerance a thousand times
smaller; both get tolerances that lead to about the same error, and the table says which. --large runs
10^6 cells alone and reports its peak memory.
"""

from __future__ import annotations

import resource
import sys
import time
from typing import Any

import jax.numpy as jnp
import numpy as np

from modia_py.solvers import Problem, solve

OURS = (1e-3, 3e-4, 1e-4, 1e-5)
IDA = (1e-5, 1e-6)


def rod(n: int) -> Problem:
    """Rows in the order of the cells; the first and the last are algebraic."""

    def residual(t: Any, x: Any, xdot: Any, p: Any) -> Any:
        conductivity = 1 + 0.25 * (x[1:] + x[:-1])
        flow = conductivity * (x[1:] - x[:-1]) * n
        inner = xdot[1:-1] - (flow[1:] - flow[:-1]) * n
        left, right = x[0] - (1 - jnp.exp(-10 * t)), x[-1]
        return jnp.concatenate([left[None], inner, right[None]])

    flags = np.ones(n, bool)
    flags[[0, -1]] = False
    return Problem(residual, n, flags)


def start(n: int) -> tuple[np.ndarray, np.ndarray]:
    xdot = np.zeros(n)
    xdot[0] = 10.0
    return np.zeros(n), xdot


def run_ours(problem: Problem, n: int, rtol: float, repeat: int = 2) -> tuple[float, int, np.ndarray]:
    x0, xdot0 = start(n)
    best, found = np.inf, None
    for _ in range(repeat):
        found = solve(problem, 0.0, 1.0, x0, xdot0, rtol=rtol, atol=1e-2 * rtol, times=[1.0])
        best = min(best, found.statistics.seconds)
    assert found is not None
    assert found.success, found.message
    return best, found.statistics.steps, found.x_last


def run_ida(n: int, rtol: float, linear: str, repeat: int = 2) -> tuple[float, int, np.ndarray]:
    from sksundae.ida import IDA as Solver

    def residual(t: float, x: np.ndarray, xdot: np.ndarray, res: np.ndarray) -> None:
        flow = (1 + 0.25 * (x[1:] + x[:-1])) * (x[1:] - x[:-1]) * n
        res[1:-1] = xdot[1:-1] - (flow[1:] - flow[:-1]) * n
        res[0] = x[0] - (1 - np.exp(-10 * t))
        res[-1] = x[-1]

    options: dict[str, Any] = {"rtol": rtol, "atol": 1e-2 * rtol, "algebraic_idx": [0, n - 1]}
    if linear == "band":
        options |= {"linsolver": "band", "lband": 1, "uband": 1}
    else:
        from scipy.sparse import diags

        options |= {"linsolver": "sparse", "sparsity": diags([1.0, 1.0, 1.0], [-1, 0, 1], shape=(n, n))}
    x0, xdot0 = start(n)
    best, found = np.inf, None
    for _ in range(repeat):
        solver = Solver(residual, **options)
        began = time.perf_counter()
        found = solver.solve([0.0, 1.0], x0, xdot0)
        best = min(best, time.perf_counter() - began)
    assert found is not None
    return best, int(getattr(found, "nsteps", 0) or 0), np.asarray(found.y)[-1]


def compare(n: int) -> None:
    problem = rod(n)
    began = time.perf_counter()
    run_ours(problem, n, 1e-2, repeat=1)
    print(f"\n{n} cells; ready after {time.perf_counter() - began:.1f} s (pattern, compilation)")
    reference = run_ours(problem, n, 1e-8, repeat=1)[2]
    rows = []
    for rtol in OURS:
        seconds, steps, x = run_ours(problem, n, rtol)
        rows.append(("modia_py", rtol, seconds, steps, np.max(np.abs(x - reference))))
    for linear in ("band", "sparse") if n <= 10_000 else ("band",):
        for rtol in IDA:
            try:
                seconds, steps, x = run_ida(n, rtol, linear)
            except ImportError as error:
                print(f"IDA is not there: {error}")
                break
            rows.append((f"IDA {linear}", rtol, seconds, steps, np.max(np.abs(x - reference))))
    print(f"{'':12}{'rtol':>8}{'seconds':>11}{'steps':>7}{'error':>10}")
    for name, rtol, seconds, steps, error in rows:
        print(f"{name:12}{rtol:8.0e}{seconds:11.4f}{steps:7}{error:10.1e}")
    ours = [row for row in rows if row[0] == "modia_py"]
    for row in rows:
        if row[0] != "modia_py":
            as_good = [mine for mine in ours if mine[4] <= row[4]]
            if as_good:
                mine = min(as_good, key=lambda mine: mine[2])
                print(
                    f"{row[0]} at {row[1]:.0e}: {row[2] / mine[2]:.2f} times the time of modia_py "
                    f"at {mine[1]:.0e}"
                )


def large(n: int = 1_000_000) -> None:
    problem = rod(n)
    began = time.perf_counter()
    seconds, steps, _ = run_ours(problem, n, 1e-4, repeat=1)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{n} cells: {steps} steps in {seconds:.1f} s, "
        f"with preparation {time.perf_counter() - began:.1f} s; "
        f"peak memory {memory:.2f} GB"
    )


if __name__ == "__main__":
    sizes = [int(word) for word in sys.argv[1:] if not word.startswith("--")]
    if "--large" in sys.argv:
        large()
    else:
        for size in sizes or [100, 10_000, 100_000]:
            compare(size)

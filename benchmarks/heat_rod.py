"""Nonlinear heat conduction in a rod with algebraic ends: this integrator beside IDA of scikit-SUNDAE, in
one run.

    pip install scikit-sundae;  python benchmarks/heat_rod.py [--large] [cells ...]

T_t = (k(T) T_x)_x with k = 1 + T/2, T = 0 at the start, T(0, t) = 1 - exp(-10 t) and T(1, t) = 0 as
algebraic rows. The error is the largest difference at t = 0.01, 0.1 and 1 from a run with a tolerance a
thousand times smaller (at t = 1 alone the rod is near its steady state, and says little about the front);
both get tolerances that lead to about the same error, and the table says which. Times are the least of
several runs, of the one and the other in turn; beside the time on the wall there is that of the processor,
which suffers less from other work on the machine. --large runs 10^6 cells alone and reports its peak
memory.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from modia_py.solvers import Problem, solve

OURS = (1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6)
IDA = (1e-5, 1e-6)
TIMES = np.array([0.01, 0.1, 1.0])


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


@dataclass
class Row:
    """One line of the table: the best of several runs."""

    name: str
    rtol: float
    run: Callable[[], np.ndarray]
    seconds: float = np.inf
    processor: float = np.inf
    error: float = np.nan
    error_at_end: float = np.nan

    def repeat(self, reference: np.ndarray) -> None:
        began, busy = time.perf_counter(), time.process_time()
        x = self.run()
        self.seconds = min(self.seconds, time.perf_counter() - began)
        self.processor = min(self.processor, time.process_time() - busy)
        self.error, self.error_at_end = np.max(np.abs(x - reference)), np.max(np.abs(x - reference)[-1])

    def __str__(self) -> str:
        return (
            f"{self.name:12}{self.rtol:8.0e}{self.seconds:10.4f}{self.processor:10.4f}"
            f"{self.error:10.1e}{self.error_at_end:10.1e}"
        )


def run_ours(problem: Problem, n: int, rtol: float) -> np.ndarray:
    x0, xdot0 = start(n)
    found = solve(problem, 0.0, 1.0, x0, xdot0, rtol=rtol, atol=1e-2 * rtol, times=TIMES)
    assert found.success, found.message
    return found.x


def run_ida(n: int, rtol: float, linear: str) -> np.ndarray:
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
    found = Solver(residual, **options).solve(np.concatenate([[0.0], TIMES]), *start(n))
    return np.asarray(found.y)[1:]


def compare(n: int) -> None:
    problem = rod(n)
    began = time.perf_counter()
    run_ours(problem, n, 1e-2)
    print(f"\n{n} cells; ready after {time.perf_counter() - began:.1f} s (pattern, compilation)")
    reference = run_ours(problem, n, 1e-8)
    rows = [Row("modia_py", rtol, partial(run_ours, problem, n, rtol)) for rtol in OURS]
    for linear in ("band", "sparse") if n <= 10_000 else ("band",):
        rows += [Row(f"IDA {linear}", rtol, partial(run_ida, n, rtol, linear)) for rtol in IDA]
    for _ in range(int(np.clip(1e6 / n, 3, 20))):
        for row in rows:
            if "sparse" not in row.name or not np.isfinite(row.seconds):
                row.repeat(reference)
    print(f"{'':12}{'rtol':>8}{'seconds':>10}{'processor':>10}{'error':>10}{'at t=1':>10}")
    print(*rows, sep="\n")
    for row in rows[len(OURS) :]:
        for measure in ("error", "error_at_end"):
            as_good = [
                mine for mine in rows[: len(OURS)] if getattr(mine, measure) <= getattr(row, measure)
            ]
            if as_good:
                mine = min(as_good, key=lambda mine: mine.seconds)
                print(
                    f"{row.name} at {row.rtol:.0e}: {row.seconds / mine.seconds:.2f} times the time of "
                    f"modia_py at {mine.rtol:.0e} ({row.processor / mine.processor:.2f} of the processor's)"
                    f"{', at equal error at t = 1' if measure == 'error_at_end' else ''}"
                )


def large(n: int = 1_000_000) -> None:
    problem = rod(n)
    began = time.perf_counter()
    found = solve(problem, 0.0, 1.0, *start(n), rtol=1e-4, atol=1e-6, times=[1.0])
    steps, seconds = found.statistics.steps, found.statistics.seconds
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

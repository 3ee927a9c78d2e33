"""Chains of cells: this integrator beside IDA of scikit-SUNDAE, in one run.

    pip install scikit-sundae;  python benchmarks/heat_rod.py [--brusselator] [--large] [cells ...]

Nonlinear heat conduction in a rod: T_t = (k(T) T_x)_x with k = 1 + T/2, T = 0 at the start,
T(0, t) = 1 - exp(-10 t) and T(1, t) = 0 as algebraic rows. The error is the largest difference at t = 0.01,
0.1 and 1 from a run with a tolerance a thousand times smaller (at t = 1 alone the rod is near its steady
state, and says little about the front). --brusselator takes a reaction with diffusion of two substances
instead, u_t = 1 + u^2 v - 4 u + u_xx / 50, v_t = 3 u - u^2 v + v_xx / 50, at t = 0.1, 1, 5 and 10.

IDA is given two tolerances; of the runs of modia_py with an error as small the fastest is compared
with it. Times are the least of several runs, of the one and the other in turn; beside the time on the wall
there is that of the processor. --large runs a rod of 10^6 cells alone and reports its peak memory.
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


@dataclass(frozen=True)
class Chain:
    """A problem for both: a residual in JAX, and one that writes into an array of numpy."""

    problem: Problem
    write_residual: Callable[[float, np.ndarray, np.ndarray, np.ndarray], None]
    x0: np.ndarray
    xdot0: np.ndarray
    times: np.ndarray
    diagonals: int
    """Besides the main one, on either side."""


def rod(n: int) -> Problem:
    """Rows in the order of the cells; the first and the last are algebraic."""

    def residual(t: Any, x: Any, xdot: Any, p: Any) -> Any:
        conductivity = 1 + 0.25 * (x[1:] + x[:-1])
        flow = conductivity * (x[1:] - x[:-1]) * n
        inner = xdot[1:-1] - (flow[1:] - flow[:-1]) * n
        left, right = x[0] - (1 - jnp.exp(-10 * t)), x[-1]
        return jnp.concatenate([left[None], inner, right[None]])

    return Problem(residual, n, differential(n, 1))


def differential(n: int, ends: int) -> np.ndarray:
    """Row flags: so many rows at either end are algebraic."""
    flags = np.ones(n, bool)
    flags[:ends] = flags[-ends:] = False
    return flags


def start(n: int) -> tuple[np.ndarray, np.ndarray]:
    xdot = np.zeros(n)
    xdot[0] = 10.0
    return np.zeros(n), xdot


def heat_rod(n: int) -> Chain:
    def write(t: float, x: np.ndarray, xdot: np.ndarray, residual: np.ndarray) -> None:
        flow = (1 + 0.25 * (x[1:] + x[:-1])) * (x[1:] - x[:-1]) * n
        residual[1:-1] = xdot[1:-1] - (flow[1:] - flow[:-1]) * n
        residual[0] = x[0] - (1 - np.exp(-10 * t))
        residual[-1] = x[-1]

    return Chain(rod(n), write, *start(n), np.array([0.01, 0.1, 1.0]), 1)


def brusselator(n: int) -> Chain:
    """u and v of each cell beside each other; both are given at the ends."""
    cells = n // 2
    mixing = (cells - 1) ** 2 / 50

    def rates(x: Any) -> tuple[Any, Any]:
        u, v = x[0::2], x[1::2]
        reaction = u[1:-1] ** 2 * v[1:-1]
        return (
            1 + reaction - 4 * u[1:-1] + mixing * (u[2:] - 2 * u[1:-1] + u[:-2]),
            3 * u[1:-1] - reaction + mixing * (v[2:] - 2 * v[1:-1] + v[:-2]),
        )

    def residual(t: Any, x: Any, xdot: Any, p: Any) -> Any:
        inner = xdot[2:-2] - jnp.stack(rates(x), axis=1).ravel()
        ends = jnp.array([1.0, 3.0])
        return jnp.concatenate([x[:2] - ends, inner, x[-2:] - ends])

    def write(t: float, x: np.ndarray, xdot: np.ndarray, residual: np.ndarray) -> None:
        u, v = rates(x)
        residual[2:-2:2], residual[3:-2:2] = xdot[2:-2:2] - u, xdot[3:-2:2] - v
        residual[0], residual[1], residual[-2], residual[-1] = x[0] - 1, x[1] - 3, x[-2] - 1, x[-1] - 3

    x0, xdot0 = np.full(2 * cells, 3.0), np.zeros(2 * cells)
    x0[0::2] = 1 + np.sin(2 * np.pi * np.linspace(0, 1, cells))
    x0[-2] = 1.0
    xdot0[2:-2:2], xdot0[3:-2:2] = rates(x0)
    problem = Problem(residual, 2 * cells, differential(2 * cells, 2))
    return Chain(problem, write, x0, xdot0, np.array([0.1, 1.0, 5.0, 10.0]), 2)


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


def run_ours(chain: Chain, rtol: float) -> np.ndarray:
    end = chain.times[-1]
    found = solve(
        chain.problem, 0.0, end, chain.x0, chain.xdot0, rtol=rtol, atol=1e-2 * rtol, times=chain.times
    )
    assert found.success, found.message
    return found.x


def run_ida(chain: Chain, rtol: float, linear: str) -> np.ndarray:
    from sksundae.ida import IDA as Solver

    flags, width = chain.problem.row_flags, chain.diagonals
    options: dict[str, Any] = {"rtol": rtol, "atol": 1e-2 * rtol, "algebraic_idx": np.flatnonzero(~flags)}
    if linear == "band":
        options |= {"linsolver": "band", "lband": width, "uband": width}
    else:
        from scipy.sparse import diags

        places = range(-width, width + 1)
        pattern = diags([1.0] * len(places), places, shape=(len(flags),) * 2)
        options |= {"linsolver": "sparse", "sparsity": pattern}
    solver = Solver(chain.write_residual, **options)
    found = solver.solve(np.concatenate([[0.0], chain.times]), chain.x0, chain.xdot0)
    return np.asarray(found.y)[1:]


def compare(chain: Chain) -> None:
    n = chain.problem.size
    began = time.perf_counter()
    run_ours(chain, 1e-2)
    print(f"\n{n} unknowns; ready after {time.perf_counter() - began:.1f} s (pattern, compilation)")
    reference = run_ours(chain, 1e-8)
    rows = [Row("modia_py", rtol, partial(run_ours, chain, rtol)) for rtol in OURS]
    for linear in ("band", "sparse") if n <= 10_000 else ("band",):
        rows += [Row(f"IDA {linear}", rtol, partial(run_ida, chain, rtol, linear)) for rtol in IDA]
    for _ in range(int(np.clip(1e6 / n, 3, 20))):
        for row in rows:
            if "sparse" not in row.name or not np.isfinite(row.seconds):
                row.repeat(reference)
    print(f"{'':12}{'rtol':>8}{'seconds':>10}{'processor':>10}{'error':>10}{'at end':>10}")
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
                    f"{', at equal error at the end' if measure == 'error_at_end' else ''}"
                )


def large(n: int = 1_000_000) -> None:
    problem = rod(n)
    began = time.perf_counter()
    found = solve(problem, 0.0, 1.0, *start(n), rtol=1e-4, atol=1e-6, times=[1.0])
    steps, seconds = found.statistics.steps, found.statistics.seconds
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
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
        kind = brusselator if "--brusselator" in sys.argv else heat_rod
        for size in sizes or [100, 10_000, 100_000]:
            compare(kind(size))

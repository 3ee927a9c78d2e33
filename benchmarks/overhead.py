"""What a small problem costs besides its steps: the first run, a repeated run, one step.

    python benchmarks/overhead.py

Robertson's reaction with one algebraic row (3 unknowns) and a rod of 100 cells, already compiled, with
other parameters each time. The time of a run of few steps is nearly that of the Python side; the time of a
step is that of a long run, without it. Times are the least of many runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from heat_rod import rod, start

from modia_py.solvers import Problem, Solution, solve


def robertson(t: Any, x: Any, xdot: Any, p: Any) -> Any:
    a, b, c = x
    slow, fast = p * a - 1e4 * b * c, 3e7 * b * b
    return jnp.stack([xdot[0] + slow, xdot[1] - slow + fast, a + b + c - 1])


def least(call: Callable[[], Solution], repeat: int = 40) -> tuple[float, Solution]:
    best, found = np.inf, call()
    for _ in range(repeat):
        began = time.perf_counter()
        found = call()
        best = min(best, time.perf_counter() - began)
    return best, found


def report(name: str, first: float, short: Callable[[], Solution], long: Callable[[], Solution]) -> None:
    few, of_few = least(short)
    many, of_many = least(long)
    steps = of_many.statistics.steps - of_few.statistics.steps
    print(
        f"{name:24}{first:8.2f} s{1e3 * few:9.2f} ms ({of_few.statistics.steps} steps)"
        f"{1e3 * many:9.2f} ms ({of_many.statistics.steps} steps){1e6 * (many - few) / steps:9.1f} us"
    )


def main() -> None:
    print(f"{'':24}{'first run':>10}{'short run':>22}{'long run':>24}{'a step':>12}")
    problem, x0, xdot0 = Problem(robertson, 3, 2), [1.0, 0.0, 0.0], [-0.04, 0.04, 0.0]
    began = time.perf_counter()
    solve(problem, 0.0, 40.0, x0, xdot0, p=0.04)
    first = time.perf_counter() - began
    report(
        "3 unknowns (robertson)", first,
        lambda: solve(problem, 0.0, 1e-6, x0, xdot0, p=0.041),
        lambda: solve(problem, 0.0, 4e6, x0, xdot0, p=0.042),
    )  # fmt: skip
    chain, (x0, xdot0) = rod(100), start(100)
    began = time.perf_counter()
    solve(chain, 0.0, 1.0, x0, xdot0)
    first = time.perf_counter() - began
    report(
        "100 unknowns (rod)", first,
        lambda: solve(chain, 0.0, 1e-6, x0, xdot0, times=[1e-6]),
        lambda: solve(chain, 0.0, 1.0, x0, xdot0, times=[1.0]),
    )  # fmt: skip


if __name__ == "__main__":
    main()

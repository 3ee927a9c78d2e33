"""Published test problems: digits, steps, factorizations and time; and a work-precision table.

    python benchmarks/testset.py [--precision] [--further] [--method=bdf,radau] [name ...]

Digits are the least relative agreement with the reference over all listed values, derivatives and
multipliers included. "error/tol" is the largest error of an element of x in units of its tolerance at the
end. Milliseconds are of the processor. With `--further`, problems on which nothing was tuned.
"""

from __future__ import annotations

import itertools
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from modia_py.simulation.run import METHODS
from modia_py.solvers import consistent_xdot, impulse_start, solve

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.problems import further
from tests.problems.testset import Case, all_cases


@dataclass
class Outcome:
    status: str
    digits: float
    error: float
    steps: int
    rejected: int
    factorizations: int
    residuals: int
    seconds: float


def run(case: Case, rtol: float, **options: Any) -> Outcome:
    """One run with restarts at the kinks; multipliers at the end from the equations."""
    x, solution = case.x0, None
    steps = rejected = factorizations = residuals = 0
    atol = np.asarray(case.atol) * rtol / 1e-7
    began = time.process_time()
    for start, end in case.pieces():
        p = case.parameters(start, end)
        if solution is not None:
            x = impulse_start(case.problem, start, x, p, solution.xdot_last).x
        solution = solve(case.problem, start, end, x, None, p, rtol=rtol, atol=atol, times=[end], **options)
        x = solution.x_last
        steps += solution.statistics.steps
        rejected += solution.statistics.rejected
        factorizations += solution.statistics.factorizations
        residuals += solution.statistics.residuals
        if solution.status.failed:
            return Outcome(
                solution.status.name, np.nan, np.nan, steps, rejected, factorizations, residuals, 0.0
            )
    seconds = time.process_time() - began
    xdot = consistent_xdot(case.problem, end, x, p, solution.xdot_last).xdot
    found = np.asarray(case.listed(x, xdot))
    off = np.abs(found - case.reference)
    digits = -np.log10(np.max(off / np.maximum(np.abs(case.reference), case.floor)) + 1e-16)
    states = slice(case.states)
    tolerance = rtol * np.abs(case.reference) + np.resize(atol, len(case.reference))
    error = np.max((off / tolerance)[states])
    return Outcome("ok", digits, error, steps, rejected, factorizations, residuals, seconds)


def main(arguments: list[str]) -> None:
    names = [name for name in arguments if not name.startswith("--")]
    problems = further.all_cases() if "--further" in arguments else all_cases()
    cases = [case for case in problems if not names or case.name in names]
    chosen = [argument.split("=")[1] for argument in arguments if argument.startswith("--method=")]
    methods = chosen[0].split(",") if chosen else ["bdf"]
    if unknown := set(methods) - {"bdf", "radau", "auto"}:
        sys.exit(f"--method={','.join(sorted(unknown))}: these problems take bdf, radau or auto")
    tolerances = [10.0**-k for k in range(3, 10)] if "--precision" in arguments else [1e-7]
    print(f"{'problem':15}{'method':>8}{'rtol':>8}{'status':>9}{'digits':>8}{'error/tol':>11}{'steps':>8}{'rejected':>9}"
          f"{'factor.':>9}{'resid.':>8}{'ms':>9}")  # fmt: skip
    for case, method in itertools.product(cases, methods):
        run(case, 1e-1, formula=METHODS[method])
        for rtol in tolerances:
            o = run(case, rtol, formula=METHODS[method])
            how = f"{case.name:15}{method:>8}{rtol:8.0e}{o.status:>9}{o.digits:8.2f}{o.error:11.3g}"
            work = f"{o.steps:8}{o.rejected:9}{o.factorizations:9}{o.residuals:8}{1e3 * o.seconds:9.1f}"
            print(how + work, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

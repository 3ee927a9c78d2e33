"""Why a run stopped, in the names of the model."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from .program import Arguments, Program
from .row_names import row_name, x_name
from .solvers import Solution, Status

LISTED = 4


def failure_text(program: Program, arguments: Arguments, solution: Solution, rtol: float, atol: Any) -> str:
    """When and why, the variables and equations that have to do with it, and what to try."""
    t, x, xdot = solution.t_last, solution.x_last, solution.xdot_last
    lines = [f"The simulation stopped at time {t:.6g}. {solution.status.advice}"]
    if solution.status in (Status.INTERRUPTED, Status.MAX_STEPS):
        lines[0] = f"The simulation stopped at time {t:.6g}. {solution.status.advice}"
    lines += _fastest(program, x, xdot, rtol, atol)
    if solution.status in (Status.NEWTON, Status.NON_FINITE, Status.SINGULAR, Status.ERROR_TEST):
        lines += _suspects(program, arguments, solution)
    return "\n".join(lines)


def _fastest(program: Program, x: np.ndarray, xdot: np.ndarray, rtol: float, atol: Any) -> list[str]:
    """Variables that change fastest, compared with their size."""
    matters = ~program.layout.integrals & np.isfinite(xdot)
    size = np.abs(x) + np.asarray(atol) / rtol
    rate = np.where(matters, np.abs(xdot) / np.maximum(size, 1e-300), 0.0)
    order = np.argsort(-rate, kind="stable")[:LISTED]
    listed = [f"{x_name(program, int(k))} = {x[k]:.4g} (rate {xdot[k]:.3g})" for k in order if rate[k] > 0]
    return [f"Fastest variables there: {', '.join(listed)}."] if listed else []


def _suspects(program: Program, arguments: Arguments, solution: Solution) -> list[str]:
    """Equations that are not finite, or hold least, a little further on."""
    t, x, xdot = solution.t_last, solution.x_last, solution.xdot_last
    xdot = np.where(np.isfinite(xdot), xdot, 0.0)
    for ahead in (0.0, 1e-9, 1e-6, 1e-3):
        step = ahead * max(1.0, abs(t))
        residual = np.asarray(
            program.problem.residual(jnp.asarray(t + step), x + step * xdot, xdot, arguments)
        )
        bad = np.flatnonzero(~np.isfinite(residual))
        if len(bad):
            names = "\n".join(f"    {row_name(program, int(row))}" for row in bad[:LISTED])
            return [f"Not finite there, or just behind it:\n{names}"]
    worst = np.argsort(-np.abs(residual), kind="stable")[:LISTED]
    names = "\n".join(f"    {row_name(program, int(row))}" for row in worst if residual[row] != 0)
    return [f"Equations that hold least there:\n{names}"] if names else []

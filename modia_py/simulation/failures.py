"""Why a run stopped, in the names of the model."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..expressions.abrupt_parts import jumps_with_variables
from ..expressions.event_primitives import EVENT_WHERE
from ..expressions.expression import Call
from ..expressions.printing import clip_text, expression_text
from ..program.program import Arguments, Program
from ..program.row_names import row_name, x_name
from ..program.vanished_pivots import vanished_pivots
from ..solvers import Solution, Status
from ..solvers.matrix.near_singular import nearly_null_space
from ..solvers.roots.initialize import form_matrix
from ..start.dependent_equations import dependency
from .event_failures import event_suspects

LISTED = 4
EARLIER = 6
"""Points of a run that tell what its matrix usually is."""


def failure_text(program: Program, arguments: Arguments, solution: Solution, rtol: float, atol: Any) -> str:
    """When and why, the variables and equations that have to do with it, and what to try."""
    t, x, xdot = solution.t_last, solution.x_last, solution.xdot_last
    lines = [f"The simulation stopped at time {t:.6g}. {solution.status.advice}"]
    at_event = event_suspects(program, arguments, solution)
    if at_event:
        lines += at_event
        is_explained = solution.status is not Status.NO_RESTART or len(at_event) > 1
        return "\n".join(lines if is_explained else lines + _suspects(program, arguments, solution))
    lines += _fastest(program, x, xdot, rtol, atol)
    if solution.status in (Status.NEWTON, Status.NON_FINITE, Status.SINGULAR, Status.ERROR_TEST):
        lines += _suspects(program, arguments, solution)
    if solution.status in (Status.NEWTON, Status.MAX_STEPS, Status.ERROR_TEST):
        lines += _undeclared_jumps(program)
    return "\n".join(lines)


def _undeclared_jumps(program: Program) -> list[str]:
    """Functions of variables in the equations that jump, and that no event tells of."""
    lines: dict[str, None] = {}
    for flat in program.structure.flat.equations:
        for jump in jumps_with_variables([flat.equation.lhs, flat.equation.rhs]):
            if not (isinstance(jump, Call) and jump.primitive is EVENT_WHERE):
                text = clip_text(expression_text(jump, flat.owner.naming), 60)
                lines[f"    `{text}` in `{flat}` ({flat.equation.source})"] = None
    if not lines:
        return []
    return [
        "\n".join(["These functions jump without an event:", *list(lines)[:LISTED]])
        + "\nWith modia_py's where(condition, a, b) a jump is an event; around a jump that holds its own "
        "variable in place, a steep slope is better: np.clip(x / small, -1, 1)."
    ]


def _fastest(program: Program, x: np.ndarray, xdot: np.ndarray, rtol: float, atol: Any) -> list[str]:
    """Variables that change fastest, compared with their size."""
    matters = ~program.layout.integrals & np.isfinite(xdot)
    size = np.abs(x) + np.asarray(atol) / rtol
    rate = np.where(matters, np.abs(xdot) / np.maximum(size, 1e-300), 0.0)
    order = np.argsort(-rate, kind="stable")[:LISTED]
    listed = [f"{x_name(program, int(k))} = {x[k]:.4g} (rate {xdot[k]:.3g})" for k in order if rate[k] > 0]
    return [f"Fastest variables there: {', '.join(listed)}."] if listed else []


def _suspects(program: Program, arguments: Arguments, solution: Solution) -> list[str]:
    """Equations that are not finite, or no longer determine their variables, or hold least, there."""
    t, x, xdot = solution.t_last, solution.x_last, solution.xdot_last
    xdot = np.where(np.isfinite(xdot), xdot, 0.0)
    if vanished := vanished_pivots(program, arguments, t, x, xdot):
        return [f"Not finite there: {vanished[0]}."]
    for ahead in (0.0, 1e-9, 1e-6, 1e-3):
        step = ahead * max(1.0, abs(t))
        residual = np.asarray(
            program.problem.residual(jnp.asarray(t + step), x + step * xdot, xdot, arguments)
        )
        bad = np.flatnonzero(~np.isfinite(residual))
        if len(bad):
            names = "\n".join(f"    {row_name(program, int(row))}" for row in bad[:LISTED])
            return [f"Not finite there, or just behind it:\n{names}"]
    folded = _nearly_singular(program, arguments, solution)
    if folded is not None:
        return [folded]
    worst = np.argsort(-np.abs(residual), kind="stable")[:LISTED]
    names = "\n".join(f"    {row_name(program, int(row))}" for row in worst if residual[row] != 0)
    return [f"Equations that hold least there:\n{names}"] if names else []


def _nearly_singular(program: Program, arguments: Arguments, solution: Solution) -> str | None:
    """The equations that have come to depend on each other since the run began, and their variables."""
    t, x, xdot = solution.t_last, solution.x_last, solution.xdot_last
    points = [(t, x, xdot)]
    usable = np.flatnonzero((solution.t < t) & np.isfinite(solution.xdot).all(axis=1))
    for row in (
        np.unique(usable[np.linspace(0, len(usable) - 1, EARLIER).astype(int)]) if len(usable) else []
    ):
        points.append((float(solution.t[row]), solution.x[row], solution.xdot[row]))
    matrices = [form_matrix(program.problem, *point, arguments) for point in points]
    matrices = [matrix for matrix in matrices if np.isfinite(matrix.data).all()]
    if len(matrices) < 2 or not np.isfinite(xdot).all():
        return None
    found = nearly_null_space(matrices[0], matrices[1:])
    if found.is_empty:
        return None
    return (
        f"Nearly singular there, as where a solution ends or folds back. "
        f"{dependency(program, *found.involved(), arguments.p)}"
    )

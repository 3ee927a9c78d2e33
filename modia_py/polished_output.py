"""Output between steps made consistent, as long as that stays a bounded part of the run.

What a row costs is compared with what the integrator has done, both counted in evaluations of the equations
and not in seconds: a repeated run gives the same numbers, whatever else the machine does. All rows are
polished, or none: a curve of both kinds would be ragged by a tolerance.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .outputs import Piece
from .program import Program
from .solvers import Statistics, polish
from .solvers.jacobian import pattern_of

SHARE = 0.5
"""Of the work of the integrator that polishing may take."""
ALWAYS = 2e5
"""Numbers (rows times unknowns) that are polished in any case: a few milliseconds."""
ITERATION, MATRIX = 10, 4
"""Work for a row besides the directions of its two matrices: two iterations; and to factorize."""


def polished(
    program: Program, pieces: list[Piece], work: Statistics, rtol: float, atol: Any, linear_solver: str
) -> list[Piece]:
    """The pieces with consistent rows, or as they are where that would take too long."""
    rows, size = sum(len(piece.t) for piece in pieces), program.functions.size
    if not size or not rows or not _pays(program, pieces[0], rows, work):
        return pieces
    found = []
    for piece in pieces:
        if not len(piece.t):
            found.append(piece)
            continue
        new = polish(
            program.problem, piece.seen, piece.x, piece.xdot, piece.arguments, rtol=rtol, atol=atol,
            step=np.divide(1.0, piece.slack, np.zeros_like(piece.slack), where=piece.slack > 0),
            linear_solver=linear_solver,
        )  # fmt: skip
        slack = np.where(new.settled, 0.0, piece.slack)
        found.append(replace(piece, x=new.x, xdot=new.xdot, slack=slack))
    return found


def _pays(program: Program, piece: Piece, rows: int, work: Statistics) -> bool:
    size = program.functions.size
    if rows * size <= ALWAYS:
        return True
    directions = pattern_of(program.problem, piece.arguments).directions
    done = 2 * work.residuals + 3 * work.steps + work.jacobians * (directions + MATRIX)
    return rows * (2 * (directions + MATRIX) + ITERATION) <= SHARE * done

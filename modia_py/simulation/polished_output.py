"""Output between steps made consistent, as long as that stays a bounded part of the run.

What a row costs is compared with what the integrator has done, both counted in evaluations of the equations
and not in seconds: a repeated run gives the same numbers, whatever else the machine does. All rows are
polished, or none: a curve of both kinds would be ragged by a tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..program.program import Program
from ..program.row_names import x_name
from ..solvers import Statistics, polish
from ..solvers.matrix.jacobian import pattern_of
from .outputs import Span

SHARE = 0.5
"""Of the work of the integrator that polishing may take."""
ALWAYS = 4e4
"""Numbers (rows times unknowns) that are polished in any case: some ten milliseconds."""
ITERATION, MATRIX = 10, 40
"""Work for a row besides the directions of its two matrices: two iterations; and to factorize, which small
systems are too short to feel."""


LARGEST_DEFECT = 100.0
"""Of a state, in tolerances: more, and something has happened between two steps that none has seen."""


@dataclass(frozen=True)
class Unresolved:
    """Where a state does not follow its equations between two steps, and by how many tolerances."""

    time: float
    element: int
    defect: float

    def text(self, program: Program) -> str:
        return (
            f"Near time {self.time:.6g} something happens within one step that the integrator has not "
            f"seen: {x_name(program, self.element)} is off by {self.defect:.2g} tolerances there. A short "
            f"pulse, or a fast source while all else is at rest? Say where it is by inputs={{name: "
            f"(function, breaks)}}, or start closer to it; a smaller `rtol` may help."
        )


def polished(
    program: Program, spans: list[Span], work: Statistics, rtol: float, atol: Any, linear_solver: str
) -> tuple[list[Span], Unresolved | None, tuple[str, ...]]:
    """The spans with consistent rows, or as they are where that would take too long.

    With what was found on the way: a state that does not follow its equations; notes on branches.
    """
    rows, size = sum(len(span.t) for span in spans), program.functions.size
    if not size or not rows or not _pays(program, spans[0], rows, work):
        return spans, None, ()
    found, worst, notes = [], None, []
    for span in spans:
        if not len(span.t):
            found.append(span)
            continue
        new = polish(
            program.problem, span.seen, span.x, span.xdot, span.arguments, rtol=rtol, atol=atol,
            step=np.divide(1.0, span.slack, np.zeros_like(span.slack), where=span.slack > 0),
            discretes=span.discrete_rows, linear_solver=linear_solver,
        )  # fmt: skip
        slack = np.where(new.settled, 0.0, span.slack)
        found.append(replace(span, x=new.x, xdot=new.xdot, slack=slack))
        k = int(np.argmax(new.defect))
        if not new.defect[k] <= max(LARGEST_DEFECT, worst.defect if worst else 0.0):
            worst = Unresolved(float(span.t[k]), int(new.element[k]), float(new.defect[k]))
        if program.events is None:  # another mode may have another sign
            notes += _branch_notes(span.t, new.sign)
    return found, worst, tuple(notes)


def _branch_notes(t: np.ndarray, sign: np.ndarray) -> list[str]:
    """The determinant of the equations does not change its sign along a solution without a jump."""
    known = np.flatnonzero(sign)
    changes = np.flatnonzero(np.diff(sign[known]))
    if not len(changes):
        return []
    first, more = changes[0], len(changes) - 1
    again = f", and {more} more times" if more else ""
    return [
        f"between the times {t[known[first]]:.6g} and {t[known[first + 1]]:.6g}{again}, the equations are "
        f"singular: where they have several solutions, this one may go over to another there"
    ]


def _pays(program: Program, span: Span, rows: int, work: Statistics) -> bool:
    size = program.functions.size
    if rows * size <= ALWAYS:
        return True
    directions = pattern_of(program.problem, span.arguments).directions
    done = 2 * work.residuals + 3 * work.steps + work.jacobians * (directions + MATRIX)
    return rows * (2 * (directions + MATRIX) + ITERATION) <= SHARE * done

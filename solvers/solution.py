"""What `solve` returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .status import Status


@dataclass(frozen=True)
class Statistics:
    """Work of a run.

    Attributes
    ----------
    steps : int
        Accepted steps.
    rejected_error, rejected_newton, rejected_non_finite, rejected_singular : int
        Attempts that were rejected: by the error test, because the corrector did not converge, because the
        residual was not finite, because the matrix was singular.
    residuals, jacobians, factorizations, solves : int
        Evaluations of the residual and of the iteration matrix, factorizations and solves.
    order_histogram : tuple of int
        Steps of each order, from 0.
    limited_by_rounding : int
        Steps in which rounding of the equations was larger than the tolerance of the result.
    corrected_whole : int
        Attempts of inline integration that were left to Newton's method for all unknowns.
    chunks : int
        Calls of the compiled loop.
    pivots_renewed : int
        How often the linear solver chose new pivots.
    seconds : float
        Of the whole run.
    """

    steps: int = 0
    rejected_error: int = 0
    rejected_newton: int = 0
    rejected_non_finite: int = 0
    rejected_singular: int = 0
    residuals: int = 0
    jacobians: int = 0
    factorizations: int = 0
    solves: int = 0
    order_histogram: tuple[int, ...] = ()
    limited_by_rounding: int = 0
    corrected_whole: int = 0
    chunks: int = 0
    pivots_renewed: int = 0
    seconds: float = 0.0

    @property
    def rejected(self) -> int:
        """All rejected attempts."""
        return (
            self.rejected_error + self.rejected_newton + self.rejected_non_finite + self.rejected_singular
        )

    def __str__(self) -> str:
        width = max(len(field.name) for field in fields(self))
        lines = []
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "order_histogram":
                value = ", ".join(f"{order}: {count}" for order, count in enumerate(value) if count)
            lines.append(f"{field.name.replace('_', ' '):{width}}  {value}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Crossing:
    """A zero crossing: when, which functions, and to which side they went.

    Attributes
    ----------
    time : float
        When.
    which : tuple of int
        Which crossing functions.
    rising : tuple of bool
        For each of them, whether it went from negative to positive.
    """

    time: float
    which: tuple[int, ...]
    rising: tuple[bool, ...]


@dataclass(frozen=True, eq=False)
class EventRecord:
    """One event of a run.

    Attributes
    ----------
    time : float
        When.
    row : int
        How many rows of output came before it, the row just before it included.
    is_crossing : bool
        Whether a zero crossing was met; else the time of the event was known.
    passes : int
        How many passes it took until nothing changed any more.
    places, values : array
        Which discrete values have changed, and to what.
    triggers : array
        Which discrete values its first pass has changed: what it was noticed by. They may have changed
        back since.
    has_rows : bool
        Whether the rows just before and after it are part of the output.
    """

    time: float
    row: int
    is_crossing: bool
    passes: int
    places: np.ndarray
    values: np.ndarray
    triggers: np.ndarray
    has_rows: bool


@dataclass(frozen=True, eq=False)
class Solution:
    """Rows of output, how the run ended and where, and the work it took.

    Attributes
    ----------
    t, x, xdot : array
        The times of output, shape (nt,), and x and xdot there, shape (nt, size).
    step : array
        The size of the step in which a row lies, zero at a start: between steps xdot is interpolated, and
        about as accurate as x over that. By Radau IIA a quarter of the size.
    order : array
        The order of that step; zero at a start, at events, and where it is not known.
    status : Status
        How the run ended.
    message : str
        The same as a sentence, with advice if it failed.
    t_last, x_last, xdot_last : float, array, array
        Where the run ended, whether or not output was wanted there.
    statistics : Statistics
        The work.
    linear_solver : str
        What has solved the linear systems, and why it was taken.
    crossings : tuple of Crossing
        Zero crossings that were found.
    events : sequence of EventRecord
        Events that the problem has handled.
    p_last : pytree of arrays
        Parameters at the end: discrete values may be others than at the start.
    restarts : tuple of int
        The first row after each stop at which the run was started anew.
    refused : bool
        Whether the action of a stop has said that the run cannot go on.
    loop : str
        Which loop has run: native, or in JAX, and why.
    method : str
        Which formulas have run, and up to which order.
    not_inlined : str
        Why the corrector did not go by stages, if it was asked to; else empty.
    """

    t: np.ndarray
    x: np.ndarray
    xdot: np.ndarray
    step: np.ndarray
    order: np.ndarray
    status: Status
    message: str
    t_last: float
    x_last: np.ndarray
    xdot_last: np.ndarray
    statistics: Statistics
    linear_solver: str
    crossings: tuple[Crossing, ...] = ()
    events: Sequence[EventRecord] = ()
    p_last: Any = None
    restarts: tuple[int, ...] = ()
    refused: bool = False
    loop: str = ""
    method: str = ""
    not_inlined: str = ""

    @property
    def success(self) -> bool:
        """Whether the run has not failed; it may have ended at a crossing."""
        return not self.status.failed

    def __str__(self) -> str:
        return (
            f"{self.status.name}: {self.message}\n{len(self.t)} rows of output, last time {self.t_last:g}, "
            f"linear solver {self.linear_solver}\n{self.statistics}"
        )


def rounding_warning(element: int, steps: int, limited_by_rounding: int) -> str:
    if limited_by_rounding == 0:
        return ""
    return (
        f"In {limited_by_rounding} of {steps} steps rounding was larger than the tolerance, the last time "
        f"that of x[{element}]: it is small beside what it is computed from, and no more accurate. "
        "A larger `atol` for it, or equations that do not cancel, remove this warning."
    )

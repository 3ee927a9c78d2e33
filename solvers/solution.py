"""What `solve` returns."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from .status import Status


@dataclass(frozen=True)
class Statistics:
    """Work of a run."""

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
    """Steps in which rounding of the equations was larger than the tolerance of the result."""
    chunks: int = 0
    pivots_renewed: int = 0
    seconds: float = 0.0

    @property
    def rejected(self) -> int:
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
    """A zero crossing: when, which functions, and to which side they went."""

    time: float
    which: tuple[int, ...]
    rising: tuple[bool, ...]


@dataclass(frozen=True, eq=False)
class Solution:
    """Rows of output (t, x, xdot), how the run ended and where, and the work it took.

    `step` is the size of the step in which a row lies, zero at a start: between steps xdot is interpolated,
    and about as accurate as x over that.
    """

    t: np.ndarray
    x: np.ndarray
    xdot: np.ndarray
    step: np.ndarray
    status: Status
    message: str
    t_last: float
    x_last: np.ndarray
    xdot_last: np.ndarray
    statistics: Statistics
    linear_solver: str
    crossings: tuple[Crossing, ...] = ()
    restarts: tuple[int, ...] = ()
    """The first row after each stop at which the run was started anew."""
    refused: bool = False
    """Whether the action of a stop has said that the run cannot go on."""
    loop: str = ""
    """Which loop has run: native, or in JAX, and why."""

    @property
    def success(self) -> bool:
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

"""The corrector's equations as stages, where somebody who sees the equations has sorted them.

With x = x_pred + d, xdot = xdot_pred + d / c, the equations of a step are equations for d. A stage is
solved when those before it are: for the tear variables of its blocks by a small Newton iteration each, for
the others by formulas (see `inlined.corrector`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Stage:
    """Blocks of one size that do not need each other.

    Parameters
    ----------
    tears : array of int
        For each block, in a row, the places in x of the unknowns that are iterated; rows may be empty.
    rows : array of int
        For each of them a row of the residual.
    solved : array of int
        The places of the unknowns that follow from those.
    residual : callable
        residual(t, x, xdot, p) -> the rows, of all blocks one after the other.
    change : callable
        change(t, x, xdot, p, c) -> what to add to x[solved], and divided by c to xdot, for all other rows
        of the blocks to hold.
    smallest_pivot : callable
        smallest_pivot(t, x, xdot, p, c) -> what `change` divides by, compared with the coefficients there.
    """

    tears: np.ndarray
    rows: np.ndarray
    solved: np.ndarray
    residual: Callable[..., Any]
    change: Callable[..., Any]
    smallest_pivot: Callable[..., Any]

    @property
    def blocks(self) -> int:
        return self.tears.shape[0]

    @property
    def iterated(self) -> int:
        """Tear variables of a block."""
        return self.tears.shape[1]


@dataclass(frozen=True, eq=False)
class Inlined:
    """The stages of a problem, in sequence; every element of x belongs to one."""

    stages: tuple[Stage, ...]
    data: tuple[np.ndarray, np.ndarray] | None = None
    """All of them as words and constants for native code, which makes whole steps (`Problem.planned`)."""

    @property
    def tears(self) -> np.ndarray:
        """Places in x of all unknowns that are iterated."""
        return np.concatenate([stage.tears.ravel() for stage in self.stages])

    def __str__(self) -> str:
        size = sum(stage.tears.size + len(stage.solved) for stage in self.stages)
        count = len(self.stages)
        return f"{len(self.tears)} of {size} unknowns iterated in {count} stage{'s' * (count > 1)}"

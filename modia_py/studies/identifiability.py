"""What data determine and what they do not, from the Jacobian of weighted residuals.

Unknowns are taken in units of their own size, so that a direction says by how many per cent each of them
changes. With J = U S V^T the uncertainty along a direction v_k is 1/s_k: it is infinite where nothing that
was measured changes. Whether columns are dependent does not depend on units, and is decided with all of
them of length one. A null space of several dimensions has many bases: the one that is told has as few names
in each direction as elimination gives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

NO_EFFECT = 1e-4
"""An unknown that changes by all of its size, and all residuals together by less than this, in units of the
noise, has no effect."""
DEPENDENT = 10.0
"""Columns are dependent if a combination of them is as small as this, compared with rtol of the runs."""
INVOLVED = 1e-3
"""Smaller parts of a direction are rounding."""


@dataclass(frozen=True)
class Combination:
    """Changes of several parameters together, and how well data determine them.

    Attributes
    ----------
    changes : tuple of (str, float)
        Names, and by how much each changes, compared with its own size; the largest is 1.
    uncertainty : float
        The standard deviation of that common change, compared with the sizes; infinite if nothing that was
        measured changes.
    """

    changes: tuple[tuple[str, float], ...]
    uncertainty: float

    def __str__(self) -> str:
        text = " with ".join(f"{name} by {100 * change:+.3g} %" for name, change in self.changes)
        if np.isinf(self.uncertainty):
            return f"{text}: nothing that was measured changes"
        return f"{text}: uncertain by {self.uncertainty:.2g} times that much"


@dataclass(frozen=True, eq=False)
class Information:
    """The covariance of unknowns in units of q, infinite where data say nothing, and combinations."""

    covariance: np.ndarray
    combinations: tuple[Combination, ...]
    undetermined: np.ndarray
    rank: int


def information(
    jacobian: np.ndarray, sizes: np.ndarray, labels: tuple[str, ...], rtol: float, fixed: np.ndarray
) -> Information:
    """From the weighted Jacobian by q, with the size of each unknown in units of q.

    Unknowns that are `fixed` (at a bound) do not take part: their covariance is NaN.
    """
    n = len(labels)
    free = np.flatnonzero(~fixed)
    by_size = jacobian[:, free] * sizes[free]
    length = np.linalg.norm(by_size, axis=0)
    has_effect = length > NO_EFFECT
    unit = np.where(has_effect, length, 1.0)
    _, s, vt = np.linalg.svd(np.where(has_effect, by_size / unit, 0.0), full_matrices=True)
    s = np.append(s, np.zeros(len(free) - len(s)))
    known = s > DEPENDENT * rtol * max(1.0, s.max(initial=0.0))
    covariance = np.full((n, n), np.nan)
    inner = (vt[known].T / s[known] ** 2) @ vt[known] / np.outer(unit, unit)
    null = _sparse_basis((vt[~known] / unit).T)
    lost = np.zeros(len(free), bool)
    if null.shape[1]:
        lost = np.abs(null).max(axis=1) > INVOLVED
        inner[lost, :] = inner[:, lost] = np.nan
        inner[lost, lost] = np.inf
    covariance[np.ix_(free, free)] = inner * np.outer(sizes[free], sizes[free])
    names = [labels[k] for k in free]
    found = [_combination(names, direction, np.inf) for direction in null.T]
    _, s, vt = np.linalg.svd(by_size, full_matrices=False)
    rank = int(known.sum())
    found += [_combination(names, vt[k], 1.0 / s[k]) for k in range(min(rank, len(s)) - 1, -1, -1)]
    undetermined = np.zeros(n, bool)
    undetermined[free] = lost
    return Information(covariance, tuple(found), undetermined, rank)


def _sparse_basis(null: np.ndarray) -> np.ndarray:
    """The same space with a unit matrix in some rows: few names in each direction."""
    if not null.shape[1]:
        return null
    _, _, order = qr(null.T, mode="economic", pivoting=True)
    pivots = order[: null.shape[1]]
    basis = null @ np.linalg.inv(null[pivots])
    return basis / np.abs(basis).max(axis=0)


def _combination(names: list[str], direction: np.ndarray, uncertainty: float) -> Combination:
    largest = np.argmax(np.abs(direction))
    relative = direction / direction[largest]
    order = np.argsort(-np.abs(relative), kind="stable")
    changes = tuple((names[k], float(relative[k])) for k in order if abs(relative[k]) > INVOLVED)
    return Combination(changes, uncertainty * float(abs(direction[largest])))

"""The step of Newton's method for the nearest point, and the parts a problem falls into. See `nearest`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

SMALL = 1e-3
"""Unknowns smaller than this are compared with this."""
HARD, SOFT, IGNORED = 1e-14, 1e-9, 1e30
FOLLOWS = 1e-12
"""The cost of unknowns that follow: next to nothing, but a part of them that is not determined stays."""
REFINEMENTS = 2
ASIDE = 1e-6
"""Where a slope is infinite, that of a point so far away is taken."""
MOST_WORK = 3e7
"""Entries of the Jacobian times iterations, in one search for a start."""
FEWEST_ITERATIONS, MOST_ITERATIONS = 100, 2000


class System(Protocol):
    """g and its Jacobian at points on the host, for example a `SparseSystem`."""

    n: int
    m: int
    rows: np.ndarray
    columns: np.ndarray

    def value(self, x: np.ndarray) -> np.ndarray: ...

    def jacobian(self, x: np.ndarray) -> Any: ...


@dataclass
class Effort:
    """Iterations that a search may still take, and what was tried, in words."""

    left: int
    used: int = 0
    tried: list[str] = field(default_factory=list)
    report: Callable[[str], None] | None = None

    @staticmethod
    def for_entries(entries: int, report: Callable[[str], None] | None = None) -> Effort:
        """An effort that is bounded whatever the size, and does not depend on the speed of a machine."""
        affordable = int(MOST_WORK / max(1, entries))
        return Effort(min(MOST_ITERATIONS, max(FEWEST_ITERATIONS, affordable)), report=report)

    def spend(self) -> bool:
        """Count an iteration; False if none is left."""
        if self.left <= 0:
            return False
        self.left, self.used = self.left - 1, self.used + 1
        if self.report is not None:
            self.report(f"{self.used} iterations of Newton's method, at most {self.left} more")
        return True


@dataclass(frozen=True, eq=False)
class NearestProblem:
    """What is solved for: free unknowns, active rows, and what each costs to move or to violate."""

    system: System
    unit: np.ndarray
    cost: np.ndarray
    free: np.ndarray
    softness: np.ndarray  # of all rows
    active: np.ndarray
    known: np.ndarray  # of all rows: the sizes of terms that do not depend on z

    @cached_property
    def parts(self) -> Parts:
        return independent_parts(self)

    def value(self, z: np.ndarray) -> np.ndarray:
        return self.system.value(z)[self.active]

    def slopes(self, z: np.ndarray) -> sparse.csr_array:
        """The Jacobian of the active rows; what is infinite at z is taken from a point aside."""
        jacobian = sparse.csr_array(self.system.jacobian(z))
        if len(self.active) < self.system.m:
            jacobian = jacobian[self.active]
        if np.all(np.isfinite(jacobian.data)):
            return jacobian
        direction = np.cos(np.arange(len(z), dtype=float))  # no two unknowns move alike
        aside = sparse.csr_array(self.system.jacobian(z + ASIDE * self.unit * direction))[self.active]
        data = np.where(np.isfinite(jacobian.data), jacobian.data, aside.data)
        return sparse.csr_array((data, jacobian.indices, jacobian.indptr), shape=jacobian.shape)

    def sizes(self, slopes: sparse.csr_array, z: np.ndarray, small: float = SMALL) -> np.ndarray:
        """The sizes of the terms of each row: what its residual is compared with."""
        data = np.where(np.isfinite(slopes.data), np.abs(slopes.data), 0.0)
        row, rows = _row_numbers(slopes), slopes.shape[0]
        size = np.bincount(row, data * (np.abs(z) + small)[slopes.indices], minlength=rows)
        size = size + self.known[self.active]
        return np.where(size > 0.0, size, 1.0)  # nothing is known of such a row

    def gentle_slopes(self, z: np.ndarray, slopes: sparse.csr_array) -> sparse.csr_array:
        """The smallest slopes at z and SMALL away from it, where these are defined."""
        shift = SMALL * np.cos(np.arange(len(z), dtype=float))
        least = np.abs(slopes.data)
        for at in (z + shift, z - shift):
            there = np.abs(sparse.csr_array(self.system.jacobian(at))[self.active].data)
            least = np.fmin(least, np.where(np.isfinite(there), there, np.inf))
        return sparse.csr_array((least, slopes.indices, slopes.indptr), shape=slopes.shape)

    def _free_entries(self, slopes: sparse.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row, number of the free unknown, and value of the slopes with respect to these, by their units.

        By hand: in small systems most of the time would go into objects of scipy's.
        """
        number = np.full(self.system.n, -1)
        number[self.free] = np.arange(len(self.free))
        row, column = _row_numbers(slopes), number[slopes.indices]
        kept = (column >= 0) & (slopes.data != 0.0)
        return row[kept], column[kept], (slopes.data * self.unit[slopes.indices])[kept]

    def scales(self, slopes: sparse.csr_array) -> np.ndarray:
        """How much each row changes, at most, by one unit of one free unknown."""
        row, _, value = self._free_entries(slopes)
        scale = np.zeros(slopes.shape[0])
        np.maximum.at(scale, row, np.where(np.isfinite(value), np.abs(value), 0.0))
        return np.where(np.isfinite(scale) & (scale > 1e-290), scale, 1.0)

    def step(
        self, slopes: sparse.csr_array, right: np.ndarray, softness: np.ndarray | None = None
    ) -> tuple[np.ndarray | None, np.ndarray]:
        """The move, None if there is none, and the multipliers."""
        delta, multipliers = np.zeros(self.system.n), np.zeros(len(right))
        softness = self.softness[self.active] if softness is None else softness
        row, column, value = self._free_entries(slopes)
        scale = self.scales(slopes)
        value = value / scale[row]
        involved = np.flatnonzero(np.bincount(row, minlength=len(right)))  # others nothing can change
        rows, k = len(involved), len(self.free)
        if not rows or not k:
            return delta, multipliers
        at = np.cumsum(np.bincount(involved, minlength=len(right))) - 1
        row, right, softness, cost = (
            at[row],
            (right / scale)[involved],
            softness[involved],
            self.cost[self.free],
        )
        hard = softness == HARD
        if rows == k and np.all(cost == 0.0) and np.all(hard):
            solve = _factored(value, row, column, k)
            plain = None if solve is None else solve(right)
            if plain is not None and _holds(value, row, column, plain, right):
                delta[self.free] = self.unit[self.free] * plain
                return delta, multipliers
        diagonal = np.arange(k + rows)
        solve = _factored(
            np.concatenate([np.maximum(cost, FOLLOWS), -softness, value, value]),
            np.concatenate([diagonal, k + row, column]),
            np.concatenate([diagonal, column, k + row]),
            k + rows,
        )
        if solve is None:
            return None, multipliers
        solution = solve(np.concatenate([np.zeros(k), right]))
        for _ in range(0 if np.all(hard) else REFINEMENTS):
            # Multipliers of soft rows that contradict are large: E nu of hard rows must not stay.
            compensated = right - np.where(hard, softness * solution[k:], 0.0)
            solution = solve(np.concatenate([np.zeros(k), compensated]))
        if not np.all(np.isfinite(solution)):
            return None, multipliers
        delta[self.free] = self.unit[self.free] * solution[:k]
        multipliers[involved] = solution[k:]
        return delta, multipliers

    def only(self, rows: np.ndarray, unknowns: np.ndarray) -> NearestProblem:
        """The problem of some of the active rows, and of the free unknowns among some."""
        return replace(self, active=self.active[rows], free=self.free[unknowns[self.free]])


def _row_numbers(slopes: sparse.csr_array) -> np.ndarray:
    """The row of each entry."""
    return np.repeat(np.arange(slopes.shape[0]), np.diff(slopes.indptr))


def _factored(
    value: np.ndarray, row: np.ndarray, column: np.ndarray, size: int
) -> Callable[[np.ndarray], np.ndarray] | None:
    """What solves with a square matrix, given by its entries; None if it is singular."""
    if not np.all(np.isfinite(value)):
        return None
    try:
        return splu(sparse.csc_array((value, (row, column)), shape=(size, size))).solve
    except (RuntimeError, ValueError):
        return None


def _holds(
    value: np.ndarray, row: np.ndarray, column: np.ndarray, solution: np.ndarray, right: np.ndarray
) -> bool:
    """Whether a matrix is not so near to a singular one that its solution is none."""
    rows, products = len(right), value * solution[column]
    terms = np.bincount(row, np.abs(products), minlength=rows) + np.abs(right)
    with np.errstate(invalid="ignore"):
        left = np.bincount(row, products, minlength=rows) - right
        return bool(np.all(np.abs(left) <= 1e-6 * terms))


@dataclass(frozen=True, eq=False)
class Parts:
    """Which part each active row and each unknown belongs to; -1 for unknowns that are not free."""

    count: int
    of_row: np.ndarray
    of_unknown: np.ndarray

    def most(self, of_rows: np.ndarray) -> np.ndarray:
        return _largest(self.of_row, of_rows, self.count)

    def most_of_unknowns(self, values: np.ndarray) -> np.ndarray:
        free = self.of_unknown >= 0
        return _largest(self.of_unknown[free], values[free], self.count)

    def norm(self, of_rows: np.ndarray) -> np.ndarray:
        """Norms of the parts of a vector with an element for each row; infinite where one is not finite."""
        with np.errstate(over="ignore"):
            squares = np.bincount(self.of_row, np.square(of_rows), minlength=self.count)
        return np.where(np.isfinite(squares), np.sqrt(squares), np.inf)

    def all(self, of_rows: np.ndarray) -> np.ndarray:
        return np.bincount(self.of_row, ~of_rows, minlength=self.count) == 0

    def spread(self, of_parts: np.ndarray, elsewhere: Any) -> np.ndarray:
        """A value of each part, at its unknowns."""
        return np.where(self.of_unknown >= 0, of_parts[self.of_unknown], elsewhere)


def _largest(labels: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    found = np.zeros(count)
    np.maximum.at(found, labels, values)
    return found


def independent_parts(problem: NearestProblem) -> Parts:
    """Rows that share free unknowns, directly or by others, are one part."""
    system, m = problem.system, len(problem.active)
    row_at, unknown_at = np.full(system.m, -1), np.full(system.n, -1)
    row_at[problem.active] = np.arange(m)
    unknown_at[problem.free] = m + np.arange(len(problem.free))
    row, column = row_at[system.rows], unknown_at[system.columns]
    inside = (row >= 0) & (column >= 0)
    size = m + len(problem.free)
    graph = sparse.coo_array((np.ones(int(inside.sum())), (row[inside], column[inside])), (size, size))
    count, label = connected_components(graph, directed=False)
    of_unknown = np.full(system.n, -1)
    of_unknown[problem.free] = label[m:]
    return Parts(int(count), label[:m], of_unknown)

"""Rows of output, gathered chunk after chunk in arrays that are large enough from the beginning.

Chunks that are kept until the end and then put together take twice the memory, and 500 rows of 10^5
unknowns are a gigabyte already. Memory is taken by what is written: room that is never used costs nothing.
"""

from __future__ import annotations

import numpy as np

SPARE = 64
"""Rows besides those that are asked for: at a stop, rows are written twice."""


class OutputRows:
    """Times, x, xdot, and sizes and orders of steps."""

    at_nodes = False
    """Whether rows at steps are wanted at all nodes of each: at the stages of Radau IIA."""

    def __init__(self, size: int, expected: int):
        self._count = 0
        self._parts = _room(expected + SPARE, size)

    def append(self, t: np.ndarray, x: np.ndarray, xdot: np.ndarray, step: np.ndarray) -> None:
        first, end = self._count, self._count + len(t)
        if end > len(self._parts[0]):
            parts, size = self._parts, self._parts[1].shape[1]
            self._parts = _room(2 * end, size)
            for new, old in zip(self._parts, parts, strict=True):
                new[:first] = old[:first]
        for own, part in zip(self._parts, (t, x, xdot, step), strict=True):
            own[first:end] = part
        self._count = end

    def arrays(self) -> tuple[np.ndarray, ...]:
        """All of them: t, x, xdot, step."""
        return tuple(part[: self._count] for part in self._parts)


def _room(rows: int, size: int) -> tuple[np.ndarray, ...]:
    return np.empty(rows), np.empty((rows, size)), np.empty((rows, size)), np.empty((rows, 2))

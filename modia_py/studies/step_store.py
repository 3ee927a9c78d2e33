"""The points of a run at all its steps, within a budget of memory.

What does not fit is not kept: the run is made again when it is needed, with the same numbers to the last
bit, up to the end of the window that is wanted, and the last rows before that are kept. Derivatives go
through a run in one direction, so that a run of k windows is made k times more, half of it on average.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

Arrays = tuple[np.ndarray, ...]


class Enough(Exception):
    """All rows that are wanted have been written."""


class StepRows:
    """Takes rows as `solvers.output_rows.OutputRows` does: of all of them the times, and sizes and orders
    of steps; of the last ones, of all from `since` on, and of those in `chosen`, x and xdot."""

    at_nodes = True

    def __init__(
        self, budget: float, until: int | None = None, chosen: Sequence[int] | np.ndarray = (),
        since: float = np.inf,
    ):  # fmt: skip
        self.budget, self.until, self.since = budget, until, since
        self.chosen = np.unique(np.asarray(chosen, int))
        self.at: dict[int, Arrays] = {}
        self.first = self.count = 0
        self._pieces: deque[Arrays] = deque()
        self._times: list[Arrays] = []
        self._bytes = 0.0

    def append(self, t: np.ndarray, x: np.ndarray, xdot: np.ndarray, step: np.ndarray) -> None:
        self._times.append((np.array(t), np.array(step)))
        self._pieces.append((np.array(x), np.array(xdot)))
        self._bytes += 2 * x.nbytes
        for row in self.chosen[np.searchsorted(self.chosen, [self.count, self.count + len(t)])[0] :]:
            if row >= self.count + len(t):
                break
            self.at[int(row)] = np.array(x[row - self.count]), np.array(xdot[row - self.count])
        self.count += len(t)
        while self._bytes > self.budget and len(self._pieces) > 1:
            if self.first + len(self._pieces[0][0]) > self.since:
                break
            dropped, _ = self._pieces.popleft()
            self.first += len(dropped)
            self._bytes -= 2 * dropped.nbytes
        if self.until is not None and self.count >= self.until:
            raise Enough

    def arrays(self) -> Arrays:
        """t, x, xdot, step; x and xdot of the last row only."""
        t, step = (np.concatenate([part[k] for part in self._times]) for k in (0, 1))
        x, xdot = self._pieces[-1]
        return t, x[-1:], xdot[-1:], step

    def has(self, rows: np.ndarray) -> bool:
        return not len(rows) or (rows[0] >= self.first and rows[-1] < self.count)

    def take(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """x and xdot of some rows, which increase."""
        own, first = [], self.first
        for piece in self._pieces:
            end = first + len(piece[0])
            inside = rows[(rows >= first) & (rows < end)] - first
            if len(inside):
                own.append(tuple(part[inside] for part in piece))
            first = end
        x, xdot = (np.concatenate([part[k] for part in own]) for k in (0, 1))
        return x, xdot


class StepStore:
    """Rows of a run that was made once. `again`: makes it again, and gives its rows to what it is given."""

    def __init__(self, rows: StepRows, again: Callable[[StepRows], object]):
        self.rows, self._again = rows, again
        self.total, self.reruns = rows.count, 0
        self.is_whole = rows.first == 0
        self._at: dict[int, Arrays] = {}

    def keep(self, chosen: Sequence[int]) -> None:
        """Have single rows at hand."""
        wanted = np.unique(np.asarray(chosen, int))
        if not self.rows.has(wanted):
            self._run(StepRows(self.rows.budget, None, wanted))
            self._at = self.rows.at
        else:
            x, xdot = self.take(wanted)
            self._at = {int(row): (x[k], xdot[k]) for k, row in enumerate(wanted)}

    def row(self, row: int) -> Arrays:
        """x and xdot of one that is at hand."""
        return self._at[row]

    def take(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """x and xdot of some rows, which increase."""
        if not len(rows):
            none = np.zeros((0, 1))
            return none, none
        if not self.rows.has(rows):
            last = int(rows[-1]) + 1
            if rows[0] >= self.rows.first:  # forward: as many as fit
                held = max(self.rows.count - self.rows.first, 1)
                last = max(last, min(int(rows[0]) + held, self.total))
            self._run(StepRows(self.rows.budget, last, since=int(rows[0])))
        return self.rows.take(rows)

    def _run(self, rows: StepRows) -> None:
        self.reruns += 1
        self.rows = rows  # what was there is let go first
        with suppress(Enough):
            self._again(rows)

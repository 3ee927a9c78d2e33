"""The events of a run, as Python keeps them: chunk by chunk, with bounded memory.

Discrete values are kept as changes. Of each event the rows just before and after it are put between the
rows of output, as long as all of them together stay below a limit; what is dropped beyond it are rows,
never events.
"""

from __future__ import annotations

import numpy as np

from .log import EventLog
from .records import EventRecords, all_records, where_different

MOST_BYTES_OF_ROWS = 2e8
Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Times, x, xdot, and sizes and orders of steps: those of rows at events are not told."""


class EventHistory:
    """What was recorded so far."""

    def __init__(self, discretes: np.ndarray, size: int):
        self.at_start = np.array(discretes)
        self.now = np.array(discretes)
        self._parts: list[EventRecords] = []
        self._row_bytes, self._bytes_left = 32 * size, MOST_BYTES_OF_ROWS

    @property
    def records(self) -> EventRecords:
        """All events until now."""
        return all_records(self._parts)

    def take(self, log: EventLog, rows: Rows, rows_before: int) -> Rows:
        """A chunk: its events are recorded, and its rows returned with those of the events between them."""
        count = int(log.count)
        if not count:
            return rows
        numbers, discretes = np.asarray(log.numbers)[:count], np.asarray(log.discretes)[:count]
        t, row = numbers[:, 0], numbers[:, 1].astype(int)
        kept = min(count, max(0, int(self._bytes_left // self._row_bytes)))
        self._bytes_left -= kept * self._row_bytes
        merged, shift = _merged(rows, log, t[:kept], row[:kept])
        number = np.arange(count)
        has_rows = number < kept
        at = rows_before + row + shift[np.minimum(number, kept)] + has_rows
        self._record(numbers, np.asarray(log.first)[:count], discretes, at, has_rows)
        return merged

    def add(
        self, t: float, first: np.ndarray, discretes: np.ndarray, row: int, passes: int, is_crossing: bool
    ) -> None:
        """An event outside of the loop, whose rows the caller keeps; so many rows come before the one
        after it."""
        numbers = np.array([[t, 0.0, passes, is_crossing]], float)
        self._record(numbers, first[None], discretes[None], np.array([row]), np.ones(1, bool))

    def _record(
        self,
        numbers: np.ndarray,
        first: np.ndarray,
        discretes: np.ndarray,
        rows: np.ndarray,
        has_rows: np.ndarray,
    ) -> None:
        before = np.concatenate([self.now[None], discretes[:-1]])
        triggers, _ = where_different(first, before)
        changes, values = where_different(discretes, before)
        self.now = np.array(discretes[-1])
        t, _, passes, is_crossing = numbers[:, :4].T
        self._parts.append(
            EventRecords(
                t.copy(), rows, is_crossing != 0, passes.astype(int), has_rows, changes, values, triggers
            )
        )


def _merged(rows: Rows, log: EventLog, t: np.ndarray, row: np.ndarray) -> tuple[Rows, np.ndarray]:
    """Rows with those of events between them; and by how many places what follows an event has moved.

    A row that was wanted at the time of an event is the one just before it.
    """
    count, wanted = len(t), rows[0]
    before = np.clip(row - 1, 0, max(0, len(wanted) - 1))
    same = (row > 0) & (wanted[before] == t) if len(wanted) else np.zeros(count, bool)
    keep = np.ones(len(wanted), bool)
    keep[before[same]] = False
    removed = np.concatenate([[0], np.cumsum(~keep)])
    at = row - removed[row]  # among the rows that stay
    merged = []
    sizes = np.stack([np.asarray(log.numbers)[:, 4], np.zeros(len(log.numbers))], axis=1)
    pairs = (t, t), (log.x_left, log.x), (log.xdot_left, log.xdot), (sizes, np.zeros((count, 2)))
    for part, (left, right) in zip(rows, pairs, strict=True):
        both = np.stack([np.asarray(left)[:count], np.asarray(right)[:count]], axis=1)
        merged.append(
            np.insert(part[keep], np.repeat(at, 2), both.reshape(2 * count, *part.shape[1:]), axis=0)
        )
    shift = np.concatenate([2 * np.arange(count) - removed[row], [0]])
    shift[-1] = 2 * count - (removed[row[-1]] if count else 0)
    t_rows, x_rows, xdot_rows, steps = merged
    return (t_rows, x_rows, xdot_rows, steps), shift

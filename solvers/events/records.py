"""The events of a run as arrays: those of a chunk are taken together, and each is an object when it is
asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from ..solution import EventRecord

ROWS_AT_ONCE = 4096
"""Rows of output that are filled together."""


@dataclass(frozen=True, eq=False)
class Lists:
    """A list of places for each event: those of event k are places[starts[k] : starts[k + 1]]."""

    starts: np.ndarray
    places: np.ndarray

    def of(self, k: int) -> slice:
        return slice(int(self.starts[k]), int(self.starts[k + 1]))


def where_different(rows: np.ndarray, before: np.ndarray) -> tuple[Lists, np.ndarray]:
    """Places at which rows differ from those before them, and the values there."""
    differ = rows != before
    _, places = np.nonzero(differ)
    return Lists(np.concatenate([[0], np.cumsum(differ.sum(axis=1))]), places), rows[differ]


def joined(parts: Sequence[Lists]) -> Lists:
    """One after the other."""
    counts = [np.diff(part.starts) for part in parts]
    starts = np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, int), *counts]))])
    return Lists(starts, np.concatenate([np.zeros(0, int), *(part.places for part in parts)]))


@dataclass(frozen=True, eq=False)
class EventRecords(Sequence[EventRecord]):
    """Some events, in the order of time. Attributes are those of `EventRecord`, for all of them."""

    times: np.ndarray
    rows: np.ndarray
    are_crossings: np.ndarray
    passes: np.ndarray
    have_rows: np.ndarray
    changes: Lists
    values: np.ndarray
    """Of all changes, one event after the other."""
    triggers: Lists

    def __len__(self) -> int:
        return len(self.times)

    @overload
    def __getitem__(self, k: int) -> EventRecord: ...
    @overload
    def __getitem__(self, k: slice) -> list[EventRecord]: ...
    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[j] for j in range(*k.indices(len(self)))]
        k = range(len(self))[k]
        own = self.changes.of(k)
        return EventRecord(
            float(self.times[k]),
            int(self.rows[k]),
            bool(self.are_crossings[k]),
            int(self.passes[k]),
            self.changes.places[own],
            self.values[own],
            self.triggers.places[self.triggers.of(k)],
            bool(self.have_rows[k]),
        )

    def __iter__(self) -> Iterator[EventRecord]:
        return (self[k] for k in range(len(self)))

    def discrete_rows(self, at_start: np.ndarray, count: int) -> np.ndarray:
        """The discrete values at so many rows of output: of each the last change until there."""
        size = len(at_start)
        values = np.concatenate([at_start, self.values])
        row_of = np.repeat(self.rows, np.diff(self.changes.starts))
        latest, found = np.arange(size), np.empty((count, size))
        for first in range(0, count, ROWS_AT_ONCE):
            block = found[first : first + ROWS_AT_ONCE]
            low, high = np.searchsorted(row_of, [first, first + len(block)])
            number = np.zeros(block.shape, int)
            number[0] = latest
            # Where several changes belong to one row, the last one of them counts.
            number[row_of[low:high] - first, self.changes.places[low:high]] = size + np.arange(low, high)
            number = np.maximum.accumulate(number, axis=0)
            block[:] = values[number]
            latest = number[-1]
        return found


def all_records(parts: Sequence[EventRecords]) -> EventRecords:
    """Those of several chunks, one after the other."""

    def together(name: str, kind: Any) -> np.ndarray:
        return np.concatenate([np.zeros(0, kind), *(getattr(part, name) for part in parts)])

    return EventRecords(
        together("times", float),
        together("rows", int),
        together("are_crossings", bool),
        together("passes", int),
        together("have_rows", bool),
        joined([part.changes for part in parts]),
        together("values", float),
        joined([part.triggers for part in parts]),
    )

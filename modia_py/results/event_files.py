"""The table of events, and which rows were asked for, as variables of a dataset."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .events import Change, Event, EventTable
from .trajectories import Trajectories

EVENT, OUTPUT_ROWS = "event", "output rows"
"""Kinds of variables."""
UNKNOWN = -1
"""In place of a truth value."""
DOCS = {
    "time": "when",
    "kind": "crossing, time, start, end, stop, or follows",
    "condition": "which condition has changed, as written",
    "becomes": "1 true, 0 false, -1 neither",
    "component": "where it is written",
    "line": "file and line",
    "changes": "JSON: lists of name, value before, value after",
}

Entry = tuple[str, tuple[tuple[str, ...], np.ndarray, dict[str, Any]]]


def event_entries(result: Trajectories, unused: Callable[[str], str]) -> Iterator[Entry]:
    """A variable for each column; and the rows of output that were asked for, unless these are all."""
    if len(result.events):
        axis = unused("event")
        for name, values in _columns(result.events).items():
            attributes = {"kind": EVENT, "column": name, "long_name": DOCS[name]}
            yield unused(f"event_{name}"), ((axis,), values, attributes)
    if not np.array_equal(result.output_rows, np.arange(len(result.time))):
        attributes = {"kind": OUTPUT_ROWS, "long_name": "rows at the times that were asked for"}
        yield unused("output_rows"), ((unused("output"),), result.output_rows, attributes)


def loaded_events(read: Callable[[str], np.ndarray]) -> EventTable:
    """The table, from its columns; `read` gives one."""
    columns = {name: read(name).tolist() for name in DOCS}
    rows = zip(*columns.values(), strict=True)
    return EventTable([_event(*row) for row in rows])


def _event(
    time: float, kind: str, condition: str, becomes: int, component: str, line: str, text: str
) -> Event:
    truth = None if becomes == UNKNOWN else becomes == 1
    changes = tuple(Change(*values) for values in json.loads(text))
    return Event(time, kind, condition, truth, component, line, changes)


def _columns(events: EventTable) -> dict[str, np.ndarray]:
    becomes = [UNKNOWN if truth is None else int(truth) for truth in events.becomes]
    texts = [json.dumps([[c.name, c.before, c.after] for c in changes]) for changes in events.changes]
    found: dict[str, np.ndarray] = {name: getattr(events, name) for name in DOCS}
    return {**found, "becomes": np.array(becomes, np.int8), "changes": np.array(texts, object)}

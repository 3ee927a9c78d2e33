"""Discrete values at rows of output, filled from the changes at all events at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modia_py.solvers.events import records
from modia_py.solvers.events.records import EventRecords, Lists


def one_after_the_other(found: EventRecords, at_start: np.ndarray, count: int) -> np.ndarray:
    rows = np.tile(at_start, (count, 1))
    for event in found:
        rows[event.row :, event.places] = event.values
    return rows


@pytest.mark.parametrize("at_once", [2, 7, 4096])
@given(data=st.data())
def test_the_last_change_until_a_row_counts(at_once, data):
    size, count = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 15))
    rows = np.array(sorted(data.draw(st.lists(st.integers(0, count - 1), max_size=12))), int)
    changed = [data.draw(st.sets(st.integers(0, size - 1))) for _ in rows]
    places = np.array([place for own in changed for place in sorted(own)], int)
    starts = np.cumsum([0, *map(len, changed)])
    nothing = np.zeros(len(rows), int)
    found = EventRecords(
        times=rows.astype(float),
        rows=rows,
        are_crossings=nothing,
        passes=nothing,
        have_rows=np.ones(len(rows), bool),
        changes=Lists(starts, places),
        values=100.0 + np.arange(len(places)),
        triggers=Lists(np.zeros(len(rows) + 1, int), nothing),
    )
    at_start = np.arange(float(size))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "ROWS_AT_ONCE", at_once)
        np.testing.assert_array_equal(
            found.discrete_rows(at_start, count), one_after_the_other(found, at_start, count)
        )

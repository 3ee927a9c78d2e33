"""Intervals of places, one after the other, without writing the places out.

Vectors may be long, but their segments are few: index arithmetic on intervals does not grow with the
length of vectors.
"""

from __future__ import annotations

import numpy as np

from ..arrays.indices import ranges
from ..arrays.structure import Integers
from ..expressions.indexing import Positions, arithmetic_runs, from_array

MOST_RUNS = 8  # more slices than this cost more than a gather


def interval_runs(starts: Integers, lengths: Integers) -> tuple[Positions, ...]:
    """start, start + 1, ... for each, as a few slices, or as integers where there are many."""
    starts, lengths = starts[lengths > 0], lengths[lengths > 0]
    if not len(starts):
        return (Positions((0,), 0, (1,)),)
    cuts = np.flatnonzero(starts[1:] != starts[:-1] + lengths[:-1]) + 1
    if len(cuts) < MOST_RUNS:
        first = np.append(0, cuts)
        total = np.add.reduceat(lengths, first)
        return tuple(
            Positions((count,), start, (1,))
            for start, count in zip(starts[first].tolist(), total.tolist(), strict=True)
        )
    return (from_array(ranges(starts, lengths)),)


def position_runs(positions: Integers) -> tuple[Positions, ...]:
    """Positions as a few slices where possible."""
    whole = from_array(positions)
    if whole.is_affine:
        return (whole,)
    rows = positions.reshape(len(positions), -1)
    if (rows == rows[:, :1] + np.arange(rows.shape[1])).all():
        runs = arithmetic_runs(rows[:, 0], MOST_RUNS)
        if runs is not None:
            width = rows.shape[1]
            return tuple(Positions((count, width), start, (step, 1)) for start, step, count in runs)
    runs = arithmetic_runs(positions.reshape(-1), MOST_RUNS)
    if runs is not None:
        return tuple(Positions((count,), start, (step,)) for start, step, count in runs)
    return (whole,)

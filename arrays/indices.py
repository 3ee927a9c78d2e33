"""Index arithmetic on intervals and groups, without a loop over their members."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def offsets(lengths: NDArray) -> Ints:
    """Where each piece starts when pieces of these lengths follow each other, and where the last ends."""
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


def starts_of(lengths: NDArray) -> Ints:
    """Where each piece starts when pieces of these lengths follow each other."""
    return np.cumsum(lengths) - lengths


def ranges(starts: NDArray, lengths: NDArray) -> Ints:
    """start, start + 1, ... for each, one after the other."""
    first = np.repeat(starts - starts_of(lengths), lengths)
    return first + np.arange(lengths.sum())


def grouped(numbers: NDArray) -> list[Ints]:
    """The places of each number that occurs, from the smallest number to the largest."""
    order = np.argsort(numbers, kind="stable")
    cuts = np.flatnonzero(np.diff(numbers[order])) + 1
    return np.split(order, cuts) if len(order) else []


def equal_columns(keys: NDArray) -> list[Ints]:
    """The places of columns that are equal, in order of first occurrence."""
    if not keys.shape[1]:
        return []
    _, first, group = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    by_group = grouped(group.reshape(-1))
    return [by_group[number] for number in np.argsort(first, kind="stable").tolist()]

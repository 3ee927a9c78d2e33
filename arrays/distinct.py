"""Sets of whole numbers as sorted arrays: distinct values, differences.

By sorting. `np.unique` without further results looks values up in a table of hashes, which takes a hundred
times as long where a million of them are all different (numpy 2.3 and later), and `np.setdiff1d` calls it.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def distinct(values: Any) -> np.ndarray:
    """The values in order, each of them once.

    >>> distinct([3, 1, 3]).tolist()
    [1, 3]
    """
    ordered = np.sort(np.asarray(values), axis=None)
    is_first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


def without(values: Any, others: Any) -> np.ndarray:
    """The distinct values that are not among the others.

    >>> without([3, 1, 2, 3], [2]).tolist()
    [1, 3]
    """
    own = distinct(values)
    return own[np.isin(own, np.asarray(others), invert=True)]

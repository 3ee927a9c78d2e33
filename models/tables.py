"""Characteristic curves given as tables."""

from __future__ import annotations

from typing import Any

import numpy as np


def interpolate(table: Any, x: Any) -> Any:
    """The value at x of a table of rows (x, y): linear in between, the first and last segment continued.

    A table of one row is a constant.
    """
    at, value = table[:, 0], table[:, 1]
    if table.shape[0] == 1:
        return value[0]
    first = (value[1] - value[0]) / (at[1] - at[0])
    last = (value[-1] - value[-2]) / (at[-1] - at[-2])
    inside = np.interp(x, at, value)
    return inside + first * np.minimum(x - at[0], 0.0) + last * np.maximum(x - at[-1], 0.0)

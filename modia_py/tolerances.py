"""Absolute tolerances: one number, or numbers by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .arrays.structure import NONE
from .errors import ModelError
from .flat_model import FlatModel
from .program import Program
from .start_values import resolve_variable, spread

ATOL = 1e-3
"""Absolute tolerance, compared with the relative one, if it is not given."""


def absolute_tolerance(flat: FlatModel, program: Program, atol: Any, rtol: float) -> Any:
    """One number, or one for each element of x.

    Variables that are computed from others have no tolerance of their own: theirs has no effect.
    """
    if atol is None:
        return ATOL * rtol
    if not isinstance(atol, Mapping):
        return float(_positive("atol", atol, ()))
    found = np.full(program.functions.size, ATOL * rtol)
    where = program.functions.value_map.place
    for name, value in atol.items():
        symbol, order = resolve_variable(flat, name)
        values = _positive(f"atol of {name}", spread(f"atol of {name}", value, symbol.shape), symbol.shape)
        if order >= len(where):
            continue
        place = where[order][symbol.offset : symbol.offset + symbol.size]
        target = np.where(place == NONE, -1, program.layout.x_of_place[place])
        found[target[target >= 0]] = values.ravel()[target >= 0]
    return found


def _positive(what: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    try:
        number = np.broadcast_to(np.asarray(value, float), shape)
    except (TypeError, ValueError):
        raise ModelError(
            f"{what} must be a number, or a dictionary of numbers by name, not {value!r}."
        ) from None
    if not (np.all(np.isfinite(number)) and np.all(number > 0)):
        raise ModelError(f"{what} must be positive and finite, not {value!r}.")
    return number

"""Tables of inputs: polynomials between their points, computed by scipy.

They can be differentiated: index reduction may need derivatives of inputs. A table knows where it jumps or
bends. Its points and coefficients are data: other values compile nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..errors import ModelError
from ..language.flat_model import FlatSymbol

INTERPOLATIONS = ("linear", "previous", "cubic", "akima")
SHORTEST_STEPS = 1e-5
"""Of the interval: two points that happen to be close together must not make all steps as short."""


@dataclass(frozen=True, eq=False)
class Table:
    """Polynomials from point to point; at each of `breaks` the derivative of an `order` jumps (0: the
    table itself). Where a time stands twice, the table jumps.

    Between smooth tables' points steps should not be longer than `longest_step`.
    """

    knots: np.ndarray
    polynomials: np.ndarray
    interpolation: str
    breaks: np.ndarray
    order: np.ndarray
    longest_step: float


def make_table(entry: FlatSymbol, given: Any, start: float, stop: float) -> Table:
    """The table of an input, checked."""
    interpolation = given[2] if len(given) == 3 else "linear"
    if interpolation not in INTERPOLATIONS:
        raise ModelError(
            f"The table of the input {entry.name} has the interpolation {interpolation!r}. "
            f"There are: {', '.join(INTERPOLATIONS)}."
        )
    try:
        knots, values = np.asarray(given[0], float), np.asarray(given[1], float)
    except (TypeError, ValueError):
        raise ModelError(f"The table of the input {entry.name} is not made of numbers.") from None
    if not (np.all(np.isfinite(knots)) and np.all(np.isfinite(values))):
        raise ModelError(f"The table of the input {entry.name} contains a value that is not finite.")
    steps = np.diff(knots)
    if len(knots) < 2 or np.any(steps < 0):
        back = f": after {knots[np.argmin(steps)]:g} stands {knots[np.argmin(steps) + 1]:g}"
        raise ModelError(
            f"The times in the table of the input {entry.name} must increase, and be two at "
            f"least{back if len(knots) > 1 else ''}. A time that stands twice is a jump."
        )
    if np.any((steps[1:] == 0) & (steps[:-1] == 0)):
        thrice = knots[1:-1][(steps[1:] == 0) & (steps[:-1] == 0)][0]
        raise ModelError(
            f"The time {thrice:g} stands three times in the table of the input {entry.name}: twice is a "
            f"jump, from the first value to the second."
        )
    if values.shape not in ((len(knots),), (len(knots), *entry.shape)):
        raise ModelError(
            f"The table of the input {entry.name} has {len(knots)} times and values of shape "
            f"{values.shape}, expected {(len(knots), *entry.shape)}."
        )
    if knots[0] > start or (knots[-1] < stop and interpolation != "previous"):
        raise ModelError(
            f"The table of the input {entry.name} goes from {knots[0]:g} to {knots[-1]:g}, the simulation "
            f"from {start:g} to {stop:g}. Nothing is extrapolated."
        )
    values = values.reshape(len(knots), *(1,) * (len(entry.shape) + 1 - values.ndim), *values.shape[1:])
    polynomials = polynomials_of(knots, values, interpolation)
    longest = np.inf
    jumps, bends = np.zeros(0), np.zeros(0)
    if interpolation == "previous":
        jumps = knots[1:][_changes(polynomials)]
    else:
        twice = np.flatnonzero(steps == 0)
        is_jump = _differ(values[twice], values[twice + 1])
        jumps, bends = knots[twice[is_jump]], knots[twice[~is_jump]]
        if interpolation == "linear":
            pieces = np.append(steps > 0, False)  # those with a length
            bends = knots[pieces][1:][_changes(polynomials[pieces, 0])]
            bends = np.setdiff1d(bends, jumps)
        else:
            distances = np.diff(knots[max(0, np.searchsorted(knots, start, "right") - 1) :])
            longest = float(max(distances[distances > 0].min(), SHORTEST_STEPS * (stop - start)))
    breaks, order = np.append(jumps, bends), np.repeat([0, 1], [len(jumps), len(bends)])
    return Table(knots, polynomials, interpolation, breaks, order, longest)


def as_table(given: Any) -> Any:
    """A Series or a DataFrame of pandas as (times, values), times being its index; else what is given."""
    if not hasattr(given, "to_numpy") or not hasattr(given, "index") or callable(given.index):
        return given
    index = given.index
    if hasattr(index, "total_seconds"):
        index = index.total_seconds()
    elif getattr(index.dtype, "kind", "") == "M":
        raise ModelError(
            "The index of a table of pandas holds dates: give seconds, such as "
            "series.index = (series.index - series.index[0]).total_seconds()."
        )
    return np.asarray(index), np.asarray(given)


def _differ(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    return np.any((before != after).reshape(len(before), before[0].size if len(before) else 0), axis=1)


def _changes(rows: np.ndarray) -> np.ndarray:
    """Whether each row differs from the one before it."""
    return np.any(np.diff(rows, axis=0).reshape(len(rows) - 1, rows[0].size) != 0, axis=1)


def table_value(t: Any, knots: Any, polynomials: Any) -> Any:
    """The value of a table; at a point, that of the piece which begins there."""
    knots, polynomials = jnp.asarray(knots), jnp.asarray(polynomials)
    piece = jnp.clip(jnp.searchsorted(knots, t, side="right") - 1, 0, len(knots) - 1)
    return _horner(polynomials[piece], t - knots[piece])


def polynomials_of(knots: np.ndarray, values: np.ndarray, interpolation: str) -> np.ndarray:
    """Coefficients of each piece, highest power first; the last piece begins at the last point.

    Between times that stand twice the parts have nothing to do with each other.
    """
    if interpolation == "previous":
        return values[:, None]
    ends = np.flatnonzero(np.diff(knots) == 0) + 1
    if len(ends):
        parts = zip(np.split(knots, ends), np.split(values, ends), strict=True)
        found = [polynomials_of(*part, interpolation) for part in parts]
        most = max(part.shape[1] for part in found)
        pad = [[(0, 0), (most - p.shape[1], 0), *[(0, 0)] * (values.ndim - 1)] for p in found]
        return np.concatenate([np.pad(p, width) for p, width in zip(found, pad, strict=True)])
    if len(knots) == 1:
        return values[:, None]
    if interpolation == "linear":
        slopes = np.diff(values, axis=0) / np.diff(knots).reshape(-1, *(1,) * (values.ndim - 1))
        pieces = np.stack([slopes, values[:-1]], axis=1)
    else:
        from scipy.interpolate import (
            Akima1DInterpolator,
            CubicSpline,
        )  # takes long to import, and not every run needs it

        kind = CubicSpline if interpolation == "cubic" else Akima1DInterpolator
        pieces = np.moveaxis(kind(knots, values, axis=0).c, 1, 0)
    last = pieces[-1:].copy()  # goes on as the piece before it: the end of the table is no kink
    for power in range(last.shape[1]):
        last[0, -1 - power] = _shifted(pieces[-1], knots[-1] - knots[-2], power)
    return np.concatenate([pieces, last])


def _shifted(piece: np.ndarray, by: float, power: int) -> np.ndarray:
    """A coefficient of p(x + by): its derivative of that order at `by`, over the factorial."""
    total = np.zeros_like(piece[0])
    degree = len(piece) - 1
    for k in range(power, degree + 1):
        choose = float(np.prod([(k - j) / (j + 1) for j in range(power)]))
        total = total + choose * piece[degree - k] * by ** (k - power)
    return total


def _horner(coefficients: Any, x: Any) -> Any:
    value = coefficients[0]
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value

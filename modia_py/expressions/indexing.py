"""Static indices, and where the elements they select lie in a flat vector.

`Index` is a hashable form of what stands between the brackets of `x[...]`. `Positions` are the places
of a selection in a flat vector: an affine map (offset and strides) wherever the selection is regular,
so that a slice of 10^6 elements costs a few integers, and explicit integers otherwise.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .array_interface import PLAIN_SIZES, ArrayInterface

Shape = tuple[int, ...]


class Index:
    """What stands between the brackets: integers, slices, None, and integer arrays."""

    __slots__ = ("items", "key")

    def __init__(self, items: tuple[Any, ...]):
        self.items = items
        self.key = tuple(_item_key(item) for item in items)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Index) and self.key == other.key

    def __str__(self) -> str:
        return ", ".join(_item_text(item) for item in self.items)

    __repr__ = __str__


def _item_key(item: Any) -> Any:
    if isinstance(item, slice):
        return ("slice", item.start, item.stop, item.step)
    if isinstance(item, np.ndarray):
        return ("array", item.shape, item.tobytes())
    return item


def _item_text(item: Any) -> str:
    if isinstance(item, slice):
        bounds = [("" if bound is None else str(bound)) for bound in (item.start, item.stop)]
        return ":".join(bounds) + ("" if item.step is None else f":{item.step}")
    if isinstance(item, np.ndarray):
        if item.size <= 6:
            return str(item.tolist())
        return f"[{', '.join(map(str, item.ravel()[:3].tolist()))}, ...]"
    return str(item)


def make_index(raw: Any, shape: Shape) -> tuple[Index, Shape]:
    """The normal form of an index of an array of this shape, and the shape of what it selects.

    Raises IndexError or TypeError as numpy does: JAX would clamp an index that is out of bounds.
    """
    items = [_normal_item(item) for item in (raw if isinstance(raw, tuple) else (raw,))]
    selected = np.broadcast_to(np.zeros((), bool), shape)[tuple(items)]
    axes = [0 if item is None else item.ndim if _is_mask(item) else 1 for item in items]
    normal: list[Any] = []
    for item in items:
        if item is Ellipsis:
            normal.extend([slice(None)] * (len(shape) - sum(axes) + 1))
        elif _is_mask(item):
            normal.extend(np.nonzero(item))
        else:
            normal.append(item)
    return Index(tuple(normal)), selected.shape


def _is_mask(item: Any) -> bool:
    return isinstance(item, np.ndarray) and item.dtype == bool


def _normal_item(item: Any) -> Any:
    if isinstance(item, (list, np.ndarray)):
        array = np.asarray(item)
        if array.size == 0:
            return array.astype(np.int64)
        if array.dtype != bool and not np.issubdtype(array.dtype, np.integer):
            raise TypeError(f"an index must be of integers, not {array.dtype}")
        return array if array.dtype == bool else array.astype(np.int64)
    if isinstance(item, slice):
        bounds = (item.start, item.stop, item.step)
        return slice(*(None if bound is None else int(bound) for bound in bounds))
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        return int(item)
    if item is None or item is Ellipsis:
        return item
    if isinstance(item, ArrayInterface):
        is_condition = getattr(item, "dtype", "") == "bool"
        raise TypeError(
            f"`{item}` is not known before the run. "
            + (
                "Choose by value: np.where(condition, a, b), or where(...)."
                if is_condition
                else PLAIN_SIZES
            )
        )
    raise TypeError(f"an index must be of integers, slices or integer arrays, not {item!r}")


@dataclass(frozen=True)
class Positions:
    """Places in a flat vector: `offset + strides . i`, or the integers `explicit`."""

    shape: Shape
    offset: int = 0
    strides: Shape = ()
    explicit: np.ndarray | None = None

    @property
    def is_affine(self) -> bool:
        return self.explicit is None

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def to_array(self) -> np.ndarray:
        """The places as integers."""
        if self.explicit is not None:
            return self.explicit
        return affine_array(self.offset, self.shape, self.strides)

    def shifted(self, by: int) -> Positions:
        if self.explicit is not None:
            return Positions(self.shape, explicit=self.explicit + by)
        return Positions(self.shape, self.offset + by, self.strides)

    def select(self, index: Index) -> Positions:
        """The places of `x[index]`, where these are the places of x."""
        if self.explicit is not None or any(isinstance(item, np.ndarray) for item in index.items):
            selected = self.to_array()[index.items]
            return from_array(np.asarray(selected))
        offset, shape, strides = self.offset, [], []
        axis = 0
        for item in index.items:
            if item is None:
                shape.append(1)
                strides.append(0)
                continue
            places = range(self.shape[axis])
            if isinstance(item, int):
                offset += places[item] * self.strides[axis]
            else:
                chosen = places[item]
                offset += chosen.start * self.strides[axis] if chosen else 0
                shape.append(len(chosen))
                strides.append(chosen.step * self.strides[axis])
            axis += 1
        shape.extend(self.shape[axis:])
        strides.extend(self.strides[axis:])
        return Positions(tuple(shape), offset, tuple(strides))

    def reshape(self, shape: Shape) -> Positions:
        if self.is_affine and self.strides == c_strides(self.shape):
            return Positions(shape, self.offset, c_strides(shape))
        return from_array(self.to_array().reshape(shape))


def share_elements(a: Positions, b: Positions) -> bool:
    """Whether two selections have an element in common. Regular ones are compared without listing them."""
    if a.size == 0 or b.size == 0:
        return False
    (low_a, high_a), (low_b, high_b) = _bounds(a), _bounds(b)
    if high_a < low_b or high_b < low_a:
        return False
    if _is_dense(a) and _is_dense(b):
        return True
    return bool(np.intersect1d(a.to_array(), b.to_array()).size)


def meet_in_a_row(a: Positions, b: Positions) -> bool:
    """Whether two selections of equal shape have the same element at the same place."""
    if a.is_affine and b.is_affine and a.strides == b.strides:
        return a.offset == b.offset and a.size > 0
    return bool((a.to_array() == b.to_array()).any())


def _bounds(positions: Positions) -> tuple[int, int]:
    if positions.explicit is not None:
        return int(positions.explicit.min()), int(positions.explicit.max())
    reach = [s * (n - 1) for s, n in zip(positions.strides, positions.shape, strict=True)]
    low, high = (sum(bound(r, 0) for r in reach) for bound in (min, max))
    return positions.offset + low, positions.offset + high


def _is_dense(positions: Positions) -> bool:
    """Whether a regular selection certainly has all elements between its first and its last."""
    low, high = _bounds(positions)
    strides = [abs(s) for s, n in zip(positions.strides, positions.shape, strict=True) if n > 1]
    ordered = all(inner < outer for outer, inner in itertools.pairwise(strides))
    return positions.is_affine and ordered and high - low + 1 == positions.size


def c_strides(shape: Shape) -> Shape:
    """Strides, in elements, of an array stored row by row."""
    strides = [1]
    for length in reversed(shape[1:]):
        strides.append(strides[-1] * length)
    return tuple(reversed(strides)) if shape else ()


def contiguous(shape: Shape, offset: int = 0) -> Positions:
    """All of an array that begins at `offset`."""
    return Positions(shape, offset, c_strides(shape))


def affine_array(offset: int, shape: Shape, strides: Shape) -> np.ndarray:
    places = np.full(shape, offset, dtype=np.int64)
    for axis, (length, stride) in enumerate(zip(shape, strides, strict=True)):
        trailing = (1,) * (len(shape) - axis - 1)
        places += (stride * np.arange(length)).reshape(-1, *trailing)
    return places


def from_array(places: np.ndarray) -> Positions:
    """Positions from integers, recognised as affine where they are."""
    if places.size == 0:
        return Positions(places.shape, 0, (0,) * places.ndim)
    strides = []
    for axis in range(places.ndim):
        first = [0] * places.ndim
        second = list(first)
        second[axis] = min(1, places.shape[axis] - 1)
        strides.append(int(places[tuple(second)] - places[tuple(first)]))
    offset = int(places[(0,) * places.ndim])
    if np.array_equal(affine_array(offset, places.shape, tuple(strides)), places):
        return Positions(places.shape, offset, tuple(strides))
    return Positions(places.shape, explicit=places)


def arithmetic_runs(numbers: np.ndarray, most: int) -> list[tuple[int, int, int]] | None:
    """A sequence of integers as arithmetic progressions (first, step, count); None if over `most`.

    >>> arithmetic_runs(np.array([7, 0, 2, 4, 6]), 8)
    [(7, 0, 1), (0, 2, 4)]
    """
    steps = np.diff(numbers)
    runs: list[tuple[int, int, int]] = []
    start = 0
    while start < len(numbers):
        if len(runs) == most:
            return None
        step = int(steps[start]) if start < len(steps) else 0
        breaks = np.flatnonzero(steps[start:] != step)
        count = (int(breaks[0]) if len(breaks) else len(numbers) - 1 - start) + 1
        if count == 2 and start + 2 < len(numbers):
            count, step = 1, 0  # a jump into the next progression
        runs.append((int(numbers[start]), step, count))
        start += count
    return runs

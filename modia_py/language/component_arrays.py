"""Component arrays: one component that stands for many, seen through an index on each array axis.

`self.r` is the whole array, `self.r[1:]` a part, `self.sub.r[0]` one r of every sub: always the same
component, with leading axes and what is selected of each. Attributes are expressions (or further
views) with those axes; nothing is ever copied or unrolled.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import ModelError
from ..expressions.expression import Expr, Leaf, leaf
from ..expressions.indexing import Shape
from ..expressions.symbol_kinds import SymbolKind
from ..source import user_source

AxisIndex = range | int | np.ndarray


class ComponentArray:
    """A component with leading axes, and what is selected of each."""

    __slots__ = ("_component", "_index", "_lead")

    def __init__(self, component: Any, lead: Shape, index: tuple[AxisIndex, ...]):
        object.__setattr__(self, "_component", component)
        object.__setattr__(self, "_lead", lead)
        object.__setattr__(self, "_index", index)

    @property
    def _shape(self) -> Shape:
        """The lengths of the axes that are not reduced to one copy."""
        return tuple(len(axis) for axis in self._index if not isinstance(axis, int))

    def __len__(self) -> int:
        if isinstance(self._index[-1], int):
            raise TypeError(f"{self} is one component and has no length")
        return len(self._index[-1])

    def __iter__(self) -> Iterator[ComponentArray]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, key: Any) -> ComponentArray:
        axis = self._index[-1]
        if isinstance(axis, int):
            raise ModelError(f"{self} is one component and cannot be indexed ({user_source()}).")
        try:
            if isinstance(key, (list, np.ndarray)):
                chosen: Any = np.asarray(axis)[np.asarray(key)]
                if chosen.ndim != 1:
                    raise IndexError("an index list has one dimension")
            else:
                chosen = axis[slice(None) if key is Ellipsis else key]
        except (IndexError, TypeError) as error:
            why = f"they are numbered 0 to {len(axis) - 1}" if isinstance(key, int) else str(error)
            raise ModelError(
                f"{self} has {len(axis)} copies; [{key}] does not select any ({user_source()}): {why}."
            ) from None
        if isinstance(chosen, np.integer):
            chosen = int(chosen)
        return ComponentArray(self._component, self._lead, (*self._index[:-1], chosen))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self._component, name)
        if isinstance(value, (list, tuple)):
            return type(value)(self._lift(member, name) for member in value)
        return self._lift(value, name)

    def _lift(self, value: Any, name: str) -> Any:
        """An attribute of the one component, as seen on all copies."""
        if isinstance(value, ComponentArray):
            return ComponentArray(value._component, self._lead + value._lead, self._index + value._index)
        if isinstance(value, Leaf) and value.order == 0 and value.kind is not SymbolKind.TIME:
            return select(leaf(value.symbol, self._lead + value.lead), self._lead, self._index)
        if hasattr(value, "_segments"):
            return ComponentArray(value, self._lead, self._index)
        if isinstance(value, Expr) or callable(value):
            raise ModelError(
                f"{self}.{name} cannot be used on a component array ({user_source()}): it is computed for "
                f"one component. Declare a Var for it and give its equation inside "
                f"{type(self._component).__name__}."
            )
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        raise ModelError(
            f"{self}.{name} cannot be assigned ({user_source()}). Values for single copies are given as "
            f"arrays: {type(self._component).__name__}.array(n, {name}=[...])."
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        raise ModelError(
            f"{self}[{key}] cannot be assigned ({user_source()}). An equation is written with ==; values "
            f"for single copies are given by name, such as '{self}[{key}].R', when the model is made or "
            f"simulated."
        )

    def __str__(self) -> str:
        shown = len(self._lead)
        text: list[str] = []
        for name, is_array in reversed(self._component._segments()):
            if is_array and shown > 0:
                shown -= 1
                name += _axis_text(self._index[shown], self._lead[shown])
            text.append(name)
        return ".".join(reversed(text)) or f"{type(self._component).__name__}.array{self._lead}"

    __repr__ = __str__


def _axis_text(axis: AxisIndex, length: int) -> str:
    if isinstance(axis, int):
        return f"[{axis}]"
    if isinstance(axis, range):
        if axis == range(length):
            return ""
        step = "" if axis.step == 1 else f":{axis.step}"
        return f"[{axis.start}:{axis.stop}{step}]"
    return str(axis.tolist()) if len(axis) <= 6 else f"[{axis[0]}, {axis[1]}, ...]"


def _axis_slice(axis: AxisIndex, length: int) -> Any:
    if isinstance(axis, int):
        return axis
    if isinstance(axis, np.ndarray) or axis == range(length):
        return slice(None)
    if not axis:
        return slice(0, 0)
    stop = axis.stop if axis.stop >= 0 else None  # a descending range may end before zero
    if stop == length:
        stop = None
    return slice(axis.start or None, stop, None) if axis.step == 1 else slice(axis.start, stop, axis.step)


def select(expr: Expr, lead: Shape, index: tuple[AxisIndex, ...]) -> Expr:
    """An expression with leading axes, indexed on each of them by itself (not numpy's zipped way)."""
    items = [_axis_slice(axis, length) for axis, length in zip(index, lead, strict=True)]
    if any(item != slice(None) for item in items):
        expr = expr[tuple(items)]
    place = 0
    for axis in index:
        if isinstance(axis, np.ndarray):
            expr = expr[(slice(None),) * place + (axis,)]
        place += not isinstance(axis, int)
    return expr

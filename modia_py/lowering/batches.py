"""Batches: all uses of one template, evaluated by one vmapped call on gathered values.

A use is an expression of a component, for all copies of that component. The values of a slot over all
uses are selected from a flat vector, by a slice wherever they lie regularly, which the layout of the
flat model makes the common case.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..expressions.expression import Constant, Expr, Leaf
from ..expressions.indexing import Positions, Shape, affine_array, arithmetic_runs, c_strides, from_array
from ..expressions.lanes import calls_lapack, lanes
from ..expressions.templates import Pick, Slot, Template, evaluate, make_template

MOST_RUNS = 8  # more slices than this cost more than a gather


@dataclass(frozen=True)
class Location:
    """Where the values of a leaf lie: vector, first element, and stride of each axis of copies."""

    vector: str
    offset: int
    strides: Shape


@dataclass(frozen=True)
class Use:
    """An expression for each of an array of copies; `locate` finds its leaves."""

    expr: Expr
    lead: Shape
    locate: Callable[[Leaf], Location]

    @property
    def copies(self) -> int:
        return math.prod(self.lead)


@dataclass(frozen=True)
class Source:
    """The values of one slot over all uses of a batch: selected from a vector, or constant.

    The selection is a few regular runs of positions one after the other, or irregular positions.
    """

    vector: str
    shape: Shape
    runs: tuple[Positions, ...] = ()
    constant: np.ndarray | None = None
    shared: bool = False  # the same for all uses: no batch axis

    def values(self, vectors: dict[str, Any]) -> Any:
        if self.vector == "time":
            return vectors["time"]
        if self.constant is not None:
            return jnp.asarray(self.constant)
        parts = [take(vectors[self.vector], run) for run in self.runs]
        return (parts[0] if len(parts) == 1 else jnp.concatenate(parts)).reshape(self.shape)


@dataclass(frozen=True)
class Batch:
    """One template, where its slots come from, and which uses it serves (by number)."""

    root: Expr
    slots: tuple[Slot, ...]
    sources: tuple[Source, ...]
    count: int
    uses: tuple[int, ...]

    def __call__(self, vectors: dict[str, Any]) -> Any:
        """The values for all uses, copy after copy: shape (count, *root.shape)."""
        values = [source.values(vectors) for source in self.sources]

        def one(*arguments: Any) -> Any:
            return evaluate(self.root, self.slots, arguments)

        axes = tuple(None if source.shared else 0 for source in self.sources)
        if self.count == 1:
            values = [v if axis is None else v[0] for v, axis in zip(values, axes, strict=True)]
            return one(*values)[None]
        if all(axis is None for axis in axes):
            return jnp.broadcast_to(one(*values), (self.count, *self.root.shape))
        return lanes(one, axes, calls_lapack([self.root]))(*values)


def make_batches(uses: list[Use]) -> list[Batch]:
    """Group uses by template, in order of first occurrence."""
    templates: dict[int, Template] = {}  # equal components share the expression itself
    groups: dict[int, list[tuple[int, Template]]] = {}
    for number, use in enumerate(uses):
        template = templates.get(id(use.expr))
        if template is None:
            template = templates[id(use.expr)] = make_template(use.expr)
        groups.setdefault(id(template.root), []).append((number, template))
    return [_batch(members, uses) for members in groups.values()]


def _batch(members: list[tuple[int, Template]], uses: list[Use]) -> Batch:
    first = members[0][1]
    sources = tuple(
        _source(slot, [(uses[number], template.picks[slot.place]) for number, template in members])
        for slot in first.slots
    )
    numbers = tuple(number for number, _ in members)
    count = sum(uses[number].copies for number in numbers)
    return Batch(first.root, first.slots, sources, count, numbers)


def _source(slot: Slot, picks: list[tuple[Use, Pick]]) -> Source:
    if slot.kind == "time":
        return Source("time", (), shared=True)
    if slot.kind == "constant":
        return _constant_source(picks)
    blocks = [_rows(use, pick) for use, pick in picks]
    vectors = {vector for vector, _ in blocks}
    assert len(vectors) == 1, "a slot has one kind and order"
    count = sum(use.copies for use, _ in picks)
    forms = [[piece.positions for piece in pick.pieces] for _, pick in picks]
    return Source(vectors.pop(), (count, *slot.shape), _runs([rows for _, rows in blocks], forms))


def _constant_source(picks: list[tuple[Use, Pick]]) -> Source:
    keys = {pick.key() for _, pick in picks}
    first = _constant_value(picks[0][1])
    if len(keys) == 1:
        return Source("constant", first.shape, constant=first, shared=True)
    values = [np.broadcast_to(_constant_value(pick), (use.copies, *first.shape)) for use, pick in picks]
    constant = np.concatenate(values)
    return Source("constant", constant.shape, constant=constant)


def _constant_value(pick: Pick) -> np.ndarray:
    values = []
    for piece in pick.pieces:
        assert isinstance(piece.node, Constant)
        values.append(piece.node.value)
    return np.stack(values) if pick.stacked else values[0]


def _rows(use: Use, pick: Pick) -> tuple[str, np.ndarray]:
    """The vector a pick lies in, and where it starts: starts[copy, piece]."""
    found = []
    for piece in pick.pieces:
        assert isinstance(piece.node, Leaf)
        found.append(use.locate(piece.node))
    starts = np.array([[location.offset for location in found]])
    if use.lead:
        moves = [affine_array(0, use.lead, location.strides).reshape(-1) for location in found]
        starts = starts + np.stack(moves, axis=1)
    return found[0].vector, starts


def _runs(starts: list[np.ndarray], forms: list[list[Positions]]) -> tuple[Positions, ...]:
    """Rows of elements as regular runs, if there are few, and else as integers."""
    first = forms[0][0]
    if all(form.is_affine and form.strides == first.strides for row in forms for form in row):
        offsets = [[form.offset for form in row] for row in forms]
        rows = [(start + offset).ravel() for start, offset in zip(starts, offsets, strict=True)]
        runs = arithmetic_runs(np.concatenate(rows), MOST_RUNS)
        if runs is not None:
            return tuple(
                Positions((count, *first.shape), offset, (step, *first.strides))
                for offset, step, count in runs
            )
    places = [
        start.reshape(*start.shape, *(1,) * len(first.shape)) + np.stack([f.to_array() for f in row])
        for start, row in zip(starts, forms, strict=True)
    ]
    return (from_array(np.concatenate([rows.reshape(-1, *first.shape) for rows in places])),)


# Selecting from a flat vector inside the compiled program.


def take(vector: Any, positions: Positions) -> Any:
    """`vector[positions]`, as a slice where that is possible and without large constants elsewhere."""
    shape, size = positions.shape, positions.size
    if positions.explicit is not None:
        return vector[positions.explicit.astype(np.int32)]
    if size == 0:
        return jnp.zeros(shape)
    strides = tuple(s if n > 1 else None for s, n in zip(positions.strides, shape, strict=True))
    if all(s is None or s == c for s, c in zip(strides, c_strides(shape), strict=True)):
        return lax.slice(vector, (positions.offset,), (positions.offset + size,)).reshape(shape)
    step, inner = _outer_step(strides, shape)
    if step is not None:
        rows = size // inner
        last = positions.offset + (rows - 1) * step + inner
        if inner == 1:
            return lax.slice(vector, (positions.offset,), (last,), (step,)).reshape(shape)
        if positions.offset + rows * step <= vector.shape[0]:
            block = lax.slice(vector, (positions.offset,), (positions.offset + rows * step,))
            return block.reshape(rows, step)[:, :inner].reshape(shape)
    places = jnp.full(shape, positions.offset, jnp.int32)
    for axis, stride in enumerate(positions.strides):
        places = places + stride * lax.broadcasted_iota(jnp.int32, shape, axis)
    return vector[places]


def _outer_step(strides: tuple[int | None, ...], shape: Shape) -> tuple[int | None, int]:
    """Whether rows of contiguous elements follow each other at one positive step: (step, row length)."""
    for split in range(len(shape)):
        inner = shape[split + 1 :]
        row = math.prod(inner)
        outer_strides, inner_strides = strides[: split + 1], strides[split + 1 :]
        if any(s is not None and s != c for s, c in zip(inner_strides, c_strides(inner), strict=True)):
            continue
        own = outer_strides[-1]
        if own is None or own < row:
            continue
        units = tuple(own * c for c in c_strides(shape[: split + 1]))
        if all(s is None or s == u for s, u in zip(outer_strides, units, strict=True)):
            return own, row
    return None, 1

"""Batches: all uses of one template, evaluated by one vmapped call on gathered values.

A use is an expression of a component, for all copies of that component. The values of a placeholder over
all uses are selected from a flat vector, by a slice wherever they lie regularly, which the layout of the
flat model makes the common case.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..expressions.expression import Expr, Leaf
from ..expressions.indexing import Positions, Shape, affine_array, arithmetic_runs, from_array
from ..expressions.symbol_kinds import SymbolKind
from ..expressions.templates import Pick, Placeholder, Template, evaluate, make_template
from ..plan.graph_array import graph_of
from .gathering import GATHERED_TIME, Gathered, evaluate_all, gather_constants
from .intervals import MOST_RUNS


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
class Batch:
    """One template, what stands in its placeholders, and which uses it serves (by number)."""

    root: Expr
    placeholders: tuple[Placeholder, ...]
    gathered: tuple[Gathered, ...]
    count: int
    uses: tuple[int, ...]

    def __call__(self, vectors: dict[str, Any]) -> Any:
        """The values for all uses, copy after copy: shape (count, *root.shape)."""
        if self.count > 1 or graph_of(*vectors.values()) is not None:
            return evaluate_all(self.root, self.placeholders, self.gathered, self.count, vectors)
        values = [each.values(vectors) for each in self.gathered]
        values = [v if each.shared else v[0] for v, each in zip(values, self.gathered, strict=True)]
        return evaluate(self.root, self.placeholders, values)[None]


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
    gathered = tuple(
        _gather(each, [(uses[number], template.picks[each.place]) for number, template in members])
        for each in first.placeholders
    )
    numbers = tuple(number for number, _ in members)
    count = sum(uses[number].copies for number in numbers)
    return Batch(first.root, first.placeholders, gathered, count, numbers)


def _gather(placeholder: Placeholder, picks: list[tuple[Use, Pick]]) -> Gathered:
    if placeholder.kind is SymbolKind.TIME:
        return GATHERED_TIME
    if placeholder.kind is None:
        return gather_constants([(pick, use.copies) for use, pick in picks])
    blocks = [_rows(use, pick) for use, pick in picks]
    vectors = {vector for vector, _ in blocks}
    assert len(vectors) == 1, "a placeholder has one kind and order"
    count = sum(use.copies for use, _ in picks)
    forms = [[piece.positions for piece in pick.pieces] for _, pick in picks]
    return Gathered(vectors.pop(), (count, *placeholder.shape), _runs([rows for _, rows in blocks], forms))


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

"""Expressions of components as functions of the vectors of a run: time, w (values), p (data), u (inputs).

For what is not an equation of the index-1 form: initial equations, relations, actions. Only the elements of
w that are used are read; all copies and all equal components are one evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, assert_never

import numpy as np

from ..arrays.indices import starts_of
from ..arrays.structure import NONE
from ..expressions.expression import Expr, Leaf, leaves_of
from ..expressions.printing import der_text
from ..expressions.symbol_kinds import SymbolKind
from ..language.flat_model import FlatModel, Occurrence
from ..plan.graph_array import concatenate, zeros
from .batches import Batch, Location, Use, make_batches
from .gathering import Gathered, take
from .intervals import interval_runs, position_runs
from .value_map import ValueMap

Evaluate = Callable[[dict[str, Any]], Any]


def flat_expressions(
    flat: FlatModel, values: ValueMap, items: Sequence[tuple[Expr, Occurrence]]
) -> Evaluate:
    """All values of some expressions, item after item, copy after copy, as one vector."""
    uses = [Use(expr, owner.lead, _locator(flat, owner)) for expr, owner in items]
    batches = [_on_values(batch, flat, values) for batch in make_batches(uses)]
    order = np.array([number for batch in batches for number in batch.uses], np.int64)
    sizes = np.array([use.copies * math.prod(use.expr.shape) for use in uses], np.int64)
    starts = np.empty(len(uses), np.int64)
    starts[order] = starts_of(sizes[order])
    back = interval_runs(starts, sizes)

    def evaluate(vectors: dict[str, Any]) -> Any:
        like = vectors["p"]
        found = [batch(vectors).reshape(-1) for batch in batches]
        every = concatenate([zeros(0, like), *found], like)
        return concatenate([take(every, run) for run in back], like)

    return evaluate


def _locator(flat: FlatModel, owner: Occurrence) -> Callable[[Leaf], Location]:
    """Where leaves are; variables by their elements, those of order k after all of lower order."""
    inputs = sum(entry.size for entry in flat.inputs)

    def locate(leaf: Leaf) -> Location:
        symbol = flat.resolve(leaf, owner)
        strides = symbol.copy_strides(leaf, owner.lead)
        match symbol.kind:
            case SymbolKind.PARAMETER | SymbolKind.DISCRETE:
                return Location("p", symbol.offset + flat.shift_in_p(symbol.kind, leaf.order), strides)
            case SymbolKind.INPUT:
                return Location("u", symbol.offset + leaf.order * inputs, strides)
            case SymbolKind.VARIABLE:
                return Location("elements", symbol.offset, strides)
            case SymbolKind.TIME:
                raise AssertionError("the time has no place in a vector")
            case _:
                assert_never(symbol.kind)

    return locate


def _on_values(batch: Batch, flat: FlatModel, values: ValueMap) -> Batch:
    """A batch that reads variables from w."""
    gathered: list[Gathered] = []
    for placeholder, each in zip(batch.placeholders, batch.gathered, strict=True):
        if each.vector == "elements":
            elements = np.concatenate([run.to_array().reshape(-1) for run in each.runs]).reshape(each.shape)
            place, signs = values.used(placeholder.order, elements)
            sign = None if (signs == 1).all() else signs.astype(float)
            each = Gathered("w", each.shape, position_runs(place), sign=sign)
        gathered.append(each)
    return replace(batch, gathered=tuple(gathered))


def unknown_derivative(
    flat: FlatModel, values: ValueMap, expressions: Sequence[Expr], owner: Occurrence
) -> str | None:
    """A derivative in expressions that is not part of the equations of the model; None if there is none."""
    for leaf in leaves_of(*expressions):
        if leaf.kind is not SymbolKind.VARIABLE:
            continue
        symbol = flat.resolve(leaf, owner)
        elements = slice(symbol.offset, symbol.offset + symbol.size)
        if leaf.order >= values.orders or (values.place[leaf.order][elements] == NONE).any():
            return der_text(symbol.name, leaf.order)
    return None

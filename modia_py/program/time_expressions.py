"""Parts of equations that are functions of time: what may jump or bend in them without any state doing so.

`np.where(time > T, ...)`, `np.maximum(0, time - 3)` or `time % P < D*P` depend on the time, parameters,
inputs and constants only. Like inputs they are searched for breaks before a run. The largest such parts are
collected, one for each template; copies with the same parameters are looked at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, assert_never

import jax.numpy as jnp
import numpy as np

from ..arrays.structure import Integers
from ..expressions.abrupt_parts import AbruptPart, abrupt_parts, differentiated_parts
from ..expressions.expression import Constant, Expr
from ..expressions.lanes import calls_lapack, lanes
from ..expressions.printing import clip_text
from ..expressions.symbol_kinds import SymbolKind
from ..expressions.templates import Pick, Placeholder, Template, evaluate, make_template
from ..language.flat_model import FlatEquation, FlatModel
from .signals import Data, Signals

MOST_ROWS = 2**13
"""Parts of one template that differ: with more, some of them tell that there are too many breaks."""


@dataclass(frozen=True, eq=False)
class _Group:
    """All parts with one template. `sources` are constants or places in p or u, by placeholder and part."""

    template: Template
    sources: tuple[Any, ...]
    owners: tuple[tuple[FlatEquation, Expr, int], ...]  # equation, part, copies
    differentiated: int  # how often the user has differentiated these parts

    def owner(self, number: int) -> tuple[FlatEquation, Expr, int]:
        """Where a part stands, and which copy of it this is."""
        for equation, part, copies in self.owners:
            if number < copies:
                return equation, part, number
            number -= copies
        raise IndexError("there is no such part")


class TimeExpressions:
    """All parts of the equations of a model that are functions of time, as one function."""

    def __init__(self, flat: FlatModel, find: Callable[[list[Expr]], list[AbruptPart]] | None = None):
        """Parts that may change abruptly, or those that `find` finds in the sides of an equation."""
        self.flat = flat
        self.inputs = sum(entry.size for entry in flat.inputs)
        self.groups = tuple(_groups(flat, self.inputs, _abrupt if find is None else find))
        placeholders = [each for group in self.groups for each in group.template.placeholders]
        orders = [each.order for each in placeholders if each.kind is SymbolKind.INPUT]
        self.has_inputs = bool(orders)
        self.input_order = max(orders, default=0)

    def rows(self, p: np.ndarray) -> tuple[tuple[tuple[Any, ...], ...], list[Integers]]:
        """For each group the values of its placeholders, without repetition; which part each row is for."""
        data, numbers = [], []
        for group in self.groups:
            values = [
                p[source] if placeholder.kind is SymbolKind.PARAMETER else source
                for placeholder, source in zip(group.template.placeholders, group.sources, strict=True)
            ]
            count = sum(copies for _, _, copies in group.owners)
            table = np.concatenate([np.zeros((count, 0)), *(v.reshape(count, -1) for v in values)], axis=1)
            chosen = np.unique(table, axis=0, return_index=True)[1] if count > 1 else np.zeros(1, np.int64)
            chosen = np.sort(chosen)
            chosen = chosen[:: -(-len(chosen) // MOST_ROWS)]
            # As many rows as a power of two: other parameters compile nothing.
            padding = (1 << max(0, len(chosen) - 1).bit_length()) - len(chosen)
            chosen = np.append(chosen, np.repeat(chosen[-1:], padding))
            data.append(tuple(v[chosen] for v in values))
            numbers.append(chosen)
        return tuple(data), numbers

    def values(self, t: Any, signals: Signals, data: Data, rows: Any) -> Any:
        """All parts at a time, group after group."""
        u: Any = signals.values(t, data, self.input_order) if self.has_inputs else None

        def filled(placeholder: Placeholder, value: Any) -> Any:
            match placeholder.kind:
                case SymbolKind.TIME:
                    return t
                case SymbolKind.INPUT:
                    return u[value]
                case SymbolKind.PARAMETER | None:
                    return value
                case SymbolKind.VARIABLE | SymbolKind.DISCRETE:
                    raise AssertionError("a variable in a function of time")
                case _:
                    assert_never(placeholder.kind)

        parts = []
        for group, own in zip(self.groups, rows, strict=True):

            def one(values: Any, template: Template = group.template) -> Any:
                own = list(map(filled, template.placeholders, values))
                return jnp.asarray(evaluate(template.root, template.placeholders, own), float)

            one_by_one = calls_lapack([group.template.root])
            parts.append(lanes(one, (0,), one_by_one)(own).reshape(-1))
        return jnp.concatenate([jnp.zeros(0), *parts])

    def group_of(self, component: int, numbers: list[Integers]) -> tuple[_Group, int]:
        """The group that a component of `values` belongs to, and the part in it."""
        for group, chosen in zip(self.groups, numbers, strict=True):
            size = math.prod(group.template.root.shape)
            if component < size * len(chosen):
                return group, int(chosen[component // size])
            component -= size * len(chosen)
        raise IndexError("there is no such component")


def _abrupt(sides: list[Expr]) -> list[AbruptPart]:
    return [*abrupt_parts(sides), *differentiated_parts(sides)]


def _groups(
    flat: FlatModel, inputs: int, find: Callable[[list[Expr]], list[AbruptPart]]
) -> Iterator[_Group]:
    parts_of: dict[int, list[AbruptPart]] = {}
    uses: dict[tuple[int, int], list[tuple[FlatEquation, Expr, Template]]] = {}
    for equation in flat.equations:
        own = equation.equation
        if id(own) not in parts_of:
            parts_of[id(own)] = find([own.lhs, own.rhs])
        for part in parts_of[id(own)]:
            template = make_template(part.core)
            key = id(template.root), part.differentiated
            uses.setdefault(key, []).append((equation, part.whole, template))
    for (_, times), members in uses.items():
        first = members[0][2]
        sources = tuple(_source(flat, placeholder, members, inputs) for placeholder in first.placeholders)
        yield _Group(first, sources, tuple((e, part, e.owner.copies) for e, part, _ in members), times)


def _source(flat: FlatModel, placeholder: Placeholder, members: list, inputs: int) -> np.ndarray:
    """What stands in a placeholder, for each copy of each part: constants, or places in p or u."""
    found = []
    for equation, _, template in members:
        pick: Pick = template.picks[placeholder.place]
        copies = equation.owner.copies
        pieces = []
        for piece in pick.pieces:
            if isinstance(piece.node, Constant):
                pieces.append(np.broadcast_to(piece.node.value, (copies, *piece.node.shape)))
            elif placeholder.kind is SymbolKind.TIME:
                pieces.append(np.zeros(copies))
            else:
                symbol = flat.resolve(piece.node, equation.owner)
                starts = symbol.copy_starts(piece.node, equation.owner.lead)
                local = piece.positions.to_array()
                if placeholder.kind is SymbolKind.INPUT:
                    local = local + placeholder.order * inputs
                pieces.append(starts.reshape(-1, *(1,) * local.ndim) + local)
        found.append(np.stack(pieces, axis=1) if pick.stacked else pieces[0])
    return np.concatenate(found)


def part_text(equation: FlatEquation, part: Expr) -> str:
    """A part of an equation, and where it stands."""
    where = f" of {equation.owner.name}" if equation.owner.path else ""
    return f"`{clip_text(part)}` in `{equation}`{where} ({equation.equation.source})"

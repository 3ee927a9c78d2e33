"""The events of a model as functions of the vectors of a run: what crosses zero, and what one pass does.

`vectors["p"]` is [parameters | d | pre d]: d are the discrete values, by the offsets of
`FlatModel.discretes`. All functions are pure, and evaluate all copies of all equal components at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays.indices import starts_of
from ..arrays.structure import Integers
from ..errors import ModelError
from ..expressions.expression import Expr, call, leaf
from ..expressions.indexing import contiguous
from ..expressions.primitives import named
from ..expressions.symbol_kinds import DiscreteRole
from ..expressions.templates import Piece
from ..language.event_order import event_levels, piece_elements
from ..language.event_parts import ActionKind, RelationKind
from ..language.flat_model import FlatModel, Placed
from .flat_expressions import Evaluate, flat_expressions, unknown_derivative
from .value_map import ValueMap


class EventRows:
    """Rows of scalars, some for each part of the events, and where they come from."""

    def __init__(self, flat: FlatModel, entries: Sequence[Placed], pieces: Sequence[Piece]):
        self.entries = entries
        own = [piece_elements(flat, piece, e.owner) for piece, e in zip(pieces, entries, strict=True)]
        self.place: Integers = np.concatenate([np.zeros(0, np.int64), *own])
        """In d, or among the elements of the flat variables."""
        self._sizes = np.array([len(elements) for elements in own], np.int64)
        self._starts = starts_of(self._sizes)
        self._shapes = [piece.positions.shape for piece in pieces]

    def __len__(self) -> int:
        return len(self.place)

    def of(self, values: Sequence[Any]) -> np.ndarray:
        """What is known of each part, for each row."""
        given = np.empty(len(values), object)
        given[:] = list(values)
        return np.repeat(given, self._sizes)

    def entry(self, row: int) -> tuple[Placed, int, tuple[int, ...]]:
        """The part behind a row, the copy of its component, and the element of the part."""
        number = int(np.searchsorted(self._starts, row, side="right")) - 1
        shape = self._shapes[number]
        copy, element = divmod(row - int(self._starts[number]), max(1, math.prod(shape)))
        return self.entries[number], copy, tuple(int(k) for k in np.unravel_index(element, shape))

    def path(self, row: int) -> str:
        """The component, with the copy in each array: `cell[3].valve`; empty for the model itself."""
        entry, copy, _ = self.entry(row)
        index = iter(np.unravel_index(copy, entry.owner.lead) if entry.owner.lead else ())
        return ".".join(f"{name}[{int(next(index))}]" if arr else name for name, arr in entry.owner.path)

    def source(self, row: int) -> str:
        return str(self.entry(row)[0].part.source)

    def text(self, row: int) -> str:
        """What was written, in the component it belongs to."""
        entry, _, index = self.entry(row)
        text = entry.part.text(entry.owner.local_naming)
        return f"({text})[{', '.join(map(str, index))}]" if index else text


class RelationTable(EventRows):
    """One row for each scalar relation that makes events."""

    def __init__(self, flat: FlatModel):
        symbols = [entry.part.symbol for entry in flat.relations]
        super().__init__(flat, flat.relations, [_whole(symbol) for symbol in symbols])
        self.negated = self.of([entry.part.negated for entry in flat.relations]).astype(bool)
        self.kind = self.of([entry.part.kind for entry in flat.relations])

    def rows(self, kind: RelationKind) -> Integers:
        """Of the relations of a kind."""
        return np.flatnonzero([own is kind for own in self.kind])


class ReinitTable(EventRows):
    """One row for each scalar `reinit`: `place` among the variables, `order` of the derivative."""

    def __init__(self, flat: FlatModel, entries: Sequence[Placed]):
        super().__init__(flat, entries, [entry.part.piece for entry in entries])
        self.order = self.of([entry.part.piece.node.order for entry in entries]).astype(np.int64)

    def text(self, row: int) -> str:
        entry, _, _ = self.entry(row)
        return entry.part.text(entry.owner.local_naming)


@dataclass(frozen=True, eq=False)
class Level:
    """Discrete values that are set at the same time: new values, and their places in d."""

    values: Evaluate
    places: Integers


@dataclass(frozen=True, eq=False)
class EventFunctions:
    """Functions of vectors {"time", "w", "p", "u"}; places are in d.

    `z` and `scale` have a row for each scalar relation (`relations`), which holds where z > 0 (negated:
    where not). `left` are the left limits to be put at `left_places`. `period` and `offset` belong to the
    samples at `sample_places`. `reinit_values` and `reinit_fires` (one or zero) have the rows of `reinits`,
    in the order of the text: where two rows fire for one element, the later counts. `terminations` are the
    reasons by place.
    """

    parameter_size: int
    discrete_size: int
    relations: RelationTable
    z: Evaluate
    scale: Evaluate
    left: Evaluate
    left_places: Integers
    samples: EventRows
    period: Evaluate
    offset: Evaluate
    delay: Evaluate
    levels: tuple[Level, ...]
    reinits: ReinitTable
    reinit_values: Evaluate
    reinit_fires: Evaluate
    initial_places: Integers
    terminal_places: Integers
    condition_places: Integers
    terminations: dict[int, str]

    @property
    def sample_places(self) -> Integers:
        return self.samples.place

    def declared(self, p: Any) -> Any:
        """The discrete values in a vector p."""
        return p[self.parameter_size : self.parameter_size + self.discrete_size]

    def with_discrete(self, p: Any, d: Any, before: Any) -> Any:
        """A vector p with other discrete values now, and before the event."""
        p = p.at[self.parameter_size : self.parameter_size + self.discrete_size].set(d)
        return p.at[self.parameter_size + self.discrete_size :].set(before)

    def assign(self, vectors: dict[str, Any]) -> Any:
        """p after all conditions and assignments of one pass; w is held, `pre` is as given."""
        p = vectors["p"]
        for level in self.levels:
            new = level.values({**vectors, "p": p})
            p = p.at[self.parameter_size + level.places].set(new)
        return p

    def reinit(self, vectors: dict[str, Any]) -> tuple[Any, Any]:
        """The new values of the rows of `reinits`, and which of them fire."""
        return self.reinit_values(vectors), self.reinit_fires(vectors) != 0

    def check_samples(self, vectors: dict[str, Any]) -> None:
        """Complain about periods and delays, computed from parameters, that make no sense."""
        period, delay = np.asarray(self.period(vectors)), np.asarray(self.delay(vectors))
        is_wrong = ~(np.isfinite(period) & (period > 0))
        is_late = ~((delay >= 0) & (delay < period))
        for row in np.flatnonzero(is_wrong | is_late).tolist():
            part, owner = self.samples.entry(row)[0].part, self.samples.entry(row)[0].owner
            path = self.samples.path(row)
            name = f"`{part.text(owner.local_naming)}`{f' of {path}' if path else ''}"
            if not is_wrong[row]:
                raise ModelError(
                    f"{name} ({part.source}) has the period {period[row]:g} and the delay {delay[row]:g}: "
                    f"the delay is shorter than the period, so that a result is there before the next tick."
                )
            raise ModelError(
                f"{name} ({part.source}) has the period {period[row]:g}: it has no next instant. The "
                f"period is a positive number of seconds."
            )


def has_events(flat: FlatModel) -> bool:
    return bool(flat.relations or flat.samples or flat.actions)


def event_functions(flat: FlatModel, values: ValueMap) -> EventFunctions:
    """Lower the events of a flat model."""
    for entry in (*flat.relations, *flat.left_limits, *flat.actions):
        _check_known(flat, values, entry)
    reinits = [entry for entry in flat.actions if entry.part.kind is ActionKind.REINIT]
    levels = event_levels(flat)

    def lowered(entries: Sequence[Placed], what: Any) -> Evaluate:
        return flat_expressions(flat, values, [(what(entry.part), entry.owner) for entry in entries])

    def symbols(entries: Sequence[Placed]) -> EventRows:
        return EventRows(flat, entries, [_whole(entry.part.symbol) for entry in entries])

    return EventFunctions(
        parameter_size=flat.parameter_size,
        discrete_size=flat.discrete_size,
        relations=RelationTable(flat),
        z=lowered(flat.relations, lambda part: part.z),
        scale=lowered(flat.relations, lambda part: part.scale),
        left=lowered(flat.left_limits, lambda part: part.value),
        left_places=symbols(flat.left_limits).place,
        samples=symbols(flat.samples),
        period=lowered(flat.samples, lambda part: part.period),
        offset=lowered(flat.samples, lambda part: part.offset),
        delay=lowered(flat.samples, lambda part: part.delay),
        levels=tuple(Level(lowered(own, _new_value), _set_places(flat, own)) for own in levels),
        reinits=ReinitTable(flat, reinits),
        reinit_values=lowered(reinits, lambda part: part.value),
        reinit_fires=lowered(reinits, lambda part: part.fires),
        initial_places=_role_places(flat, DiscreteRole.INITIAL),
        terminal_places=_role_places(flat, DiscreteRole.TERMINAL),
        condition_places=_role_places(flat, DiscreteRole.CONDITION),
        terminations=_terminations(flat),
    )


def _new_value(action: Any) -> Expr:
    """What a discrete variable is after a pass: as before, where the action does not fire."""
    if action.fires is None:
        return action.value
    return call(named("where"), action.fires, action.value, action.target)


def _set_places(flat: FlatModel, entries: Sequence[Placed]) -> Integers:
    found = [piece_elements(flat, entry.part.piece, entry.owner) for entry in entries]
    return np.concatenate([np.zeros(0, np.int64), *found])


def _role_places(flat: FlatModel, role: DiscreteRole) -> Integers:
    own = [d.offset + np.arange(d.size) for d in flat.discretes if d.symbol.role is role]
    return np.concatenate([np.zeros(0, np.int64), *own])


def _terminations(flat: FlatModel) -> dict[int, str]:
    return {
        d.offset + k: d.symbol.reason
        for d in flat.discretes
        if d.symbol.role is DiscreteRole.TERMINATE
        for k in range(d.size)
    }


def _whole(symbol: Any) -> Piece:
    return Piece(leaf(symbol), contiguous(symbol.shape))


def _check_known(flat: FlatModel, values: ValueMap, entry: Placed) -> None:
    missing = unknown_derivative(flat, values, entry.part.expressions(), entry.owner)
    if missing is not None:
        part = entry.part
        text = part.text(entry.owner.naming)
        raise ModelError(
            f"`{text}` ({part.source}) contains {missing}, which is not part of the equations of the "
            f"model: declare a Var for it, v == der(x)."
        )

"""Places in the vector of discrete values, in the words of the model: text, component, line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..expressions.expression import leaves_of
from ..expressions.symbol_kinds import DiscreteRole
from ..language.event_parts import ActionKind, RelationKind
from ..language.flat_model import FlatModel, FlatSymbol
from ..lowering.event_functions import EventFunctions
from ..results.trajectories import ResultVariable

WORDS = {DiscreteRole.INITIAL: "initial()", DiscreteRole.TERMINAL: "terminal()"}


class EventNames:
    """Names of discrete elements, and of the elements of variables."""

    def __init__(self, flat: FlatModel, functions: EventFunctions):
        self.flat, self.functions = flat, functions
        self._rows = {int(place): k for k, place in enumerate(functions.relations.place)}
        self._samples = {int(place): k for k, place in enumerate(functions.samples.place)}
        self._discrete_starts = np.array([symbol.offset for symbol in flat.discretes])
        self._variable_starts = np.array([symbol.offset for symbol in flat.variables])
        self._texts: dict[int, tuple[str, str, str]] = {}

    def discrete(self, place: int) -> FlatSymbol:
        return self.flat.discretes[int(np.searchsorted(self._discrete_starts, place, side="right")) - 1]

    def variable(self, element: int) -> FlatSymbol:
        return self.flat.variables[int(np.searchsorted(self._variable_starts, element, side="right")) - 1]

    def of(self, place: int) -> tuple[str, str, str]:
        """Text as written, component, and line: of a relation, a sample, a condition, or a declared variable."""
        if place not in self._texts:
            self._texts[place] = self._found(place)
        return self._texts[place]

    def sentence(self, place: int) -> str:
        """The same as a phrase."""
        text, path, line = self.of(place)
        return f"`{text}`{f' in {path}' if path else ''}{f' ({line})' if line else ''}"

    def relation_kind(self, place: int) -> RelationKind:
        kind: RelationKind = self.functions.relations.kind[self._rows[place]]
        return kind

    def declared(
        self, place: int, variables: Mapping[str, ResultVariable]
    ) -> tuple[str, Callable[[Any], Any]]:
        """The name of a declared element, and what makes a number of its type."""
        symbol = self.discrete(place)
        name = variables[symbol.name].element(place - symbol.offset) if symbol.shape else symbol.name
        return name, {"bool": bool, "int64": int}.get(symbol.symbol.dtype, float)

    def _found(self, place: int) -> tuple[str, str, str]:
        for table, rows in (
            (self.functions.relations, self._rows),
            (self.functions.samples, self._samples),
        ):
            if place in rows:
                row = rows[place]
                return table.text(row), table.path(row), table.source(row)
        symbol = self.discrete(place)
        path = _path(symbol, place - symbol.offset)
        action = self._action(symbol)
        line = "" if action is None else str(action.source)
        role = symbol.symbol.role
        if role in WORDS:
            return WORDS[role], path, line
        if role is DiscreteRole.CONDITION:
            return str(symbol.symbol.written), path, line
        return symbol.symbol.name, path, line

    def _action(self, symbol: FlatSymbol) -> Any:
        """The first action that sets a symbol; of `initial()` and `terminal()`, the first condition with it."""
        for entry in self.flat.actions:
            part = entry.part
            if part.piece.node.symbol is symbol.symbol:
                return part
            is_condition = part.kind is ActionKind.CONDITION
            if is_condition and any(leaf.symbol is symbol.symbol for leaf in leaves_of(part.value)):
                return part
        return None


def _path(symbol: FlatSymbol, position: int) -> str:
    """The component of an element, with the copy in each array around it."""
    index = iter(np.unravel_index(position, symbol.shape)) if symbol.shape else iter(())
    path = symbol.symbol.segments()[:-1]
    return ".".join(f"{name}[{int(next(index))}]" if is_array else name for name, is_array in path)

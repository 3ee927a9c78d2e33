"""Places in the vector of discrete values, in the words of the model: text, component, line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..expressions.expression import leaves_of
from ..expressions.printing import expression_text
from ..expressions.symbol_kinds import DiscreteRole, SymbolKind
from ..language.event_parts import ActionKind, RelationKind
from ..language.flat_model import FlatModel, FlatSymbol, Occurrence, Placed
from ..lowering.event_functions import EventFunctions
from ..results.selections import ResultVariable

WORDS = {DiscreteRole.INITIAL: "initial()", DiscreteRole.TERMINAL: "terminal()"}


class EventNames:
    """Names of discrete elements, and of the elements of variables."""

    def __init__(self, flat: FlatModel, functions: EventFunctions):
        self.flat, self.functions = flat, functions
        self._rows = {int(place): k for k, place in enumerate(functions.relations.place)}
        self._samples = {int(place): k for k, place in enumerate(functions.samples.place)}
        self._discretes, self._variables = _Symbols(flat.discretes), _Symbols(flat.variables)
        self._texts: dict[int, tuple[str, str, str]] = {}

    def discrete(self, place: int) -> FlatSymbol:
        return self._discretes.of(place)

    def variable(self, element: int) -> FlatSymbol:
        return self._variables.of(element)

    def of(self, place: int) -> tuple[str, str, str]:
        """Text as written, component, and line of an element."""
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
        entry = self._entry(symbol)
        if entry is None:
            return symbol.symbol.name, "", ""
        owner, role = entry.owner, symbol.symbol.role
        path, line = _path(owner, symbol, place - symbol.offset), str(entry.part.source)
        if role is DiscreteRole.CONDITION:
            return expression_text(symbol.symbol.written, owner.local_naming), path, line
        if role in WORDS:
            return WORDS[role], path, line
        return entry.part.text(owner.local_naming), path, line

    def _entry(self, symbol: FlatSymbol) -> Placed | None:
        """The action that sets a symbol; of `initial()` and `terminal()`, the first condition with it."""
        for entry in self.flat.actions:
            part = entry.part
            own = [part.piece.node]
            if part.kind is ActionKind.CONDITION:
                own += leaves_of(part.value)
            discrete = (leaf for leaf in own if leaf.kind is SymbolKind.DISCRETE)
            if any(self.flat.resolve(leaf, entry.owner) is symbol for leaf in discrete):
                return entry
        return None


class _Symbols:
    """Symbols by their elements."""

    def __init__(self, symbols: Sequence[FlatSymbol]):
        self.symbols = sorted((own for own in symbols if own.size), key=lambda symbol: symbol.offset)
        self.starts = np.array([symbol.offset for symbol in self.symbols])

    def of(self, element: int) -> FlatSymbol:
        return self.symbols[int(np.searchsorted(self.starts, element, side="right")) - 1]


def _path(owner: Occurrence, symbol: FlatSymbol, position: int) -> str:
    """The component in which an element is set, with the copy in each array around it."""
    index = iter(np.unravel_index(position, symbol.shape) if symbol.shape else ())
    return ".".join(f"{name}[{int(next(index))}]" if is_array else name for name, is_array in owner.path)

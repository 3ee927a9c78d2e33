"""What can make a discrete element change, or a `reinit` fire: relations, samples and the like.

An assignment is made when a condition becomes true; the condition reads relations, samples, `initial()`,
and discrete variables that other assignments set. The answer is by elements as long as only elementwise
functions stand in between, and is all elements of the copy of the component otherwise: more causes than
there are, never fewer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..expressions.expression import Application, Expr, Leaf
from ..expressions.nodes import Node, topological
from ..expressions.primitives import named
from ..expressions.symbol_kinds import DiscreteRole, SymbolKind
from ..expressions.templates import Piece, as_piece
from .event_order import piece_elements
from .event_parts import ActionKind
from .flat_model import FlatModel, Placed

ELEMENTARY = (DiscreteRole.RELATION, DiscreteRole.SAMPLE, DiscreteRole.INITIAL, DiscreteRole.TERMINAL)


class EventCauses:
    """The causes of discrete elements (by place in d), and of the rows of all `reinit`s in their order."""

    def __init__(self, flat: FlatModel):
        self.roles: list[DiscreteRole] = []
        for symbol in sorted(flat.discretes, key=lambda symbol: symbol.offset):
            self.roles += [symbol.symbol.role] * symbol.size
        setting = [entry for entry in flat.actions if entry.part.kind is not ActionKind.REINIT]
        reinits = [entry for entry in flat.actions if entry.part.kind is ActionKind.REINIT]
        self._sources = _table(flat, setting, flat.discrete_size)
        sizes = [len(piece_elements(flat, entry.part.piece, entry.owner)) for entry in reinits]
        self._of_reinit = _table(flat, reinits, sum(sizes), starts=np.cumsum([0, *sizes]))
        self._known: dict[int, frozenset[int]] = {}

    def conditions(self, row: int) -> np.ndarray:
        """Places of the conditions that make a row of the reinits fire."""
        return self._of_reinit.row(row)

    def direct(self, place: int) -> list[int]:
        """Places that an element is set by, in one step."""
        found: list[int] = self._sources.row(place).tolist()
        return found

    def of_reinit(self, row: int) -> frozenset[int]:
        """Places of what makes a row of the reinits fire."""
        return frozenset().union(*(self.of(int(place)) for place in self.conditions(row)))

    def of(self, place: int) -> frozenset[int]:
        """Places of what makes an element change; of a relation and the like, its own."""
        if place not in self._known:
            found, seen, waiting = set(), {place}, [place]
            while waiting:
                here = waiting.pop()
                if self.roles[here] in ELEMENTARY:
                    found.add(here)
                    continue
                new = set(self._sources.row(here).tolist()) - seen
                seen |= new
                waiting += new
            self._known[place] = frozenset(found)
        return self._known[place]


class _Table:
    """Places that are read, for each target."""

    def __init__(self, targets: np.ndarray, sources: np.ndarray, count: int):
        order = np.argsort(targets, kind="stable")
        self.sources = sources[order]
        self.ends = np.searchsorted(targets[order], np.arange(count + 1))

    def row(self, target: int) -> np.ndarray:
        return self.sources[self.ends[target] : self.ends[target + 1]]


def _table(
    flat: FlatModel, entries: Sequence[Placed], count: int, starts: np.ndarray | None = None
) -> _Table:
    """What decides on the targets of actions; targets are places in d, or numbers from `starts` on."""
    none = np.zeros(0, np.int64)
    targets, sources = [none], [none]
    for number, entry in enumerate(entries):
        copies = max(1, entry.owner.copies)
        own = piece_elements(flat, entry.part.piece, entry.owner)
        if starts is not None:
            own = starts[number] + np.arange(len(own))
        own = own.reshape(copies, -1)
        for piece, is_elementwise in _read(entry.part):
            read = piece_elements(flat, piece, entry.owner).reshape(copies, -1)
            if is_elementwise:
                pairs = np.broadcast_arrays(own, read)
            else:
                pairs = np.broadcast_arrays(own[:, :, None], read[:, None, :])
            targets.append(pairs[0].reshape(-1))
            sources.append(pairs[1].reshape(-1))
    return _Table(np.concatenate(targets), np.concatenate(sources), count)


def _read(action: Any) -> Iterator[tuple[Piece, bool]]:
    """Discrete pieces that decide on an action, and whether each element decides on its own only."""
    root: Expr = action.value if action.fires is None else action.fires
    nodes = list(topological([root], lambda node: not node.args or as_piece(node) is not None))
    elementwise = all(_is_elementwise(node, root.shape) for node in nodes)
    for node in nodes:
        piece = as_piece(node)
        if piece is None or not isinstance(piece.node, Leaf):
            continue
        if piece.node.kind is SymbolKind.DISCRETE and piece.node.order == 0:
            yield piece, elementwise and piece.positions.shape == root.shape


def _is_elementwise(node: Node, shape: tuple[int, ...]) -> bool:
    if as_piece(node) is not None or not node.args:
        return True
    return (
        isinstance(node, Application)
        and isinstance(node, Expr)
        and (node.primitive.elementwise or node.primitive is named("broadcast_to"))
        and node.shape in (shape, ())
    )

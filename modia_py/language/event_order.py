"""In which order the conditions and assignments of one pass of an event are made: levels.

What reads a discrete variable (its new value, without `pre`) comes after what assigns it. All of one level
can be done at once. A discrete variable has one place where it is assigned.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays.distinct import distinct
from ..errors import ModelError
from ..expressions.expression import Expr, Leaf
from ..expressions.nodes import Node, topological
from ..expressions.symbol_kinds import SymbolKind
from ..expressions.templates import Piece, as_piece
from .event_parts import Action, ActionKind
from .flat_model import FlatModel, Occurrence, Placed

NONE = -1


def piece_elements(flat: FlatModel, piece: Piece, owner: Occurrence) -> np.ndarray:
    """The elements of a piece for all copies, copy after copy, among all symbols of its kind."""
    assert isinstance(piece.node, Leaf)
    starts = flat.resolve(piece.node, owner).copy_starts(piece.node, owner.lead)
    return (starts[:, None] + piece.positions.to_array().reshape(1, -1)).reshape(-1)


def event_levels(flat: FlatModel) -> list[list[Placed]]:
    """Actions that set discrete variables, level after level; an error if there is no such order."""
    settings = [entry for entry in flat.actions if entry.part.kind is not ActionKind.REINIT]
    writer = _writers(flat, settings)
    needs = [distinct(writer[_read(flat, entry)]) for entry in settings]
    needs = [own[own != NONE] for own in needs]
    level = np.full(len(settings), NONE)
    waiting = list(range(len(settings)))
    number = 0
    while waiting:
        ready = [k for k in waiting if (level[needs[k]] != NONE).all()]
        if not ready:
            raise ModelError(_cycle_text(settings, needs, level, waiting))
        level[ready] = number
        number += 1
        waiting = [k for k in waiting if level[k] == NONE]
    return [[settings[k] for k in np.flatnonzero(level == own)] for own in range(number)]


def _writers(flat: FlatModel, settings: Sequence[Placed]) -> np.ndarray:
    """For each discrete element, the number of the action that sets it."""
    writer = np.full(flat.discrete_size, NONE)
    for number, entry in enumerate(settings):
        elements = piece_elements(flat, entry.part.piece, entry.owner)
        order = np.sort(elements)
        if (order[1:] == order[:-1]).any():
            name = element_name(flat, int(order[1:][order[1:] == order[:-1]][0]))
            raise ModelError(f"{_where(entry)} assigns {name} twice: name each element once.")
        taken = writer[elements]
        if (taken != NONE).any():
            first = settings[int(taken[taken != NONE][0])]
            raise ModelError(_twice_text(flat, first, entry, int(elements[taken != NONE][0])))
        writer[elements] = number
    return writer


def _read(flat: FlatModel, entry: Placed) -> np.ndarray:
    """Discrete elements whose new values an action reads."""
    found = [np.zeros(0, np.int64)]

    def is_piece(node: Node) -> bool:
        return not node.args or as_piece(node) is not None

    roots: tuple[Expr, ...] = entry.part.expressions()
    for node in topological(roots, is_piece):
        piece = as_piece(node)
        if piece is None or not isinstance(piece.node, Leaf):
            continue
        if piece.node.kind is SymbolKind.DISCRETE and piece.node.order == 0:
            found.append(piece_elements(flat, piece, entry.owner))
    return np.concatenate(found)


def element_name(flat: FlatModel, element: int) -> str:
    """A discrete variable by one of its elements."""
    for symbol in flat.discretes:
        if symbol.offset <= element < symbol.offset + symbol.size:
            if not symbol.shape:
                return symbol.name
            index = [int(k) for k in np.unravel_index(element - symbol.offset, symbol.shape)]
            copies, own = iter(index[: len(symbol.lead)]), index[len(symbol.lead) :]
            segments = symbol.symbol.segments()
            path = ".".join(f"{name}[{next(copies)}]" if is_array else name for name, is_array in segments)
            return f"{path}[{', '.join(map(str, own))}]" if own else path
    raise IndexError(f"there is no discrete element {element}")


def _twice_text(flat: FlatModel, first: Placed, second: Placed, element: int) -> str:
    name = element_name(flat, element)
    return (
        f"The discrete variable {name} is assigned twice: {_where(first)}, and {_where(second)}. What it "
        f"is would depend on the order. Write one `when` with a list of conditions, when([a, b], "
        f"assign({name}, where(a, ..., ...)))."
    )


def _where(entry: Placed) -> str:
    action: Action = entry.part
    of = f" of {entry.owner.name}" if entry.owner.path else ""
    return f"`{action.text(entry.owner.local_naming)}`{of} ({action.source})"


def _cycle_text(
    settings: Sequence[Placed], needs: Sequence[np.ndarray], level: np.ndarray, waiting: Sequence[int]
) -> str:
    """Follow what is needed and not known until something comes again."""
    path: list[int] = []
    current = waiting[0]
    while current not in path:
        path.append(current)
        current = int(next(k for k in needs[current] if level[k] == NONE))
    cycle = path[path.index(current) :]
    listed = "; ".join(_where(settings[k]) for k in cycle)
    targets = [settings[k].part.target for k in cycle if settings[k].part.kind is not ActionKind.CONDITION]
    example = (
        f" pre({targets[0]}) is the value that `{targets[0]}` had before the event." if targets else ""
    )
    itself = "itself" if len(cycle) == 1 else "each other"
    return (
        f"At an event, new values of discrete variables depend on {itself}: {listed}. Use `pre` where the "
        f"old value is meant.{example}"
    )

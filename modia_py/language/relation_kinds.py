"""How the instants are found at which a relation changes, by what stands in it."""

from __future__ import annotations

from ..expressions.expression import Application, Expr, Leaf, leaves_of
from ..expressions.nodes import Node, topological
from ..expressions.primitives import EACH, JOINT
from ..expressions.symbol_kinds import SymbolKind
from .event_parts import RelationKind


def relation_kind(z: Expr) -> RelationKind:
    """The kind of the relation z > 0."""
    kinds = {leaf.kind for leaf in leaves_of(z)}
    if SymbolKind.VARIABLE in kinds or SymbolKind.INPUT in kinds:
        return RelationKind.STATE
    if is_affine_in_time(z):
        return RelationKind.TIME_AFFINE
    return RelationKind.STATE if SymbolKind.DISCRETE in kinds else RelationKind.TIME


def is_affine_in_time(z: Expr) -> bool:
    """Whether an expression is a multiple of the time plus something that does not depend on it."""
    moves: dict[int, bool] = {}
    for node in topological([z]):
        below = {place for place, arg in enumerate(node.args) if moves[id(arg)]}
        if below and not _is_affine_call(node, below):
            return False
        moves[id(node)] = bool(below) or (isinstance(node, Leaf) and node.kind is SymbolKind.TIME)
    return True


def _is_affine_call(node: Node, moving: set[int]) -> bool:
    if not isinstance(node, Application):
        return True  # one result of several
    if node.linear == JOINT:
        return True
    if node.linear == EACH:
        return len(moving) == 1
    return isinstance(node.linear, frozenset) and moving <= node.linear

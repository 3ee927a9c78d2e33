"""Whether an expression is always a truth value, or always a whole number, as far as its text tells.

Discrete variables that were declared as integers or truth values are given out as such: a fraction in one
of them would be cut off. So what is assigned to them has to be whole by its form.
"""

from __future__ import annotations

import numpy as np

from .event_primitives import HOLD, PRE, PREVIOUS, SAMPLED
from .expression import Call, Constant, Expr, Leaf
from .nodes import Node, topological
from .symbol_kinds import SymbolKind

TYPES = ("bool", "int64", "float64")
"""Each is a special case of the next."""

_OF_ARGUMENTS = frozenset(
    "maximum minimum max min stack concatenate broadcast_to reshape squeeze ravel transpose multiply prod "
    "remainder mod clip positive getitem".split()
)
"""As special as their arguments are all together."""
_WHOLE_OF_WHOLE = frozenset("add subtract negative absolute abs sum cumsum diff".split())
_WHOLE = frozenset("floor ceil rint round trunc fix sign floor_divide".split())
_OF_FIRST = frozenset({PRE, PREVIOUS, HOLD, SAMPLED})


def value_type(expr: Expr) -> str:
    """The most special of `TYPES` that an expression certainly is."""
    found: dict[int, int] = {}
    for node in topological([expr]):
        found[id(node)] = _type(node, [found[id(arg)] for arg in node.args])
    return TYPES[found[id(expr)]]


def _type(node: Node, below: list[int]) -> int:
    boolean, whole, real = range(3)
    if isinstance(node, Constant):
        if np.isin(node.value, (0, 1)).all():
            return boolean
        return whole if np.array_equal(node.value, np.rint(node.value)) else real
    if isinstance(node, Leaf):
        return TYPES.index(node.symbol.dtype) if node.kind is SymbolKind.DISCRETE else real
    if not isinstance(node, Call):
        return real
    name = node.primitive.known_name
    if node.dtype == "bool":
        return boolean
    if node.primitive in _OF_FIRST:
        return below[0]
    if name == "where":
        return max(below[1:])
    if name in _OF_ARGUMENTS:
        return max(below)
    if name in _WHOLE_OF_WHOLE:
        return max(whole, *below)
    return whole if name in _WHOLE or node.dtype == "int64" else real

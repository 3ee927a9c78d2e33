"""Expressions without the terms that are zero whatever their variables are: `0*x`, `0/x`, `0*der(x) + y`.

A coefficient that is a plain number of Python may be zero: a mass left out, a direction along an axis. What
it multiplies is no part of the equation: it must neither be asked for a value nor be taken for an unknown
that the equation determines. What is linear in an argument is zero if that is; sums lose such arguments.
"""

from __future__ import annotations

import numpy as np

from .expression import Application, Call, Constant, Expr, rebuild, zeros
from .nodes import Node, topological
from .primitives import EACH, named


def without_zero_terms(expr: Expr) -> Expr:
    """The same expression, zero terms left out."""
    nodes = list(topological([expr]))
    if not any(isinstance(node, Application) and any(map(_is_zero, node.args)) for node in nodes):
        return expr
    table: dict[int, Node] = {}
    for node in nodes:
        args = tuple(table[id(arg)] for arg in node.args)
        simpler: Node | None = _replacement(node, args) if isinstance(node, Call) else None
        if simpler is None:
            same = all(new is old for new, old in zip(args, node.args, strict=True))
            simpler = node if same else rebuild(node, args)
        table[id(node)] = simpler
    found = table[id(expr)]
    assert isinstance(found, Expr)
    return found


def _is_zero(node: Node) -> bool:
    return isinstance(node, Constant) and node.dtype != "bool" and not node.value.any()


def _replacement(node: Call, args: tuple[Node, ...]) -> Expr | None:
    """Zeros, or the one argument that is left of a sum; None where a call stays what it is."""
    zero = [_is_zero(arg) for arg in args]
    if not any(zero) or node.dtype != "float64" or any(map(_is_infinite, args)):
        return None
    linear = node.linear
    in_linear = linear if isinstance(linear, frozenset) else range(len(args))
    if linear == EACH or (linear is not None and all(zero[place] for place in in_linear)):
        return zeros(node.shape)
    if node.primitive in (named("add"), named("subtract")):
        left = args[zero.index(False)]
        if isinstance(left, Expr) and left.shape == node.shape and left.dtype == node.dtype:
            return left if zero[1] or node.primitive is named("add") else -left
    return None


def _is_infinite(node: Node) -> bool:
    return isinstance(node, Constant) and not np.isfinite(node.value).all()


__all__ = ["without_zero_terms"]

"""Templates evaluated on nodes: each call of an expression becomes operations of the graph.

Arithmetic and the common functions are operations by their names. Any other function is taken apart once
for each kind of arguments, by its jaxpr (`jaxpr_graph`); what cannot be stays a piece of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..expressions.expression import Bundle, Call, Expr, Item, index_of
from ..expressions.nodes import topological
from ..expressions.primitives import MOST_REMEMBERED, Primitive, Signature, named, result_shapes
from .graph import Graph
from .graph_array import CannotPlan, GraphArray, apply, constants
from .jaxpr_graph import evaluate_jaxpr
from .spot_check import agrees

MOST_PIECES = 8
"""Calls that are left whole. A model with more is left to XLA, which evaluates all copies at once."""

_NAMES = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "negative": "neg",
    "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "exp": "exp", "log": "log", "expm1": "expm1", "log1p": "log1p", "sqrt": "sqrt",
    "arctan2": "atan2",
}  # fmt: skip
"""Functions of numpy that are one operation, for real arguments and without options."""
_OPERATIONS = {named(name): operation for name, operation in _NAMES.items()}
"""By identity: a function of the user may have any name."""


def evaluate_on_nodes(
    root: Expr, placeholders: Sequence[Expr], values: Sequence[Any], graph: Graph
) -> GraphArray:
    """The value of a template with nodes or numbers in its placeholders."""
    results: dict[int, Any] = {id(each): value for each, value in zip(placeholders, values, strict=True)}
    for node in topological([root]):
        if id(node) in results:
            continue
        if isinstance(node, Item):
            results[id(node)] = results[id(node.args[0])][node.place]
            continue
        assert isinstance(node, (Call, Bundle))
        arguments = [results[id(arg)] for arg in node.args]
        results[id(node)] = _applied(node, arguments)
    found = results[id(root)]
    return found if isinstance(found, GraphArray) else constants(graph, found)


def _applied(node: Call | Bundle, arguments: list[Any]) -> Any:
    name = _OPERATIONS.get(node.primitive)
    plain = name is not None and len(node.signature.leaves) == len(arguments) and _is_real(node)
    if plain and any(isinstance(argument, GraphArray) for argument in arguments):
        return apply(str(name), *arguments)
    index = index_of(node)
    if index is not None and isinstance(arguments[0], GraphArray):
        return arguments[0][index.items]
    kinds = tuple((tuple(arg.shape), arg.dtype) for arg in node.args if isinstance(arg, Expr))
    try:
        jaxpr = _taken_apart(node.primitive, node.signature, kinds)
        found = evaluate_jaxpr(jaxpr.jaxpr, jaxpr.consts, arguments)
    except (CannotPlan, ValueError, TypeError, IndexError, NotImplementedError):
        # Not to be taken apart, or not by the rules there are.
        found = _left_whole(node, arguments, kinds)
    return found if isinstance(node, Bundle) else found[0]


def _left_whole(node: Call | Bundle, arguments: list[Any], kinds: tuple) -> list[GraphArray]:
    """A call that stays a piece of its own in XLA."""
    graph = next(argument.graph for argument in arguments if isinstance(argument, GraphArray))
    if len(graph.pieces) >= MOST_PIECES:
        raise CannotPlan(f"{node.primitive.name} and others are not operations on numbers")
    _, results = result_shapes(node.primitive, node.signature, kinds)
    sizes = [math.prod(shape) for shape, _ in results]
    if any(kind != "float64" for _, kind in (*results, *kinds)):
        raise CannotPlan(f"{node.primitive.name} of whole numbers or relations")
    cuts = np.cumsum([math.prod(shape) for shape, _ in kinds])[:-1]

    def function(vector: Any) -> Any:
        parts = [
            part.reshape(shape) for part, (shape, _) in zip(jnp.split(vector, cuts), kinds, strict=True)
        ]
        args, kwargs = node.signature.bind(parts)
        found = jax.tree_util.tree_leaves(node.primitive.evaluate(*args, **kwargs))
        return jnp.concatenate([jnp.reshape(part, -1) for part in found])

    whole = [a if isinstance(a, GraphArray) else constants(graph, a) for a in arguments]
    nodes = np.concatenate([argument.nodes.reshape(-1) for argument in whole])
    found = graph.piece(node.primitive.name, function, nodes, sum(sizes))
    parts = np.split(found, np.cumsum(sizes)[:-1])
    return [GraphArray(graph, part.reshape(shape)) for part, (shape, _) in zip(parts, results, strict=True)]


def _is_real(node: Call | Bundle) -> bool:
    return all(getattr(arg, "dtype", "") == "float64" for arg in node.args)


@lru_cache(MOST_REMEMBERED)
def _taken_apart(primitive: Primitive, signature: Signature, kinds: tuple) -> Any:
    if primitive.calls_lapack:
        raise CannotPlan(f"{primitive.name} calls a library")

    def call(*dynamic: Any) -> Any:
        args, kwargs = signature.bind(dynamic)
        return jax.tree_util.tree_leaves(primitive.evaluate(*args, **kwargs))

    jaxpr = jax.make_jaxpr(call)(*(jax.ShapeDtypeStruct(shape, np.dtype(kind)) for shape, kind in kinds))
    if not agrees(primitive, signature, kinds, jaxpr):
        raise CannotPlan(f"{primitive.name} does not give the same numbers")
    return jaxpr

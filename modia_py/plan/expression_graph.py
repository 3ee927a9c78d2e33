"""Templates evaluated on nodes: each call of an expression becomes operations of the graph.

Arithmetic and the common functions are operations by their names. Any other function is taken apart once
for each kind of arguments, by its jaxpr (`jaxpr_graph`); what cannot be stays a piece of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..expressions.expression import Bundle, Call, Expr, Item, index_of
from ..expressions.nodes import Node, topological
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


class _Scalar(int):
    """The node of one number. Most calls of most models are on these, and arrays take long to make."""


def evaluate_on_nodes(
    root: Expr, placeholders: Sequence[Expr], uses: Iterable[Sequence[Any]], graph: Graph
) -> GraphArray:
    """The values of a template, one after the other, for each use of it with nodes or numbers in its
    placeholders."""
    calls = [(n, _operation(n)) for n in topological([root]) if isinstance(n, (Call, Bundle, Item))]
    return GraphArray(graph, np.stack([_one_use(root, placeholders, own, calls, graph) for own in uses]))


def _one_use(
    root: Expr, placeholders: Sequence[Expr], values: Sequence[Any], calls: list[Any], graph: Graph
) -> np.ndarray:
    """Nodes of the value of a template."""
    results = {id(each): _as_scalar(value) for each, value in zip(placeholders, values, strict=True)}
    for node, operation in calls:
        arguments = [results[id(arg)] for arg in node.args]
        if operation is not None and _Scalar in (kinds := set(map(type, arguments))):
            if len(kinds) > 1:
                arguments = [_with_constant(argument, graph) for argument in arguments]
            if all(type(argument) is _Scalar for argument in arguments):
                results[id(node)] = _Scalar(graph.make(operation, *arguments))
                continue
        arguments = [GraphArray(graph, int(a)) if type(a) is _Scalar else a for a in arguments]
        if isinstance(node, Item):
            found = arguments[0][node.place]
        elif operation is not None and any(isinstance(argument, GraphArray) for argument in arguments):
            found = apply(operation, *arguments)
        else:
            found = _applied(node, arguments)
        results[id(node)] = _as_scalar(found)
    found = results[id(root)]
    if type(found) is _Scalar:
        return np.array(int(found))
    return found.nodes if isinstance(found, GraphArray) else constants(graph, found).nodes


def _operation(node: Node) -> str | None:
    """The operation that a call on real numbers is, if it is one."""
    if not isinstance(node, Call) or len(node.signature.leaves) != len(node.args):
        return None
    is_real = all(isinstance(arg, Expr) and arg.dtype == "float64" for arg in node.args)
    return _OPERATIONS.get(node.primitive) if is_real else None


def _as_scalar(value: Any) -> Any:
    return _Scalar(value.nodes) if isinstance(value, GraphArray) and not value.ndim else value


def _with_constant(value: Any, graph: Graph) -> Any:
    """A number as a node, anything else as it is."""
    is_number = not isinstance(value, (GraphArray, _Scalar)) and np.ndim(value) == 0
    return _Scalar(graph.constant(value)) if is_number else value


def _applied(node: Call | Bundle, arguments: list[Any]) -> Any:
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

"""Arrays whose elements are nodes of a graph: functions written for arrays of numbers build the graph.

Arithmetic, indexing, reshaping and joining work as for numpy's arrays. The functions below take arrays of
either kind, nodes or numbers of JAX: the lowering is written once for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from .graph import Graph


class CannotPlan(Exception):
    """A function, or a part of it, that is left to XLA; and why."""


class GraphArray:
    """Nodes of a graph in the shape of an array."""

    __slots__ = ("graph", "nodes")
    __array_priority__ = 1000

    def __init__(self, graph: Graph, nodes: Any):
        self.graph, self.nodes = graph, np.asarray(nodes, np.int64)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.nodes.shape

    @property
    def ndim(self) -> int:
        return self.nodes.ndim

    @property
    def size(self) -> int:
        return self.nodes.size

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, index: Any) -> GraphArray:
        return GraphArray(self.graph, self.nodes[index])

    def reshape(self, *shape: Any) -> GraphArray:
        return GraphArray(self.graph, self.nodes.reshape(*shape))

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
        name = _ARITHMETIC.get(ufunc)
        if name is None or method != "__call__" or options:
            return NotImplemented
        return apply(name, *operands)

    def __add__(self, other: Any) -> GraphArray:
        return apply("add", self, other)

    def __radd__(self, other: Any) -> GraphArray:
        return apply("add", other, self)

    def __sub__(self, other: Any) -> GraphArray:
        return apply("sub", self, other)

    def __rsub__(self, other: Any) -> GraphArray:
        return apply("sub", other, self)

    def __mul__(self, other: Any) -> GraphArray:
        return apply("mul", self, other)

    def __rmul__(self, other: Any) -> GraphArray:
        return apply("mul", other, self)

    def __truediv__(self, other: Any) -> GraphArray:
        return apply("div", self, other)

    def __rtruediv__(self, other: Any) -> GraphArray:
        return apply("div", other, self)

    def __neg__(self) -> GraphArray:
        return apply("neg", self)


_ARITHMETIC = {np.add: "add", np.subtract: "sub", np.multiply: "mul", np.true_divide: "div"}


def constants(graph: Graph, values: Any) -> GraphArray:
    values = np.asarray(values)
    nodes = [graph.constant(value) for value in values.reshape(-1).tolist()]
    return GraphArray(graph, np.array(nodes, np.int64).reshape(values.shape))


def apply(name: str, *operands: Any) -> GraphArray:
    """An operation, element by element, with numpy's broadcasting."""
    graph = next(operand.graph for operand in operands if isinstance(operand, GraphArray))
    parts = [o if isinstance(o, GraphArray) else constants(graph, np.asarray(o)) for o in operands]
    nodes = np.broadcast_arrays(*(part.nodes for part in parts))
    make = graph.make
    found = [make(name, *key) for key in zip(*(part.ravel().tolist() for part in nodes), strict=True)]
    return GraphArray(graph, np.array(found, np.int64).reshape(nodes[0].shape))


def concatenate(parts: Sequence[Any], like: Any) -> Any:
    """Vectors one after the other, of the kind of `like`."""
    if isinstance(like, GraphArray):
        whole = [part if isinstance(part, GraphArray) else constants(like.graph, part) for part in parts]
        return GraphArray(like.graph, np.concatenate([part.nodes for part in whole]))
    return jnp.concatenate(parts)


def full(count: int, value: Any, like: Any) -> Any:
    """A vector of one number, or of as many as there are."""
    if isinstance(like, GraphArray):
        return constants(like.graph, np.broadcast_to(value, (count,)))
    return jnp.full(count, value)


def zeros(count: int, like: Any) -> Any:
    return full(count, 0.0, like)


def totals(row: Any, terms: Any, count: int) -> Any:
    """For each of `count` rows the sum of its terms."""
    if not isinstance(terms, GraphArray):
        return jnp.zeros(count).at[row].add(terms)
    graph = terms.graph
    found = [graph.constant(0.0)] * count
    for k, node in zip(np.asarray(row).tolist(), terms.nodes.tolist(), strict=True):
        found[k] = graph.make("add", found[k], node)
    return GraphArray(graph, np.array(found, np.int64))


def multiplied(vector: Any, places: Any, factors: Any) -> Any:
    """The vector with some elements times factors."""
    if not isinstance(vector, GraphArray):
        return vector.at[places].multiply(factors)
    nodes = vector.nodes.copy()
    nodes[places] = apply("mul", vector[places], factors).nodes
    return GraphArray(vector.graph, nodes)


def graph_of(*arrays: Any) -> Graph | None:
    """The graph that any of these are made of."""
    return next((array.graph for array in arrays if isinstance(array, GraphArray)), None)


def trace(function: Callable[..., Any], sizes: Sequence[int]) -> tuple[Graph, np.ndarray]:
    """The graph of a function of vectors of given sizes, and the nodes of its result."""
    graph, vectors, first = Graph(), [], 0
    for size in sizes:
        vectors.append(GraphArray(graph, [graph.input(first + k) for k in range(size)]))
        first += size
    graph.inputs = first
    found = function(*vectors)
    if not isinstance(found, GraphArray):
        found = constants(graph, found)
    return graph, found.nodes

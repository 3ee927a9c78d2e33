"""Derivatives of graphs: forward as a sparse linear system, and both ways as more nodes.

A `Linearization` is the chain rule as data: the tangent of each node is a sum of coefficients times
tangents of earlier nodes, and coefficients are nodes, too. Pushed through with any number of directions at
once, or pulled back in reverse order, it needs no operation but multiply and add. A coefficient that is
zero takes nothing: what is not chosen may be infinite.

`tangents` and `pull_back` make nodes of the same: derivatives of derivatives.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sparse

from .graph import Graph, reachable
from .graph_array import CannotPlan, GraphArray
from .operations import NUMBER, OPERATIONS

NONE = -1
_SELECT = NUMBER["select"]


@dataclass(frozen=True, eq=False)
class Linearization:
    """tangent[k] for k >= inputs is the sum over e in start[k - inputs] .. start[k - inputs + 1] of
    coefficient[e] * tangent[source[e]]; the first are those of the active inputs, in order."""

    inputs: int
    start: np.ndarray
    coefficient: np.ndarray
    """Nodes of the graph."""
    source: np.ndarray
    rows: np.ndarray
    """Which tangent is that of each root; NONE where it is zero."""


def linearize(graph: Graph, roots: np.ndarray, active: np.ndarray) -> Linearization:
    """The derivative of roots by some inputs (flags); adds the partial derivatives to the graph."""
    tangent = {graph.input(place): k for k, place in enumerate(np.flatnonzero(active).tolist())}
    start, coefficient, source = [0], [], []
    count = int(active.sum())
    for node, partials in _moving(graph, roots, tangent):
        for operand, partial in partials:
            coefficient.append(partial)
            source.append(tangent[operand])
        start.append(len(source))
        tangent[node] = count
        count += 1
    return Linearization(
        int(active.sum()),
        np.array(start, np.int32),
        np.array(coefficient, np.int32),
        np.array(source, np.int32),
        np.array([tangent.get(root, NONE) for root in roots.tolist()], np.int32),
    )


def tangents(graph: Graph, roots: np.ndarray, seeds: dict[int, int]) -> np.ndarray:
    """Nodes of the tangents of roots, for nodes of tangents of some inputs."""
    tangent = dict(seeds)
    for node, partials in _moving(graph, roots, tangent):
        if graph.operation[node] == _SELECT:
            condition, one, other = graph.operands[node]
            zero = graph.constant(0.0)
            branches = (tangent.get(one, zero), tangent.get(other, zero))
            tangent[node] = graph.make("select", condition, *branches)
        else:
            terms = [graph.make("mul", partial, tangent[operand]) for operand, partial in partials]
            tangent[node] = graph.total(terms)
    zero = graph.constant(0.0)
    return np.array([tangent.get(root, zero) for root in roots.tolist()], np.int64)


def linearize_rows(graph: Graph, roots: Sequence[int], by: Sequence[int]) -> list[dict[int, int]]:
    """For each root the nodes of its derivatives by some nodes, by their number; zeros left out."""
    found = {node: {k: graph.constant(1.0)} for k, node in enumerate(by)}
    zero = graph.constant(0.0)
    for node, partials in _moving(graph, np.asarray(roots, np.int64), dict(found)):
        total: dict[int, int] = {}
        for operand, partial in partials:
            for k, slope in found[operand].items():
                total[k] = graph.make("add", total.get(k, zero), graph.make("mul", partial, slope))
        found[node] = {k: slope for k, slope in total.items() if slope != zero}
    return [found.get(root, {}) for root in roots]


def pull_back(graph: Graph, roots: np.ndarray, cotangents: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Nodes of the gradient by some nodes (inputs or others) of the sum of cotangents times roots."""
    wanted = {int(node): int(node) for node in inputs.tolist()}
    moving = list(_moving(graph, roots, dict(wanted)))
    zero = graph.constant(0.0)
    total: dict[int, int] = {}
    for root, cotangent in zip(roots.tolist(), cotangents.tolist(), strict=True):
        total[root] = graph.make("add", total.get(root, zero), cotangent)
    for node, partials in reversed(moving):
        own = total.get(node, zero)
        if own == zero:
            continue
        if graph.operation[node] == _SELECT:
            condition, one, other = graph.operands[node]
            shares = [
                (one, graph.make("select", condition, own, zero)),
                (other, graph.make("select", condition, zero, own)),
            ]
        else:
            shares = [(operand, graph.make("mul", partial, own)) for operand, partial in partials]
        for operand, share in shares:
            total[operand] = graph.make("add", total.get(operand, zero), share)
    return np.array([total.get(node, zero) for node in inputs.tolist()], np.int64)


def gradient_by_nodes(rows: GraphArray, cotangents: GraphArray, by: GraphArray) -> GraphArray:
    """`pull_back` for arrays of nodes."""
    if rows.graph.pieces:
        raise CannotPlan("gradients through what is not taken apart")
    return GraphArray(rows.graph, pull_back(rows.graph, rows.nodes, cotangents.nodes, by.nodes))


def _moving(graph: Graph, roots: np.ndarray, moving: dict[int, Any]) -> Any:
    """Nodes that depend on those in `moving` and that roots depend on, in order; each with its operands
    that do, and the partial derivatives by them."""
    seen, known = set(moving), graph.partials
    needed = reachable(graph, roots)
    for node in np.flatnonzero(needed).tolist():
        number = graph.operation[node]
        if number < 0 or node in seen:
            continue
        operands = graph.operands[node]
        rule = OPERATIONS[number].partials
        if rule is None or not any(operand in seen for operand in operands):
            continue
        partials = known.get(node)
        if partials is None:
            partials = known[node] = tuple(rule(graph, node, *operands))
        found = [
            (operand, partial)
            for operand, partial in zip(operands, partials, strict=True)
            if operand in seen and partial is not None and graph.values.get(partial) != 0
        ]
        if found:
            seen.add(node)
            yield node, found


def dependencies(linear: Linearization) -> sparse.csr_array:
    """Which active inputs the derivative of each root may be nonzero for: a matrix of ones."""
    sets: list[frozenset[int]] = [frozenset((k,)) for k in range(linear.inputs)]
    source, start = linear.source.tolist(), linear.start.tolist()
    for first, end in itertools.pairwise(start):
        found = sets[source[first]]
        for other in map(sets.__getitem__, source[first + 1 : end]):
            found = found if other <= found else other if found <= other else found | other
        sets.append(found)
    own = [sets[row] if row != NONE else frozenset[int]() for row in linear.rows.tolist()]
    columns = [place for each in own for place in each]
    rows = np.repeat(np.arange(len(own)), [len(each) for each in own])
    return sparse.csr_array((np.ones(len(columns)), (rows, columns)), shape=(len(own), linear.inputs))

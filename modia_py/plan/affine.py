"""Nodes of a graph that are affine in some inputs: which ones are, and with what coefficients.

An input is known by its bit, and what a node depends on by the bits of a number: that of all nodes is found
once, and questions about few inputs then look at few nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .graph import INPUT, Graph
from .operations import NUMBER

_NEG, _ADD, _SUB, _MUL, _DIV, _SELECT = (
    NUMBER[name] for name in ("neg", "add", "sub", "mul", "div", "select")
)
_AFFINE, _BENT = 1, 2


def dependence(graph: Graph, bit_of_place: Mapping[int, int]) -> list[int]:
    """For each node the bits of the inputs that it depends on."""
    found = [0] * len(graph)
    operation, operands = graph.operation, graph.operands
    for node, number in enumerate(operation):
        if number >= 0:
            bits = 0
            for operand in operands[node]:
                bits |= found[operand]
            found[node] = bits
        elif number == INPUT:
            place = operands[node][0]
            if place in bit_of_place:
                found[node] = 1 << bit_of_place[place]
    return found


@dataclass(frozen=True)
class Curvature:
    """Whether a node is affine in some inputs; if it is not, the bits of those in which it is bent."""

    bent: int

    @property
    def is_affine(self) -> bool:
        return not self.bent


def curvature(graph: Graph, bits: Sequence[int], root: int, mask: int) -> Curvature:
    """Of a node, in the inputs of a mask."""
    kind: dict[int, int] = {}
    bent = 0
    for node in _moving(graph, bits, root, mask):
        number, operands = graph.operation[node], graph.operands[node]
        if number == INPUT:
            kind[node] = _AFFINE
            continue
        kinds = [kind.get(operand, 0) for operand in operands]
        if number in (_NEG, _ADD, _SUB):
            kind[node] = max(kinds)
            continue
        straight = (
            (number == _MUL and min(kinds) == 0)
            or (number == _DIV and kinds[1] == 0)
            or (number == _SELECT and kinds[0] == 0)
        )
        kind[node] = max(kinds) if straight else _BENT
        if not straight:
            bent |= bits[node] & mask
    return Curvature(bent)


def coefficients(
    graph: Graph, bits: Sequence[int], root: int, mask: int, seeds: Mapping[int, tuple[int, int]]
) -> dict[int, int]:
    """Nodes of the coefficients of a node that is affine in the inputs of a mask, by unknown: seeds gives
    for each of these inputs, by its place, an unknown and the derivative by it."""
    found: dict[int, dict[int, int]] = {}
    zero = graph.constant(0.0)
    for node in list(_moving(graph, bits, root, mask)):
        number, operands = graph.operation[node], graph.operands[node]
        if number == INPUT:
            unknown, seed = seeds[operands[0]]
            found[node] = {unknown: seed}
            continue
        parts = [found.get(operand, {}) for operand in operands]
        if number == _NEG:
            own = {k: graph.make("neg", a) for k, a in parts[0].items()}
        elif number in (_ADD, _SUB):
            name = "add" if number == _ADD else "sub"
            keys = dict.fromkeys((*parts[0], *parts[1]))
            own = {k: graph.make(name, parts[0].get(k, zero), parts[1].get(k, zero)) for k in keys}
        elif number == _MUL:
            factor, part = (operands[1], parts[0]) if parts[0] else (operands[0], parts[1])
            own = {k: graph.make("mul", factor, a) for k, a in part.items()}
        elif number == _DIV:
            own = {k: graph.make("div", a, operands[1]) for k, a in parts[0].items()}
        else:
            assert number == _SELECT, "the node is affine"
            keys = dict.fromkeys((*parts[1], *parts[2]))
            own = {
                k: graph.make("select", operands[0], parts[1].get(k, zero), parts[2].get(k, zero))
                for k in keys
            }
        found[node] = {k: a for k, a in own.items() if graph.values.get(a) != 0}
    return found.get(root, {})


def _moving(graph: Graph, bits: Sequence[int], root: int, mask: int) -> Iterable[int]:
    """Nodes that a root is computed from and that depend on the inputs of a mask, in order."""
    if not bits[root] & mask:
        return []
    seen, stack = {root}, [root]
    while stack:
        node = stack.pop()
        if graph.operation[node] < 0:
            continue
        for operand in graph.operands[node]:
            if operand not in seen and bits[operand] & mask:
                seen.add(operand)
                stack.append(operand)
    return sorted(seen)

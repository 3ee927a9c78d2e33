"""One graph for all expressions of some equations, number by number, with shared nodes.

A node is an input, a constant, or an operation on earlier nodes: operands have smaller numbers, so the
order of the numbers is an order of evaluation. Equal nodes are one node. What is constant is computed here,
and what adds zero or multiplies by one or zero leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .operations import BY_NAME, NUMBER


@dataclass(frozen=True, eq=False)
class Piece:
    """A function of JAX that is not taken apart. Its arguments are nodes; its results are inputs of the
    graph, of which `first` is the place of the first one."""

    name: str
    function: Callable[..., Any]
    """From all arguments in one vector to all results in one vector."""
    arguments: np.ndarray
    first: int
    size: int


SYMBOL, INPUT, CONSTANT = -3, -2, -1
"""In place of the number of an operation."""

_LARGEST_POWER = 64
_SIMPLE_WITHOUT_CONSTANTS = ("neg", "select")


class Graph:
    """Grows by `make`; nothing is ever changed or removed."""

    def __init__(self) -> None:
        self.operation: list[int] = []
        self.operands: list[tuple[int, ...]] = []
        self.values: dict[int, float] = {}
        """Of constants."""
        self.inputs = 0
        self.pieces: list[Piece] = []
        """In the order in which they are evaluated: arguments may contain results of earlier ones."""
        self.partials: dict[int, tuple] = {}
        """Partial derivatives of nodes by their operands, where somebody has asked (`derivatives`)."""
        self._three = np.zeros((0, 3), np.int64)
        self._known: dict[tuple, int] = {}

    def __len__(self) -> int:
        return len(self.operation)

    def copy(self) -> Graph:
        """Another graph with the same nodes, under the same numbers."""
        other = Graph()
        other.operation, other.operands = list(self.operation), list(self.operands)
        other.values, other._known, other.inputs = dict(self.values), dict(self._known), self.inputs
        other.pieces, other.partials = list(self.pieces), dict(self.partials)
        other._three = self._three  # never changed, only replaced by a longer one
        return other

    def three_operands(self) -> np.ndarray:
        """Operands of all nodes, three for each; zeros where there are fewer."""
        three = self._three
        new = [(*own, 0, 0, 0)[:3] for own in self.operands[len(three) :]]
        if new:
            three = self._three = np.concatenate([three, np.array(new, np.int64)])
        return three

    def input(self, place: int) -> int:
        """The node of an input, by its place among all of them."""
        self.inputs = max(self.inputs, place + 1)
        return self._node((INPUT, place))

    def symbol(self, number: int) -> int:
        """A node to differentiate by, which no plan can evaluate."""
        return self._node((SYMBOL, number))

    def piece(
        self, name: str, function: Callable[..., Any], arguments: np.ndarray, size: int
    ) -> np.ndarray:
        """Nodes of the results of a function that is not taken apart."""
        first = self.inputs
        self.pieces.append(Piece(name, function, arguments, first, size))
        return np.array([self.input(first + k) for k in range(size)], np.int64)

    def constant(self, value: float) -> int:
        # Zeros of both signs and numbers that are not are told apart by their bits.
        value = float(value)
        node = self._node((CONSTANT, value if value != 0 and value == value else repr(value)))
        self.values[node] = value
        return node

    def is_constant(self, node: int) -> bool:
        return node in self.values

    def make(self, name: str, *operands: int) -> int:
        """The node of an operation, or a simpler one of the same value."""
        values, constant = self.values, 0
        for operand in operands:
            constant += operand in values
        if constant == len(operands):
            with np.errstate(all="ignore"):
                return self.constant(float(BY_NAME[name].numpy(*(values[o] for o in operands))))
        if constant or name in _SIMPLE_WITHOUT_CONSTANTS:
            simple = self._simplified(name, operands)
            if simple is not None:
                return simple
        return self._node((NUMBER[name], *operands))

    def power(self, base: int, exponent: int) -> int:
        """base**exponent for a whole number, by products."""
        if exponent < 0 or exponent > _LARGEST_POWER:  # 1 / 0 has a slope, which 0 / 0 has not
            return self.make("pow", base, self.constant(exponent))
        result, square, left = None, base, exponent
        while left:
            if left & 1:
                result = square if result is None else self.make("mul", result, square)
            left >>= 1
            if left:
                square = self.make("mul", square, square)
        return self.constant(1.0) if result is None else result

    def total(self, nodes: list[int]) -> int:
        """Their sum, from left to right."""
        found = self.constant(0.0)
        for node in nodes:
            found = self.make("add", found, node)
        return found

    def _node(self, key: tuple) -> int:
        node = self._known.get(key)
        if node is None:
            node = self._known[key] = len(self.operation)
            self.operation.append(key[0])
            self.operands.append(key[1:] if key[0] >= 0 else ())
            if key[0] == INPUT:
                self.operands[-1] = key[1:]
        return node

    def _simplified(self, name: str, operands: tuple[int, ...]) -> int | None:
        value = self.values.get
        a = operands[0]
        if name == "add":
            if value(a) == 0:
                return operands[1]
            if value(operands[1]) == 0:
                return a
        elif name == "sub":
            if value(operands[1]) == 0:
                return a
            if value(a) == 0:
                return self.make("neg", operands[1])
        elif name == "mul":
            for one, other in (operands, operands[::-1]):
                factor = value(one)
                if factor == 1:
                    return other
                if factor == -1:
                    return self.make("neg", other)
                if factor == 0:
                    return self.constant(0.0)
        elif name == "div":
            if value(operands[1]) == 1:
                return a
            if value(operands[1]) == -1:
                return self.make("neg", a)
            if value(a) == 0 and not self.is_constant(operands[1]):
                return None  # 0/0 is to be seen
        elif name == "neg" and self.operation[a] == NUMBER["neg"]:
            return self.operands[a][0]
        elif name == "pow":
            exponent = value(operands[1])
            if exponent == 0.5:
                return self.make("sqrt", a)
            if exponent in (0.0, 1.0, 2.0, 3.0):
                return self.power(a, int(exponent))
        elif name == "select":
            if (condition := value(a)) is not None:
                return operands[1] if condition != 0 else operands[2]
            if operands[1] == operands[2]:
                return operands[1]
        return None


def reachable(graph: Graph, roots: Any) -> np.ndarray:
    """Flags of the nodes that some roots are computed from."""
    needed = np.zeros(len(graph), bool)
    needed[np.asarray(roots, np.int64)] = True
    operands, operation = graph.operands, graph.operation
    for node in range(len(graph) - 1, -1, -1):
        if needed[node] and operation[node] >= 0:
            for operand in operands[node]:
                needed[operand] = True
    return needed

"""Linear equations of nodes, solved by more nodes: Gauss's algorithm in a given sequence.

Coefficients are the derivatives of residuals, element by element; what is zero is known, and stays so
where nothing is added to it. Nothing is exchanged for its size: the sequence comes from the structure of
the equations, and a pivot that vanishes makes results that are not numbers. `Eliminated.pivots` tells
which one it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from .derivatives import linearize_rows
from .graph import Graph, reachable
from .graph_array import CannotPlan
from .operations import NUMBER

MULTIPLICATIONS = tuple(NUMBER[name] for name in ("mul", "div"))
ADDITIONS = tuple(NUMBER[name] for name in ("add", "sub"))

Row = dict[int, int]
"""Nodes of the coefficients of a row, by the number of the unknown; what is not there is zero."""
Step = tuple[list[int], list[int]]
"""Rows, and the unknowns they are solved for."""


class NotLinear(CannotPlan):
    """Equation `row` is not linear in the unknowns."""

    def __init__(self, row: int):
        super().__init__(f"equation {row} is not linear in what it is solved for")
        self.row = row


@dataclass(frozen=True, eq=False)
class Eliminated:
    """Nodes of the unknowns; nodes of the pivots, in the sequence of the elimination, and the row and the
    unknown of each."""

    unknowns: np.ndarray
    pivots: np.ndarray
    order: tuple[tuple[int, int], ...]


def linear_rows(graph: Graph, roots: Sequence[int], symbols: Sequence[int]) -> list[Row]:
    """The coefficients of symbols in residuals that are linear in them."""
    rows = linearize_rows(graph, roots, symbols)
    coefficients = sorted({node for row in rows for node in row.values()})
    if coefficients:
        bad = _depending(graph, coefficients, symbols)
        for number, row in enumerate(rows):
            if any(node in bad for node in row.values()):
                raise NotLinear(number)
    return rows


def _depending(graph: Graph, nodes: list[int], symbols: Sequence[int]) -> set[int]:
    """Those of some nodes that are computed from symbols."""
    flags = np.zeros(len(graph), bool)
    flags[np.asarray(symbols, np.int64)] = True
    for node in np.flatnonzero(reachable(graph, nodes)).tolist():
        if graph.operation[node] >= 0 and any(flags[operand] for operand in graph.operands[node]):
            flags[node] = True
    return {node for node in nodes if flags[node]}


def eliminate(
    graph: Graph, rows: Sequence[Row], right: Sequence[int], sequence: Iterable[Step]
) -> Eliminated:
    """Solve rows for unknowns, step after step of a sequence.

    Where a step has several rows, its unknowns are paired with them in their order if none of the pivots is
    known to be zero then, and else as the pattern allows.

    Unknowns are found in reverse order, from what elimination has left of their rows; those of the assigned
    part of a torn loop from their rows as they were, which are sparser.
    """
    left = [dict(row) for row in rows]
    known = list(right)
    users: dict[int, set[int]] = {}
    for number, row in enumerate(left):
        for unknown in row:
            users.setdefault(unknown, set()).add(number)
    done: set[int] = set()
    pivots: list[int] = []
    order: list[tuple[int, int]] = []
    for number, unknown in _pairs(sequence, left):
        row = left[number]
        pivot = row.get(unknown)
        if pivot is None:
            raise StructurallySingular(number, unknown)
        pivots.append(pivot)
        order.append((number, unknown))
        done.add(number)
        for other in sorted(users[unknown] - done):
            target = left[other]
            factor = graph.make("div", target.pop(unknown), pivot)
            for column, node in row.items():
                if column != unknown:
                    users[column].add(other)
                    product = graph.make("mul", factor, node)
                    own = target.get(column)
                    target[column] = (
                        graph.make("neg", product) if own is None else graph.make("sub", own, product)
                    )
            known[other] = graph.make("sub", known[other], graph.make("mul", factor, known[number]))
    found = _back(graph, rows, right, left, known, order)
    return Eliminated(found, np.array(pivots, np.int64), tuple(order))


def _pairs(sequence: Iterable[Step], left: Sequence[Row]) -> Iterator[tuple[int, int]]:
    """Rows and unknowns; those of a step are paired when all steps before it are done."""
    for rows, unknowns in sequence:
        if all(unknown in left[row] for row, unknown in zip(rows, unknowns, strict=True)):
            yield from zip(rows, unknowns, strict=True)
            continue
        pattern = np.array([[unknown in left[row] for unknown in unknowns] for row in rows])
        column = maximum_bipartite_matching(csr_array(pattern), perm_type="column")
        if (column < 0).any():
            row = rows[int(np.flatnonzero(column < 0)[0])]
            raise StructurallySingular(row, unknowns[0])
        yield from ((row, unknowns[k]) for row, k in zip(rows, column.tolist(), strict=True))


def _back(
    graph: Graph,
    rows: Sequence[Row],
    right: Sequence[int],
    left: Sequence[Row],
    known: Sequence[int],
    order: list[tuple[int, int]],
) -> np.ndarray:
    """The unknowns, the last eliminated first; then those that are not needed for others, as written."""
    solved: dict[int, int] = {}
    first = _assigned(rows, order)
    for number, unknown in reversed(order[first:]):
        solved[unknown] = _solved(graph, left[number], known[number], unknown, solved)
    for number, unknown in order[:first]:
        solved[unknown] = _solved(graph, rows[number], right[number], unknown, solved)
    return np.array([solved[k] for k in range(len(order))], np.int64)


def _assigned(rows: Sequence[Row], order: list[tuple[int, int]]) -> int:
    """How many of the first rows need no unknown that lies between them and the last of these: the assigned
    part of a torn loop, which is computed forward."""
    place = {unknown: k for k, (_, unknown) in enumerate(order)}
    later = [
        place[column] for k, (number, _) in enumerate(order) for column in rows[number] if place[column] > k
    ]
    return min(later, default=len(order))


def _solved(graph: Graph, row: Row, known: int, unknown: int, solved: dict[int, int]) -> int:
    total = known
    for column, node in row.items():
        if column != unknown:
            total = graph.make("sub", total, graph.make("mul", node, solved[column]))
    return graph.make("div", total, row[unknown])


class StructurallySingular(CannotPlan):
    """The sequence asks a row for an unknown that it does not contain."""

    def __init__(self, row: int, unknown: int):
        super().__init__(f"row {row} cannot be solved for unknown {unknown}")
        self.row, self.unknown = row, unknown


@dataclass(frozen=True)
class OperationCount:
    """Multiplications and divisions, additions and subtractions; a change of sign is neither."""

    multiplications: int
    additions: int

    def __str__(self) -> str:
        return f"{self.multiplications} multiplications, {self.additions} additions"


def count_operations(graph: Graph, roots: Sequence[int]) -> OperationCount:
    """What is needed to compute some nodes."""
    needed = np.flatnonzero(reachable(graph, roots))
    operations = np.array(graph.operation, np.int64)[needed]
    return OperationCount(
        int(np.isin(operations, MULTIPLICATIONS).sum()), int(np.isin(operations, ADDITIONS).sum())
    )

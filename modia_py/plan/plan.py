"""A graph as data: groups of equal operations, level by level, and where their operands are.

Values stand in one vector: inputs, constants, then results, group after group. A node of a level has
operands of earlier levels only, so all nodes of a level with one operation are one group: one loop in
native code, one gather and one vector operation in JAX. There are at most (levels x operations) groups,
whatever the number of equations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .graph import CONSTANT, INPUT, Graph, reachable
from .operations import OPERATIONS

_OPERAND_COUNT = np.array([operation.operands for operation in OPERATIONS])


@dataclass(frozen=True, eq=False)
class Plan:
    inputs: int
    constants: np.ndarray
    groups: np.ndarray
    """(operation, first place, place behind the last) of each group."""
    operands: np.ndarray
    """Three places for each result; those that an operation does not have are zero."""
    outputs: np.ndarray
    """Places of what is asked for."""
    levels: int

    @property
    def size(self) -> int:
        """Numbers in the vector of values."""
        return self.inputs + len(self.constants) + len(self.operands)

    def __str__(self) -> str:
        return (
            f"{len(self.operands)} operations in {len(self.groups)} groups on {self.levels} levels, "
            f"{len(self.constants)} constants, {self.inputs} inputs, {len(self.outputs)} outputs"
        )


def make_plan(graph: Graph, outputs: Any) -> Plan:
    """The plan of what some nodes are computed from."""
    outputs = np.asarray(outputs, np.int64)
    operation = np.array(graph.operation, np.int64)
    needed = reachable(graph, outputs)
    chosen, constant = (
        np.flatnonzero(needed & (operation >= 0)),
        np.flatnonzero(needed & (operation == CONSTANT)),
    )
    place = np.full(len(graph), -1)
    is_input = np.flatnonzero(operation == INPUT)
    all_operands = graph.three_operands()
    place[is_input] = all_operands[is_input, 0]
    place[constant] = graph.inputs + np.arange(len(constant))
    level = _levels(graph, chosen)
    order = np.lexsort((chosen, operation[chosen], level[chosen]))
    chosen = chosen[order]
    first = graph.inputs + len(constant)
    place[chosen] = first + np.arange(len(chosen))
    filled = np.arange(3) < _OPERAND_COUNT[operation[chosen], None]
    operands = np.where(filled, place[all_operands[chosen]], 0)
    key = np.stack([level[chosen], operation[chosen]], axis=1)
    cuts = np.flatnonzero((np.diff(key, axis=0) != 0).any(axis=1)) + 1
    starts = np.concatenate([[0], cuts]) if len(chosen) else np.zeros(0, np.int64)
    ends = np.concatenate([cuts, [len(chosen)]]) if len(chosen) else np.zeros(0, np.int64)
    groups = np.stack([operation[chosen][starts], first + starts, first + ends], axis=1)
    return Plan(
        graph.inputs,
        np.array([graph.values[node] for node in constant.tolist()], float),
        groups.astype(np.int32),
        operands.astype(np.int32),
        place[outputs].astype(np.int32),
        int(level.max(initial=0)),
    )


def _levels(graph: Graph, chosen: np.ndarray) -> np.ndarray:
    level = [0] * len(graph)
    operands = graph.operands
    for node in chosen.tolist():
        level[node] = 1 + max([level[operand] for operand in operands[node]])
    return np.array(level, np.int64)


def check_plan(plan: Plan) -> None:
    """Raise AssertionError unless every operand and output is known when it is needed."""
    first = plan.inputs + len(plan.constants)
    end = first
    for operation, start, stop in plan.groups.tolist():
        assert start == end < stop, "groups follow each other"
        own = plan.operands[start - first : stop - first, : OPERATIONS[operation].operands]
        assert ((own >= 0) & (own < start)).all(), "operands are computed before"
        end = stop
    assert end == plan.size, "all results belong to a group"
    assert ((plan.outputs >= 0) & (plan.outputs < plan.size)).all(), "outputs are there"

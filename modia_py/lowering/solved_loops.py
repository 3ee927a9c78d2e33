"""What solving an algebraic loop amounts to, as nodes of a graph: to count operations, and to solve it.

A linear loop that was torn is solved as the papers do it: assigned variables are eliminated in their order
without pivoting, then the tear variables from what is left, then the assigned ones again from their own
equations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays.structure import Integers, Structure
from ..arrays.transform import Transformation
from ..plan.elimination import (
    Eliminated,
    NotLinear,
    OperationCount,
    StructurallySingular,
    count_operations,
    eliminate,
    linear_rows,
)
from ..plan.graph import Graph
from ..plan.graph_array import CannotPlan, GraphArray
from .model_structure import ModelStructure
from .node_equations import NodeEquations, Residuals
from .value_map import ValueMap


@dataclass(frozen=True, eq=False)
class Loop:
    """Equations and variables, paired element by element, in the order in which they are eliminated."""

    equations: Integers
    variables: Integers
    assigned: int
    """How many pairs come before the tear variables."""

    def scalars(self, structure: Structure) -> int:
        return int(structure.variable_size[self.variables].sum())


@dataclass(frozen=True)
class SolvedLoop:
    """A loop of so many scalar equations, how many of its variables are torn, and what solving it takes:
    None where it is not linear."""

    equations: int
    torn: int
    count: OperationCount | None


def torn_loop(transformed: Transformation, block: int) -> Loop:
    """A block as it was torn on the highest level; residuals in the order of their hints, if these pair."""
    structure, blocks, torn = transformed.structure, transformed.blocks, transformed.form.levels[-1]
    equations, variables = blocks.equations_of(block), blocks.variables_of(block)
    mine = np.isin(torn.equations, equations)
    left = np.setdiff1d(equations, torn.equations), np.setdiff1d(variables, torn.variables)
    residuals, tears = _paired(transformed, *left)
    assert structure.equation_size[residuals].sum() == structure.variable_size[tears].sum()
    return Loop(
        np.append(torn.equations[mine], residuals), np.append(torn.variables[mine], tears), int(mine.sum())
    )


def _paired(transformed: Transformation, residuals: Integers, tears: Integers) -> tuple[Integers, Integers]:
    """Pairs of hints first; the rest as it comes."""
    pairs = [
        (e, v)
        for e, v in zip(*(side.tolist() for side in transformed.hints.pairs()), strict=True)
        if e in residuals and v in tears
    ]
    first = dict(pairs)
    chosen = {v: e for e, v in first.items()}
    own = np.array(list(chosen.values()), np.int64), np.array(list(chosen), np.int64)
    return (
        np.append(own[0], np.setdiff1d(residuals, own[0])),
        np.append(own[1], np.setdiff1d(tears, own[1])),
    )


def solved_unknowns(
    loop: Loop, residuals: Residuals, values: ValueMap, vectors: dict[str, GraphArray]
) -> tuple[GraphArray, Eliminated]:
    """The values of the variables of a loop whose equations are linear in them, from all that is known;
    vectors["w"] is zero where they belong."""
    w = vectors["w"]
    graph = w.graph
    places = values.elements(loop.variables)
    count = len(places)
    symbols = [graph.symbol(k) for k in range(count)]
    nodes = w.nodes.copy()
    nodes[places] = symbols
    rows = linear_rows(graph, residuals({**vectors, "w": GraphArray(graph, nodes)}).nodes.tolist(), symbols)
    nodes[places] = graph.constant(0.0)
    at_zero = residuals({**vectors, "w": GraphArray(graph, nodes)}).nodes.tolist()
    right = [graph.make("neg", node) for node in at_zero]
    solved = eliminate(graph, rows, right, ((k, k) for k in range(count)))
    return GraphArray(graph, solved.unknowns), solved


def solved_loops(
    model: ModelStructure, transformed: Transformation, values: ValueMap, blocks: Sequence[int]
) -> list[SolvedLoop]:
    """What it takes to solve some blocks, each as it was torn."""
    equations = NodeEquations(model, transformed, values)
    return [_solved_loop(model, equations, torn_loop(transformed, block)) for block in blocks]


def _solved_loop(model: ModelStructure, equations: NodeEquations, loop: Loop) -> SolvedLoop:
    structure = equations.transformed.structure
    torn = int(structure.variable_size[loop.variables[loop.assigned :]].sum())
    total = loop.scalars(structure)
    residuals = equations.residual(loop.equations)
    try:
        graph, vectors = _all_known(model, equations)
        _, solved = solved_unknowns(loop, residuals, equations.values, vectors)
    except (NotLinear, StructurallySingular, CannotPlan):
        return SolvedLoop(total, torn, None)
    return SolvedLoop(total, torn, count_operations(graph, solved.unknowns.tolist()))


def _all_known(model: ModelStructure, equations: NodeEquations) -> tuple[Graph, dict[str, GraphArray]]:
    """A graph with an input for the time, and for each element of w, p and u."""
    graph, first = Graph(), 1
    vectors = {"time": GraphArray(graph, graph.input(0))}
    inputs = equations.input_size * (equations.input_order + 1)
    sizes = {"w": equations.values.zero + 1, "p": model.flat.data_size, "u": inputs}
    for name, size in sizes.items():
        vectors[name] = GraphArray(graph, [graph.input(first + k) for k in range(size)])
        first += size
    vectors["w"].nodes[equations.values.zero] = graph.constant(0.0)
    return graph, vectors

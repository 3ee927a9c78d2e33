"""What solving an algebraic loop amounts to, as nodes of a graph: to count operations, and to solve it.

A linear loop that was torn is solved as the papers do it: assigned variables are eliminated in their order
without pivoting, then the tear variables from what is left, then the assigned ones again from their own
equations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays.distinct import without
from ..arrays.relaxing import RelaxedLoop, paired
from ..arrays.transform import Transformation
from ..plan.elimination import (
    Eliminated,
    NotLinear,
    OperationCount,
    Step,
    StructurallySingular,
    count_operations,
    eliminate,
    linear_rows,
)
from ..plan.graph import Graph
from ..plan.graph_array import CannotPlan, GraphArray
from .model_structure import ModelStructure
from .node_equations import NodeEquations
from .value_map import ValueMap


@dataclass(frozen=True)
class SolvedLoop:
    """A loop of so many scalar equations, how many of its variables are torn, and what solving it takes:
    None where it is not linear."""

    equations: int
    torn: int
    count: OperationCount | None


class EliminatedLoop:
    """A loop that is solved by elimination, for vectors of nodes."""

    def __init__(self, loop: RelaxedLoop, equations: NodeEquations):
        self.loop, self.values = loop, equations.values
        self.structure = equations.transformed.structure
        self.residuals = equations.residual(loop.equations)
        self.steps = list(self._scalar_steps())
        self.order: tuple[tuple[int, int], ...] = ()
        """Rows and unknowns in the order in which they were eliminated."""

    def _scalar_steps(self) -> Iterator[Step]:
        """Numbers of scalar equations, and of the unknowns they are solved for."""
        row = column = 0
        for equations, variables in self.loop.steps:
            size = int(self.structure.equation_size[equations].sum())
            assert size == self.structure.variable_size[variables].sum(), "a step is not square"
            rows, columns = list(range(row, row + size)), list(range(column, column + size))
            if np.isin(variables, self.loop.torn).any():
                yield rows, columns
            else:  # assigned: element by element
                yield from (([r], [c]) for r, c in zip(rows, columns, strict=True))
            row, column = row + size, column + size

    def solve(self, vectors: dict[str, Any]) -> Eliminated:
        """The nodes of the solution, from all that is known; vectors["w"] is zero where it belongs."""
        w = vectors["w"]
        if not isinstance(w, GraphArray):
            raise CannotPlan("relaxed loops are solved by plans")
        graph, nodes = w.graph, w.nodes.copy()
        places = self.values.elements(self.loop.variables)
        symbols = [graph.symbol(k) for k in range(len(places))]
        nodes[places] = symbols
        pieces = len(graph.pieces)
        residuals = self.residuals({**vectors, "w": GraphArray(graph, nodes)}).nodes.tolist()
        if len(graph.pieces) > pieces:
            raise CannotPlan(f"{graph.pieces[pieces].name} of what relaxed loops are solved for")
        try:
            rows = linear_rows(graph, residuals, symbols)
        except NotLinear as where:
            text = f"`{self.equation_name(where.row)}` is not linear in what it is solved for"
            raise CannotPlan(text) from None
        nodes = nodes.copy()
        nodes[places] = graph.constant(0.0)
        at_zero = self.residuals({**vectors, "w": GraphArray(graph, nodes)}).nodes.tolist()
        found = eliminate(graph, rows, [graph.make("neg", node) for node in at_zero], self.steps)
        self.order = found.order
        return found

    def equation_name(self, row: int) -> str:
        """The equation of a scalar row."""
        sizes = self.structure.equation_size[self.loop.equations]
        return self.structure.equation_name(int(np.repeat(self.loop.equations, sizes)[row]))

    def variable_name(self, unknown: int) -> str:
        """The variable of a scalar unknown."""
        sizes = self.structure.variable_size[self.loop.variables]
        return self.structure.variable_name(int(np.repeat(self.loop.variables, sizes)[unknown]))


def torn_loop(transformed: Transformation, block: int) -> RelaxedLoop:
    """A block as it was torn on the highest level, or the sequence in which it is eliminated."""
    for loop in transformed.form.loops:
        if loop.block == block:
            return loop
    blocks, torn = transformed.blocks, transformed.form.levels[-1]
    equations, variables = blocks.equations_of(block), blocks.variables_of(block)
    mine = np.isin(torn.equations, equations)
    single = zip(torn.equations[mine], torn.variables[mine], strict=True)
    steps = [(np.array([e]), np.array([v])) for e, v in single]
    residuals, tears = without(equations, torn.equations), without(variables, torn.variables)
    if len(residuals):
        steps.append(paired(residuals, tears, transformed.hints))
    return RelaxedLoop(block, tuple(steps), tears)


def solved_loops(
    model: ModelStructure, transformed: Transformation, values: ValueMap, blocks: Sequence[int]
) -> list[SolvedLoop]:
    """What it takes to solve some blocks, each as it was torn."""
    equations = NodeEquations(model, transformed, values)
    return [_solved_loop(model, equations, torn_loop(transformed, block)) for block in blocks]


def _solved_loop(model: ModelStructure, equations: NodeEquations, loop: RelaxedLoop) -> SolvedLoop:
    solver = EliminatedLoop(loop, equations)
    torn = int(solver.structure.variable_size[loop.torn].sum())
    total = sum(len(rows) for rows, _ in solver.steps)
    try:
        graph, vectors = _all_known(model, equations)
        solved = solver.solve(vectors)
    except (StructurallySingular, CannotPlan):
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

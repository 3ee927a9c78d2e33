"""Relaxing (Otter, Elmqvist, Cellier 1996): a sequence of elimination from entries that the user hides.

A loop is sorted again as if variables were not in equations in which they are relaxed. The smaller loops
that are left say in which sequence the unknowns are eliminated, without pivoting; each of them is torn in
turn. Relaxed variables come later, or in the same loop, and so do the entries that elimination fills in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from .blt import Blocks, blt
from .distinct import distinct, without
from .hints import LISTED, Hints, without_hinted_solutions
from .matching import Graph, Matching, match, structure_graph
from .structure import NONE, Integers, Structure
from .tearing import tear

ALONE, ALONE_RELAXING = 10.0, 1000.0
"""What it costs to leave an equation over; to solve it for a variable costs one."""


class CannotRelax(ValueError):
    """A loop that cannot be solved in the sequence that relaxed variables ask for; the text says why."""


@dataclass(frozen=True, eq=False)
class RelaxedLoop:
    """A loop that is solved by elimination.

    Attributes
    ----------
    block : int
        Its number.
    steps : tuple of pairs of arrays of int
        Equations and the variables that they are solved for: one of each where one is assigned, more where
        tear variables are found together.
    torn : array of int
        The tear variables.
    """

    block: int
    steps: tuple[tuple[Integers, Integers], ...]
    torn: Integers

    @property
    def equations(self) -> Integers:
        """All equations in sequence."""
        return np.concatenate([equations for equations, _ in self.steps])

    @property
    def variables(self) -> Integers:
        """All variables in sequence."""
        return np.concatenate([variables for _, variables in self.steps])


def relaxed_loops(
    structure: Structure,
    blocks: Blocks,
    relaxed: Hints,
    hints: Hints,
    constraints: Integers,
    reduce: bool = False,
) -> tuple[RelaxedLoop, ...]:
    """The loops in which variables are relaxed.

    With `reduce`, equations and variables that are left over without the relaxed variables are solved
    together, last; else they are an error.

    `constraints` marks equations that are, or may become at an event, derivatives of constraints of states:
    forces of these are no unknowns of a loop alone, and cannot be eliminated.
    """
    entry = _relaxed_entries(structure, relaxed)
    block_of_equation = blocks.block_of_equation(structure.equation_count)
    block_of_variable = blocks.block_of_variable(structure.variable_count)
    own = block_of_equation[structure.equation_of_entry()]
    inside = (own != NONE) & (own == block_of_variable[structure.variables])
    loops = []
    for block in distinct(own[entry & inside]).tolist():
        equations = blocks.equations_of(block)
        if len(equations) < 2:
            continue
        if constraints[equations].any():
            raise CannotRelax(
                "relax: a loop with constraints of states has no sequence of elimination of its own. Among "
                "them:\n" + _names(structure, equations[constraints[equations]])
            )
        reduced = _without_entries(structure, entry | ~inside)
        given = block, equations, blocks.variables_of(block)
        loops.append(_relaxed_loop(reduced, *given, hints, relaxed.equations, reduce))
    return tuple(loops)


def _relaxed_entries(structure: Structure, relaxed: Hints) -> Integers:
    count = structure.variable_count
    key = structure.equation_of_entry() * count + structure.variables
    equations, variables = relaxed.pairs()
    return np.isin(key, equations * count + variables)


def _without_entries(structure: Structure, gone: Integers) -> Structure:
    row = structure.equation_of_entry()[~gone]
    return replace(
        structure,
        start=np.searchsorted(row, np.arange(structure.equation_count + 1)),
        variables=structure.variables[~gone],
        solvable=structure.solvable[~gone],
    )


def _relaxed_loop(
    reduced: Structure,
    block: int,
    equations: Integers,
    variables: Integers,
    hints: Hints,
    relaxing: Integers,
    reduce: bool,
) -> RelaxedLoop:
    graph, entries = structure_graph(reduced, equations, variables)
    matching = match(graph)
    if reduce and not matching.is_complete():
        matching = _rest_of_others(graph, matching, np.isin(equations, relaxing))
    rest = equations[matching.unmatched_rows()], variables[matching.unmatched_columns()]
    sizes = reduced.equation_size[rest[0]].sum(), reduced.variable_size[rest[1]].sum()
    if len(rest[0]) and (not reduce or sizes[0] != sizes[1]):
        raise CannotRelax(
            "relax: without the relaxed variables a loop is structurally singular. Left over are "
            + ", ".join(map(reduced.variable_name, rest[1][:LISTED].tolist()))
            + ", and of the equations for others, one too many:\n"
            + _names(reduced, rest[0])
            + '\nRelax fewer variables, or the other way around; or translate with relaxing="reduce", '
            "which solves the rest together, or with relaxing=False."
        )
    flow = np.zeros(len(reduced.variables), np.int64)
    flow[entries] = matching.flow
    equations, variables = without(equations, rest[0]), without(variables, rest[1])
    parts = blt(reduced, flow, equations, variables)
    of_equation = parts.block_of_equation(reduced.equation_count)
    of_variable = parts.block_of_variable(reduced.variable_count)
    row = reduced.equation_of_entry()
    same = (of_equation[row] == of_variable[reduced.variables]) & (of_equation[row] != NONE)
    reduced = replace(reduced, solvable=reduced.solvable & same)
    large = np.diff(parts.equation_start) > 1
    named = Hints(_if_in(hints.equations, of_equation, large), _if_in(hints.variables, of_variable, large))
    reduced = without_hinted_solutions(reduced, named)
    about = np.union1d(of_equation[named.equations], of_variable[named.variables])
    tears = named.tears(reduced.variable_count)[reduced.variables]
    counted = same & np.isin(of_equation[row], about) & ~tears
    torn = tear(reduced, parts.equations, [parts.variables], hinted=counted)
    steps: list[tuple[Integers, Integers]] = []
    for part in _as_early_as_possible(reduced, parts):
        mine = of_equation[torn.equations] == part
        steps += [
            (np.array([e]), np.array([v]))
            for e, v in zip(torn.equations[mine], torn.variables[mine], strict=True)
        ]
        residuals = torn.residuals[of_equation[torn.residuals] == part]
        if len(residuals):
            steps.append(paired(residuals, torn.tears[of_variable[torn.tears] == part], hints))
    if len(rest[0]):
        steps.append(rest)
    return RelaxedLoop(block, tuple(steps), np.append(torn.tears, rest[1]))


def _rest_of_others(graph: Graph, matching: Matching, relaxing: Integers) -> Matching:
    """A maximum matching that leaves equations over in which nothing is relaxed, if any: a full matching of
    least cost, where each equation may also take a column of its own instead of a variable."""
    if len(distinct(np.concatenate([graph.row_capacity, graph.column_capacity]))) > 1:
        return matching  # of arrays of several sizes
    count, columns = len(graph.row_capacity), len(graph.column_capacity)
    row = np.append(graph.row, np.arange(count))
    column = np.append(graph.column, columns + np.arange(count))
    alone = np.where(relaxing, ALONE_RELAXING, ALONE)
    cost = np.append(np.ones(len(graph.row)), alone)
    table = csr_matrix((cost, (row, column)), (count, columns + count))
    rows, chosen = min_weight_full_bipartite_matching(table)
    pairs = np.full(count, NONE)
    pairs[rows] = chosen
    return Matching(graph, graph.row_capacity[graph.row] * (pairs[graph.row] == graph.column))


def _as_early_as_possible(reduced: Structure, parts: Blocks) -> list[int]:
    """Each part right behind those it needs. A row that waits longer is filled by all that is eliminated
    meanwhile: the sequence would cost the square of what it has to."""
    needs = parts.block_of_equation(reduced.equation_count)[reduced.equation_of_entry()]
    needed = parts.block_of_variable(reduced.variable_count)[reduced.variables]
    linked = (needs != NONE) & (needed != NONE) & (needs != needed)
    order = np.argsort(needs[linked], kind="stable")
    level = [0] * len(parts)
    for part, before in zip(needs[linked][order].tolist(), needed[linked][order].tolist(), strict=True):
        level[part] = max(level[part], level[before] + 1)  # parts are in order: those before are done
    return np.argsort(level, kind="stable").tolist()


def _if_in(nodes: Integers, part_of: Integers, wanted: Integers) -> Integers:
    """Nodes of some parts; NONE in place of others."""
    part = np.append(part_of, NONE)[nodes]
    return np.where(np.append(wanted, False)[part], nodes, NONE)


def paired(residuals: Integers, tears: Integers, hints: Hints) -> tuple[Integers, Integers]:
    """Residuals and tear variables, those that a hint pairs side by side and first."""
    equations, variables = hints.pairs()
    both = np.isin(equations, residuals) & np.isin(variables, tears)
    first, once = np.unique(variables[both], return_index=True)
    own = equations[both][once]
    return np.append(own, without(residuals, own)), np.append(first, without(tears, first))


def _names(structure: Structure, equations: Integers) -> str:
    return "\n".join(f"    {structure.equation_name(e)}" for e in equations[:LISTED].tolist())

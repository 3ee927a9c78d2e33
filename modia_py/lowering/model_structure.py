"""From a flat model to its structure: array nodes, incidence, and integer-linear equations.

Copies of components become nodes of their own; vectors inside a component stay arrays, split as far as
equations distinguish their elements. The work is done once for each equation of a component class, and
repeated for its copies by index arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays.integer_equations import IntegerEquations
from ..arrays.segments import Segments
from ..arrays.structure import NONE, Integers, Structure, extend_mask
from ..expressions.symbol_kinds import SymbolKind
from ..language.flat_model import FlatEquation, FlatModel, FlatSymbol
from .accesses import EquationTable, EquationTables, equation_tables


@dataclass(frozen=True, eq=False)
class ModelStructure:
    """The structure of a flat model, and what its nodes are.

    Node k < `base_count` of the variables is a variable itself: segment `variable_segment[k]` of copy
    `variable_copy[k]` of flat variable `variable_of[k]`; further nodes are derivatives. Node k of the
    equations likewise. `integers` are the rows of the equations `integer_rows`.
    """

    flat: FlatModel
    tables: EquationTables
    structure: Structure
    base_count: int
    variable_of: Integers
    variable_copy: Integers
    variable_segment: Integers
    equation_of: Integers
    equation_copy: Integers
    equation_segment: Integers
    integers: IntegerEquations
    integer_rows: Integers
    has_start: Integers  # variables with an `init` or a `guess`, which are better kept in x
    timeless: Integers  # equations that contain variables and parameters only

    @property
    def segments(self) -> Segments:
        return self.tables.segments

    def __str__(self) -> str:
        return f"{self.structure}; {self.segments}; {len(self.integer_rows)} integer-linear"


def model_structure(flat: FlatModel) -> ModelStructure:
    """Build the structure of a flat model."""
    tables = equation_tables(flat)
    variables = _VariableNodes(flat, tables.variable_class, tables.segments)
    parts, node = [], 0
    equation_nodes = []
    for number, equation in enumerate(flat.equations):
        table = tables.of(equation)
        copies = equation.owner.copies
        parts.append(_entries(flat, equation, table, variables, node))
        equation_nodes.append((number, copies, table.sizes))
        node += copies * len(table.sizes)
    columns = [np.concatenate([part[k] for part in parts]) if parts else np.zeros(0, int) for k in range(5)]
    return _assemble(flat, tables, variables, equation_nodes, columns)


class _VariableNodes:
    """Numbers of the nodes of all variables: copy after copy, segment after segment."""

    def __init__(self, flat: FlatModel, variable_class: dict[str, int], segments: Segments):
        self.first: dict[str, int] = {}
        self.count_of: dict[str, int] = {}
        owner, copy, segment, size = [], [], [], []
        total = 0
        for number, variable in enumerate(flat.variables):
            lengths = np.diff(segments.variable_cuts[variable_class[variable.name]])
            copies = math.prod(variable.lead)
            self.first[variable.name], self.count_of[variable.name] = total, len(lengths)
            owner.append(np.full(copies * len(lengths), number))
            copy.append(np.repeat(np.arange(copies), len(lengths)))
            segment.append(np.tile(np.arange(len(lengths)), copies))
            size.append(np.tile(lengths, copies))
            total += copies * len(lengths)
        none = [np.zeros(0, np.int64)]
        self.total = total
        self.owner, self.copy = np.concatenate(none + owner), np.concatenate(none + copy)
        self.segment, self.size = np.concatenate(none + segment), np.concatenate(none + size)


def _entries(
    flat: FlatModel,
    equation: FlatEquation,
    table: EquationTable,
    variables: _VariableNodes,
    first_node: int,
) -> list[Integers]:
    """Equation node, variable node, derivative order, solvable, coefficient; for all copies."""
    copies = np.arange(equation.owner.copies)[:, None]
    node, solvable, coefficient = table.node, table.solvable, table.coefficient
    variable = np.zeros((len(copies), len(node)), np.int64)
    for number, leaf in enumerate(table.leaves):
        mine = table.leaf == number
        symbol: FlatSymbol = flat.resolve(leaf, equation.owner)
        inner = math.prod(leaf.lead)
        per_copy = variables.count_of[symbol.name]
        place = (copies * inner + table.copy[mine]) * per_copy + table.segment[mine]
        variable[:, mine] = variables.first[symbol.name] + place
    spread = np.broadcast_to
    shape = variable.shape
    order = np.array([leaf.order for leaf in table.leaves], np.int64)[table.leaf]
    return [
        (first_node + copies * len(table.sizes) + node).ravel(),
        variable.ravel(),
        spread(order, shape).ravel(),
        spread(solvable, shape).ravel(),
        spread(coefficient, shape).ravel(),
    ]


def _assemble(
    flat: FlatModel,
    tables: EquationTables,
    variables: _VariableNodes,
    equation_nodes: list[tuple[int, int, Integers]],
    columns: list[Integers],
) -> ModelStructure:
    none = [np.zeros(0, np.int64)]
    sizes = np.concatenate(none + [np.tile(size, copies) for _, copies, size in equation_nodes])
    owner = np.concatenate(none + [np.full(c * len(s), number) for number, c, s in equation_nodes])
    copy = np.concatenate(none + [np.repeat(np.arange(c), len(s)) for _, c, s in equation_nodes])
    segment = np.concatenate(none + [np.tile(np.arange(len(s)), c) for _, c, s in equation_nodes])
    row, base, order, solvable, coefficient = columns
    column, variable_size, derivative = _with_derivatives(base, order, variables)
    row, column, solvable, coefficient = _merge(row, column, solvable, coefficient, len(variable_size))
    start = np.searchsorted(row, np.arange(len(sizes) + 1))
    naming = _Naming(flat, tables.segments, variables, owner, copy, segment)
    structure = Structure(
        sizes,
        variable_size,
        start,
        column,
        solvable.astype(bool),
        derivative,
        np.full(len(sizes), NONE),
        naming.equation,
        naming.variable,
    )
    integers, rows = _integer_rows(structure, row, coefficient)
    return ModelStructure(
        flat, tables, structure, variables.total, variables.owner, variables.copy, variables.segment,
        owner, copy, segment, integers, rows, _has_start(flat, variables, len(variable_size)),
        _timeless(flat)[owner],
    )  # fmt: skip


def _has_start(flat: FlatModel, variables: _VariableNodes, count: int) -> Integers:
    given = [v.symbol.init is not None or v.symbol.guess is not None for v in flat.variables]
    return extend_mask(np.array(given, bool)[variables.owner], count)


TIMELESS = (SymbolKind.VARIABLE, SymbolKind.PARAMETER)


def _timeless(flat: FlatModel) -> Integers:
    """Flags of equations that contain variables and parameters only."""
    known: dict[int, bool] = {}
    for each in flat.equations:
        equation = each.equation
        if id(equation) not in known:
            known[id(equation)] = all(leaf.kind in TIMELESS for leaf in equation.leaves)
    return np.array([known[id(each.equation)] for each in flat.equations], bool)


def _with_derivatives(
    base: Integers, order: Integers, variables: _VariableNodes
) -> tuple[Integers, Integers, Integers]:
    """Nodes for the derivatives that occur, and those below them; the node of each entry."""
    highest = np.zeros(variables.total, np.int64)
    np.maximum.at(highest, base, order)
    size, derivative = [variables.size], [np.full(variables.total, NONE)]
    node_of_order = [np.arange(variables.total)]
    total = variables.total
    for level in range(1, int(highest.max(initial=0)) + 1):
        moving = np.flatnonzero(highest >= level)
        nodes = np.full(variables.total, NONE)
        nodes[moving] = total + np.arange(len(moving))
        below = node_of_order[-1][moving]
        derivative.append(np.full(len(moving), NONE))
        all_so_far = np.concatenate(derivative)
        all_so_far[below] = nodes[moving]
        derivative = [all_so_far]
        size.append(variables.size[moving])
        node_of_order.append(nodes)
        total += len(moving)
    column = np.stack(node_of_order)[order, base]
    return column, np.concatenate(size), derivative[0]


def _merge(
    row: Integers, column: Integers, solvable: Integers, coefficient: Integers, count: int
) -> tuple[Integers, Integers, Integers, Integers]:
    """Sorted by equation and in the order of occurrence; entries given twice become one, not solvable."""
    key = row * count + column
    unique, first, inverse, times = np.unique(
        key, return_index=True, return_inverse=True, return_counts=True
    )
    total = np.bincount(inverse, coefficient, len(unique)).astype(np.int64)
    unknown = np.bincount(inverse, coefficient == 0, len(unique)) > 0
    total[unknown] = 0
    order = np.lexsort((first, row[first]))
    chosen = first[order]
    return row[chosen], column[chosen], (solvable[first] & (times == 1))[order], total[order]


def _integer_rows(
    structure: Structure, row: Integers, coefficient: Integers
) -> tuple[IntegerEquations, Integers]:
    """Equations all of whose terms have integer coefficients, element by element."""
    fits = structure.variable_size[structure.variables] == structure.equation_size[row]
    bad = np.zeros(structure.equation_count, bool)
    bad[row[(coefficient == 0) | ~fits]] = True
    bad |= np.diff(structure.start) == 0
    rows = np.flatnonzero(~bad)
    usable = ~bad[row]
    lengths = np.diff(structure.start)[rows]
    equations = IntegerEquations(
        np.append(0, np.cumsum(lengths)),
        structure.variables[usable],
        coefficient[usable],
        structure.variable_count,
    )
    return equations, rows


class _Naming:
    """Names of nodes, made when a message needs them."""

    def __init__(
        self,
        flat: FlatModel,
        segments: Segments,
        variables: _VariableNodes,
        owner: Integers,
        copy: Integers,
        segment: Integers,
    ):
        self.flat, self.segments, self.variables = flat, segments, variables
        self.owner, self.copy, self.segment = owner, copy, segment

    def variable(self, node: int) -> str:
        flat = self.flat.variables[self.variables.owner[node]]
        index = (
            [int(k) for k in np.unravel_index(self.variables.copy[node], flat.lead)] if flat.lead else []
        )
        text = flat.name + "".join(f"[{k}]" for k in index)
        before = int(self.variables.segment[node])
        per_copy = self.variables.count_of[flat.name]
        if per_copy == 1:
            return text
        lengths = self.variables.size[node - before : node - before + per_copy]
        start = int(lengths[:before].sum())
        stop = start + int(lengths[before])
        return f"{text}[{start}]" if stop == start + 1 else f"{text}[{start}:{stop}]"

    def equation(self, node: int) -> str:
        flat = self.flat.equations[self.owner[node]]
        parts = []
        if flat.owner.lead:
            parts.append(f"copy {int(self.copy[node])} of {flat.owner.name}")
        if (self.owner == self.owner[node]).sum() > flat.owner.copies:
            parts.append(f"part {int(self.segment[node])}")
        where = ", ".join([str(flat.equation.source), *parts])
        return f"{flat}  ({where})"

"""Which rows of the index-1 form may depend on which elements of x and xdot.

From the terms of the equations, by index arithmetic on whole arrays: for large models this takes a fraction
of the time of following every element through the program, and memory in proportion to the pattern. Where
an equation depends on its variables in a way that only the program knows (a general function of a long
vector), nothing is returned, and the program has to be followed.

Notation: all values w = [x, xdot, local assignments, 0]; M has a row for each scalar equation and a column
for each place of w; P says which of [x, xdot] each place of w depends on. A stage of assignments appends
M P to P, and the rows of the residual are M P, with additions for the multipliers mu.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse

from ..arrays.distinct import distinct
from ..arrays.index1 import Slot
from ..arrays.indices import ranges, starts_of
from ..arrays.structure import NONE, Integers
from ..arrays.transform import Transformation
from ..expressions.equation import Equation
from ..expressions.linear_terms import CoefficientKind, Dependence, LinearTerm, linear_terms
from .index1_functions import Index1Functions
from .model_structure import ModelStructure
from .node_equations import NodeEquations

MOST_ENTRIES_A_ROW = 200
"""An equation with more entries a row, on average, is left to the program."""
CONSTANT_COEFFICIENTS = (CoefficientKind.INTEGER, CoefficientKind.CONSTANT, CoefficientKind.NONZERO)


def sparsity(
    model: ModelStructure, transformed: Transformation, functions: Index1Functions
) -> tuple[sparse.csr_array, sparse.csr_array] | None:
    """Patterns of the residual and of w with respect to [x, xdot]; None if the terms do not tell."""
    form, values = transformed.form, functions.value_map
    entries = _Entries(model, NodeEquations(model, transformed, values))
    n = form.size
    try:
        known = sparse.eye_array(2 * n, dtype=bool, format="csr")
        for chosen in values.stages:
            step = entries.matrix(form.local_equations[chosen])[:, : known.shape[0]]
            known = sparse.vstack([known, _product(step, known)], format="csr")
        places = sparse.vstack([known, sparse.csr_array((1, 2 * n), dtype=bool)], format="csr")
        fd = _product(entries.matrix(form.fd), places)
        fc = _product(entries.matrix(form.fc), places)
        chain = _chain(transformed, functions, entries, places)
    except _NotTold:
        return None
    return sparse.vstack([chain, fd, fc], format="csr").astype(bool), places


class _NotTold(Exception):
    """The terms of an equation do not say which elements its rows depend on."""


def _product(a: sparse.csr_array, b: sparse.csr_array) -> sparse.csr_array:
    return sparse.csr_array(a.astype(np.int32) @ b.astype(np.int32)).astype(bool)


def _chain(
    transformed: Transformation, functions: Index1Functions, entries: _Entries, places: sparse.csr_array
) -> sparse.csr_array:
    """Rows xdot - variable, and what the multipliers of constraints on the same x bring in."""
    form, n = transformed.form, transformed.form.size
    sizes = form.slot_size()
    own = ranges(functions.slot_offset[form.chain_slot], sizes[form.chain_slot])
    rows = np.arange(len(own))
    xdot = sparse.csr_array((np.ones(len(own), bool), (rows, n + own)), shape=(len(own), 2 * n))
    chain = xdot + places[functions.value_map.elements(form.chain_variable)]
    mu = np.flatnonzero(form.kind == Slot.MU)
    if len(mu):
        integral = transformed.structure.integral_of_equation()[form.residual[mu]]
        gradient = _product(entries.matrix(integral), places)
        mu_places = ranges(functions.slot_offset[mu], sizes[mu])
        count = len(mu_places)
        with_mu = sparse.csr_array(
            (np.ones(count, bool), (np.arange(count), n + mu_places)), shape=(count, 2 * n)
        )
        transposed = sparse.csr_array(gradient[:, own].T)
        chain = chain + _product(transposed, sparse.csr_array(gradient + with_mu))
    return sparse.csr_array(chain)


class _Entries:
    """The matrix M of any equation nodes."""

    def __init__(self, model: ModelStructure, equations: NodeEquations):
        self.model, self.equations = model, equations
        self._terms: dict[int, list[tuple[LinearTerm, Integers, Integers]]] = {}

    def matrix(self, nodes: Integers) -> sparse.csr_array:
        equations, values = self.equations, self.equations.values
        sizes = equations.transformed.structure.equation_size[nodes]
        first = starts_of(sizes)
        hidden = equations.hidden_row[equations.origin[nodes]] != NONE
        rows, columns = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        if hidden.any():
            row, column, _ = equations.hidden_entries(nodes[hidden])
            rows.append(ranges(first[hidden], sizes[hidden])[row])
            columns.append(column)
        written = np.flatnonzero(~hidden)
        origin = equations.origin[nodes[written]]
        kind = np.stack([self.model.equation_of[origin], equations.order[nodes[written]]])
        for members in _groups(kind):
            chosen = written[members]
            row, column = self._of_equation(nodes[chosen], first[chosen], sizes[chosen])
            rows.append(row)
            columns.append(column)
        row, column = np.concatenate(rows), np.concatenate(columns)
        shape = (int(sizes.sum()), values.zero + 1)
        return sparse.csr_array((np.ones(len(row), bool), (row, column)), shape=shape)

    def _of_equation(self, nodes: Integers, first: Integers, sizes: Integers) -> tuple[Integers, Integers]:
        """Entries of nodes that are copies and segments of one equation, differentiated equally often."""
        equations, values, model = self.equations, self.equations.values, self.model
        origin, order = equations.origin[nodes], int(equations.order[nodes[0]])
        flat = model.flat.equations[int(model.equation_of[origin[0]])]
        table = equations.tables.of(flat)
        row_starts = starts_of(table.sizes)[model.equation_segment[origin]]
        copies, which = np.unique(model.equation_copy[origin], return_inverse=True)
        target = np.full((len(copies), flat.equation.size), NONE)
        target[np.repeat(which.reshape(-1), sizes), ranges(row_starts, sizes)] = ranges(first, sizes)
        rows, columns = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for term, row, element in self._rows_and_elements(flat.equation):
            symbol = model.flat.resolve(term.leaf, flat.owner)
            at = target[:, row]
            place = symbol.offset + copies[:, None] * term.leaf.size + element
            wanted = at != NONE
            at, place = at[wanted], place[wanted]
            lowest = order if term.kind in CONSTANT_COEFFICIENTS else 0
            for depth in range(term.leaf.order + lowest, term.leaf.order + order + 1):
                rows.append(at)
                columns.append(values.used(depth, place)[0])
        row, column = np.concatenate(rows), np.concatenate(columns)
        nonzero = column != values.zero
        return row[nonzero], column[nonzero]

    def _rows_and_elements(self, equation: Equation) -> list[tuple[LinearTerm, Integers, Integers]]:
        if id(equation) not in self._terms:
            self._terms[id(equation)] = [
                (term, *_term_entries(term, equation)) for term in linear_terms(equation)
            ]
        return self._terms[id(equation)]


def _term_entries(term: LinearTerm, equation: Equation) -> tuple[Integers, Integers]:
    """Rows of the equation and elements of the leaf, pair by pair."""
    places, rows = term.positions.to_array(), equation.size
    if term.dependence in (Dependence.ELEMENTWISE, Dependence.BROADCAST):
        try:
            return np.arange(rows), np.broadcast_to(places, equation.shape).reshape(-1)
        except ValueError:
            pass
    different = distinct(places)
    if rows > 1 and rows * len(different) > MOST_ENTRIES_A_ROW * rows:
        raise _NotTold
    return np.repeat(np.arange(rows), len(different)), np.tile(different, rows)


def _groups(kinds: Integers) -> list[Integers]:
    """Columns that are equal."""
    if not kinds.shape[1]:
        return []
    order = np.lexsort(kinds)
    cuts = np.flatnonzero((np.diff(kinds[:, order], axis=1) != 0).any(axis=0)) + 1
    return np.split(order, cuts)

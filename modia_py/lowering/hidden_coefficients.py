"""The coefficients that local assignments divide by: integers, constants, or nonzero parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays.indices import grouped, ranges, starts_of
from ..arrays.structure import NONE, Integers
from ..arrays.transform import Transformation
from ..expressions.expression import Constant, Expr, Leaf, call
from ..expressions.indexing import Positions
from ..expressions.linear_terms import Dependence, LinearTerm, linear_terms
from ..expressions.primitives import named
from ..language.flat_model import FlatEquation
from ..plan.graph_array import concatenate, full, multiplied, zeros
from .batches import Batch, Location, Use, make_batches
from .intervals import MOST_RUNS
from .model_structure import ModelStructure
from .node_equations import NodeEquations
from .value_map import flat_starts


@dataclass(frozen=True, eq=False)
class _ParameterFactor:
    """Coefficients that depend on parameters: where which element of which copy of an expression goes."""

    use: Use
    copies: Integers
    elements: Integers
    places: Integers


def assignment_coefficients(
    model: ModelStructure, transformed: Transformation, equations: NodeEquations
) -> Callable[[Any], Any]:
    """A function of the parameters: the coefficients of all local assignments, in the order of w."""
    form, final = transformed.form, transformed.structure
    sizes = final.equation_size[form.local_equations]
    by_place = np.argsort(equations.values.offset[form.local_variables], kind="stable")
    first = np.zeros(len(sizes), np.int64)
    first[by_place] = starts_of(sizes[by_place])
    pairs = _Pairs(model, transformed, equations)
    fixed = pairs.sign.astype(float)  # one number for each assignment ...
    fixed[pairs.hidden] = pairs.hidden_coefficients()
    fixed[pairs.integer] = pairs.integer_coefficients()
    computed: list[
        _ParameterFactor
    ] = []  # ... and where its elements differ or depend on parameters, factors
    constants: list[tuple[Integers, Any]] = []
    for flat, members in pairs.by_equation():
        for term, chosen in pairs.terms(flat, members):
            coefficient = _of_rows(term, flat)
            if isinstance(coefficient, Constant) and not coefficient.ndim:
                fixed[chosen] *= float(coefficient.value)
                continue
            lengths = sizes[chosen]
            places, rows = ranges(first[chosen], lengths), ranges(pairs.row[chosen], lengths)
            elements = rows if coefficient.ndim else np.zeros_like(rows)
            if isinstance(coefficient, Constant):
                constants.append((places, coefficient.value.reshape(-1)[elements]))
            else:
                copies = np.repeat(model.equation_copy[pairs.origin[chosen]], lengths)
                computed.append(_ParameterFactor(_use(model, flat, coefficient), copies, elements, places))
    batches = [_gathered(batch, computed) for batch in make_batches([entry.use for entry in computed])]
    order = np.argsort(first, kind="stable")
    runs = _constant_runs(fixed[order], sizes[order])

    def coefficients(p: Any) -> Any:
        values = concatenate([zeros(0, p), *(full(count, value, p) for value, count in runs)], like=p)
        for places, factor in constants:
            values = multiplied(values, places, factor)
        for batch, source, places in batches:
            found = batch({"p": p, "time": 0.0}).reshape(-1)
            values = multiplied(values, places, found[source])
        return values

    return coefficients


def _constant_runs(numbers: Any, lengths: Integers) -> list[tuple[Any, int]]:
    """Equal numbers side by side as one; all of them as they are where that does not make them few."""
    if not len(numbers):
        return []
    cuts = np.append(0, np.flatnonzero(np.diff(numbers)) + 1)
    if len(cuts) > MOST_RUNS:
        return [(np.repeat(numbers, lengths), int(lengths.sum()))]
    return list(zip(numbers[cuts].tolist(), np.add.reduceat(lengths, cuts).tolist(), strict=True))


class _Pairs:
    """Local assignments, traced back to the equations and variables that the user wrote."""

    def __init__(self, model: ModelStructure, transformed: Transformation, equations: NodeEquations):
        self.model, self.transformed, self.equations = model, transformed, equations
        form, found = transformed.form, transformed.simplified.found
        lower = transformed.structure.integral_of_variable()
        variable, order = form.local_variables.copy(), equations.order[form.local_equations]
        for level in range(int(order.max(initial=0))):  # the coefficient is that of the equation as written
            variable = np.where(order > level, lower[variable], variable)
        self.origin = equations.origin[form.local_equations]
        self.original = transformed.simplified.variables[variable]
        hidden_row = equations.hidden_row[self.origin]
        self.hidden = np.flatnonzero(hidden_row != NONE)
        integer_row = np.full(model.structure.equation_count, NONE)
        integer_row[model.integer_rows] = np.arange(len(model.integer_rows))
        self.integer_row = integer_row[self.origin]
        self.integer = np.flatnonzero((hidden_row == NONE) & (self.integer_row != NONE))
        self.written = np.flatnonzero((hidden_row == NONE) & (self.integer_row == NONE))
        self.own = np.full(len(self.origin), NONE)
        self.own[self.written] = self._own_variables()
        is_alias = (self.own != NONE) & (found.alias_of[self.own] >= 0)
        self.sign = np.where(is_alias, found.alias_sign[self.own], 1)
        self.base, self.base_order = self._bases()
        self.row = self._first_rows()
        self.starts = flat_starts(model)
        self._terms: dict[int, list[LinearTerm]] = {}

    def _own_variables(self) -> Integers:
        """What the equation contains, of which the assigned variable may be the alias."""
        structure, found = self.model.structure, self.transformed.simplified.found
        origin, original = self.origin[self.written], self.original[self.written]
        counts = np.diff(structure.start)[origin]
        pair = np.repeat(np.arange(len(origin)), counts)
        contained = structure.variables[ranges(structure.start[origin], counts)]
        stands_for = np.where(found.alias_of[contained] >= 0, found.alias_of[contained], contained)
        hit = stands_for == original[pair]
        own = np.full(len(origin), NONE)
        own[pair[hit]] = contained[hit]
        assert (own != NONE).all(), "an equation does not contain what it is solved for"
        return own

    def _bases(self) -> tuple[Integers, Integers]:
        """The variable itself, and how often it is differentiated."""
        integral = self.model.structure.integral_of_variable()
        base, order = self.own.copy(), np.zeros(len(self.own), np.int64)
        while (moving := (base != NONE) & (integral[base] != NONE)).any():
            order += moving
            base = np.where(moving, integral[base], base)
        return base, order

    def _first_rows(self) -> Integers:
        """The row of its equation, within a copy, at which each assigned node begins."""
        row = np.zeros(len(self.origin), np.int64)
        for flat, members in self.by_equation():
            sizes = self.equations.tables.of(flat).sizes
            row[members] = starts_of(sizes)[self.model.equation_segment[self.origin[members]]]
        return row

    def hidden_coefficients(self) -> list[float]:
        found = self.transformed.simplified.found
        values = []
        for place in self.hidden.tolist():
            variables, coefficients = found.hidden.row(int(self.equations.hidden_row[self.origin[place]]))
            values.append(float(coefficients[variables == self.original[place]][0]))
        return values

    def integer_coefficients(self) -> Any:
        """An integer-linear equation may contain a variable by several of its aliases: their sum counts."""
        found, rows, own = (
            self.transformed.simplified.found,
            self.model.integers,
            self.integer_row[self.integer],
        )
        counts = rows.lengths[own]
        entries = ranges(rows.indptr[own], counts)
        pair, contained = np.repeat(np.arange(len(own)), counts), rows.variables[entries]
        is_alias = found.alias_of[contained] >= 0
        stands_for = np.where(is_alias, found.alias_of[contained], contained)
        weight = rows.coefficients[entries].astype(float)
        weight = np.where(is_alias, found.alias_sign[contained], 1) * weight
        weight = np.where(stands_for == self.original[self.integer][pair], weight, 0.0)
        total = np.bincount(pair, weight, minlength=len(own))
        assert total.all(), "an equation does not contain what it is solved for"
        return total

    def by_equation(self) -> list[tuple[FlatEquation, Integers]]:
        """Assignments by the equation they are copies or parts of."""
        number = self.model.equation_of[self.origin[self.written]]
        return [
            (self.model.flat.equations[int(number[members[0]])], self.written[members])
            for members in grouped(number)
        ]

    def terms(self, flat: FlatEquation, members: Integers) -> list[tuple[LinearTerm, Integers]]:
        """For each term of the equation, the assignments that are solved for it."""
        if id(flat.equation) not in self._terms:
            self._terms[id(flat.equation)] = linear_terms(flat.equation)
        copies = self.model.equation_copy[self.origin[members]]
        start = self.starts[self.base[members]]
        left = np.ones(len(members), bool)
        found = []
        for term in self._terms[id(flat.equation)]:
            if term.coefficient is None or not left.any():
                continue
            symbol = self.model.flat.resolve(term.leaf, flat.owner)
            local = start - symbol.offset - copies * term.leaf.size
            if term.dependence is Dependence.ELEMENTWISE:
                there = _elements_at(term.positions, self.row[members]) == local
            else:
                there = np.isin(local, term.positions.to_array())
            hit = left & (self.base_order[members] == term.leaf.order) & there
            left &= ~hit
            if hit.any():
                found.append((term, members[hit]))
        assert not left.any(), "an assignment has no coefficient"
        return found


def _elements_at(positions: Positions, rows: Integers) -> Integers:
    """The elements in some rows, of positions that are not written out."""
    if positions.explicit is not None:
        return positions.explicit.reshape(-1)[rows]
    index = np.unravel_index(rows, positions.shape) if positions.shape else ()
    return positions.offset + sum(
        (stride * place for stride, place in zip(positions.strides, index, strict=True)),
        start=np.zeros_like(rows),
    )


def _of_rows(term: LinearTerm, flat: FlatEquation) -> Expr:
    """The coefficient in the rows of an equation; one number may serve all."""
    coefficient = term.coefficient
    assert coefficient is not None
    if coefficient.ndim == 0:
        return coefficient
    if coefficient.shape != flat.equation.shape:
        coefficient = call(named("broadcast_to"), coefficient, flat.equation.shape)
    return coefficient.reshape(-1)


def _use(model: ModelStructure, flat: FlatEquation, coefficient: Expr) -> Use:
    lead = flat.owner.lead

    def locate(leaf: Leaf) -> Location:
        symbol = model.flat.resolve(leaf, flat.owner)
        return Location("p", symbol.offset, symbol.copy_strides(leaf, lead))

    return Use(coefficient, lead, locate)


def _gathered(batch: Batch, computed: list[_ParameterFactor]) -> tuple[Batch, Integers, Integers]:
    """A batch, which of its values are wanted, and where they go."""
    width = math.prod(batch.root.shape)
    source, places, start = [], [], 0
    for number in batch.uses:
        entry = computed[number]
        source.append((start + entry.copies) * width + entry.elements)
        places.append(entry.places)
        start += entry.use.copies
    return batch, np.concatenate(source), np.concatenate(places)

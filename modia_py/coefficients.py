"""The coefficients that local assignments divide by: integers, constants, or nonzero parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from .arrays.structure import NONE, Integers
from .arrays.transform import Transformation
from .batches import Batch, Location, Use, make_batches
from .expressions import Constant, Expr, Leaf, call
from .flat_model import FlatEquation
from .linear_terms import LinearTerm, Pattern, linear_terms
from .node_equations import NodeEquations
from .primitives import named
from .structure import ModelStructure
from .value_map import flat_starts, ranges


@dataclass(frozen=True, eq=False)
class _Computed:
    """Coefficients that depend on parameters: where which element of which copy of an expression goes."""

    use: Use
    copies: Integers
    elements: Integers
    places: Integers


def assignment_coefficients(
    model: ModelStructure, result: Transformation, equations: NodeEquations
) -> Callable[[Any], Any]:
    """A function of the parameters: the coefficients of all local assignments, in the order of w."""
    form, final = result.form, result.structure
    sizes = final.equation_size[form.local_equations]
    first = equations.values.offset[form.local_variables] - 2 * form.size
    fixed = np.ones(int(sizes.sum()))
    pairs = _Pairs(model, result, equations)
    for place, value in zip(pairs.hidden.tolist(), pairs.hidden_coefficients(), strict=True):
        fixed[first[place] : first[place] + sizes[place]] = value
    computed: list[_Computed] = []
    for flat, members in pairs.by_equation():
        for term, chosen in pairs.terms(flat, members):
            lengths = sizes[chosen]
            places, rows = ranges(first[chosen], lengths), ranges(pairs.row[chosen], lengths)
            fixed[places] *= np.repeat(pairs.sign[chosen], lengths)
            coefficient = _of_rows(term, flat)
            elements = rows if coefficient.ndim else np.zeros_like(rows)
            if isinstance(coefficient, Constant):
                fixed[places] *= coefficient.value.reshape(-1)[elements]
            else:
                copies = np.repeat(model.equation_copy[pairs.origin[chosen]], lengths)
                computed.append(_Computed(_use(model, flat, coefficient), copies, elements, places))
    batches = [_gathered(batch, computed) for batch in make_batches([entry.use for entry in computed])]

    def coefficients(p: Any) -> Any:
        values = jnp.asarray(fixed)
        for batch, source, places in batches:
            found = batch({"p": p, "time": 0.0}).reshape(-1)
            values = values.at[places].multiply(found[source])
        return values

    return coefficients


class _Pairs:
    """Local assignments, traced back to the equations and variables that the user wrote."""

    def __init__(self, model: ModelStructure, result: Transformation, equations: NodeEquations):
        self.model, self.result, self.equations = model, result, equations
        form, found = result.form, result.simplified.found
        lower = result.structure.integral_of_variable()
        variable, order = form.local_variables.copy(), equations.order[form.local_equations]
        for level in range(int(order.max(initial=0))):  # the coefficient is that of the equation as written
            variable = np.where(order > level, lower[variable], variable)
        self.origin = equations.origin[form.local_equations]
        self.original = result.simplified.variables[variable]
        hidden_row = equations.hidden_row[self.origin]
        self.hidden = np.flatnonzero(hidden_row != NONE)
        self.written = np.flatnonzero(hidden_row == NONE)
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
        structure, found = self.model.structure, self.result.simplified.found
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
            row[members] = (np.cumsum(sizes) - sizes)[self.model.equation_segment[self.origin[members]]]
        return row

    def hidden_coefficients(self) -> list[float]:
        found = self.result.simplified.found
        values = []
        for place in self.hidden.tolist():
            variables, coefficients = found.hidden.row(int(self.equations.hidden_row[self.origin[place]]))
            values.append(float(coefficients[variables == self.original[place]][0]))
        return values

    def by_equation(self) -> list[tuple[FlatEquation, Integers]]:
        """Assignments by the equation they are copies or parts of."""
        number = self.model.equation_of[self.origin[self.written]]
        order = np.argsort(number, kind="stable")
        cuts = np.flatnonzero(np.diff(number[order])) + 1
        return [
            (self.model.flat.equations[int(number[members[0]])], self.written[members])
            for members in (np.split(order, cuts) if len(order) else [])
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
            places = term.positions.to_array().reshape(-1)
            local = start - symbol.offset - copies * term.leaf.size
            by_element = term.pattern is Pattern.ELEMENTWISE
            there = places[self.row[members]] == local if by_element else np.isin(local, places)
            hit = left & (self.base_order[members] == term.leaf.order) & there
            left &= ~hit
            if hit.any():
                found.append((term, members[hit]))
        assert not left.any(), "an assignment has no coefficient"
        return found


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


def _gathered(batch: Batch, computed: list[_Computed]) -> tuple[Batch, Integers, Integers]:
    """A batch, which of its values are wanted, and where they go."""
    width = math.prod(batch.root.shape)
    source, places, start = [], [], 0
    for number in batch.uses:
        entry = computed[number]
        source.append((start + entry.copies) * width + entry.elements)
        places.append(entry.places)
        start += entry.use.copies
    return batch, np.concatenate(source), np.concatenate(places)

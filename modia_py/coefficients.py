"""The coefficients that local assignments divide by: integers, constants, or nonzero parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from .arrays.structure import NONE, Integers
from .arrays.transform import Transformation
from .batches import Location, Use, make_batches
from .expressions import Constant, Expr, Leaf, call
from .linear_terms import LinearTerm, Pattern, linear_terms
from .node_equations import NodeEquations
from .primitives import named
from .structure import ModelStructure
from .value_map import flat_starts


def assignment_coefficients(
    model: ModelStructure, result: Transformation, equations: NodeEquations
) -> Callable[[Any], Any]:
    """A function of the parameters: the coefficients of all local assignments, element after element."""
    form, final = result.form, result.structure
    sizes = final.equation_size[form.local_equations]
    fixed = np.ones(int(sizes.sum()))
    computed: list[tuple[Use, Integers]] = []
    finder = _Finder(model, result, equations)
    first = 0
    for equation, variable, size in zip(
        form.local_equations.tolist(), form.local_variables.tolist(), sizes.tolist(), strict=True
    ):
        places = np.arange(first, first + size)
        first += size
        sign, coefficient, use = finder.find(equation, variable)
        fixed[places] = sign * (coefficient if use is None else 1.0)
        if use is not None:
            computed.append((use, places))
    batches = [
        (batch, np.concatenate([computed[number][1] for number in batch.uses]))
        for batch in make_batches([use for use, _ in computed])
    ]
    lengths = {number: len(places) for number, (_, places) in enumerate(computed)}

    def coefficients(p: Any) -> Any:
        values = jnp.asarray(fixed)
        for batch, places in batches:
            found = batch({"p": p, "time": 0.0})
            spread = [
                jnp.broadcast_to(value, (lengths[number],)) if value.ndim == 0 else value.reshape(-1)
                for number, value in zip(batch.uses, found, strict=True)
            ]
            values = values.at[places].multiply(jnp.concatenate(spread))
        return values

    return coefficients


class _Finder:
    """Finds the term of an equation that an assignment is solved for."""

    def __init__(self, model: ModelStructure, result: Transformation, equations: NodeEquations):
        self.model, self.result, self.equations = model, result, equations
        self.lower = result.structure.integral_of_variable()
        self.terms: dict[int, list[LinearTerm]] = {}
        self.starts = flat_starts(model)

    def find(self, equation: int, variable: int) -> tuple[float, Any, Use | None]:
        """Sign of an alias, a number (or array of them), and what to compute if it is not a number."""
        for _ in range(int(self.equations.order[equation])):
            variable = int(self.lower[variable])
        origin = int(self.equations.origin[equation])
        hidden = int(self.equations.hidden_row[origin])
        found = self.result.simplified.found
        original = int(self.result.simplified.variables[variable])
        if hidden != NONE:
            variables, coefficients = found.hidden.row(hidden)
            return 1.0, float(coefficients[variables == original][0]), None
        structure = self.model.structure
        flat = self.model.flat.equations[self.model.equation_of[origin]]
        key = id(flat.equation)
        if key not in self.terms:
            self.terms[key] = linear_terms(flat.equation)
        contained = structure.variables_of(origin)
        stands_for = np.where(found.alias_of[contained] >= 0, found.alias_of[contained], contained)
        (own,) = contained[stands_for == original]
        sign = float(found.alias_sign[own]) if found.alias_of[own] >= 0 else 1.0
        table = self.equations.tables.of(flat)
        rows = self._rows(origin, table)
        term = self._term(self.terms[key], flat, int(own), origin, rows.start)
        coefficient = term.coefficient
        assert coefficient is not None
        if coefficient.ndim and coefficient.shape != flat.equation.shape:
            coefficient = call(named("broadcast_to"), coefficient, flat.equation.shape)
        if isinstance(coefficient, Constant):
            value = coefficient.value
            return sign, (value.reshape(-1)[rows] if value.ndim else float(value)), None
        copy = int(self.model.equation_copy[origin])
        expr: Expr = coefficient if coefficient.ndim == 0 else coefficient.reshape(-1)[rows]

        def locate(leaf: Leaf) -> Location:
            symbol = self.model.flat.resolve(leaf, flat.owner)
            return Location("p", symbol.offset + copy * leaf.size, ())

        return sign, None, Use(expr, (), locate)

    def _rows(self, origin: int, table: Any) -> slice:
        segment = int(self.model.equation_segment[origin])
        start = int(table.sizes[:segment].sum())
        return slice(start, start + int(table.sizes[segment]))

    def _term(self, terms: list[LinearTerm], flat: Any, own: int, origin: int, row: int) -> LinearTerm:
        """The term that contains the first element of a node, in the row where the equation node begins."""
        integral = self.model.structure.integral_of_variable()
        order = 0
        while integral[own] != NONE:
            own, order = int(integral[own]), order + 1
        start = int(self.starts[own])
        copy = int(self.model.equation_copy[origin])
        for term in terms:
            if term.leaf.order != order or term.coefficient is None:
                continue
            symbol = self.model.flat.resolve(term.leaf, flat.owner)
            local = start - symbol.offset - copy * term.leaf.size
            places = term.positions.to_array().reshape(-1)
            if term.pattern is Pattern.ELEMENTWISE:
                places = places[row : row + 1]
            if (places == local).any():
                return term
        raise AssertionError("an assignment has no coefficient")

"""The equations of a model as they were written, evaluated on the values that a result gives.

Nothing of the transformation is used here but where it has put the value of each variable and derivative:
what was eliminated, differentiated, dropped or solved for is looked at in the user's own equations.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..arrays.structure import NONE, Integers
from ..expressions.printing import der_text, index_text
from ..language.flat_model import FlatEquation, FlatModel
from ..plan.graph_array import CannotPlan
from ..plan.planned_function import MixedFunction, PlannedFunction, planned
from .flat_residual import flat_residual
from .value_map import ValueMap


class WrittenEquations:
    """`residual(t, v, vdot, p, u)` is lhs - rhs of all equations; `values` finds v and vdot."""

    def __init__(self, flat: FlatModel, where: ValueMap, as_plan: bool = False):
        self.flat, self.equations = flat, flat_residual(flat)
        self.size = self.equations.unknowns.size
        self.rows = sum(equation.size for equation in flat.equations)
        self.element = np.zeros(self.size, np.int64)  # of the flat variables, of which v is a derivative
        self.order = np.zeros(self.size, np.int64)
        for variable in flat.variables:
            order = 0
            while (place := self.equations.unknowns.places.get(der_text(variable.name, order))) is not None:
                part = slice(place.offset, place.offset + place.size)
                self.element[part] = variable.offset + np.arange(place.size)
                self.order[part] = order
                order += 1
        self._texts: dict[int, str] = {}
        self._v = self._found(where, self.order)
        self._vdot = self._found(where, self.order + 1)
        self._inputs, self.input_order = self._input_places()
        self.plan = self._planned() if as_plan else None

    def _found(self, where: ValueMap, order: Integers) -> tuple[Integers, Integers]:
        """Places in w, and signs; what no equation has is zero."""
        known = np.minimum(order, where.orders - 1)
        place, sign = where.place[known, self.element], where.sign[known, self.element]
        has_value = (order < where.orders) & (place != NONE)
        return np.where(has_value, place, where.zero), np.where(has_value, sign, 0)

    def _input_places(self) -> tuple[Integers, int]:
        """Where the inputs of the equations are among all inputs, then all first derivatives, ..."""
        names, total = self.equations.inputs.places, sum(entry.size for entry in self.flat.inputs)
        places, highest = np.zeros(self.equations.inputs.size, np.int64), 0
        for entry in self.flat.inputs:
            order = 0
            while (place := names.get(der_text(entry.name, order))) is not None:
                part = slice(place.offset, place.offset + place.size)
                places[part] = order * total + entry.offset + np.arange(place.size)
                highest = max(highest, order)
                order += 1
        return places, highest

    @property
    def found(self) -> tuple[tuple[Integers, Integers], tuple[Integers, Integers]]:
        """Places among all values of the index-1 form, and signs, of v and of vdot."""
        return self._v, self._vdot

    @property
    def places(self) -> Integers:
        """Where v is among all values of the index-1 form."""
        return self._v[0]

    def values(self, w: Any) -> tuple[Any, Any]:
        """v and vdot, from all values of the index-1 form."""
        return tuple(jnp.asarray(sign, float) * w[place] for place, sign in (self._v, self._vdot))

    def inputs_of(self, u: Any) -> Any:
        """The inputs of the equations, among all inputs and their derivatives."""
        return u[self._inputs]

    def residual(self, t: Any, v: Any, vdot: Any, p: Any, u: Any) -> Any:
        if self.plan is not None:
            return self.plan(jnp.reshape(jnp.asarray(t, float), (1,)), v, vdot, p, u[self._inputs])
        return self._written(t, v, vdot, p, u[self._inputs])

    def _written(self, t: Any, v: Any, vdot: Any, p: Any, u: Any) -> Any:
        return self.equations.residual(t, v, vdot, p, u)[: self.rows]

    def _planned(self) -> PlannedFunction | MixedFunction | None:
        sizes = (1, self.size, self.size, self.flat.data_size, self.equations.inputs.size)
        try:
            return planned(lambda t, v, vdot, p, u: self._written(t[0], v, vdot, p, u), sizes)
        except CannotPlan:
            return None

    def equation_of(self, row: int) -> tuple[FlatEquation, int]:
        """The equation behind a row, and which of its elements it is."""
        for equation, rows in zip(self.flat.equations, self.equations.rows, strict=True):
            if rows.start <= row < rows.stop:
                return equation, row - rows.start
        raise IndexError(f"there is no row {row}")

    def equation_text(self, row: int) -> str:
        """The equation behind a row, with its line."""
        if row not in self._texts:
            equation, element = self.equation_of(row)
            text = f"{equation}  ({equation.equation.source})"
            index = index_text(element, equation.shape) if equation.shape else ""
            place = f"[{index}]" if "," in index else index
            self._texts[row] = f"element {place} of {text}" if equation.size > 1 else text
        return self._texts[row]

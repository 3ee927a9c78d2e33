"""Equations that hold at the start only, as a function of all values of the index-1 form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ModelError
from ..language.flat_model import FlatEquation, FlatModel
from ..lowering.flat_expressions import flat_expressions, unknown_derivative
from ..lowering.value_map import ValueMap


def initial_residual(
    flat: FlatModel, values: ValueMap
) -> tuple[Callable[[dict[str, Any]], Any], list[tuple[FlatEquation, int]]]:
    """Residuals from the vectors w, p, u and the time, and for each block of rows its equation and size."""
    for equation in flat.initial_equations:
        sides = (equation.equation.lhs, equation.equation.rhs)
        if (missing := unknown_derivative(flat, values, sides, equation.owner)) is not None:
            raise ModelError(
                f"The initial equation `{equation}` ({equation.equation.source}) contains {missing}, which "
                f"is not part of the equations of the model."
            )
    items = [(equation.equation.residual(), equation.owner) for equation in flat.initial_equations]
    rows = [(equation, equation.size) for equation in flat.initial_equations]
    return flat_expressions(flat, values, items), rows

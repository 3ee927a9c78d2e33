"""Equations that hold at the start only, as a function of all values of the index-1 form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never

import jax.numpy as jnp
import numpy as np

from ..arrays.structure import NONE
from ..errors import ModelError
from ..expressions.expression import Leaf, leaves_of
from ..expressions.printing import der_text
from ..expressions.symbol_kinds import SymbolKind
from ..language.flat_model import FlatEquation, FlatModel
from ..lowering.batches import Location, Use, make_batches
from ..lowering.value_map import ValueMap


def initial_residual(
    flat: FlatModel, values: ValueMap
) -> tuple[Callable[[dict[str, Any]], Any], list[tuple[FlatEquation, int]]]:
    """Residuals from the vectors w, p, u and the time, and for each block of rows its equation and size."""
    for equation in flat.initial_equations:
        _check_known(flat, equation, values)
    count = flat.unknowns
    inputs = sum(entry.size for entry in flat.inputs)
    uses = []
    for equation in flat.initial_equations:
        owner = equation.owner

        def locate(leaf: Leaf, owner: Any = owner) -> Location:
            symbol = flat.resolve(leaf, owner)
            strides = symbol.copy_strides(leaf, owner.lead)
            match symbol.kind:
                case SymbolKind.PARAMETER | SymbolKind.DISCRETE:
                    return Location("p", symbol.offset + flat.shift_in_p(symbol.kind, leaf.order), strides)
                case SymbolKind.INPUT:
                    return Location("u", symbol.offset + leaf.order * inputs, strides)
                case SymbolKind.VARIABLE:
                    return Location("v", symbol.offset + leaf.order * count, strides)
                case SymbolKind.TIME:
                    raise AssertionError("the time has no place in a vector")
                case _:
                    assert_never(symbol.kind)

        uses.append(Use(equation.equation.residual(), owner.lead, locate))
    batches = make_batches(uses)
    place = np.where(values.place == NONE, values.zero, values.place).reshape(-1)
    sign = values.sign.reshape(-1).astype(float)

    def evaluate(vectors: dict[str, Any]) -> Any:
        if not batches:
            return jnp.zeros(0)
        known = {**vectors, "v": sign * vectors["w"][place]}
        return jnp.concatenate([batch(known).reshape(-1) for batch in batches])

    rows = [
        (flat.initial_equations[number], flat.initial_equations[number].size)
        for batch in batches
        for number in batch.uses
    ]
    return evaluate, rows


def _check_known(flat: FlatModel, equation: FlatEquation, values: ValueMap) -> None:
    for leaf in leaves_of(equation.equation.lhs, equation.equation.rhs):
        if leaf.kind is not SymbolKind.VARIABLE:
            continue
        symbol = flat.resolve(leaf, equation.owner)
        elements = slice(symbol.offset, symbol.offset + symbol.size)
        if leaf.order >= values.orders or (values.place[leaf.order][elements] == NONE).any():
            raise ModelError(
                f"The initial equation `{equation}` ({equation.equation.source}) contains "
                f"{der_text(symbol.name, leaf.order)}, which is not part of the equations of the model."
            )

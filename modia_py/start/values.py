"""`init` and `guess` values of a model, element by element, and where they stand in x, xdot or w."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..arrays.structure import NONE, Integers
from ..errors import ModelError, did_you_mean
from ..expressions.printing import der_text
from ..language.flat_model import FlatModel, FlatSymbol
from ..lowering.parameters import ParameterValues
from ..lowering.value_map import ValueMap

DERIVATIVE = re.compile(r"der(\d*)\((.+)\)")


@dataclass(frozen=True, eq=False)
class StartValues:
    """Element `element[k]` of the flat variables, differentiated `order[k]` times, shall be `value[k]`."""

    flat: FlatModel
    names: tuple[str, ...]
    element: Integers
    order: Integers
    value: np.ndarray
    place: Integers  # in w ...
    sign: Integers  # ... with this sign

    def __len__(self) -> int:
        return len(self.element)

    def label(self, k: int) -> str:
        """The name of one of them, for messages."""
        return element_name(self.flat, int(self.element[k]), int(self.order[k]))

    def chosen(self, which: Any) -> StartValues:
        parts = (self.element, self.order, self.value, self.place, self.sign)
        return StartValues(self.flat, self.names, *(part[which] for part in parts))


def element_name(flat: FlatModel, element: int, order: int) -> str:
    (variable,) = (v for v in flat.variables if v.offset <= element < v.offset + v.size)
    index = np.unravel_index(element - variable.offset, variable.shape) if variable.shape else ()
    text = f"{variable.name}[{', '.join(str(int(k)) for k in index)}]" if variable.shape else variable.name
    return der_text(text, order)


def start_values(
    values: ParameterValues, p: Any, word: str, given: Mapping[str, Any] | None, where: ValueMap
) -> StartValues:
    """Declared values, and those given by name, which take their place."""
    flat = values.flat
    chosen = _chosen(values, p, word, given)
    element, orders, numbers = [], [], []
    for (name, order), value in chosen.items():
        symbol = flat.by_name[name]
        element.append(symbol.offset + np.arange(symbol.size))
        orders.append(np.full(symbol.size, order))
        numbers.append(np.broadcast_to(value, symbol.shape).ravel())
    none = [np.zeros(0, np.int64)]
    elements, all_orders = np.concatenate(none + element), np.concatenate(none + orders)
    inside = all_orders < where.orders
    place = np.where(inside, where.place[np.minimum(all_orders, where.orders - 1), elements], NONE)
    sign = where.sign[np.minimum(all_orders, where.orders - 1), elements]
    names = tuple(der_text(name, order) for name, order in chosen)
    found = StartValues(
        flat, names, elements, all_orders, np.concatenate([np.zeros(0), *numbers]), place, sign
    )
    unknown = np.flatnonzero(place == NONE)
    if len(unknown):
        raise ModelError(
            f"{found.label(int(unknown[0]))} has a start value, but it is not part of the equations."
        )
    return found


def _chosen(
    values: ParameterValues, p: Any, word: str, given: Mapping[str, Any] | None
) -> dict[tuple[str, int], Any]:
    """By name and order of the derivative: declared values, then those given, in a fixed order."""
    flat = values.flat
    chosen: dict[tuple[str, int], Any] = {
        (name, 0): value if isinstance(value, jax.core.Tracer) else np.asarray(value, float)
        for name, value in values.start(p, word).items()
    }
    discretes = {symbol.name for symbol in flat.declared_discretes}  # `ParameterValues` takes these
    for name, value in (given or {}).items():
        if name in discretes:
            continue
        symbol, order = resolve_variable(flat, name)
        chosen[symbol.name, order] = _spread(name, value, symbol)
    return chosen


def traced_start_values(values: ParameterValues, p: Any, word: str, given: Mapping[str, Any] | None) -> Any:
    """The vector `start_values(...).value` as a function that JAX differentiates."""
    parts = [
        jnp.broadcast_to(value, values.flat.by_name[name].shape).reshape(-1)
        for (name, _), value in _chosen(values, p, word, given).items()
    ]
    return jnp.concatenate([jnp.zeros(0), *parts])


def resolve_variable(flat: FlatModel, name: str) -> tuple[FlatSymbol, int]:
    """The variable behind a name such as `der(s)`, and the order of the derivative."""
    inner, order = name, 0
    while (match := DERIVATIVE.fullmatch(inner)) is not None:
        order += int(match[1] or 1)
        inner = match[2]
    known = {variable.name: variable for variable in flat.variables}
    if inner in known:
        return known[inner], order
    if any(inner == parameter.name for parameter in flat.parameters):
        raise ModelError(f"'{inner}' is a parameter, not a variable: use params={{{inner!r}: ...}}.")
    raise ModelError(f"{flat.name} has no variable '{inner}'. {did_you_mean(inner, known)}")


def _spread(name: str, value: Any, symbol: FlatSymbol) -> Any:
    if isinstance(value, jax.core.Tracer):
        return jnp.broadcast_to(value, symbol.shape)
    try:
        spread = np.broadcast_to(np.asarray(value, float), symbol.shape)
    except (TypeError, ValueError):
        raise ModelError(
            f"The start value of {name} has shape {np.shape(value)}, expected {symbol.shape}."
        ) from None
    if not np.all(np.isfinite(spread)):
        raise ModelError(f"The start value of {name} is not finite.")
    return spread

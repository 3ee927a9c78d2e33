"""`init` and `guess` values of a model, element by element, and where they stand in x, xdot or w."""

from __future__ import annotations

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
from ..language.flat_names import NamedElements, find_elements
from ..language.symbols import broadcasts, holds_text
from ..lowering.parameters import ParameterValues
from ..lowering.value_map import ValueMap


@dataclass(frozen=True)
class Starts:
    """What a run is given for the start, by name."""

    init: Mapping[str, Any] | None = None
    guess: Mapping[str, Any] | None = None
    near: Any = None
    """A start of other values (`problem.StartPoint`), near which this one is looked for."""


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
    values: ParameterValues, p: Any, word: str, starts: Starts, where: ValueMap
) -> StartValues:
    """Declared values, and those given by name, which take their place."""
    flat = values.flat
    element, orders, numbers, names = [], [], [], []
    for chosen in _chosen(values, p, word, starts):
        element.append(chosen.symbol.offset + np.flatnonzero(chosen.given))
        orders.append(np.full(len(element[-1]), chosen.order))
        numbers.append(np.asarray(chosen.value)[chosen.given])
        names.append(der_text(chosen.symbol.name, chosen.order))
    none = [np.zeros(0, np.int64)]
    elements, all_orders = np.concatenate(none + element), np.concatenate(none + orders)
    inside = all_orders < where.orders
    place = np.where(inside, where.place[np.minimum(all_orders, where.orders - 1), elements], NONE)
    sign = where.sign[np.minimum(all_orders, where.orders - 1), elements]
    found = StartValues(
        flat, tuple(names), elements, all_orders, np.concatenate([np.zeros(0), *numbers]), place, sign
    )
    unknown = np.flatnonzero(place == NONE)
    if len(unknown):
        raise ModelError(
            f"{found.label(int(unknown[0]))} has a start value, but it is not part of the equations."
        )
    return found


@dataclass
class _Chosen:
    """Values for a variable at a derivative order, flat, and which of its elements have one."""

    symbol: FlatSymbol
    order: int
    value: Any
    given: np.ndarray


def _chosen(values: ParameterValues, p: Any, word: str, starts: Starts) -> list[_Chosen]:
    """Declared values, then those given, in a fixed order. A guess from outside drops a declared `init`."""
    flat = values.flat
    chosen: dict[tuple[str, int], _Chosen] = {}
    for name, value in values.start(p, word).items():
        symbol = flat.by_name[name]
        if isinstance(value, jax.core.Tracer):
            value, given = jnp.broadcast_to(value, symbol.shape).reshape(-1), np.ones(symbol.size, bool)
        else:
            value = np.broadcast_to(np.asarray(value, float), symbol.shape).ravel()
            given = ~np.isnan(value)  # elements without a declared value
        chosen[name, 0] = _Chosen(symbol, 0, value, given)
    own, other = (starts.init, starts.guess) if word == "init" else (starts.guess, None)
    for name in other or {}:
        found = resolve_variable(flat, name)
        if (key := (found.symbol.name, found.order)) in chosen:
            free = chosen[key].given.copy()
            free[found.elements.ravel()] = False
            chosen[key].given = free
    named = [  # `ParameterValues` takes discrete ones
        (resolve_variable(flat, name), value)
        for name, value in (own or {}).items()
        if find_elements(name, values.discretes) is None
    ]
    for found, value in sorted(named, key=lambda each: not each[0].is_whole):  # elements win over the whole
        spread_value = _spread(found, value).reshape(-1)
        key = found.symbol.name, found.order
        if found.is_whole:
            every = np.ones(found.symbol.size, bool)
            chosen[key] = _Chosen(found.symbol, found.order, spread_value, every)
            continue
        size = found.symbol.size
        before = chosen.get(key) or _Chosen(found.symbol, found.order, np.zeros(size), np.zeros(size, bool))
        given, places = before.given.copy(), found.elements.ravel()
        given[places] = True
        if isinstance(spread_value, jax.core.Tracer) or isinstance(before.value, jax.core.Tracer):
            merged: Any = jnp.asarray(before.value).at[places].set(spread_value)
        else:
            merged = np.array(before.value)
            merged[places] = spread_value
        chosen[key] = _Chosen(found.symbol, found.order, merged, given)
    return [each for each in chosen.values() if each.given.any()]


def check_starts(flat: FlatModel, starts: Starts) -> None:
    """Complain about elements that are given an `init` and a `guess`."""
    if not starts.init or not starts.guess:
        return
    guessed = [resolve_variable(flat, name) for name in starts.guess]
    discretes = {symbol.name: symbol for symbol in flat.declared_discretes}
    for name in starts.init:
        if find_elements(name, discretes) is not None:
            continue
        own = resolve_variable(flat, name)
        for other in guessed:
            if own.whole_name == other.whole_name and np.isin(own.elements, other.elements).any():
                raise ModelError(
                    f"{own.text} is given as init and as guess ({other.text}): an `init` is the value, a "
                    f"`guess` only where to look. Give one of them."
                )


def traced_start_values(values: ParameterValues, p: Any, word: str, starts: Starts) -> Any:
    """The vector `start_values(...).value` as a function that JAX differentiates."""
    parts = [jnp.asarray(each.value)[each.given] for each in _chosen(values, p, word, starts)]
    return jnp.concatenate([jnp.zeros(0), *parts])


def resolve_variable(flat: FlatModel, name: str) -> NamedElements:
    """The variable behind a name such as `der(s)` or `r[3].u`, its elements and derivative order."""
    known = {variable.name: variable for variable in flat.variables}
    found = find_elements(name, known)
    if found is not None:
        return found
    if find_elements(name, {parameter.name: parameter for parameter in flat.parameters}) is not None:
        raise ModelError(f"'{name}' is a parameter, not a variable: use params={{{name!r}: ...}}.")
    raise ModelError(f"{flat.name} has no variable '{name}'. {did_you_mean(name, known)}")


def _spread(found: NamedElements, value: Any) -> Any:
    if isinstance(value, jax.core.Tracer):
        return jnp.broadcast_to(value, found.shape)
    if holds_text(value):
        raise ModelError(
            f"The start value of {found.text} is the text {value!r}: write numbers without quotes."
        )
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        raise ModelError(f"The start value of {found.text} must be real numbers, not {value!r}.") from None
    if not broadcasts(array.shape, found.shape):
        raise ModelError(
            f"The start value of {found.text} has shape {array.shape}, expected {found.shape}."
        )
    if not np.all(np.isfinite(array)):
        raise ModelError(f"The start value of {found.text} is not finite.")
    return np.broadcast_to(array, found.shape)

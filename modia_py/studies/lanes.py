"""The values of each lane of an ensemble, checked: columns with a leading axis of lanes.

Arrays have a leading axis of lanes; one of length 1, and a single number, hold for all lanes. What is wrong
with all lanes (a name, a shape, no lanes at all) is an error before anything runs; a value that only some
lanes cannot have makes these fail.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from ..language.flat_names import find_elements
from ..language.symbols import broadcasts
from ..lowering.parameters import ParameterValues
from ..start.values import resolve_variable


@dataclass(frozen=True, eq=False)
class Lanes:
    """Columns of parameters and of start values, one row for each lane."""

    count: int
    params: dict[str, np.ndarray]
    init: dict[str, np.ndarray]

    def values(self, lane: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """The `params` and the `init` of one lane, as `simulate` takes them."""
        return _row(self.params, lane), _row(self.init, lane)

    def part(self, first: int, end: int) -> Lanes:
        """Some of the lanes."""
        params, init = (
            {name: column[first:end] for name, column in columns.items()}
            for columns in (self.params, self.init)
        )
        return Lanes(end - first, params, init)

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """All of them by name; start values as `init(x)`, beside the outputs of the same name."""
        return {**self.params, **{f"init({name})": column for name, column in self.init.items()}}


def _row(columns: dict[str, np.ndarray], lane: int) -> dict[str, Any]:
    return {name: column[lane] for name, column in columns.items()}


def make_lanes(values: ParameterValues, params: Any, init: Any, sizes: tuple[str, ...] = ()) -> Lanes:
    """Columns of equal length for all that is given; `sizes` are arguments of the model's class."""
    columns = {
        word: {name: _column(word, name, value) for name, value in _table(word, given).items()}
        for word, given in (("params", params), ("init", init))
    }
    for name, column in columns["params"].items():
        _check_parameter(values, name, column, sizes)
    for name, column in columns["init"].items():
        _check_start(values, name, column)
    count = _common_length({**columns["params"], **columns["init"]})
    spread = {
        word: {name: np.broadcast_to(c, (count, *c.shape[1:])) for name, c in own.items()}
        for word, own in columns.items()
    }
    for name, column in spread["params"].items():
        if np.isnan(column.reshape(count, -1)).any(axis=1).all():
            raise ModelError(f"Parameter {name} is NaN in all lanes.")
    return Lanes(count, spread["params"], spread["init"])


def _table(word: str, given: Any) -> dict[str, Any]:
    """Columns by name, from a mapping or from a table of pandas."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return dict(given)
    if hasattr(given, "columns") and hasattr(given, "to_numpy"):
        return {str(name): given[name].to_numpy() for name in given.columns}
    raise ModelError(
        f"{word} are columns by name, {{'r.R': array}}, or a DataFrame, not {type(given).__name__}."
    )


def _column(word: str, name: str, value: Any) -> np.ndarray:
    try:
        column = np.asarray(value, float)
    except (TypeError, ValueError):
        raise ModelError(
            f"{word}[{name!r}] is no array of numbers: lanes have values of equal shapes."
        ) from None
    return column[None] if column.ndim == 0 else column


def _common_length(columns: dict[str, np.ndarray]) -> int:
    lengths = {name: len(column) for name, column in columns.items()}
    for name, length in lengths.items():
        if not length:
            raise ModelError(f"The ensemble is empty: {name} has no values.")
    if not lengths:
        raise ModelError(
            "The ensemble is empty: give params={'r.R': array} with a value for each lane, or init=."
        )
    longest = max(lengths, key=lambda name: lengths[name])
    for name, length in lengths.items():
        if length not in (1, lengths[longest]):
            raise ModelError(
                f"Lanes differ in number: {longest} has {lengths[longest]} values, {name} has {length}. An "
                f"array has a leading axis of lanes; a value for all lanes is a number, or has an axis of "
                f"length 1."
            )
    return lengths[longest]


def _check_parameter(
    values: ParameterValues, name: str, column: np.ndarray, sizes: tuple[str, ...]
) -> None:
    if find_elements(name, values.known) is None:
        check_not_structural(values.flat.name, name, sizes)
        if find_elements(name, values.flat.by_name) is not None:
            raise ModelError(f"{name!r} is a variable, not a parameter: give its start as init=.")
    found = values.find(name)
    parameter, selected = found.symbol, None if found.is_whole else found.shape
    if len(column):
        try:
            parameter.symbol.checked_value(np.ones(column.shape[1:]), parameter.lead, name, selected)
        except ModelError as error:
            raise ModelError(
                f"{error} The first axis of the array, of length {len(column)}, is that of the lanes."
            ) from None


def _check_start(values: ParameterValues, name: str, column: np.ndarray) -> None:
    if find_elements(name, values.discretes) is not None:
        return
    expected = resolve_variable(values.flat, name).shape
    if not broadcasts(column.shape[1:], expected):
        raise ModelError(
            f"The start value of {name} has shape {column.shape[1:]} in each lane, expected "
            f"{expected}. The first axis of the array, of length {len(column)}, is that of the lanes."
        )


def check_not_structural(model: str, name: str, sizes: tuple[str, ...]) -> None:
    """Complain about an argument of the class of a model where a parameter is wanted."""
    if name in sizes:
        raise ModelError(
            f"{name!r} is an argument of {model}: it chooses the structure (a size), and another one is "
            f"another model. Translate a model for each, and study each."
        )


def structural_arguments(model_class: type | None) -> tuple[str, ...]:
    """Arguments of the class of a model by name: sizes and choices, which are no parameters."""
    if model_class is None:
        return ()
    arguments = inspect.signature(model_class.__init__).parameters.values()  # type: ignore[misc]
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return tuple(one.name for one in arguments if one.kind in named and one.name != "self")

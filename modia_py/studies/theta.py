"""What a derivative is taken by, by name, and how the data of a run follow from it.

Parameters, start values and inputs given by name become the vector p, `init` values, guesses, and the
tables of inputs: a function that JAX differentiates both ways.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ..errors import ModelError
from ..expressions.symbol_kinds import SymbolKind
from ..language.flat_names import find_elements
from ..program.signals import Signals
from ..program.tables import INTERPOLATIONS, as_table, polynomials_of
from ..start.values import Starts, resolve_variable, traced_start_values

LINEAR_IN_VALUES = ("linear", "previous", "cubic")


class RunData(NamedTuple):
    """The data of a run before it starts."""

    p: Any
    init: Any
    """Start values, in the order of `start_values`."""
    guess: Any
    inputs: tuple[Any, ...]
    """Of each input, as in `signals.Data.each`."""


@dataclass(frozen=True, eq=False)
class Names:
    """The names of a function's argument, and the inputs of its runs."""

    params: tuple[str, ...]
    init: tuple[str, ...]
    inputs: tuple[str, ...]
    given: Mapping[str, Any]
    """All inputs, as for `simulate`."""

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.params, *self.init, *self.inputs)

    def check_shape(self, sim: Any, name: str, shape: tuple[int, ...]) -> None:
        """Complain about a value of the wrong shape."""
        if name in self.params:
            expected, word = tuple(sim._values.find(name).shape), "parameter"
        elif name in self.init:
            own = find_elements(name, sim._values.discretes) or resolve_variable(sim.flat, name)
            expected, word = tuple(own.shape), "start value of"
        else:
            (entry,) = (each for each in sim.flat.inputs if each.name == name)
            expected, word = tuple(entry.shape), "input"
            given = self.given[name]
            if _is_table(given):
                expected, word = np.shape(given[1]), "table of the input"
        try:
            fits = np.broadcast_shapes(shape, expected) == expected
        except ValueError:
            fits = False
        if not fits:
            raise ModelError(f"The {word} {name} has shape {expected}, not {tuple(shape)}.")

    def request(self, theta: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of `simulate` for these values."""
        inputs = dict(self.given)
        for name in self.inputs:
            if name in theta:
                inputs[name] = _with_values(inputs[name], theta[name])
        return {
            "params": {name: theta[name] for name in self.params if name in theta},
            "init": {name: theta[name] for name in self.init if name in theta},
            "inputs": inputs or None,
        }

    def data(
        self, sim: Any, signals: Signals, theta: Mapping[str, Any], guess: Mapping[str, Any] | None = None
    ) -> RunData:
        """The data of a run, as a function of theta for JAX, with these guesses."""
        params = {name: theta[name] for name in self.params if name in theta}
        init = {name: theta[name] for name in self.init if name in theta}
        p = sim._values.vector(params, init)
        each = tuple(
            _signal_data(signal, self.given[signal.entry.name], theta.get(signal.entry.name))
            for signal in signals.each
        )
        return RunData(
            jnp.asarray(p),
            traced_start_values(sim._values, p, "init", Starts(init, guess)),
            traced_start_values(sim._values, p, "guess", Starts(init, guess)),
            each,
        )


def make_names(
    sim: Any, params: Any, init: Any, inputs: Any, fixed_inputs: Mapping[str, Any] | None
) -> Names:
    """Check the names of a function's argument."""
    flat = sim.flat
    params, init = tuple(_each(params, "params")), tuple(_each(init, "init"))
    for name in params:
        try:
            found = sim._values.find(name)
        except ModelError as error:
            raise ModelError(
                f"{error} Sizes, and other arguments of a class that are no `Par`, are fixed when a model "
                f"is translated."
            ) from None
        if found.symbol.kind is not SymbolKind.PARAMETER:
            raise ModelError(f"'{name}' is no parameter of {flat.name}: its start is given as init.")
    for name in init:
        if find_elements(name, sim._values.discretes) is None:
            resolve_variable(flat, name)
    given = dict(fixed_inputs or {})
    names: tuple[str, ...] = ()
    if isinstance(inputs, Mapping):
        given.update(inputs)
        inputs = {name: as_table(value) for name, value in inputs.items()}
        names = tuple(name for name, value in inputs.items() if _has_values(value))
    else:
        names = tuple(_each(inputs, "inputs"))
    given = {name: as_table(value) for name, value in given.items()}
    for name in names:
        if name not in given:
            raise ModelError(
                f"The input {name} needs a table or a constant to begin with: "
                f"inputs={{{name!r}: (times, values)}}."
            )
        if not _has_values(given[name]):
            raise ModelError(
                f"The input {name} is a function: there is nothing in it to differentiate by. Give a table "
                f"(times, values), or a constant."
            )
    twice = {name for name in (*params, *init, *names) if (*params, *init, *names).count(name) > 1}
    if twice:
        raise ModelError(f"'{min(twice)}' is named twice.")
    return Names(params, init, names, given)


def _each(names: Any, word: str) -> Sequence[str]:
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise ModelError(f"{word} is a list of names, not {names!r}.")
    return tuple(names)


def _has_values(given: Any) -> bool:
    return not callable(given) and not (isinstance(given, (tuple, list)) and callable(given[0]))


def _is_table(given: Any) -> bool:
    return isinstance(given, (tuple, list)) and len(given) in (2, 3) and np.ndim(given[0]) == 1


def _with_values(given: Any, values: Any) -> Any:
    if not _is_table(given):
        return np.asarray(values)
    return (given[0], np.asarray(values), *given[2:])


def _signal_data(signal: Any, given: Any, values: Any) -> Any:
    if values is None:
        return signal.data
    if not _is_table(given):
        return jnp.broadcast_to(values, signal.entry.shape)
    kind = given[2] if len(given) == 3 else INTERPOLATIONS[0]
    if kind not in LINEAR_IN_VALUES:
        raise ModelError(
            f"The table of the input {signal.entry.name} is not differentiated by its values with "
            f"interpolation {kind!r}; there are {', '.join(LINEAR_IN_VALUES)}."
        )
    knots = np.asarray(given[0], float)
    # Coefficients are linear in the values: those of the unit vectors say all.
    basis = polynomials_of(knots, np.eye(len(knots)), kind)
    values = jnp.asarray(values, float)
    rows = values.reshape(
        len(knots), *(1,) * (len(signal.entry.shape) + 1 - values.ndim), *values.shape[1:]
    )
    return knots, jnp.tensordot(basis, rows, 1)

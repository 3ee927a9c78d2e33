"""What a fit looks for: elements of parameters and start values, in units in which they are of size one.

An unknown q stands for the value q times its scale, or for the logarithm of the value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..errors import ModelError, did_you_mean
from ..language.flat_names import find_elements
from ..start.values import resolve_variable
from .lanes import check_not_structural, structural_arguments


@dataclass(frozen=True, eq=False)
class Entry:
    """A parameter or a start value; of one experiment, or of all if `experiment` is None."""

    name: str
    is_start: bool
    shape: tuple[int, ...]
    first: int
    experiment: str | None = None

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=int))

    @property
    def places(self) -> np.ndarray:
        """Among all unknowns."""
        return np.arange(self.first, self.first + self.size)

    @property
    def label(self) -> str:
        return self.name if self.experiment is None else f"{self.name} ({self.experiment})"

    @property
    def labels(self) -> tuple[str, ...]:
        """Of its elements."""
        index = np.ndindex(self.shape)
        own = "" if self.experiment is None else f" ({self.experiment})"
        return tuple(
            f"{self.name}[{', '.join(map(str, k))}]{own}" if self.shape else self.label for k in index
        )


@dataclass(frozen=True, eq=False)
class Unknowns:
    """All that is estimated: values, bounds and scales, element by element."""

    entries: tuple[Entry, ...]
    guess: np.ndarray
    low: np.ndarray
    high: np.ndarray
    scale: np.ndarray
    is_log: np.ndarray

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(label for entry in self.entries for label in entry.labels)

    @property
    def size(self) -> int:
        return len(self.guess)

    def of(self, experiment: str) -> tuple[Entry, ...]:
        """Those that take part in an experiment."""
        return tuple(entry for entry in self.entries if entry.experiment in (None, experiment))

    def to_units(self, values: np.ndarray) -> np.ndarray:
        """Values -> q."""
        with np.errstate(divide="ignore"):
            logarithms = np.log(np.where(self.is_log, values, 1.0))
        return np.where(self.is_log, logarithms, values / self.scale)

    def values(self, q: Any) -> Any:
        """q -> values; a function for JAX."""
        return jnp.where(self.is_log, jnp.exp(jnp.where(self.is_log, q, 0.0)), q * self.scale)

    def slopes(self, values: np.ndarray) -> np.ndarray:
        """d value / d q."""
        return np.where(self.is_log, values, self.scale)

    def theta(self, q: Any, experiment: str) -> dict[str, Any]:
        """The values of an experiment by name, as `CompiledModel.function` takes them."""
        values = self.values(q)
        return {entry.name: values[entry.places].reshape(entry.shape) for entry in self.of(experiment)}

    def by_label(self, vector: np.ndarray) -> dict[str, Any]:
        """A vector with an element for each unknown, by name, in the shapes of the parameters."""
        return {entry.label: vector[entry.places].reshape(entry.shape)[()] for entry in self.entries}


def make_unknowns(
    sim: Any,
    parameters: Sequence[str] | Mapping[str, Any],
    own: Mapping[str, Sequence[str] | Mapping[str, Any]],
    bounds: Mapping[str, Any],
    scales: Mapping[str, Any],
    logarithmic: Sequence[str],
    start: Mapping[str, Any],
) -> Unknowns:
    """Unknowns of all experiments (`parameters`) and of single ones (`own`), checked.

    `start` are start values that are given for all experiments: guesses of those that are estimated.
    """
    entries: list[Entry] = []
    guesses: list[np.ndarray] = []
    first = 0
    for experiment, names in ((None, parameters), *own.items()):
        for name, guess in _pairs(names):
            is_start, value = _guess(sim, name, guess, start)
            entry = Entry(name, is_start, value.shape, first, experiment)
            if any(name == known.name and known.experiment in (None, experiment) for known in entries):
                raise ModelError(f"{name} is to be estimated twice.")
            entries.append(entry)
            guesses.append(value.ravel())
            first += entry.size
    if not entries:
        raise ModelError("There is nothing to estimate: name parameters, ['r.R'], or give guesses by name.")
    names_known = [entry.name for entry in entries]
    for word, given in (("bounds", bounds), ("scales", scales), ("logarithmic", logarithmic)):
        for name in given:
            if name not in names_known:
                raise ModelError(
                    f"{name!r} in {word} is not among the parameters that are estimated. "
                    f"{did_you_mean(name, names_known)}"
                )
    guess = np.concatenate(guesses)
    low, high = _bounds(entries, bounds, len(guess))
    labels = [label for entry in entries for label in entry.labels]
    outside = np.flatnonzero((guess < low) | (guess > high))
    for k in outside:
        raise ModelError(
            f"The guess {labels[k]} = {guess[k]:g} is not within its bounds ({low[k]:g}, {high[k]:g})."
        )
    is_log = np.concatenate([np.full(e.size, e.name in set(logarithmic)) for e in entries])
    for k in np.flatnonzero(is_log & ((guess <= 0) | (low < 0) & np.isfinite(low))):
        raise ModelError(f"{labels[k]} is logarithmic: its guess and bounds are positive.")
    scale = _scales(sim, entries, guess, low, high, scales)
    low = np.where(is_log, np.maximum(low, 0.0), low)
    return Unknowns(tuple(entries), guess, low, high, scale, is_log)


def _pairs(names: Sequence[str] | Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    if isinstance(names, Mapping):
        return names.items()
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise ModelError(f"Parameters to estimate are a list of names, or guesses by name, not {names!r}.")
    return [(name, None) for name in names]


def _guess(sim: Any, name: str, guess: Any, start: Mapping[str, Any]) -> tuple[bool, np.ndarray]:
    """Whether it is a start value, and where the search begins."""
    known = {parameter.name: parameter for parameter in sim.flat.parameters}
    variables = {variable.name: variable for variable in sim.flat.variables}
    vector = np.asarray(sim._values.vector({}))
    if (found := find_elements(name, known)) is not None:
        declared = vector[found.places].reshape(found.shape)
        if found.is_whole and declared.ndim == len(found.symbol.lead) > 0 and np.ptp(declared) == 0:
            declared = declared.flat[0]  # equal in all copies: one value for all of them
    elif (found := find_elements(name, variables)) is not None:
        declared = start.get(name)
        of_variable = sim._values.start(vector, "init").get(found.symbol.name)
        if declared is None and of_variable is not None and not found.order:
            declared = np.broadcast_to(of_variable, found.symbol.shape).ravel()[found.elements]
        if guess is None and (declared is None or not np.all(np.isfinite(declared))):
            raise ModelError(f"{name} has no start value to begin with: give a guess, {{{name!r}: 1.0}}.")
    else:
        recipe = sim.recipe
        check_not_structural(
            sim.name, name, structural_arguments(None if recipe is None else recipe.model_class)
        )
        raise ModelError(
            f"{sim.name} has no parameter and no variable {name!r}. "
            f"{did_you_mean(name, [*known, *variables])}"
        )
    is_start = found.symbol.name in variables
    try:
        value = np.array(declared if guess is None else guess, float)
        np.broadcast_to(value, found.shape)
    except (TypeError, ValueError):
        raise ModelError(
            f"The guess of {name} has shape {np.shape(guess)}, expected {found.shape}."
        ) from None
    if not is_start:
        selected = None if found.is_whole else found.shape
        found.symbol.symbol.checked_value(value, found.symbol.lead, name, selected)
    if not np.all(np.isfinite(value)):
        raise ModelError(f"The guess of {name} is not finite.")
    return is_start, value


def _bounds(entries: list[Entry], bounds: Mapping[str, Any], size: int) -> tuple[np.ndarray, np.ndarray]:
    low, high = np.full(size, -np.inf), np.full(size, np.inf)
    for entry in entries:
        if entry.name not in bounds:
            continue
        try:
            ends = [np.broadcast_to(np.asarray(end, float), entry.shape) for end in bounds[entry.name]]
            low[entry.places], high[entry.places] = (end.ravel() for end in ends)
        except (TypeError, ValueError):
            raise ModelError(
                f"The bounds of {entry.name} are (low, high), not {bounds[entry.name]!r}."
            ) from None
        if not np.all(low[entry.places] < high[entry.places]):
            raise ModelError(f"The bounds of {entry.name} are {bounds[entry.name]!r}: low is below high.")
    return low, high


def _scales(
    sim: Any, entries: list[Entry], guess: np.ndarray, low: np.ndarray, high: np.ndarray,
    scales: Mapping[str, Any],
) -> np.ndarray:  # fmt: skip
    """Given ones; the size of the guess; at zero the width of the bounds, or the nominal value."""
    width = np.where(np.isfinite(high - low), high - low, 0.0)
    found = np.where(guess != 0, np.abs(guess), width)
    for entry in entries:
        own = entry.places
        symbol = resolve_variable(sim.flat, entry.name).symbol.symbol if entry.is_start else None
        nominal = None if symbol is None else symbol.nominal
        usual = 1.0 if nominal is None else float(np.max(nominal))
        largest = np.abs(guess[own]).max(initial=0.0) or usual
        found[own] = np.where(found[own] > 0, found[own], largest)
        if entry.name in scales:
            found[own] = np.broadcast_to(np.asarray(scales[entry.name], float), entry.shape).ravel()
            if not np.all((found[own] > 0) & np.isfinite(found[own])):
                raise ModelError(f"The scale of {entry.name} is positive, not {scales[entry.name]!r}.")
    return found

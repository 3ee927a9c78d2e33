"""Parameter vectors and start values: by name, checked, differentiable, never compiled in."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import ModelError, did_you_mean
from ..expressions.expression import Expr, Leaf
from ..expressions.indexing import Shape
from ..expressions.lanes import calls_python
from ..expressions.symbol_kinds import SymbolKind
from ..language.flat_model import Binding, FlatModel, FlatSymbol
from ..language.flat_names import NamedElements, find_elements
from ..source import user_source
from .batches import Batch, Location, Use, make_batches


class ParameterValues:
    """The data of a flat model as one vector: parameters, discrete variables, the same before the event.

    Discrete variables have their declared values, hidden ones are zero or what was given for the start.
    """

    def __init__(self, flat: FlatModel):
        self.flat = flat
        self.discretes = {symbol.name: symbol for symbol in flat.declared_discretes}
        self.known = {**{symbol.name: symbol for symbol in flat.parameters}, **self.discretes}
        self.computed = _BoundValues(flat, flat.bindings)
        self.computed_discretes = _BoundValues(flat, flat.discrete_bindings)
        self.starts = {
            "init": _BoundValues(flat, flat.init_bindings),
            "guess": _BoundValues(flat, flat.guess_bindings),
        }
        self._last_starts: dict[str, tuple[bytes, dict[str, Any]]] = {}
        self._last_vector: tuple[bytes, Any] | None = None
        self.declared = np.zeros(flat.data_size)
        for symbol in (*flat.parameters, *flat.discretes):
            if not isinstance(symbol.symbol.value, Expr):
                self._write(self.declared, symbol, symbol.symbol.value)

    def _write(self, vector: np.ndarray, symbol: FlatSymbol, value: np.ndarray) -> None:
        vector[_rows(self.flat, symbol)] = np.broadcast_to(value, symbol.shape).ravel()

    def vector(self, given: dict[str, Any], init: Mapping[str, Any] | None = None) -> Any:
        """Declared values, then given ones, then those computed from others and not given.

        Start values of discrete variables are among the given ones, or among those of `init`.
        """
        named = [(self.find(name), value) for name, value in given.items()]
        for name, value in (init or {}).items():
            if (found := find_elements(name, self.discretes)) is not None:
                named.append((found, value))
        named.sort(key=lambda each: not each[0].is_whole)  # elements win over the whole
        plain = self.declared.copy()
        traced: list[tuple[NamedElements, Any]] = []
        late: set[str] = set()  # what is not known yet, and all that is given for it afterwards
        for found, value in named:
            own = found.symbol
            selected = None if found.is_whole else found.shape
            checked = own.symbol.checked_value(value, own.lead, found.text, selected)
            if isinstance(own.symbol.value, Expr) or not isinstance(checked, np.ndarray):
                late.add(own.name)
            if own.name in late:
                traced.append((found, checked))
            else:
                plain[self._rows(found)] = np.broadcast_to(checked, found.shape).ravel()
        whole = {found.symbol.name for found, _ in named if found.is_whole}
        levels = (*self.computed.levels, *self.computed_discretes.levels)
        now, before = (self.flat.shift_in_p(SymbolKind.DISCRETE, order) for order in (0, -1))
        if not traced and not levels:
            if self.flat.discretes:
                plain[before:] = plain[now:before]
            return self._on_device(plain)
        vector = self._put_all(jax.device_put(plain), traced)
        for level in levels:
            vector = self._put_all(level.follow(vector), traced)  # what is given does not follow
        if self.flat.discretes:
            vector = vector.at[before:].set(vector[now:before])
        if not isinstance(vector, jax.core.Tracer):
            self._check_computed(np.asarray(vector), whole)
        return vector

    def _on_device(self, plain: np.ndarray) -> Any:
        """The vector as an array of JAX: that of the last run if it is the same."""
        key, known = plain.tobytes(), self._last_vector
        if known is None or known[0] != key:
            known = self._last_vector = key, jax.device_put(plain)
        return known[1]

    def _check_computed(self, vector: np.ndarray, given: set[str]) -> None:
        for binding in (*self.flat.bindings, *self.flat.discrete_bindings):
            target = binding.target
            if target.name not in given:
                value = vector[_rows(self.flat, target)].reshape(target.shape)
                target.symbol.checked_value(value, target.lead, f"{target.name} = {binding.value}")

    def _put_all(self, vector: Any, entries: list[tuple[NamedElements, Any]]) -> Any:
        for found, value in entries:
            vector = vector.at[self._rows(found)].set(jnp.broadcast_to(value, found.shape).reshape(-1))
        return vector

    def _rows(self, found: NamedElements) -> Any:
        """The named elements in the vector."""
        rows = _rows(self.flat, found.symbol)
        return rows if found.is_whole else rows.start + found.elements.ravel()

    def find(self, name: str) -> NamedElements:
        """The parameter or discrete variable of a name, or elements of it; or an error."""
        found = find_elements(name, self.known)
        if found is None:
            variables = {variable.name: variable for variable in self.flat.variables}
            if find_elements(name, variables) is not None:
                raise ModelError(
                    f"'{name}' is a variable of {self.flat.name}, not a parameter ({user_source()}): its "
                    f"start is given as init={{{name!r}: ...}}."
                )
            raise ModelError(
                f"{self.flat.name} has no parameter '{name}' ({user_source()}). "
                f"{did_you_mean(name, self.known)}"
            )
        if found.order:
            raise ModelError(f"'{name}': {found.symbol.name} is constant and has no derivative.")
        return found

    def start(self, p: Any, word: str) -> dict[str, Any]:
        """`init` or `guess` values by variable name."""
        values: dict[str, Any] = {}
        for variable in self.flat.variables:
            value = getattr(variable.symbol, word)
            if value is not None and not isinstance(value, Expr):
                values[variable.name] = np.broadcast_to(value, variable.shape)
        values.update(self._computed_start(p, word))
        return values

    def _computed_start(self, p: Any, word: str) -> dict[str, Any]:
        """Those computed from parameters; kept for the next run, which has the same ones more often than
        not."""
        bound = self.starts[word]
        if not bound.levels:
            return {}
        if isinstance(p, jax.core.Tracer) or bound.calls_python:
            return bound.by_name(p)
        key, known = np.asarray(p).tobytes(), self._last_starts.get(word)
        if known is None or known[0] != key:
            found = {name: np.asarray(value) for name, value in bound.by_name(p).items()}
            known = self._last_starts[word] = key, found
        return known[1]


def _rows(flat: FlatModel, symbol: FlatSymbol) -> slice:
    """The elements of a parameter or a discrete variable in the vector."""
    first = flat.shift_in_p(symbol.kind, 0) + symbol.offset
    return slice(first, first + symbol.size)


class _BoundValues:
    """Values computed from parameters, level after level."""

    def __init__(self, flat: FlatModel, bindings: tuple[Binding, ...]):
        groups = itertools.groupby(bindings, key=lambda binding: binding.level)
        self.levels = [_Level(flat, list(members)) for _, members in groups]
        self.calls_python = calls_python(binding.value for binding in bindings)

    def by_name(self, p: Any) -> dict[str, Any]:
        return {name: value for level in self.levels for name, value in level.by_name(p).items()}


class _Level:
    """Bindings that do not depend on each other, in batches."""

    def __init__(self, flat: FlatModel, bindings: list[Binding]):
        self.flat = flat
        self.batches: list[tuple[Batch, list[Binding], Shape]] = []
        by_shape: dict[Shape, list[Binding]] = {}
        for binding in bindings:
            by_shape.setdefault(binding.target.shape[len(binding.lead) :], []).append(binding)
        for own, members in by_shape.items():
            for batch in make_batches([_use(flat, binding) for binding in members]):
                self.batches.append((batch, [members[number] for number in batch.uses], own))

    def follow(self, p: Any) -> Any:
        """The parameter vector with the bound parameters of this level set."""
        for batch, served, own in self.batches:
            rows = [_rows(self.flat, binding.target) for binding in served]
            places = np.concatenate([np.arange(own_rows.start, own_rows.stop) for own_rows in rows])
            p = p.at[places].set(_spread(batch, own, p).reshape(-1))
        return p

    def by_name(self, p: Any) -> dict[str, Any]:
        values = {}
        for batch, served, own in self.batches:
            rows, start = _spread(batch, own, p), 0
            for binding in served:
                stop = start + math.prod(binding.lead)
                values[binding.target.name] = rows[start:stop].reshape(binding.target.shape)
                start = stop
        return values


def _spread(batch: Batch, own: Shape, p: Any) -> Any:
    """The values of a batch, each broadcast to the shape of its targets."""
    shape = batch.root.shape
    values = batch({"p": p, "time": 0.0}).reshape(-1, *(1,) * (len(own) - len(shape)), *shape)
    return jnp.broadcast_to(values, (batch.count, *own))


def _use(flat: FlatModel, binding: Binding) -> Use:
    def locate(leaf: Leaf) -> Location:
        symbol = flat.by_symbol[id(leaf.symbol)]
        return Location("p", symbol.offset, symbol.copy_strides(leaf, binding.lead))

    return Use(binding.value, binding.lead, locate)

"""Data of a model that are arguments of what XLA compiles, and not part of it: models of one size share it.

Functions that are compiled may contain arrays that say what is to be computed (`modia_py.plan`). As
constants of a program they make it that of one model, to be compiled for this model alone. Arrays that were
marked by `as_data` become arguments, so that the program depends on sizes only: whoever changes an equation
finds the programs of the model before on disk. Long constants become arguments, too: as part of a program
they are copied, hashed and folded for as long as it takes to compile the rest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

MARK = int.from_bytes(b"modia_py", "little")
"""The last word of marked arrays, which JAX may copy."""
SHORTEST, GROWTH = 256, 4
"""Lengths are rounded up to a few different ones: 256, 1024, 4096, ..."""
LONG = 2000
"""Elements from which on a constant is not part of a program."""


def as_data(array: np.ndarray) -> np.ndarray:
    """The array with padding and the mark behind it. For vectors of 64-bit words whose users know how much
    of them is theirs."""
    length = SHORTEST
    while length <= len(array):
        length *= GROWTH
    words = np.zeros(length, np.int64)
    words[: len(array)] = np.ascontiguousarray(array).view(np.int64)
    words[-1] = MARK
    return words.view(array.dtype)


def is_data(constant: Any) -> bool:
    """Whether a constant is a marked array."""
    if np.ndim(constant) != 1 or len(constant) < SHORTEST or constant.dtype not in (np.int64, np.float64):
        return False
    return bool(np.asarray(constant)[-1:].view(np.int64)[0] == MARK)


def _is_argument(constant: Any) -> bool:
    return np.size(constant) >= LONG or is_data(constant)


class ProgramWithData:
    """`jax.jit` of a function of arrays: marked and long constants are arguments of the program."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]):
        shared = self._shared = _Shared(function)

        def evaluate(data: tuple[Any, ...], *arguments: Any) -> Any:
            return shared.evaluate(data, *arguments)

        named = getattr(function, "func", function)  # of a partial
        evaluate.__name__ = getattr(named, "__name__", "evaluate")
        self.compiled = jax.jit(evaluate, compiler_options=options)

    def __call__(self, *arguments: Any) -> Any:
        shared = self._shared
        if shared.data is None:
            shared.look_at(arguments)
        return self.compiled(shared.data, *arguments)


class _Shared:
    """A function, and the data that were found in it."""

    def __init__(self, function: Callable[..., Any]):
        self._function = function
        self._places: dict[bytes, int] = {}
        self._traced: tuple[Any, ClosedJaxpr, Any] | None = None
        self.data: tuple[jax.Array, ...] | None = None

    def look_at(self, arguments: tuple[Any, ...]) -> None:
        """Find the data; what was traced for it is used by the compilation that follows."""
        traced, tree = self._trace(arguments)
        found: dict[bytes, np.ndarray] = {}
        for constant in filter(_is_argument, traced.consts):
            content = np.asarray(constant)
            found.setdefault(_key(content), content)
        self._traced = _kind(arguments), traced, tree
        self._places = {key: place for place, key in enumerate(found)}
        self.data = tuple(jax.device_put(list(found.values())))

    def evaluate(self, data: tuple[Any, ...], *arguments: Any) -> Any:
        """What is compiled."""
        known, self._traced = self._traced, None
        if known is not None and known[0] == _kind(arguments):
            _, traced, tree = known
        else:
            traced, tree = self._trace(arguments)
        constants = [self._given(data, constant) for constant in traced.consts]
        found = jaxpr_as_fun(ClosedJaxpr(traced.jaxpr, constants))(*jax.tree.leaves(arguments))
        return jax.tree.unflatten(tree, found)

    def _trace(self, arguments: tuple[Any, ...]) -> tuple[ClosedJaxpr, Any]:
        traced, result = jax.make_jaxpr(self._function, return_shape=True)(*arguments)
        return traced, jax.tree.structure(result)

    def _given(self, data: tuple[Any, ...], constant: Any) -> Any:
        """The argument in place of a constant; one that was not seen at first remains a constant."""
        if not _is_argument(constant):
            return constant
        place = self._places.get(_key(np.asarray(constant)))
        return constant if place is None else data[place]


def _key(content: np.ndarray) -> bytes:
    kind = f"{content.dtype.str}{content.shape}"
    return kind.encode() + hashlib.blake2b(np.ascontiguousarray(content).data).digest()


def _kind(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a trace depends on: structure, shapes, types."""
    leaves, tree = jax.tree.flatten(arguments)
    return tree, tuple(jax.typeof(leaf) for leaf in leaves)

"""LU of a narrow band, inside the compiled loop: for chains, rods, and whatever can be ordered like one.

A chain has no fill, so that what KLU spends on looking up indices is most of its time; a band needs no
indices. Unknowns are put in the order of Cuthill and McKee (reversed) if their own order has a wide band.
The factors live outside of JAX, in arrays of this solver; a number that is counted up with every
factorization travels through the loop in their place. What a solve needs besides is among its results, so
that any number of them may run at the same time.
"""

from __future__ import annotations

from copy import copy
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ..matrix.jacobian import Pattern
from .contract import SingularMatrix

WIDEST, WIDEST_REORDERED = 8, 4
"""Diagonals besides the main one up to which a band beats KLU (10^4 unknowns, factorization and solve); in
another order than the given one vectors have to be gathered and scattered."""


class Order(NamedTuple):
    """Row rows[i] and column columns[i] come at place i; entries then are from `lower` places left of the
    diagonal to `upper` right of it."""

    rows: np.ndarray
    columns: np.ndarray
    lower: int
    upper: int

    @property
    def as_given(self) -> bool:
        return bool(np.all(np.diff(self.rows) == 1) and np.all(np.diff(self.columns) == 1))


def narrow_order(
    pattern: Pattern, widest: int = WIDEST, widest_reordered: int = WIDEST_REORDERED
) -> Order | None:
    """An order in which the band has at most so many diagonals besides the main one, or None."""
    n = pattern.size
    if pattern.entries > (widest + 1) * n:
        return None
    as_given = _order(pattern, np.arange(n), np.arange(n))
    if as_given.lower + as_given.upper <= widest:
        return as_given
    # Rows and columns as the nodes of one graph: nothing then depends on which row belongs to which column.
    ends = pattern.rows, pattern.columns + n
    graph = sparse.csr_matrix((np.ones(pattern.entries, np.int8), ends), shape=(2 * n, 2 * n))
    nodes = reverse_cuthill_mckee(sparse.csr_matrix(graph + graph.T), symmetric_mode=True).astype(np.int64)
    found = _order(pattern, nodes[nodes < n], nodes[nodes >= n] - n)
    return found if found.lower + found.upper <= widest_reordered else None


def _order(pattern: Pattern, rows: np.ndarray, columns: np.ndarray) -> Order:
    distance = _places(columns)[pattern.columns] - _places(rows)[pattern.rows]
    return Order(rows, columns, -int(distance.min(initial=0)), int(distance.max(initial=0)))


def _places(order: np.ndarray) -> np.ndarray:
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places


class BandSolver:
    name = "band"
    keeps_pivots = False
    no_factors: Any = np.zeros((), np.int64)
    solves_columns = False
    batches_factors = False

    def __init__(self, pattern: Pattern, order: Order | None = None):
        order = order or narrow_order(pattern) or narrow_order(pattern, 2 * pattern.size, 2 * pattern.size)
        assert order is not None
        targets = native_functions()
        if targets is None:
            raise ValueError(
                "The linear solver 'band' needs numba and version 0 of XLA's foreign functions."
            )
        self._targets = targets
        n, lower, upper = pattern.size, order.lower, order.upper
        three = n > 2 and max(lower, upper) <= 1  # a diagonal that is absent is one of zeros
        if three:
            lower = upper = 1
        width = 2 * lower + upper + 1
        row = _places(order.rows)[pattern.rows]
        column = _places(order.columns)[pattern.columns]
        self._slots = 2 * row + column if three else row * width + (column - row + lower)
        as_they_come = three and np.array_equal(self._slots, np.arange(3 * n - 2))
        self._order, self._reordered = order, not order.as_given
        self._numbers = n, lower, upper, self._reordered, int(three) + int(as_they_come)
        self._factor = jax.jit(self.factor)
        self._make_room()

    def _make_room(self) -> None:
        """Memory for factors."""
        n, lower, upper, _, _ = self._numbers
        self._band, self._multipliers = np.zeros((n, 2 * lower + upper + 1)), np.zeros((n, lower))
        self._swaps, self._kind_and_number = np.zeros(n, np.int64), np.zeros(2, np.int64)
        self._vector, self._band_pivots = np.zeros(n), self._band[:, lower]
        self._entries, self._twisted = np.zeros(3 * n), np.zeros((3, n))
        addresses = [
            array.ctypes.data
            for array in (self._band, self._multipliers, self._swaps, self._kind_and_number, self._slots,
                          self._order.rows, self._order.columns, self._vector, self._entries, self._twisted)
        ]  # fmt: skip
        self.tables = jnp.asarray(np.array([*self._numbers, *addresses], np.int64))

    def twin(self) -> BandSolver:
        other = copy(self)
        other._make_room()
        return other

    def prepare(self, values: jax.Array) -> jax.Array:
        from .band_kernels import KIND, TWISTED

        factors = jax.block_until_ready(self._factor(self.tables, values, jnp.zeros((), jnp.int64)))
        is_twisted = self._kind_and_number[KIND] == TWISTED
        if not np.all(np.isfinite(self._twisted[1] if is_twisted else self._band_pivots)):
            raise SingularMatrix("The iteration matrix is singular.")
        return factors

    def factor(self, tables: Any, values: jax.Array, old: jax.Array) -> jax.Array:
        call = jax.ffi.ffi_call(self._targets[0], jax.ShapeDtypeStruct((), jnp.int64))
        return call(tables, values, old)

    def solve(self, tables: Any, factors: jax.Array, b: jax.Array) -> jax.Array:
        return self._call(self._targets[1], tables, factors, b)

    def solve_transposed(self, tables: Any, factors: jax.Array, b: jax.Array) -> jax.Array:
        return self._call(self._targets[2], tables, factors, b)

    def _call(self, target: str, tables: Any, factors: jax.Array, b: jax.Array) -> jax.Array:
        vector = jax.ShapeDtypeStruct(b.shape, b.dtype)
        results = [vector, vector] if self._reordered else [vector]
        return jax.ffi.ffi_call(target, results)(tables, factors, b)[0]

    def release(self) -> None:
        pass


@cache
def native_functions() -> tuple[str, ...] | None:
    """Names under which XLA knows the native functions; None where it does not take them."""
    try:
        from .. import xla_calls
        from .band_kernels import HANDLERS
    except (ImportError, RuntimeError):  # no numba for this Python, or no place for what it compiles
        return None
    return None if xla_calls.register(HANDLERS) else tuple(HANDLERS)

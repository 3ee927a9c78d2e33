"""LU of a narrow band, inside the compiled loop: for chains, rods, and whatever can be ordered like one.

A chain has no fill, so that what KLU spends on looking up indices is most of its time; a band needs no
indices. Unknowns are put in the order of Cuthill and McKee (reversed) if their own order has a wide band.
The factors live outside of JAX, in arrays of this solver; a number that is counted up with every
factorization travels through the loop in their place. What a solve needs besides is among its results, so
that any number of them may run at the same time.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ..matrix.jacobian import Pattern
from ..xla.call import call
from ..xla.register import Handlers, why_not
from ..xla.structures import Call
from .band_calls import FACTOR, FACTORS, SOLVE, SOLVE_TRANSPOSED, TWISTED, Layout
from .contract import Offer, SingularMatrix

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

    def repeated(self, times: int) -> Order:
        """For so many rows and columns, beside each other, in place of each."""
        rows, columns = (
            (times * own[:, None] + np.arange(times)).ravel() for own in (self.rows, self.columns)
        )
        more = times - 1
        return Order(rows, columns, times * self.lower + more, times * self.upper + more)


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
        reason = why_not_native()
        if reason:
            raise ValueError(f"The linear solver 'band' needs native functions: {reason}.")
        n, lower, upper = pattern.size, order.lower, order.upper
        three = n > 2 and max(lower, upper) <= 1  # a diagonal that is absent is one of zeros
        if three:
            lower = upper = 1
        width = 2 * lower + upper + 1
        row = _places(order.rows)[pattern.rows]
        column = _places(order.columns)[pattern.columns]
        self._slots = 2 * row + column if three else row * width + (column - row + lower)
        as_they_come = three and np.array_equal(self._slots, np.arange(3 * n - 2))
        self.order, self._reordered = order, not order.as_given
        self._numbers = n, lower, upper, self._reordered, int(three) + int(as_they_come)
        self._factor = jax.jit(self.factor)
        self._allocate()

    @classmethod
    def offer(cls, pattern: Pattern, values: np.ndarray | None) -> Offer | None:
        """Where unknowns can be put in an order with few diagonals."""
        order = narrow_order(pattern)
        if order is None or why_not_native():
            return None
        diagonals = f"{order.lower} diagonals below the main one and {order.upper} above"
        return Offer(cls(pattern, order), f"{pattern.size} unknowns, {diagonals}")

    def _allocate(self) -> None:
        """Memory for factors."""
        n, lower, upper, reordered, three = self._numbers
        self._band, self._multipliers = np.zeros((n, 2 * lower + upper + 1)), np.zeros((n, lower))
        self._swaps, self._kind_and_number = np.zeros(n, np.int64), np.zeros(len(FACTORS), np.int64)
        self._vector, self._band_pivots = np.zeros(n), self._band[:, lower]
        self._entries, self._twisted = np.zeros(3 * n), np.zeros((3, n))
        layout = Layout(
            n=n, lower=lower, upper=upper, reordered=reordered, three=three,
            band=self._band.ctypes.data, multipliers=self._multipliers.ctypes.data,
            swaps=self._swaps.ctypes.data, factors=self._kind_and_number.ctypes.data,
            slots=self._slots.ctypes.data, rows=self.order.rows.ctypes.data,
            columns=self.order.columns.ctypes.data, vector=self._vector.ctypes.data,
            entries=self._entries.ctypes.data, twisted=self._twisted.ctypes.data,
        )  # fmt: skip
        self.tables = jnp.asarray(np.array(layout, np.int64))

    def twin(self) -> BandSolver:
        other = copy(self)
        other._allocate()
        return other

    def prepare(self, values: jax.Array) -> jax.Array:
        factors = jax.block_until_ready(self._factor(self.tables, values, jnp.zeros((), jnp.int64)))
        is_twisted = self._kind_and_number[FACTORS.kind] == TWISTED
        if not np.all(np.isfinite(self._twisted[1] if is_twisted else self._band_pivots)):
            raise SingularMatrix("The iteration matrix is singular.")
        return factors

    def factor(self, tables: Any, values: jax.Array, old: jax.Array) -> jax.Array:
        number = {"new_number": jax.ShapeDtypeStruct((), jnp.int64)}
        return call(FACTOR, number, layout=tables, values=values, number=old)["new_number"]

    def solve(self, tables: Any, factors: jax.Array, b: jax.Array) -> jax.Array:
        return self._call(SOLVE, tables, factors, b)

    def solve_transposed(self, tables: Any, factors: jax.Array, b: jax.Array) -> jax.Array:
        return self._call(SOLVE_TRANSPOSED, tables, factors, b)

    def _call(self, function: Call, tables: Any, factors: jax.Array, b: jax.Array) -> jax.Array:
        if not self._reordered:
            function = replace(function, made=("x",))
        made = dict.fromkeys(function.made, jax.ShapeDtypeStruct(b.shape, b.dtype))
        return call(function, made, layout=tables, number=factors, b=b)["x"]

    def release(self) -> None:
        pass


def why_not_native() -> str:
    """Why there are no native functions for bands here; empty if there are."""
    return why_not(_handlers)


def _handlers() -> Handlers:
    from .band_kernels import HANDLERS

    return HANDLERS

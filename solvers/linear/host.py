"""Linear solvers that live in Python, called from the compiled loop: SuperLU and CHOLMOD.

Each call goes through `jax.pure_callback`, which costs some tens of microseconds: nothing against the
factorization of a large matrix. The factors stay outside of JAX; a number that is counted up with every
factorization travels through the loop in their place and puts the calls in order. XLA may call from several
threads at once: one at a time uses the factors.
"""

from __future__ import annotations

import threading
import weakref
from contextlib import suppress
from copy import copy
from itertools import count
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse

from ..matrix.jacobian import Pattern
from .contract import NEEDS_PIVOTS, Offer, SingularMatrix


class FactorStore:
    """Where factors are kept, with their number; one thread at a time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.number = 0
        self.factors: Any = None
        self.ordered: Any = None
        """What a solver knows about the pattern and keeps with its factors."""


_STORES: weakref.WeakValueDictionary[int, FactorStore] = weakref.WeakValueDictionary()
"""By the key that compiled functions are given: one of them serves many runs, each with its own store."""
_KEYS = count(1)


class HostSolver:
    """What SuperLU and CHOLMOD share: the matrix in compressed columns, and the calls."""

    name = "host"
    keeps_pivots = False
    no_factors: Any = NEEDS_PIVOTS
    solves_columns = True
    batches_factors = False

    def __init__(self, pattern: Pattern):
        n = pattern.size
        order = np.lexsort((pattern.rows, pattern.columns))
        starts = np.concatenate(([0], np.cumsum(np.bincount(pattern.columns, minlength=n)))).astype(
            np.int32
        )
        self._order, self._rows, self._starts = order, pattern.rows[order].astype(np.int32), starts
        self._size = n
        self._allocate()

    def _allocate(self) -> None:
        key = next(_KEYS)
        self._store = _STORES[key] = FactorStore()
        self.tables = jnp.asarray(key, jnp.int64)

    def twin(self) -> HostSolver:
        other = copy(self)
        other._allocate()
        return other

    @classmethod
    def offer(cls, pattern: Pattern, values: np.ndarray | None) -> Offer | None:
        raise NotImplementedError

    def factorize(self, matrix: sparse.csc_matrix, store: FactorStore) -> Any:
        """The factors; SingularMatrix if there are none."""
        raise NotImplementedError

    def solve_with(self, factors: Any, b: np.ndarray, transposed: bool) -> np.ndarray:
        raise NotImplementedError

    def prepare(self, values: jax.Array) -> jax.Array:
        store, matrix = self._store, self._matrix(np.asarray(values))
        with store.lock:
            store.number += 1
            store.factors = None
            store.factors = self.factorize(matrix, store)
            return jnp.asarray(store.number, jnp.int64)

    def factor(self, tables: Any, values: jax.Array, old: jax.Array) -> jax.Array:
        return jax.pure_callback(self._factor, jax.ShapeDtypeStruct((), jnp.int64), tables, values, old)

    def solve(self, tables: Any, factors: jax.Array, b: jax.Array) -> jax.Array:
        return jax.pure_callback(self._solve, jax.ShapeDtypeStruct(b.shape, b.dtype), tables, factors, b)

    def solve_transposed(self, tables: Any, factors: jax.Array, b: jax.Array) -> jax.Array:
        return jax.pure_callback(
            self._solve_transposed, jax.ShapeDtypeStruct(b.shape, b.dtype), tables, factors, b
        )

    def release(self) -> None:
        self._store.factors = None

    def _matrix(self, values: np.ndarray) -> sparse.csc_matrix:
        return sparse.csc_matrix((values[self._order], self._rows, self._starts), shape=(self._size,) * 2)

    def _factor(self, key: Any, values: Any, old: Any) -> np.ndarray:
        store, matrix = _STORES[int(key)], self._matrix(np.asarray(values))
        with store.lock:
            store.number += 1
            store.factors = None
            with suppress(SingularMatrix):
                store.factors = self.factorize(matrix, store)
            return np.asarray(store.number, np.int64)

    def _solve(self, key: Any, number: Any, b: Any) -> np.ndarray:
        return self._answer(key, number, b, transposed=False)

    def _solve_transposed(self, key: Any, number: Any, b: Any) -> np.ndarray:
        return self._answer(key, number, b, transposed=True)

    def _answer(self, key: Any, number: Any, b: Any, transposed: bool) -> np.ndarray:
        store, b = _STORES[int(key)], np.asarray(b)
        with store.lock:
            # Without these factors the answer is not a number, which the loop takes for a singular matrix.
            if store.factors is None or store.number != int(number):
                return np.full(b.shape, np.nan)
            return np.asarray(self.solve_with(store.factors, b, transposed), float)

"""Linear solvers that live in Python, called from the compiled loop: SuperLU and CHOLMOD.

Each call goes through `jax.pure_callback`, which costs some tens of microseconds: nothing against the
factorization of a large matrix. The factors stay outside of JAX; a number that is counted up with every
factorization travels through the loop in their place and puts the calls in order.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse

from .jacobian import Pattern
from .linear import SingularMatrix


class HostSolver:
    """What SuperLU and CHOLMOD share: the matrix in compressed columns, and the calls."""

    name = "host"
    keeps_pivots = False
    keeps_factors = True

    def __init__(self, pattern: Pattern):
        n = pattern.size
        order = np.lexsort((pattern.rows, pattern.columns))
        starts = np.concatenate(([0], np.cumsum(np.bincount(pattern.columns, minlength=n)))).astype(
            np.int32
        )
        self._order, self._rows, self._starts = order, pattern.rows[order].astype(np.int32), starts
        self._size = n
        self._factors: Any = None
        self._count = 0
        self.tables = ()

    def factorize(self, matrix: sparse.csc_matrix) -> Any:
        """The factors; SingularMatrix if there are none."""
        raise NotImplementedError

    def solve_with(self, factors: Any, b: np.ndarray, transposed: bool) -> np.ndarray:
        raise NotImplementedError

    def prepare(self, values: jax.Array) -> jax.Array:
        self._factors = self.factorize(self._matrix(np.asarray(values)))
        self._count += 1
        return jnp.asarray(self._count, jnp.int64)

    def factor(self, tables: Any, values: jax.Array, old: jax.Array) -> jax.Array:
        return jax.pure_callback(self._factor, jax.ShapeDtypeStruct((), jnp.int64), values, old)

    def solve(self, tables: Any, factors: jax.Array, b: jax.Array) -> jax.Array:
        return jax.pure_callback(self._solve, jax.ShapeDtypeStruct(b.shape, b.dtype), factors, b)

    def solve_transposed(self, tables: Any, factors: jax.Array, b: jax.Array) -> jax.Array:
        return jax.pure_callback(self._solve_transposed, jax.ShapeDtypeStruct(b.shape, b.dtype), factors, b)

    def release(self) -> None:
        self._factors = None

    def _matrix(self, values: np.ndarray) -> sparse.csc_matrix:
        return sparse.csc_matrix((values[self._order], self._rows, self._starts), shape=(self._size,) * 2)

    def _factor(self, values: Any, old: Any) -> np.ndarray:
        try:
            self._factors = self.factorize(self._matrix(np.asarray(values)))
        except SingularMatrix:
            self._factors = None
        self._count += 1
        return np.asarray(self._count, np.int64)

    def _solve(self, factors: Any, b: Any) -> np.ndarray:
        return self._answer(b, transposed=False)

    def _solve_transposed(self, factors: Any, b: Any) -> np.ndarray:
        return self._answer(b, transposed=True)

    def _answer(self, b: Any, transposed: bool) -> np.ndarray:
        # Without factors the answer is not a number, which the loop takes for a singular matrix.
        if self._factors is None:
            return np.full(self._size, np.nan)
        return np.asarray(self.solve_with(self._factors, np.asarray(b), transposed), float)

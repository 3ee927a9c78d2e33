"""Dense LU with partial pivoting in JAX: for small systems, batches and accelerators."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg as linalg

from .jacobian import Pattern


class DenseFactors(NamedTuple):
    lu: jax.Array
    pivots: jax.Array


class DenseSolver:
    name = "dense"
    keeps_pivots = False

    def __init__(self, pattern: Pattern):
        self.size = pattern.size
        self.tables = jnp.asarray(pattern.rows), jnp.asarray(pattern.columns)
        self._factor = jax.jit(self.factor)

    def prepare(self, values: jax.Array) -> DenseFactors:
        return self._factor(self.tables, values, None)

    def factor(self, tables: Any, values: jax.Array, old: Any) -> DenseFactors:
        matrix = jnp.zeros((self.size, self.size)).at[tables].set(values, unique_indices=True)
        return DenseFactors(*linalg.lu_factor(matrix))

    def solve(self, tables: Any, factors: DenseFactors, b: jax.Array) -> jax.Array:
        return linalg.lu_solve((factors.lu, factors.pivots), b)

    def solve_transposed(self, tables: Any, factors: DenseFactors, b: jax.Array) -> jax.Array:
        return linalg.lu_solve((factors.lu, factors.pivots), b, trans=1)

    def release(self) -> None:
        pass

"""Dense LU with partial pivoting in JAX: for small systems, batches and accelerators."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg as linalg

from .compile_options import fast_jit
from .jacobian import Pattern


class DenseFactors(NamedTuple):
    lu: jax.Array
    rows: jax.Array
    """Order in which rows were eliminated."""


class DenseSolver:
    name = "dense"
    keeps_pivots = False

    def __init__(self, pattern: Pattern):
        self.size = pattern.size
        self.tables = jnp.asarray(pattern.rows), jnp.asarray(pattern.columns)
        self._factor = fast_jit(self.factor, pattern.size)

    def twin(self) -> DenseSolver:
        return self

    def prepare(self, values: jax.Array) -> DenseFactors:
        return self._factor(self.tables, values, None)

    def factor(self, tables: Any, values: jax.Array, old: Any) -> DenseFactors:
        matrix = jnp.zeros((self.size, self.size)).at[tables].set(values, unique_indices=True)
        lu, _, rows = jax.lax.linalg.lu(matrix)
        return DenseFactors(lu, rows)

    def solve(self, tables: Any, factors: DenseFactors, b: jax.Array) -> jax.Array:
        y = linalg.solve_triangular(factors.lu, b[factors.rows], lower=True, unit_diagonal=True)
        return linalg.solve_triangular(factors.lu, y)

    def solve_transposed(self, tables: Any, factors: DenseFactors, b: jax.Array) -> jax.Array:
        y = linalg.solve_triangular(factors.lu, b, trans=1)
        z = linalg.solve_triangular(factors.lu, y, trans=1, lower=True, unit_diagonal=True)
        return jnp.zeros_like(z).at[factors.rows].set(z)

    def release(self) -> None:
        pass

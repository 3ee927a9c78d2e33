"""Dense LU with partial pivoting in JAX, of real or complex numbers: for small systems, batches and
accelerators.

Pivots are chosen as if the largest entry of each row were one: C der(u) == i with C in pF and R i == u with
R in MOhm are otherwise compared as they stand, and what is chosen loses u by rounding. Rows are scaled by
powers of two, which rounds nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg as linalg
import numpy as np

from ..compile_options import fast_jit
from ..lanes import one_by_one_on_cpu
from ..matrix.jacobian import Pattern
from .contract import Offer

FEW = 40
"""Below this size dense elimination costs less than looking up indices."""
FILL = 0.4
FILL_UP_TO = 500
"""A matrix with so many entries gains nothing from sparsity, as long as it is not large."""


class DenseFactors(NamedTuple):
    lu: jax.Array
    scale: jax.Array
    """What rows are multiplied with."""
    rows: jax.Array
    """Order in which rows were eliminated."""


class DenseSolver:
    name = "dense"
    keeps_pivots = False
    no_factors: Any = None
    solves_columns = True
    batches_factors = True

    def __init__(self, pattern: Pattern):
        self.size = pattern.size
        self.tables = jnp.asarray(pattern.rows), jnp.asarray(pattern.columns)
        self._factor = fast_jit(self.factor, pattern.size)

    @classmethod
    def offer(cls, pattern: Pattern, values: np.ndarray | None) -> Offer | None:
        n, fill = pattern.size, pattern.entries / pattern.size**2
        if n <= FEW:
            return Offer(cls(pattern), f"{n} unknowns are few")
        if fill >= FILL and n <= FILL_UP_TO:
            return Offer(cls(pattern), f"{100 * fill:.0f} % of the entries are nonzero")
        if jax.default_backend() != "cpu":
            return Offer(cls(pattern), "sparse solvers are there on a CPU only")
        return None

    def twin(self) -> DenseSolver:
        return self

    def prepare(self, values: jax.Array) -> DenseFactors:
        return self._factor(self.tables, values, None)

    def factor(self, tables: Any, values: jax.Array, old: Any) -> DenseFactors:
        matrix = jnp.zeros((self.size, self.size), values.dtype)
        matrix = matrix.at[tables].set(values, unique_indices=True)
        _, exponents = jnp.frexp(jnp.abs(matrix).max(axis=1))
        scale = jnp.ldexp(1.0, -exponents)
        lu, _, rows = _lu(scale[:, None] * matrix)
        return DenseFactors(lu, scale, rows)

    def solve(self, tables: Any, factors: DenseFactors, b: jax.Array) -> jax.Array:
        scaled = _rows_times(factors.scale, b)[factors.rows]
        y = linalg.solve_triangular(factors.lu, scaled, lower=True, unit_diagonal=True)
        return linalg.solve_triangular(factors.lu, y)

    def solve_transposed(self, tables: Any, factors: DenseFactors, b: jax.Array) -> jax.Array:
        y = linalg.solve_triangular(factors.lu, b, trans=1)
        z = linalg.solve_triangular(factors.lu, y, trans=1, lower=True, unit_diagonal=True)
        return _rows_times(factors.scale, jnp.zeros_like(z).at[factors.rows].set(z))

    def release(self) -> None:
        pass


_lu = one_by_one_on_cpu(jax.lax.linalg.lu)


def _rows_times(scale: jax.Array, b: jax.Array) -> jax.Array:
    """Each row of a vector or matrix times its number."""
    return scale * b if b.ndim == 1 else scale[:, None] * b

"""Which rows and columns make a matrix singular."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse

from ..problem import Problem
from .jacobian import C_ZERO, Pattern, gather_tables, matrix_values
from .null_space import null_space

AT_MOST = 12
"""Indices that are named."""


def describe_singularity(
    problem: Problem, pattern: Pattern, t: float, x: jax.Array, xdot: jax.Array, p: Any, c: float
) -> str:
    """A sentence that names the rows and the columns that are involved, by index.

    Looked at is the limit of the matrix for c -> 0, which is regular in the special form; if it is, the
    matrix for c.
    """
    gather = gather_tables(pattern)
    for step, name in ((C_ZERO, "for small steps"), (c, f"for c = {c:.3g}")):
        values = matrix_values(problem, pattern.directions, gather, t, x, xdot, p, jnp.asarray(step))
        matrix = sparse.csr_array(
            (np.asarray(values), (pattern.rows, pattern.columns)), shape=(pattern.size,) * 2
        )
        rows, columns = singular_part(matrix)
        if len(rows) or len(columns):
            return (
                f"At t = {t:g} the matrix {name} is singular: rows {_indices(rows)} are dependent, "
                f"columns {_indices(columns)} are not determined."
            )
    return f"At t = {t:g} the matrix is close to singular; no rows could be singled out."


def singular_part(matrix: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a left and columns of a right null vector; empty if the matrix is regular."""
    finite = sparse.csr_array(matrix)
    finite.data = np.where(np.isfinite(finite.data), finite.data, 0.0)
    return null_space(finite).involved()


def _indices(found: np.ndarray) -> str:
    return f"{found[:AT_MOST].tolist()}" + (
        f" and {len(found) - AT_MOST} more" if len(found) > AT_MOST else ""
    )


def describe_violation(problem: Problem, residual: Any, size: float) -> str:
    """Which constraints are off, and by how much."""
    off = np.where(problem.row_flags, 0.0, np.abs(np.asarray(residual)))
    rows = np.flatnonzero(off > 1e-3 * off.max())[:10].tolist()
    return f"Rows {rows} are off; to satisfy them, x has to move by {size:.2g} tolerances of a step."

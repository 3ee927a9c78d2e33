"""Sparse LU by SuperLU, from scipy: the fallback that is always there, with partial pivoting every time.

Rows are scaled to about one, by powers of two: see `dense`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import splu

from ..matrix.jacobian import Pattern
from .contract import Offer, SingularMatrix
from .host import FactorStore, HostSolver


class SuperLUSolver(HostSolver):
    name = "superlu"

    @classmethod
    def offer(cls, pattern: Pattern, values: np.ndarray | None) -> Offer:
        return Offer(cls(pattern), f"{pattern.size} unknowns, and no other sparse solver is there")

    def factorize(self, matrix: sparse.csc_matrix, store: FactorStore) -> Any:
        largest = np.zeros(matrix.shape[0])
        np.maximum.at(largest, matrix.indices, np.abs(matrix.data))
        scale = np.ldexp(1.0, -np.frexp(largest)[1])
        entries = matrix.data * scale[matrix.indices]
        scaled = sparse.csc_matrix((entries, matrix.indices, matrix.indptr), shape=matrix.shape)
        try:
            return scale, splu(scaled)
        except RuntimeError as error:
            raise SingularMatrix("The iteration matrix is singular.") from error

    def solve_with(self, factors: Any, b: np.ndarray, transposed: bool) -> np.ndarray:
        scale, lu = factors
        scale = scale.reshape(-1, *(1,) * (b.ndim - 1))
        return scale * lu.solve(b, trans="T") if transposed else lu.solve(scale * b)

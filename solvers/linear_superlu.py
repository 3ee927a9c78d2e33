"""Sparse LU by SuperLU, from scipy: the fallback that is always there, with partial pivoting every time."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import splu

from .linear import SingularMatrix
from .linear_host import HostSolver, Room


class SuperLUSolver(HostSolver):
    name = "superlu"

    def factorize(self, matrix: sparse.csc_matrix, room: Room) -> Any:
        try:
            return splu(matrix)
        except RuntimeError as error:
            raise SingularMatrix("The iteration matrix is singular.") from error

    def solve_with(self, factors: Any, b: np.ndarray, transposed: bool) -> np.ndarray:
        return factors.solve(b, trans="T" if transposed else "N")

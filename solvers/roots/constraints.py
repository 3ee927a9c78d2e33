"""fc(t, x) = 0 and given values of x, as a system for the nearest point.

Its Jacobian dfc/dx is part of the matrix of the special form, [dfd/dxdot; dfc/dx], which the slopes at the
start need as well: nothing more is compiled for it.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import scipy.sparse as sparse

from ..compile_options import quick_jit
from ..problem import Problem, kinds
from .initialize import slope_system


class ConstraintSystem:
    """Rows fc(t, x), then x[given] - values."""

    def __init__(self, problem: Problem, t: float, p: Any, given: np.ndarray, values: np.ndarray):
        self.problem, self.t, self.p = problem, np.asarray(t, float), jax.tree.map(np.asarray, p)
        self.given, self.values = given, values
        self.n = problem.size
        self.constraints = np.flatnonzero(~problem.row_flags)
        self.m = len(self.constraints) + len(given)
        at = np.full(self.n, -1)
        at[self.constraints] = np.arange(len(self.constraints))
        system = self._slopes(np.zeros(self.n))
        kept = at[system.rows] >= 0
        own = len(self.constraints) + np.arange(len(given))
        self.rows = np.concatenate([at[system.rows[kept]], own])
        self.columns = np.concatenate([system.columns[kept], given])
        # Where each entry stands in the rows of the Jacobian: in small systems, making it from them anew
        # would take longer than all else.
        self._kept, self._system = kept, system
        self._order = np.lexsort((self.columns, self.rows))
        self._indices = self.columns[self._order]
        self._starts = np.append(0, np.cumsum(np.bincount(self.rows, minlength=self.m)))

    def _slopes(self, x: np.ndarray) -> Any:
        return slope_system(self.problem, float(self.t), x, self.p)

    def residual(self, x: np.ndarray) -> np.ndarray:
        """[fd; fc] at xdot = 0, on which fc does not depend."""
        key, residuals = kinds(self.p), self.problem.cache.residuals
        if key not in residuals:
            residuals[key] = quick_jit(self.problem.residual, 0)
        return np.asarray(residuals[key](self.t, x, np.zeros(self.n), self.p))

    def value(self, x: np.ndarray) -> np.ndarray:
        return np.concatenate([self.residual(x)[self.constraints], x[self.given] - self.values])

    def jacobian(self, x: np.ndarray) -> sparse.csr_array:
        system = self._system.with_arguments((self.t, np.asarray(x, float), self.p))
        values = system.entries(np.zeros(self.n))[self._kept]
        data = np.concatenate([values, np.ones(len(self.given))])[self._order]
        return sparse.csr_array((data, self._indices, self._starts), shape=(self.m, self.n))

"""Linear systems of one pattern, many at a time: those of the rows of an output.

Small ones are solved on the host: XLA's solver for many of them may never return (`Problem.one_by_one`).
Sparse ones are solved one after the other, with pivots that were chosen for the first of them, and anew for
those for which these are no good.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..compile_options import quick_jit
from ..linear.contract import LinearSolver, SingularMatrix
from ..loop.workspaces import Workspace, Workspaces
from ..matrix.jacobian import Pattern

SOLVED = 1e-6
"""What is left of a system, compared with its terms: more, and its matrix is singular."""
MOST_NEW_PIVOTS = 8


class ManySystems:
    """Compiled once for a pattern, with a linear solver for it."""

    def __init__(self, pattern: Pattern, solver: LinearSolver):
        self.size, self.rows, self.columns = (
            pattern.size,
            np.asarray(pattern.rows),
            np.asarray(pattern.columns),
        )
        self.first = np.flatnonzero(np.diff(self.rows, prepend=-1))  # entry of each equation
        self.solver, self.is_dense, self.workspaces = solver, solver.name == "dense", Workspaces(solver)
        self._mapped = quick_jit(self._one_by_one, pattern.size)

    def solve(self, values: np.ndarray, right: np.ndarray) -> np.ndarray:
        """A solution for each row of values; NaN where there is none."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if self.is_dense:
                found = self._dense(values, right)
                return np.where(self._solved(values, found, right)[:, None], found, np.nan)
            return self._sparse(values, right)

    def signs(self, values: np.ndarray) -> np.ndarray:
        """Of the determinants; zero where they are not known."""
        if not self.is_dense:
            return np.zeros(len(values))
        matrices, _, usable = self._matrices(values)
        return np.where(usable, np.linalg.slogdet(matrices)[0], 0.0)

    def product(self, values: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        """Matrix times vector, for each row. (Entries are in the order of the equations.)"""
        with np.errstate(over="ignore", invalid="ignore"):
            terms = values * vectors[:, self.columns]
            product = np.zeros_like(vectors)
            product[:, self.rows[self.first]] = np.add.reduceat(terms, self.first, axis=1)
        return product

    def _solved(self, values: np.ndarray, found: np.ndarray, right: np.ndarray) -> np.ndarray:
        left = np.abs(self.product(values, found) - right)
        size = self.product(np.abs(values), np.abs(found)) + np.abs(right)
        scale = np.maximum.reduceat(np.abs(values), self.first, axis=1)  # of the equations
        left, size = (np.max(part[:, self.rows[self.first]] / scale, axis=1) for part in (left, size))
        return left <= SOLVED * size

    def _matrices(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scaled as by `linear.dense`: pivots are chosen as if the largest entry of each row were one."""
        matrices = np.zeros((len(values), self.size, self.size))
        matrices[:, self.rows, self.columns] = values
        scale = np.ldexp(1.0, -np.frexp(np.abs(matrices).max(axis=2))[1])
        matrices *= scale[:, :, None]
        usable = np.all(np.isfinite(matrices), axis=(1, 2))
        matrices[~usable] = np.eye(self.size)
        return matrices, scale, usable

    def _dense(self, values: np.ndarray, right: np.ndarray) -> np.ndarray:
        matrices, scale, usable = self._matrices(values)
        usable &= np.all(np.isfinite(right), axis=1)
        scaled = np.where(usable[:, None], scale * right, 0.0)
        try:
            found = np.linalg.solve(matrices, scaled[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:  # one of them is singular
            found = np.full_like(right, np.nan)
            for k in range(len(right)):
                if np.linalg.matrix_rank(matrices[k]) == self.size:
                    found[k] = np.linalg.solve(matrices[k], scaled[k])
        return np.where(usable[:, None], found, np.nan)

    def _sparse(self, values: np.ndarray, right: np.ndarray) -> np.ndarray:
        found = np.full_like(right, np.nan)
        waiting = np.flatnonzero(np.all(np.isfinite(values), axis=1) & np.all(np.isfinite(right), axis=1))
        with self.workspaces.one() as workspace:
            for _ in range(MOST_NEW_PIVOTS):
                if not len(waiting):
                    break
                new = self._with_pivots_of(workspace, values, right, waiting)
                solved = self._solved(values[waiting], new, right[waiting])
                found[waiting[solved]] = new[solved]
                if not solved.any():
                    break
                waiting = waiting[~solved]
        return found

    def _with_pivots_of(
        self, workspace: Workspace, values: np.ndarray, right: np.ndarray, chosen: np.ndarray
    ) -> np.ndarray:
        """Solutions of the chosen rows with pivots for the first of them."""
        try:
            factors = workspace.solver.prepare(jnp.asarray(values[chosen[0]]))
        except SingularMatrix:
            return np.full((len(chosen), self.size), np.nan)
        filled = np.resize(chosen, len(values))  # as many as always: nothing new is compiled
        found = workspace.wait_for(
            self._mapped, workspace.solver.tables, factors, values[filled], right[filled]
        )
        return np.asarray(found)[: len(chosen)]

    def _one_by_one(self, tables: Any, factors: Any, values: Any, right: Any) -> jax.Array:
        def one(row: tuple[Any, Any]) -> jax.Array:
            return self.solver.solve(tables, self.solver.factor(tables, row[0], factors), row[1])

        return jax.lax.map(one, (values, right))

"""Tangents of steps of Radau IIA: one solve with the system of all three stages, where they have been.

    0 = F(t_n + c_i h, x_n + Z_i, (B Z)_i / h, p)

is differentiated by x_n and p. The stages are one system of three times the size, of the scaled equations
as everywhere, so that it is regular however small h is:

    sum_j B_ij / REAL dfd/dxdot_i dZ_j + c dfd/dx_i dZ_i = -c (dfd/dx_i dx_n + dfd/dp dp),     c = h / REAL,
                                      dfc/dx_i dZ_i     = -   (dfc/dx_i dx_n + dfc/dp dp).

The two matrices of the corrector are those of one point and would be exact for linear equations only.
Stages of each unknown are beside each other, so that a band stays a band.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..lanes import each
from ..linear.band import BandSolver
from ..linear.choice import choose_solver, choose_sparse_lu
from ..linear.contract import LinearSolver
from ..linear.linear_solve import linear_solve
from ..loop.workspaces import Workspaces
from ..matrix.jacobian import C_ZERO, Pattern, matrix_parts
from ..problem import Problem
from ..radau.coefficients import NODES, REAL, TO_DIFFERENCES, B
from .moves import Equations, Made, Point
from .steps import Factors

STAGES = len(NODES)


class StageTables(NamedTuple):
    """Constants of compiled functions."""

    solver: Any
    row: jax.Array
    """Of each entry of the system: the stage of its equation,"""
    column: jax.Array
    """that of its unknown,"""
    entry: jax.Array
    """and which entry of the pattern of the equations it is."""


class StageMaps:
    """Steps of Radau IIA, with a linear solver for their stages."""

    stages = STAGES

    def __init__(self, problem: Problem, pattern: Pattern, linear_solver: str):
        self.problem, self.directions = problem, pattern.directions
        tripled, self._places = _tripled(problem, pattern)
        self.solver = _solver_of(linear_solver, pattern, tripled)
        self.workspaces = Workspaces(self.solver)

    @contextmanager
    def workspace(self, eq: Equations, at: Point, made: Made) -> Iterator[tuple[StageTables, Any]]:
        """Tables with memory that nobody else uses meanwhile, and first factors: those of a step. Raises
        `SingularMatrix`."""
        with self.workspaces.one() as workspace:
            tables = StageTables(workspace.solver.tables, *self._places)
            yield tables, workspace.solver.prepare(self.values(eq, tables, at, made))

    def values(self, eq: Equations, tables: StageTables, at: Point, made: Made) -> jax.Array:
        """The entries of the system."""
        problem, gather = self.problem, eq.tables.gather
        p, c = eq.p, made.h / REAL

        def parts(point: Point) -> tuple[jax.Array, jax.Array]:
            found = matrix_parts(problem, self.directions, gather, *point, p)
            return found.of_slopes, found.of_values

        of_slopes, of_values = jax.lax.map(parts, _stages_of(at, made))
        of_values = jnp.where(eq.is_fd[gather.rows], c, 1.0) * of_values
        _, row, column, entry = tables
        own = row == column
        found = jnp.asarray(B / REAL)[row, column] * of_slopes[row, entry]
        return found + jnp.where(own, of_values[row, entry], 0.0)

    def factors_of_step(
        self, eq: Equations, tables: StageTables, at: Point, made: Made, old: Factors
    ) -> Factors:
        values = jax.lax.stop_gradient(self.values(eq, tables, at, made))
        return old._replace(of_steps=self.solver.factor(tables.solver, values, old.of_steps))

    def factors_of_row(self, eq: Equations, at: Point, old: Factors) -> Factors:
        return old._replace(of_rows=eq.factors(at, jnp.asarray(C_ZERO), old.of_rows))

    def tangent(
        self,
        eq: Equations,
        tables: StageTables,
        factors: Factors,
        at: Point,
        made: Made,
        table: Any,
        dp: Any,
    ) -> tuple[Any, tuple[Any, Any]]:
        c, is_fd, stages = made.h / REAL, eq.is_fd, _stages_of(at, made)
        one_by_one = self.problem.one_by_one

        def scaled(x: Any, xdot: Any, moving: Any) -> Any:
            def residual(at: Point) -> Any:
                return eq.residual(at.t, at.x, at.xdot, moving)

            residuals = each(residual, Point(stages.t, x, xdot), one_by_one)
            return jnp.where(is_fd, c * residuals, residuals)

        def product(z: Any) -> Any:
            change = _apart(z)
            slopes = jnp.asarray(B) @ change / made.h
            moved = jax.jvp(
                lambda x, xdot: scaled(x, xdot, eq.leaves.moving), (at.x, at.xdot), (change, slopes)
            )
            return _together(moved[1])

        dx = jnp.broadcast_to(table[0], at.x.shape)
        _, right = jax.jvp(lambda x, moving: scaled(x, at.xdot, moving), (at.x, eq.leaves.moving), (dx, dp))
        found = linear_solve(
            self.solver, factors.of_steps, _together(right), tables=tables.solver, product=product
        )
        change = -_apart(found)
        x = table[0] + change
        after = (jnp.asarray(TO_DIFFERENCES) @ change).at[0].set(x[-1])
        return after, (x, jnp.asarray(B) @ change / made.h)


def _solver_of(name: str, pattern: Pattern, tripled: Pattern) -> LinearSolver:
    """A band stays one; what is symmetric does not."""
    if name in ("auto", "band"):
        own = choose_solver(name, pattern).solver
        if isinstance(own, BandSolver):
            return BandSolver(tripled, own.order.repeated(STAGES))
    offer = choose_sparse_lu(tripled) if name == "cholmod" else choose_solver(name, tripled)
    return offer.solver


def _stages_of(at: Point, made: Made) -> Point:
    """The times of the stages of a step that ends at t, with x and xdot there."""
    return Point(at.t + (jnp.asarray(NODES) - 1.0) * made.h, at.x, at.xdot)


def _together(stages: jax.Array) -> jax.Array:
    """A vector in which stages of one unknown are beside each other."""
    return stages.T.ravel()


def _apart(vector: jax.Array) -> jax.Array:
    return vector.reshape(-1, STAGES).T


def _tripled(problem: Problem, pattern: Pattern) -> tuple[Pattern, tuple[jax.Array, ...]]:
    """The pattern of the system, and where its entries come from. Constraints do not know of other stages
    than their own."""
    row, column = (part.ravel() for part in np.indices((STAGES, STAGES)))
    is_fd = problem.row_flags[pattern.rows]
    count = np.arange(pattern.entries)
    found = [
        (np.full(len(own), i), np.full(len(own), j), own)
        for i, j in zip(row, column, strict=True)
        for own in [count if i == j else count[is_fd]]
    ]
    stage_of_row, stage_of_column, entry = (np.concatenate(part) for part in zip(*found, strict=True))
    rows = STAGES * pattern.rows[entry] + stage_of_row
    columns = STAGES * pattern.columns[entry] + stage_of_column
    order = np.lexsort((columns, rows))
    # Colours are for derivatives, of which nobody takes any here.
    tripled = Pattern(
        STAGES * pattern.size, rows[order].astype(np.int32), columns[order].astype(np.int32),
        np.zeros(STAGES * pattern.size, np.int32),
    )  # fmt: skip
    places = (part[order].astype(np.int32) for part in (stage_of_row, stage_of_column, entry))
    return tripled, tuple(map(jnp.asarray, places))

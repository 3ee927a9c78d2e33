"""What a sweep needs to know of steps, whatever they were made by: a matrix to factorize, and a tangent.

A step of a multistep method is one point, at its end, and its matrix is of the kind that rows of output
need, too. Steps of Radau IIA are in `stages`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import jax.numpy as jnp

from ..matrix.jacobian import C_ZERO
from .moves import Equations, Made, Point, step_constant, tangent_of_step


class Factors(NamedTuple):
    """The last ones: linear solvers use their pivots, and their memory."""

    of_steps: Any
    of_rows: Any


class StepMaps(Protocol):
    """Steps of one kind. Their points have x and xdot, with an axis of stages in front if there are
    many."""

    stages: int

    def factors_of_step(self, eq: Equations, tables: Any, at: Point, made: Made, old: Factors) -> Factors:
        """The system of a step, factorized. `tables`: of a linear solver that only steps have."""

    def factors_of_row(self, eq: Equations, at: Point, old: Factors) -> Factors:
        """The matrix for c = 0 at a row of output, factorized."""

    def tangent(
        self, eq: Equations, tables: Any, factors: Factors, at: Point, made: Made, table: Any, dp: Any
    ) -> tuple[Any, tuple[Any, Any]]:
        """That of the table after a step, from the one before it; and those of x and xdot at its points."""


class MultistepMaps:
    """Steps of BDF and NDF."""

    stages = 1

    def factors_of_step(self, eq: Equations, tables: Any, at: Point, made: Made, old: Factors) -> Factors:
        found = eq.factors(at, step_constant(eq, made), old.of_steps)
        return Factors(found, found)

    def factors_of_row(self, eq: Equations, at: Point, old: Factors) -> Factors:
        found = eq.factors(at, jnp.asarray(C_ZERO), old.of_rows)
        return Factors(found, found)

    def tangent(
        self, eq: Equations, tables: Any, factors: Factors, at: Point, made: Made, table: Any, dp: Any
    ) -> tuple[Any, tuple[Any, Any]]:
        table, xdot = tangent_of_step(eq, factors.of_steps, at, made, table, dp)
        return table, (table[0], xdot)

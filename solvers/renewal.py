"""A new iteration matrix: its values, its factors, whether they are good for anything, and how exactly it
determines x."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .formula import Formula
from .jacobian import Gather, matrix_and_probe
from .linear import GOOD_ENOUGH, Factors, LinearSolver, balanced_probe, probe_error
from .problem import Problem
from .rounding import Rounding, is_far_away, keep_the_larger, not_looked, rounding_level
from .state import Settings, error_weights
from .step import Prediction


class Method(NamedTuple):
    """What is fixed when the loop is compiled."""

    problem: Problem
    solver: LinearSolver
    directions: int
    formula: Formula
    native: bool = False
    """Whether vectors are worked on by native code; for CPUs only."""


class Tables(NamedTuple):
    """Large constant arrays, arguments of the compiled loop."""

    gather: Gather
    solver: Any
    slope_places: Any
    """Of the problem: see there."""


class NewMatrix(NamedTuple):
    factors: Factors
    rounding: Rounding
    usable: jax.Array
    finite: jax.Array


def new_matrix(
    method: Method,
    tables: Tables,
    settings: Settings,
    p: Any,
    t: jax.Array,
    at: Prediction,
    c: jax.Array,
    factors: Factors,
    former: Rounding,
    former_c: jax.Array,
    attempts: jax.Array,
) -> NewMatrix:
    """The matrix at predicted values, with what is left of the former one."""
    values, probe = matrix_and_probe(
        method.problem, method.directions, tables.gather, t, at.x, at.xdot, p, c
    )
    finite = jnp.all(jnp.isfinite(values))
    factors = method.solver.factor(tables.solver, values, factors)
    error = probe_error(method.solver, tables.solver, factors, probe)

    def ask_again() -> jax.Array:
        probe = balanced_probe(tables.gather, values, method.problem.size)
        return probe_error(method.solver, tables.solver, factors, probe)

    error = jax.lax.cond(error <= GOOD_ENOUGH, lambda: error, ask_again)

    def look() -> Rounding:
        new = rounding_level(
            method.problem, method.solver, tables.solver, factors, tables.gather, values,
            at.x, at.xdot, c, attempts,
        )  # fmt: skip
        return keep_the_larger(former, new, c, c / former_c, error_weights(at.x, settings))

    usable = finite & (error <= GOOD_ENOUGH)
    # What is not usable says nothing about rounding; and to know it comes before all other solves.
    rounding = jax.lax.cond(usable & ~is_far_away(former, c), look, lambda: not_looked(former))
    return NewMatrix(factors, rounding, usable, finite)

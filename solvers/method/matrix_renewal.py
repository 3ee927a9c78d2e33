"""The iteration matrix of an attempt. A new one: its values, its factors, whether they are good for
anything, and how exactly it determines x."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..linear.contract import GOOD_ENOUGH, Factors, LinearSolver, balanced_probe, probe_error
from ..matrix.jacobian import Gather, Probe, matrix_and_probe
from .context import Context
from .controller import IN_JAX, LARGE, UNKNOWN_RATE
from .polynomial import Prediction
from .rounding import Rounding, is_far_away, keep_the_larger, not_looked, rounding_level
from .state import State
from .tolerances import error_weights


class Matrix(NamedTuple):
    """The iteration matrix that an attempt uses, and how far it is to be trusted."""

    factors: Factors
    c: jax.Array
    age: jax.Array
    """Accepted steps since it was computed."""
    rate: jax.Array
    """Rate of convergence met with it."""
    rounding: Rounding
    usable: jax.Array
    finite: jax.Array
    renewed: jax.Array
    """Whether it was computed for this attempt."""


class NewMatrix(NamedTuple):
    factors: Factors
    rounding: Rounding
    usable: jax.Array
    finite: jax.Array


def matrix_of_attempt(context: Context, state: State, t: jax.Array, at: Prediction, c: jax.Array) -> Matrix:
    """The matrix at hand; a new one at the predicted values where that is too old, too slow or too far from
    c."""
    former_c, former = state.number("matrix_c"), state.rounding
    needed = IN_JAX.matrix_is_needed(c, former_c, state.number("age"), state.number("outdated"))
    yes = jnp.ones((), bool)
    new = jax.lax.cond(
        needed,
        lambda factors, rounding: new_matrix(
            context, t, at, c, factors, rounding, former_c, state.number("attempts")
        ),
        lambda factors, rounding: NewMatrix(factors, rounding, yes, yes),
        state.factors,
        former,
    )
    # A matrix for another c converges at least as slowly as that says, whatever was met with it before.
    other_c = jnp.abs(c - former_c) / jnp.abs(c) if context.problem.size >= LARGE else 0.0
    return Matrix(
        factors=new.factors,
        c=jnp.where(needed, c, former_c),
        age=jnp.where(needed, 0, state.number("age")),
        rate=jnp.where(needed, UNKNOWN_RATE, jnp.maximum(state.number("rate"), other_c)),
        rounding=new.rounding,
        usable=new.usable,
        finite=new.finite,
        renewed=needed,
    )


def new_matrix(
    context: Context,
    t: jax.Array,
    at: Prediction,
    c: jax.Array,
    factors: Factors,
    former: Rounding,
    former_c: jax.Array,
    attempts: jax.Array,
) -> NewMatrix:
    """The matrix at predicted values, with what is left of the former one."""
    method, tables, _, p = context
    values, probe = matrix_and_probe(
        method.problem, method.directions, tables.gather, t, at.x, at.xdot, p, c
    )
    factors = method.solver.factor(tables.solver, values, factors)
    usable = is_usable(method.solver, tables.solver, factors, tables.gather, values, probe)
    return judged_matrix(context, t, at, c, values, factors, usable, former, former_c, attempts)


def is_usable(
    solver: LinearSolver, tables: Any, factors: Factors, gather: Gather, values: jax.Array, probe: Probe
) -> jax.Array:
    """Whether the factors of a matrix with these values answer for a known vector, or for one whose
    elements weigh the same."""
    error = probe_error(solver, tables, factors, probe)

    def ask_again() -> jax.Array:
        balanced = balanced_probe(gather, values, len(probe.vector))
        return probe_error(solver, tables, factors, balanced)

    return jax.lax.cond(error <= GOOD_ENOUGH, lambda: error, ask_again) <= GOOD_ENOUGH


def judged_matrix(
    context: Context,
    t: jax.Array,
    at: Prediction,
    c: jax.Array,
    values: jax.Array,
    factors: Factors,
    usable: jax.Array,
    former: Rounding,
    former_c: jax.Array,
    attempts: jax.Array,
) -> NewMatrix:
    """The matrix with these values and factors, and how exactly it determines x."""
    method, tables, settings, p = context
    finite = jnp.all(jnp.isfinite(values))

    def new_level() -> Rounding:
        new = rounding_level(
            method.problem, method.solver, tables.solver, factors, tables.gather, values,
            t, at.x, at.xdot, c, attempts, p,
        )  # fmt: skip
        return keep_the_larger(former, new, c, c / former_c, error_weights(at.x, settings))

    usable = finite & usable
    # What is not usable says nothing about rounding; and to know it comes before all other solves.
    rounding = jax.lax.cond(usable & ~is_far_away(former, c), new_level, lambda: not_looked(former))
    return NewMatrix(factors, rounding, usable, finite)

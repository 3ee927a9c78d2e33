"""The iteration matrix of an attempt. A new one: its values, its factors, whether they are good for
anything, and how exactly it determines x."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from ..linear.contract import GOOD_ENOUGH, Factors, balanced_probe, probe_error
from ..matrix.jacobian import matrix_and_probe
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
    method, tables, settings, p = context
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

    def new_level() -> Rounding:
        new = rounding_level(
            method.problem, method.solver, tables.solver, factors, tables.gather, values,
            t, at.x, at.xdot, c, attempts, p,
        )  # fmt: skip
        return keep_the_larger(former, new, c, c / former_c, error_weights(at.x, settings))

    usable = finite & (error <= GOOD_ENOUGH)
    # What is not usable says nothing about rounding; and to know it comes before all other solves.
    rounding = jax.lax.cond(usable & ~is_far_away(former, c), new_level, lambda: not_looked(former))
    return NewMatrix(factors, rounding, usable, finite)

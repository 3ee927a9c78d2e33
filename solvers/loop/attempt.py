"""One attempt at a step in JAX: the matrix, the step, the decision, and the state that follows.

Accepted, the state moves on; rejected, it keeps its time and gets a smaller step, or the same step with a
new matrix. Both cases are one linear map of the differences, so that nothing large is copied or chosen
between.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ..method.context import Context
from ..method.controller import IN_JAX, LARGE, Outcome, Work
from ..method.matrix_renewal import Matrix, matrix_of_attempt
from ..method.numbers import HISTOGRAM
from ..method.polynomial import predict
from ..method.projection import onto_constraints
from ..method.rounding import Rounding
from ..method.settings import Settings
from ..method.state import State, histogram, rounding_numbers
from ..method.step import Step, step
from ..method.table import move, start_again
from ..method.tolerances import beyond_tolerance


def prepare(context: Context, state: State) -> tuple[State, Any]:
    """The state, and what is carried from attempt to attempt besides: nothing."""
    return state, ()


def watches(context: Context) -> bool:
    """Whether an attempt looks for crossings itself."""
    return False


def attempt(
    context: Context, state: State, vectors: Any, pause: Any = None, stretches: Any = None
) -> tuple[State, Any]:
    """One attempt at a step of size h from t. (`pause` says when native code has to stop: this does.
    `stretches` is how native code looks for crossings: this does not.)"""
    now, limits = state.control, context.settings.step_limits
    t_new = jnp.where(now.h >= limits.t_end - now.t, limits.t_end, now.t + now.h)
    c = now.h / jnp.asarray(context.formula.leading)[now.order]
    prediction = predict(state.table, now.order, now.h)

    matrix = matrix_of_attempt(context, state, t_new, prediction, c)
    made = step(context, state.table, t_new, now.h, now.order, matrix, now.equal_steps >= now.order)
    outcome = _outcome(t_new, matrix, made)
    now = now._replace(age=matrix.age, rate=matrix.rate, outdated=~matrix.usable)
    decision = IN_JAX.decide(now, outcome, limits, context.method.solver.keeps_pivots)

    accepted, following = decision.accepted, decision.next
    d = made.correction.d
    table = move(state.table, d, now.order, accepted, following.order, decision.factor)
    table = start_again(
        table,
        following.h,
        state.xdot,
        decision.restart,
        lambda x: onto_constraints(context, now.t, x, state.xdot, matrix.c, matrix.factors, made.weights),
    )
    counts = _counts(context.settings, state, matrix.rounding, IN_JAX.work(outcome, accepted), accepted)
    state = state.with_rounding(matrix.rounding)._replace(
        table=table, xdot=jnp.where(accepted, made.xdot, state.xdot), factors=matrix.factors
    )
    return state.with_numbers(
        **following._asdict(),
        matrix_c=matrix.c,
        accepted=accepted,
        last_step=jnp.where(accepted, following.t - now.t, state.number("last_step")),
        restart=decision.restart,
        **rounding_numbers(matrix.rounding),
        **counts,
    ), vectors


def _outcome(t_new: jax.Array, matrix: Matrix, made: Step) -> Outcome:
    correction, errors = made.correction, made.errors
    return Outcome(
        t_new=t_new,
        renewed=matrix.renewed,
        usable=matrix.usable,
        finite_matrix=matrix.finite,
        converged=correction.converged,
        finite=correction.finite,
        iterations=correction.iteration,
        rate=correction.rate,
        error=errors.here,
        below=errors.below,
        above=errors.above,
    )


def _limited(x: jax.Array, settings: Settings, rounding: Rounding) -> tuple[jax.Array, jax.Array]:
    """Whether rounding is larger than the tolerance of the result, and where most."""

    def compare() -> tuple[jax.Array, jax.Array]:
        excess = beyond_tolerance(x, settings, rounding)
        return jnp.max(excess) > 1.0, jnp.argmax(excess).astype(jnp.int32)

    if len(x) < LARGE:
        return compare()
    return jax.lax.cond(rounding.matters, compare, lambda: (jnp.zeros((), bool), jnp.zeros((), jnp.int32)))


def _counts(
    settings: Settings, state: State, rounding: Rounding, work: Work, accepted: jax.Array
) -> dict[str, jax.Array]:
    """What was counted until now, by name."""
    limited, element = _limited(state.x, settings, rounding)
    limited = accepted & limited
    of_orders = histogram(state.numbers).at[state.number("order")].add(accepted)
    return {
        **{name: state.number(name) + more for name, more in work._asdict().items()},
        **{name: of_orders[k] for k, name in enumerate(HISTOGRAM)},
        "limited_by_rounding": state.number("limited_by_rounding") + limited,
        "limited_element": jnp.where(limited, element, state.number("limited_element")),
    }

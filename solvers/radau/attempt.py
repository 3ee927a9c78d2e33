"""One attempt at a step of Radau IIA: the matrices, the step, the decision, and the state that follows.

The state is that of the multistep method. Its table has the polynomial of the last step, of degree three,
in differences at the distance of the next one: output, crossings and events read it as they read the other.
It predicts the stages; x and xdot at the end of a step are all that the step after it depends on.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from ..method.context import Context
from ..method.polynomial import rescale_matrix
from ..method.state import State
from ..method.state_after import outcome_of, state_after
from ..method.step import Errors
from .coefficients import ORDER
from .decisions import Past, decide, work
from .matrix import matrix_of_attempt
from .step import step, table_after


def prepare(context: Context, state: State) -> tuple[State, Any]:
    """The state, and what is carried from attempt to attempt besides: nothing."""
    return state, ()


def watches(context: Context) -> bool:
    """Whether an attempt looks for crossings itself."""
    return False


def attempt(
    context: Context, state: State, vectors: Any, pause: Any = None, stretches: Any = None
) -> tuple[State, Any]:
    """One attempt at a step of size h from t. (The last two are for native code.)"""
    now, limits = state.control, context.settings.step_limits
    t_new = jnp.where(now.h >= limits.t_end - now.t, limits.t_end, now.t + now.h)
    matrix = matrix_of_attempt(context, state)
    both = matrix.both
    made = step(context, state, matrix)

    outcome = outcome_of(t_new, both, made.correction, Errors(made.error, made.error, made.error))
    now = now._replace(age=both.age, rate=both.rate, outdated=~both.usable)
    past = Past(state.number("last_step"), state.number("last_error"))
    decision = decide(now, outcome, matrix.fresh, past, limits, context.method.solver.keeps_pivots)

    accepted, following = decision.accepted, decision.next
    # What was rejected may not be finite, and zero times NaN is NaN: it must not get into a product.
    stages = jnp.where(accepted, made.stages, 0.0)
    table = jnp.where(accepted, table_after(stages, made.x), state.table)
    degree = jnp.where(accepted, following.order, now.order)
    table = rescale_matrix(decision.factor, degree) @ table
    after = state_after(
        context, state, both, decision, work(outcome, accepted, matrix.fresh), table, made.xdot,
        made.weights, ORDER, last_error=jnp.where(accepted, made.error, state.number("last_error")),
    )  # fmt: skip
    return after, vectors

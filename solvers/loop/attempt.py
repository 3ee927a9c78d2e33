"""One attempt at a step in JAX: the matrix, the step, the decision, and the state that follows.

Accepted, the state moves on; rejected, it keeps its time and gets a smaller step, or the same step with a
new matrix. Both cases are one linear map of the differences, so that nothing large is copied or chosen
between.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from ..method.context import Context
from ..method.controller import IN_JAX
from ..method.matrix_renewal import matrix_of_attempt
from ..method.polynomial import predict
from ..method.state import State
from ..method.state_after import outcome_of, state_after
from ..method.step import step
from ..method.table import move


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
    outcome = outcome_of(t_new, matrix, made.correction, made.errors)
    now = now._replace(age=matrix.age, rate=matrix.rate, outdated=~matrix.usable)
    decision = IN_JAX.decide(now, outcome, limits, context.method.solver.keeps_pivots)

    table = move(
        state.table, made.correction.d, now.order, decision.accepted, decision.next.order, decision.factor
    )
    work = IN_JAX.work(outcome, decision.accepted)
    after = state_after(
        context, state, matrix, decision, work, table, made.xdot, made.weights, order=now.order
    )
    return after, vectors

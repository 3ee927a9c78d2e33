"""One attempt at a step of inline integration in JAX: as `loop.attempt`, with a corrector by stages.

The small matrices are renewed where the whole one would be. The whole one is computed where rounding is to
be looked at, and where the stages fail with new matrices, as where a formula divides by what vanishes: then
the whole corrector makes the attempt, so that it fails only where that does.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from ..method.context import Context
from ..method.controller import IN_JAX, LARGE, UNKNOWN_RATE
from ..method.matrix_renewal import Matrix, new_matrix
from ..method.polynomial import Prediction, predict
from ..method.rounding import NEAR, Rounding, is_far_away, not_looked
from ..method.state import State
from ..method.state_after import outcome_of, state_after
from ..method.step import Step, step
from ..method.table import move
from .corrector import correct_by_stages
from .matrices import Torn, new_torn


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
    c = now.h / jnp.asarray(context.formula.leading)[now.order]
    prediction = predict(state.table, now.order, now.h)
    matrix, torn, looked = _matrices(context, state, t_new, prediction, c)
    neighbours = now.equal_steps >= now.order

    def by_stages() -> Step:
        corrector = partial(correct_by_stages, context, torn)
        return step(
            context, state.table, t_new, now.h, now.order, matrix._replace(usable=torn.good), neighbours,
            corrector,
        )  # fmt: skip

    def as_a_whole(_: Step) -> tuple[Matrix, Step]:
        new = new_matrix(
            context, t_new, prediction, c, matrix.factors, matrix.rounding, matrix.c, now.attempts
        )
        whole = matrix._replace(
            factors=new.factors, c=c, rate=jnp.full((), UNKNOWN_RATE), rounding=new.rounding,
            usable=new.usable, finite=new.finite,
        )  # fmt: skip
        return whole, step(context, state.table, t_new, now.h, now.order, whole, neighbours)

    made = by_stages()
    failed = matrix.renewed & ~made.correction.converged
    matrix, made = jax.lax.cond(failed, as_a_whole, lambda made: (matrix, made), made)

    outcome = outcome_of(t_new, matrix, made.correction, made.errors)
    now = now._replace(age=matrix.age, rate=matrix.rate, outdated=~matrix.usable)
    decision = IN_JAX.decide(now, outcome, limits, context.method.solver.keeps_pivots)
    table = move(
        state.table, made.correction.d, now.order, decision.accepted, decision.next.order, decision.factor
    )
    work = IN_JAX.work(outcome, decision.accepted)
    if not len(context.method.inlined.tears):  # what is looked at then are the formulas
        work = work._replace(jacobians=looked | failed, factorizations=looked | failed)
    after = state_after(
        context, state, matrix, decision, work, table, made.xdot,
        made.weights, order=now.order,
        corrected_whole=state.number("corrected_whole") + failed,
    )  # fmt: skip
    return after._replace(torn=torn), vectors


def _matrices(
    context: Context, state: State, t: jax.Array, at: Prediction, c: jax.Array
) -> tuple[Matrix, Torn, jax.Array]:
    """The whole matrix, and the small ones, which are renewed where they are too old, too slow or too far
    from c; and whether the whole one is new."""
    old: Torn = state.torn
    problem, former, former_c = context.problem, state.rounding, state.number("matrix_c")
    needed = ~old.good | IN_JAX.matrix_is_needed(c, old.c, state.number("age"), state.number("outdated"))
    torn = jax.lax.cond(
        needed,
        lambda: new_torn(problem, context.method.inlined, t, at, c, context.p),
        lambda: old,
    )

    def look(factors: Any, rounding: Rounding) -> tuple[Any, Rounding, jax.Array]:
        new = new_matrix(context, t, at, c, factors, rounding, former_c, state.number("attempts"))
        return new.factors, new.rounding, c

    def rest(factors: Any, rounding: Rounding) -> tuple[Any, Rounding, jax.Array]:
        kept = jax.lax.cond(needed, lambda: not_looked(rounding), lambda: rounding)
        return factors, kept, former_c

    looked = needed & ~is_far_away(former, c, NEAR)
    factors, rounding, whole_c = jax.lax.cond(looked, look, rest, state.factors, former)
    other_c = jnp.abs(c - torn.c) / jnp.abs(c) if problem.size >= LARGE else 0.0
    yes = jnp.ones((), bool)
    matrix = Matrix(
        factors=factors,
        c=whole_c,
        age=jnp.where(needed, 0, state.number("age")),
        rate=jnp.where(needed, UNKNOWN_RATE, jnp.maximum(state.number("rate"), other_c)),
        rounding=rounding,
        usable=yes,
        finite=yes,
        renewed=needed,
    )
    return matrix, torn, looked

"""One attempt at a step: renew the matrix if needed, predict, correct, estimate; accept or reject.

Accepted, the state moves on; rejected, it keeps its time and gets a smaller step, or the same step with a
new matrix. Both cases are one linear map of the differences, so that nothing large is copied or chosen
between. What is decided with numbers is in `decisions`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .decisions import IN_JAX, LARGE, STAGNATED, UNKNOWN_RATE, Found, Limits, Position, Work
from .newton import correct
from .projection import onto_constraints
from .renewal import Method, NewMatrix, Tables, new_matrix
from .rounding import ROUNDING_REACHED, Rounding
from .state import (
    Counters,
    Matrix,
    Settings,
    State,
    beyond_tolerance,
    corrector_weights,
    error_weights,
    slope_weights,
)
from .step import Prediction, estimate, neighbouring_errors, predict, weighted_norm
from .table import begin_again, move


class Renewal(NamedTuple):
    matrix: Matrix
    usable: jax.Array
    finite: jax.Array
    renewed: jax.Array


def attempt(method: Method, tables: Tables, settings: Settings, p: Any, state: State) -> State:
    """One attempt at a step of size h from t."""
    prediction = predict(state.differences, state.order, state.h)
    remaining = settings.t_end - state.t
    t_new = jnp.where(state.h >= remaining, settings.t_end, state.t + state.h)
    c = state.h / jnp.asarray(method.formula.leading)[state.order]

    renewal = renew_matrix(method, tables, settings, p, state, t_new, prediction, c)
    matrix = renewal.matrix
    weights, for_corrector, inevitable, foreseen = _with_rounding(state.x, settings, matrix.rounding)
    places = method.problem.slope_places

    def of_slopes(xdot: jax.Array) -> jax.Array:
        return slope_weights(places, xdot, settings, matrix.rounding, c)

    correction = correct(
        method.problem, method.solver, tables.solver, matrix.factors,
        t_new, prediction, p, c, for_corrector, matrix.rate, renewal.usable, state.order == 1,
        ROUNDING_REACHED * inevitable, renewal.renewed | (ROUNDING_REACHED * foreseen >= STAGNATED),
        of_slopes if len(places) else None,
    )  # fmt: skip
    error = estimate(correction.d, state.order, weights, method.formula)
    accepted = IN_JAX.is_accepted(renewal.usable, correction.converged, error)
    # Rows, not the whole table, go into branches: what goes there is kept, and then copied to be changed.
    row, next_row = state.differences[state.order], state.differences[state.order + 1]
    below, above = jax.lax.cond(
        IN_JAX.may_change(accepted, state.equal_steps, state.order),
        lambda: neighbouring_errors(row, next_row, correction.d, state.order, weights, method.formula),
        lambda: (error, error),
    )
    found = Found(
        t_new, renewal.renewed, renewal.usable, renewal.finite, correction.converged, correction.finite,
        correction.iteration, correction.rate, error, below, above,
    )  # fmt: skip
    verdict = IN_JAX.decide(
        position_of(state, matrix), found, limits_of(settings), method.solver.keeps_pivots
    )
    order, h = verdict.next.order, verdict.next.h

    differences = move(state.differences, correction.d, state.order, accepted, order, verdict.factor)
    differences = begin_again(
        differences,
        h,
        state.xdot,
        verdict.restart,
        lambda x: onto_constraints(
            method, tables, p, state.t, x, state.xdot, matrix.c, matrix.factors, weights
        ),
    )
    moved = at_position(state._replace(matrix=matrix), verdict.next)
    return moved._replace(
        differences=differences,
        xdot=jnp.where(accepted, prediction.xdot + correction.d / c, state.xdot),
        counters=_count(state, settings, matrix.rounding, IN_JAX.work(found, accepted), accepted),
    )


def limits_of(settings: Settings) -> Limits:
    return Limits(settings.t_end, settings.max_step, settings.max_steps, settings.max_order)


def position_of(state: State, matrix: Matrix) -> Position:
    return Position(
        **{name: getattr(matrix if name in Matrix._fields else state, name) for name in Position._fields}
    )


def at_position(state: State, position: Position) -> State:
    numbers = position._asdict()
    of_matrix = {name: numbers.pop(name) for name in Position._fields if name in Matrix._fields}
    numbers["status"] = numbers["status"].astype(jnp.int32)
    return state._replace(**numbers, matrix=state.matrix._replace(**of_matrix))


def _with_rounding(
    x: jax.Array, settings: Settings, rounding: Rounding
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Weights of the error test and of the corrector; rounding that is inevitable and that is foreseen, in
    units of the latter."""

    def look() -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        weights = error_weights(x, settings, rounding)
        strict = corrector_weights(weights, settings, rounding)
        inevitable = weighted_norm(rounding.of_constraints, strict)
        return weights, strict, inevitable, inevitable + weighted_norm(rounding.of_slopes, strict)

    def do_not_look() -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        weights = error_weights(x, settings)
        return weights, corrector_weights(weights, settings, rounding), nothing, nothing

    if len(x) < LARGE:
        return look()
    nothing = jnp.zeros_like(settings.rtol)
    return jax.lax.cond(rounding.matters, look, do_not_look)


def renew_matrix(
    method: Method,
    tables: Tables,
    settings: Settings,
    p: Any,
    state: State,
    t: jax.Array,
    at: Prediction,
    c: jax.Array,
) -> Renewal:
    """A new matrix at the predicted values, where the old one is too old, too slow or too far from c."""
    old = state.matrix
    needed = IN_JAX.matrix_is_needed(c, old.c, old.age, old.outdated)
    yes = jnp.ones((), bool)
    new = jax.lax.cond(
        needed,
        lambda factors, rounding: new_matrix(
            method, tables, settings, p, t, at, c, factors, rounding, old.c, state.attempts
        ),
        lambda factors, rounding: NewMatrix(factors, rounding, yes, yes),
        old.factors,
        old.rounding,
    )
    # A matrix for another c converges at least as slowly as that says, whatever was met with it before.
    other_c = jnp.abs(c - old.c) / jnp.abs(c) if method.problem.size >= LARGE else 0.0
    matrix = Matrix(
        factors=new.factors,
        c=jnp.where(needed, c, old.c),
        age=jnp.where(needed, 0, old.age),
        rate=jnp.where(needed, UNKNOWN_RATE, jnp.maximum(old.rate, other_c)),
        rounding=new.rounding,
        outdated=~new.usable,
        pivots_are_new=old.pivots_are_new,
    )
    return Renewal(matrix, new.usable, new.finite, needed)


def _limited(x: jax.Array, settings: Settings, rounding: Rounding) -> tuple[jax.Array, jax.Array]:
    """Whether rounding is larger than the tolerance of the result, and where most."""

    def look() -> tuple[jax.Array, jax.Array]:
        excess = beyond_tolerance(x, settings, rounding)
        return jnp.max(excess) > 1.0, jnp.argmax(excess).astype(jnp.int32)

    if len(x) < LARGE:
        return look()
    return jax.lax.cond(rounding.matters, look, lambda: (jnp.zeros((), bool), jnp.zeros((), jnp.int32)))


def _count(
    state: State, settings: Settings, rounding: Rounding, work: Work, accepted: jax.Array
) -> Counters:
    was = state.counters
    limited, element = _limited(state.x, settings, rounding)
    limited = accepted & limited
    return was._replace(
        **{name: getattr(was, name) + more for name, more in work._asdict().items()},
        order_histogram=was.order_histogram.at[state.order].add(accepted),
        limited_by_rounding=was.limited_by_rounding + limited,
        limited_element=jnp.where(limited, element, was.limited_element),
    )

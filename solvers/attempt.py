"""One attempt at a step: renew the matrix if needed, predict, correct, estimate; accept or reject.

Accepted, the state moves on; rejected, it keeps its time and gets a smaller step, or the same step with a
new matrix. Both cases are one linear map of the differences, so that nothing large is copied or chosen
between.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .formula import Formula
from .jacobian import Gather, fd_rows, matrix_and_probe
from .linear import GOOD_ENOUGH, LinearSolver, probe_error
from .newton import LARGE, MAX_ITERATIONS, STAGNATED, UNKNOWN_RATE, Correction, correct
from .problem import Problem
from .rounding import Rounding, keep_the_larger, rounding_level
from .state import Counters, Matrix, Settings, State, beyond_tolerance, error_weights
from .status import Status
from .step import (
    Choice,
    Prediction,
    choose,
    estimate,
    on_the_grid_of_time,
    predict,
    shrink_factor,
    weighted_norm,
)
from .table import begin_again, move

LARGEST_CHANGE_OF_C = 0.2
"""Relative change of c up to which a matrix is kept."""
LARGEST_AGE = 50
"""Accepted steps for which a matrix is kept."""
SHRINK_AFTER_NEWTON = 0.25
FAILURES_UNTIL_RESTART = 3
PROJECTIONS = 4
SETTLED = 0.01
"""Change of the last projection in units of the shift, or of the tolerance."""
ROUNDING_REACHED = 2.0
"""Changes of so many units of rounding end Newton's iteration."""
SMALLEST_STEP = 16.0
"""In units of rounding of t."""
SMALLEST_STEP_OF_ALL = 1e-40
"""In units of the last time, for steps at t = 0, where nothing is rounded."""


class Method(NamedTuple):
    """What is fixed when the loop is compiled."""

    problem: Problem
    solver: LinearSolver
    directions: int
    formula: Formula


class Tables(NamedTuple):
    """Large constant arrays, arguments of the compiled loop."""

    gather: Gather
    solver: Any


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
    weights, inevitable, foreseen = _with_rounding(state.x, settings, matrix.rounding)
    correction = correct(
        method.problem, method.solver, tables.solver, matrix.factors,
        t_new, prediction, p, c, weights, matrix.rate, renewal.usable, state.order == 1,
        ROUNDING_REACHED * inevitable, renewal.renewed | (ROUNDING_REACHED * foreseen >= STAGNATED),
    )  # fmt: skip
    error = estimate(correction.d, state.order, weights, method.formula)
    accepted = renewal.usable & correction.converged & (error <= 1.0)

    # With old pivots nothing is learned about the step: outside, pivots are renewed, and it is tried again.
    ask_for_pivots = (
        renewal.renewed & renewal.finite & ~renewal.usable & ~matrix.pivots_are_new
        if method.solver.keeps_pivots
        else jnp.zeros((), bool)
    )
    # Rows, not the whole table, go into branches: what goes there is kept, and then copied to be changed.
    row, next_row = state.differences[state.order], state.differences[state.order + 1]
    choice = jax.lax.cond(
        accepted & (state.equal_steps >= state.order),
        lambda: choose(
            row, next_row, correction.d, state.order, error, weights, method.formula, settings.max_order
        ),
        lambda: _repeat_or_shrink(state, renewal, correction, error, accepted, ask_for_pivots),
    )
    t_next = jnp.where(accepted, t_new, state.t)
    h_new, factor = _fit(choice.factor, state.h, t_next, settings)
    changed = (factor != 1.0) | (choice.order != state.order)

    restart = correction.converged & ~accepted & (state.failures + 1 >= FAILURES_UNTIL_RESTART)
    differences = move(state.differences, correction.d, state.order, accepted, choice.order, factor)
    differences = begin_again(
        differences,
        h_new,
        state.xdot,
        restart,
        lambda x: _project(method, tables, p, state, x, matrix, weights),
    )
    moved = state._replace(
        t=t_next,
        h=h_new,
        order=choice.order,
        equal_steps=jnp.where(changed, 0, state.equal_steps + accepted),
        differences=differences,
        xdot=jnp.where(accepted, prediction.xdot + correction.d / c, state.xdot),
        matrix=_judge_matrix(matrix, renewal, correction, accepted),
        failures=jnp.where(accepted, 0, state.failures + (correction.converged & ~accepted)),
        attempts=state.attempts + 1,
        reached=jnp.where(accepted, t_new, state.reached),
        counters=_count(state, settings, renewal, correction, accepted),
    )
    status = _status(moved, settings, accepted, renewal, correction)
    return moved._replace(status=jnp.where(ask_for_pivots, Status.NEW_PIVOTS, status).astype(jnp.int32))


def _with_rounding(
    x: jax.Array, settings: Settings, rounding: Rounding
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Weights of the error test, and rounding that is inevitable and that is foreseen, in units of it."""

    def look() -> tuple[jax.Array, jax.Array, jax.Array]:
        weights = error_weights(x, settings, rounding)
        inevitable = weighted_norm(rounding.of_constraints, weights)
        return weights, inevitable, inevitable + weighted_norm(rounding.of_slopes, weights)

    if len(x) < LARGE:
        return look()
    nothing = jnp.zeros_like(settings.rtol)
    return jax.lax.cond(rounding.matters, look, lambda: (error_weights(x, settings), nothing, nothing))


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
    needed = (
        old.outdated
        | (old.age >= LARGEST_AGE)
        | (jnp.abs(c - old.c) > LARGEST_CHANGE_OF_C * jnp.abs(old.c))
    )

    def renew(factors: Any, former: Rounding) -> tuple[Any, Rounding, jax.Array, jax.Array]:
        values, probe = matrix_and_probe(
            method.problem, method.directions, tables.gather, t, at.x, at.xdot, p, c
        )
        finite = jnp.all(jnp.isfinite(values))
        factors = method.solver.factor(tables.solver, values, factors)
        rounding = rounding_level(
            method.problem, method.solver, tables.solver, factors, tables.gather, values,
            at.x, at.xdot, c, state.attempts,
        )  # fmt: skip
        rounding = keep_the_larger(former, rounding, c / old.c, error_weights(at.x, settings))
        error = probe_error(method.solver, tables.solver, factors, probe)
        return factors, rounding, finite & (error <= GOOD_ENOUGH), finite

    yes = jnp.ones((), bool)
    factors, rounding, usable, finite = jax.lax.cond(
        needed, renew, lambda *kept: (*kept, yes, yes), old.factors, old.rounding
    )
    # A matrix for another c converges at least as slowly as that says, whatever was met with it before.
    other_c = jnp.abs(c - old.c) / jnp.abs(c) if method.problem.size >= LARGE else 0.0
    matrix = Matrix(
        factors=factors,
        c=jnp.where(needed, c, old.c),
        age=jnp.where(needed, 0, old.age),
        rate=jnp.where(needed, UNKNOWN_RATE, jnp.maximum(old.rate, other_c)),
        rounding=rounding,
        outdated=~usable,
        pivots_are_new=old.pivots_are_new,
    )
    return Renewal(matrix, usable, finite, needed)


def _repeat_or_shrink(
    state: State,
    renewal: Renewal,
    correction: Correction,
    error: jax.Array,
    accepted: jax.Array,
    ask_for_pivots: jax.Array,
) -> Choice:
    """No change after an early accepted step; after a failure a smaller step, unless only the matrix was
    old."""
    matrix_was_old = ~correction.converged & ~renewal.renewed | ask_for_pivots
    after_failure = jnp.where(
        correction.converged,
        shrink_factor(error, state.order),
        jnp.where(matrix_was_old, 1.0, SHRINK_AFTER_NEWTON),
    )
    too_often = correction.converged & ~accepted & (state.failures + 1 >= FAILURES_UNTIL_RESTART)
    return Choice(
        order=jnp.where(too_often, 1, state.order), factor=jnp.where(accepted, 1.0, after_failure)
    )


def _fit(factor: jax.Array, h: jax.Array, t: jax.Array, settings: Settings) -> tuple[jax.Array, jax.Array]:
    """The next step size within the limits: it meets the end exactly, and not with a sliver before it."""
    remaining = settings.t_end - t
    wanted = jnp.minimum(factor * h, settings.max_step)
    fitted = jnp.where(
        wanted >= remaining * (1 - 1e-10),
        remaining,
        on_the_grid_of_time(jnp.where(wanted > 0.5 * remaining * (1 + 1e-10), 0.5 * remaining, wanted), t),
    )
    fitted = jnp.where(remaining > 0, fitted, wanted)
    return fitted, jnp.where(fitted == h, 1.0, fitted / h)


def _project(
    method: Method, tables: Tables, p: Any, state: State, x: jax.Array, matrix: Matrix, weights: jax.Array
) -> jax.Array:
    """The move of x onto the constraints.

    Newton's iteration may stop just before a kink and leave an algebraic variable on the wrong branch. No
    step is then small enough, because its correction does not shrink with the step.

    Md shift = 0: differential variables stay. The fd rows of the matrix are Md + c dfd/dx, so the second
    term goes to the other side, with the shift found before. Where that does not settle, as with a matrix
    that is too old or a step too long, nothing is moved: the next attempt is at a smaller step.
    """
    is_fd = fd_rows(method.problem)

    def by_x(shift: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.jvp(lambda x: method.problem.residual(state.t, x, state.xdot, p), (x,), (shift,))

    def improve(_: int, shifts: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        shift = shifts[0]
        residual, change = by_x(shift)
        right = jnp.where(is_fd, matrix.c * change, -residual)
        return method.solver.solve(tables.solver, matrix.factors, right), shift

    nothing = jnp.zeros_like(x)
    shift, before = jax.lax.fori_loop(0, PROJECTIONS, improve, (nothing, nothing))
    unsettled = weighted_norm(shift - before, weights)
    settled = unsettled <= jnp.maximum(SETTLED * weighted_norm(shift, weights), SETTLED)
    return jnp.where(settled & jnp.all(jnp.isfinite(shift)), shift, 0.0)


def _judge_matrix(matrix: Matrix, renewal: Renewal, correction: Correction, accepted: jax.Array) -> Matrix:
    """Remember the rate of convergence; a slow or failed iteration asks for a new matrix."""
    slow = ~renewal.renewed & (correction.iteration >= MAX_ITERATIONS - 1)
    return matrix._replace(
        age=matrix.age + accepted,
        rate=jnp.where(correction.converged, correction.rate, UNKNOWN_RATE),
        outdated=~renewal.usable | slow | ~correction.converged,
        pivots_are_new=matrix.pivots_are_new & ~accepted,
    )


def _status(
    moved: State, settings: Settings, accepted: jax.Array, renewal: Renewal, correction: Correction
) -> jax.Array:
    cause = jnp.where(
        ~renewal.finite | ~correction.finite,
        Status.NON_FINITE,
        jnp.where(
            ~renewal.usable,
            Status.SINGULAR,
            jnp.where(correction.converged, Status.ERROR_TEST, Status.NEWTON),
        ),
    )
    rounding = jnp.finfo(moved.t.dtype).eps * jnp.abs(moved.t)
    smallest = jnp.maximum(SMALLEST_STEP * rounding, SMALLEST_STEP_OF_ALL * jnp.abs(settings.t_end))
    too_small = ~accepted & (moved.h < smallest)
    too_many = moved.attempts >= settings.max_steps
    return jnp.where(
        moved.t >= settings.t_end,
        Status.SUCCESS,
        jnp.where(too_small, cause, jnp.where(too_many, Status.MAX_STEPS, Status.RUNNING)),
    )


def _limited(x: jax.Array, settings: Settings, rounding: Rounding) -> tuple[jax.Array, jax.Array]:
    """Whether rounding is larger than the tolerance of the result, and where most."""

    def look() -> tuple[jax.Array, jax.Array]:
        excess = beyond_tolerance(x, settings, rounding)
        return jnp.max(excess) > 1.0, jnp.argmax(excess).astype(jnp.int32)

    if len(x) < LARGE:
        return look()
    return jax.lax.cond(rounding.matters, look, lambda: (jnp.zeros((), bool), jnp.zeros((), jnp.int32)))


def _count(
    state: State, settings: Settings, renewal: Renewal, correction: Correction, accepted: jax.Array
) -> Counters:
    was = state.counters
    limited, element = _limited(state.x, settings, renewal.matrix.rounding)
    limited = accepted & limited
    not_finite = ~renewal.finite | ~correction.finite
    singular = ~renewal.usable & ~not_finite
    newton = renewal.usable & ~correction.converged & ~not_finite & renewal.renewed
    return Counters(
        steps=was.steps + accepted,
        rejected_error=was.rejected_error + (correction.converged & ~accepted),
        rejected_newton=was.rejected_newton + newton,
        rejected_non_finite=was.rejected_non_finite + not_finite,
        rejected_singular=was.rejected_singular + singular,
        residuals=was.residuals + correction.iteration,
        jacobians=was.jacobians + renewal.renewed,
        factorizations=was.factorizations + renewal.renewed,
        solves=was.solves + correction.iteration + renewal.renewed,
        order_histogram=was.order_histogram.at[state.order].add(accepted),
        limited_by_rounding=was.limited_by_rounding + limited,
        limited_element=jnp.where(limited, element, was.limited_element),
    )

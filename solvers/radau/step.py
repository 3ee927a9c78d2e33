"""One step of Radau IIA: predict the stages, correct them, estimate the error. Nothing is decided here.

Newton's iteration for Z = (Z_1, Z_2, Z_3), with fd rows scaled as the matrices are:

    M(h/REAL) dW_1    = -[c fd; fc] of TO_REAL F,         F_i = F(t_n + c_i h, x_n + Z_i, (B Z)_i / h, p),
    M(h/COMPLEX) dW_2 = -[c fd; fc] of TO_COMPLEX F,      dZ = OF_REAL dW_1 + 2 Re(OF_COMPLEX dW_2).

The error of x is estimated by the embedded formula of order three, made finite for stiff equations by the
matrix (L. F. Shampine; Hairer & Wanner, IV.8):

    M(h/REAL) err = [Md (h/REAL xdot_n + ERROR Z); 0],        Md = dfd/dxdot,

so that it lies along the constraints; elements that fc determines follow the others. What they do on their
own, and between stages, is seen from how far they are from where the last step predicted them: that, as
interpolation within a step goes wrong by it, is tested in `algebraic` elements. (Otherwise a diode whose
current is not seen at any stage would never conduct.)
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from ..lanes import each
from ..matrix.jacobian import fd_rows
from ..method.context import Context
from ..method.controller import IN_JAX, STAGNATED
from ..method.newton import Correction
from ..method.polynomial import basis
from ..method.rounding import ROUNDING_REACHED
from ..method.state import State
from ..method.step import weights_of_step
from ..method.tolerances import slope_weights, weighted_norm
from .coefficients import (
    BETWEEN,
    COMPLEX,
    DEGREE,
    ERROR,
    NODES,
    OF_COMPLEX,
    OF_REAL,
    REAL,
    TO_COMPLEX,
    TO_DIFFERENCES,
    TO_REAL,
    B,
)
from .matrix import StageMatrix, stage_solver

MAX_ITERATIONS = 10
TOLERANCE = 0.01
"""Error of the iteration in units of the tolerance. The result is far more accurate than the error estimate
says, so it is not to be spoilt by this."""
SMALLEST_RATE = 0.01
FARTHER = 10.0
"""A second change that is so many times larger than the first is divergence."""
OF_ESTIMATE = 0.2
"""The estimate is the error of a formula of order three. Within a step the output is wrong by a quarter
of that (where x' = t^3), at its end by far less; with this part of it compared with the tolerance, errors
on the published test problems are within the tolerance times 30, with room."""


class RadauStep(NamedTuple):
    x: jax.Array
    xdot: jax.Array
    stages: jax.Array
    """Z_i, in rows."""
    correction: Correction
    error: jax.Array
    """In units of the tolerance."""
    weights: jax.Array


def step(context: Context, state: State, matrix: StageMatrix) -> RadauStep:
    """The step of size h from a state."""
    h, order, both = state.number("h"), state.number("order"), matrix.both
    weights, for_corrector, inevitable, foreseen = weights_of_step(state.x, context.settings, both.rounding)
    predicted = predict_stages(state.table, order)
    correction = _correct(
        context, state, matrix, predicted, for_corrector,
        rounding=ROUNDING_REACHED * inevitable,
        may_stagnate=matrix.fresh | (ROUNDING_REACHED * foreseen >= STAGNATED),
    )  # fmt: skip
    stages = correction.d
    x, xdot = state.x + stages[2], B[2] @ stages / h
    again = (order != DEGREE) | (state.number("failures") > 0)
    error = OF_ESTIMATE * _error_of_states(context, state, both.factors, stages, weights, again)
    missed = jnp.where(order == DEGREE, stages[2] - predicted[2], 0.0)
    part = interpolated_part(state.number("last_step") / h)
    own = jnp.where(_algebraic(context, both.factors), part * missed, 0.0)
    error = jnp.maximum(error, weighted_norm(own, weights))
    return RadauStep(x, xdot, stages, correction, error, weights)


def _algebraic(context: Context, factors: NamedTuple) -> jax.Array:
    """Which elements are; where the problem does not say, those whose derivative no equation contains."""
    if context.problem.algebraic is not None:
        return jnp.asarray(context.problem.algebraic)
    slopes = jnp.abs(factors.of_slopes)  # type: ignore[attr-defined]
    largest = jax.ops.segment_max(slopes, context.tables.gather.columns, context.problem.size)
    return ~(largest > 0.0)


def predict_stages(table: jax.Array, degree: jax.Array) -> jax.Array:
    """Z where the polynomial of the last step, or that of the start, goes on."""
    factors = jnp.where(
        jnp.arange(1, DEGREE + 1) <= degree, basis(jnp.asarray(NODES))[:, 1 : DEGREE + 1], 0.0
    )
    return factors @ table[1 : DEGREE + 1]


def table_after(stages: jax.Array, x: jax.Array) -> jax.Array:
    """Differences of the polynomial of this step at the distance h from its end, where it is x."""
    return (jnp.asarray(TO_DIFFERENCES) @ stages).at[0].set(x)


def interpolated_part(before: jax.Array) -> jax.Array:
    """Error of cubic interpolation in this step, as a part of the error of extrapolation from the one
    before to its end. Both are a fourth derivative times products of distances from nodes; `before` is the
    size of the step before in units of h."""
    extrapolated = (1.0 + before) * jnp.prod(1.0 + before * (1.0 - jnp.asarray(NODES)))
    return BETWEEN / extrapolated


def _correct(
    context: Context,
    state: State,
    matrix: StageMatrix,
    predicted: jax.Array,
    weights: jax.Array,
    rounding: jax.Array,
    may_stagnate: jax.Array,
) -> Correction:
    """Iterate to convergence, divergence, or values that are not finite; nothing if the matrices are not
    usable."""
    problem, settings, p = context.problem, context.settings, context.p
    solver, tables, both = stage_solver(context), context.tables, matrix.both
    t, h, x = state.number("t"), state.number("h"), state.x
    is_fd, times, places = fd_rows(problem, p), t + jnp.asarray(NODES) * h, problem.slope_places

    def scaled(residual: jax.Array, eigenvalue: complex) -> jax.Array:
        return jnp.where(is_fd, -(h / eigenvalue) * residual, -residual)

    def of_slopes(change: jax.Array, slopes: jax.Array) -> jax.Array:
        """Size of the change of xdot in unknowns that it is the value of."""

        def at_stage(change: jax.Array, slope: jax.Array) -> jax.Array:
            return change[places] * slope_weights(places, slope, settings, both.rounding, h)

        return jnp.max(jnp.abs(jax.vmap(at_stage)(jnp.asarray(B) @ change, slopes)))

    def iterate(carry: tuple[Correction, jax.Array]) -> tuple[Correction, jax.Array]:
        old, before = carry
        slopes = jnp.asarray(B) @ old.d / h
        residuals = each(
            lambda at: problem.residual(at[0], x + at[1], at[2], p), (times, old.d, slopes),
            problem.one_by_one,
        )  # fmt: skip
        first = solver.solve(tables.solver, both.factors, scaled(jnp.asarray(TO_REAL) @ residuals, REAL))
        second = solver.solve_complex(
            tables.solver, both.factors, scaled(jnp.asarray(TO_COMPLEX) @ residuals, COMPLEX)
        )
        change = jnp.outer(OF_REAL, first) + 2.0 * jnp.real(jnp.outer(OF_COMPLEX, second))
        size = weighted_norm(change, weights)
        if len(places):
            size = jnp.maximum(size, of_slopes(change, slopes))
        ratio = _ratio(old.iteration, size, old.size, before)
        steady = jnp.where(old.iteration > 1, jnp.maximum(size, ratio * old.size), size)
        judged = IN_JAX.judge_iteration(
            steady, steady / ratio, old.iteration, old.rate, False, rounding, may_stagnate, SMALLEST_RATE,
            MAX_ITERATIONS, TOLERANCE,
        )._replace(size=size)  # fmt: skip
        # The second change may be as large as the first where that was of other elements: the first one
        # puts linear equations right, and unknowns that are derivatives feel what is left of others over h.
        is_early = (old.iteration <= 1) & (size <= FARTHER * old.size)
        judged = judged._replace(diverged=judged.diverged & ~is_early)
        return Correction(old.d + change, old.iteration + 1, *judged), old.size

    def unfinished(carry: tuple[Correction, jax.Array]) -> jax.Array:
        now, _ = carry
        goes_on = now.finite & ~now.converged & ~now.diverged
        return both.usable & goes_on & (now.iteration < MAX_ITERATIONS)

    zero, no, yes = jnp.zeros_like(h), jnp.zeros((), bool), jnp.ones((), bool)
    start = Correction(predicted, jnp.zeros((), jnp.int32), zero, both.rate, yes, no, no)
    return jax.lax.while_loop(unfinished, iterate, (start, zero))[0]


def _ratio(iteration: jax.Array, size: jax.Array, last: jax.Array, before: jax.Array) -> jax.Array:
    """By how much changes shrink from one to the next, judged by two of them: where constraint forces are
    iterated, every other change is small."""
    of_two = jnp.sqrt(size / jnp.where(iteration > 1, before, 1.0))
    ratio = jnp.where(iteration > 1, of_two, size / jnp.where(iteration > 0, last, size))
    return jnp.where(ratio > 0, ratio, SMALLEST_RATE)


def _error_of_states(
    context: Context,
    state: State,
    factors: NamedTuple,
    stages: jax.Array,
    weights: jax.Array,
    again: jax.Array,
) -> jax.Array:
    """In units of the tolerance. At a start and after a failure (`again`), the part that stiff equations
    damp would not let the step be made: where it matters, it is damped once more."""
    problem, gather = context.problem, context.tables.gather
    is_fd = fd_rows(problem, context.p)

    def damped(vector: jax.Array) -> jax.Array:
        terms = factors.of_slopes * vector[gather.columns]  # type: ignore[attr-defined]
        right = jax.ops.segment_sum(terms, gather.rows, problem.size, indices_are_sorted=True)
        return context.solve(factors, jnp.where(is_fd, right, 0.0))

    raw = state.number("h") / REAL * state.xdot + jnp.asarray(ERROR) @ stages
    if problem.integrals is not None:  # what is left of them moves nothing else
        raw = jnp.where(jnp.asarray(problem.integrals), 0.0, raw)
    error = damped(raw)
    size = weighted_norm(error, weights)
    return jax.lax.cond(again & (size > 1.0), lambda: weighted_norm(damped(error), weights), lambda: size)

"""One step of the multistep method: predict, correct (`newton`), estimate. Nothing is decided here.

A step is a function of the table of differences, its size and order, the factors of an iteration matrix,
and the parameters. Whether it is accepted, and what comes next, is the controller's to say; a sequence of
steps that was recorded can so be made again without it (`replay`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from .coefficients import MAX_ORDER
from .context import Context
from .controller import LARGE, STAGNATED
from .formula import Formula
from .matrix_renewal import Matrix
from .newton import Correction, correct
from .polynomial import predict
from .rounding import ROUNDING_REACHED, Rounding
from .settings import Settings
from .tolerances import corrector_weights, error_weights, slope_weights, weighted_norm


class Errors(NamedTuple):
    """Of a step, in units of the tolerance."""

    here: jax.Array
    below: jax.Array
    above: jax.Array
    """What they would have been at the neighbouring orders."""


class Step(NamedTuple):
    x: jax.Array
    xdot: jax.Array
    correction: Correction
    errors: Errors
    weights: jax.Array
    """1 / tolerance, in which the errors are measured."""


def step(
    context: Context,
    table: jax.Array,
    t_new: jax.Array,
    h: jax.Array,
    order: jax.Array,
    matrix: Matrix,
    neighbours: jax.Array,
    corrector: Callable[..., Correction] | None = None,
) -> Step:
    """The step of size h to t_new. Errors at the neighbouring orders are looked at if they are asked for,
    and the corrector has converged. Another corrector is given all that `correct` is but the factors."""
    prediction = predict(table, order, h)
    c = h / jnp.asarray(context.formula.leading)[order]
    weights, for_corrector, inevitable, foreseen = weights_of_step(
        table[0], context.settings, matrix.rounding
    )
    places = context.problem.slope_places

    def of_slopes(xdot: jax.Array) -> jax.Array:
        return slope_weights(places, xdot, context.settings, matrix.rounding, c)

    correction = (corrector or partial(correct, context, matrix.factors))(
        t_new, prediction, c, for_corrector, matrix.rate, matrix.usable,
        strict=order == 1,
        rounding=ROUNDING_REACHED * inevitable,
        may_stagnate=matrix.renewed | (ROUNDING_REACHED * foreseen >= STAGNATED),
        slope_weights=of_slopes if len(places) else None,
    )  # fmt: skip
    d = correction.d
    here = estimate(d, order, weights, context.formula)
    # Rows, not the whole table, go into branches: what goes there is kept, and then copied to be changed.
    row, next_row = table[order], table[order + 1]
    below, above = jax.lax.cond(
        neighbours & correction.converged,
        lambda: neighbouring_errors(row, next_row, d, order, weights, context.formula),
        lambda: (here, here),
    )
    new = prediction.x + d, prediction.xdot + d / c
    return Step(*new, correction, Errors(here, below, above), weights)


def estimate(d: jax.Array, order: jax.Array, weights: jax.Array, formula: Formula) -> jax.Array:
    """Local error of the corrected value in units of the tolerance."""
    return jnp.asarray(formula.error_constants)[order] * weighted_norm(d, weights)


def neighbouring_errors(
    row: jax.Array,
    next_row: jax.Array,
    d: jax.Array,
    order: jax.Array,
    weights: jax.Array,
    formula: Formula,
) -> tuple[jax.Array, jax.Array]:
    """Errors of the formulas of order k-1 and k+1 in units of the tolerance.

    They would have been about D[k] and D[k+2], taken one step later than they are stored: row = D[k] and
    next_row = D[k+1] are from before the step.
    """
    constants = jnp.asarray(formula.error_constants)
    below = constants[order - 1] * weighted_norm(row + d, weights)
    above = constants[jnp.minimum(order + 1, MAX_ORDER)] * weighted_norm(d - next_row, weights)
    return below, above


def weights_of_step(
    x: jax.Array, settings: Settings, rounding: Rounding
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Weights of the error test and of the corrector; rounding that is inevitable and that is foreseen, in
    units of the latter."""

    def with_rounding() -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        weights = error_weights(x, settings, rounding)
        strict = corrector_weights(weights, settings, rounding)
        inevitable = weighted_norm(rounding.of_constraints, strict)
        return weights, strict, inevitable, inevitable + weighted_norm(rounding.of_slopes, strict)

    def without() -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        weights, nothing = error_weights(x, settings), jnp.zeros_like(x[0])
        return weights, corrector_weights(weights, settings, rounding), nothing, nothing

    if len(x) < LARGE:
        return with_rounding()
    return jax.lax.cond(rounding.matters, with_rounding, without)

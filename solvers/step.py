"""One step of the multistep method: predict, correct (see `newton`), estimate, choose, rescale.

Notation as in `coefficients`. All functions are pure, take the order as a traced integer, and work on
the whole vector at once; nothing depends on the problem.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from .coefficients import DIFFERENCES, MAX_ORDER, PREDICT, SIGNED_BINOMIALS
from .formula import Formula

# A predicted gain is discounted, more so where the order would change: the estimates at the
# neighbouring orders are less reliable than the one at hand (Shampine & Reichelt, section 2.2).
CAUTION_LOWER, CAUTION_SAME, CAUTION_HIGHER = 1.3, 1.2, 1.4
GROW_AT_LEAST = 1.2
"""A smaller gain is not worth a factorization."""
GROW_AT_MOST = 10.0
SHRINK_AT_MOST = 0.2
TINY = 1e-30


class Prediction(NamedTuple):
    x: jax.Array
    xdot: jax.Array


class Choice(NamedTuple):
    """What the next step uses: its order and the ratio of its size to the present one."""

    order: jax.Array
    factor: jax.Array


def weighted_norm(vector: jax.Array, weights: jax.Array) -> jax.Array:
    """Largest of vector * weights, weights being 1 / tolerance: one means on tolerance.

    A mean would let a front that moves through a large grid be as wrong as the grid is large.
    """
    return jnp.max(jnp.abs(vector * weights))


def predict(differences: jax.Array, order: jax.Array, h: jax.Array) -> Prediction:
    """The polynomial through the past, one step on, and its slope there."""
    x, scaled_slope = jnp.asarray(PREDICT)[order] @ differences
    return Prediction(x, scaled_slope / h)


def estimate(d: jax.Array, order: jax.Array, weights: jax.Array, formula: Formula) -> jax.Array:
    """Local error of the corrected value in units of the tolerance."""
    return jnp.asarray(formula.error_constants)[order] * weighted_norm(d, weights)


def choose(
    row: jax.Array,
    next_row: jax.Array,
    d: jax.Array,
    order: jax.Array,
    error: jax.Array,
    weights: jax.Array,
    formula: Formula,
    max_order: jax.Array,
) -> Choice:
    """Order and step size after an accepted step, from the errors at the neighbouring orders.

    The errors of the formulas of order k-1 and k+1 would have been about D[k] and D[k+2], taken one
    step later than they are stored: row = D[k] and next_row = D[k+1] are from before the step.
    """
    constants = jnp.asarray(formula.error_constants)
    below = constants[order - 1] * weighted_norm(row + d, weights)
    above = constants[jnp.minimum(order + 1, MAX_ORDER)] * weighted_norm(d - next_row, weights)

    def gain(error: jax.Array, caution: float, exponent: jax.Array) -> jax.Array:
        return 1.0 / (caution * jnp.maximum(error, TINY) ** (1.0 / exponent))

    gains = jnp.stack(
        [
            jnp.where(order > 1, gain(below, CAUTION_LOWER, order), 0.0),
            gain(error, CAUTION_SAME, order + 1),
            jnp.where(order < max_order, gain(above, CAUTION_HIGHER, order + 2), 0.0),
        ]
    )
    gains = jnp.where(jnp.isfinite(gains), gains, 0.0)
    best = jnp.argmax(gains).astype(order.dtype)
    worthwhile = gains[best] >= GROW_AT_LEAST
    # An order that is lowered without a gain would only oscillate.
    return Choice(
        order=jnp.where(worthwhile, order + best - 1, order),
        factor=jnp.where(worthwhile, jnp.minimum(gains[best], GROW_AT_MOST), 1.0),
    )


def shrink_factor(error: jax.Array, order: jax.Array) -> jax.Array:
    """Ratio of step sizes after the error test has failed."""
    factor = 1.0 / (CAUTION_SAME * error ** (1.0 / (order + 1)))
    return jnp.clip(jnp.where(jnp.isfinite(factor), factor, SHRINK_AT_MOST), SHRINK_AT_MOST, 0.9)


def on_the_grid_of_time(h: jax.Array, t: jax.Array) -> jax.Array:
    """A step near to h for which t + h is exact, and t + 2h, and so on until |t| is four times what it is.

    The formulas take steps for equal. Rounding of t would make them unequal, and x wrong by that times its
    slope: late and fast solutions would not be smooth to their last digits.
    """
    coarse = 4.0 * jnp.abs(t)
    rounded = (coarse + h) - coarse
    return jnp.where(rounded > 0, rounded, h)


def basis(s: jax.Array) -> jax.Array:
    """s (s+1) ... (s+j-1) / j! for all j: P(t_n + s*h) = sum_j basis_j(s) D[j]."""
    terms = [jnp.ones_like(s)]
    for j in range(1, DIFFERENCES):  # written out: a cumulative product compiles ten times as long
        terms.append(terms[-1] * (s + (j - 1)) / j)
    return jnp.stack(terms, axis=-1)


def rescale_matrix(factor: jax.Array, order: jax.Array) -> jax.Array:
    """R with D_new = R @ D: the same polynomial of degree `order`, at distances factor * h.

    Rows above the order are left alone: after a change they mean nothing until order + 1 steps of equal
    size have been made, and nobody asks before.
    """
    index = jnp.arange(DIFFERENCES)
    values_at_new_distances = basis(-factor * index)
    matrix = SIGNED_BINOMIALS @ jnp.where(index[:, None] <= order, values_at_new_distances, 0.0)
    inside = (index[:, None] <= order) & (index[None, :] <= order)
    return jnp.where(inside, matrix, jnp.eye(DIFFERENCES))


def rescale(differences: jax.Array, factor: jax.Array, order: jax.Array) -> jax.Array:
    return rescale_matrix(factor, order) @ differences


def interpolate(
    differences: jax.Array, order: jax.Array, h: jax.Array, distance: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The polynomial and its slope at t_n + distance (negative: inside the last step)."""
    used = jnp.arange(DIFFERENCES) <= order
    value, slope = jax.jvp(basis, (distance / h,), (1.0 / h,))
    x, xdot = jnp.where(used, jnp.stack([value, slope]), 0.0) @ differences
    return x, xdot

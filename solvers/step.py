"""One step of the multistep method: predict, correct (see `newton`), estimate, choose (see `decisions`),
rescale.

Notation as in `coefficients`. All functions are pure, take the order as a traced integer, and work on
the whole vector at once; nothing depends on the problem.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from .coefficients import DIFFERENCES, MAX_ORDER, PREDICT, SIGNED_BINOMIALS
from .formula import Formula


class Prediction(NamedTuple):
    x: jax.Array
    xdot: jax.Array


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

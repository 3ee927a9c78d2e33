"""The polynomial through the past, by its table of backward differences: predict, rescale, interpolate.

Notation as in `coefficients`. All functions are linear in the table, take the order as a traced integer,
and work on the whole vector at once; nothing depends on the problem.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from .coefficients import DIFFERENCES, PREDICT, SIGNED_BINOMIALS


class Prediction(NamedTuple):
    x: jax.Array
    xdot: jax.Array


def predict(differences: jax.Array, order: jax.Array, h: jax.Array) -> Prediction:
    """The polynomial through the past, one step on, and its slope there."""
    x, scaled_slope = jnp.asarray(PREDICT)[order] @ differences
    return Prediction(x, scaled_slope / h)


def basis(s: jax.Array) -> jax.Array:
    """s (s+1) ... (s+j-1) / j! for all j: P(t_n + s*h) = sum_j basis_j(s) D[j]."""
    terms = [jnp.ones_like(s)]
    for j in range(1, DIFFERENCES):  # written out: a cumulative product compiles ten times as long
        terms.append(terms[-1] * (s + (j - 1)) / j)
    return jnp.stack(terms, axis=-1)


def rescale_matrix(factor: jax.Array, order: jax.Array, shift: jax.Array | float = 0.0) -> jax.Array:
    """R with D_new = R @ D: the same polynomial of degree `order`, at distances factor * h, from a point
    shift * h later.

    Rows above the order are left alone: after a change they mean nothing until order + 1 steps of equal
    size have been made, and nobody asks before.
    """
    index = jnp.arange(DIFFERENCES)
    values_at_new_distances = basis(shift - factor * index)
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
    value, slope = jnp.where(used, value, 0.0), jnp.where(used, slope, 0.0)
    # Sums, not a product of matrices: where only some elements are used, only these are computed.
    x, xdot = value[0] * differences[0], slope[0] * differences[0]
    for j in range(1, DIFFERENCES):
        x, xdot = x + value[j] * differences[j], xdot + slope[j] * differences[j]
    return x, xdot

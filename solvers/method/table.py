"""The table of backward differences after an attempt.

    accepted    D_next as in `coefficients`, with x = x_pred + d
    rescaled    the same polynomial at other distances
    restarted   only x and h xdot are left: a past that has misled the predictor three times is forgotten,
                its slope included

A small table is multiplied by one matrix. A large one is read and written as little as possible: an
accepted step adds row to row in place, from order + 2 down, and the product is left for the few steps that
change the distances.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from .coefficients import ADVANCE, DIFFERENCES
from .polynomial import rescale_matrix

LARGE = 500
"""Columns from which on passes over the table cost more than the operations of a loop."""


def move(
    table: jax.Array,
    d: jax.Array,
    order: jax.Array,
    accepted: jax.Array,
    new_order: jax.Array,
    factor: jax.Array,
) -> jax.Array:
    """The table after an attempt, at the distances and for the order of the next one."""
    if table.shape[1] < LARGE:
        matrix = jnp.where(accepted, jnp.asarray(ADVANCE)[order], jnp.eye(DIFFERENCES, DIFFERENCES + 1))
        matrix = jax.lax.cond(
            factor == 1.0, lambda m: m, lambda m: rescale_matrix(factor, new_order) @ m, matrix
        )
        # A rejected correction may not be finite, and zero times NaN is NaN: it must not get here.
        return matrix @ jnp.concatenate([table, jnp.where(accepted, d, 0.0)[None]])
    # Of course new_order > 0. It says that the table is not changed before the order has been chosen; where
    # XLA does not see that nobody needs the old one any more, it copies all of it.
    table = advance_rows(table, d, order, accepted & (new_order > 0))
    return in_place_if(factor != 1.0, lambda table: rescale_matrix(factor, new_order) @ table, table)


def start_again(
    table: jax.Array,
    h: jax.Array,
    xdot: jax.Array,
    restart: jax.Array,
    project: Callable[[jax.Array], jax.Array],
) -> jax.Array:
    """At a restart only x, moved by project(x), and h xdot are left."""

    def forget(table: jax.Array) -> jax.Array:
        x = table[0] + project(table[0])
        return jnp.zeros_like(table).at[0].set(x).at[1].set(h * xdot)

    return in_place_if(restart, forget, table)


def in_place_if(condition: jax.Array, change: Callable[[Any], Any], value: Any) -> Any:
    """change(value) under a condition. A loop of one turn works in place, where branches would copy."""
    no = jnp.zeros((), bool)
    return jax.lax.while_loop(lambda now: now[0], lambda now: (no, change(now[1])), (condition, value))[1]


def advance_rows(table: jax.Array, d: jax.Array, order: jax.Array, accepted: jax.Array) -> jax.Array:
    """The differences one step later, in place; nothing happens if the step was not accepted."""
    put = jax.lax.dynamic_update_slice_in_dim
    last, beyond = table[order + 1], table[order + 2]
    highest = jnp.stack([jnp.where(accepted, d, last), jnp.where(accepted, d - last, beyond)])
    table = put(table, highest, order + 1, 0)

    def add(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        row, table = carry
        return row - 1, put(table, (table[row] + table[row + 1])[None], row, 0)

    first = jnp.where(accepted, order, -1)
    return jax.lax.while_loop(lambda carry: carry[0] >= 0, add, (first, table))[1]

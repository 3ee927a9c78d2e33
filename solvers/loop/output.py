"""Rows of output, written by the compiled loop into a buffer of fixed size: one chunk."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..method.polynomial import interpolate
from ..method.state import State


class Buffer(NamedTuple):
    """The first `rows` rows are filled. `times` are the wanted ones, infinite where none is left."""

    times: jax.Array
    x: jax.Array
    xdot: jax.Array
    step: jax.Array
    """Size and order of the step in which a row lies: between steps xdot is as accurate as x over the
    size."""
    rows: jax.Array

    def has_room(self, rows: Any) -> jax.Array:
        """For so many more."""
        return self.rows + rows <= self.times.shape[0]


def empty_buffer(times: jax.Array, size: int) -> Buffer:
    rows = times.shape[0]
    return Buffer(
        times,
        jnp.zeros((rows, size)),
        jnp.zeros((rows, size)),
        jnp.zeros((rows, 2)),
        jnp.zeros((), jnp.int32),
    )


def _write(buffer: Buffer, t: jax.Array, x: jax.Array, xdot: jax.Array, step: jax.Array) -> Buffer:
    row = buffer.rows
    return Buffer(
        buffer.times.at[row].set(t),
        buffer.x.at[row].set(x),
        buffer.xdot.at[row].set(xdot),
        buffer.step.at[row].set(step),
        row + 1,
    )


def write_output(
    state: State, buffer: Buffer, per_step: jax.Array, moved: jax.Array, step: jax.Array, nodes: np.ndarray
) -> tuple[State, Buffer]:
    """All wanted times up to the one that is reached, as long as there is room; or so many rows for each
    step, if the state has moved, by a step of this size and order: at the last of its nodes, which are
    parts of it, up to the time that is reached. The state is returned as it was."""
    capacity = buffer.times.shape[0]
    at_steps = per_step > 0
    end = jnp.where(at_steps, jnp.minimum(buffer.rows + per_step * moved, capacity), capacity)
    reached = state.number("reached")
    begun = state.number("t") - state.number("last_step")

    def wanted(carry: tuple[jax.Array, Buffer]) -> jax.Array:
        _, buffer = carry
        return (buffer.rows < end) & (at_steps | (buffer.times[buffer.rows] <= reached))

    def write(carry: tuple[jax.Array, Buffer]) -> tuple[jax.Array, Buffer]:
        table, buffer = carry
        at_step = reached
        if len(nodes) > 1:
            part = jnp.asarray(nodes)[len(nodes) - jnp.maximum(end - buffer.rows, 1)]
            at_step = jnp.where(part < 1.0, begun + part * (reached - begun), reached)
        t = jnp.where(at_steps, at_step, buffer.times[buffer.rows])
        buffer = _write(buffer, t, *evaluate(state._replace(table=table), t), step)
        return jax.lax.optimization_barrier(table), buffer

    # The table goes through the loop as if it were changed there: as a constant of the loop it is copied.
    table, buffer = jax.lax.while_loop(wanted, write, (state.table, buffer))
    return state._replace(table=table), buffer


def evaluate(state: State, t: jax.Array) -> tuple[jax.Array, jax.Array]:
    """x and xdot by the polynomial; at the end of a step the computed values themselves.

    The polynomial is exact for x at steps, but its slope there is the derivative of the BDF and not of
    the NDF.
    """
    now = state.number("t")
    x, xdot = interpolate(state.table, state.number("order"), state.number("h"), t - now)
    at_step = t == now
    return jnp.where(at_step, state.x, x), jnp.where(at_step, state.xdot, xdot)


def evaluate_within(state: State, t: jax.Array) -> tuple[jax.Array, jax.Array]:
    """x and xdot within the last step, with the right slopes at both of its ends.

    At order one the slope of the polynomial is one number for the whole step; a force that is looked at
    would jump where the step begins.
    """
    x, xdot = evaluate(state, t)
    if not state.xdot_before.shape[0]:
        return x, xdot
    now, last_step = state.number("t"), state.number("last_step")
    order, h = state.number("order"), state.number("h")
    at_start = state.xdot_before - interpolate(state.table, order, h, -last_step)[1]
    at_end = state.xdot - interpolate(state.table, order, h, jnp.zeros(()))[1]
    part = jnp.where(last_step > 0, (now - t) / last_step, 0.0)
    return x, jnp.where(t == now, xdot, xdot + at_end + part * (at_start - at_end))

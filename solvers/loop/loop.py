"""The compiled loop: attempts at steps until a chunk of output is full, or something happens.

It returns when the buffer is full, after a given number of attempts, at a crossing, at a failure, when
pivots are to be renewed, and at the end. The state it returns is all it needs to go on. Attempts are made
in JAX (`attempt`), or with native code between the equations (`native.attempt`); the loop around them is
one.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ..method.context import Context
from ..method.controller import GROW_AT_MOST
from ..method.state import State
from ..native import attempt as native
from ..status import Status
from . import attempt as pure
from .crossings import watch
from .output import Buffer, empty_buffer, write_output


def run_chunk(
    context: Context,
    state: State,
    times: jax.Array,
    attempts: jax.Array,
    every_step: jax.Array | bool = False,
    *,
    is_native: bool = False,
) -> tuple[State, Buffer]:
    """Go on from a state, for so many attempts at most, writing output for so many times at most.

    With `every_step` the values of `times` do not matter, only how many there are.
    """
    loop: Any = native if is_native else pure
    limit, always = state.number("attempts") + attempts, jnp.asarray(every_step)
    buffer = empty_buffer(times, context.problem.size)
    # Rows for which there was no room before: of the step that was made last, only the next one is known.
    last_step = state.number("h") / GROW_AT_MOST
    state, buffer = write_output(state, buffer, always, jnp.zeros((), bool), last_step)
    state, vectors = loop.prepare(context, state)

    def going(carry: tuple[State, Any, Buffer]) -> jax.Array:
        state, _, buffer = carry
        running = (state.number("status") == Status.RUNNING) & (state.number("attempts") < limit)
        return running & ~buffer.full

    def body(carry: tuple[State, Any, Buffer]) -> tuple[State, Any, Buffer]:
        old, vectors, buffer = carry
        wanted = jnp.where(always, -jnp.inf, buffer.times[buffer.rows])
        pause = jnp.stack([wanted, limit.astype(float)])
        state, vectors = loop.attempt(context, old, vectors, pause)
        state = watch(context.problem, context.p, old, state)
        moved = state.number("reached") > old.number("reached")
        state, buffer = write_output(state, buffer, always, moved, state.number("last_step"))
        return state, vectors, buffer

    state, _, buffer = jax.lax.while_loop(going, body, (state, vectors, buffer))
    return state, buffer

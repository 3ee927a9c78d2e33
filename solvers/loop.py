"""The compiled loop: attempts at steps until a chunk of output is full, or something happens.

It returns when the buffer is full, after a given number of attempts, at a crossing, at a failure, when
pivots are to be renewed, and at the end. The state it returns is all it needs to go on.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from .attempt import attempt
from .crossings import watch
from .decisions import GROW_AT_MOST
from .native_attempt import Now, Run, attempt_natively, from_state, limits_of, to_state, with_crossings
from .output import Buffer, empty_buffer, write_output
from .renewal import Method, Tables
from .state import Settings, State
from .status import Status


def run_chunk(
    method: Method,
    tables: Tables,
    settings: Settings,
    p: Any,
    state: State,
    times: jax.Array,
    attempts: jax.Array,
    every_step: jax.Array | bool = False,
) -> tuple[State, Buffer]:
    """Go on from a state, for so many attempts at most, writing output for so many times at most.

    With `every_step` the values of `times` do not matter, only how many there are.
    """
    limit, always = state.attempts + attempts, jnp.asarray(every_step)
    buffer = empty_buffer(times, method.problem.size)
    # Rows for which there was no room before: of the step that was made last, only the next one is known.
    last_step = state.h / GROW_AT_MOST
    state, buffer = write_output(state, buffer, always, jnp.zeros((), bool), last_step)
    if method.native:
        return _run_natively(method, tables, settings, p, state, buffer, limit, always)

    def going(carry: tuple[State, Buffer]) -> jax.Array:
        state, buffer = carry
        return (state.status == Status.RUNNING) & ~buffer.full & (state.attempts < limit)

    def body(carry: tuple[State, Buffer]) -> tuple[State, Buffer]:
        old, buffer = carry
        state = attempt(method, tables, settings, p, old)
        state = watch(method.problem, p, old, state)
        return write_output(state, buffer, always, state.reached > old.reached, state.t - old.t)

    return jax.lax.while_loop(going, body, (state, buffer))


def _run_natively(
    method: Method,
    tables: Tables,
    settings: Settings,
    p: Any,
    state: State,
    buffer: Buffer,
    limit: jax.Array,
    always: jax.Array,
) -> tuple[State, Buffer]:
    """The same loop around `attempt_natively`."""
    run = Run(method, tables, settings, limits_of(method, settings), p)

    def going(carry: tuple[Now, Buffer]) -> jax.Array:
        now, buffer = carry
        return (now.number("status") == Status.RUNNING) & ~buffer.full & (now.number("attempts") < limit)

    def body(carry: tuple[Now, Buffer]) -> tuple[Now, Buffer]:
        old, buffer = carry
        now = attempt_natively(run, old)
        if method.problem.crossings is not None:
            now = with_crossings(now, watch(method.problem, p, to_state(old), to_state(now)))
        state, buffer = write_output(
            to_state(now),
            buffer,
            always,
            now.number("reached") > old.number("reached"),
            now.number("t") - old.number("t"),
        )
        return now._replace(table=state.differences), buffer

    now, buffer = jax.lax.while_loop(going, body, (from_state(run, state), buffer))
    return to_state(now), buffer

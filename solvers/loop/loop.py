"""The compiled loop: attempts at steps until a chunk of output is full, or something happens.

It returns when the buffer is full, after a given number of attempts, at a crossing, at a failure, when
pivots are to be renewed, and at the end. The state it returns is all it needs to go on. Attempts are made
in JAX (`attempt`), with native code between the equations (`native.attempt`), or by Radau IIA
(`radau.attempt`); the loop around them is one.

With events (`hybrid`) the loop handles them itself, and returns when their record is full.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..method.context import Context
from ..method.controller import GROW_AT_MOST
from ..method.state import State, histogram
from ..method.table import in_place_if
from ..status import Status
from . import attempt as pure
from .crossings import Stretches, watch
from .hybrid import Hybrid, event_waits, meet_event
from .output import Buffer, empty_buffer, write_output


def run_chunk(
    context: Context,
    state: State,
    times: jax.Array,
    attempts: jax.Array,
    per_step: jax.Array | int = 0,
    *,
    attempts_by: Any = pure,
    hybrid: Hybrid | None = None,
) -> tuple[State, Buffer, Hybrid | None]:
    """Go on from a state, for so many attempts at most, writing output for so many times at most.

    Where so many rows `per_step` are wanted, one or one at each node, the values of `times` do not matter,
    only how many there are. `attempts_by` is the module that makes attempts: it has `prepare` and
    `attempt`.
    """
    loop, nodes = attempts_by, np.asarray(context.formula.nodes)
    limit, per_step = state.number("attempts") + attempts, jnp.asarray(per_step)
    always = per_step > 0
    buffer = empty_buffer(times, context.problem.size)
    # Rows for which there was no room before: of the step that was made last, only the next one is known.
    last_step = jnp.stack([state.number("h") / GROW_AT_MOST, jnp.zeros(())])
    state, buffer = write_output(state, buffer, per_step, jnp.zeros((), bool), last_step, nodes)
    state, vectors = loop.prepare(_now(context, hybrid), state)
    Carry = tuple[State, Any, Buffer, Hybrid | None]

    def going(carry: Carry) -> jax.Array:
        state, _, buffer, hybrid = carry
        running = state.number("status") == Status.RUNNING
        if hybrid is not None:
            running = (running | event_waits(state, hybrid)) & ~hybrid.log.full
        return running & (state.number("attempts") < limit) & buffer.has_room(jnp.maximum(per_step, 1))

    def meet(carry: Carry) -> Carry:
        state, _, buffer, hybrid = carry
        assert hybrid is not None
        state, hybrid = meet_event(context, state, hybrid, buffer.rows)
        state, vectors = loop.prepare(hybrid.context(context), state)
        return state, vectors, buffer, hybrid

    def attempt(carry: Carry) -> Carry:
        old, vectors, buffer, hybrid = carry
        now = _now(context, hybrid)
        wanted = jnp.where(always, -jnp.inf, buffer.times[buffer.rows])
        pause = jnp.stack([wanted, limit.astype(float)])
        stretches = Stretches() if hybrid is None else hybrid.stretches
        state, vectors = loop.attempt(now, old, vectors, pause, jnp.stack([*stretches]))
        if old.sides.shape[0] and not loop.watches(now):
            # The table of the old state must not be used any more: it would be copied at every attempt.
            before, sides = old.number("t"), old.sides
            state = state._replace(xdot_before=old.xdot)
            state = watch(now.problem, now.p, before, sides, state, stretches)
        moved = state.number("reached") > old.number("reached")
        made = _made(old.numbers, state, context.formula.of_slopes)
        state, buffer = write_output(state, buffer, per_step, moved, made, nodes)
        return state, vectors, buffer, hybrid

    def body(carry: Carry) -> Carry:
        if hybrid is None:
            return attempt(carry)
        assert carry[3] is not None
        carry = in_place_if(event_waits(carry[0], carry[3]), meet, carry)
        return in_place_if(carry[0].number("status") == Status.RUNNING, attempt, carry)

    state, _, buffer, hybrid = jax.lax.while_loop(going, body, (state, vectors, buffer, hybrid))
    return state, buffer, hybrid


def _made(before: jax.Array, state: State, of_slopes: float) -> jax.Array:
    """Size and order of the last step, which was counted among those of its order; of the size the part by
    which slopes between steps are judged."""
    order = jnp.argmax(histogram(state.numbers) - histogram(before))
    return jnp.stack([of_slopes * state.number("last_step"), order.astype(float)])


def _now(context: Context, hybrid: Hybrid | None) -> Context:
    return context if hybrid is None else hybrid.context(context)

"""The steps of a run, recorded: the same attempts and decisions as in `loop`, without output."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ..method.context import Context
from ..method.replay import Record, empty_record
from ..method.state import State
from ..status import Status
from .attempt import attempt


def record_steps(context: Context, state: State, capacity: int) -> Record:
    """All accepted steps from a state on, for at most so many attempts."""

    def going(carry: tuple[Any, ...]) -> jax.Array:
        state = carry[0]
        return (state.number("status") == Status.RUNNING) & (state.number("attempts") < capacity)

    def body(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        old, record, forgotten = carry
        state, _ = attempt(context, old, ())
        accepted = state.number("accepted") != 0
        row = record.count  # written again and again until a step is accepted
        record = Record(
            record.t.at[row].set(state.number("t")),
            record.h.at[row].set(old.number("h")),
            record.order.at[row].set(old.number("order")),
            record.order_after.at[row].set(state.number("order")),
            record.forgotten.at[row].set(forgotten),
            row + accepted,
        )
        return state, record, ~accepted & (forgotten | (state.number("restart") != 0))

    first = state, empty_record(capacity), jnp.zeros((), bool)
    return jax.lax.while_loop(going, body, first)[1]

"""The record of events, written by the compiled loop: when, and the values on both sides.

It holds one chunk. Rows of output and events are written to different buffers: `row` says how many rows of
the chunk came before an event.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class EventLog(NamedTuple):
    """The first `count` entries are filled."""

    count: Any
    numbers: Any
    """Of each event: t, row, how many passes it took, whether it was a crossing (else a time
    event), the size of the step before it."""
    x_left: Any
    xdot_left: Any
    x: Any
    xdot: Any
    first: Any
    """Discrete values after the first pass of the event."""
    discretes: Any
    """After the event."""

    @property
    def full(self) -> jax.Array:
        return self.count >= self.numbers.shape[0]


def empty_log(capacity: int, size: int, discretes: int) -> EventLog:
    """Room for so many events."""
    rows = np.zeros((capacity, size))
    return EventLog(
        np.zeros((), np.int32),
        np.zeros((capacity, 5)),
        rows,
        rows,
        rows,
        rows,
        np.zeros((capacity, discretes)),
        np.zeros((capacity, discretes)),
    )


def note(
    log: EventLog,
    numbers: tuple[Any, ...],
    left: tuple[Any, Any],
    right: tuple[Any, Any],
    discretes: tuple[Any, Any],
) -> EventLog:
    """The log with one event more."""
    at = log.count
    return EventLog(
        at + 1,
        log.numbers.at[at].set(jnp.stack([jnp.asarray(number, float) for number in numbers])),
        log.x_left.at[at].set(left[0]),
        log.xdot_left.at[at].set(left[1]),
        log.x.at[at].set(right[0]),
        log.xdot.at[at].set(right[1]),
        log.first.at[at].set(discretes[0]),
        log.discretes.at[at].set(discretes[1]),
    )

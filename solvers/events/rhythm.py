"""Events that come faster and faster: they accumulate at a time that no run passes (Zeno).

A ball that bounces lower and lower comes to rest after a finite time and infinitely many bounces. When
bounces are as small as the tolerance, results mean nothing any more: the ball may fall through the floor.
So a run ends where some events in a row take less and less time, and this time is small against how long it
has been shrinking.

Only crossings count that have happened a few events before, too: many things that go on beside each other
may happen almost at once without any of them coming faster. Instants that are known come as they were
written.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

EVENTS = 8
"""So many events are compared with as many before them: a bounce may be several events, at different
distances."""
SHRINKS = 16
"""So many events in a row have found them to take less time than those before."""
SHORTER = 0.9995
ONE_TIME = 1e-9
"""Events that are nearer than this, compared with the time that is left, are at almost one time."""
CROWD = 100
NEVER = 1 << 20
"""Crossings ago."""
ACCUMULATED = 1e-4
"""Time of the last events, compared with the time since they began to come faster."""


class Rhythm(NamedTuple):
    times: Any
    """Of the last crossings that were repeated, the latest first."""
    count: Any
    """How many events in a row have come faster than those before."""
    since: Any
    """When that began."""
    crowd: Any
    """How many events in a row came at almost one time."""
    latest: Any
    """The time of the last event."""
    crossings: Any
    """How many events there were that were crossings."""
    crossed_at: Any
    """For each crossing function, which of these was its last one."""


def no_events(t: float, crossings: int) -> Rhythm:
    """Before the first event, with so many crossing functions."""
    none = np.zeros((), np.int32)
    return Rhythm(
        np.full(2 * EVENTS + 1, -np.inf),
        none,
        np.asarray(float(t)),
        none,
        np.asarray(-np.inf),
        none,
        np.full(crossings, -NEVER, np.int32),
    )


def after_event(
    rhythm: Rhythm, t: jax.Array, t_stop: jax.Array, is_crossing: jax.Array, crossed: jax.Array
) -> Rhythm:
    """With one event more, in a run until t_stop; and which functions have crossed at it."""
    close = t - rhythm.latest <= ONE_TIME * (t_stop - t)
    crowd = jnp.where(close, rhythm.crowd + 1, 0).astype(rhythm.crowd.dtype)
    number = rhythm.crossings + 1
    crossed &= is_crossing
    is_again = jnp.any(crossed & (number - rhythm.crossed_at <= EVENTS))
    times = jnp.concatenate([t[None], rhythm.times[:-1]])
    faster = _last(times) < SHORTER * (times[EVENTS] - times[-1])
    count = jnp.where(faster, rhythm.count + 1, 0).astype(rhythm.count.dtype)
    return Rhythm(
        jnp.where(is_again, times, rhythm.times),
        jnp.where(is_again, count, rhythm.count),
        jnp.where(is_again & ~faster, t, rhythm.since),
        crowd,
        t,
        jnp.where(is_crossing, number, rhythm.crossings),
        jnp.where(crossed, number, rhythm.crossed_at),
    )


def accumulates(rhythm: Rhythm) -> jax.Array:
    """Whether events come so fast that they have no end."""
    elapsed = rhythm.times[0] - rhythm.since
    return (rhythm.count >= SHRINKS) & (_last(rhythm.times) < ACCUMULATED * elapsed)


def stands_still(rhythm: Rhythm, crossings: int) -> jax.Array:
    """Whether the time does not move for the events: more of them than there are crossings that could
    happen at one time, one after the other."""
    return rhythm.crowd > CROWD + 4 * crossings


def _last(times: jax.Array) -> jax.Array:
    return times[0] - times[EVENTS]

"""Events that come faster and faster: they accumulate at a time that no run passes (Zeno).

A ball that bounces lower and lower comes to rest after a finite time and infinitely many bounces. When
bounces are as small as the tolerance, results mean nothing any more: the ball may fall through the floor.
So a run ends where some events in a row take less and less time, and this time is small against how long it
has been shrinking.
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
ACCUMULATED = 1e-4
"""Time of the last events, compared with the time since they began to come faster."""


class Rhythm(NamedTuple):
    times: Any
    """Of the last events, the latest first."""
    count: Any
    """How many events in a row have come faster than those before."""
    since: Any
    """When that began."""
    crowd: Any
    """How many events in a row came at almost one time."""


def no_events(t: float) -> Rhythm:
    """Before the first event."""
    return Rhythm(
        np.full(2 * EVENTS + 1, -np.inf),
        np.zeros((), np.int32),
        np.asarray(float(t)),
        np.zeros((), np.int32),
    )


def after_event(rhythm: Rhythm, t: jax.Array, t_stop: jax.Array) -> Rhythm:
    """With one event more, in a run until t_stop."""
    times = jnp.concatenate([t[None], rhythm.times[:-1]])
    faster = _last(times) < SHORTER * (times[EVENTS] - times[-1])
    count = jnp.where(faster, rhythm.count + 1, 0).astype(rhythm.count.dtype)
    close = times[0] - times[1] <= ONE_TIME * (t_stop - t)
    crowd = jnp.where(close, rhythm.crowd + 1, 0).astype(rhythm.crowd.dtype)
    return Rhythm(times, count, jnp.where(faster, rhythm.since, t), crowd)


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

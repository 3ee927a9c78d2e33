"""An event from its beginning to its end: passes until nothing changes any more."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..linear.contract import Factors
from ..method.context import Context
from ..status import Status
from .contract import Effect, Occasion
from .restart import restart

MOST_PASSES = 64
"""Of one event. A model that is not settled then changes for ever."""


class Handled(NamedTuple):
    """Values after an event."""

    x: jax.Array
    xdot: jax.Array
    p: Any
    status: jax.Array
    """RUNNING; NO_RESTART, CHATTERING or TERMINATED."""
    passes: jax.Array
    factors: Factors
    step: jax.Array
    """To go on with, zero where x and xdot are as they were."""


def handle_event(
    context: Context,
    t: jax.Array,
    x: jax.Array,
    xdot: jax.Array,
    factors: Factors,
    occasion: Any = Occasion.DURING,
) -> Handled:
    """What follows from the values just before an event, those of p included. Factors: see `restart`."""
    events = context.problem.events
    assert events is not None
    p = events.begin(t, x, xdot, context.p, occasion)

    def one_pass(now: Handled) -> Handled:
        x, p, effect = events.one_pass(t, now.x, now.xdot, now.p, now.passes)

        def follow() -> tuple[Any, ...]:
            found = restart(context, t, x, now.xdot, p, now.factors)
            status = jnp.where(found.success, int(Status.RUNNING), int(Status.NO_RESTART))
            return found.x, found.xdot, found.p, status, found.factors, found.step

        def stay() -> tuple[Any, ...]:
            is_over = effect == Effect.NOTHING
            status = jnp.where(is_over, int(Status.SUCCESS), int(Status.RUNNING))
            return now.x, now.xdot, p, status, now.factors, now.step

        x, xdot, p, status, factors, step = jax.lax.cond(effect == Effect.EQUATIONS, follow, stay)
        return Handled(x, xdot, p, status, now.passes + 1, factors, step)

    def is_left(now: Handled) -> jax.Array:
        return (now.status == Status.RUNNING) & (now.passes < MOST_PASSES)

    running = jnp.asarray(int(Status.RUNNING))
    found = jax.lax.while_loop(
        is_left, one_pass, Handled(x, xdot, p, running, jnp.asarray(0), factors, jnp.zeros(()))
    )
    status = jnp.where(found.status == Status.RUNNING, int(Status.CHATTERING), found.status)
    # What changes for ever is left as it is, to be named.
    settled = events.settle(t, found.x, found.xdot, found.p)
    p = jax.tree.map(lambda new, old: jnp.where(status == Status.CHATTERING, old, new), settled, found.p)
    ended = jnp.where(events.ends(p), int(Status.TERMINATED), int(Status.RUNNING))
    return found._replace(p=p, status=jnp.where(status == Status.SUCCESS, ended, status))

"""An event from its beginning to its end: passes until nothing changes any more."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..event_contract import Effect, Occasion
from ..linear.contract import Factors
from ..method.context import Context
from ..status import Status
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
    first: jax.Array
    """Discrete values after the first pass: what the event was noticed by."""
    x_left: jax.Array
    xdot_left: jax.Array
    """Just before the event, consistent."""


def handle_event(
    context: Context,
    t: jax.Array,
    x: jax.Array,
    xdot: jax.Array,
    factors: Factors,
    occasion: Any = Occasion.DURING,
    is_located: Any = False,
) -> Handled:
    """What follows from the values just before an event, those of p included. Factors: see `restart`.

    Where it was located within a step (`is_located`), values are interpolated: they are made consistent
    first, by a pass that changes nothing else.
    """
    events = context.problem.events
    assert events is not None
    p = events.begin(t, x, xdot, context.p, occasion)

    def one_pass(now: Handled) -> Handled:
        is_before = now.passes < 0
        x, p, effect = events.one_pass(t, now.x, now.xdot, now.p, now.passes)
        x, p = jax.tree.map(lambda new, old: jnp.where(is_before, old, new), (x, p), (now.x, now.p))
        effect = jnp.where(is_before, int(Effect.EQUATIONS), effect)

        def follow() -> tuple[Any, ...]:
            found = restart(context, t, x, now.xdot, p, now.factors)
            use = found.success | ~is_before
            x_new, xdot, p_new = jax.tree.map(
                lambda new, old: jnp.where(use, new, old), (found.x, found.xdot, found.p), (x, now.xdot, p)
            )
            status = jnp.where(found.success | is_before, int(Status.RUNNING), int(Status.NO_RESTART))
            return x_new, xdot, p_new, status, found.factors, found.step

        def stay() -> tuple[Any, ...]:
            is_over = effect == Effect.NOTHING
            status = jnp.where(is_over, int(Status.SUCCESS), int(Status.RUNNING))
            return now.x, now.xdot, p, status, now.factors, now.step

        x, xdot, p, status, factors, step = jax.lax.cond(effect == Effect.EQUATIONS, follow, stay)
        first = jnp.where(now.passes == 0, events.discretes(p), now.first)
        left = jax.tree.map(
            lambda new, old: jnp.where(is_before, new, old), (x, xdot), (now.x_left, now.xdot_left)
        )
        return Handled(x, xdot, p, status, now.passes + 1, factors, step, first, *left)

    def is_left(now: Handled) -> jax.Array:
        return (now.status == Status.RUNNING) & (now.passes < MOST_PASSES)

    running = jnp.asarray(int(Status.RUNNING))
    passes = jnp.where(is_located, -1, 0)
    begun = Handled(x, xdot, p, running, passes, factors, jnp.zeros(()), events.discretes(p), x, xdot)
    found = jax.lax.while_loop(is_left, one_pass, begun)
    status = jnp.where(found.status == Status.RUNNING, int(Status.CHATTERING), found.status)
    # What changes for ever is left as it is, to be named.
    settled = events.settle(t, found.x, found.xdot, found.p)
    p = jax.tree.map(lambda new, old: jnp.where(status == Status.CHATTERING, old, new), settled, found.p)
    return found._replace(p=p, status=jnp.where(status == Status.SUCCESS, events.ends(p), status))

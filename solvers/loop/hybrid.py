"""What a run with events carries through the compiled loop besides its state, and an event inside of it.

An event waits where a crossing was located, or where a time event was reached. The loop meets it before the
next attempt: rows of output up to the event are written then. The run goes on with a new start at order
one; where an event at the end of a step has left the equations as they were, it goes on as if nothing had
happened.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..events.handle import Handled, handle_event
from ..events.log import EventLog, note
from ..events.rhythm import Rhythm, accumulates, after_event, stands_still
from ..method.context import Context
from ..method.controller import IN_JAX
from ..method.polynomial import rescale
from ..method.state import State
from ..status import Status
from .crossings import Stretches
from .output import evaluate_within
from .start import Origin, start

RESTART_FACTOR = 0.1
"""The first step after an event, compared with the one that would have been chosen at a start."""
ASIDE = 1e-3
"""So far aside of the present values equations are compared, too."""


class Hybrid(NamedTuple):
    p: Any
    """Parameters, with the discrete values as they are now."""
    t_event: Any
    """The next time event."""
    t_stop: Any
    """The end of this stretch of the run."""
    log: EventLog
    rhythm: Rhythm
    stretches: Stretches
    """In which steps are looked at."""

    def context(self, base: Context) -> Context:
        """That of attempts until the next time event."""
        until = jnp.minimum(self.t_event, self.t_stop)
        return base._replace(p=self.p, settings=base.settings.until(until))


def event_waits(state: State, hybrid: Hybrid) -> jax.Array:
    """Whether an event is the next thing to happen."""
    status = state.number("status")
    at_time_event = (status == Status.SUCCESS) & (state.number("t") < hybrid.t_stop)
    return (status == Status.CROSSING) | at_time_event


def meet_event(base: Context, state: State, hybrid: Hybrid, row: jax.Array) -> tuple[State, Hybrid]:
    """Handle the event that waits; the state and the discrete values to go on with."""
    events = base.problem.events
    assert events is not None
    context = base._replace(p=hybrid.p)  # until the end: the time event that is met is no limit
    t = state.number("reached")
    x, xdot = evaluate_within(state, t)
    is_crossing = state.number("status") == Status.CROSSING
    found = handle_event(context, t, x, xdot, state.factors, is_located=is_crossing)
    t_event = jnp.maximum(events.next_time(t, found.p), jnp.nextafter(t, jnp.inf))
    log = note(
        hybrid.log,
        (t, row, found.passes, is_crossing, state.number("last_step")),
        (found.x_left, found.xdot_left),
        (found.x, found.xdot),
        (found.first, events.discretes(found.p)),
    )
    rhythm = after_event(hybrid.rhythm, t, hybrid.t_stop, is_crossing, state.crossed)
    after = Hybrid(found.p, t_event, hybrid.t_stop, log, rhythm, hybrid.stretches)
    # Python tries again from the values before, more carefully.
    lost = found.status == Status.NO_RESTART
    after = jax.tree.map(lambda new, old: jnp.where(lost, old, new), after, hybrid)
    endless = (found.status == Status.RUNNING) & accumulates(rhythm) & is_crossing
    found = found._replace(status=jnp.where(endless, int(Status.ZENO), found.status))
    still = (found.status == Status.RUNNING) & stands_still(rhythm, state.sides.shape[0])
    found = found._replace(status=jnp.where(still, int(Status.CHATTERING), found.status))
    is_new = _has_broken(context, t, x, xdot, found) | events.must_restart(found.p)
    goes_on = ~is_crossing & ~is_new
    stays = (goes_on & (found.status == Status.RUNNING)) | lost
    state = jax.lax.cond(
        stays,
        lambda: _as_before(after.context(base), found, state),
        lambda: _started(after.context(base), t, found, state),
    )
    return state, after


def _as_before(context: Context, found: Handled, state: State) -> State:
    """The state itself, with a step that meets the next time event."""
    t, h = state.number("t"), state.number("h")
    fitted, factor = IN_JAX.fit(1.0, h, t, context.settings.step_limits)
    table = rescale(state.table, factor, state.number("order"))
    changed = factor != 1.0
    state = state.with_numbers(
        status=found.status,
        h=fitted,
        equal_steps=jnp.where(changed, 0, state.number("equal_steps")),
        # Where consistent values were looked for, the factors are those of another matrix.
        outdated=state.number("outdated") | (found.step > 0),
    )
    return state._replace(factors=found.factors, table=jnp.where(changed, table, state.table))


def _has_broken(context: Context, t: jax.Array, x: jax.Array, xdot: jax.Array, found: Handled) -> jax.Array:
    """Whether the equations are others than before: if not, nothing is to be started anew."""
    problem = context.problem

    def residuals(p: Any) -> jax.Array:
        aside = ASIDE * (1.0 + jnp.abs(x)) * jnp.cos(jnp.arange(len(x), dtype=x.dtype))
        here, there = problem.residual(t, x, xdot, p), problem.residual(t, x + aside, xdot + aside, p)
        return jnp.concatenate([here, there])

    same = jnp.all(residuals(context.p) == residuals(found.p))
    return ~(same & jnp.all(found.x == x))


def _started(context: Context, t: jax.Array, found: Handled, state: State) -> State:
    numbers = jnp.stack([jnp.ones(()), t, found.step, jnp.full((), RESTART_FACTOR)])
    new = start(context, Origin(numbers, found.x, found.xdot, state.numbers), found.factors)
    return new.with_numbers(
        status=jnp.where(found.status == Status.RUNNING, new.number("status"), found.status)
    )

"""Zero crossings: noticed after each step, located on the interpolating polynomial.

A function z is on its positive side if z > 0. It crosses where the side changes in a watched direction.
The time of the crossing is the first one found, to rounding, at which the side HAS changed; of several
functions the first one counts, and all that have changed until then are reported. A restart there begins
on the new side, so that no crossing is met twice.

Sides are looked at in a few places inside of each step, too: a function that goes and returns within one
step is noticed if it stays for longer than the distance of those places.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..lanes import each
from ..method.state import State
from ..problem import Problem
from ..status import Status
from .output import evaluate

PLACES = 4
"""Sides are looked at after each so many-th part of a step."""
RESOLUTION = 4.0
"""Width of the last bracket in units of rounding of t."""


def sides_at(problem: Problem, t: Any, x: jax.Array, xdot: jax.Array, p: Any) -> jax.Array:
    """For each crossing function whether it is positive."""
    if problem.crossings is None:
        return jnp.zeros(0, bool)
    return problem.crossings(t, x, xdot, p) > 0


def _crossed(problem: Problem, before: jax.Array, after: jax.Array) -> jax.Array:
    directions = 0 if problem.directions is None else np.asarray(problem.directions)
    return (~before & after & (directions >= 0)) | (before & ~after & (directions <= 0))


def watch(problem: Problem, p: Any, old: State, state: State) -> State:
    """Look for crossings in the step from old to state; if there are any, stop at the first."""
    if problem.crossings is None:
        return state
    return jax.lax.cond(
        state.number("t") > old.number("t"),
        lambda: _look_into_step(problem, p, old, state),
        lambda: state._replace(sides=old.sides),
    )


def _look_into_step(problem: Problem, p: Any, old: State, state: State) -> State:
    parts, before, now = jnp.arange(PLACES + 1) / PLACES, old.number("t"), state.number("t")
    times = jnp.where(parts == 1.0, now, before + parts * (now - before))

    def sides_then(t: jax.Array) -> jax.Array:
        return sides_at(problem, t, *evaluate(state, t), p)

    later = each(sides_then, times[1:], problem.one_by_one)
    sides = jnp.concatenate([old.sides[None], later])
    crossed = jnp.any(_crossed(problem, sides[:-1], sides[1:]), axis=1)
    place = jnp.argmax(crossed)
    state = state._replace(sides=sides[-1])
    return jax.lax.cond(
        jnp.any(crossed),
        lambda: _stop_at_first(problem, p, sides[place], state, times[place], times[place + 1]),
        lambda: state,
    )


def _stop_at_first(
    problem: Problem, p: Any, before: jax.Array, state: State, low: jax.Array, high: jax.Array
) -> State:
    """Between two times with the sides before at the first of them, and a crossing until the second."""
    resolution = RESOLUTION * jnp.finfo(low.dtype).eps * jnp.maximum(jnp.abs(low), jnp.abs(high))

    def crossed_at(t: jax.Array) -> tuple[jax.Array, jax.Array]:
        sides = sides_at(problem, t, *evaluate(state, t), p)
        return _crossed(problem, before, sides), sides

    def halve(bracket: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = bracket
        middle = low + 0.5 * (high - low)
        late = jnp.any(crossed_at(middle)[0])
        return jnp.where(late, low, middle), jnp.where(late, middle, high)

    def wide(bracket: tuple[jax.Array, jax.Array]) -> jax.Array:
        low, high = bracket
        return high - low > resolution

    _, time = jax.lax.while_loop(wide, halve, (low, high))
    crossed, sides = crossed_at(time)
    return state.with_numbers(reached=time, status=Status.CROSSING)._replace(sides=sides, crossed=crossed)

"""Zero crossings: noticed after each step, located on the interpolating polynomial.

A function z is on its positive side if z > 0. It crosses where the side changes in a watched direction.
The time of the crossing is the first one found, to rounding, at which the side HAS changed; of several
functions the first one counts, and all that have changed until then are reported. A restart there begins
on the new side, so that no crossing is met twice. A function that touches zero and returns within one
step is not noticed.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .output import evaluate
from .problem import Problem
from .state import State
from .status import Status

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
    moved = state.t > old.t
    sides = jnp.where(moved, sides_at(problem, state.t, state.x, state.xdot, p), old.sides)
    state = state._replace(sides=sides)
    crossed = _crossed(problem, old.sides, sides)
    return jax.lax.cond(jnp.any(crossed), lambda: _stop_at_first(problem, p, old, state), lambda: state)


def _stop_at_first(problem: Problem, p: Any, old: State, state: State) -> State:
    resolution = RESOLUTION * jnp.finfo(state.t.dtype).eps * jnp.maximum(jnp.abs(state.t), jnp.abs(old.t))

    def crossed_at(t: jax.Array) -> tuple[jax.Array, jax.Array]:
        sides = sides_at(problem, t, *evaluate(state, t), p)
        return _crossed(problem, old.sides, sides), sides

    def halve(bracket: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = bracket
        middle = low + 0.5 * (high - low)
        late = jnp.any(crossed_at(middle)[0])
        return jnp.where(late, low, middle), jnp.where(late, middle, high)

    def wide(bracket: tuple[jax.Array, jax.Array]) -> jax.Array:
        low, high = bracket
        return high - low > resolution

    _, time = jax.lax.while_loop(wide, halve, (old.t, state.t))
    crossed, sides = crossed_at(time)
    return state._replace(
        reached=time,
        sides=sides,
        crossed=crossed,
        status=jnp.asarray(Status.CROSSING, jnp.int32),
    )

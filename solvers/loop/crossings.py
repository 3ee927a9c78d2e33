"""Zero crossings: noticed after each step, located on the interpolating polynomial.

A function z is on its positive side if z > 0. It crosses where the side changes in a watched direction.
The time of the crossing is the first one found, to rounding, at which the side HAS changed; of several
functions the first one counts, and all that have changed until then are reported. A restart there begins
on the new side, so that no crossing is met twice.

A step is looked at in stretches, most often one. Sides are looked at in a few places of each; where values
come near zero, at extrema between them, too (`extrema`). A stretch in which a function has no shape that
its values show is looked at in shorter ones: the solution is known everywhere in a step, and a function of
it may be much sharper.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..lanes import each
from ..method.state import State
from ..problem import Problem
from ..status import Status
from .extrema import EVERYWHERE, PLACES, candidates, may_return, refined, unexpected
from .output import evaluate_within

SHORTER, LONGER = 0.25, 2.0
"""The next stretch after one that was too long, and after one that was not."""
RESOLUTION = 4.0
"""Width of the last bracket in units of rounding of t."""
MOST_ROUNDS = 100


class Stretches(NamedTuple):
    """How long stretches are."""

    shortest: Any = np.inf
    """Those that are no longer than this are taken for short enough."""
    longest: Any = np.inf


def crossing_values(problem: Problem, t: Any, x: jax.Array, xdot: jax.Array, p: Any) -> jax.Array:
    """The crossing functions of a problem, or of its events."""
    functions = problem.crossings if problem.events is None else problem.events.crossings
    return jnp.zeros(0) if functions is None else functions(t, x, xdot, p)


def sides_at(problem: Problem, t: Any, x: jax.Array, xdot: jax.Array, p: Any) -> jax.Array:
    """For each crossing function whether it is positive."""
    return crossing_values(problem, t, x, xdot, p) > 0


def _crossed(problem: Problem, before: jax.Array, after: jax.Array) -> jax.Array:
    if problem.events is not None:
        return before & ~after
    directions = 0 if problem.directions is None else np.asarray(problem.directions)
    return (~before & after & (directions >= 0)) | (before & ~after & (directions <= 0))


class _Found(NamedTuple):
    """What a look at a step changes in the state."""

    sides: jax.Array
    crossed: jax.Array
    reached: jax.Array
    status: jax.Array


class _Bracket(NamedTuple):
    """Times between which something crosses, and the sides at the first of them."""

    found: jax.Array
    low: jax.Array
    high: jax.Array
    sides: jax.Array


class _Look(NamedTuple):
    """How far a step was looked at."""

    low: jax.Array
    """The next stretch begins here,"""
    sides: jax.Array
    """with these sides,"""
    width: jax.Array
    """and is so long, if the step is."""
    bracket: _Bracket


def watch(
    problem: Problem,
    p: Any,
    before: jax.Array,
    sides: jax.Array,
    state: State,
    stretches: Stretches,
) -> State:
    """Look for crossings in the step to state, from a time before and these sides; if there are any, stop
    at the first."""
    # A run that has come to another end than that of the interval ends there.
    now, status = state.number("t"), state.number("status")
    goes_on = (now > before) & ((status == Status.RUNNING) | (status == Status.SUCCESS))

    def is_left(carry: tuple[_Look, jax.Array]) -> jax.Array:
        look, _ = carry
        return goes_on & (look.low < now) & ~look.bracket.found

    def go_on(carry: tuple[_Look, jax.Array]) -> tuple[_Look, jax.Array]:
        look, table = carry
        look = _look(problem, p, look, state._replace(table=table), stretches)
        return look, jax.lax.optimization_barrier(table)

    nothing = _Bracket(jnp.zeros((), bool), before, now, sides)
    begun = _Look(before, sides, jnp.minimum(now - before, stretches.longest), nothing)
    # The table goes through the loop as if it were changed there: as a constant of the loop it is copied.
    looked, table = jax.lax.while_loop(is_left, go_on, (begun, state.table))
    state = state._replace(table=table)
    found = _Found(looked.sides, state.crossed, state.number("reached"), status)
    # Branches return little: what they return is copied.
    found = jax.lax.cond(
        looked.bracket.found, lambda: _first(problem, p, looked.bracket, state), lambda: found
    )
    state = state._replace(sides=found.sides, crossed=found.crossed)
    return state.with_numbers(reached=found.reached, status=found.status)


def _look(problem: Problem, p: Any, look: _Look, state: State, stretches: Stretches) -> _Look:
    """A look at one stretch; at no more than its length where it is too long."""
    now, low = state.number("t"), look.low
    # No sliver is left at the end.
    high = jnp.where(low + 1.5 * look.width >= now, now, low + look.width)

    def time_of(part: Any) -> jax.Array:
        return jnp.where(part >= 1.0, high, low + part * (high - low))

    def values_at(parts: jax.Array) -> jax.Array:
        return each(
            lambda t: crossing_values(problem, t, *evaluate_within(state, t), p),
            time_of(parts),
            problem.one_by_one,
        )

    # Computed once, not wherever they are used.
    everywhere = jax.lax.optimization_barrier(values_at(jnp.asarray(EVERYWHERE)))
    values, others = everywhere[: PLACES + 1], everywhere[PLACES + 1 :]
    off, is_off = unexpected(values, others)
    too_long = jnp.any(is_off) & (high - low > stretches.shortest)
    parts = jnp.asarray(EVERYWHERE[: PLACES + 1])

    def bracket_of(parts: jax.Array, later: jax.Array) -> _Bracket:
        all_sides = jnp.concatenate([look.sides[None], later > 0])
        changes = jnp.any(_crossed(problem, all_sides[:-1], all_sides[1:]), axis=1)
        first, times = jnp.argmax(changes), time_of(parts)
        return _Bracket(jnp.any(changes), times[first], times[first + 1], all_sides[first])

    def between() -> _Bracket:
        """With places where polynomials through the values have extrema on the other side."""
        part, function, sign = candidates(values, off)

        def own_values(parts: jax.Array) -> jax.Array:
            all_values = values_at(parts.reshape(-1))
            own = jnp.tile(function, parts.shape[0])
            return sign * jnp.take_along_axis(all_values, own[:, None], axis=1).reshape(parts.shape)

        def search() -> _Bracket:
            more = jnp.sort(jnp.concatenate([parts, part, refined(part, own_values)]))
            return bracket_of(more, values_at(more[1:]))

        return jax.lax.cond(jnp.any(part < 1.0), search, lambda: bracket_of(parts, values[1:]))

    at_places = bracket_of(parts, values[1:])
    # A crossing between later places must not hide an extremum before them.
    near = may_return(values) & ~(at_places.found & (at_places.low == low)) & ~too_long
    bracket = jax.lax.cond(near, between, lambda: at_places)
    bracket = bracket._replace(found=bracket.found & ~too_long)
    width = jnp.where(too_long, SHORTER, LONGER) * (high - low)
    return _Look(
        jnp.where(too_long, low, high),
        jnp.where(too_long, look.sides, values[-1] > 0),
        jnp.minimum(width, stretches.longest),
        bracket,
    )


def _first(problem: Problem, p: Any, bracket: _Bracket, state: State) -> _Found:
    """The first crossing of a bracket.

    The Illinois variant of false position for all functions that have crossed, of which the first one
    counts; where the bracket does not shrink as it does by halving, it is halved.
    """
    _, low, high, before = bracket
    resolution = RESOLUTION * jnp.finfo(low.dtype).eps * jnp.maximum(jnp.abs(low), jnp.abs(high))

    def values_at(t: jax.Array) -> jax.Array:
        return crossing_values(problem, t, *evaluate_within(state, t), p)

    def narrow(now: tuple[Any, ...]) -> tuple[Any, ...]:
        low, high, z_low, z_high, last, width, count = now
        crossed = _crossed(problem, before, z_high > 0)
        parts = jnp.where(crossed, z_low / (z_low - z_high), 1.0)
        part = jnp.min(jnp.where(jnp.isfinite(parts) & (parts > 0.0) & (parts < 1.0), parts, 1.0))
        slow = (count % 3 == 2) & (high - low > 0.3 * width)
        part = jnp.where(slow | (part >= 1.0), 0.5, part)
        t = jnp.clip(low + part * (high - low), low + 0.5 * resolution, high - 0.5 * resolution)
        z = values_at(t)
        late = jnp.any(_crossed(problem, before, z > 0))
        z_low = jnp.where(late, jnp.where(last == 1, 0.5 * z_low, z_low), z)
        z_high = jnp.where(late, z, jnp.where(last == -1, 0.5 * z_high, z_high))
        width = jnp.where(count % 3 == 2, high - low, width)
        low, high = jnp.where(late, low, t), jnp.where(late, t, high)
        return low, high, z_low, z_high, jnp.where(late, 1, -1), width, count + 1

    def is_wide(now: tuple[Any, ...]) -> jax.Array:
        low, high, *_, count = now
        return (high - low > resolution) & (count < MOST_ROUNDS)

    start = low, high, values_at(low), values_at(high), jnp.asarray(0), high - low, jnp.asarray(0)
    _, time, *_ = jax.lax.while_loop(is_wide, narrow, start)
    sides = values_at(time) > 0
    crossed = _crossed(problem, before, sides)
    return _Found(sides, crossed, time, jnp.asarray(int(Status.CROSSING), jnp.int32))

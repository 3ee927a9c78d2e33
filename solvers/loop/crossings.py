"""Zero crossings: noticed after each step, located on the interpolating polynomial.

A function z is on its positive side if z > 0. It crosses where the side changes in a watched direction.
The time of the crossing is the first one found, to rounding, at which the side HAS changed; of several
functions the first one counts, and all that have changed until then are reported. A restart there begins
on the new side, so that no crossing is met twice.

Sides are looked at in a few places inside of each step, too. A function may go and return between two of
them: where its values there come near zero, the extremum of the polynomial through them is looked at.
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
from .output import evaluate_within, with_slope_shift

PLACES = 4
"""Functions are looked at after each so many-th part of a step."""
NEAR = 2.0
"""An extremum beyond zero is possible where a value is no farther from zero than so many times the range
of the values in this step. (A polynomial of degree 4 goes beyond five values at equal distances by
less.)"""
FINE = 16
"""Points between two places at which the polynomial is evaluated to find its extremum."""
MOST_EXTREMA = 4
"""So many extrema of a step, the first ones, are looked at."""
ELSEWHERE = np.array([0.1371, 0.3819, 0.6180, 0.8541])
"""Parts of a step at which a function is compared with the polynomial through its values,"""
UNEXPECTED = 0.03
"""from which it may differ by this part of its variation in the step,"""
ROUNDING = 1e-6
"""if that is more than such a part of its values."""
RESOLUTION = 4.0
"""Width of the last bracket in units of rounding of t."""
MOST_ROUNDS = 100


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


def watch(problem: Problem, p: Any, old: State, state: State, shortest: Any = np.inf) -> State:
    """Look for crossings in the step from old to state; if there are any, stop at the first.

    A step longer than `shortest` in which a function has no shape that its values show has the status
    UNRESOLVED: shorter ones are to be made.
    """
    if problem.crossings is None and (problem.events is None or not state.sides.shape[0]):
        return state
    # A run that has come to another end than that of the interval ends there.
    goes_on = (state.number("status") == Status.RUNNING) | (state.number("status") == Status.SUCCESS)
    return jax.lax.cond(
        (state.number("t") > old.number("t")) & goes_on,
        lambda: _look_into_step(problem, p, old, state, shortest),
        lambda: state._replace(sides=old.sides),
    )


def _look_into_step(problem: Problem, p: Any, old: State, state: State, shortest: Any) -> State:
    before, now = old.number("t"), state.number("t")
    state = with_slope_shift(old, state)

    def values_then(t: jax.Array) -> jax.Array:
        return crossing_values(problem, t, *evaluate_within(state, t), p)

    def time_of(part: Any) -> jax.Array:
        return jnp.where(part == 1.0, now, before + part * (now - before))

    parts = jnp.arange(PLACES + 1) / PLACES
    everywhere = jnp.concatenate([parts, jnp.asarray(ELSEWHERE)])
    values = each(values_then, time_of(everywhere), problem.one_by_one)
    values, others = values[: PLACES + 1], values[PLACES + 1 :]
    unresolved = ~_is_resolved(values, others) & (now - before > shortest)
    sides = jnp.concatenate([old.sides[None], values[1:] > 0])
    changes = jnp.any(_crossed(problem, sides[:-1], sides[1:]), axis=1)
    state = state._replace(sides=sides[-1])

    def at_places() -> _Bracket:
        first = jnp.argmax(changes)
        return _Bracket(jnp.any(changes), time_of(parts[first]), time_of(parts[first + 1]), sides[first])

    # A crossing between later places must not hide an extremum before them.
    near = _may_return(values) & ~changes[0]
    bracket = jax.lax.cond(
        near, lambda: _between_places(problem, p, values, sides, state, before, now), at_places
    )
    stops = bracket.found & ~unresolved
    state = jax.lax.cond(stops, lambda: _stop_at_first(problem, p, bracket, state), lambda: state)
    status = jnp.where(unresolved, int(Status.UNRESOLVED), state.number("status"))
    return state.with_numbers(status=status)


def _is_resolved(values: jax.Array, others: jax.Array) -> jax.Array:
    """Whether functions are elsewhere in the step what the polynomial through their values says, as far as
    they come near zero."""
    expected = jnp.asarray(_through_places(ELSEWHERE)) @ values
    every = jnp.concatenate([values, others])
    high, low = every.max(axis=0), every.min(axis=0)
    variation = high - low
    matters = (jnp.minimum(jnp.abs(high), jnp.abs(low)) < NEAR * variation) | ((high > 0) != (low > 0))
    matters &= variation > ROUNDING * jnp.maximum(jnp.abs(high), jnp.abs(low))
    off = jnp.max(jnp.abs(others - expected), axis=0)
    return ~jnp.any(matters & (off > UNEXPECTED * variation))


class _Bracket(NamedTuple):
    """Times between which something crosses, and the sides at the first of them."""

    found: jax.Array
    low: jax.Array
    high: jax.Array
    sides: jax.Array


def _may_return(values: jax.Array) -> jax.Array:
    """Whether a function might go beyond zero and return between two places."""
    high, low = values.max(axis=0), values.min(axis=0)
    distance = jnp.minimum(jnp.abs(high), jnp.abs(low))
    return jnp.any((distance < NEAR * (high - low)) & (high != low))


_POINTS = np.linspace(0.0, 1.0, FINE * PLACES + 1)


def _through_places(points: np.ndarray) -> np.ndarray:
    """Values at points of the polynomial through values at the places, as a matrix."""
    places = np.arange(PLACES + 1) / PLACES
    powers = np.vander(places, PLACES + 1, increasing=True)
    return np.vander(points, PLACES + 1, increasing=True) @ np.linalg.inv(powers)


def _between_places(
    problem: Problem,
    p: Any,
    values: jax.Array,
    sides: jax.Array,
    state: State,
    before: jax.Array,
    now: jax.Array,
) -> _Bracket:
    """The same with places where polynomials through the values have extrema on the other side."""
    count = values.shape[1]
    fine = jnp.asarray(_through_places(_POINTS)) @ values
    # Where a function is positive at the start, its smallest value matters, else its largest.
    towards = jnp.where(values[0] > 0, 1.0, -1.0) * fine
    place = jnp.clip(jnp.argmin(towards, axis=0), 1, len(_POINTS) - 2)
    around = jnp.stack([towards[place + k, jnp.arange(count)] for k in (-1, 0, 1)])
    curvature = around[0] - 2.0 * around[1] + around[2]
    shift = jnp.where(curvature > 0, 0.5 * (around[0] - around[2]) / curvature, 0.0)
    lowest = around[1] - 0.25 * (around[0] - around[2]) * shift
    part = (place + jnp.clip(shift, -1.0, 1.0)) / (len(_POINTS) - 1)
    # The polynomial is as good as that: whether it is beyond zero, the function itself will say.
    margin = 2.0 * UNEXPECTED * (values.max(axis=0) - values.min(axis=0))
    found = jnp.sort(jnp.where(lowest <= margin, part, 1.0))[:MOST_EXTREMA]
    parts = jnp.sort(jnp.concatenate([jnp.arange(PLACES + 1) / PLACES, found]))
    times = jnp.where(parts >= 1.0, now, before + parts * (now - before))

    def sides_then(t: jax.Array) -> jax.Array:
        return sides_at(problem, t, *evaluate_within(state, t), p)

    later = each(sides_then, times[1:], problem.one_by_one)
    all_sides = jnp.concatenate([sides[:1], later])
    changes = jnp.any(_crossed(problem, all_sides[:-1], all_sides[1:]), axis=1)
    first = jnp.argmax(changes)
    return _Bracket(jnp.any(changes), times[first], times[first + 1], all_sides[first])


def _stop_at_first(problem: Problem, p: Any, bracket: _Bracket, state: State) -> State:
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
    return state.with_numbers(reached=time, status=Status.CROSSING)._replace(sides=sides, crossed=crossed)

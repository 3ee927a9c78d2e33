"""Extrema of watched functions between the places at which they were looked at.

A function may go beyond zero and return between two places. The polynomial through its values there says
where that might be; the function itself says whether it is so: its extremum is approached by parabolas
through true values, closer and closer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

PLACES = 4
"""Functions are looked at after each so many-th part of a stretch."""
NEAR = 2.0
"""An extremum beyond zero is possible where a value is no farther from zero than so many times the range
of the values in this stretch. (A polynomial of degree 4 goes beyond five values at equal distances by
less.)"""
FINE = 16
"""Points between two places at which the polynomial is evaluated to find its extremum."""
MOST_EXTREMA, MOST_COMPARED = 4, 16
"""So many extrema of a stretch, the first ones at different times, are looked at; taken from so many."""
ROUNDS, CLOSER = 10, 0.25
"""Parabolas through true values, each one so much closer than the one before, if that has an extremum
between its points."""
ASIDE, FARTHEST = 1 / 64, 6.0
"""Distance of the points of the first parabola, in parts of the stretch; its extremum is at most so many
times as far away."""
ELSEWHERE = np.array([0.1371, 0.3819, 0.6180, 0.8541])
"""Parts of a stretch at which a function is compared with the polynomial through its values,"""
UNEXPECTED = 0.03
"""from which it may differ by this part of its variation,"""
ROUNDING = 1e-6
"""if that is more than such a part of its values,"""
MATTERS = 100.0
"""and if its distance from zero is less than so many times its variation."""

EVERYWHERE = np.concatenate([np.arange(PLACES + 1) / PLACES, ELSEWHERE])
"""All parts of a stretch at which functions are looked at, first the places."""
_POINTS = np.linspace(0.0, 1.0, FINE * PLACES + 1)


def through_places(points: np.ndarray) -> np.ndarray:
    """Values at points of the polynomial through values at the places, as a matrix."""
    places = np.arange(PLACES + 1) / PLACES
    powers = np.vander(places, PLACES + 1, increasing=True)
    return np.vander(points, PLACES + 1, increasing=True) @ np.linalg.inv(powers)


def unexpected(values: jax.Array, others: jax.Array) -> tuple[jax.Array, jax.Array]:
    """By how much functions are elsewhere not what the polynomial through their values says; and for each
    whether that is too much, as far as it might come near zero."""
    expected = jnp.asarray(through_places(ELSEWHERE)) @ values
    every = jnp.concatenate([values, others])
    high, low = every.max(axis=0), every.min(axis=0)
    variation = high - low
    matters = (jnp.minimum(jnp.abs(high), jnp.abs(low)) < MATTERS * variation) | ((high > 0) != (low > 0))
    matters &= variation > ROUNDING * jnp.maximum(jnp.abs(high), jnp.abs(low))
    off = jnp.max(jnp.abs(others - expected), axis=0)
    return off, matters & (off > UNEXPECTED * variation)


def may_return(values: jax.Array) -> jax.Array:
    """Whether a function might go beyond zero and return between two places."""
    high, low = values.max(axis=0), values.min(axis=0)
    distance = jnp.minimum(jnp.abs(high), jnp.abs(low))
    return jnp.any((distance < NEAR * (high - low)) & (high != low))


def candidates(values: jax.Array, off: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Parts of a stretch at which functions may have an extremum beyond zero, increasing, one where there
    is none; the functions, and the signs by which these extrema are lowest values.

    Of each function it is the first minimum and the lowest one.
    """
    count = values.shape[1]
    # Where a function is positive at the start, its smallest value matters, else its largest.
    sign = jnp.where(values[0] > 0, 1.0, -1.0)
    towards = sign * (jnp.asarray(through_places(_POINTS)) @ values)
    # The polynomial is as good as that: whether it is beyond zero, the function itself will say.
    margin = 2.0 * jnp.maximum(UNEXPECTED * (values.max(axis=0) - values.min(axis=0)), off)
    inner = towards[1:-1]
    is_minimum = (inner <= towards[:-2]) & (inner <= towards[2:]) & (inner <= margin)
    first = 1 + jnp.argmax(is_minimum, axis=0)
    lowest = jnp.clip(jnp.argmin(towards, axis=0), 1, len(_POINTS) - 2)
    place = jnp.concatenate([first, lowest])
    function = jnp.concatenate([jnp.arange(count), jnp.arange(count)])
    around = jnp.stack([towards[place + k, function] for k in (-1, 0, 1)])
    shift = jnp.clip(_vertex(around), -1.0, 1.0)
    value = around[1] - 0.25 * (around[0] - around[2]) * shift
    has_minimum = jnp.any(is_minimum, axis=0)
    is_own = jnp.concatenate([has_minimum, ~has_minimum | (first != lowest)])
    usable = (value <= margin[function]) & is_own
    part = jnp.minimum((place + shift) / (len(_POINTS) - 1), 1.0 - 0.5 * ASIDE)
    part = jnp.where(usable, part, 1.0)
    # Equal functions have equal extrema: one of them is enough.
    part, order = _first_of(part, MOST_COMPARED)
    apart = jnp.concatenate([jnp.ones(1, bool), part[1:] > part[:-1] + 0.5 * ASIDE])
    part, again = _first_of(jnp.where(apart, part, 1.0), MOST_EXTREMA)
    function = function[order[again]]
    return part, function, sign[function]


def refined(part: jax.Array, own_values: Callable[[jax.Array], jax.Array]) -> jax.Array:
    """Extrema of the functions themselves near these parts of the stretch.

    own_values  values at a matrix of parts, a column for each extremum, of its own function
    """
    offsets = jnp.array([-1.0, 0.0, 1.0])[:, None]

    def closer(_: Any, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        part, aside = carry
        part = jnp.clip(part, aside, 1.0 - aside)
        around = own_values(part + aside * offsets)
        downhill = jnp.where(around[0] < around[2], -1.0, 1.0)
        is_bent = around[0] - 2.0 * around[1] + around[2] > 0
        shift = jnp.where(is_bent, jnp.clip(_vertex(around), -FARTHEST, FARTHEST), downhill)
        is_inside = is_bent & (jnp.abs(shift) <= 1.0)
        return part + aside * shift, jnp.where(is_inside, CLOSER, 1.0) * aside

    part, _ = jax.lax.fori_loop(0, ROUNDS, closer, (part, jnp.full_like(part, ASIDE)))
    return jnp.clip(part, 0.0, 1.0)


def _first_of(part: jax.Array, most: int) -> tuple[jax.Array, jax.Array]:
    """The smallest ones, increasing, and where they are."""
    found, places = jax.lax.top_k(-part, min(most, part.shape[0]))
    return -found, places


def _vertex(around: jax.Array) -> jax.Array:
    """Where the parabola through three values at -1, 0 and 1 is lowest."""
    curvature = around[0] - 2.0 * around[1] + around[2]
    return jnp.where(curvature > 0, 0.5 * (around[0] - around[2]) / curvature, 0.0)

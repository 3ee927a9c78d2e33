"""Weights: 1 / tolerance of each element, in which errors and changes of a step are measured."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .controller import LARGE, PART_IF_LARGE
from .rounding import FLOOR, LOOSEN, Rounding
from .settings import Settings


def weighted_norm(vector: jax.Array, weights: jax.Array) -> jax.Array:
    """Largest of vector * weights, weights being 1 / tolerance: one means on tolerance.

    A mean would let a front that moves through a large grid be as wrong as the grid is large.
    """
    return jnp.max(jnp.abs(vector * weights))


def error_weights(x: jax.Array, settings: Settings, rounding: Rounding | None = None) -> jax.Array:
    """1 / tolerance; zero for elements that are not tested. None is smaller than rounding allows."""
    tolerance = settings.limit("rtol") * jnp.abs(x) + settings.atol
    if len(settings.tightness):
        tolerance = tolerance / settings.tightness
    if rounding is None:
        return 1.0 / tolerance
    loosest = LOOSEN * settings.limit("strictness") * tolerance
    loosened = jnp.minimum(FLOOR * rounding.of_slopes, loosest)
    return 1.0 / jnp.maximum(tolerance, jnp.maximum(FLOOR * rounding.of_constraints, loosened))


def corrector_weights(weights: jax.Array, settings: Settings, rounding: Rounding) -> jax.Array:
    """Those in which the corrector converges: an element that is tested less strictly, as strictly as
    others; where an iteration is expensive, ten times as strictly as it is tested.

    How far a change of an algebraic element is from the root is judged by a slope that may be an old one.
    Down an exponential, changes far below the tolerance of the result lead nowhere near the root.
    """
    if not len(settings.tightness):
        return weights
    floor = FLOOR * jnp.maximum(rounding.of_constraints, rounding.of_slopes)
    part = settings.tightness
    if len(weights) >= LARGE:
        part = jnp.maximum(part, PART_IF_LARGE)
    return jnp.maximum(weights, 1.0 / jnp.maximum(part / weights, floor))


def slope_weights(
    places: np.ndarray, slope: jax.Array, settings: Settings, rounding: Rounding, c: jax.Array
) -> jax.Array:
    """1 / tolerance for integrals of unknowns: a change of one by delta changes the unknown by delta / c.

    Tolerances are those of the result, and not smaller than rounding allows.
    """
    rtol = settings.limit("strictness") * settings.limit("rtol")
    tolerance = c * (rtol * jnp.abs(slope[places]) + settings.slope_atol)
    rounded = rounding.of_constraints[places] + rounding.of_slopes[places]
    return 1.0 / jnp.maximum(tolerance, FLOOR * rounded)


def beyond_tolerance(x: jax.Array, settings: Settings, rounding: Rounding) -> jax.Array:
    """Tolerances that rounding leaves, in units of those of the result."""
    asked = settings.limit("strictness") * (settings.limit("rtol") * jnp.abs(x) + settings.atol)
    return FLOOR * rounding.of_constraints / asked


def first_step(settings: Settings, t: jax.Array, x: jax.Array, xdot: jax.Array) -> jax.Array:
    """A step whose error at order one is about half the tolerance, if x'' is about xdot^2 / x; longer for a
    method that starts with a higher order.

    Where x stands still nothing is known, and a thousandth of the interval is tried.
    """
    span = settings.limit("t_end") - t
    speed = jnp.max(jnp.abs(xdot * error_weights(x, settings)))
    by_speed = 0.5 * jnp.sqrt(2.0 / settings.limit("rtol")) / jnp.maximum(speed, 1e-300)
    by_speed = settings.limit("first_step_factor") * by_speed
    return jnp.minimum(jnp.minimum(1e-3 * span, by_speed), settings.limit("max_step"))

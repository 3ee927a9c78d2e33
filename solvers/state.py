"""What travels through the compiled loop: the state, the settings of a run, and the counts of work."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .coefficients import DIFFERENCES, MAX_ORDER
from .decisions import IN_JAX, LARGE, PART_IF_LARGE, UNKNOWN_RATE
from .problem import Problem
from .rounding import FLOOR, LOOSEN, Rounding, no_rounding
from .status import Status

STRICTNESS = 60.0
"""Errors of single steps are kept so much below the tolerance at rtol = 1e-6, because they add up: the
tolerance is meant for the result. Chosen so that errors on the published test problems are within the
tolerance times 30, with some room."""
STRICTNESS_EXPONENT = 0.2
"""The result of a method of order 5 has an error like (error of a step)^(5/6): to keep it in proportion
to the tolerance, steps have to be stricter where the tolerance is."""


class Settings(NamedTuple):
    """Numbers of one run; changing them compiles nothing anew."""

    t_end: Any
    rtol: Any
    atol: Any
    """One for each element of x; infinite where an element is not tested."""
    tightness: Any
    """Part of the strictness that an element is tested with; empty if it is one for all of them."""
    slope_atol: Any
    """One for each unknown that is the derivative of an element of x; that of the result."""
    strictness: Any
    """How much stricter rtol and atol are than those of the result."""
    max_step: Any
    max_steps: Any
    max_order: Any


def make_settings(
    problem: Problem, t_end: Any, rtol: Any, atol: Any, max_step: Any, max_steps: int, max_order: int
) -> Settings:
    """The settings of a run from the tolerances of its result."""
    strictness = STRICTNESS * max(1.0, 1e-6 / rtol) ** STRICTNESS_EXPONENT
    algebraic = problem.flags("algebraic") if problem.algebraic is not None else np.zeros(0, bool)
    return Settings(
        t_end=t_end,
        rtol=np.asarray(rtol / strictness),
        atol=np.where(problem.flags("integrals"), np.inf, np.asarray(atol) / strictness),
        tightness=np.where(algebraic, 1.0 / strictness, 1.0),
        slope_atol=np.broadcast_to(np.asarray(atol, float), problem.size)[problem.slope_places],
        strictness=np.asarray(strictness),
        max_step=np.asarray(max_step, float),
        max_steps=np.asarray(max_steps, np.int32),
        max_order=np.asarray(max_order, np.int32),
    )


PackedSettings = tuple[Any, tuple[Any, ...]]
"""A vector of all numbers, and the long ones: a call pays for every array."""

_LONG = ("atol", "tightness", "slope_atol")


def pack_settings(settings: Settings) -> PackedSettings:
    numbers = settings._asdict()
    long = tuple(numbers.pop(name) for name in _LONG)
    return np.array([float(number) for number in numbers.values()]), long


def unpack_settings(packed: PackedSettings) -> Settings:
    (t_end, rtol, strictness, max_step, max_steps, max_order), (atol, tightness, slope_atol) = packed
    counts = max_steps.astype(jnp.int32), max_order.astype(jnp.int32)
    return Settings(t_end, rtol, atol, tightness, slope_atol, strictness, max_step, *counts)


class Counters(NamedTuple):
    """Work done so far."""

    steps: jax.Array
    rejected_error: jax.Array
    rejected_newton: jax.Array
    rejected_non_finite: jax.Array
    rejected_singular: jax.Array
    residuals: jax.Array
    jacobians: jax.Array
    factorizations: jax.Array
    solves: jax.Array
    order_histogram: jax.Array
    """Accepted steps of order 0 (none), 1, ..., 5."""
    limited_by_rounding: jax.Array
    """Accepted steps in which rounding was larger than the tolerance of the result."""
    limited_element: jax.Array
    """Which element of x that was, the last time."""


def no_work() -> Counters:
    """Counts at the start, on the host."""
    zeros: dict[str, Any] = dict.fromkeys(Counters._fields, np.zeros((), np.int32))
    zeros["order_histogram"] = np.zeros(MAX_ORDER + 1, np.int32)
    return Counters(**zeros)


class Matrix(NamedTuple):
    """The factors of an iteration matrix, and how far they are to be trusted."""

    factors: Any
    c: jax.Array
    age: jax.Array
    """Accepted steps since it was computed."""
    rate: jax.Array
    """Rate of convergence met with it."""
    rounding: Rounding
    """How exactly the equations determine each element of x."""
    outdated: jax.Array
    """It has to be computed anew before the next attempt."""
    pivots_are_new: jax.Array


class State(NamedTuple):
    t: jax.Array
    h: jax.Array
    """Size of the next attempt; the differences are at this distance."""
    order: jax.Array
    equal_steps: jax.Array
    """Accepted steps since size or order changed."""
    differences: jax.Array
    xdot: jax.Array
    matrix: Matrix
    failures: jax.Array
    """Failed error tests since the last accepted step."""
    attempts: jax.Array
    status: jax.Array
    reached: jax.Array
    """Up to here the polynomial is the solution: t, or the time of a crossing."""
    sides: jax.Array
    """For each crossing function whether it is positive."""
    crossed: jax.Array
    counters: Counters

    @property
    def x(self) -> jax.Array:
        return self.differences[0]


def error_weights(x: jax.Array, settings: Settings, rounding: Rounding | None = None) -> jax.Array:
    """1 / tolerance; zero for elements that are not tested. None is smaller than rounding allows."""
    tolerance = settings.rtol * jnp.abs(x) + settings.atol
    if len(settings.tightness):
        tolerance = tolerance / settings.tightness
    if rounding is None:
        return 1.0 / tolerance
    loosened = jnp.minimum(FLOOR * rounding.of_slopes, LOOSEN * settings.strictness * tolerance)
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
    tolerance = c * (settings.strictness * settings.rtol * jnp.abs(slope[places]) + settings.slope_atol)
    rounded = rounding.of_constraints[places] + rounding.of_slopes[places]
    return 1.0 / jnp.maximum(tolerance, FLOOR * rounded)


def beyond_tolerance(x: jax.Array, settings: Settings, rounding: Rounding) -> jax.Array:
    """Tolerances that rounding leaves, in units of those of the result."""
    asked = settings.strictness * (settings.rtol * jnp.abs(x) + settings.atol)
    return FLOOR * rounding.of_constraints / asked


def start_state(
    t: Any,
    x: jax.Array,
    xdot: jax.Array,
    h: Any,
    factors: Any,
    sides: jax.Array,
    counters: Counters | None = None,
    attempts: jax.Array | None = None,
) -> State:
    """Order one with a given step size: how a run starts, and restarts after an event."""
    h = IN_JAX.on_the_grid_of_time(jnp.asarray(h, float), jnp.asarray(t, float))
    differences = jnp.zeros((DIFFERENCES, x.shape[0])).at[0].set(x).at[1].set(h * xdot)
    zero, count, no = jnp.zeros(()), jnp.zeros((), jnp.int32), jnp.zeros((), bool)
    matrix = Matrix(factors, zero, count, zero + UNKNOWN_RATE, no_rounding(x), ~no, no)
    if counters is None:
        counters = no_work()
    return State(
        t=jnp.asarray(t, float),
        h=h,
        order=count + 1,
        equal_steps=count,
        differences=differences,
        xdot=xdot,
        matrix=matrix,
        failures=count,
        attempts=count if attempts is None else attempts,
        status=count + Status.RUNNING,
        reached=jnp.asarray(t, float),
        sides=sides,
        crossed=jnp.zeros_like(sides),
        counters=counters,
    )


def first_step(
    span: Any, xdot: jax.Array, weights: jax.Array, rtol: jax.Array, max_step: jax.Array
) -> jax.Array:
    """A step whose error at order one is about half the tolerance, if x'' is about xdot^2 / x.

    Where x stands still nothing is known, and a thousandth of the interval is tried.
    """
    speed = jnp.max(jnp.abs(xdot * weights))
    by_speed = 0.5 * jnp.sqrt(2.0 / rtol) / jnp.maximum(speed, 1e-300)
    return jnp.minimum(jnp.minimum(1e-3 * span, by_speed), max_step)

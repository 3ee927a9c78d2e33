"""The controller: all that is decided about steps with numbers, not vectors. Written once, for JAX and
numba.

The same lines are traced by JAX (any device, `jit`, `vmap`) and compiled by numba for the loop in native
code (`native`). So they use nothing but arithmetic and the functions of the namespace they are
made with, and choose by `where` instead of branching.

Order of an attempt: `matrix_is_needed`; after each iteration of the corrector `judge_iteration`; at its end
`decide`, with the error of the step, and of the orders below and above, in units of the tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ..status import Status

# The corrector. Sizes are in units of the tolerance.
MAX_ITERATIONS = 4
TOLERANCE = 0.05
"""Error of the iteration in units of the tolerance: far below the error of the step itself."""
STRICT = 1e-3
UNKNOWN_RATE = 0.95
SMALLEST_RATE = 0.1
"""A remembered rate is not believed to be better: the equations change from step to step."""
LARGE = 1000
SMALLEST_RATE_IF_LARGE = 0.01
PART_IF_LARGE = 0.1
"""From this size on an iteration costs more than the few steps that are rejected because one was saved."""
DIVERGED = 0.9
STAGNATED = 0.3
"""Changes below this that no longer decrease, although the matrix is new or rounding of that size was to be
expected, are rounding: less cannot be had, and this is still below tolerance. The same after the last
iteration if all changes to come would be below it; slowly shrinking ones may add up to anything."""

# The matrix.
LARGEST_CHANGE_OF_C = 0.2
"""Relative change of c up to which a matrix is kept."""
LARGEST_AGE = 50
"""Accepted steps for which a matrix is kept."""

# A predicted gain is discounted, more so where the order would change: the estimates at the
# neighbouring orders are less reliable than the one at hand (Shampine & Reichelt, section 2.2).
CAUTION_LOWER, CAUTION_SAME, CAUTION_HIGHER = 1.3, 1.2, 1.4
GROW_AT_LEAST = 1.2
"""A smaller gain is not worth a factorization."""
GROW_AT_MOST = 10.0
SHRINK_AT_MOST = 0.2
SHRINK_AFTER_NEWTON = 0.25
TINY = 1e-30
FAILURES_UNTIL_RESTART = 3
SMALLEST_STEP = 4.0
"""In units of rounding of t: about the distance of the grid of time."""
SMALLEST_STEP_OF_ALL = 1e-40
"""In units of the last time, for steps at t = 0, where nothing is rounded."""
EPS = float(np.finfo(float).eps)

# Numbers, because numba does not know the enumeration.
_RUNNING, _SUCCESS, _MAX_STEPS = int(Status.RUNNING), int(Status.SUCCESS), int(Status.MAX_STEPS)
_NEW_PIVOTS, _SINGULAR, _NON_FINITE = int(Status.NEW_PIVOTS), int(Status.SINGULAR), int(Status.NON_FINITE)
_NEWTON, _ERROR_TEST = int(Status.NEWTON), int(Status.ERROR_TEST)


class StepLimits(NamedTuple):
    """What steps of a run are limited by."""

    t_end: Any
    max_step: Any
    max_steps: Any
    max_order: Any


class Control(NamedTuple):
    """What the controller decides about: where a run is, its next attempt, and the age of its matrix."""

    t: Any
    h: Any
    order: Any
    equal_steps: Any
    failures: Any
    attempts: Any
    reached: Any
    status: Any
    age: Any
    rate: Any
    outdated: Any
    pivots_are_new: Any


class Outcome(NamedTuple):
    """What came out of an attempt at a step."""

    t_new: Any
    renewed: Any
    """There is a new matrix,"""
    usable: Any
    """which is good for something,"""
    finite_matrix: Any
    """and finite."""
    converged: Any
    finite: Any
    iterations: Any
    rate: Any
    error: Any
    """Of the step. One means on tolerance."""
    below: Any
    above: Any
    """What it would have been at the neighbouring orders; asked for only if `may_change`."""


class Decision(NamedTuple):
    """What follows: the next attempt, and what becomes of the table of differences."""

    next: Control
    accepted: Any
    factor: Any
    """Ratio of the next step size to the present one."""
    restart: Any
    """The past is to be forgotten."""


class Iterated(NamedTuple):
    """The state of the corrector after an iteration."""

    size: Any
    rate: Any
    finite: Any
    converged: Any
    diverged: Any


class Work(NamedTuple):
    """What an attempt adds to the counts of the same names."""

    steps: Any
    rejected_error: Any
    rejected_newton: Any
    rejected_non_finite: Any
    rejected_singular: Any
    residuals: Any
    jacobians: Any
    factorizations: Any
    solves: Any


class Controller(NamedTuple):
    """The functions of this module, for one namespace."""

    matrix_is_needed: Callable[..., Any]
    judge_iteration: Callable[..., Iterated]
    is_accepted: Callable[..., Any]
    may_change: Callable[..., Any]
    decide: Callable[..., Decision]
    work: Callable[..., Work]
    on_the_grid_of_time: Callable[..., Any]
    fit: Callable[..., Any]
    status_after: Callable[..., Any]


def make_controller(xp: Any, where: Callable[..., Any], compiled: Callable[[Any], Any]) -> Controller:
    """The functions with `where`, and `minimum` and the like of xp, each of them put through `compiled`."""
    minimum, maximum, isfinite = xp.minimum, xp.maximum, xp.isfinite

    @compiled
    def matrix_is_needed(c: Any, matrix_c: Any, age: Any, outdated: Any) -> Any:
        """The matrix is too old, too slow, or too far from c."""
        return outdated | (age >= LARGEST_AGE) | (abs(c - matrix_c) > LARGEST_CHANGE_OF_C * abs(matrix_c))

    @compiled
    def remaining_error(size: Any, rate: Any) -> Any:
        """The sum of all changes to come if they go on at this rate: infinite where they do not shrink."""
        return where(rate < 1.0, rate / maximum(1.0 - rate, 1e-300) * size, np.inf)

    @compiled
    def judge_iteration(
        size: Any,
        size_before: Any,
        iteration: Any,
        rate: Any,
        strict: Any,
        rounding: Any,
        may_stagnate: Any,
        smallest_rate: Any,
        most_iterations: Any,
        tolerance: Any,
    ) -> Iterated:
        """Whether the corrector has converged, will converge, or diverges, after its change of given size.

        iteration    how many there were before
        strict       go on until little more can be had
        rounding     changes of this size, in units of the tolerance like all sizes, are the end of it
        """
        first = iteration == 0
        left = most_iterations - 1 - iteration
        target = where(strict, STRICT * tolerance, tolerance)
        finite = isfinite(size)
        rate = where(first, rate, maximum(size / size_before, smallest_rate))
        error = remaining_error(size, rate)
        small = (size <= rounding) | (error <= target) | ((left == 0) & (error <= tolerance))
        at_an_end = (rate >= DIVERGED) | ((left == 0) & (error <= STAGNATED))
        stagnated = may_stagnate & ~first & (size <= STAGNATED) & at_an_end
        hopeless = ~first & (remaining_error(size * rate**left, rate) > tolerance) & (size > STAGNATED)
        return Iterated(
            size=size,
            rate=minimum(rate, UNKNOWN_RATE),
            finite=finite,
            converged=finite & (small | stagnated),
            diverged=~small & ~stagnated & (~first & (rate >= DIVERGED) | hopeless),
        )

    @compiled
    def is_accepted(usable: Any, converged: Any, error: Any) -> Any:
        return usable & converged & (error <= 1.0)

    @compiled
    def may_change(accepted: Any, equal_steps: Any, order: Any) -> Any:
        """After so many equal steps the errors at the neighbouring orders are known."""
        return accepted & (equal_steps >= order)

    @compiled
    def gain(error: Any, caution: Any, exponent: Any) -> Any:
        """Ratio of step sizes that would bring the error to the tolerance."""
        found = 1.0 / (caution * maximum(error, TINY) ** (1.0 / exponent))
        return where(isfinite(found), found, 0.0)

    @compiled
    def choose(order: Any, error: Any, below: Any, above: Any, max_order: Any) -> tuple[Any, Any]:
        """Order and factor after an accepted step, from the errors at the neighbouring orders."""
        lower = where(order > 1, gain(below, CAUTION_LOWER, order), 0.0)
        same = gain(error, CAUTION_SAME, order + 1)
        higher = where(order < max_order, gain(above, CAUTION_HIGHER, order + 2), 0.0)
        best = maximum(lower, maximum(same, higher))
        change = where(lower >= best, -1, where(same >= best, 0, 1))
        # An order that is lowered without a gain would only oscillate.
        worthwhile = best >= GROW_AT_LEAST
        return (
            where(worthwhile, order + change, order),
            where(worthwhile, minimum(best, GROW_AT_MOST), 1.0),
        )

    @compiled
    def shrink(error: Any, order: Any) -> Any:
        """Factor after the error test has failed."""
        factor = 1.0 / (CAUTION_SAME * error ** (1.0 / (order + 1)))
        factor = where(isfinite(factor), factor, SHRINK_AT_MOST)
        return minimum(maximum(factor, SHRINK_AT_MOST), 0.9)

    @compiled
    def on_the_grid_of_time(h: Any, t: Any) -> Any:
        """A step near to h for which t + h is exact, and t + 2h, and so on until |t| is four times what it
        is.

        The formulas take steps for equal. Rounding of t would make them unequal, and x wrong by that times
        its slope: late and fast solutions would not be smooth to their last digits. No step is shorter than
        the distance of the grid.
        """
        coarse = 4.0 * abs(t)
        distance = coarse * (1.0 + EPS) - coarse
        return where(distance > 0, maximum((coarse + h) - coarse, distance), h)

    @compiled
    def fit(factor: Any, h: Any, t: Any, limits: StepLimits) -> tuple[Any, Any]:
        """The next step size within the limits: it meets the end exactly, and not with a sliver before it.
        With its ratio to h."""
        remaining = limits.t_end - t
        wanted = minimum(factor * h, limits.max_step)
        halved = where(wanted > 0.5 * remaining * (1 + 1e-10), 0.5 * remaining, wanted)
        fitted = where(wanted >= remaining * (1 - 1e-10), remaining, on_the_grid_of_time(halved, t))
        fitted = where(remaining > 0, fitted, wanted)
        return fitted, where(fitted == h, 1.0, fitted / h)

    @compiled
    def status_after(
        now: Control, outcome: Outcome, accepted: Any, wanted: Any, t: Any, h: Any, limits: StepLimits
    ) -> Any:
        """After a failure there has to be a smaller step, if one is wanted."""
        not_finite = ~outcome.finite_matrix | ~outcome.finite
        cause = where(
            not_finite,
            _NON_FINITE,
            where(~outcome.usable, _SINGULAR, where(outcome.converged, _ERROR_TEST, _NEWTON)),
        )
        smallest = maximum(SMALLEST_STEP * (EPS * abs(t)), SMALLEST_STEP_OF_ALL * abs(limits.t_end))
        possible = (h >= smallest) & (h > 0) & ((h < now.h) | (wanted >= 1.0))  # not NaN
        too_small = ~accepted & ~possible
        too_many = now.attempts + 1 >= limits.max_steps
        return where(
            t >= limits.t_end,
            _SUCCESS,
            where(too_small, cause, where(too_many, _MAX_STEPS, _RUNNING)),
        )

    @compiled
    def decide(now: Control, outcome: Outcome, limits: StepLimits, keeps_pivots: Any) -> Decision:
        """What follows from an attempt."""
        accepted = is_accepted(outcome.usable, outcome.converged, outcome.error)
        # With old pivots nothing is learned about the step: outside, pivots are renewed, and it is tried
        # again.
        ask_for_pivots = (
            keeps_pivots & outcome.renewed & outcome.finite_matrix & ~outcome.usable & ~now.pivots_are_new
        )
        failed_test = outcome.converged & ~accepted
        restart = failed_test & (now.failures + 1 >= FAILURES_UNTIL_RESTART)
        best_order, best_factor = choose(
            now.order, outcome.error, outcome.below, outcome.above, limits.max_order
        )
        matrix_was_old = ~outcome.converged & ~outcome.renewed | ask_for_pivots
        after_failure = where(
            outcome.converged,
            shrink(outcome.error, now.order),
            where(matrix_was_old, 1.0, SHRINK_AFTER_NEWTON),
        )
        free = may_change(accepted, now.equal_steps, now.order)
        order = where(free, best_order, where(restart, 1, now.order))
        wanted = where(free, best_factor, where(accepted, 1.0, after_failure))
        t = where(accepted, outcome.t_new, now.t)
        h, factor = fit(wanted, now.h, t, limits)
        changed = (factor != 1.0) | (order != now.order)
        slow = ~outcome.renewed & (outcome.iterations >= MAX_ITERATIONS - 1)
        status = status_after(now, outcome, accepted, wanted, t, h, limits)
        following = Control(
            t=t,
            h=h,
            order=order,
            equal_steps=where(changed, 0, now.equal_steps + accepted),
            failures=where(accepted, 0, now.failures + failed_test),
            attempts=now.attempts + 1,
            reached=where(accepted, outcome.t_new, now.reached),
            status=where(ask_for_pivots, _NEW_PIVOTS, status),
            age=now.age + accepted,
            # A slow or failed iteration asks for a new matrix.
            rate=where(outcome.converged, outcome.rate, UNKNOWN_RATE),
            outdated=~outcome.usable | slow | ~outcome.converged,
            pivots_are_new=now.pivots_are_new & ~accepted,
        )
        return Decision(following, accepted, factor, restart)

    @compiled
    def work(outcome: Outcome, accepted: Any) -> Work:
        not_finite = ~outcome.finite_matrix | ~outcome.finite
        return Work(
            steps=accepted,
            rejected_error=outcome.converged & ~accepted,
            rejected_newton=outcome.usable & ~outcome.converged & ~not_finite & outcome.renewed,
            rejected_non_finite=not_finite,
            rejected_singular=~outcome.usable & ~not_finite,
            residuals=outcome.iterations,
            jacobians=outcome.renewed,
            factorizations=outcome.renewed,
            solves=outcome.iterations + outcome.renewed,
        )

    return Controller(
        matrix_is_needed, judge_iteration, is_accepted, may_change, decide, work, on_the_grid_of_time, fit,
        status_after,
    )  # fmt: skip


IN_JAX = make_controller(jnp, jnp.where, lambda function: function)
"""For code that is traced."""

"""What is decided about steps of Radau IIA: the next step size, and what becomes of the matrices.

The step size follows the error estimate, whose order is four with respect to h, and its trend over two
steps (K. Gustafsson's predictive controller); it stays what it is where little would be gained, so that
factors are used again. Limits of time and of steps, and what a failure means, are those of the multistep
method (`method.controller`).
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from ..method.controller import (
    FAILURES_UNTIL_RESTART,
    IN_JAX,
    TINY,
    UNKNOWN_RATE,
    Control,
    Decision,
    Outcome,
    StepLimits,
    Work,
)
from ..status import Status
from .coefficients import DEGREE
from .step import MAX_ITERATIONS

SAFETY = 0.9
EXPONENT = 0.25
GROW_AT_MOST, SHRINK_AT_MOST = 8.0, 0.2
SAME_UP_TO = 1.2
"""A smaller gain is not worth a factorization."""
SHRINK_AFTER_NEWTON = 0.5
FAR_BELOW = 0.01
"""An error below this says nothing about a trend."""
SLOW = 4
"""After so many iterations derivatives are taken anew."""


class Past(NamedTuple):
    """Of the last accepted step."""

    h: jax.Array
    error: jax.Array
    """Zero where there was none."""


def decide(
    now: Control, outcome: Outcome, fresh: jax.Array, past: Past, limits: StepLimits, keeps_pivots: bool
) -> Decision:
    """What follows from an attempt; `fresh` if derivatives were taken for it."""
    accepted = IN_JAX.is_accepted(outcome.usable, outcome.converged, outcome.error)
    ask_for_pivots = (
        keeps_pivots & outcome.renewed & outcome.finite_matrix & ~outcome.usable & ~now.pivots_are_new
    )
    failed_test = outcome.converged & ~accepted
    restart = failed_test & (now.failures + 1 >= FAILURES_UNTIL_RESTART)
    try_again = ~outcome.converged & ~fresh | ask_for_pivots
    after_newton = jnp.where(try_again, 1.0, SHRINK_AFTER_NEWTON)
    factor = _factor(now, outcome, past, accepted)
    wanted = jnp.where(outcome.converged, factor, after_newton)
    t = jnp.where(accepted, outcome.t_new, now.t)
    h, factor = IN_JAX.fit(wanted, now.h, t, limits)
    status = IN_JAX.status_after(now, outcome, accepted, wanted, t, h, limits)
    following = Control(
        t=t,
        h=h,
        order=jnp.where(accepted, DEGREE, jnp.where(restart, 1, now.order)),
        equal_steps=jnp.where(factor != 1.0, 0, now.equal_steps + accepted),
        failures=jnp.where(accepted, 0, now.failures + failed_test),
        attempts=now.attempts + 1,
        reached=jnp.where(accepted, outcome.t_new, now.reached),
        status=jnp.where(ask_for_pivots, int(Status.NEW_PIVOTS), status),
        age=now.age + accepted,
        rate=jnp.where(outcome.converged, outcome.rate, UNKNOWN_RATE),
        outdated=~outcome.usable | ~outcome.converged | (outcome.iterations >= SLOW),
        pivots_are_new=now.pivots_are_new & ~accepted,
    )
    return Decision(following, accepted, factor, restart)


def _factor(now: Control, outcome: Outcome, past: Past, accepted: jax.Array) -> jax.Array:
    """Ratio of the next step to this one, whose corrector has converged."""
    # Many iterations are a reason to be careful.
    safety = SAFETY * (2 * MAX_ITERATIONS + 1) / (2 * MAX_ITERATIONS + outcome.iterations)
    error = jnp.maximum(outcome.error, TINY)
    by_error = safety * error**-EXPONENT
    by_error = jnp.where(jnp.isfinite(by_error), by_error, SHRINK_AT_MOST)
    trend = now.h / past.h * (jnp.maximum(past.error, FAR_BELOW) / error) ** EXPONENT
    predicted = jnp.where((past.error > 0) & (past.h > 0), by_error * trend, jnp.inf)
    longer = jnp.clip(jnp.minimum(by_error, predicted), SHRINK_AT_MOST, GROW_AT_MOST)
    # After a failure the next step is no longer than the one that has not failed.
    longer = jnp.where(now.failures > 0, jnp.minimum(longer, 1.0), longer)
    kept = (longer >= 1.0) & (longer <= SAME_UP_TO)
    return jnp.where(accepted, jnp.where(kept, 1.0, longer), jnp.clip(by_error, SHRINK_AT_MOST, 0.9))


def work(outcome: Outcome, accepted: jax.Array, fresh: jax.Array) -> Work:
    """What an attempt adds to the counts: an iteration evaluates the residual at three stages, and solves
    with both matrices."""
    return IN_JAX.work(outcome._replace(renewed=fresh), accepted)._replace(
        residuals=3 * outcome.iterations,
        factorizations=2 * outcome.renewed,
        solves=2 * (outcome.iterations + outcome.renewed) + 1,
    )

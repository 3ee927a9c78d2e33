"""The corrector: modified Newton iteration for d, with a matrix that may be some steps old.

    x = x_pred + d,  xdot = xdot_pred + d / c,      M delta = -[c fd; fc],   d <- d + delta.

Sizes are measured in units of the tolerance. With the rate rho = |delta_m| / |delta_(m-1)| the error of d
after m iterations is at most about rho / (1 - rho) * |delta_m|. The rate is remembered as long as the
matrix is, so that one iteration is often enough (K. E. Brenan, S. L. Campbell, L. R. Petzold, section
5.2).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .jacobian import fd_rows
from .linear import Factors, LinearSolver
from .problem import Problem
from .step import Prediction, weighted_norm

MAX_ITERATIONS = 4
TOLERANCE = 0.05
"""Error of the iteration in units of the tolerance: far below the error of the step itself."""
STRICT = 1e-3
UNKNOWN_RATE = 0.95
SMALLEST_RATE = 0.1
"""A remembered rate is not believed to be better: the equations change from step to step."""
LARGE = 1000
SMALLEST_RATE_IF_LARGE = 0.01
"""From this size on an iteration costs more than the few steps that are rejected because one was saved."""
DIVERGED = 0.9
STAGNATED = 0.3
"""Changes below this that no longer decrease, although the matrix is new or rounding of that size was to be
expected, are rounding: less cannot be had, and this is still below tolerance."""


class Correction(NamedTuple):
    d: jax.Array
    iteration: jax.Array
    size: jax.Array
    """Norm of the last change."""
    rate: jax.Array
    finite: jax.Array
    converged: jax.Array
    diverged: jax.Array


def remaining_error(size: jax.Array, rate: jax.Array) -> jax.Array:
    """The sum of all changes to come if they go on at this rate: infinite where they do not shrink."""
    return jnp.where(rate < 1.0, rate / jnp.maximum(1.0 - rate, 1e-300) * size, jnp.inf)


def correct(
    problem: Problem,
    solver: LinearSolver,
    tables: Any,
    factors: Factors,
    t: jax.Array,
    prediction: Prediction,
    p: Any,
    c: jax.Array,
    weights: jax.Array,
    rate: jax.Array,
    enabled: jax.Array,
    strict: jax.Array | bool = False,
    rounding: jax.Array | float = 0.0,
    may_stagnate: jax.Array | bool = True,
) -> Correction:
    """Iterate to convergence, divergence, or a value that is not finite. If not enabled, do nothing.

    Changes of the size of rounding, given in units of the tolerance like all sizes, are the end of it.

    Strict, it goes on until little more can be had: at a start the slope d / c of a tiny step predicts
    the next one, and an error of d would come back divided by c.
    """
    smallest_rate = SMALLEST_RATE if problem.size < LARGE else SMALLEST_RATE_IF_LARGE
    target = jnp.where(strict, STRICT * TOLERANCE, TOLERANCE)
    is_fd = fd_rows(problem)

    def iterate(old: Correction) -> Correction:
        x, xdot = prediction.x + old.d, prediction.xdot + old.d / c
        residual = problem.residual(t, x, xdot, p)
        delta = solver.solve(tables, factors, jnp.where(is_fd, -c * residual, -residual))
        size = weighted_norm(delta, weights)
        finite = jnp.isfinite(size)
        first = old.iteration == 0
        rate = jnp.where(first, old.rate, jnp.maximum(size / old.size, smallest_rate))
        left = MAX_ITERATIONS - 1 - old.iteration
        error = remaining_error(size, rate)
        small = (size <= rounding) | (error <= target) | ((left == 0) & (error <= TOLERANCE))
        stagnated = may_stagnate & ~first & (size <= STAGNATED) & ((rate >= DIVERGED) | (left == 0))
        hopeless = ~first & (remaining_error(size * rate**left, rate) > TOLERANCE) & (size > STAGNATED)
        return Correction(
            d=old.d + delta,
            iteration=old.iteration + 1,
            size=size,
            rate=jnp.minimum(rate, UNKNOWN_RATE),
            finite=finite,
            converged=finite & (small | stagnated),
            diverged=~small & ~stagnated & (~first & (rate >= DIVERGED) | hopeless),
        )

    def unfinished(now: Correction) -> jax.Array:
        return enabled & now.finite & ~now.converged & ~now.diverged & (now.iteration < MAX_ITERATIONS)

    zero, no, yes = jnp.zeros_like(c), jnp.zeros((), bool), jnp.ones((), bool)
    start = Correction(jnp.zeros_like(prediction.x), jnp.zeros((), jnp.int32), zero, rate, yes, no, no)
    return jax.lax.while_loop(unfinished, iterate, start)

"""The corrector: modified Newton iteration for d, with a matrix that may be some steps old.

    x = x_pred + d,  xdot = xdot_pred + d / c,      M delta = -[c fd; fc],   d <- d + delta.

Sizes are measured in units of the tolerance; for an unknown that is the derivative of an element of x, in
units of the tolerance of that derivative. With the rate rho = |delta_m| / |delta_(m-1)| the error of d
after m iterations is at most about rho / (1 - rho) * |delta_m|. The rate is remembered as long as the
matrix is, so that one iteration is often enough (K. E. Brenan, S. L. Campbell, L. R. Petzold, section
5.2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from ..linear.contract import Factors
from ..matrix.jacobian import fd_rows
from .context import Context
from .controller import IN_JAX, MAX_ITERATIONS, TOLERANCE
from .polynomial import Prediction
from .settings import smallest_rate
from .tolerances import weighted_norm


class Correction(NamedTuple):
    d: jax.Array
    iteration: jax.Array
    size: jax.Array
    """Norm of the last change."""
    rate: jax.Array
    finite: jax.Array
    converged: jax.Array
    diverged: jax.Array


def correct(
    context: Context,
    factors: Factors,
    t: jax.Array,
    prediction: Prediction,
    c: jax.Array,
    weights: jax.Array,
    rate: jax.Array,
    enabled: jax.Array,
    strict: jax.Array | bool = False,
    rounding: jax.Array | float = 0.0,
    may_stagnate: jax.Array | bool = True,
    slope_weights: Callable[[jax.Array], jax.Array] | None = None,
) -> Correction:
    """Iterate to convergence, divergence, or a value that is not finite. If not enabled, do nothing.

    weights        1 / tolerance of x
    slope_weights  the same for `problem.slope_places`, from xdot

    Changes of the size of rounding, given in units of the tolerance like all sizes, are the end of it.

    Strict, it goes on until little more can be had: at a start the slope d / c of a tiny step predicts
    the next one, and an error of d would come back divided by c.
    """
    problem = context.problem
    is_fd = fd_rows(problem, context.p)

    def iterate(old: Correction) -> Correction:
        x, xdot = prediction.x + old.d, prediction.xdot + old.d / c
        residual = problem.residual(t, x, xdot, context.p)
        delta = context.solve(factors, jnp.where(is_fd, -c * residual, -residual))
        size = weighted_norm(delta, weights)
        if slope_weights is not None:
            of_slopes = delta[problem.slope_places] * slope_weights(xdot + delta / c)
            size = jnp.maximum(size, jnp.max(jnp.abs(of_slopes)))
        judged = IN_JAX.judge_iteration(
            size, old.size, old.iteration, old.rate, strict, rounding,
            may_stagnate, smallest_rate(problem.size), MAX_ITERATIONS, TOLERANCE,
        )  # fmt: skip
        return Correction(old.d + delta, old.iteration + 1, *judged)

    def unfinished(now: Correction) -> jax.Array:
        return enabled & now.finite & ~now.converged & ~now.diverged & (now.iteration < MAX_ITERATIONS)

    zero, no, yes = jnp.zeros_like(c), jnp.zeros((), bool), jnp.ones((), bool)
    start = Correction(jnp.zeros_like(prediction.x), jnp.zeros((), jnp.int32), zero, rate, yes, no, no)
    return jax.lax.while_loop(unfinished, iterate, start)

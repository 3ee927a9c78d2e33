"""Consistent values after discrete ones have changed, inside of compiled code.

    x+      Md(x+) (x+ - x-) = 0,  fc(x+) = 0           Md = dfd/dxdot: states stay, unless an impulse moves them
    xdot+   fd(x+, xdot+) = 0,     dfc/dx xdot+ + dfc/dt = 0

Both have the matrix of the special form, [dfd/dxdot; dfc/dx]. Where all derivatives of an fd row vanish in a
mode, the row is a constraint there (a clutch that is engaged): it is found here, and stays one until the
next event. This is `roots.initialize` for a few plain iterations of Newton's method; where they do not suffice,
the caller takes that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..linear.contract import Factors
from ..matrix.jacobian import C_ZERO, fd_rows, matrix_values, value_and_rate
from ..method.context import Context
from ..method.tolerances import error_weights
from ..problem import Problem

ITERATIONS = 12
SETTLED = 1e-4
"""Last change of x, in units of the tolerance of a step: convergence is quadratic, and nothing is left."""
SLOPE_SETTLED = 1e-9
"""Last change of xdot, as a part of xdot or of its first change."""


class Restarted(NamedTuple):
    x: jax.Array
    xdot: jax.Array
    p: Any
    factors: Factors
    success: jax.Array


def restart(
    context: Context, t: jax.Array, x_left: jax.Array, xdot: jax.Array, p: Any, factors: Factors
) -> Restarted:
    """x and xdot after an event, from those before and the new discrete values in p. Factors are those of a matrix
    before: linear solvers may use their pivots, and their memory."""
    p = rows_of_mode(context.problem, t, x_left, xdot, p)
    context = context._replace(p=p)
    x, x_found, factors = _after_impulse(context, t, x_left, xdot, factors)
    slope, slope_found, factors = _slope(context, t, x, xdot, factors)
    return Restarted(x, slope, p, factors, x_found & slope_found)


def rows_of_mode(problem: Problem, t: Any, x: Any, xdot: Any, p: Any) -> Any:
    """p with flags of the rows in which derivatives have coefficients now.

    One derivative along a direction in which no two terms cancel tells.
    """
    events = problem.events
    assert events is not None
    along = 1.0 + jnp.sqrt(jnp.arange(1.0, problem.size + 1.0)) % 1.0
    _, change = jax.jvp(lambda slope: problem.residual(t, x, slope, p), (jnp.asarray(xdot),), (along,))
    return events.with_row_flags(p, jnp.asarray(problem.row_flags) & (change != 0.0))


def _factors(context: Context, t: jax.Array, x: jax.Array, xdot: jax.Array, old: Factors) -> Factors:
    method, tables, _, p = context
    c = jnp.asarray(C_ZERO)
    values = matrix_values(method.problem, method.directions, tables.gather, t, x, xdot, p, c)
    return method.solver.factor(tables.solver, values, old)


def _after_impulse(
    context: Context, t: jax.Array, x_left: jax.Array, xdot: jax.Array, factors: Factors
) -> tuple[jax.Array, jax.Array, Factors]:
    problem, p = context.problem, context.p
    is_fd = fd_rows(problem, p)
    weights = error_weights(x_left, context.settings)

    def residual(x: jax.Array) -> jax.Array:
        value, impulse = jax.jvp(lambda slope: problem.residual(t, x, slope, p), (xdot,), (x - x_left,))
        return jnp.where(is_fd, impulse, value)

    def improve(now: tuple[Any, ...]) -> tuple[Any, ...]:
        x, _, count, factors = now
        factors = _factors(context, t, x, xdot, factors)
        delta = context.solve(factors, -residual(x))
        return x + delta, jnp.max(jnp.abs(delta * weights)), count + 1, factors

    def is_left(now: tuple[Any, ...]) -> jax.Array:
        _, change, count, _ = now
        return (change > SETTLED) & (count < ITERATIONS)

    start = x_left, jnp.asarray(jnp.inf), jnp.asarray(0), factors
    x, change, _, factors = jax.lax.while_loop(is_left, improve, start)
    return x, (change <= SETTLED) & jnp.all(jnp.isfinite(x)), factors


def _slope(
    context: Context, t: jax.Array, x: jax.Array, guess: jax.Array, factors: Factors
) -> tuple[jax.Array, jax.Array, Factors]:
    problem, p = context.problem, context.p
    is_fd = fd_rows(problem, p)

    def residual(xdot: jax.Array) -> jax.Array:
        value, rate = value_and_rate(problem, t, x, xdot, p)
        return jnp.where(is_fd, value, rate)

    def improve(now: tuple[Any, ...]) -> tuple[Any, ...]:
        xdot, first, _, count, factors = now
        factors = _factors(context, t, x, xdot, factors)
        delta = context.solve(factors, -residual(xdot))
        first = jnp.where(count == 0, jnp.abs(delta), first)
        xdot = xdot + delta
        scale = jnp.maximum(jnp.abs(xdot), first)
        change = jnp.max(jnp.where(delta == 0.0, 0.0, jnp.abs(delta) / scale))
        return xdot, first, change, count + 1, factors

    def is_left(now: tuple[Any, ...]) -> jax.Array:
        _, _, change, count, _ = now
        return (change > SLOPE_SETTLED) & (count < ITERATIONS)

    start = guess, jnp.zeros_like(guess), jnp.asarray(jnp.inf), jnp.asarray(0), factors
    xdot, _, change, _, factors = jax.lax.while_loop(is_left, improve, start)
    return xdot, (change <= SLOPE_SETTLED) & jnp.all(jnp.isfinite(xdot)), factors

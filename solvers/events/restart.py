"""Consistent values after discrete ones have changed, inside of compiled code.

    x+      Md(x+) (x+ - x-) = 0,  fc(x+) = 0      Md = dfd/dxdot: states stay, unless an impulse moves them
    xdot+   fd(x+, xdot+) = 0,     dfc/dx xdot+ + dfc/dt = 0

Both have the matrix of the special form, [dfd/dxdot; dfc/dx]. Where all derivatives of an fd row vanish in
a mode, the row is a constraint there (a clutch that is engaged): it is found here, and stays one until the
next event. This is `roots.initialize` for a few plain iterations of Newton's method; where they do not
suffice, the caller takes that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..linear.contract import Factors
from ..matrix.jacobian import C_ZERO, fd_rows, matrix_values, value_and_rate
from ..method.context import Context
from ..method.rounding import FLOOR, GOLDEN, rounding_level
from ..method.tolerances import error_weights, first_step
from ..problem import Problem

ITERATIONS = 12
SETTLED = 1e-4
"""Last change of x, in units of the tolerance of a step: convergence is quadratic, and nothing is left."""
ROUNDED, SLOPE_ROUNDED, STAGNATED = 1.0, 1e-6, 0.25
"""The same where changes do not become smaller than such a part of the one before: all is rounding.
Changes of x may be larger where rounding of the equations is."""
LATER = 1e-3
"""So much later, compared with a cautious first step, slopes are looked at again."""
SLOPE_SETTLED = 1e-9
"""Last change of xdot, as a part of xdot or of its first change."""


class Restarted(NamedTuple):
    x: jax.Array
    xdot: jax.Array
    p: Any
    factors: Factors
    step: jax.Array
    """To begin with: its error at order one is about half the tolerance."""
    success: jax.Array


def restart(
    context: Context, t: jax.Array, x_left: jax.Array, xdot: jax.Array, p: Any, factors: Factors
) -> Restarted:
    """x and xdot after an event, from those before and the new discrete values in p. Factors are those of a
    matrix before: linear solvers may use their pivots, and their memory.

    Both systems are solved by one loop, first that of x+: what it evaluates is compiled once.
    """
    method, tables, settings, _ = context
    problem = method.problem
    p = rows_of_mode(problem, t, x_left, xdot, p)
    is_fd, weights = fd_rows(problem, p), error_weights(x_left, settings)
    no = jnp.zeros((), bool)

    def improve(now: _Search) -> _Search:
        x, slope, of_slope = now.x, now.xdot, now.of_slope
        along = jnp.where(of_slope, 1.0, 0.0)
        value, rate = jax.jvp(
            lambda t, x, slope: problem.residual(t, x, slope, p),
            (t, x, slope),
            (along, along * slope, (1.0 - along) * (x - x_left)),
        )
        residual = jnp.where(is_fd ^ of_slope, rate, value)
        values = matrix_values(
            problem, method.directions, tables.gather, t, x, slope, p, jnp.asarray(C_ZERO)
        )
        factors = method.solver.factor(tables.solver, values, now.factors)
        delta = method.solver.solve(tables.solver, factors, -residual)
        first = jnp.where(of_slope & (now.iterations == 0), jnp.abs(delta), now.first)
        new_slope = slope + delta
        relative = jnp.where(delta == 0.0, 0.0, jnp.abs(delta) / jnp.maximum(jnp.abs(new_slope), first))
        change = jnp.where(of_slope, jnp.max(relative), jnp.max(jnp.abs(delta * weights)))
        settled = change <= jnp.where(of_slope, SLOPE_SETTLED, SETTLED)
        # Rounding does not let it become smaller.
        stagnates = (change > STAGNATED * now.change) & (now.iterations > 0)
        settled |= stagnates & (change <= jnp.where(of_slope, SLOPE_ROUNDED, ROUNDED))
        settled = jax.lax.cond(
            stagnates & ~settled & ~of_slope,
            lambda: jnp.all(jnp.abs(delta) <= ROUNDED / weights + rounding(x, values, factors, now)),
            lambda: settled,
        )
        goes_on = settled & ~of_slope
        return _Search(
            jnp.where(of_slope, x, x + delta),
            jnp.where(of_slope, new_slope, slope),
            of_slope | goes_on,
            settled & of_slope,
            first,
            jnp.where(goes_on, 0, now.iterations + 1),
            change,
            factors,
        )

    def rounding(x: jax.Array, values: jax.Array, factors: Factors, now: _Search) -> jax.Array:
        level, _ = rounding_level(
            problem, method.solver, tables.solver, factors, tables.gather, values,
            t, x, now.xdot, jnp.asarray(C_ZERO), now.iterations, p,
        )  # fmt: skip
        blurred = problem.residual(t, x, now.xdot, _aside(p, now.iterations))
        rows = jnp.where(is_fd, 0.0, blurred - problem.residual(t, x, now.xdot, p))
        of_data = jnp.abs(method.solver.solve(tables.solver, factors, rows))
        return FLOOR * jnp.maximum(level, jnp.where(jnp.isfinite(of_data), of_data, 0.0))

    def is_left(now: _Search) -> jax.Array:
        return ~now.settled & (now.iterations < ITERATIONS)

    start = _Search(
        x_left, xdot, no, no, jnp.zeros_like(xdot), jnp.asarray(0), jnp.asarray(jnp.inf), factors
    )
    found = jax.lax.while_loop(is_left, improve, start)
    finite = jnp.all(jnp.isfinite(found.x)) & jnp.all(jnp.isfinite(found.xdot))
    step = _step(context._replace(p=p), t, found)
    return Restarted(found.x, found.xdot, p, found.factors, step, found.settled & finite)


def _step(context: Context, t: jax.Array, found: _Search) -> jax.Array:
    """From x'', by which xdot changes a little later: the matrix at hand says so."""
    problem, p, settings = context.problem, context.p, context.settings
    x, xdot = found.x, found.xdot
    proposed = first_step(settings, t, x, xdot)
    later = LATER * proposed
    value, rate = value_and_rate(problem, t + later, x + later * xdot, xdot, p)
    change = context.solve(found.factors, -jnp.where(fd_rows(problem, p), value, rate))
    bend = jnp.max(jnp.abs(change * error_weights(x, settings))) / later
    step = settings.limit("first_step_factor") * jnp.sqrt(1.0 / jnp.maximum(bend, 1e-300))
    step = jnp.where(jnp.isfinite(step), step, proposed)
    return jnp.minimum(step, jnp.minimum(settings.limit("t_end") - t, settings.limit("max_step")))


class _Search(NamedTuple):
    x: jax.Array
    xdot: jax.Array
    of_slope: jax.Array
    """Whether x+ is found, and xdot+ is searched."""
    settled: jax.Array
    first: jax.Array
    """The first change of xdot."""
    iterations: jax.Array
    change: jax.Array
    """The last change, in the units in which it is judged."""
    factors: Factors


def _aside(p: Any, trial: jax.Array) -> Any:
    """The data a unit of rounding aside. What large terms inside of the equations leave when they cancel is
    known as little as that; where x is zero, it does not show otherwise."""

    def moved(leaf: Any) -> Any:
        leaf = jnp.asarray(leaf)
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            return leaf
        spread = (jnp.arange(1.0, leaf.size + 1.0) * (trial + 1.0) * GOLDEN) % 1.0
        signs = jnp.where(spread < 0.5, 1.0, -1.0).reshape(leaf.shape)
        return leaf * (1.0 + 2.0 * jnp.finfo(leaf.dtype).eps * signs)

    return jax.tree.map(moved, p)


def rows_of_mode(problem: Problem, t: Any, x: Any, xdot: Any, p: Any) -> Any:
    """p with flags of the rows in which derivatives have coefficients now.

    One derivative along a direction in which no two terms cancel tells.
    """
    events = problem.events
    assert events is not None
    along = 1.0 + jnp.sqrt(jnp.arange(1.0, problem.size + 1.0)) % 1.0
    _, change = jax.jvp(lambda slope: problem.residual(t, x, slope, p), (jnp.asarray(xdot),), (along,))
    return events.with_row_flags(p, jnp.asarray(problem.row_flags) & (change != 0.0))

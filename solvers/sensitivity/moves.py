"""Tangents of a step, of a row of output and of a start: linear maps, given where the run has been.

A step of size h and order k ends at the point (t, x, xdot), which is the root of

    0 = F(t, x, xdot, p),       x = x_pred + d,   xdot = xdot_pred + d / c.

Its tangent is one solve with the matrix at that point: of the scaled equations,

    M dd = -S (F_x dx_pred + F_xdot dxdot_pred + F_p dp),

and everything else is linear in the table of differences. Tangents are linear in what they are given
last, and made of operations that JAX transposes: backward is `jax.linear_transpose` of the same map, so
that both agree to rounding. JAX differentiates them once more by the points where they are taken, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..linear.linear_solve import linear_solve
from ..matrix.jacobian import C_ZERO, fd_rows, matrix_product, matrix_values
from ..method.coefficients import ADVANCE, DIFFERENCES
from ..method.context import Method, Tables
from ..method.polynomial import interpolate, predict, rescale
from .leaves import Leaves

SLOPE_CORRECTIONS = 3
"""Corrections with a fixed matrix: each makes one more order of derivatives exact."""
IMPULSE_CORRECTIONS = 16
"""The same for impulses, whose matrix is only nearly the right one."""


class Point(NamedTuple):
    """Where derivatives are taken."""

    t: Any
    x: Any
    xdot: Any


class Made(NamedTuple):
    """A step: its size, that of the one before it, and its order."""

    h: Any
    h_before: Any
    order: Any


class Equations(NamedTuple):
    """The equations with their parameters taken apart, and what solves linear systems."""

    method: Method
    tables: Tables
    leaves: Leaves

    def residual(self, t: Any, x: Any, xdot: Any, moving: Any) -> Any:
        return self.method.problem.residual(t, x, xdot, self.leaves.join(moving))

    @property
    def p(self) -> Any:
        return self.leaves.join(self.leaves.moving)

    @property
    def is_fd(self) -> Any:
        return fd_rows(self.method.problem, self.p)

    def factors(self, at: Point, c: Any, old: Any) -> Any:
        """Of the matrix at a point."""
        method, tables = self.method, self.tables
        values = matrix_values(method.problem, method.directions, tables.gather, *at, self.p, c)
        return method.solver.factor(tables.solver, jax.lax.stop_gradient(values), old)

    def solve_fixed(self, factors: Any, b: Any) -> Any:
        """M^-1 b for a matrix that does not depend on anything."""
        return linear_solve(self.method.solver, factors, b, tables=self.tables.solver)

    def solve(self, factors: Any, at: Point, c: Any, b: Any) -> Any:
        """M^-1 b, with rules for every transformation."""

        def product(z: Any) -> Any:
            return matrix_product(self.method.problem, *at, self.p, c, z)

        return linear_solve(self.method.solver, factors, b, tables=self.tables.solver, product=product)


def tangent_of_step(
    eq: Equations, factors: Any, at: Point, made: Made, table: Any, dp: Any
) -> tuple[Any, Any]:
    """The tangent of the table after a step, from that before it at the distance of the step before; and
    that of xdot where it ends."""
    c = step_constant(eq, made)
    # Most steps are as long as the one before. Passing over the whole table is what a step costs.
    table = jax.lax.cond(
        made.h == made.h_before,
        lambda table: table,
        lambda table: rescale(table, made.h / made.h_before, made.order),
        table,
    )
    predicted = predict(table, made.order, made.h)
    is_fd, (t, x, xdot) = eq.is_fd, at

    def scaled(x: Any, xdot: Any, moving: Any) -> Any:
        residual = eq.residual(t, x, xdot, moving)
        return jnp.where(is_fd, c * residual, residual)

    _, right = jax.jvp(scaled, (x, xdot, eq.leaves.moving), (predicted.x, predicted.xdot, dp))
    d = -eq.solve(factors, at, c, right)
    advance = jnp.asarray(ADVANCE)[made.order]
    return advance[:, :-1] @ table + advance[:, -1:] * d, predicted.xdot + d / c


def step_constant(eq: Equations, made: Made) -> Any:
    """c = h / alpha."""
    return made.h / jnp.asarray(eq.method.formula.leading)[made.order]


def first_table(h: Any, dx: Any, dxdot: Any) -> Any:
    """The tangent of the table at a start with a step of size h."""
    return jnp.zeros((DIFFERENCES, len(dx))).at[0].set(dx).at[1].set(h * dxdot)


Values = Callable[[Any, Any, Any, Any], Any]
"""What a user wants of a point: values(t, x, xdot, p) -> vector."""


def tangent_of_row(
    eq: Equations, factors: Any, at: Point, end: Any, made: Made, is_consistent: bool, table: Any, dp: Any
) -> tuple[Any, Any]:
    """The tangents of x and xdot at a point within the step that ends at `end`; with factors of the matrix
    for c = 0 where the point was made consistent."""
    dx, dxdot = interpolate(table, made.order, made.h, at.t - end)
    if is_consistent:
        dx = consistent_x(eq, factors, at, dx, dp)
        dxdot = consistent_xdot(eq, factors, at, dx, dp)
    return dx, dxdot


def tangent_of_values(eq: Equations, values: Values, at: Point, dx: Any, dxdot: Any, dp: Any) -> Any:
    def of(x: Any, xdot: Any, moving: Any) -> Any:
        return values(at.t, x, xdot, eq.leaves.join(moving))

    return jax.jvp(of, (at.x, at.xdot, eq.leaves.moving), (dx, dxdot, dp))[1]


def consistent_x(eq: Equations, factors: Any, at: Point, dx: Any, dp: Any) -> Any:
    """The tangent of x on the constraints, without an impulse: Md (dx_new - dx) = 0, dfc = 0."""
    t, x, xdot = at
    _, of_fd = jax.jvp(lambda xdot: eq.residual(t, x, xdot, eq.leaves.moving), (xdot,), (dx,))
    _, of_fc = jax.jvp(lambda moving: eq.residual(t, x, xdot, moving), (eq.leaves.moving,), (dp,))
    return eq.solve(factors, at, jnp.asarray(C_ZERO), jnp.where(eq.is_fd, of_fd, -of_fc))


def consistent_xdot(eq: Equations, factors: Any, at: Point, dx: Any, dp: Any) -> Any:
    """The tangent of the xdot that fd and the derivative of fc determine."""
    t, x, xdot = at
    _, right = jax.jvp(
        lambda x, moving: slope_rows(eq, t, x, xdot, moving), (x, eq.leaves.moving), (dx, dp)
    )
    return -eq.solve(factors, at, jnp.asarray(C_ZERO), right)


def slope_rows(eq: Equations, t: Any, x: Any, xdot: Any, moving: Any) -> Any:
    """Zero where xdot fits x: fd, and the derivative of fc by time."""
    t = jnp.asarray(t, float)
    value, rate = jax.jvp(lambda t, x: eq.residual(t, x, xdot, moving), (t, x), (jnp.ones_like(t), xdot))
    return jnp.where(eq.is_fd, value, rate)


# Single points. Functions with the right derivatives at a point where the values are known: Newton's
# iteration with the matrix at that point makes one order of derivatives more exact each time.


def rebased(value: Any, base: Any) -> Any:
    """The known value, with the derivatives of the one that was computed."""
    return jax.tree.map(lambda own, known: known + (own - jax.lax.stop_gradient(own)), value, base)


def slope(eq: Equations, factors: Any, at: Point, t: Any, x: Any, moving: Any) -> Any:
    """The xdot that fits (t, x, moving), near the point `at`."""

    def improve(xdot: Any, _: Any) -> tuple[Any, None]:
        return xdot - eq.solve_fixed(factors, slope_rows(eq, t, x, xdot, moving)), None

    found, _ = jax.lax.scan(improve, at.xdot, None, length=SLOPE_CORRECTIONS)
    return rebased(found, at.xdot)


def impulse_rows(eq: Equations, t: Any, x: Any, xdot: Any, x_left: Any, moving: Any) -> Any:
    """Zero behind an impulse: Md(x) (x - x_left) = 0, fc(x) = 0."""
    value, moved = jax.jvp(lambda xdot: eq.residual(t, x, xdot, moving), (xdot,), (x - x_left,))
    return jnp.where(eq.is_fd, moved, value)


def after_impulse(eq: Equations, factors: Any, at: Point, t: Any, x_left: Any, moving: Any) -> Any:
    """The x that follows from x_left by the impulse equations, near the point `at` behind them."""

    def improve(x: Any, _: Any) -> tuple[Any, None]:
        return x - eq.solve_fixed(factors, impulse_rows(eq, t, x, at.xdot, x_left, moving)), None

    found, _ = jax.lax.scan(improve, at.x, None, length=IMPULSE_CORRECTIONS)
    return rebased(found, at.x)


def impulse_error(eq: Equations, factors: Any, at: Point, x_left: Any) -> Any:
    """What is left of an error after the corrections of `after_impulse`: Md may depend on x, which the
    matrix at hand does not know."""

    def rows(x: Any) -> Any:
        return impulse_rows(eq, at.t, x, at.xdot, x_left, eq.leaves.moving)

    def improve(z: Any, _: Any) -> tuple[Any, None]:
        return z - eq.solve_fixed(factors, jax.jvp(rows, (at.x,), (z,))[1]), None

    probe = 1.0 + 0.5 * jnp.cos(jnp.arange(len(at.x)))
    left, _ = jax.lax.scan(improve, probe, None, length=IMPULSE_CORRECTIONS)
    return jnp.max(jnp.abs(left))

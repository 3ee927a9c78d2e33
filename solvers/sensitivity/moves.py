"""Tangents of a step, of a row of output and of a start: linear maps, given where the run has been.

A step of size h and order k ends at the point (t, x, xdot), which is the root of

    0 = F(t, x, xdot, p),       x = x_pred + d,   xdot = xdot_pred + d / c.

Its tangent is one solve with the matrix at that point: of the scaled equations,

    M dd = -S (F_x dx_pred + F_xdot dxdot_pred + F_p dp),

and everything else is linear in the table of differences. All functions here are linear in what they are
given last, and made of operations that JAX transposes: backward is `jax.linear_transpose` of the same map,
so that both agree to rounding.
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

REFINEMENTS = 8
"""Corrections of a solve with a matrix that is only nearly the right one."""


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

    def solve(self, factors: Any, at: Point, c: Any, b: Any) -> Any:
        """M^-1 b, with rules for every transformation."""

        def product(z: Any) -> Any:
            return matrix_product(self.method.problem, *at, self.p, c, z)

        return linear_solve(self.method.solver, factors, b, tables=self.tables.solver, product=product)


def tangent_of_step(eq: Equations, factors: Any, at: Point, made: Made, table: Any, dp: Any) -> Any:
    """The tangent of the table after a step, from that before it at the distance of the step before."""
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
    return advance[:, :-1] @ table + advance[:, -1:] * d


def step_constant(eq: Equations, made: Made) -> Any:
    """c = h / alpha."""
    return made.h / jnp.asarray(eq.method.formula.leading)[made.order]


def first_table(h: Any, dx: Any, dxdot: Any) -> Any:
    """The tangent of the table at a start with a step of size h."""
    return jnp.zeros((DIFFERENCES, len(dx))).at[0].set(dx).at[1].set(h * dxdot)


Values = Callable[[Any, Any, Any, Any], Any]
"""What a user wants of a point: values(t, x, xdot, p) -> vector."""


def tangent_of_output(
    eq: Equations,
    values: Values,
    factors: Any,
    at: Point,
    end: Any,
    made: Made,
    is_consistent: bool,
    table: Any,
    dp: Any,
) -> Any:
    """The tangent of values at a point within the step that ends at `end`; with factors of the matrix for
    c = 0 where the point was made consistent."""
    dx, dxdot = interpolate(table, made.order, made.h, at.t - end)
    if is_consistent:
        dx = consistent_x(eq, factors, at, dx, dp)
        dxdot = consistent_xdot(eq, factors, at, dx, dp)
    return tangent_of_values(eq, values, at, dx, dxdot, dp)


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


def consistent_xdot(eq: Equations, factors: Any, at: Point, dx: Any, dp: Any, dt: Any = 0.0) -> Any:
    """The tangent of the xdot that fd and the derivative of fc determine, if time moves by dt."""
    t, x, xdot = at
    is_fd, dt = eq.is_fd, jnp.asarray(dt, float)

    def rows(t: Any, x: Any, moving: Any) -> Any:
        value, rate = jax.jvp(
            lambda t, x: eq.residual(t, x, xdot, moving), (t, x), (jnp.ones_like(t), xdot)
        )
        return jnp.where(is_fd, value, rate)

    _, right = jax.jvp(rows, (jnp.asarray(t, float), x, eq.leaves.moving), (dt, dx, dp))
    return -eq.solve(factors, at, jnp.asarray(C_ZERO), right)


def tangent_of_impulse(
    eq: Equations, factors: Any, at: Point, x_left: Any, dx_left: Any, dp: Any, dt: Any = 0.0
) -> Any:
    """The tangent of x after the impulse equations Md(x) (x - x_left) = 0, fc(x) = 0, if time moves by dt.

    Md may depend on x, which the matrix at hand does not know: the solve is corrected some times.
    """
    t, x, xdot = at
    is_fd, t, dt = eq.is_fd, jnp.asarray(t, float), jnp.asarray(dt, float)

    def rows(t: Any, x: Any, x_left: Any, moving: Any) -> Any:
        value, moved = jax.jvp(lambda xdot: eq.residual(t, x, xdot, moving), (xdot,), (x - x_left,))
        return jnp.where(is_fd, moved, value)

    _, right = jax.jvp(
        lambda t, x_left, moving: rows(t, x, x_left, moving),
        (t, x_left, eq.leaves.moving),
        (dt, dx_left, dp),
    )

    def product(z: Any) -> Any:
        return jax.jvp(lambda x: rows(t, x, x_left, eq.leaves.moving), (x,), (z,))[1]

    def improve(z: Any, _: Any) -> tuple[Any, None]:
        return z - eq.solve(factors, at, jnp.asarray(C_ZERO), product(z) + right), None

    return jax.lax.scan(improve, jnp.zeros_like(x), None, length=REFINEMENTS)[0]

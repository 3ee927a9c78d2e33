"""Recorded steps, made again without deciding anything: what derivatives of a run are derivatives of.

A record is the sequence of accepted steps: where each ends, its size and its order, whether the past was
forgotten before it, and the order with which output is interpolated after it. Made again, the corrector
goes on until rounding ends it, so that x at the end of a step is the root of

    0 = F(t, x, xdot, p),       x = x_pred + d,   xdot = xdot_pred + d / c,

and its derivative that of a root: one solve with the matrix at the converged point. Everything else is
linear in the table. No derivative flows through decisions, step sizes, error norms or the matrices of the
corrector.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..linear.linear_solve import linear_solve
from ..matrix.jacobian import fd_rows, matrix_product, matrix_values
from .coefficients import ADVANCE, DIFFERENCES
from .context import Context
from .polynomial import Prediction, interpolate, predict, rescale

ITERATIONS = 12
CONVERGED = 4.0
"""Changes of so many units of rounding end the iteration."""


class Record(NamedTuple):
    """The accepted steps of a run; rows from `count` on mean nothing."""

    t: jax.Array
    h: jax.Array
    order: jax.Array
    order_after: jax.Array
    forgotten: jax.Array
    count: Any


def empty_record(capacity: int) -> Record:
    zeros, integers = jnp.zeros(capacity), jnp.ones(capacity, jnp.int32)
    return Record(zeros, zeros, integers, integers, zeros > 0, jnp.zeros((), jnp.int32))


def replay(
    context: Context, record: Record, t0: Any, times: jax.Array, x0: jax.Array, xdot0: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """x and xdot at the wanted times; zero where no step has come to. Differentiable forward, and backward
    if `record.count` is a number of Python."""
    record = jax.lax.stop_gradient(record._replace(count=0))._replace(count=record.count)
    times, t0 = jax.lax.stop_gradient(times), jax.lax.stop_gradient(t0)
    at_start = (times == t0)[:, None]
    rows = jnp.where(at_start, x0, 0.0), jnp.where(at_start, xdot0, 0.0)
    table = jnp.zeros((DIFFERENCES, len(x0))).at[0].set(x0).at[1].set(record.h[0] * xdot0)

    def body(k: Any, carry: Any) -> Any:
        table, xdot, t, h, (xs, slopes) = carry
        t_new, h_new, order = record.t[k], record.h[k], record.order[k]
        table, xdot = replay_step(context, table, xdot, h, t_new, h_new, order, record.forgotten[k])

        def at(time: jax.Array) -> tuple[jax.Array, jax.Array]:
            x, slope = interpolate(table, record.order_after[k], h_new, time - t_new)
            here = time == t_new
            return jnp.where(here, table[0], x), jnp.where(here, xdot, slope)

        inside = ((times > t) & (times <= t_new))[:, None]
        new_xs, new_slopes = jax.vmap(at)(times)
        rows = jnp.where(inside, new_xs, xs), jnp.where(inside, new_slopes, slopes)
        return table, xdot, t_new, h_new, rows

    first = table, xdot0, jnp.asarray(t0, float), record.h[0], rows
    return jax.lax.fori_loop(0, record.count, body, first)[-1]


def replay_step(
    context: Context,
    table: jax.Array,
    xdot: jax.Array,
    h_before: jax.Array,
    t: jax.Array,
    h: jax.Array,
    order: jax.Array,
    forgotten: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """The table at the distances h_before, and xdot, after the step of size h and given order that ends at
    t."""
    rescaled = rescale(table, h / h_before, order)
    fresh = jnp.zeros_like(table).at[0].set(table[0]).at[1].set(h * xdot)
    table = jnp.where(forgotten, fresh, jnp.where(h == h_before, table, rescaled))
    prediction = predict(table, order, h)
    c = h / jnp.asarray(context.formula.leading)[order]
    d = _converged(context, t, prediction, c)
    advanced = jnp.asarray(ADVANCE)[order] @ jnp.concatenate([table, d[None]])
    return advanced, prediction.xdot + d / c


def _converged(context: Context, t: jax.Array, prediction: Prediction, c: jax.Array) -> jax.Array:
    """The correction d of a step, as a function of the prediction and the parameters."""
    (problem, solver, directions, *_), tables, _, _ = context

    # All that is traced is an argument: what JAX differentiates later may not refer to a loop around.
    def scaled(d: Any, t: Any, c: Any, x: Any, xdot: Any, p: Any) -> jax.Array:
        residual = problem.residual(t, x + d, xdot + d / c, p)
        return jnp.where(fd_rows(problem, p), c * residual, residual)

    def factors_at(d: Any, t: Any, c: Any, x: Any, xdot: Any, p: Any) -> Any:
        values = matrix_values(problem, directions, tables.gather, t, x + d, xdot + d / c, p, c)
        return solver.factor(tables.solver, jax.lax.stop_gradient(values), solver.no_factors)

    @jax.custom_jvp
    def root(t: Any, c: Any, x: Any, xdot: Any, p: Any) -> jax.Array:
        given, eps = (t, c, x, xdot, p), jnp.finfo(x.dtype).eps

        def improve(carry: tuple[Any, ...]) -> tuple[Any, ...]:
            d, _, k = carry
            right = -scaled(d, *given)
            change = linear_solve(solver, factors_at(d, *given), right, tables=tables.solver)
            settled = jnp.all(jnp.abs(change) <= CONVERGED * eps * (jnp.abs(x) + jnp.abs(d)))
            return d + change, settled, k + 1

        def unsettled(carry: tuple[Any, ...]) -> jax.Array:
            return ~carry[1] & (carry[2] < ITERATIONS)

        first = jnp.zeros_like(x), jnp.zeros((), bool), jnp.zeros((), jnp.int32)
        return jax.lax.while_loop(unsettled, improve, first)[0]

    @root.defjvp
    def of_root(primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
        d, (t, c, x, xdot, p) = root(*primals), primals
        _, right = jax.jvp(lambda *given: scaled(d, *given), primals, tangents)

        def product(z: jax.Array) -> jax.Array:
            return matrix_product(problem, t, x + d, xdot + d / c, p, c, z)

        factors = factors_at(d, *primals)
        return d, -linear_solve(solver, factors, right, tables=tables.solver, product=product)

    return root(t, c, prediction.x, prediction.xdot, context.p)

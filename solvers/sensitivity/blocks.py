"""Tangents and gradients through many steps at once, in compiled loops.

A block is a part of a run without a start in it: so many steps, and the rows of output within them. All
blocks of a problem have the same sizes, so that one program does for runs of any length.

    forward     (table, dp) -> (table after, tangents of the rows)         for many directions at once
    backward    gradients by (table after, rows) -> those by (table, p)    in reverse order
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..matrix.jacobian import C_ZERO
from ..method.context import Method, Tables
from .leaves import Leaves
from .moves import (
    Equations,
    Made,
    Point,
    Values,
    step_constant,
    tangent_of_output,
    tangent_of_step,
)

BLOCK_BYTES = 8e6
MOST_STEPS, FEWEST_STEPS = 256, 8
"""Steps in a block: fewer for long vectors, so that a block takes about so many bytes."""


class Steps(NamedTuple):
    """Rows of arrays, of which the first `count` mean something."""

    count: Any
    at: Point
    made: Made


class Rows(NamedTuple):
    """Rows of output within the steps of a block, in order, and in which step each is."""

    count: Any
    at: Point
    step: Any


class Sweeps(NamedTuple):
    """The compiled functions for one problem and one choice of outputs."""

    forward: Callable[..., Any]
    backward: Callable[..., Any]
    block: int
    """How many steps, and how many rows, are a block."""


def block_size(size: int) -> int:
    """Steps in a block of a problem of this size."""
    return int(np.clip(BLOCK_BYTES // (16 * size), FEWEST_STEPS, MOST_STEPS))


def make_sweeps(
    method: Method, leaves: Leaves, values: Values, is_consistent: bool, jit: Callable[..., Any]
) -> Sweeps:
    """Compile for a problem, for parameters that come apart like these, and for what is wanted of each row
    (`values`); rows are on the constraints if `is_consistent`."""

    def equations(tables: Tables, moving: Any, others: Any) -> Equations:
        own = Leaves(moving, others, leaves.is_moving, leaves.tree)
        return Equations(method, tables, own)

    def step_map(eq: Equations, steps: Steps, k: Any, old: Any) -> tuple[Any, Callable[..., Any]]:
        at, made = _row(steps.at, k), _row(steps.made, k)
        factors = eq.factors(at, step_constant(eq, made), old)
        return factors, lambda table, dp: tangent_of_step(eq, factors, at, made, table, dp)

    def row_map(
        eq: Equations, steps: Steps, rows: Rows, j: Any, old: Any
    ) -> tuple[Any, Callable[..., Any]]:
        at, k = _row(rows.at, j), rows.step[j]
        end, made = steps.at.t[k], _row(steps.made, k)
        factors = eq.factors(at, jnp.asarray(C_ZERO), old) if is_consistent else old
        return factors, lambda table, dp: tangent_of_output(
            eq, values, factors, at, end, made, is_consistent, table, dp
        )

    def forward(
        tables: Tables, moving: Any, others: Any, steps: Steps, rows: Rows, old: Any, table: Any, dp: Any
    ) -> tuple[Any, Any]:
        """Tangents of the table after the block, and of its rows; with an axis of directions in front."""
        eq = equations(tables, moving, others)
        wanted = jax.eval_shape(row_map(eq, steps, rows, 0, old)[1], table[0], jax.tree.map(_first, dp))
        found = jnp.zeros((len(rows.step), len(table), *wanted.shape))

        def body(k: Any, carry: Any) -> Any:
            table, old, j, found = carry
            old, push = step_map(eq, steps, k, old)
            table = jax.vmap(push)(table, dp)

            def is_left(inner: Any) -> Any:
                j = inner[1]
                return (j < rows.count) & (rows.step[jnp.minimum(j, len(rows.step) - 1)] == k)

            def write(inner: Any) -> Any:
                old, j, found = inner
                old, push = row_map(eq, steps, rows, j, old)
                return old, j + 1, found.at[j].set(jax.vmap(push)(table, dp))

            old, j, found = jax.lax.while_loop(is_left, write, (old, j, found))
            return table, old, j, found

        first = table, old, jnp.zeros((), jnp.int32), found
        table, _, _, found = jax.lax.fori_loop(0, steps.count, body, first)
        return table, found

    def backward(
        tables: Tables, moving: Any, others: Any, steps: Steps, rows: Rows, old: Any, table: Any,
        of_rows: Any, gradient: Any,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Gradients by the table before the block and, added to what is there, by p."""
        eq = equations(tables, moving, others)

        def body(number: Any, carry: Any) -> Any:
            table, old, j, gradient = carry
            k = steps.count - 1 - number

            def is_left(inner: Any) -> Any:
                j = inner[2]
                return (j >= 0) & (rows.step[jnp.maximum(j, 0)] == k)

            def add(inner: Any) -> Any:
                table, old, j, gradient = inner
                old, push = row_map(eq, steps, rows, j, old)
                by_table, by_p = jax.linear_transpose(push, table, gradient)(of_rows[j])
                return table + by_table, old, j - 1, _sum(gradient, by_p)

            table, old, j, gradient = jax.lax.while_loop(is_left, add, (table, old, j, gradient))
            old, push = step_map(eq, steps, k, old)
            table, by_p = jax.linear_transpose(push, table, gradient)(table)
            return table, old, j, _sum(gradient, by_p)

        first = table, old, jnp.asarray(rows.count - 1, jnp.int32), gradient
        table, _, _, gradient = jax.lax.fori_loop(0, steps.count, body, first)
        return table, gradient

    return Sweeps(jit(forward), jit(backward), block_size(method.problem.size))


def _row(rows: Any, k: Any) -> Any:
    return jax.tree.map(lambda part: part[k], rows)


def _first(part: Any) -> Any:
    return part[0]


def _sum(one: Any, other: Any) -> Any:
    return jax.tree.map(jnp.add, one, other)

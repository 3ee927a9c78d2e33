"""Tangents and gradients through many steps at once, in compiled loops.

A block is a part of a run without a start in it: so many steps, and the rows of output within them. All
blocks of a problem have the same sizes, so that one program does for runs of any length.

    forward     (table, dp) -> (table after, tangents of the rows)         for many directions at once
    trace       the same for one direction, with the tangents of all points
    backward    gradients by (table after, rows) -> those by (table, p)    in reverse order, for many

Each is a function of constants and of variables, and comes with its derivative by the variables: that is
what second derivatives are made of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..method.coefficients import ADVANCE
from ..method.context import Method
from .leaves import Leaves
from .lifted import Lifted
from .moves import (
    Equations,
    Made,
    Point,
    Values,
    tangent_of_row,
    tangent_of_values,
)
from .steps import Factors, StepMaps

BLOCK_BYTES = 8e6
MOST_STEPS, FEWEST_STEPS = 256, 8
"""Steps in a block: fewer for long vectors, so that a block takes about so many bytes."""


class Steps(NamedTuple):
    """Where steps end and how they were made; the first `count` mean something."""

    count: Any
    t: Any
    made: Made


class Rows(NamedTuple):
    """Rows of output within the steps of a block, in order, and in which step each is."""

    count: Any
    t: Any
    step: Any


class Constants(NamedTuple):
    """What a block is not differentiated by."""

    tables: Any
    others: Any
    steps: Steps
    rows: Rows
    step_tables: Any
    """Of a linear solver that only steps have."""
    factors: Factors
    """Of any matrices: linear solvers may use their pivots, and their memory."""


class Place(NamedTuple):
    """What the linear maps of a block depend on."""

    moving: Any
    steps: tuple[Any, Any]
    """x and xdot at the points of steps,"""
    rows: tuple[Any, Any]
    """and at the rows."""


class Sweeps(NamedTuple):
    """The compiled functions for one problem and one choice of outputs."""

    forward: Lifted
    judge: Lifted
    trace: Lifted
    backward: Lifted
    block: int
    """How many steps, and how many rows, are a block."""


def block_size(size: int) -> int:
    """Steps in a block of a problem of this size."""
    return int(np.clip(BLOCK_BYTES // (16 * size), FEWEST_STEPS, MOST_STEPS))


def make_sweeps(
    method: Method,
    maps: StepMaps,
    leaves: Leaves,
    values: Values,
    is_consistent: bool,
    jit: Callable[..., Any],
) -> Sweeps:
    """Compile for a problem and steps of one kind, for parameters that come apart like these, and for what
    is wanted of each row (`values`); rows are on the constraints if `is_consistent`."""

    def equations(known: Constants, place: Place) -> Equations:
        own = Leaves(place.moving, known.others, leaves.is_moving, leaves.tree)
        return Equations(method, known.tables, own)

    def step_map(known: Constants, place: Place, k: Any, old: Any) -> tuple[Any, Callable[..., Any]]:
        eq = equations(known, place)
        at, made = Point(known.steps.t[k], *_row(place.steps, k)), _row(known.steps.made, k)
        tables = known.step_tables
        factors = maps.factors_of_step(eq, tables, at, made, old)
        return factors, lambda table, dp: maps.tangent(eq, tables, factors, at, made, table, dp)

    def row_map(
        known: Constants, place: Place, j: Any, old: Any
    ) -> tuple[Any, Callable[..., Any], Callable[..., Any]]:
        eq = equations(known, place)
        at, k = Point(known.rows.t[j], *_row(place.rows, j)), known.rows.step[j]
        end, made = known.steps.t[k], _row(known.steps.made, k)
        factors = maps.factors_of_row(eq, at, old) if is_consistent else old

        def point(table: Any, dp: Any) -> Any:
            return tangent_of_row(eq, factors.of_rows, at, end, made, is_consistent, table, dp)

        def wanted(table: Any, dp: Any) -> Any:
            dx, dxdot = point(table, dp)
            return tangent_of_values(eq, values, at, dx, dxdot, dp)

        return factors, point, wanted

    def ahead(
        known: Constants, place: Place, table: Any, dp: Any, of_row: Any, see_step: Any, seen: Any
    ) -> Any:
        """Go through steps and rows: what is found of each row, and what is seen at each step."""
        rows = known.rows
        room = len(rows.step)

        def body(k: Any, carry: Any) -> Any:
            table, old, j, found, seen = carry
            old, push = step_map(known, place, k, old)
            table, seen = see_step(push, k, table, seen)

            def is_left(inner: Any) -> Any:
                j = inner[1]
                return (j < rows.count) & (rows.step[jnp.minimum(j, room - 1)] == k)

            def write(inner: Any) -> Any:
                old, j, found = inner
                old, point, wanted = row_map(known, place, j, old)
                new = of_row(point, wanted, table)
                return old, j + 1, jax.tree.map(lambda all_rows, own: all_rows.at[j].set(own), found, new)

            old, j, found = jax.lax.while_loop(is_left, write, (old, j, found))
            return table, old, j, found, seen

        shapes = jax.eval_shape(
            lambda table: of_row(*row_map(known, place, 0, known.factors)[1:], table), table
        )
        found = jax.tree.map(lambda own: jnp.zeros((room, *own.shape)), shapes)
        first = table, known.factors, jnp.zeros((), jnp.int32), found, seen
        table, _, _, found, seen = jax.lax.fori_loop(0, known.steps.count, body, first)
        return table, found, seen

    def forward(known: Constants, place: Place, table: Any, dp: Any) -> tuple[Any, Any]:
        """Tangents of the table after the block, and of its rows; with an axis of directions in front."""

        def see_step(push: Any, k: Any, table: Any, seen: Any) -> Any:
            return jax.vmap(lambda *each: push(*each)[0])(table, dp), seen

        def of_row(point: Any, wanted: Any, table: Any) -> Any:
            return jax.vmap(wanted)(table, dp)

        return ahead(known, place, table, dp, of_row, see_step, ())[:2]

    def judge(known: Constants, place: Place, table: Any, dp: Any) -> tuple[Any, Any]:
        """For a tangent, and for the error that its steps have made so far: a pair in front. Steps of a
        multistep method: their errors are proportional to their corrections, which are differences."""
        constants = jnp.asarray(method.formula.error_constants)
        (first, second) = (jax.tree.map(lambda part, k=k: part[k], dp) for k in (0, 1))

        def see_step(push: Any, k: Any, table: Any, seen: Any) -> Any:
            order = known.steps.made.order[k]
            own, error = push(table[0], first)[0], push(table[1], second)[0]
            made = constants[order] * own[order + 1]
            return jnp.stack([own, error + jnp.asarray(ADVANCE)[order][:, -1:] * made]), seen

        def of_row(point: Any, wanted: Any, table: Any) -> Any:
            return jax.vmap(wanted)(table, dp)

        return ahead(known, place, table, dp, of_row, see_step, ())[:2]

    def trace(known: Constants, place: Place, table: Any, dp: Any) -> tuple[Any, Any, Any]:
        """The same for one direction: tangents of the table, of x and xdot at steps, and at rows."""

        def see_step(push: Any, k: Any, table: Any, seen: Any) -> Any:
            table, points = push(table, dp)
            return table, tuple(own.at[k].set(new) for own, new in zip(seen, points, strict=True))

        def of_row(point: Any, wanted: Any, table: Any) -> Any:
            return point(table, dp)

        nothing = tuple(jnp.zeros_like(part) for part in place.steps)
        table, rows, steps = ahead(known, place, table, dp, of_row, see_step, nothing)
        return table, steps, rows

    def backward(
        known: Constants, place: Place, table: Any, of_rows: Any, gradient: Any
    ) -> tuple[Any, Any]:
        """Gradients by the table before the block and, added to what is there, by p; with an axis of
        gradients in front."""
        rows = known.rows

        def pull(push: Any, old: Any, like: Any, gradient: Any) -> Any:
            back = jax.linear_transpose(push, like[0], _first_of(gradient))
            return jax.vmap(back)(old)

        def body(number: Any, carry: Any) -> Any:
            table, old, j, gradient = carry
            k = known.steps.count - 1 - number

            def is_left(inner: Any) -> Any:
                j = inner[2]
                return (j >= 0) & (rows.step[jnp.maximum(j, 0)] == k)

            def add(inner: Any) -> Any:
                table, old, j, gradient = inner
                old, _, wanted = row_map(known, place, j, old)
                by_table, by_p = pull(wanted, of_rows[:, j], table, gradient)
                return table + by_table, old, j - 1, _sum(gradient, by_p)

            table, old, j, gradient = jax.lax.while_loop(is_left, add, (table, old, j, gradient))
            old, push = step_map(known, place, k, old)
            table, by_p = pull(lambda *each: push(*each)[0], table, table, gradient)
            return table, old, j, _sum(gradient, by_p)

        first = table, known.factors, jnp.asarray(rows.count - 1, jnp.int32), gradient
        table, _, _, gradient = jax.lax.fori_loop(0, known.steps.count, body, first)
        return table, gradient

    return Sweeps(
        Lifted(forward, jit), Lifted(judge, jit), Lifted(trace, jit), Lifted(backward, jit),
        block_size(maps.stages * method.problem.size),
    )  # fmt: skip


def _row(rows: Any, k: Any) -> Any:
    return jax.tree.map(lambda part: part[k], rows)


def _first_of(tree: Any) -> Any:
    return jax.tree.map(lambda part: part[0], tree)


def _sum(one: Any, other: Any) -> Any:
    return jax.tree.map(jnp.add, one, other)

"""The small matrices of an attempt: for each block the derivative of its rows by its tear variables.

Unknowns that follow by formulas are followed: with the fd rows scaled by c, this is what elimination leaves
of the scaled iteration matrix. Blocks of a stage do not need each other, so that one direction serves all
of them at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..inlined_contract import Inlined, Stage
from ..linear.contract import GOOD_ENOUGH
from ..linear.dense import DenseFactors, DenseSolver
from ..matrix.jacobian import Pattern, fd_rows
from ..method.polynomial import Prediction
from ..problem import Problem

SMALLEST_PIVOT = 1e-10
"""Of a formula, compared with the coefficients of its equation: below, too many digits are lost."""


class Torn(NamedTuple):
    """What belongs to the tear variables, and travels through the loop."""

    factors: tuple[DenseFactors, ...]
    """Of the matrices of each stage, with an axis for its blocks."""
    c: Any
    good: Any
    """Whether these, and what the formulas divide by, can be relied on."""


def nothing_torn(inlined: Inlined) -> Torn:
    """Stands for the matrices before there are any."""
    found = []
    for stage in inlined.stages:
        b, k = stage.tears.shape
        rows = jnp.zeros((b, k), jnp.int32)
        found.append(DenseFactors(jnp.zeros((b, k, k)), jnp.zeros((b, k)), rows))
    return Torn(tuple(found), jnp.ones(()), jnp.zeros((), bool))


def new_torn(
    problem: Problem, inlined: Inlined, t: jax.Array, at: Prediction, c: jax.Array, p: Any
) -> Torn:
    """The matrices at predicted values."""
    good, found = jnp.ones((), bool), []
    for stage in inlined.stages:
        good &= stage.smallest_pivot(t, at.x, at.xdot, p, c) >= SMALLEST_PIVOT
        matrices = _stage_matrices(problem, stage, t, at, c, p)
        factors = _factor(stage.iterated, matrices)
        good &= jnp.all(jnp.isfinite(matrices)) & _answers(factors, matrices)
        found.append(factors)
    return Torn(tuple(found), c, good)


def solve_small(factors: DenseFactors, right: jax.Array) -> jax.Array:
    """For each block, what its matrix makes into a right-hand side: rows of an array."""
    k = right.shape[1]
    if k == 1:
        return factors.scale * right / factors.lu[:, 0]
    solver = _solver(k)
    return jax.vmap(lambda own, b: solver.solve(None, own, b))(factors, right)


def scaled_rows(problem: Problem, stage: Stage, t: Any, x: Any, xdot: Any, p: Any, c: Any) -> jax.Array:
    """The rows of a stage that are iterated; those with derivatives times c."""
    found = stage.residual(t, x, xdot, p)
    is_fd = jnp.asarray(fd_rows(problem, p))[stage.rows.ravel()]
    return jnp.where(is_fd, c * found, found)


def _stage_matrices(problem: Problem, stage: Stage, t: Any, at: Prediction, c: Any, p: Any) -> jax.Array:
    b, k = stage.tears.shape
    if not k:
        return jnp.zeros((b, 0, 0))
    tears = stage.tears.ravel()

    def rows(z: jax.Array) -> jax.Array:
        x, xdot = at.x.at[tears].add(z), at.xdot.at[tears].add(z / c)
        if len(stage.solved):
            follow = stage.change(t, x, xdot, p, c)
            x, xdot = x.at[stage.solved].add(follow), xdot.at[stage.solved].add(follow / c)
        return scaled_rows(problem, stage, t, x, xdot, p, c)

    directions = np.broadcast_to(np.eye(k)[:, None, :], (k, b, k)).reshape(k, b * k)
    here = jnp.zeros(b * k)
    columns = jax.vmap(lambda z: jax.jvp(rows, (here,), (z,))[1])(jnp.asarray(directions))
    return columns.reshape(k, b, k).transpose(1, 2, 0)


def _factor(k: int, matrices: jax.Array) -> DenseFactors:
    if k <= 1:
        b = len(matrices)
        ones = jnp.ones((b, k))
        return DenseFactors(matrices, ones, jnp.zeros((b, k), jnp.int32))
    solver = _solver(k)
    flat = matrices.reshape(len(matrices), k * k)
    return jax.vmap(lambda values: solver.factor(_entries(k), values, None))(flat)


def _answers(factors: DenseFactors, matrices: jax.Array) -> jax.Array:
    """Whether the factors give back a known vector."""
    k = matrices.shape[1]
    if not k:
        return jnp.ones((), bool)
    known = jnp.asarray(1.0 - 2.0 * (np.arange(k) % 2))
    error = solve_small(factors, matrices @ known) / known - 1.0
    return jnp.max(jnp.abs(error)) <= GOOD_ENOUGH


def _entries(k: int) -> tuple[np.ndarray, np.ndarray]:
    return np.repeat(np.arange(k), k), np.tile(np.arange(k), k)


def _solver(k: int) -> DenseSolver:
    rows, columns = _entries(k)
    return DenseSolver(Pattern(k, rows, columns, np.arange(k)))

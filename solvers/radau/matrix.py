"""The two matrices of an attempt, for c = h/REAL and c = h/COMPLEX; scaled as those of the multistep method
(`matrix.jacobian`), so that they go to the regular matrix of the special form as h goes to zero.

Derivatives of the equations are taken at the beginning of the step, and kept while the iteration converges
fast; the matrices are factorized for each other step size.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..linear.stages import Pair, StageFactors, StageSolver
from ..matrix.jacobian import Gather, Parts, Probe, fd_rows, matrix_parts
from ..method.context import Context
from ..method.controller import LARGEST_AGE, UNKNOWN_RATE
from ..method.matrix_renewal import Matrix, NewMatrix, is_usable, judged_matrix
from ..method.polynomial import Prediction
from ..method.state import State
from ..problem import Problem
from .coefficients import COMPLEX, REAL


class StageMatrix(NamedTuple):
    both: Matrix
    """With the c of the real one; its age is that of the derivatives."""
    fresh: jax.Array
    """Whether derivatives were taken for this attempt."""


def stage_solver(context: Context) -> StageSolver:
    solver = context.method.solver
    assert isinstance(solver, StageSolver)
    return solver


def matrix_of_attempt(context: Context, state: State) -> StageMatrix:
    """The matrices at hand; others where they are for another step, or derivatives too old or too bad."""
    age, former_c, former = state.number("age"), state.number("matrix_c"), state.rounding
    c = state.number("h") / REAL
    fresh = state.number("outdated") | (age >= LARGEST_AGE)
    needed = fresh | (c != former_c)
    yes = jnp.ones((), bool)
    new = jax.lax.cond(
        needed,
        lambda factors: _new(context, state, factors, fresh),
        lambda factors: NewMatrix(factors, former, yes, yes),
        state.factors,
    )
    both = Matrix(
        factors=new.factors,
        c=c,
        age=jnp.where(fresh, 0, age),
        rate=jnp.where(needed, UNKNOWN_RATE, state.number("rate")),
        rounding=new.rounding,
        usable=new.usable,
        finite=new.finite,
        renewed=needed,
    )
    return StageMatrix(both, fresh)


def _new(context: Context, state: State, factors: StageFactors, fresh: jax.Array) -> NewMatrix:
    method, tables, _, p = context
    problem, gather, solver = method.problem, tables.gather, stage_solver(context)
    t, h = state.number("t"), state.number("h")

    def derivatives() -> Parts:
        return matrix_parts(problem, method.directions, gather, t, state.x, state.xdot, p)

    def those_at_hand() -> Parts:
        signs = 1.0 - 2.0 * (gather.colours % 2)
        of_entries = signs[gather.columns]
        products = (
            jax.ops.segment_sum(part * of_entries, gather.rows, problem.size, indices_are_sorted=True)
            for part in (factors.of_slopes, factors.of_values)
        )
        return Parts(factors.of_slopes, factors.of_values, *products)

    parts = jax.lax.cond(fresh, derivatives, those_at_hand)
    values, probes = matrix_pair(problem, gather, p, h, parts)
    factors = solver.factor_both(tables.solver, values, factors)
    usable = [
        is_usable(of, table, own, gather, entries, probe)
        for of, table, own, entries, probe in zip(
            (solver.real, solver.complex), tables.solver, factors[:2], values, probes, strict=True
        )
    ]
    at, c = Prediction(state.x, state.xdot), h / REAL
    factors = factors._replace(of_slopes=parts.of_slopes, of_values=parts.of_values)
    return judged_matrix(
        context, t, at, c, values.real, factors, usable[0] & usable[1], state.rounding,
        state.number("matrix_c"), state.number("attempts"),
    )  # fmt: skip


def matrix_pair(problem: Problem, gather: Gather, p: Any, h: Any, parts: Parts) -> tuple[Pair, Pair]:
    """Entries of the real and the complex matrix for a step h, and what is known of their products."""
    is_fd = fd_rows(problem, p)
    of_entries = jnp.asarray(is_fd)[gather.rows]
    vector = 1.0 - 2.0 * (gather.colours % 2)
    entries, probes = [], []
    for eigenvalue in (REAL, COMPLEX):
        c = h / eigenvalue
        entries.append(parts.of_slopes + jnp.where(of_entries, c, 1.0) * parts.of_values)
        product = parts.slopes_product + jnp.where(is_fd, c, 1.0) * parts.values_product
        probes.append(Probe(vector, product))
    return Pair(*entries), Pair(*probes)


def first_pair(
    problem: Problem, directions: int, gather: Gather, t: Any, x: Any, xdot: Any, p: Any, h: Any
) -> Pair:
    """The entries of both matrices, for a linear solver that chooses pivots by them."""
    parts = matrix_parts(problem, directions, gather, t, x, xdot, p)
    return matrix_pair(problem, gather, p, h, parts)[0]

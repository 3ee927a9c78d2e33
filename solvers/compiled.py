"""A problem made ready: pattern, linear solver and compiled functions, kept from one run to the next.

Compiling takes longer than most runs. What is compiled depends on the residual, on the kinds of the
parameters and on the choices below, but on no value; so it is kept with the problem and found again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from .attempt import Method, Tables
from .choose_solver import ChosenSolver, choose_solver, may_be_symmetric
from .compile_options import fast_jit
from .crossings import sides_at
from .formula import FORMULAS
from .jacobian import Gather, Pattern, fd_rows, gather_tables, matrix_values, pattern_of
from .joined import Joined, join
from .linear import LinearSolver
from .loop import run_chunk
from .output import Buffer, evaluate
from .problem import Problem, kinds
from .state import Settings, State, error_weights, first_step, start_state
from .step import predict


@dataclass(frozen=True, eq=False)
class CompiledProblem:
    problem: Problem
    pattern: Pattern
    chosen: ChosenSolver
    method: Method
    tables: Tables
    run: Callable[..., Any]
    values: Callable[..., Any]
    evaluate: Callable[..., Any]
    look: Callable[..., Any]
    begin: Callable[..., Any]

    def values_for_next_attempt(self, state: State, t_end: float, p: Any) -> jax.Array:
        """The matrix the next attempt will use."""
        at = predict(state.differences, state.order, state.h)
        c = state.h / jnp.asarray(self.method.formula.leading)[state.order]
        t = jnp.minimum(state.t + state.h, t_end)
        return self.values(self.tables.gather, t, at.x, at.xdot, p, c)


def _look(
    problem: Problem,
    directions: int,
    gather: Gather,
    joined_settings: Joined,
    t: Any,
    x: jax.Array,
    xdot: jax.Array,
    p: Any,
    given: Any,
    factor: Any,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The residual at a start, the step to begin with, and the matrix to it. The step is the given one, or
    if that is zero a proposed one times a factor."""
    settings: Settings = joined_settings.split()
    span = settings.t_end - t
    h = first_step(span, xdot, error_weights(x, settings), settings.rtol, settings.max_step)
    h = jnp.where(given > 0, jnp.minimum(given, span), factor * h)
    values = matrix_values(problem, directions, gather, t, x, xdot, p, h)
    return problem.residual(t, x, xdot, p), h, values


def _begin(
    problem: Problem,
    solver: LinearSolver,
    tables: Any,
    settings: Joined,
    t: Any,
    x: jax.Array,
    xdot: jax.Array,
    p: Any,
    h: Any,
    factors: Any,
    residual: jax.Array,
    work: Joined,
) -> tuple[Joined, jax.Array]:
    """The state at a start, and by how many tolerances x is off the constraints. The work of a run before
    an event is counted on."""
    constraints = jnp.where(fd_rows(problem), 0.0, residual)
    shift = solver.solve(tables, factors, constraints)
    state = start_state(t, x, xdot, h, factors, sides_at(problem, t, x, xdot, p), *work.split())
    return join(state), jnp.max(jnp.abs(shift) * error_weights(x, settings.split()))


def _run(
    method: Method,
    tables: Tables,
    settings: Joined,
    p: Any,
    joined: Joined,
    times: jax.Array,
    attempts: jax.Array,
    every_step: jax.Array,
) -> tuple[Joined, Buffer]:
    state, buffer = run_chunk(
        method, tables, settings.split(), p, joined.split(), times, attempts, every_step
    )
    return join(state), buffer


def _evaluate(joined: Joined, t: jax.Array) -> tuple[jax.Array, jax.Array]:
    return evaluate(joined.split(), t)


def compile_problem(
    problem: Problem,
    p: Any,
    linear_solver: str,
    formula: str,
    example: Callable[[], tuple[Any, Any, Any, Any]],
) -> CompiledProblem:
    """Everything that does not depend on values. Where it pays, "auto" looks at
    the matrix for example() = (t, x, xdot, c)."""
    kept = problem.kept
    key = linear_solver, formula, kinds(p)
    if key in kept:
        return kept[key]
    pattern = pattern_of(problem, p)
    jit = partial(fast_jit, size=problem.size)
    values = jit(partial(matrix_values, problem, pattern.directions))
    gather = gather_tables(pattern)
    look = None
    if linear_solver == "auto" and may_be_symmetric(pattern):
        t, x, xdot, c = example()
        look = values(gather, t, x, xdot, p, c)
    chosen = choose_solver(linear_solver, pattern, look)
    method = Method(problem, chosen.solver, pattern.directions, FORMULAS[formula])
    kept[key] = CompiledProblem(
        problem=problem,
        pattern=pattern,
        chosen=chosen,
        method=method,
        tables=Tables(gather, chosen.solver.tables),
        run=jit(partial(_run, method)),
        values=values,
        evaluate=jit(_evaluate),
        look=jit(partial(_look, problem, pattern.directions)),
        begin=jit(partial(_begin, problem, chosen.solver)),
    )
    return kept[key]

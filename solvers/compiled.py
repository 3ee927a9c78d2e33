"""A problem made ready: pattern, linear solver and compiled functions, kept from one run to the next.

Compiling takes longer than most runs. What is compiled depends on the residual, on the kinds of the
parameters and on the choices below, but on no value; so it is kept with the problem and found again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from .attempt import Method, Tables
from .choose_solver import ChosenSolver, choose_solver
from .crossings import sides_at
from .formula import FORMULAS
from .jacobian import Pattern, fd_rows, gather_tables, matrix_values, pattern_of
from .linear import LinearSolver
from .loop import run_chunk
from .output import evaluate
from .problem import Problem, kinds
from .state import State, error_weights, first_step, start_state
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
    first: Callable[..., Any]
    begin: Callable[..., Any]

    def values_for_next_attempt(self, state: Any, settings: Any, p: Any) -> jax.Array:
        """The matrix the next attempt will use."""
        at = predict(state.differences, state.order, state.h)
        c = state.h / jnp.asarray(self.method.formula.leading)[state.order]
        t = jnp.minimum(state.t + state.h, settings.t_end)
        return self.values(self.tables.gather, t, at.x, at.xdot, p, c)


def _first(
    problem: Problem, settings: Any, t: Any, x: jax.Array, xdot: jax.Array, p: Any
) -> tuple[jax.Array, jax.Array]:
    """The residual at a start, and the step to begin with."""
    h = first_step(settings.t_end - t, xdot, error_weights(x, settings), settings.rtol, settings.max_step)
    return problem.residual(t, x, xdot, p), h


def _begin(
    problem: Problem,
    solver: LinearSolver,
    tables: Any,
    settings: Any,
    t: Any,
    x: jax.Array,
    xdot: jax.Array,
    p: Any,
    h: Any,
    factors: Any,
    residual: jax.Array,
) -> tuple[State, jax.Array]:
    """The state at a start, and by how many tolerances x is off the constraints."""
    constraints = jnp.where(fd_rows(problem), 0.0, residual)
    shift = solver.solve(tables, factors, constraints)
    state = start_state(t, x, xdot, h, factors, sides_at(problem, t, x, xdot, p))
    return state, jnp.max(jnp.abs(shift) * error_weights(x, settings))


def compile_problem(
    problem: Problem,
    p: Any,
    linear_solver: str,
    formula: str,
    every_step: bool,
    example: tuple[Any, Any, Any, Any],
) -> CompiledProblem:
    """Everything that does not depend on values. At `example` = (t, x, xdot, c) "auto" looks at the
    matrix."""
    kept = problem.kept
    key = linear_solver, formula, every_step, kinds(p)
    if key in kept:
        return kept[key]
    same_but_output = kept.get((linear_solver, formula, not every_step, kinds(p)))
    if same_but_output is not None:
        method = same_but_output.method
        run = jax.jit(partial(run_chunk, method, every_step))
        kept[key] = replace(same_but_output, run=run)
        return kept[key]
    pattern = pattern_of(problem, p)
    values = jax.jit(partial(matrix_values, problem, pattern.directions))
    gather = gather_tables(pattern)
    t, x, xdot, c = example
    look = values(gather, t, x, xdot, p, c) if linear_solver == "auto" else None
    chosen = choose_solver(linear_solver, pattern, look)
    method = Method(problem, chosen.solver, pattern.directions, FORMULAS[formula])
    kept[key] = CompiledProblem(
        problem=problem,
        pattern=pattern,
        chosen=chosen,
        method=method,
        tables=Tables(gather, chosen.solver.tables),
        run=jax.jit(partial(run_chunk, method, every_step)),
        values=values,
        evaluate=jax.jit(evaluate),
        first=jax.jit(partial(_first, problem)),
        begin=jax.jit(partial(_begin, problem, chosen.solver)),
    )
    return kept[key]

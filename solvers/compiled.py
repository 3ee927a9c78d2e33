"""A problem made ready: pattern, linear solver and compiled functions, kept from one run to the next.

Compiling takes longer than most runs. What is compiled depends on the residual, on the kinds of the
parameters and on the choices below, but on no value; so it is kept with the problem and found again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .choose_solver import ChosenSolver, choose_solver, may_be_symmetric
from .compile_options import LONG, fast_jit
from .formula import FORMULAS
from .jacobian import Pattern, gather_tables, matrix_values, pattern_of
from .joined import Joined, join, join_on_host
from .linear import LinearSolver
from .loop import run_chunk
from .native_attempt import is_available
from .output import Buffer, evaluate
from .problem import Problem, kinds
from .renewal import Method, Tables
from .start import NO_FACTORS, NO_WORK, StartPoint, begin, look, start
from .state import PackedSettings, State, make_settings, unpack_settings
from .step import predict


class Rooms:
    """Linear solvers that keep factors outside of JAX, one for each run that is under way.

    Runs of one problem in several threads, or one inside of another, do not see each other: to the last bit
    each gives what it gives alone. Rooms are used again by later runs.
    """

    def __init__(self, solver: LinearSolver):
        self._first, self._free, self._lost = solver, [solver], list[LinearSolver]()

    @contextmanager
    def one(self) -> Iterator[Room]:
        try:
            solver = self._free.pop()  # which no two threads do at the same time
        except IndexError:
            solver = self._first.twin()
        room = Room(solver)
        try:
            yield room
        finally:
            # Compiled code that was not waited for may still write there.
            (self._free if room.is_quiet else self._lost).append(solver)


class Room:
    def __init__(self, solver: LinearSolver):
        self.solver, self.is_quiet = solver, True

    def wait_for(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, which returns when all is computed."""

        def call(*arguments: Any) -> Any:
            self.is_quiet = False
            found = function(*arguments)
            jax.tree.leaves(found)[0].block_until_ready()
            self.is_quiet = True
            return found

        return call


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
    blank: Joined | None
    """Stands for the state where `run` is to make it. None for long vectors, which the choice between two
    states would copy, and for linear solvers that choose pivots outside."""
    no_start: StartPoint | None
    """Stands for the start where `run` has a state."""
    rooms: Rooms

    @contextmanager
    def for_one_run(self) -> Iterator[CompiledProblem]:
        """The same, with a linear solver that no other run uses meanwhile."""
        with self.rooms.one() as room:
            yield replace(
                self,
                chosen=replace(self.chosen, solver=room.solver),
                tables=self.tables._replace(solver=room.solver.tables),
                run=room.wait_for(self.run),
                begin=room.wait_for(self.begin),
            )

    def values_for_next_attempt(self, state: State, t_end: float, p: Any) -> jax.Array:
        """The matrix the next attempt will use."""
        at = predict(state.differences, state.order, state.h)
        c = state.h / jnp.asarray(self.method.formula.leading)[state.order]
        t = jnp.minimum(state.t + state.h, t_end)
        return self.values(self.tables.gather, t, at.x, at.xdot, p, c)


def _begin(*arguments: Any) -> tuple[Joined, jax.Array]:
    state, off = begin(*arguments)
    return join(state), off


def _run(
    method: Method,
    tables: Tables,
    packed: PackedSettings,
    p: Any,
    joined: Joined,
    point: StartPoint | None,
    times: jax.Array,
    attempts: jax.Array,
    every_step: jax.Array,
) -> tuple[Joined, Buffer]:
    """A chunk from a state, or if a start is wanted, from there."""
    settings, state = unpack_settings(packed), joined.split()
    if point is not None:
        state = jax.lax.cond(
            point.is_wanted, lambda: start(method, tables, settings, p, point), lambda: state
        )
    state, buffer = run_chunk(method, tables, settings, p, state, times, attempts, every_step)
    return join(state), buffer


def _evaluate(joined: Joined, t: jax.Array) -> tuple[jax.Array, jax.Array]:
    return evaluate(joined.split(), t)


def _blank(method: Method, tables: Tables, p: Any, point: StartPoint) -> Joined:
    """A state of zeros, as a start would make it."""
    settings = make_settings(method.problem, np.zeros(()), 1.0, 1.0, np.inf, 1, 1)
    state = jax.eval_shape(partial(start, method), tables, settings, p, point)
    zeros = join_on_host(jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), state))
    return jax.tree.map(jnp.asarray, zeros)


def compile_problem(
    problem: Problem,
    p: Any,
    linear_solver: str,
    formula: str,
    example: Callable[[], tuple[Any, Any, Any, Any]],
) -> CompiledProblem:
    """Everything that does not depend on values. Where it pays, "auto" looks at
    the matrix for example() = (t, x, xdot, c)."""
    if formula not in FORMULAS:
        raise ValueError(f"There is no formula '{formula}'; there are {', '.join(FORMULAS)}.")
    kept = problem.kept
    key = linear_solver, formula, kinds(p)
    if key in kept:
        return kept[key]
    pattern = pattern_of(problem, p)
    jit = partial(fast_jit, size=problem.size)
    values = jit(partial(matrix_values, problem, pattern.directions))
    gather = gather_tables(pattern)
    seen = None
    if linear_solver == "auto" and may_be_symmetric(pattern):
        t, x, xdot, c = example()
        seen = values(gather, t, x, xdot, p, c)
    chosen = choose_solver(linear_solver, pattern, seen)
    native = is_available()
    method = Method(problem, chosen.solver, pattern.directions, FORMULAS[formula], native)
    tables = Tables(gather, chosen.solver.tables, jnp.asarray(problem.slope_places))
    no_start = blank = None
    if chosen.solver.name in NO_FACTORS and problem.size < LONG:
        no_start = StartPoint(np.zeros(4), np.zeros(problem.size), np.zeros(problem.size), NO_WORK)
        blank = _blank(method, tables, p, no_start)
    kept[key] = CompiledProblem(
        problem=problem,
        pattern=pattern,
        chosen=chosen,
        method=method,
        tables=tables,
        run=jit(partial(_run, method)),
        values=values,
        evaluate=jit(_evaluate),
        look=jit(partial(look, problem, pattern.directions)),
        begin=jit(partial(_begin, problem, chosen.solver)),
        blank=blank,
        no_start=no_start,
        rooms=Rooms(chosen.solver),
    )
    return kept[key]

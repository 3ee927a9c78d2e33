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
import numpy as np

from ..compile_options import LONG, fast_jit, quick_jit
from ..events.handle import Handled, handle_event
from ..events.restart import rows_of_mode
from ..inlined import attempt as inlined_attempt
from ..inlined import native_attempt as native_stages
from ..inlined.matrices import nothing_torn
from ..inlined_contract import Inlined
from ..linear.choice import choose_solver, may_be_symmetric
from ..linear.contract import NEEDS_PIVOTS, Offer
from ..linear.stages import choose_stage_solver
from ..matrix.jacobian import Pattern, gather_tables, matrix_values, pattern_of
from ..method.context import Context, Method, Tables
from ..method.formula import RADAU, Formula, formula_of
from ..method.polynomial import predict
from ..method.settings import Settings
from ..method.state import State, start_state
from ..native import attempt as native_attempt
from ..problem import Problem, kinds
from ..radau import attempt as radau_attempt
from ..radau.matrix import first_pair
from . import attempt as jax_attempt
from .crossings import sides_at
from .hybrid import Hybrid
from .loop import run_chunk
from .output import Buffer, evaluate
from .start import Origin, first_matrix, no_origin, start
from .workspaces import Workspaces

FEW = 32
"""With so few unknowns native code makes whole steps, and what XLA does between them needs no optimization:
first runs take a quarter less time, later ones the same. With 100 unknowns those take a fifth longer."""
LOOPS = ("auto", "native", "jax")
CORRECTORS = ("whole", "stages")


@dataclass(frozen=True, eq=False)
class CompiledProblem:
    """The compiled functions of a problem. `Tables` are theirs to take: those of a run hold its
    workspace."""

    problem: Problem
    pattern: Pattern
    chosen: Offer
    method: Method
    tables: Tables
    loop: str
    """Which loop runs, and if it is not the native one, why."""
    not_inlined: str
    """Why the corrector does not go by stages, if it was asked to; else empty."""
    run: Callable[..., tuple[State, Buffer, Hybrid | None]]
    event: Callable[..., Handled]
    one_pass: Callable[..., Any]
    rows_of_mode: Callable[..., Any]
    next_time: Callable[..., Any]
    start: Callable[..., State]
    first_matrix: Callable[..., Any]
    matrix: Callable[..., Any]
    """Values for the linear solver to choose pivots by."""
    evaluate: Callable[..., tuple[jax.Array, jax.Array]]
    placeholder: State | None
    """Stands for the state where `run` is to make it. None for long vectors, which the choice between two
    states would copy, and for linear solvers that choose pivots outside."""
    no_origin: Origin | None
    """Stands for the origin where `run` has a state."""
    workspaces: Workspaces
    crossings: int
    """How many functions are watched."""

    def next_matrix(self, state: State, settings: Settings, p: Any) -> Any:
        """The values of the matrix, or matrices, that the next attempt will use."""
        now = state.read()
        if self.method.formula is RADAU:
            return self.matrix(self.tables.gather, now.t, state.x, state.xdot, p, now.h)
        order, t_end = int(now.order), float(settings.limit("t_end"))
        at = predict(state.table, jnp.asarray(order), jnp.asarray(now.h))
        c = now.h / self.method.formula.leading[order]
        return self.matrix(self.tables.gather, min(now.t + now.h, t_end), at.x, at.xdot, p, c)


def _run(
    method: Method,
    attempts_by: Any,
    tables: Tables,
    settings: Settings,
    p: Any,
    state: State,
    origin: Origin | None,
    times: jax.Array,
    attempts: jax.Array,
    per_step: jax.Array,
    hybrid: Hybrid | None = None,
) -> tuple[State, Buffer, Hybrid | None]:
    """A chunk from a state, or if a start is wanted, from there."""
    context = Context(method, tables, settings, p)
    if origin is not None:
        here = context if hybrid is None else hybrid.context(context)
        state = jax.lax.cond(origin.is_wanted, lambda: start(here, origin), lambda: state)
    return run_chunk(context, state, times, attempts, per_step, attempts_by=attempts_by, hybrid=hybrid)


def _event(
    method: Method,
    tables: Tables,
    settings: Settings,
    p: Any,
    t: Any,
    x: Any,
    xdot: Any,
    factors: Any,
    occasion: Any,
) -> Handled:
    """An event outside of the loop."""
    return handle_event(Context(method, tables, settings, p), t, x, xdot, factors, occasion)


def _of_events(problem: Problem, name: str) -> Callable[..., Any]:
    """A function of the events of a problem; never called where there are none."""
    return getattr(problem.events, name) if problem.events is not None else lambda *_: None


def _start(
    method: Method, tables: Tables, settings: Settings, p: Any, origin: Origin, factors: Any
) -> State:
    return start(Context(method, tables, settings, p), origin, factors)


def _first_matrix(
    method: Method, matrix: Callable[..., Any], tables: Tables, settings: Settings, p: Any, origin: Origin
) -> Any:
    return first_matrix(Context(method, tables, settings, p), origin, matrix)


def _placeholder(method: Method, tables: Tables, p: Any, origin: Origin) -> State:
    """A state of zeros, as a start would make it."""
    solver, problem = method.solver, method.problem

    def state(values: jax.Array, x: jax.Array, p: Any) -> State:
        factors = solver.factor(tables.solver, values, solver.no_factors)
        state = start_state(0.0, x, x, 1.0, factors, sides_at(problem, 0.0, x, x, p))
        return state if method.inlined is None else state._replace(torn=nothing_torn(method.inlined))

    entries = jax.ShapeDtypeStruct(tables.gather.rows.shape, np.float64)
    shapes = jax.eval_shape(state, entries, origin.x, p)
    # Made by numpy: JAX would compile a program for each shape.
    return jax.device_put(jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes))


def _crossings(problem: Problem, p: Any) -> int:
    x = jax.ShapeDtypeStruct((problem.size,), np.float64)
    time = jax.ShapeDtypeStruct((), np.float64)
    return int(jax.eval_shape(partial(sides_at, problem), time, x, x, p).shape[0])


def compile_problem(
    problem: Problem,
    p: Any,
    linear_solver: str,
    formula: str,
    loop: str,
    example: Callable[[], tuple[Any, Any, Any, Any]],
    corrector: str = CORRECTORS[0],
) -> CompiledProblem:
    """Everything that does not depend on values. Where it pays, "auto" looks at
    the matrix for example() = (t, x, xdot, c)."""
    key, known = (linear_solver, formula, loop, corrector, kinds(p)), problem.cache.compiled
    if key in known:
        return known[key]
    formulas = formula_of(formula)
    inlined, why_not = _stages(problem, formulas, corrector)
    attempts_by, note = _choose_loop(loop, formulas, problem, inlined)
    pattern = pattern_of(problem, p)
    jit = partial(fast_jit, size=problem.size)
    once = partial(quick_jit, size=0)  # a few calls for each start, however long the vectors are
    is_radau = formulas is RADAU
    values_of = partial(first_pair if is_radau else matrix_values, problem, pattern.directions)
    matrix = once(values_of)
    gather = gather_tables(pattern)
    seen = None
    if linear_solver == "auto" and may_be_symmetric(pattern):
        t, x, xdot, c = example()
        found = matrix(gather, t, x, xdot, p, c)
        seen = found.real if is_radau else found
    chosen = (choose_stage_solver if is_radau else choose_solver)(linear_solver, pattern, seen)
    is_quick = attempts_by is native_attempt and native_attempt.makes_whole_steps(problem, chosen.solver)
    method = Method(problem, chosen.solver, pattern.directions, formulas, inlined)
    tables = Tables(gather, chosen.solver.tables, jax.device_put(problem.slope_places))
    nowhere = placeholder = None
    if chosen.solver.no_factors is not NEEDS_PIVOTS and problem.size < LONG:
        nowhere = no_origin(problem.size)
        placeholder = _placeholder(method, tables, p, nowhere)
    known[key] = CompiledProblem(
        problem=problem,
        pattern=pattern,
        chosen=chosen,
        method=method,
        tables=tables,
        loop=note,
        not_inlined=why_not,
        run=(once if is_quick and problem.size <= FEW else jit)(partial(_run, method, attempts_by)),
        event=once(partial(_event, method)),
        one_pass=once(_of_events(problem, "one_pass")),
        rows_of_mode=once(partial(rows_of_mode, problem)),
        next_time=once(_of_events(problem, "next_time")),
        start=once(partial(_start, method)),
        first_matrix=once(partial(_first_matrix, method, values_of)),
        matrix=matrix,
        evaluate=jit(evaluate),
        placeholder=placeholder,
        no_origin=nowhere,
        workspaces=Workspaces(chosen.solver),
        crossings=_crossings(problem, p),
    )
    return known[key]


def _stages(problem: Problem, formula: Formula, corrector: str) -> tuple[Inlined | None, str]:
    """The stages of the corrector, or why there are none."""
    if corrector not in CORRECTORS:
        raise ValueError(f"There is no corrector '{corrector}'; there are {', '.join(CORRECTORS)}.")
    if corrector == CORRECTORS[0]:
        return None, ""
    if formula is RADAU:
        raise ValueError("Steps of formula 'radau' are corrected as a whole.")
    found = "nobody has sorted its equations" if problem.inlined is None else problem.inlined()
    return (None, found) if isinstance(found, str) else (found, "")


def _choose_loop(loop: str, formula: Formula, problem: Problem, inlined: Inlined | None) -> tuple[Any, str]:
    """The module that makes attempts, and what to say about it."""
    if loop not in LOOPS:
        raise ValueError(f"There is no loop '{loop}'; there are {', '.join(LOOPS)}.")
    if inlined is not None:
        is_data = inlined.data is not None and problem.planned is not None
        if loop != "jax" and is_data and not native_attempt.why_not():
            return native_stages, "native"
        return inlined_attempt, "jax: steps by stages are made there"
    if formula is RADAU:
        if loop == "native":
            raise ValueError("Steps of formula 'radau' are made in JAX: loop is 'auto' or 'jax'.")
        return radau_attempt, "jax: all steps of Radau IIA are made there"
    if loop == "jax":
        return jax_attempt, "jax: as asked for"
    reason = native_attempt.why_not()
    if not reason:
        return native_attempt, "native"
    if loop == "native":
        raise ValueError(f"There are no native functions here: {reason}.")
    return jax_attempt, f"jax: there are no native functions here, {reason}"

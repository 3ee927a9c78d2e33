"""How a run starts: the first step and its matrix, whether x satisfies the constraints, the state."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .crossings import sides_at
from .jacobian import Gather, fd_rows, matrix_values
from .joined import Joined, join_on_host
from .linear import LinearSolver
from .problem import Problem
from .renewal import Method, Tables
from .state import Settings, State, error_weights, first_step, no_work, start_state
from .status import Status

INCONSISTENT = 1e5
"""Violation of the constraints at the start, in units of the error of a step, that is no longer taken for
rounded data."""

NO_FACTORS = {"dense": None, "band": np.zeros((), np.int64)}
"""Linear solvers whose first factorization may be compiled along with a start, and what it takes for the
old factors."""


NO_WORK = join_on_host((no_work(), np.zeros((), np.int32)))
"""Counts and attempts at the start of a run."""


class StartPoint(NamedTuple):
    """Where to start, for a compiled function that may start or go on."""

    numbers: Any
    """Whether to start; t; the step to begin with, or zero; if it is zero, a factor of the proposed one."""
    x: Any
    xdot: Any
    work: Joined
    """What was counted before an event."""

    @property
    def is_wanted(self) -> jax.Array:
        return self.numbers[0] > 0


def start(method: Method, tables: Tables, settings: Settings, p: Any, point: StartPoint) -> State:
    """All of a start, inside of a compiled function. If anything is wrong, the state is not one to go on
    with, and the steps below are to tell what it is."""
    problem, solver, (x, xdot) = method.problem, method.solver, point[1:3]
    _, t, given, factor = point.numbers
    residual, h, values = look(
        problem, method.directions, tables.gather, settings, t, x, xdot, p, given, factor
    )
    factors = solver.factor(tables.solver, values, NO_FACTORS[solver.name])
    state, off = begin(
        problem, solver, tables.solver, settings, t, x, xdot, p, h, factors, residual, point.work
    )
    good = jnp.all(jnp.isfinite(residual)) & (off <= INCONSISTENT)
    return state._replace(status=jnp.where(good, state.status, Status.INCONSISTENT).astype(jnp.int32))


def look(
    problem: Problem,
    directions: int,
    gather: Gather,
    settings: Settings,
    t: Any,
    x: jax.Array,
    xdot: jax.Array,
    p: Any,
    given: Any,
    factor: Any,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The residual at a start, the step to begin with, and the matrix to it. The step is the given one, or
    if that is zero a proposed one times a factor."""
    span = settings.t_end - t
    h = first_step(span, xdot, error_weights(x, settings), settings.rtol, settings.max_step)
    h = jnp.where(given > 0, jnp.minimum(given, span), factor * h)
    values = matrix_values(problem, directions, gather, t, x, xdot, p, h)
    return problem.residual(t, x, xdot, p), h, values


def begin(
    problem: Problem,
    solver: LinearSolver,
    tables: Any,
    settings: Settings,
    t: Any,
    x: jax.Array,
    xdot: jax.Array,
    p: Any,
    h: Any,
    factors: Any,
    residual: jax.Array,
    work: Joined,
) -> tuple[State, jax.Array]:
    """The state at a start, and by how many tolerances x is off the constraints. The work of a run before
    an event is counted on."""
    constraints = jnp.where(fd_rows(problem), 0.0, residual)
    shift = solver.solve(tables, factors, constraints)
    state = start_state(t, x, xdot, h, factors, sides_at(problem, t, x, xdot, p), *work.split())
    return state, jnp.max(jnp.abs(shift) * error_weights(x, settings))

"""How a run starts, in every loop: the first step and its matrix, the state, and whether anything is wrong.

A state that is not one to go on with has a status that says so: NON_FINITE (the residual), INCONSISTENT
(x is off the constraints by more than rounded data may be). A matrix that is singular is left to the first
step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..inlined.matrices import nothing_torn
from ..linear.contract import Factors
from ..matrix.jacobian import fd_rows, matrix_values
from ..method.context import Context
from ..method.controller import IN_JAX
from ..method.state import NO_WORK, State, start_state
from ..method.tolerances import error_weights, first_step
from ..status import Status
from .crossings import sides_at

INCONSISTENT = 1e5
"""Violation of the constraints at the start, in units of the error of a step, that is no longer taken for
rounded data."""


class Origin(NamedTuple):
    """Where to start, for a compiled function that may start or go on."""

    numbers: Any
    """Whether to start; t; the step to begin with, or zero; if it is zero, a factor of the proposed one."""
    x: Any
    xdot: Any
    counted: Any
    """The numbers of a state before an event, whose counts go on."""

    @property
    def is_wanted(self) -> jax.Array:
        return self.numbers[0] > 0


def origin(
    t: Any,
    x: Any,
    xdot: Any,
    initial_step: float | None = None,
    factor: float = 1.0,
    counted: Any = NO_WORK,
) -> Origin:
    """Start here, at order one."""
    return Origin(np.array([1.0, t, initial_step or 0.0, factor]), x, xdot, counted)


def no_origin(size: int) -> Origin:
    """Stands for an origin where there is a state to go on from."""
    return Origin(np.zeros(4), np.zeros(size), np.zeros(size), NO_WORK)


def start(context: Context, origin: Origin, factors: Factors | None = None) -> State:
    """The state at the start. Without factors, those of the first matrix are computed here, by a linear
    solver that chooses pivots inside of compiled code."""
    method, tables, settings, p = context
    x, xdot, counted = jnp.asarray(origin.x), jnp.asarray(origin.xdot), origin.counted
    t, h = origin.numbers[1], _first_step(context, origin)
    if factors is None:
        factors = method.solver.factor(
            tables.solver, first_matrix(context, origin), method.solver.no_factors
        )
    residual = method.problem.residual(t, x, xdot, p)
    shift = context.solve(factors, jnp.where(fd_rows(method.problem, p), 0.0, residual))
    violation = jnp.max(jnp.abs(shift) * error_weights(x, settings))
    status = jnp.where(violation > INCONSISTENT, Status.INCONSISTENT, Status.RUNNING)
    status = jnp.where(jnp.all(jnp.isfinite(residual)), status, Status.NON_FINITE)
    state = start_state(t, x, xdot, h, factors, sides_at(method.problem, t, x, xdot, p), counted)
    if method.inlined is not None:
        state = state._replace(torn=nothing_torn(method.inlined))
    return state.with_numbers(status=status, violation=violation)


def first_matrix(context: Context, origin: Origin, matrix: Callable[..., Any] | None = None) -> Any:
    """The values of the matrix to the first step; or what `matrix` gives for them."""
    (problem, _, directions, *_), tables, _, p = context
    t, x, xdot = origin.numbers[1], origin.x, origin.xdot
    matrix = matrix or partial(matrix_values, problem, directions)
    return matrix(tables.gather, t, x, xdot, p, _first_step(context, origin))


def _first_step(context: Context, origin: Origin) -> jax.Array:
    """The step that is given, or else a part of the proposed one; no sliver is left before the end."""
    _, t, given, factor = jnp.asarray(origin.numbers)
    settings = context.settings
    proposed = factor * first_step(settings, t, jnp.asarray(origin.x), jnp.asarray(origin.xdot))
    h = jnp.where(given > 0, jnp.minimum(given, settings.limit("t_end") - t), proposed)
    return IN_JAX.fit(1.0, h, t, settings.step_limits)[0]

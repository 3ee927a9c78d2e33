"""One attempt at a step with native code for all but the equations: what `loop.attempt` does, in fewer
passes.

XLA evaluates residuals and matrices; everything between them is a few calls of `kernels`, which work in
place: `weigh` and `iterate` make the step, `finish` decides on it and moves the table. This is for runs on
a CPU; `loop.attempt` is the same method for any device.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..linear.dense import DenseFactors, DenseSolver
from ..matrix.jacobian import fd_rows
from ..method.context import Context
from ..method.controller import UNKNOWN_RATE
from ..method.matrix_renewal import new_matrix
from ..method.numbers import AT, NEW_MATRIX
from ..method.polynomial import Prediction
from ..method.projection import onto_constraints
from ..method.rounding import Rounding
from ..method.state import State, rounding_numbers
from ..method.table import in_place_if, start_again
from ..problem import Planned, Problem
from ..xla.call import call
from ..xla.register import Handlers
from ..xla.register import why_not as xla_why_not
from .calls import FINISH, ITERATE, PREDICT, STEP, WEIGH

MOST_UNKNOWNS = 100
"""For which native code solves dense systems itself: with more, LAPACK is faster."""


def why_not() -> str:
    """Why there are no native functions here, or XLA does not take them; empty if all is well."""
    return xla_why_not(_handlers)


def _handlers() -> Handlers:
    from .handlers import HANDLERS

    return HANDLERS


class AttemptVectors(NamedTuple):
    """What native code carries from attempt to attempt, besides the state: the prediction, and the
    correction."""

    x: jax.Array
    """Where the residual is to be evaluated,"""
    slope: jax.Array
    """with this derivative."""
    weights: jax.Array
    d: jax.Array


def prepare(context: Context, state: State) -> tuple[State, AttemptVectors]:
    """Predict, for the first attempt."""
    vector, settings = jnp.zeros_like(state.xdot), context.settings
    found = call(
        PREDICT, table=state.table, atol=settings.atol, tightness=settings.tightness,
        limits=settings.limits, x=vector, slope=vector, weights=vector, numbers=state.numbers,
    )  # fmt: skip
    return (
        state._replace(numbers=found["numbers"]),
        AttemptVectors(found["x"], found["slope"], found["weights"], vector),
    )


def attempt(
    context: Context, state: State, vectors: AttemptVectors, pause: jax.Array, stretches: jax.Array
) -> tuple[State, AttemptVectors]:
    """One attempt at a step; where native code evaluates the residual, many: up to the time of `pause`, to
    its number of attempts, until a new matrix is needed, or to a crossing if it `watches`."""
    state = _renew_matrix(context, state, vectors)
    planned = _planned(context)
    if planned is not None:
        state, vectors = planned_step(
            context, planned, state, vectors, pause, stretches, {**_factors(state.factors), **no_stages()}
        )
        return restart_if_asked(context, state, vectors)
    state, vectors = weigh(context, state, vectors)
    state, vectors = correct(context, state, vectors)
    state, vectors = _finish(context, state, vectors)
    return restart_if_asked(context, state, vectors)


def _planned(context: Context) -> Planned | None:
    """The residual as data, where steps are made from that."""
    return context.problem.planned if makes_whole_steps(context.problem, context.method.solver) else None


def makes_whole_steps(problem: Problem, solver: Any) -> bool:
    """Whether native code makes whole steps, the equations included."""
    is_small = isinstance(solver, DenseSolver) and problem.size <= MOST_UNKNOWNS
    return problem.planned is not None and is_small


def watches(context: Context) -> bool:
    """Whether an attempt looks for crossings itself."""
    planned = _planned(context)
    return planned is not None and planned.watches


def _factors(factors: DenseFactors) -> dict[str, Any]:
    """Of the whole matrix, by the names of `calls.STEP`."""
    return {"lu": factors.lu, "scale": factors.scale, "rows": factors.rows}


def no_factors() -> dict[str, Any]:
    """Stands for those where the corrector goes by stages, or has done its work."""
    return {"lu": jnp.zeros((1, 1)), "scale": jnp.zeros(1), "rows": jnp.zeros(1, jnp.int32)}


def no_stages() -> dict[str, Any]:
    """Stands for the stages of inline integration where the corrector does not go by any."""
    nothing, words = jnp.zeros(0), jnp.zeros(0, int)
    return {
        "stages": words, "stage_constants": nothing,
        "stage_lu": nothing, "stage_scale": nothing, "stage_rows": words,
    }  # fmt: skip


def planned_step(
    context: Context,
    planned: Planned,
    state: State,
    vectors: AttemptVectors,
    pause: jax.Array,
    stretches: jax.Array,
    corrector: dict[str, Any],
) -> tuple[State, AttemptVectors]:
    """What `weigh`, `correct` and `_finish` do, for one attempt or many, in one call; with factors of the
    whole matrix, or by stages. Where nothing is `iterating` any more it does what follows the corrector."""
    settings = context.settings
    looks = {"sides": jnp.zeros(0), "crossed": jnp.zeros(0), "xdot_before": jnp.zeros(0)}
    if planned.watches:
        looks = {"sides": state.sides.astype(float), "crossed": state.crossed.astype(float)}
        looks["xdot_before"] = state.xdot_before
    elif state.sides.shape[0]:  # XLA looks at every step
        pause = jnp.full(2, -jnp.inf)
    found = call(
        STEP, **planned.arguments(state.number("t_new"), context.p), pause=pause,
        stretches=stretches, is_fd=jnp.asarray(fd_rows(context.problem, context.p), float),
        limits=settings.limits, atol=settings.atol, tightness=settings.tightness,
        slope_places=context.tables.slope_places, slope_atol=settings.slope_atol,
        of_constraints=state.of_constraints, of_slopes=state.of_slopes, table=state.table,
        xdot=state.xdot, numbers=state.numbers, **corrector, **looks, **vectors._asdict(),
    )  # fmt: skip
    of_state = {name: found.pop(name) for name in ("table", "xdot", "numbers")}
    looks = {name: found.pop(name) for name in looks}
    if planned.watches:
        of_state["sides"], of_state["crossed"] = looks["sides"] != 0, looks["crossed"] != 0
        of_state["xdot_before"] = looks["xdot_before"]
    return state._replace(**of_state), vectors._replace(**found)


def with_new_matrix(
    numbers: jax.Array, usable: jax.Array, finite: jax.Array, rounding: Rounding
) -> jax.Array:
    """Numbers after the matrix was renewed."""
    known = {
        "matrix_c": numbers[AT.c],
        "age": 0.0,
        "rate": UNKNOWN_RATE,
        "usable": usable,
        "finite_matrix": finite,
        "iterating": usable,
        **rounding_numbers(rounding),
    }
    block = jnp.stack([jnp.asarray(known[name], float) for name in NEW_MATRIX])
    return jax.lax.dynamic_update_slice(numbers, block, (getattr(AT, NEW_MATRIX[0]),))


def _renew_matrix(context: Context, state: State, vectors: AttemptVectors) -> State:
    def renew(old: tuple[Any, Rounding, jax.Array]) -> tuple[Any, Rounding, jax.Array]:
        factors, rounding, numbers = old
        new = new_matrix(
            context, numbers[AT.t_new], Prediction(vectors.x, vectors.slope), numbers[AT.c], factors,
            rounding, numbers[AT.matrix_c], numbers[AT.attempts],
        )  # fmt: skip
        return new.factors, new.rounding, with_new_matrix(numbers, new.usable, new.finite, new.rounding)

    needed = state.number("needed") != 0
    factors, rounding, numbers = in_place_if(needed, renew, (state.factors, state.rounding, state.numbers))
    return state.with_rounding(rounding)._replace(factors=factors, numbers=numbers)


def weigh(context: Context, state: State, vectors: AttemptVectors) -> tuple[State, AttemptVectors]:
    settings = context.settings

    def change(old: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        weights, numbers = old
        found = call(
            WEIGH, table=state.table, atol=settings.atol, tightness=settings.tightness,
            of_constraints=state.of_constraints, of_slopes=state.of_slopes, limits=settings.limits,
            weights=weights, numbers=numbers,
        )  # fmt: skip
        return found["weights"], found["numbers"]

    matters = state.number("rounding_matters") != 0
    weights, numbers = in_place_if(matters, change, (vectors.weights, state.numbers))
    return state._replace(numbers=numbers), vectors._replace(weights=weights)


def correct(context: Context, state: State, vectors: AttemptVectors) -> tuple[State, AttemptVectors]:
    settings, is_fd = context.settings, fd_rows(context.problem, context.p)

    def iterate(old: dict[str, jax.Array]) -> dict[str, jax.Array]:
        numbers = old["numbers"]
        c = numbers[AT.c]
        residual = context.problem.residual(numbers[AT.t_new], old["x"], old["slope"], context.p)
        return call(
            ITERATE, delta=context.solve(state.factors, jnp.where(is_fd, -c * residual, -residual)),
            limits=settings.limits, weights=vectors.weights, tightness=settings.tightness,
            slope_places=context.tables.slope_places, slope_atol=settings.slope_atol,
            of_constraints=state.of_constraints, of_slopes=state.of_slopes, **old,
        )  # fmt: skip

    def unfinished(now: dict[str, jax.Array]) -> jax.Array:
        return now["numbers"][AT.iterating] != 0

    first = {"d": vectors.d, "x": vectors.x, "slope": vectors.slope, "numbers": state.numbers}
    found = jax.lax.while_loop(unfinished, iterate, first)
    numbers = found.pop("numbers")
    return state._replace(numbers=numbers), vectors._replace(**found)


def _finish(context: Context, state: State, vectors: AttemptVectors) -> tuple[State, AttemptVectors]:
    settings = context.settings
    found = call(
        FINISH, d=vectors.d, limits=settings.limits, atol=settings.atol, tightness=settings.tightness,
        table=state.table, weights=vectors.weights, x=vectors.x, slope=vectors.slope,
        xdot=state.xdot, numbers=state.numbers,
    )  # fmt: skip
    of_state = {name: found.pop(name) for name in ("table", "xdot", "numbers")}
    return state._replace(**of_state), vectors._replace(**found)


def restart_if_asked(
    context: Context, state: State, vectors: AttemptVectors, of_matrix: str = "matrix_c"
) -> tuple[State, AttemptVectors]:
    """After too many failures x is projected onto the constraints, and the past forgotten. `of_matrix` is
    the number that is c of the factors."""

    def forget(old: tuple[State, AttemptVectors]) -> tuple[State, AttemptVectors]:
        state, vectors = old

        def project(x: jax.Array) -> jax.Array:
            return onto_constraints(
                context, state.number("t"), x, state.xdot, state.number(of_matrix), state.factors,
                vectors.weights,
            )  # fmt: skip

        yes = jnp.ones((), bool)
        table = start_again(state.table, state.number("h"), state.xdot, yes, project)
        return prepare(context, state._replace(table=table))

    return in_place_if(state.number("restart") != 0, forget, (state, vectors))

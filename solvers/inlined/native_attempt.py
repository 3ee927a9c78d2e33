"""Attempts of inline integration by native code: as `inlined.attempt`, with stages that are data.

Native code makes whole steps, one after the other, as long as the small matrices serve (`native.attempt`).
These are renewed here; and an attempt that the stages could not make with new matrices is made here, with
the whole one.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ..method.context import Context
from ..method.matrix_renewal import new_matrix
from ..method.numbers import AT
from ..method.polynomial import Prediction
from ..method.rounding import NEAR, Rounding, is_far_away, not_looked
from ..method.state import State
from ..method.table import in_place_if
from ..native.attempt import (
    AttemptVectors,
    correct,
    no_factors,
    no_stages,
    planned_step,
    prepare,
    restart_if_asked,
    weigh,
    with_new_matrix,
)
from ..problem import Planned
from .matrices import Torn, new_torn

__all__ = ["attempt", "prepare", "watches"]


def _planned(context: Context) -> Planned:
    planned = context.problem.planned
    assert planned is not None, "stages are data only where the residual is"
    return planned


def watches(context: Context) -> bool:
    """Whether an attempt looks for crossings itself."""
    return _planned(context).watches


def attempt(
    context: Context, state: State, vectors: AttemptVectors, pause: jax.Array, stretches: jax.Array
) -> tuple[State, AttemptVectors]:
    """Attempts up to the time of `pause`, to its number of attempts, until new matrices are needed, or to a
    crossing."""
    state, looked = _renew_matrices(context, state, vectors)
    words, constants = context.method.inlined.data
    by_stages = {
        **no_factors(), **_flat(state.torn),
        "stages": jnp.asarray(words), "stage_constants": jnp.asarray(constants),
    }  # fmt: skip
    state, vectors = planned_step(context, _planned(context), state, vectors, pause, stretches, by_stages)

    def as_a_whole(old: tuple[State, AttemptVectors]) -> tuple[State, AttemptVectors]:
        return _attempt_as_a_whole(context, *old, looked, stretches)

    unsolved = state.number("unsolved") != 0
    state, vectors = in_place_if(unsolved, as_a_whole, (state, vectors))
    return restart_if_asked(context, state, vectors, "whole_c")


def _flat(torn: Torn) -> dict[str, jax.Array]:
    """Factors of all small matrices one after the other, by the names of `native.calls.STEP`."""

    def joined(name: str, dtype: Any) -> jax.Array:
        parts = [getattr(factors, name).ravel().astype(dtype) for factors in torn.factors]
        return jnp.concatenate([jnp.zeros(0, dtype), *parts])

    return {
        "stage_lu": joined("lu", float),
        "stage_scale": joined("scale", float),
        "stage_rows": joined("rows", int),
    }


def _renew_matrices(context: Context, state: State, vectors: AttemptVectors) -> tuple[State, jax.Array]:
    """New small matrices where they are needed, and now and then a look at rounding with a new whole one;
    and whether there was such a look."""
    problem, inlined, at = context.problem, context.method.inlined, Prediction(vectors.x, vectors.slope)
    Renewed = tuple[Torn, Any, Rounding, jax.Array, jax.Array]

    def renew(old: Renewed) -> Renewed:
        _, factors, rounding, numbers, _ = old
        t, c = numbers[AT.t_new], numbers[AT.c]
        torn = new_torn(problem, inlined, t, at, c, context.p)

        def look(factors: Any, rounding: Rounding, whole_c: jax.Array) -> tuple[Any, Rounding, jax.Array]:
            new = new_matrix(context, t, at, c, factors, rounding, whole_c, numbers[AT.attempts])
            return new.factors, new.rounding, c

        def rest(factors: Any, rounding: Rounding, whole_c: jax.Array) -> tuple[Any, Rounding, jax.Array]:
            return factors, not_looked(rounding), whole_c

        looked = ~is_far_away(rounding, c, NEAR)
        factors, rounding, whole_c = jax.lax.cond(
            looked, look, rest, factors, rounding, numbers[AT.whole_c]
        )
        numbers = with_new_matrix(numbers, torn.good, jnp.ones((), bool), rounding)
        numbers = numbers.at[AT.whole_c].set(whole_c).at[AT.needed].set(1.0)
        if not len(inlined.tears):  # no small matrix is counted, but the whole one
            numbers = _counted(numbers, looked - 1.0)
        return torn, factors, rounding, numbers, looked

    needed = (state.number("needed") != 0) | ~state.torn.good
    old = state.torn, state.factors, state.rounding, state.numbers, jnp.zeros((), bool)
    torn, factors, rounding, numbers, looked = in_place_if(needed, renew, old)
    state = state.with_rounding(rounding)._replace(torn=torn, factors=factors, numbers=numbers)
    return state, looked


def _counted(numbers: jax.Array, more: Any) -> jax.Array:
    """With so many more matrices."""
    return numbers.at[AT.jacobians].add(more).at[AT.factorizations].add(more)


def _attempt_as_a_whole(
    context: Context, state: State, vectors: AttemptVectors, looked: jax.Array, stretches: jax.Array
) -> tuple[State, AttemptVectors]:
    """The attempt with a new whole matrix, from predicted values."""
    numbers = state.numbers
    t, c = numbers[AT.t_new], numbers[AT.c]
    new = new_matrix(
        context, t, Prediction(vectors.x, vectors.slope), c, state.factors, state.rounding,
        numbers[AT.whole_c], numbers[AT.attempts],
    )  # fmt: skip
    numbers = with_new_matrix(numbers, new.usable, new.finite, new.rounding)
    numbers = numbers.at[AT.whole_c].set(c).at[AT.unsolved].set(0.0).at[AT.corrected_whole].add(1.0)
    if not len(context.method.inlined.tears):
        numbers = _counted(numbers, 1.0 - looked)
    state = state.with_rounding(new.rounding)._replace(factors=new.factors, numbers=numbers)
    state, vectors = correct(context, *weigh(context, state, vectors))
    once = jnp.full(2, -jnp.inf)
    rest = {**no_factors(), **no_stages()}
    return planned_step(context, _planned(context), state, vectors, once, stretches, rest)

"""The state after an attempt, whatever has made the step: what came of it, and what was counted."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from .context import Context
from .controller import LARGE, Decision, Outcome, Work
from .matrix_renewal import Matrix
from .newton import Correction
from .numbers import HISTOGRAM
from .projection import onto_constraints
from .rounding import Rounding
from .settings import Settings
from .state import State, histogram, rounding_numbers
from .step import Errors
from .table import start_again
from .tolerances import beyond_tolerance


def outcome_of(t_new: jax.Array, matrix: Matrix, correction: Correction, errors: Errors) -> Outcome:
    """An attempt as the controller sees it."""
    return Outcome(
        t_new=t_new,
        renewed=matrix.renewed,
        usable=matrix.usable,
        finite_matrix=matrix.finite,
        converged=correction.converged,
        finite=correction.finite,
        iterations=correction.iteration,
        rate=correction.rate,
        error=errors.here,
        below=errors.below,
        above=errors.above,
    )


def state_after(
    context: Context,
    state: State,
    matrix: Matrix,
    decision: Decision,
    work: Work,
    table: jax.Array,
    xdot: jax.Array,
    weights: jax.Array,
    order: jax.Array | int,
    **more: Any,
) -> State:
    """The state with a table, moved on if the step was accepted; after too many failures x is projected
    onto the constraints, and the past forgotten. `more` are numbers that the method keeps besides."""
    accepted, following, t = decision.accepted, decision.next, state.number("t")
    table = start_again(
        table,
        following.h,
        state.xdot,
        decision.restart,
        lambda x: onto_constraints(context, t, x, state.xdot, matrix.c, matrix.factors, weights),
    )
    counts = _counts(context.settings, state, matrix.rounding, work, accepted, order)
    state = state.with_rounding(matrix.rounding)._replace(
        table=table, xdot=jnp.where(accepted, xdot, state.xdot), factors=matrix.factors
    )
    return state.with_numbers(
        **following._asdict(),
        matrix_c=matrix.c,
        accepted=accepted,
        last_step=jnp.where(accepted, following.t - t, state.number("last_step")),
        restart=decision.restart,
        **rounding_numbers(matrix.rounding),
        **counts,
        **more,
    )


def _counts(
    settings: Settings,
    state: State,
    rounding: Rounding,
    work: Work,
    accepted: jax.Array,
    order: jax.Array | int,
) -> dict[str, jax.Array]:
    """What was counted until now, by name, after an attempt of this order."""
    limited, element = _limited(state.x, settings, rounding)
    limited = accepted & limited
    of_orders = histogram(state.numbers).at[order].add(accepted)
    return {
        **{name: state.number(name) + more for name, more in work._asdict().items()},
        **{name: of_orders[k] for k, name in enumerate(HISTOGRAM)},
        "limited_by_rounding": state.number("limited_by_rounding") + limited,
        "limited_element": jnp.where(limited, element, state.number("limited_element")),
    }


def _limited(x: jax.Array, settings: Settings, rounding: Rounding) -> tuple[jax.Array, jax.Array]:
    """Whether rounding is larger than the tolerance of the result, and where most."""

    def compare() -> tuple[jax.Array, jax.Array]:
        excess = beyond_tolerance(x, settings, rounding)
        return jnp.max(excess) > 1.0, jnp.argmax(excess).astype(jnp.int32)

    if len(x) < LARGE:
        return compare()
    return jax.lax.cond(rounding.matters, compare, lambda: (jnp.zeros((), bool), jnp.zeros((), jnp.int32)))

"""The corrector of inline integration: stages in sequence, each with small Newton iterations.

Unknowns that follow by formulas make their equations hold exactly, whatever the tear variables are; so
only these are iterated. Sizes are measured in all unknowns, with the weights and the rules of the whole
corrector (`method.newton`), but what formulas do before the first iteration is no error of it. Later stages
see what earlier ones have found. Nobody measures what an error of an early stage does to a later one: all
stages but the last go on until little more can be had.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from ..inlined_contract import Inlined, Stage
from ..linear.dense import DenseFactors
from ..method.context import Context
from ..method.controller import IN_JAX, MAX_ITERATIONS, TOLERANCE
from ..method.newton import Correction
from ..method.polynomial import Prediction
from ..method.settings import smallest_rate
from ..method.tolerances import weighted_norm
from .matrices import Torn, scaled_rows, solve_small


def correct_by_stages(
    context: Context,
    torn: Torn,
    t: jax.Array,
    prediction: Prediction,
    c: jax.Array,
    weights: jax.Array,
    rate: jax.Array,
    enabled: jax.Array,
    strict: jax.Array | bool = False,
    rounding: jax.Array | float = 0.0,
    may_stagnate: jax.Array | bool = True,
    slope_weights: Callable[[jax.Array], jax.Array] | None = None,
) -> Correction:
    """As `method.newton.correct`, with other factors."""
    inlined: Inlined = context.method.inlined
    problem, p = context.problem, context.p
    places = problem.slope_places
    iterated = [number for number, stage in enumerate(inlined.stages) if stage.iterated]

    def at(d: jax.Array) -> tuple[jax.Array, jax.Array]:
        return prediction.x + d, prediction.xdot + d / c

    def followed(stage: Stage, d: jax.Array) -> jax.Array:
        if not len(stage.solved):
            return d
        return d.at[stage.solved].add(stage.change(t, *at(d), p, c))

    def size_of(delta: jax.Array, d: jax.Array) -> jax.Array:
        size = weighted_norm(delta, weights)
        if slope_weights is not None:
            of_slopes = delta[places] * slope_weights(prediction.xdot + d / c)
            size = jnp.maximum(size, jnp.max(jnp.abs(of_slopes)))
        return size

    def solved(stage: Stage, factors: DenseFactors, own: bool | jax.Array, old: Correction) -> Correction:
        """A stage, from where the ones before it have come to."""

        def iterate(now: Correction) -> Correction:
            right = scaled_rows(problem, stage, t, *at(now.d), p, c).reshape(stage.tears.shape)
            moved = now.d.at[stage.tears.ravel()].add(-solve_small(factors, right).ravel())
            d = followed(stage, moved)
            judged = IN_JAX.judge_iteration(
                size_of(d - now.d, d), now.size, now.iteration, now.rate, own, rounding, may_stagnate,
                smallest_rate(problem.size), MAX_ITERATIONS, TOLERANCE,
            )  # fmt: skip
            return Correction(d, now.iteration + 1, *judged)

        def unfinished(now: Correction) -> jax.Array:
            goes_on = now.finite & ~now.converged & ~now.diverged
            return enabled & old.converged & goes_on & (now.iteration < MAX_ITERATIONS)

        no = jnp.zeros((), bool)
        begun = Correction(
            followed(stage, old.d), jnp.zeros((), jnp.int32), jnp.zeros_like(c), rate, old.finite, no, no
        )
        return jax.lax.while_loop(unfinished, iterate, begun)

    zero, no, yes = jnp.zeros_like(c), jnp.zeros((), bool), jnp.ones((), bool)
    found = Correction(jnp.zeros_like(prediction.x), jnp.zeros((), jnp.int32), zero, zero, yes, enabled, no)
    for number, (stage, factors) in enumerate(zip(inlined.stages, torn.factors, strict=True)):
        if not stage.iterated:
            found = found._replace(d=followed(stage, found.d))
            continue
        own = solved(stage, factors, True if number != iterated[-1] else strict, found)
        found = Correction(
            own.d,
            jnp.maximum(found.iteration, own.iteration),
            jnp.maximum(found.size, own.size),
            jnp.maximum(found.rate, own.rate),
            found.finite & own.finite,
            found.converged & own.converged,
            found.diverged | own.diverged,
        )
    finite = found.finite & jnp.all(jnp.isfinite(found.d))
    return found._replace(
        rate=found.rate if iterated else rate, finite=finite, converged=found.converged & finite
    )

"""Moves x onto the constraints, with the matrix at hand: part of a restart after failed error tests.

Newton's iteration may stop just before a kink and leave an algebraic variable on the wrong branch. No
step is then small enough, because its correction does not shrink with the step.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..linear.contract import Factors
from ..matrix.jacobian import fd_rows
from .context import Context
from .tolerances import weighted_norm

PROJECTIONS = 4
SETTLED = 0.01
"""Change of the last projection in units of the shift, or of the tolerance."""


def onto_constraints(
    context: Context,
    t: jax.Array,
    x: jax.Array,
    xdot: jax.Array,
    c: jax.Array,
    factors: Factors,
    weights: jax.Array,
) -> jax.Array:
    """The shift of x, for the factors of a matrix with this c.

    Md shift = 0: differential variables stay. The fd rows of the matrix are Md + c dfd/dx, so the second
    term goes to the other side, with the shift found before. Where that does not settle, as with a matrix
    that is too old or a step too long, nothing is moved: the next attempt is at a smaller step.
    """
    is_fd = fd_rows(context.problem, context.p)

    def by_x(shift: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.jvp(lambda x: context.problem.residual(t, x, xdot, context.p), (x,), (shift,))

    def improve(_: int, shifts: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        shift = shifts[0]
        residual, change = by_x(shift)
        right = jnp.where(is_fd, c * change, -residual)
        return context.solve(factors, right), shift

    nothing = jnp.zeros_like(x)
    shift, before = jax.lax.fori_loop(0, PROJECTIONS, improve, (nothing, nothing))
    unsettled = weighted_norm(shift - before, weights)
    settled = unsettled <= jnp.maximum(SETTLED * weighted_norm(shift, weights), SETTLED)
    return jnp.where(settled & jnp.all(jnp.isfinite(shift)), shift, 0.0)

"""Constrained mechanisms in the form of Gear, Gupta and Leimkuhler (1985), special index-1 form.

    q' - v + G^T mu' = 0,   M(q) v' - f(t, q, v) + s G^T lam' = 0,   g(t, q) = 0,   G v + g_t = 0,

x = [q, v, integral of lambda, integral of mu]. The exact mu is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from modia_py.solvers import Problem


def mechanism(
    n: int,
    m: int,
    mass: Callable[[Any], Any],
    force: Callable[[Any, Any, Any], Any],
    constraint: Callable[[Any, Any], Any],
    sign: float = 1.0,
) -> Problem:
    """n coordinates, m constraints; the sign is that of the multiplier in the equation of motion."""

    def residual(t: Any, x: Any, xdot: Any, p: Any) -> Any:
        q, v = x[:n], x[n : 2 * n]
        lam, mu = xdot[2 * n : 2 * n + m], xdot[2 * n + m :]
        transposed = jax.vjp(lambda q: constraint(t, q), q)[1]
        position, velocity = jax.jvp(constraint, (t, q), (jnp.ones_like(t), v))
        return jnp.concatenate(
            [
                xdot[:n] - v + transposed(mu)[0],
                mass(q) @ xdot[n : 2 * n] - force(t, q, v) + sign * transposed(lam)[0],
                position,
                velocity,
            ]
        )

    size = 2 * (n + m)
    place = np.arange(size)
    return Problem(residual, size, 2 * n, integrals=place >= 2 * n, multipliers=place >= 2 * n + m)

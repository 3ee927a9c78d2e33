"""Mechanisms in minimal coordinates, integrated by scipy's DOP853: an independent reference.

With the positions of all masses as functions of the coordinates, q -> z(q), the equations of motion are
those of Lagrange: M q'' + h = 0 with M = J^T W J, h = J^T W (dJ/dt q') + dV/dq.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

G = 9.81


def rotated(angle):
    return jnp.stack([jnp.cos(angle), jnp.sin(angle)])


def pendulum(q):
    """Positions, weights of the kinetic energy, and potential energy; q from the x axis."""
    r = rotated(q[0])
    return r, jnp.ones(2), G * r[1]


def double_pendulum(q):
    r1 = rotated(q[0])
    r2 = r1 + rotated(q[1])
    return jnp.concatenate([r1, r2]), jnp.ones(4), G * (r1[1] + r2[1])


def bars(each):
    """Bars (mass, length, end a, angle): centres and angles."""
    centres = [a + length / 2 * rotated(angle) for _, length, a, angle in each]
    z = jnp.concatenate([jnp.append(r, angle) for r, (*_, angle) in zip(centres, each, strict=True)])
    weights = jnp.concatenate([jnp.array([m, m, m * length**2 / 12]) for m, length, *_ in each])
    return z, weights, sum(m * G * r[1] for r, (m, *_) in zip(centres, each, strict=True))


def slider_crank(q):
    crank, rod, slider = 0.5, 1.5, 2.0
    pin = crank * rotated(q[0])
    angle = -jnp.arcsin(pin[1] / rod)
    z, weights, potential = bars([(1.0, crank, jnp.zeros(2), q[0]), (1.0, rod, pin, angle)])
    x = pin[0] + rod * jnp.cos(angle)
    return jnp.append(z, x), jnp.append(weights, slider), potential


def four_bar(q):
    pivot, coupler, rocker = jnp.array([2.0, 0.0]), 2.0, 1.5
    pin = rotated(q[0])
    d = pivot - pin
    along = (coupler**2 - rocker**2 + d @ d) / 2 / (d @ d)
    across = jnp.sqrt(coupler**2 / (d @ d) - along**2)
    end = pin + along * d + across * jnp.stack([d[1], -d[0]])
    angles = [jnp.arctan2(v[1], v[0]) for v in (end - pin, end - pivot)]
    return bars(
        [(1.0, 1.0, jnp.zeros(2), q[0]), (2.0, coupler, pin, angles[0]), (1.5, rocker, pivot, angles[1])]
    )


def reference(mechanism, q0, times):
    """Positions z at some times, from rest."""
    n = len(q0)

    @jax.jit
    def rates(_, y):
        q, w = y[:n], y[n:]

        def position(q):
            return mechanism(q)[0]

        weights = mechanism(q)[1]
        jacobian = jax.jacfwd(position)(q)
        _, curvature = jax.jvp(lambda q: jax.jvp(position, (q,), (w,))[1], (q,), (w,))
        force = -(jacobian.T @ (weights * curvature)) - jax.grad(lambda q: mechanism(q)[2])(q)
        return jnp.concatenate([w, jnp.linalg.solve(jacobian.T @ (weights[:, None] * jacobian), force)])

    start = np.concatenate([q0, np.zeros(n)])
    solution = solve_ivp(rates, (0, times[-1]), start, "DOP853", times, rtol=1e-12, atol=1e-12)
    assert solution.success
    return np.asarray(jax.vmap(lambda y: mechanism(y[:n])[0])(solution.y.T))

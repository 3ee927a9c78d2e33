"""Andrews' squeezing mechanism: seven bodies, six constraints (Schiehlen 1990; Test Set for IVP
Solvers)."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from .mechanisms import mechanism
from .testset import Case, _ref

M1, M2, M3, M4, M5, M6, M7 = 0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498
I1, I2, I3, I4, I5, I6, I7 = 2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5
XA, YA, XB, YB, XC, YC = -0.06934, -0.00227, -0.03635, 0.03273, 0.014, 0.072
D, DA, E, EA, RR, RA, SS, SA, SB, SC, SD = (
    28e-3,
    115e-4,
    2e-2,
    1421e-5,
    7e-3,
    92e-5,
    35e-3,
    1874e-5,
    1043e-5,
    18e-3,
    2e-2,
)
TA, TB, U, UA, UB, ZF, ZT, FA = 2308e-5, 916e-5, 4e-2, 1228e-5, 449e-5, 2e-2, 4e-2, 1421e-5
C0, L0, TORQUE = 4530.0, 7785e-5, 33e-3


def _mass(q):
    th, ph, om = q[1], q[3], q[5]
    e2, f2 = E - EA, ZF - FA
    m = jnp.zeros((7, 7))
    m12 = M2 * (DA**2 - DA * RR * jnp.cos(th)) + I2
    m45 = M4 * (e2**2 + ZT * e2 * jnp.sin(ph)) + I4
    m67 = M6 * (f2**2 - U * f2 * jnp.sin(om)) + I6
    m = m.at[0, 0].set(M1 * RA**2 + M2 * (RR**2 - 2 * DA * RR * jnp.cos(th) + DA**2) + I1 + I2)
    m = m.at[0, 1].set(m12).at[1, 0].set(m12).at[1, 1].set(M2 * DA**2 + I2)
    m = m.at[2, 2].set(M3 * (SA**2 + SB**2) + I3).at[3, 3].set(M4 * e2**2 + I4)
    m = m.at[3, 4].set(m45).at[4, 3].set(m45)
    m = m.at[4, 4].set(M4 * (ZT**2 + 2 * ZT * e2 * jnp.sin(ph) + e2**2) + M5 * (TA**2 + TB**2) + I4 + I5)
    m = m.at[5, 5].set(M6 * f2**2 + I6).at[5, 6].set(m67).at[6, 5].set(m67)
    return m.at[6, 6].set(M6 * (f2**2 - 2 * U * f2 * jnp.sin(om) + U**2) + M7 * (UA**2 + UB**2) + I6 + I7)


def _force(t, q, v):
    th, ga, ph, om = q[1], q[2], q[3], q[5]
    bp, tp, pp, dp, op, ep = v[0], v[1], v[3], v[4], v[5], v[6]
    xd = SD * jnp.cos(ga) + SC * jnp.sin(ga) + XB
    yd = SD * jnp.sin(ga) - SC * jnp.cos(ga) + YB
    length = jnp.hypot(xd - XC, yd - YC)
    k = -C0 * (length - L0) / length
    h2, h4, h6 = M2 * DA * RR, M4 * ZT * (E - EA), M6 * U * (ZF - FA)
    spring = (xd - XC) * (SC * jnp.cos(ga) - SD * jnp.sin(ga)) + (yd - YC) * (
        SD * jnp.cos(ga) + SC * jnp.sin(ga)
    )
    return jnp.stack(
        [
            TORQUE - h2 * tp * (tp + 2 * bp) * jnp.sin(th),
            h2 * bp**2 * jnp.sin(th),
            k * spring,
            h4 * dp**2 * jnp.cos(ph),
            -h4 * pp * (pp + 2 * dp) * jnp.cos(ph),
            -h6 * ep**2 * jnp.cos(om),
            h6 * op * (op + 2 * ep) * jnp.cos(om),
        ]
    )


def _constraint(t, q):
    be, th, ga, ph, de, om, ep = (q[i] for i in range(7))
    sin, cos = jnp.sin, jnp.cos
    px, py = RR * cos(be) - D * cos(be + th), RR * sin(be) - D * sin(be + th)
    return jnp.stack(
        [
            px - SS * sin(ga) - XB,
            py + SS * cos(ga) - YB,
            px - E * sin(ph + de) - ZT * cos(de) - XA,
            py + E * cos(ph + de) - ZT * sin(de) - YA,
            px - ZF * cos(om + ep) - U * sin(ep) - XA,
            py - ZF * sin(om + ep) + U * cos(ep) - YA,
        ]
    )


def andrews() -> Case:
    q0 = [
        -0.0617138900142764496,
        0.0,
        0.455279819163070380,
        0.222668390165885885,
        0.487364979543842550,
        -0.222668390165885885,
        1.23054744454982120,
    ]
    return Case(
        "andrews",
        mechanism(7, 6, _mass, _force, _constraint),
        0.0,
        0.03,
        np.concatenate([q0, np.zeros(19)]),
        _ref("andrews"),
        atol=1e-9,
        listed=lambda x, xdot: np.concatenate([x[:14], xdot[7:14], xdot[14:20]]),
        states=14,
    )

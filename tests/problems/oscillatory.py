"""Stiff oscillations, which multistep methods of high order are unstable for.

ring_modulator: Test Set for IVP Solvers (Bari/CWI), with Cs = 2e-12, and its reference. beam: E. Hairer,
G. Wanner, Solving Ordinary Differential Equations II, section IV.1: an elastic beam of n joints, clamped at
one end and pulled at the other; its angles and their rates. Its reference is what Radau IIA here comes
to at rtol = 1e-9.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from .testset import Case, linear_implicit

RING_MODULATOR = [
    -0.2339057358486745e-1, -0.7367485485540825e-2, 0.2582956709291169, -0.4064465721283450,
    -0.4039455665149794, 0.2607966765422943, 0.1106761861269975, 0.2939904342435596e-6,
    -0.2840029933642329e-7, 0.7267198267264553e-3, 0.7929487196960840e-3, -0.7255283495698965e-3,
    -0.7941401968526521e-3, 0.7088495416976114e-4, 0.2390059075236570e-4,
]  # fmt: skip


def ring_modulator() -> Case:
    C, Cs, Cp, R, Rp, Lh, Ls1, Ls2, Ls3 = 1.6e-8, 2e-12, 1e-8, 25e3, 50.0, 4.45, 2e-3, 5e-4, 5e-4
    Rg1, Rg2, Rg3, Ri, Rc = 36.3, 17.3, 17.3, 50.0, 600.0

    def diode(u):
        return 40.67286402e-9 * (jnp.exp(17.7493332 * u) - 1)

    def f(t, y, p):
        one = 0.5 * jnp.sin(2e3 * jnp.pi * t)
        two = 2.0 * jnp.sin(2e4 * jnp.pi * t)
        a, b, c, d, e, g, u, i1, i2, i3, i4, i5, i6, i7, i8 = (y[k] for k in range(15))
        q1, q2 = diode(c - e - u - two), diode(-d + g - u - two)
        q3, q4 = diode(d + e + u + two), diode(-c - g + u + two)
        return jnp.stack(
            [
                (i1 - 0.5 * i3 + 0.5 * i4 + i7 - a / R) / C,
                (i2 - 0.5 * i5 + 0.5 * i6 + i8 - b / R) / C,
                (i3 - q1 + q4) / Cs,
                (-i4 + q2 - q3) / Cs,
                (i5 + q1 - q3) / Cs,
                (-i6 - q2 + q4) / Cs,
                (-u / Rp + q1 + q2 - q3 - q4) / Cp,
                -a / Lh,
                -b / Lh,
                (0.5 * a - c - Rg2 * i3) / Ls2,
                (-0.5 * a + d - Rg3 * i4) / Ls3,
                (0.5 * b - e - Rg2 * i5) / Ls2,
                (-0.5 * b + g - Rg3 * i6) / Ls3,
                (-a + one - (Ri + Rg1) * i7) / Ls1,
                (-b - (Rc + Rg1) * i8) / Ls1,
            ]
        )

    problem = linear_implicit(15, np.ones(15), f, 15)
    return Case("ring_modulator", problem, 0.0, 1e-3, np.zeros(15), np.array(RING_MODULATOR), atol=1e-10)


def beam(n: int = 40) -> Case:
    number = np.arange(1, n + 1)
    lever = n + 0.5 - np.maximum(number[:, None], number)

    def f(t, y, p):
        angle, rate = y[:n], y[n:]
        pull = jnp.where(t <= jnp.pi, 1.5 * jnp.sin(t) ** 2, 0.0)
        before = jnp.concatenate([-angle[:1], angle[:-1]])
        after = jnp.concatenate([angle[1:], angle[-1:]])
        force = n**4 * (before - 2 * angle + after) + n**2 * pull * (jnp.cos(angle) + jnp.sin(angle))
        difference = angle[:, None] - angle
        inertia, turning = lever * jnp.cos(difference), lever * jnp.sin(difference)
        return jnp.concatenate([rate, jnp.linalg.solve(inertia, force - turning @ rate**2)])

    problem = linear_implicit(2 * n, np.ones(2 * n), f, 2 * n, one_by_one=True)
    return Case("beam", problem, 0.0, 5.0, np.zeros(2 * n), np.zeros(2 * n), atol=1e-7)

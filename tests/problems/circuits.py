"""Two networks of the Test Set for IVP Solvers: a NAND gate (Guenther, Rentrop) and water tubes (Koren,
Michielsen)."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from modia_py.solvers import Problem

from .testset import Case, _ref

# threshold, body factor, surface potential, beta forward, beta reverse
DEPLETION = (-2.43, 0.2, 1.28, 5.35e-4, 5.35e-4)
ENHANCEMENT = (0.2, 0.035, 1.01, 1.748e-3, 1.748e-4)
# type, source side, drain side, bulk at source, bulk at drain, external source, external drain, gate
TRANSISTORS = [
    (DEPLETION, 0, 1, 2, 3, 4, None, 4),
    (ENHANCEMENT, 5, 6, 7, 8, 9, 4, "first"),
    (ENHANCEMENT, 10, 11, 12, 13, None, 9, "second"),
]
SUPPLY, BULK = 5.0, -2.5


def _drain_current(kind, vds, vgs, vbs, vgd, vbd):
    threshold, body, phi, forward, reverse = kind

    def overdrive(v, bulk):
        return v - (threshold + body * (jnp.sqrt(phi - bulk) - np.sqrt(phi)))

    up, down = overdrive(vgs, vbs), overdrive(vgd, vbd)
    channel_up = 1 + 0.02 * vds
    channel_down = 1 - 0.02 * vds
    plus = jnp.where(up <= vds, -forward * up * up, -forward * vds * (2 * up - vds)) * channel_up
    minus = jnp.where(down <= -vds, reverse * down * down, -reverse * vds * (2 * down + vds)) * channel_down
    plus, minus = jnp.where(up <= 0, 0.0, plus), jnp.where(down <= 0, 0.0, minus)
    return jnp.where(vds > 0, plus, jnp.where(vds < 0, minus, 0.0))


def _junction_current(v):
    return jnp.where(v <= 0, -1e-14 * jnp.expm1(jnp.minimum(v, 0.0) / 25.85), 0.0)


def _junction_capacity(v):
    return jnp.where(
        v <= 0, 2.4e-5 / jnp.sqrt(1 - jnp.minimum(v, 0.0) / 0.87), 2.4e-5 * (1 + v / (2 * 0.87))
    )


def _nand_residual(t, y, yd, p):
    """p: start of the piece, and value there and slope of both inputs."""
    start, first, first_slope, second, second_slope = (p[i] for i in range(5))
    inputs = {
        "first": (first + first_slope * (t - start), first_slope),
        "second": (second + second_slope * (t - start), second_slope),
    }
    rows = [0.0] * 14

    def capacitor(a, b, capacity):
        rate = (yd[a] if isinstance(a, int) else 0.0) - (yd[b] if isinstance(b, int) else 0.0)
        rows[a] = rows[a] + capacity * rate
        if isinstance(b, int):
            rows[b] = rows[b] - capacity * rate

    for _index, (kind, a, b, c, d, source, drain, gate) in enumerate(TRANSISTORS):
        vs = 0.0 if source is None else y[source]
        vd = SUPPLY if drain is None else y[drain]
        vg, slope = inputs[gate] if isinstance(gate, str) else (y[gate], 0.0)
        i = _drain_current(kind, y[b] - y[a], vg - y[a], y[c] - vs, vg - y[b], y[d] - vd)
        js, jd = _junction_current(y[c] - vs), _junction_current(y[d] - vd)
        rows[a] = rows[a] - (0.6e-4 * slope - (y[a] - vs) / 4 - i)
        rows[b] = rows[b] - (0.6e-4 * slope - (y[b] - vd) / 4 + i)
        rows[c] = rows[c] - (-(y[c] - BULK) / 10 + js)
        rows[d] = rows[d] - (-(y[d] - BULK) / 10 + jd)
        if source is not None:
            rows[source] = rows[source] - (-(vs - y[a]) / 4 - js)
        if drain is not None:
            rows[drain] = rows[drain] - (-(vd - y[b]) / 4 - jd)
        capacitor(a, gate, 0.6e-4)
        capacitor(b, gate, 0.6e-4)
        capacitor(c, source, _junction_capacity(y[c] - vs))
        capacitor(d, drain, _junction_capacity(y[d] - vd))
    rows[4] = rows[4] + 0.5e-4 * yd[4]
    rows[9] = rows[9] + 0.5e-4 * yd[9]
    return jnp.stack(rows)


def _pulse(t, delay, high, period):
    """Value and slope just after t; rises and falls take 5."""
    x = t % period
    if x >= delay + 10 + high or x < delay:
        return 0.0, 0.0
    if x >= delay + 5 + high:
        return delay + 10 + high - x, -1.0
    if x >= delay + 5:
        return 5.0, 0.0
    return x - delay, 1.0


def _nand_piece(start, end):
    return np.array([start, *_pulse(start, 5.0, 5.0, 20.0), *_pulse(start, 15.0, 15.0, 40.0)])


def nand() -> Case:
    x0 = np.array([5, 5, BULK, BULK, 5, 3.62385, 5, BULK, BULK, 3.62385, 0, 3.62385, BULK, BULK])
    return Case(
        "nand",
        Problem(_nand_residual, 14, 14),
        0.0,
        80.0,
        x0,
        _ref("nand"),
        atol=1e-10,
        kinks=tuple(np.arange(5.0, 80.0, 5.0)),
        parameters=_nand_piece,
    )


PIPES = [
    (1, 2),
    (2, 3),
    (2, 6),
    (3, 4),
    (3, 5),
    (4, 5),
    (5, 10),
    (6, 5),
    (7, 4),
    (7, 8),
    (8, 5),
    (8, 10),
    (9, 8),
    (11, 9),
    (11, 12),
    (12, 7),
    (12, 8),
    (13, 11),
]
NODES = [5, 8, 1, 2, 3, 4, 6, 7, 9, 10, 11, 12, 13]
"""The first two have buffers; the pressures of the others are index-2 unknowns, x holds their integrals."""


def water() -> Case:
    row = {node: i for i, node in enumerate(NODES)}
    origin, target = (np.array([row[pipe[k]] for pipe in PIPES]) for k in (0, 1))
    incidence = np.zeros((13, 18))
    incidence[origin, np.arange(18)] -= 1
    incidence[target, np.arange(18)] += 1
    nu, density, length, rough, diameter = 1.31e-6, 1e3, 1e3, 2e-4, 1.0
    area = np.pi * diameter**2 / 4
    inertia, buffer = density * length / area, 2e2 / (density * 9.8)

    def residual(t, x, xdot, p):
        flow, friction = x[:18], x[18:36]
        pressure = jnp.concatenate([x[36:38], xdot[38:]])
        hours = t / 3600.0
        inflow = 1 - jnp.cos(jnp.exp(-hours) - 1)
        outside = jnp.zeros(13).at[row[1]].set(inflow / 200).at[row[13]].set(inflow / 80)
        outside = outside.at[row[10]].set(-(hours**2) * (3 * hours**2 - 92 * hours + 720) / 1e6)
        reynolds = jnp.abs(flow * diameter / (nu * area))
        turbulent = reynolds > 2.3e3
        root = jnp.sqrt(friction)
        law = (
            1 / root
            - 1.74
            + 2 * jnp.log10(2 * rough / diameter + 18.7 / (jnp.where(turbulent, reynolds, 2.3e3) * root))
        )
        drop = jnp.where(
            turbulent,
            friction * density * length * flow**2 / (area**2 * diameter),
            32 * nu * density * length * flow / (area * diameter**2),
        )
        balance = outside + incidence @ flow
        return jnp.concatenate(
            [
                inertia * xdot[:18] - (pressure[origin] - pressure[target] - drop),
                buffer * xdot[36:38] - balance[:2],
                law,
                balance[2:],
            ]
        )

    x0 = np.concatenate(
        [np.zeros(18), np.full(18, 0.47519404529185289807e-1), np.full(2, 109800.0), np.zeros(11)]
    )
    return Case(
        "water",
        Problem(residual, 49, 20, integrals=np.arange(49) >= 38),
        0.0,
        17 * 3600.0,
        x0,
        _ref("water"),
        atol=np.array([1e-11] * 18 + [1e-10] * 18 + [1e-5] * 13),
        listed=lambda x, xdot: np.concatenate([x[:38], xdot[38:]]),
        states=38,
    )

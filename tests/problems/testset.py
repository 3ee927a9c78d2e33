"""Published test problems, written as residuals in the special index-1 form.

Each `Case` has the residual, start values, where to restart, and what of (x, xdot) the reference lists.
Sources: Test Set for IVP Solvers (Bari/CWI): hires, medakzo, nand, robertson, chemakzo, transamp, water,
caraxis, andrews; exact solutions: brenan (Brenan, Campbell, Petzold 1996), kvaerno (1990), jay (1993);
heat_exchanger: ScalableTestSuite (Casella); pendulum: multibody benchmark A01. Mechanisms are in the form
of Gear, Gupta and Leimkuhler.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from modia_py.solvers import Problem

from .mechanisms import mechanism

REFERENCES = json.loads((Path(__file__).parent.parent / "data" / "testset.json").read_text())


@dataclass(frozen=True, eq=False)
class Case:
    name: str
    problem: Problem
    t0: float
    t1: float
    x0: np.ndarray
    reference: np.ndarray
    listed: Callable[[Any, Any], Any] = lambda x, xdot: x
    """What the reference lists, in terms of x and xdot."""
    atol: Any = 1e-9
    """Absolute tolerance that goes with rtol = 1e-7."""
    kinks: tuple[float, ...] = ()
    parameters: Callable[[float, float], Any] = lambda start, end: None
    """Parameters of the piece between two kinks."""
    floor: float = 1e-300
    """Below this, reference values are compared absolutely."""
    states: int | None = None
    """How many of the listed values are elements of x, subject to the error test."""

    def pieces(self) -> list[tuple[float, float]]:
        points = [self.t0, *self.kinks, self.t1]
        return list(itertools.pairwise(points))


def linear_implicit(n: int, mass: Any, f: Callable[[Any, Any, Any], Any], fd: Any, **more: Any) -> Problem:
    """M xdot = f(t, x, p)."""
    mass = np.asarray(mass)
    product = (lambda v: mass * v) if mass.ndim == 1 else (lambda v: mass @ v)
    return Problem(lambda t, x, xdot, p: product(xdot) - f(t, x, p), n, fd, **more)


def hires() -> Case:
    k1, k2, k3, k4, k5, k6, k7, k8, k9 = 1.71, 0.43, 8.32, 0.69, 0.035, 8.32, 280.0, 0.69, 0.69

    def f(t, y, p):
        a, b, c, d, e, g, u, v = (y[i] for i in range(8))
        bind = k7 * g * v
        last = bind - (k2 + k8 + k9) * u
        return jnp.stack(
            [
                0.0007 - k1 * a + k2 * b + k6 * c,
                k1 * a - (k2 + k3) * b,
                k2 * d + k5 * e - (k1 + k6) * c,
                k3 * b + k1 * c - (k2 + k4) * d,
                k2 * (g + u) - (k1 + k5) * e,
                k8 * d + k1 * e + k8 * u - k2 * g - bind,
                last,
                -last,
            ]
        )

    x0 = np.array([1.0, 0, 0, 0, 0, 0, 0, 0.0057])
    return Case("hires", linear_implicit(8, np.ones(8), f, 8), 0.0, 321.8122, x0, _ref("hires"), atol=1e-14)


def medakzo(cells: int = 200) -> Case:
    z = np.arange(1, cells + 1) / cells
    alpha, beta = 2 * (z - 1) ** 3 / 16, (z - 1) ** 4 / 16

    def f(t, y, p):
        u, v = y[0::2], y[1::2]
        left = jnp.concatenate([p[None], u[:-1]])
        right = jnp.concatenate([u[1:], jnp.zeros(1)])
        reaction = 100.0 * u * v
        du = alpha * (right - left) * cells / 2 + beta * (left - 2 * u + right) * cells**2 - reaction
        return jnp.stack([du, -reaction], axis=1).ravel()

    x0 = np.tile([0.0, 1.0], cells)
    return Case(
        "medakzo",
        linear_implicit(2 * cells, np.ones(2 * cells), f, 2 * cells),
        0.0,
        20.0,
        x0,
        _ref("medakzo"),
        atol=1e-11,
        kinks=(5.0,),
        parameters=lambda a, b: 2.0 if b <= 5 else 0.0,
        floor=1e-7,
    )


def robertson() -> Case:
    def f(t, y, p):
        a, b, c = y[0], y[1], y[2]
        forward, back = 0.04 * a, 1e4 * b * c
        return jnp.stack([back - forward, forward - back - 3e7 * b * b, a + b + c - 1])

    problem = linear_implicit(3, [1.0, 1.0, 0.0], f, 2)
    return Case(
        "robertson",
        problem,
        0.0,
        1e11,
        np.array([1.0, 0, 0]),
        _ref("robertson"),
        atol=np.array([1e-14, 1e-20, 1e-14]),
    )


def chemakzo() -> Case:
    def f(t, y, p):
        a, b, c, d, e, g = (y[i] for i in range(6))
        root = jnp.sqrt(b)
        r1, r2, r3, r4 = 18.7 * a**4 * root, 0.58 * c * d, 0.58 / 34.4 * a * e, 0.09 * a * d * d
        r5, inflow = 0.42 * g * g * root, 3.3 * (0.9 / 737.0 - b)
        return jnp.stack(
            [
                -2 * r1 + r2 - r3 - r4,
                -0.5 * r1 - r4 - 0.5 * r5 + inflow,
                r1 - r2 + r3,
                -r2 + r3 - 2 * r4,
                r2 - r3 + r5,
                115.83 * a * d - g,
            ]
        )

    x0 = np.array([0.444, 0.00123, 0.0, 0.007, 0.0, 115.83 * 0.444 * 0.007])
    return Case(
        "chemakzo",
        linear_implicit(6, [1.0] * 5 + [0.0], f, 5),
        0.0,
        180.0,
        x0,
        _ref("chemakzo"),
        atol=1e-13,
    )


def transamp() -> Case:
    """The rows of two nodes that only a capacitor joins are added: their sum has no derivative."""
    capacity = np.array([1e-6, 2e-6, 3e-6, 4e-6, 5e-6])
    r0, r, ub = 1000.0, 9000.0, 6.0

    def residual(t, y, yd, p):
        ue = 0.1 * jnp.sin(200 * jnp.pi * t)
        i1, i2 = (1e-6 * jnp.expm1((y[a] - y[a + 1]) / 0.026) for a in (1, 4))
        out = [
            (y[0] - ue) / r0,
            y[1] / r + (y[1] - ub) / r + 0.01 * i1,
            y[2] / r - i1,
            (y[3] - ub) / r + 0.99 * i1,
            y[4] / r + (y[4] - ub) / r + 0.01 * i2,
            y[5] / r - i2,
            (y[6] - ub) / r + 0.99 * i2,
            y[7] / r,
        ]
        return jnp.stack(
            [
                capacity[0] * (yd[0] - yd[1]) + out[0],
                capacity[1] * yd[2] + out[2],
                capacity[2] * (yd[3] - yd[4]) + out[3],
                capacity[3] * yd[5] + out[5],
                capacity[4] * (yd[6] - yd[7]) + out[6],
                out[0] + out[1],
                out[3] + out[4],
                out[6] + out[7],
            ]
        )

    x0 = np.array([0.0, ub / 2, ub / 2, ub, ub / 2, ub / 2, ub, 0.0])
    return Case("transamp", Problem(residual, 8, 5), 0.0, 0.2, x0, _ref("transamp"), atol=1e-10)


def brenan() -> Case:
    def residual(t, y, yd, p):
        return jnp.stack([yd[0] - t * yd[1] + y[0] - (1 + t) * y[1], y[1] - jnp.sin(t)])

    end = np.array([np.exp(-100.0) + 100 * np.sin(100.0), np.sin(100.0)])
    return Case("brenan", Problem(residual, 2, 1), 0.0, 100.0, np.array([1.0, 0.0]), end, atol=1e-11)


def kvaerno() -> Case:
    def residual(t, y, yd, p):
        a, b, c = y[0], y[1], y[2]
        first = yd[0] + c * yd[1] - (b + 1) * yd[2] + a - 1 - jnp.sin(t)
        second = (c + 1) * yd[0] + a * yd[1] + jnp.exp(-t)
        return jnp.stack([first, second, a * b * c - 0.5 * jnp.exp(-t) * jnp.sin(2 * t)])

    start, end = (np.array([np.exp(-t), np.sin(t), np.cos(t)]) for t in (-1.0, 1.0))
    return Case("kvaerno", Problem(residual, 3, 2), -1.0, 1.0, start, end, atol=1e-11)


def jay() -> Case:
    """Index 2: the multiplier z is the derivative of x[2]."""

    def residual(t, x, xdot, p):
        a, b, z = x[0], x[1], xdot[2]
        return jnp.stack([xdot[0] - a * b * z, xdot[1] - a * a * b * b + 3 * b * b * z, a * a * b - 1])

    problem = Problem(residual, 3, 2, integrals=[False, False, True])
    end = np.exp(np.array([1.0, -2.0, 2.0]))
    return Case(
        "jay",
        problem,
        0.0,
        1.0,
        np.array([1.0, 1.0, 0.0]),
        end,
        atol=1e-10,
        listed=lambda x, xdot: np.append(x[:2], xdot[2]),
        states=2,
    )


def heat_exchanger(nodes: int = 80) -> Case:
    k = nodes - 1
    length = 10.0 / k
    heat, wall = 1000 * length * 5e-5 * 4200, 2000.0 / k

    def f(t, y, p):
        inlet, flow = p
        a, b, w, qa, qb = (y[i * k : (i + 1) * k] for i in range(5))
        a_up = jnp.concatenate([inlet[None], a[:-1]])
        b_up = jnp.concatenate([b[1:], jnp.full(1, 310.0)])
        return jnp.concatenate(
            [
                flow * 4200 * (a_up - a) + qa,
                4200 * (b_up - b) - qb,
                qb - qa,
                qa - (w - 0.5 * (a_up + a)) * 400 * length,
                qb - (0.5 * (b_up + b) - w) * 1000 * length,
            ]
        )

    mass = np.repeat([heat, heat, wall, 0.0, 0.0], k)
    # All temperatures are 300 K, but the inlet of the second flow is at 310 K.
    x0 = np.concatenate([np.full(3 * k, 300.0), np.zeros(2 * k)])
    x0[-1] = 5.0 * 1000 * length
    return Case(
        "heat_exchanger",
        linear_implicit(5 * k, mass, f, 3 * k),
        0.0,
        20.0,
        x0,
        _ref("heat_exchanger"),
        atol=1e-7,
        kinks=(8.0, 15.0),
        parameters=lambda a, b: (300.0 if b <= 8 else 301.0, 1.0 if b <= 15 else 1.1),
        floor=1.0,
    )


def _ref(name: str) -> np.ndarray:
    return np.array(REFERENCES[name])


def pendulum() -> Case:
    def constraint(t, q):
        return (q @ q - 1.0)[None]

    problem = mechanism(2, 1, lambda q: jnp.eye(2), lambda t, q, v: jnp.array([0.0, -9.81]), constraint)
    return Case(
        "pendulum",
        problem,
        0.0,
        10.0,
        np.array([-1.0, 0, 0, 0, 0, 0]),
        _ref("pendulum"),
        atol=1e-9,
        listed=lambda x, xdot: np.append(x[:4], xdot[4]),
        states=4,
    )


def caraxis() -> Case:
    def base(t):
        y = 0.1 * jnp.sin(10 * t)
        return jnp.stack([jnp.sqrt(1 - y * y), y])

    def force(t, q, v):
        left, right = q[:2], q[2:] - base(t)
        ll, lr = jnp.sqrt(left @ left), jnp.sqrt(right @ right)
        weight = jnp.array([0.0, -5e-4])
        return jnp.concatenate([(0.5 - ll) / ll * left + weight, (0.5 - lr) / lr * right + weight])

    def constraint(t, q):
        d = q[:2] - q[2:]
        return jnp.stack([q[:2] @ base(t), d @ d - 1.0])

    problem = mechanism(4, 2, lambda q: 5e-4 * jnp.eye(4), force, constraint, sign=-1.0)
    x0 = np.array([0.0, 0.5, 1.0, 0.5, -0.5, 0.0, -0.5, 0.0, 0, 0, 0, 0])
    return Case(
        "caraxis",
        problem,
        0.0,
        3.0,
        x0,
        _ref("caraxis"),
        atol=1e-9,
        listed=lambda x, xdot: np.concatenate([x[:8], xdot[8:10]]),
        states=8,
    )


def all_cases() -> list[Case]:
    from .andrews import andrews
    from .circuits import nand, water

    return [
        hires(),
        medakzo(),
        nand(),
        robertson(),
        chemakzo(),
        transamp(),
        brenan(),
        kvaerno(),
        heat_exchanger(),
        jay(),
        water(),
        caraxis(),
        andrews(),
        pendulum(),
    ]

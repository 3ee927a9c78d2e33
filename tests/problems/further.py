"""Further problems, on which no constant of the integrator was chosen.

References are closed forms, or were computed by `python -m tests.problems.further` with Radau or DOP853 of
scipy at rtol = 1e-12, on the explicit differential equations in minimal coordinates.
"""

from __future__ import annotations

import json
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from modia_py.solvers import Problem

from .mechanisms import mechanism
from .testset import Case, linear_implicit

DATA = Path(__file__).parent.parent / "data" / "further.json"


def explicit(name, f, n, t1, x0, atol, t0=0.0):
    """xdot = f(t, x)."""
    problem = linear_implicit(n, np.ones(n), lambda t, x, p: f(t, x, jnp), n)
    reference = (
        np.array(json.loads(DATA.read_text()).get(name, np.zeros(n))) if DATA.exists() else np.zeros(n)
    )
    return Case(name, problem, t0, t1, np.asarray(x0, float), reference, atol=atol)


def van_der_pol(t, x, np):
    return np.stack([x[1], 1000.0 * (1 - x[0] ** 2) * x[1] - x[0]])


def oregonator(t, x, np):
    a, b, c = x[0], x[1], x[2]
    return np.stack([77.27 * (b + a * (1 - 8.375e-6 * a - b)), (c - (1 + a) * b) / 77.27, 0.161 * (a - c)])


def brusselator(t, x, np):
    u, v = x[:50], x[50:]
    left, right = np.concatenate, np.concatenate
    du = left([np.ones(1), u[:-1]]) - 2 * u + right([u[1:], np.ones(1)])
    dv = left([3 * np.ones(1), v[:-1]]) - 2 * v + right([v[1:], 3 * np.ones(1)])
    diffusion = 51.0**2 / 50
    return np.concatenate([1 + u * u * v - 4 * u + diffusion * du, 3 * u - u * u * v + diffusion * dv])


def brusselator_start():
    place = np.arange(1, 51) / 51
    return np.concatenate([1 + np.sin(2 * np.pi * place), np.full(50, 3.0)])


def double_pendulum_angles(t, x, np):
    """Two unit masses on unit rods; angles from the vertical, and their rates."""
    a, b, da, db = x[0], x[1], x[2], x[3]
    g, s, c = 9.81, np.sin(a - b), np.cos(a - b)
    divisor = 2 - c * c
    dda = (-2 * g * np.sin(a) + g * np.sin(b) * c - s * (db * db + c * da * da)) / divisor
    ddb = (2 * g * np.sin(a) * c - 2 * g * np.sin(b) + s * (2 * da * da + c * db * db)) / divisor
    return np.stack([da, db, dda, ddb])


def cartesian(x):
    a, b, da, db = x
    q = np.array([np.sin(a), -np.cos(a), np.sin(a) + np.sin(b), -np.cos(a) - np.cos(b)])
    first = np.array([np.cos(a), np.sin(a)]) * da
    return np.concatenate([q, first, first + np.array([np.cos(b), np.sin(b)]) * db])


DOUBLE_START = np.array([1.5, 1.0, 0.0, 0.0])


def double_pendulum():
    def constraint(t, q):
        d = q[2:] - q[:2]
        return jnp.stack([q[:2] @ q[:2] - 1, d @ d - 1])

    weight = jnp.array([0.0, -9.81, 0.0, -9.81])
    problem = mechanism(4, 2, lambda q: jnp.eye(4), lambda t, q, v: weight, constraint)
    end = json.loads(DATA.read_text())["double_pendulum"] if DATA.exists() else DOUBLE_START
    return Case(
        "double_pendulum",
        problem,
        0.0,
        3.0,
        np.concatenate([cartesian(DOUBLE_START), np.zeros(4)]),
        cartesian(np.array(end)),
        atol=1e-9,
        listed=lambda x, xdot: x[:8],
        states=8,
    )


SATURATION, THERMAL, SERIES = 1e-9, 0.05, 10.0


def rectifier():
    """A diode charges a capacitor through a resistor; the node between is algebraic."""

    def residual(t, x, xdot, p):
        v, w = x[0], x[1]
        source = 5 * jnp.sin(2 * jnp.pi * 50 * t)
        current = SATURATION * jnp.expm1((w - v) / THERMAL)
        return jnp.stack([1e-4 * xdot[0] - current + v / 1000, (source - w) / SERIES - current])

    problem = Problem(residual, 2, 1)
    end = json.loads(DATA.read_text())["rectifier"] if DATA.exists() else [0.0, 0.0]
    return Case("rectifier", problem, 0.0, 0.1, np.zeros(2), np.array(end), atol=1e-10)


def rectifier_node(t, v):
    """The voltage of the node by Lambert's function."""
    from scipy.special import lambertw

    source = 5 * np.sin(2 * np.pi * 50 * t)
    ratio = SERIES * SATURATION / THERMAL
    w = lambertw(ratio * np.exp((source - v) / THERMAL + ratio)).real
    return source + SERIES * SATURATION - THERMAL * w


def rectifier_reduced(t, x, np):
    current = SATURATION * np.expm1((rectifier_node(t, x[0]) - x[0]) / THERMAL)
    return np.stack([(current - x[0] / 1000) / 1e-4])


def linear_index_1():
    """x' = -1000 (x - cos t) - sin t, so x = cos t; z and y follow algebraically."""

    def residual(t, x, xdot, p):
        return jnp.stack(
            [
                xdot[0] + 1000 * (x[1] - jnp.cos(t)) + jnp.sin(t),
                x[1] - x[0] + 1e-3 * x[2],
                x[2] - x[0] + x[1],
            ]
        )

    end = np.array([np.cos(30.0), np.cos(30.0), 0.0])
    x0 = np.array([1.0, 1.0, 0.0])
    return Case("linear_index_1", Problem(residual, 3, 1), 0.0, 30.0, x0, end, atol=1e-8, floor=1e-3)


def oscillator(name="oscillator", scale=1.0, t0=0.0, periods=100.0):
    """x'' = -x over many periods."""
    problem = linear_implicit(2, np.ones(2), lambda t, x, p: jnp.stack([x[1], -x[0]]), 2)
    end = 2 * np.pi * periods + 1.0
    reference = scale * np.array([np.cos(end), -np.sin(end)])
    return Case(name, problem, t0, t0 + end, np.array([scale, 0.0]), reference, atol=1e-7 * scale)


def small_and_late():
    """Logistic growth to 1e-12, fed by a wave, that begins at t = 1e6."""

    def f(t, x, p):
        wave = 1e-12 * jnp.sin(t - 1e6)
        return jnp.stack([x[0] * (1 - x[0] / 1e-12), -50 * (x[1] - wave) + 1e-12 * jnp.cos(t - 1e6)])

    reference = 1e-12 * np.array([1 / (1 + 99 * np.exp(-10.0)), np.sin(10.0)])
    problem = linear_implicit(2, np.ones(2), f, 2)
    return Case("small_and_late", problem, 1e6, 1e6 + 10, np.array([1e-14, 0.0]), reference, atol=1e-21)


def all_cases():
    return [
        explicit("van_der_pol", van_der_pol, 2, 2000.0, [2.0, 0.0], 1e-9),
        explicit("oregonator", oregonator, 3, 360.0, [1.0, 2.0, 3.0], 1e-9),
        explicit("brusselator", brusselator, 100, 10.0, brusselator_start(), 1e-8),
        double_pendulum(),
        rectifier(),
        linear_index_1(),
        oscillator(),
        oscillator("late_oscillator", 1.0, 1e6, 5.0),
        small_and_late(),
    ]


def compute_references():
    from scipy.integrate import solve_ivp

    def end(f, t1, x0, method, atol):
        found = solve_ivp(lambda t, x: f(t, x, np), (0, t1), x0, method, rtol=1e-12, atol=atol, t_eval=[t1])
        return found.y[:, -1].tolist()

    found = {
        "van_der_pol": end(van_der_pol, 2000.0, [2.0, 0.0], "Radau", 1e-14),
        "oregonator": end(oregonator, 360.0, [1.0, 2.0, 3.0], "Radau", 1e-13),
        "brusselator": end(brusselator, 10.0, brusselator_start(), "Radau", 1e-13),
        "double_pendulum": end(double_pendulum_angles, 3.0, DOUBLE_START, "DOP853", 1e-13),
    }
    v = end(rectifier_reduced, 0.1, [0.0], "Radau", 1e-14)[0]
    found["rectifier"] = [v, float(rectifier_node(0.1, v))]
    DATA.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    compute_references()

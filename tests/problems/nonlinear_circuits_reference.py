"""References for nonlinear_circuits.py: `python -m tests.problems.nonlinear_circuits_reference` writes
the data.

The circuits once more, by hand, as nodal equations M z' = f(t, z): nothing of modia_py is used, and of
JAX only arrays and the Jacobian. They are integrated by Radau IIA of order 5 with one full and two half
steps at a time, the difference of which controls the step. A second run at a tolerance ten times larger
tells how many digits hold.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from tests.fuzz.tableau import INVERSE, NODES

jax.config.update("jax_enable_x64", True)

DATA = Path(__file__).parents[1] / "data" / "nonlinear_circuits.json"
POINTS = 41


def exponential(x, limit):
    return jnp.exp(jnp.minimum(x, limit)) * (1 + jnp.maximum(x - limit, 0.0))


def diode(u):
    return 1e-12 * (exponential(u / 0.025, 40.0) - 1) + u / 1e8


def npn(vb, vc, ve):
    """Currents into collector, base, emitter."""
    forward, reverse = (1e-14 * (exponential((vb - v) / 0.02585, 40.0) - 1) for v in (ve, vc))
    collector, base = forward - 2 * reverse, forward / 100 + reverse
    return collector, base, -collector - base


def nmos(vd, vg, vs, k, threshold):
    """Current into the drain; drain and source may change places."""
    high, low = jnp.maximum(vd, vs), jnp.minimum(vd, vs)
    v, overdrive = high - low, jnp.maximum(vg - low - threshold, 0.0)
    channel = jnp.where(v < overdrive, (2 * overdrive - v) * v, overdrive**2)
    return jnp.sign(vd - vs) * k * channel * (1 + 0.02 * v)


@dataclass(frozen=True)
class Case:
    """The system, its start, the interval, and what of z is compared: name in the model -> function of
    z."""

    mass: np.ndarray
    function: Callable
    start: np.ndarray
    stop: float
    outputs: dict[str, Callable]


def bridge(stop: float) -> Case:
    """z: node behind the resistor, other end of the source, the capacitor."""

    def currents(t, z):
        a, b, plus = z
        source = 12 * jnp.sin(2 * np.pi * 50 * t)
        return (b + source - a) / 0.5, diode(a - plus), diode(-a), diode(b - plus), diode(-b)

    def function(t, z):
        i, d0, d1, d2, d3 = currents(t, z)
        return jnp.stack([i - d0 + d1, -i - d2 + d3, d0 + d2 - z[2] / 50])

    names = {"c.u": lambda t, z: z[2]}
    for k, name in enumerate(["r.i", "d[0].i", "d[1].i", "d[2].i", "d[3].i"]):
        names[name] = lambda t, z, k=k: currents(t, z)[k]
    return Case(np.diag([0.0, 0.0, 1e-3]), function, np.zeros(3), stop, names)


def graetz(stop: float) -> Case:
    """z: three nodes at the diodes, the star point, the capacitor, two leakage currents: the third
    follows."""

    def function(t, z):
        nodes, star, plus = z[:3], z[3], z[4]
        i = jnp.stack([z[5], z[6], -z[5] - z[6]])
        e = 100 * jnp.sin(2 * np.pi * 50 * t + np.array([0, -2 * np.pi / 3, 2 * np.pi / 3]))
        upper, lower = diode(nodes - plus), diode(-nodes)
        u = star + e - 0.2 * i - nodes  # at each inductor; they sum to zero, since the currents do
        return jnp.stack([*(i - upper + lower), u.sum(), upper.sum() - plus / 20, u[0], u[1]])

    mass = np.zeros((7, 7))
    mass[4, 4] = mass[5, 5] = mass[6, 6] = 1e-3
    outputs = {"c.u": lambda t, z: z[4]}
    for k in range(3):
        outputs[f"leakage[{k}].i"] = lambda t, z, k=k: [z[5], z[6], -z[5] - z[6]][k]
        outputs[f"r[{k}].n.v"] = lambda t, z, k=k: z[k]
    return Case(mass, function, np.array([50.0, 50, 50, 50, 100, 0, 0]), stop, outputs)


def schmitt(stop: float) -> Case:
    """z: first base, first collector, second base, second collector, emitters."""

    def function(t, z):
        b1, c1, b2, c2, e = z
        source = 2.5 - 2.5 * jnp.cos(2 * np.pi * 1e3 * t)
        q1, q2 = npn(b1, c1, e), npn(b2, c2, e)
        return jnp.stack(
            [
                (source - b1) / 1e3 - q1[1],
                (10 - c1) / 2.2e3 - q1[0] - (c1 - b2) / 10e3,
                (c1 - b2) / 10e3 - b2 / 10e3 - q2[1],
                (10 - c2) / 1e3 - q2[0],
                -q1[2] - q2[2] - e / 330,
            ]
        )

    start = _root(function, np.array([0.0, 8.0, 3.0, 4.0, 2.3]))
    names = ["q1.b.v", "q1.c.v", "q2.b.v", "q2.c.v", "re.p.v"]
    outputs = {name: lambda t, z, k=k: z[k] for k, name in enumerate(names)}
    return Case(np.diag([0.0, 1e-9, 0, 1e-9, 0]), function, start, stop, outputs)


def ring(stop: float) -> Case:
    """z: five outputs, five bases."""

    def function(t, z):
        y, b = z[:5], z[5:]
        into = (jnp.roll(y, 1) - b) / 10e3
        collector, base, _ = npn(b, y, 0.0)
        # The next stage draws its current from the output.
        return jnp.concatenate([(5 - y) / 1e3 - collector - jnp.roll(into, -1), into - base])

    y = np.array([0.1, 4.8, 0.3, 4.5, 2.0])
    mass = np.diag([1e-9] * 5 + [0.0] * 5)
    outputs = {f"stage[{k}].c.u": lambda t, z, k=k: z[k] for k in range(5)}
    outputs |= {f"stage[{k}].q.b.v": lambda t, z, k=k: z[5 + k] for k in range(5)}
    return Case(mass, function, np.concatenate([y, np.full(5, 0.6)]), stop, outputs)


def inverters(stop: float) -> Case:
    def function(t, z):
        source = jnp.reshape(2.5 - 2.5 * jnp.cos(2 * np.pi * 2e6 * t), 1)
        gates = jnp.concatenate([source, z[:-1]])
        # A p-channel transistor is an n-channel one with all potentials reversed.
        return -nmos(z, gates, 0.0, 1e-4, 0.7) + nmos(-z, -gates, -5.0, 8e-5, 0.8)

    outputs = {f"stage[{k}].c.u": lambda t, z, k=k: z[k] for k in range(8)}
    return Case(1e-12 * np.eye(8), function, np.array([5.0, 0.0] * 4), stop, outputs)


def _root(function: Callable, z: np.ndarray) -> np.ndarray:
    for _ in range(200):
        change = np.linalg.solve(jax.jacfwd(function, 1)(0.0, jnp.asarray(z)), function(0.0, z))
        z = z - change * min(1.0, 0.1 / np.max(np.abs(change)))
        if np.max(np.abs(change)) < 1e-13:
            return z
    raise ArithmeticError("no root at the start")


def make_step(case: Case) -> Callable:
    """(t, z, h) -> z after one step, z after two half steps, whether Newton's iteration converged in
    all."""
    n = len(case.start)
    mass, nodes, inverse = jnp.asarray(case.mass), jnp.asarray(NODES), jnp.asarray(INVERSE)
    function = jax.vmap(case.function)
    jacobian = jax.vmap(jax.jacfwd(case.function, 1))

    def radau(t, z, h):
        def iterate(state):
            stages, last, _, count = state
            rates = inverse @ (stages - z) / h
            defect = rates @ mass.T - function(t + nodes * h, stages)
            blocks = jax.scipy.linalg.block_diag(*jacobian(t + nodes * h, stages))
            change = jnp.linalg.solve(jnp.kron(inverse / h, mass) - blocks, defect.ravel()).reshape(3, n)
            size = jnp.max(jnp.abs(change) / (1e-3 + jnp.abs(stages)))
            # Behind a diode that blocks, rounding of the current is a voltage, 1e8 times as large.
            done = (size < 1e-13) | ((size < 1e-7) & (size > 0.3 * last))
            return stages - change, size, done, count + 1

        start = (jnp.tile(z, (3, 1)), jnp.inf, False, 0)
        stages, _, done, _ = jax.lax.while_loop(
            lambda s: ~s[2] & (s[3] < 25) & ~jnp.isnan(s[1]), iterate, start
        )
        return stages[2], done

    @jax.jit
    def step(t, z, h):
        once, first = radau(t, z, h)
        half, second = radau(t, z, h / 2)
        twice, third = radau(t + h / 2, half, h / 2)
        return once, twice, first & second & third

    return step


def integrate(case: Case, tolerance: float) -> tuple[np.ndarray, list[np.ndarray]]:
    """z at equidistant times after the start, where algebraic unknowns are not known."""
    step = make_step(case)
    times = np.linspace(0.0, case.stop, POINTS)
    z, t, h = case.start, 0.0, case.stop * 1e-6
    # Algebraic unknowns follow from the states at the same time: they have no errors of their own.
    loose = np.where(np.diag(case.mass) > 0, 1.0, 1e4)
    found = []
    for end in times[1:]:
        while t < end * (1 - 1e-14):
            h = min(h, end - t)
            once, twice, done = (np.asarray(value) for value in step(t, z, h))
            if not done:
                h /= 4
                continue
            error = float(np.max(np.abs(once - twice) / (tolerance * loose * (1 + np.abs(twice)))))
            if error <= 1.0:
                z, t = twice, t + h
            h *= min(3.0, max(0.2, 0.8 * (error + 1e-10) ** -0.2))
        found.append(z)
    return times, found


def main() -> None:
    from .nonlinear_circuits import STOP_TIMES

    cases = {
        "Bridge": bridge,
        "Graetz": graetz,
        "SchmittTrigger": schmitt,
        "RingOscillator": ring,
        "InverterChain": inverters,
    }
    data: dict = {"_provenance": f"Own computation: {' '.join((__doc__ or '').split())}"}
    for name, make in cases.items():
        began = time.perf_counter()
        case = make(STOP_TIMES[name])
        fine, coarse = (integrate(case, tolerance) for tolerance in (1e-11, 1e-10))
        times = fine[0]
        tables = [
            {
                key: [float(f(t, z)) for t, z in zip(times[1:], run[1], strict=True)]
                for key, f in case.outputs.items()
            }
            for run in (fine, coarse)
        ]
        doubt = {
            key: float(np.max(np.abs(np.subtract(tables[0][key], tables[1][key])))) for key in case.outputs
        }
        data[name] = {
            "stop": case.stop,
            "points": POINTS,
            "doubt": {key: float(f"{value:.1e}") for key, value in doubt.items()},
            "values": {
                key: [float(f"{value:.12g}") for value in values] for key, values in tables[0].items()
            },
        }
        seconds = f"{time.perf_counter() - began:.0f} s"
        print(name, {key: f"{value:.1e}" for key, value in doubt.items()}, seconds, flush=True)
    DATA.write_text(
        json.dumps(data, indent=None, separators=(",", ":")).replace('"values"', '\n"values"') + "\n"
    )


if __name__ == "__main__":
    main()

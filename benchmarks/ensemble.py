"""A Monte Carlo of the transistor amplifier: time per variant, beside IDA in a loop and CasADi's `map`.

    python benchmarks/ensemble.py [variants of ours] [of CasADi] [of IDA]

The resistor at the source and the five capacitors vary by 10 % (normal distribution). Each tool runs with
the tolerance of its list whose error is nearest to a wanted one, measured in the same run on the same
variants against runs of ours at rtol = 1e-10: errors are the median over the variants of the largest
relative error of the eight node voltages at time 0.2. Seconds on the clock depend on what else runs;
seconds of the processors are printed beside them. Needs the extra `bench`.
"""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path

import numpy as np

from modia_py import translate

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.testset_models import Amplifier

NODES = ["r0.n.v", "t1.b.v", "t1.e.v", "t1.c.v", "t2.b.v", "t2.e.v", "t2.c.v", "r[8].p.v"]
NAMES = ["r0.R", "first.C", "emitter1.C", "middle.C", "emitter2.C", "last.C"]
NOMINAL = np.array([1000.0, 1e-6, 2e-6, 3e-6, 4e-6, 5e-6])
R, T_END = 9000.0, 0.2
WANTED = 1.6e-5
"""The error that all tools are to have: about the least that IDAS reaches here."""
COMPARED = 12
"""Variants on which errors are measured."""


def right_sides(y, t, p, sin, exp):
    """Currents into the eight nodes, and the capacitances."""
    i1, i2 = (1e-6 * (exp((b - e) / 0.026) - 1.0) for b, e in ((y[1], y[2]), (y[4], y[5])))
    return [
        (y[0] - 0.1 * sin(200 * math.pi * t)) / p[0],
        y[1] / R + (y[1] - 6) / R + 0.01 * i1,
        y[2] / R - i1,
        (y[3] - 6) / R + 0.99 * i1,
        y[4] / R + (y[4] - 6) / R + 0.01 * i2,
        y[5] / R - i2,
        (y[6] - 6) / R + 0.99 * i2,
        y[7] / R,
    ]


def with_ida(p, rtol):
    from sksundae.ida import IDA

    c = p[1:].tolist()

    def residual(t, y, yp, out):
        f = right_sides(y.tolist(), t, p, math.sin, math.exp)
        d = yp.tolist()
        out[0] = c[0] * (d[1] - d[0]) - f[0]
        out[1] = c[0] * (d[0] - d[1]) - f[1]
        out[2] = -c[1] * d[2] - f[2]
        out[3] = c[2] * (d[4] - d[3]) - f[3]
        out[4] = c[2] * (d[3] - d[4]) - f[4]
        out[5] = -c[3] * d[5] - f[5]
        out[6] = c[4] * (d[7] - d[6]) - f[6]
        out[7] = c[4] * (d[6] - d[7]) - f[7]

    y0 = np.array([0.0, 3, 3, 6, 3, 3, 6, 0])
    u1, u3, u5 = 0.0, 0.0, 0.0
    yp0 = np.array([u1, u1, -3.0 / (c[1] * R), u3, u3, -3.0 / (c[3] * R), u5, u5])
    solver = IDA(residual, rtol=rtol, atol=rtol / 1000, max_num_steps=1_000_000, calc_initcond="yp0",
                 algebraic_idx=[0, 3, 6])  # fmt: skip
    return solver.solve(np.array([0.0, T_END]), y0, yp0).y[-1]


def casadi_integrator(rtol):
    import casadi as ca

    x, z, p, t = ca.SX.sym("x", 5), ca.SX.sym("z", 3), ca.SX.sym("p", 6), ca.SX.sym("t")
    y = [z[0], z[0] - x[0], x[1], z[1], z[1] - x[2], x[3], z[2], z[2] - x[4]]
    f = right_sides(y, t, p, ca.sin, ca.exp)
    ode = ca.vertcat(-f[0] / p[1], -f[2] / p[2], -f[3] / p[3], -f[5] / p[4], -f[6] / p[5])
    dae = {
        "x": x,
        "z": z,
        "p": p,
        "t": t,
        "ode": ode,
        "alg": ca.vertcat(f[0] + f[1], f[3] + f[4], f[6] + f[7]),
    }
    options = {"reltol": rtol, "abstol": rtol / 1000, "max_num_steps": 1_000_000}
    return ca.integrator("F", "idas", dae, 0, [T_END], options)


def with_casadi(p, rtol):
    n = len(p)
    x0, z0 = np.array([-3.0, 3, 3, 3, 6])[:, None], np.array([0.0, 6, 6])[:, None]
    mapped = casadi_integrator(rtol).map(n, "thread", 2)
    found = mapped(x0=np.tile(x0, n), z0=np.tile(z0, n), p=p.T)
    x, z = np.array(found["xf"]), np.array(found["zf"])
    return np.stack([z[0], z[0] - x[0], x[1], z[1], z[1] - x[2], x[3], z[2], z[2] - x[4]], axis=1)


def timed(function, count):
    """What it returns, and milliseconds per variant: on the clock, and of the processors."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = function()
    return found, 1e3 * (time.perf_counter() - wall) / count, 1e3 * (time.process_time() - cpu) / count


def main(arguments):
    ours, of_casadi, of_ida = (
        int(number) for number in (*arguments, *("10000", "1000", "20")[len(arguments) :])
    )
    rng = np.random.default_rng(0)
    p = NOMINAL * (1 + 0.1 * rng.standard_normal((max(ours, of_casadi, of_ida), 6)))
    sim = translate(Amplifier())

    def lanes(p, rtol):
        columns = dict(zip(NAMES, p.T, strict=True))
        found = sim.ensemble(T_END, columns, times=[0.0, T_END], outputs=NODES, rtol=rtol, progress=False)
        return found, np.stack([found[name][:, -1] for name in NODES], axis=1)

    reference = lanes(p[:COMPARED], 1e-10)[1]

    chosen = {}
    for name, run, tolerances, few in (
        ("modia_py", lambda p, rtol: lanes(p, rtol)[1], (1e-3, 3e-4, 1e-4, 3e-5, 1e-5), COMPARED),
        ("casadi", with_casadi, (1e-4, 3e-5, 1e-5, 3e-6), COMPARED),
        ("ida", lambda p, rtol: np.stack([with_ida(row, rtol) for row in p]), (1e-5, 1e-6, 3e-7), 3),
    ):
        errors = {}
        for rtol in tolerances:
            off = np.abs(run(p[:few], rtol) - reference[:few]) / np.abs(reference[:few])
            errors[rtol] = float(np.median(np.max(off, axis=1)))
        chosen[name] = min(errors, key=lambda rtol: abs(np.log(errors[rtol] / WANTED)))
        listed = ", ".join(f"{rtol:g}: {value:.2g}" for rtol, value in errors.items())
        print(f"{name}: errors by tolerance {listed}; taken {chosen[name]:g}", flush=True)
    sick = p[:ours].copy()
    sick[ours // 2, 0] = np.nan
    (found, _), wall, cpu = timed(lambda: lanes(sick, chosen["modia_py"]), ours)
    print(f"{found}; failures {found.failures}")
    rows = [("modia_py, ensemble", ours, wall, cpu)]
    _, *times = timed(lambda: with_casadi(p[:of_casadi], chosen["casadi"]), of_casadi)
    rows.append(("CasADi, map on two threads", of_casadi, *times))
    _, *times = timed(lambda: [with_ida(row, chosen["ida"]) for row in p[:of_ida]], of_ida)
    rows.append(("scikit-SUNDAE's IDA in a loop", of_ida, *times))
    print(f"{'':32}{'variants':>9}{'ms each':>10}{'ratio':>8}{'processor ms':>14}{'ratio':>8}")
    for name, count, wall_ms, cpu_ms in rows:
        print(f"{name:32}{count:9}{wall_ms:10.2f}{wall_ms / wall:8.2f}{cpu_ms:14.2f}{cpu_ms / cpu:8.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])

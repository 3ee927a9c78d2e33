"""What derivatives cost, compared with the simulation: a rod with a conductivity for each segment.

python benchmarks/gradients.py [--large] [--casadi] [--memory] [--first]

Backward: the gradient by all conductivities. Forward: tangents for ten parameters. Each run has other
values, so that nothing is remembered; times are the best of five. `--large` goes to 10^5 cells. `--casadi`
(needs the package casadi) compares with the adjoint of IDAS on a rod of 100 segments, at one tolerance.
`--memory`: the gradient of a run of 10^5 steps with 1000 unknowns in a budget of 500 MB, by how much the
process grows. `--first`: how long the first gradient of a small model takes, compiling included.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from modia_py import Model, Par, Var, der, translate
from modia_py import time as simulated_time
from modia_py.models.examples import SlidingMass

TIMES = np.linspace(0.1, 1.0, 10)


class Rod(Model):
    def __init__(self, n: int, **changes: Any):
        super().__init__(**changes)
        self.n = n
        self.k = Par(np.ones(n - 1))
        self.scale = Par(np.ones(10))
        self.T = Var(n, init=np.sin(np.linspace(0.0, 3.0, n)))

    def equations(self) -> Any:
        T, n = self.T, self.n
        factor = 1.0 + 0.01 * sum(self.scale[j] * j for j in range(10))
        q = 0.01 * n**2 * factor * self.k * (T[1:] - T[:-1]) * (1 + 0.1 * T[1:] ** 2)
        return [der(T[0]) == q[0], der(T[1:-1]) == q[1:] - q[:-1], der(T[-1]) == -q[-1]]


def best(run: Callable[[], Any]) -> tuple[float, float]:
    """Wall and processor seconds."""
    run()
    found = []
    for _ in range(5):
        began, used = time.perf_counter(), time.process_time()
        run()
        found.append((time.perf_counter() - began, time.process_time() - used))
    return min(found)


def other_values(n: int) -> Iterator[np.ndarray]:
    return (np.ones(n - 1) * (1.0 + 1e-6 * k) for k in count())


def measure(n: int) -> None:
    sim, values = translate(Rod(n)), other_values(n)
    backward = sim.function(["T"], TIMES, ["k"])
    forward = sim.function(["T"], TIMES, ["scale"], derivative="forward")
    gradient = jax.grad(lambda theta: jnp.sum(backward(theta)["T"] ** 2))

    def tangents() -> Any:
        scale = jnp.ones(10) * next(values)[0]
        return jax.block_until_ready(jax.jacfwd(lambda s: jnp.sum(forward({"scale": s})["T"] ** 2))(scale))

    plain = best(lambda: sim.simulate(1.0, times=TIMES, params={"k": next(values)}))
    back = best(lambda: jax.block_until_ready(gradient({"k": next(values)})))
    ahead = best(tangents)
    print(
        f"{n} cells: simulate {plain[0]:.4f} s ({plain[1]:.4f}); gradient by {n - 1} parameters "
        f"{back[0] / plain[0]:.1f} ({back[1] / plain[1]:.1f}) times that; forward by 10 parameters "
        f"{ahead[0] / plain[0]:.1f} ({ahead[1] / plain[1]:.1f}) times"
    )


class Driven(Model):
    """A rod that follows fast oscillations: 10^5 steps."""

    def __init__(self, n: int, **changes: Any):
        super().__init__(**changes)
        self.k, self.amplitude = Par(np.ones(n - 1)), Par(1.0)
        self.T = Var(n, init=0.0)

    def equations(self) -> Any:
        T = self.T
        q = 10.0 * self.k * (T[1:] - T[:-1])
        heat = 100.0 * self.amplitude * np.sin(2 * np.pi * 1000 * simulated_time)
        return [der(T[0]) == q[0] + heat, der(T[1:-1]) == q[1:] - q[:-1], der(T[-1]) == -q[-1]]


def measure_memory(n: int = 1000, stop: float = 1.0) -> None:
    def grown() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    sim = translate(Driven(n))
    f = sim.function(["T"], [stop], ["k"], memory=500e6, rtol=1e-7)
    small = sim.function(["T"], [stop / 100], ["k"], rtol=1e-7)
    theta = {"k": np.ones(n - 1)}
    jax.grad(lambda theta: jnp.sum(small(theta)["T"] ** 2))(theta)  # compiles everything
    before, began = grown(), time.perf_counter()
    result = f.result(theta)
    ran = time.perf_counter() - began
    jax.block_until_ready(jax.grad(lambda theta: jnp.sum(f(theta)["T"] ** 2))(theta))
    seconds = time.perf_counter() - began - ran
    print(
        f"{result.stats.steps} steps of {n} unknowns: the process grew by {grown() - before:.0f} MB; "
        f"run {ran:.1f} s, gradient {seconds / ran:.1f} times that"
    )


def measure_first() -> None:
    sim = translate(SlidingMass())
    f = sim.function(["s"], [1.0], ["m", "c"])
    theta = {"m": 1.0, "c": 1000.0}
    for what, of in (
        ("value", lambda: f(theta)),
        ("gradient", lambda: jax.grad(lambda theta: f(theta)["s"][0])(theta)),
        ("tangents", lambda: jax.jacfwd(f)(theta)),
        ("hessian", lambda: jax.hessian(lambda theta: f(theta)["s"][0])(theta)),
    ):
        began, used = time.perf_counter(), time.process_time()
        jax.block_until_ready(of())
        print(
            f"first {what}: {time.perf_counter() - began:.1f} s, {time.process_time() - used:.1f} s of "
            f"processor time"
        )


def casadi_gradient(n: int) -> None:
    import casadi as ca

    T, k = ca.SX.sym("T", n), ca.SX.sym("k", n - 1)
    factor = 1.0 + 0.01 * sum(range(10))
    q = 0.01 * n**2 * factor * k * (T[1:] - T[:-1]) * (1 + 0.1 * T[1:] ** 2)
    rate = ca.vertcat(q[0], q[1:] - q[:-1], -q[-1])
    dae = {"x": T, "p": k, "ode": rate, "z": ca.SX.sym("z", 0), "alg": ca.SX.sym("a", 0)}
    options = {"abstol": 1e-9, "reltol": 1e-6}
    run = ca.integrator("run", "idas", dae, 0.0, TIMES.tolist(), options)
    p = ca.MX.sym("p", n - 1)
    start = np.sin(np.linspace(0.0, 3.0, n))
    loss = ca.sumsqr(run(x0=start, p=p)["xf"])
    gradient = ca.Function("gradient", [p], [ca.gradient(loss, p)])
    plain = ca.Function("plain", [p], [loss])
    sim, values = translate(Rod(n)), other_values(n)
    f = sim.function(["T"], TIMES, ["k"])
    own = jax.grad(lambda theta: jnp.sum(f(theta)["T"] ** 2))
    theirs, ours = np.asarray(gradient(np.ones(n - 1))).ravel(), np.asarray(own({"k": np.ones(n - 1)})["k"])
    print(f"{n} cells: largest difference of the gradients {np.abs(theirs - ours).max():.1e}")
    idas, idas_plain = best(lambda: gradient(next(values))), best(lambda: plain(next(values)))
    mine = best(lambda: jax.block_until_ready(own({"k": next(values)})))
    print(f"IDAS {idas[0]:.4f} s (plain {idas_plain[0]:.4f}), here {mine[0]:.4f}: {idas[0] / mine[0]:.1f}")


if __name__ == "__main__":
    for size in (100, 1000, 10_000, *((100_000,) if "--large" in sys.argv else ())):
        measure(size)
    if "--memory" in sys.argv:
        measure_memory()
    if "--first" in sys.argv:
        measure_first()
    if "--casadi" in sys.argv:
        casadi_gradient(101)

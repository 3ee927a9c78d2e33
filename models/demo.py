"""`make demo`: a heat rod, from its text to its flat model and to a plot.

The rod is a vector of cells with a heater at one end and the ambient at the other:

    C der(T_k) = (T_(k-1) - 2 T_k + T_(k+1)) G + heat at the first cell - loss at the last one

Its residual is a plain JAX function of flat vectors. As every unknown of this model occurs with its
derivative, an integrator for ordinary differential equations can run it.
"""

from __future__ import annotations

import sys
import time as clock
from typing import Any

import jax
import numpy as np
from scipy.integrate import solve_ivp

from modia_py import Model, Par, Var, der, elaborate, lower, time
from modia_py.models.examples import Ladder


class HeatRod(Model):
    """A rod of n cells, heated at its left end for ten seconds."""

    C = Par(0.5, nonzero=True, unit="J/K", doc="heat capacity of a cell")
    G = Par(20.0, unit="W/K", doc="conductance between cells")
    loss = Par(2.0, unit="W/K", doc="conductance to the ambient at the right end")
    T0 = Par(293.15, unit="K", doc="ambient temperature")
    power = Par(100.0, unit="W", doc="power of the heater")

    def __init__(self, n: int = 50, **changes: Any):
        super().__init__(**changes)
        self.T = Var(n, init=self.T0, unit="K", doc="temperature of the cells")
        self.Q = Var(n + 1, unit="W", doc="heat flow to the right, through the borders of the cells")

    def equations(self) -> Any:
        return [
            self.Q[0] == np.where(time < 10, self.power, 0),
            self.Q[1:-1] == self.G * (self.T[:-1] - self.T[1:]),
            self.Q[-1] == self.loss * (self.T[-1] - self.T0),
            self.C * der(self.T) == self.Q[:-1] - self.Q[1:],
        ]


def solve(model: Model, stop_time: float, points: int = 61) -> tuple[Any, dict[str, Any]]:
    """A model in which every unknown is given by an equation for it or for its derivative.

    The residual is linear in the derivatives and the algebraic unknowns; they are solved for in each
    evaluation. This is a demonstration of the lowered functions, not a way to simulate.
    """
    lowered = lower(elaborate(model))
    p = lowered.parameters()
    start = lowered.unknowns.pack(lowered.initial_values(p))
    n = lowered.unknowns.size
    moving = np.zeros(n, bool)
    moving[np.abs(jax.jacobian(lowered.residual, 2)(0.0, start, start, p)).any(axis=0)] = True

    @jax.jit
    def rates_and_values(t: Any, state: Any) -> Any:
        def residual(z: Any) -> Any:
            v = jax.numpy.where(moving, state, z)
            return lowered.residual(t, v, jax.numpy.where(moving, z, 0.0), p)

        z = jax.numpy.zeros(n)
        return -jax.numpy.linalg.solve(jax.jacobian(residual)(z), residual(z))

    def rates(t: float, state: np.ndarray) -> np.ndarray:
        return np.where(moving, rates_and_values(t, state), 0.0)

    solution = solve_ivp(
        rates, (0, stop_time), start, "BDF", np.linspace(0, stop_time, points), max_step=1.0, rtol=1e-6
    )
    if not solution.success:
        raise RuntimeError(solution.message)
    return solution.t, jax.vmap(lowered.unknowns.unpack)(solution.y.T)


def main(plot_file: str = "demo.png") -> None:
    print(elaborate(HeatRod()), end="\n\n")
    start = clock.perf_counter()
    ladder = elaborate(Ladder(10_000))
    seconds = clock.perf_counter() - start
    print(f"Ladder(10_000): {ladder.size} equations elaborated in {seconds:.2f} s, as")
    print("\n".join(f"    {equation}" for equation in ladder.equations[:10]))

    times, values = solve(HeatRod(), 30.0)
    print("\nHeatRod, temperature above ambient in K\n  time    left  middle   right")
    rise = values["T"] - 293.15
    for k in range(0, len(times), 10):
        print(f"  {times[k]:4.0f}  {rise[k, 0]:6.2f}  {rise[k, 25]:6.2f}  {rise[k, -1]:6.2f}")
    write_plot(times, rise, plot_file)
    print(f"\nplot written to {plot_file}")


def write_plot(times: Any, rise: Any, plot_file: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for cell in (0, 12, 25, 37, 49):
        left.plot(times, rise[:, cell], label=f"T[{cell}]")
    left.set(xlabel="time in s", ylabel="T - T0 in K", title="some cells")
    left.legend(frameon=False)
    for k in (2, 10, 20, 30, 60):
        right.plot(rise[k], label=f"{times[k]:g} s")
    right.set(xlabel="cell", title="the rod")
    right.legend(frameon=False)
    figure.savefig(plot_file, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:2])

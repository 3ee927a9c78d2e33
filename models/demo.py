"""`modia demo`, `make demo`: from the text of models to plots, on one screen.

A mass on a rail (index 3 as written, two states in the end), a rod of 1000 cells, and a pendulum in
Cartesian coordinates that keeps its constraints to rounding.
"""

from __future__ import annotations

import sys
import time as clock
from typing import Any

import numpy as np

from modia_py import Result, translate
from modia_py.models.examples import HeatRod, Pendulum, SlidingMass
from modia_py.results.figures import our_style


def simulated(model: Any, stop_time: float, **options: Any) -> tuple[Any, Result]:
    """A translated model and its result, with the seconds it took."""
    began = clock.perf_counter()
    sim = translate(model)
    translated = clock.perf_counter()
    result = sim.simulate(stop_time, **options)
    ended = clock.perf_counter()
    print(
        f"{sim.name}: translated in {translated - began:.2f} s, compiled and simulated in "
        f"{ended - translated:.2f} s\n"
    )
    return sim, result


def main(plot_file: str = "demo.png") -> None:
    """Translate, simulate and plot three models."""
    sim, mass = simulated(SlidingMass(), 2.0)
    print(sim.report(), end="\n\n")
    print(sim.equations(), end="\n\n")
    print(mass, end="\n\n")

    began = clock.perf_counter()
    stiffer = [sim.simulate(2.0, params={"c": c}).final("s") for c in np.linspace(500, 2000, 20)]
    seconds = clock.perf_counter() - began
    print(f"20 more simulations with other springs, nothing compiled: {seconds:.2f} s")
    print(f"s at the end: {min(stiffer):.4f} to {max(stiffer):.4f} m\n")

    _, rod = simulated(HeatRod(1000, G=400.0), 30.0)
    print(rod, end="\n\n")
    _, pendulum = simulated(Pendulum(), 10.0)
    off = np.abs((pendulum["r"] ** 2).sum(axis=1) - 1).max()
    print(
        f"the length of the rod is kept to {off:.1e}, largest multiplier mu "
        f"{max(pendulum.stats.multipliers.values()):.1e}\n"
    )

    write_plot(mass, rod, pendulum, plot_file)
    print(f"plot written to {plot_file}")


def write_plot(mass: Result, rod: Result, pendulum: Result, plot_file: str) -> None:
    """Draw the three results on one page."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with our_style():
        figure, axes = plt.subplots(2, 2, figsize=(10, 6), layout="constrained")
        mass.plot("s", axes=[axes[0, 0]])
        rod.plot_profile("T", axes=axes[0, 1])
        pendulum.plot("r", axes=[axes[1, 0]])
        pendulum.plot("v[0]", over="r[0]", axes=[axes[1, 1]])
        titles = (
            "a mass on a rail",
            "a rod of 1000 cells",
            "a pendulum",
            "the pendulum: speed over position",
        )
        for axis, title in zip(axes.flat, titles, strict=True):
            axis.set_title(title)
        figure.savefig(plot_file, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:2])

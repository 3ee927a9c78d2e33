"""The whole path: growth of translation and compilation with size, and the cost beyond the integrator.

    python benchmarks/simulation.py [--large]

1. One array model (`HeatRod`) from 10 to 10^5 (with --large 10^6) elements: seconds to translate, without
   XLA, and seconds XLA compiles until the first result; ratios of the largest to the smallest.
2. 100 simulations of one `CompiledModel` with other parameters, compared with calling the integrator
   itself on the same problem: programs compiled after the first run, and the ratio of times.
3. From text to plot: seconds of a fresh process, import included.
"""

from __future__ import annotations

import subprocess
import sys
import time as clock

import numpy as np

from modia_py import translate
from modia_py.models.examples import HeatRod, Ladder, Pendulum, SlidingMass
from modia_py.program.signals import make_signals
from modia_py.simulation.compile_times import watch_compilation
from modia_py.simulation.request import RunRequest
from modia_py.solvers import solve


def sweep(sizes: list[int]) -> None:
    translate(HeatRod(7))  # what numba keeps on disk is loaded once in a process
    print("HeatRod      translate   XLA compiles   the rest of the first run   second run")
    best = dict.fromkeys(sizes, np.inf)
    for k in range(15):  # other sizes, so that nothing is found again; in turns, because machines are noisy
        for n in sizes:
            model = HeatRod(n + k)
            began = clock.perf_counter()
            sim = translate(model)
            best[n] = min(best[n], clock.perf_counter() - began)
    compilations = []
    for n in sizes:
        sim = translate(HeatRod(n))
        with watch_compilation() as seen:
            sim.simulate(1.0, times=5)
        began = clock.perf_counter()
        sim.simulate(1.0, times=5)
        again = clock.perf_counter() - began
        compilations.append(seen.compiling)
        line = f"{n:9d}    {best[n]:7.4f} s   {seen.compiling:8.2f} s {seen.other:20.2f} s"
        print(f"{line} {again:17.2f} s")
    translations = list(best.values())
    print(f"translation: largest over smallest {max(translations) / min(translations):.2f}")
    print(f"compilation: largest over smallest {max(compilations) / min(compilations):.2f}\n")


def hundred(name: str, sim: object, stop: float, parameter: str, values: np.ndarray) -> None:
    sim.simulate(stop, times=101)
    with watch_compilation() as seen:
        began = clock.perf_counter()
        for value in values:
            sim.simulate(stop, params={parameter: value}, times=101)
        ours = clock.perf_counter() - began
    signals = make_signals(sim.flat, None, 0.0, stop)
    program = sim.translation.program(signals)
    times = np.linspace(0, stop, 101)
    starts = []
    for value in values:
        _, _, arguments, point, _ = sim._run(RunRequest(stop, params={parameter: value}, times=101))
        starts.append((arguments, point))
    began = clock.perf_counter()
    for arguments, point in starts:
        solve(program.problem, 0.0, stop, point.x, point.xdot, arguments, rtol=1e-6, atol=1e-9, times=times)
    bare = clock.perf_counter() - began
    print(
        f"{name:14s} {len(values)} runs: {1e3 * ours / len(values):7.2f} ms each, the integrator alone "
        f"{1e3 * bare / len(values):7.2f} ms, ratio {ours / bare:.2f}; programs compiled: {seen.programs}"
    )


TEXT_TO_PLOT = """
from modia_py import simulate
from modia_py.models.examples import {name}
simulate({name}(), 2.0).plot(file="{file}")
"""


def text_to_plot(name: str, file: str) -> None:
    began = clock.perf_counter()
    subprocess.run([sys.executable, "-c", TEXT_TO_PLOT.format(name=name, file=file)], check=True)
    print(f"from text to plot, {name}: {clock.perf_counter() - began:.1f} s")


def main() -> None:
    large = "--large" in sys.argv
    sweep([10, 100, 1_000, 10_000, 100_000] + ([1_000_000] if large else []))
    hundred("SlidingMass", translate(SlidingMass()), 2.0, "c", np.linspace(500, 2000, 100))
    hundred("Pendulum", translate(Pendulum()), 5.0, "m", np.linspace(1, 2, 100))
    hundred("Ladder(100)", translate(Ladder(100)), 1.0, "source.V", np.linspace(1, 2, 100))
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for name in ("SlidingMass", "Pendulum"):
            text_to_plot(name, f"{folder}/{name}.png")


if __name__ == "__main__":
    main()

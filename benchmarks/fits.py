"""Fits of five parameters of a nonlinear circuit to noisy data, again and again: do intervals hold?

    python benchmarks/fits.py [repetitions]

A rectifier: a source of 5 V and 50 Hz, a resistor, a diode, a capacitor with a load. Three signals are
measured at 60 irregular times, some of them not, with a noise of about 1 %, which is estimated, too. In
each repetition times and noise are others, and the guesses are off by up to 50 %. Counted are the
95 % intervals that contain the true value, for each parameter alone and for all five together (the
ellipsoid of Fisher's distribution), beside what a binomial distribution with probability 0.95 lets expect.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from scipy import stats

from modia_py import estimate, translate

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.fitted_models import TRUE, Rectifier, measured


def main(repetitions):
    sim = translate(Rectifier())
    inside, joint, wall, cpu = np.zeros(len(TRUE), int), 0, time.perf_counter(), time.process_time()
    widths, true = [], np.array(list(TRUE.values()))
    logarithmic = np.array([name == "d.Is" for name in TRUE])
    for k in range(repetitions):
        rng = np.random.default_rng(k)
        guesses = {name: value * rng.uniform(0.5, 1.5) for name, value in TRUE.items()}
        fit = estimate(sim, measured(sim, rng), guesses, logarithmic=["d.Is"], rtol=1e-7)
        # In units of the values; of a logarithm where that was looked for.
        values = np.array([fit[name] for name in TRUE])
        off = values / true - 1.0
        off[logarithmic] = np.log(values / true)[logarithmic]
        covariance = fit.covariance / np.outer(*2 * [np.where(logarithmic, values, true)])
        ends = np.array([fit.intervals[name] for name in TRUE])
        inside += (ends[:, 0] <= true) & (true <= ends[:, 1])
        distance = off @ np.linalg.solve(covariance, off) / len(TRUE)
        joint += bool(distance <= stats.f.ppf(0.95, len(TRUE), fit.degrees_of_freedom))
        widths.append((ends[:, 1] - ends[:, 0]) / 2 / true)
        if not fit.success or fit.undetermined:
            print(f"repetition {k}: {fit}")
    low, high = stats.binom.interval(0.99, repetitions, 0.95)
    print(f"{repetitions} repetitions; expected within {low:.0f} and {high:.0f} (99 %)")
    for name, count, width in zip(TRUE, inside, np.median(widths, axis=0), strict=True):
        print(
            f"{name:8} {count:4d} intervals contain {TRUE[name]:g}; their usual half width is {width:.1%}"
        )
    print(f"all five {joint:4d} ellipsoids contain the true point")
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{wall / repetitions:.2f} s each on the clock, {cpu / repetitions:.2f} s of the processors")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)

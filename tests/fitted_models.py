"""Models that are fitted to data, by the tests and by `benchmarks/fits.py`."""

from __future__ import annotations

import numpy as np

from modia_py import Model, Par, connect, time
from modia_py.models.electrical import Capacitor, Ground, Resistor, TwoPin

TRUE = {"r.R": 10.0, "c.C": 1e-4, "load.R": 500.0, "d.Is": 1e-6, "d.Vt": 0.05}
NOISE = {"c.u": 0.02, "r.i": 0.001, "d.u": 0.01}


class Diode(TwoPin):
    Is = Par(1e-6, unit="A")
    Vt = Par(0.05, unit="V")

    def equations(self):
        return [*super().equations(), self.i == self.Is * np.expm1(self.u / self.Vt)]


class Mains(TwoPin):
    def equations(self):
        return [*super().equations(), self.u == 5 * np.sin(100 * np.pi * time)]


class Rectifier(Model):
    source = Mains()
    r = Resistor(R=10.0)
    d = Diode()
    c = Capacitor(C=1e-4, u=0.0)
    load = Resistor(R=500.0)
    ground = Ground()

    def equations(self):
        return [
            connect(self.source.p, self.r.p),
            connect(self.r.n, self.d.p),
            connect(self.d.n, self.c.p, self.load.p),
            connect(self.c.n, self.load.n, self.source.n, self.ground.p),
        ]


def measured(sim, rng, count=60, **options):
    """Noisy measurements at irregular times, some of them missing."""
    t = np.sort(rng.uniform(0.0002, 0.03, count))
    result = sim.simulate(t[-1], params=TRUE, times=t, rtol=1e-9, **options)
    data = {"time": t}
    for name, sigma in NOISE.items():
        data[name] = result[name][result.output_rows] + sigma * rng.standard_normal(count)
    data["r.i"][::7] = np.nan
    return data

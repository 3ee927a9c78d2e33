"""What the certificate and the polishing of output cost: shares of first and of repeated runs.

    python benchmarks/certificate.py [rod|ladder|chain ...]

Each model runs in a process of its own: a rod of 10^5 cells, a ladder of 10^4 sections, a chain of 100
pendulums. Seconds of the first run contain all that is compiled; the least of three repeated runs is shown.
"certify" is the check of the equations as written, "polish" makes output between steps consistent.
"""

from __future__ import annotations

import subprocess
import sys
import time as clock
from collections import defaultdict
from typing import Any

import numpy as np

import modia_py.simulation.translated_model as translated_model
from modia_py import Model, Par, Var, connect, der, translate
from modia_py.models.electrical import Capacitor, ConstantVoltage, Ground, Resistor
from modia_py.models.examples import HeatRod


class Ladder(Model):
    """1 V at n sections of 1/n Ohm and 1/n F."""

    def __init__(self, n: int, **changes: Any):
        super().__init__(**changes)
        self.source = ConstantVoltage(V=1.0)
        self.r = Resistor.array(n, R=1.0 / n)
        self.c = Capacitor.array(n, C=1.0 / n, u=np.zeros(n))
        self.ground = Ground()

    def equations(self) -> Any:
        return [
            connect(self.source.p, self.r[0].p),
            connect(self.r[:-1].n, self.r[1:].p),
            connect(self.r.n, self.c.p),
            connect(self.c.n, self.source.n, self.ground.p),
        ]


class PendulumChain(Model):
    """n masses on n rods, which start as a straight line to the right and down: index 3."""

    g = Par([0.0, -9.81])

    def __init__(self, n: int, **changes: Any):
        super().__init__(**changes)
        self.n = n
        places = (1.0 + np.arange(n))[:, None] * np.array([0.6, -0.8]) / n
        self.r = Var((n, 2), init=places)
        self.v = Var((n, 2), init=np.zeros((n, 2)))
        self.tension = Var(n)

    def equations(self) -> Any:
        d = self.r - np.concatenate([np.zeros((1, 2)), self.r[:-1]])
        pull = self.tension[:, None] * d
        return [
            der(self.r) == self.v,
            der(self.v) == self.g - pull + np.concatenate([pull[1:], np.zeros((1, 2))]),
            (d * d).sum(axis=1) == 1.0 / self.n**2,
        ]


CASES = {
    "rod": ("rod of 10^5 cells", lambda: HeatRod(100_000), 1.0),
    "ladder": ("ladder of 10^4 sections", lambda: Ladder(10_000), 4.0),
    "chain": ("chain of 100 pendulums", lambda: PendulumChain(100), 1.0),
}


def timed(name: str, seconds: dict[str, float]) -> None:
    """Let a stage of the simulation add its time to the table."""
    stage = getattr(translated_model, name)

    def measured(*arguments: Any, **options: Any) -> Any:
        began = clock.perf_counter()
        found = stage(*arguments, **options)
        seconds[name] += clock.perf_counter() - began
        return found

    setattr(translated_model, name, measured)


def measure(key: str) -> None:
    title, model, stop = CASES[key]
    seconds: dict[str, float] = defaultdict(float)
    for stage in ("certify", "polished"):
        timed(stage, seconds)
    began = clock.perf_counter()
    sim = translate(model())
    runs = []
    for _ in range(4):
        seconds.clear()
        result = sim.simulate(stop)
        runs.append((clock.perf_counter() - began, seconds["certify"], seconds["polished"]))
        began = clock.perf_counter()
    print(f"{title}: {result.stats.steps} steps; {result.stats.certificate}")
    for name, (total, certify, polish) in (("first run", runs[0]), ("repeated", min(runs[1:]))):
        print(
            f"    {name:10s} {total:7.3f} s; certify {certify:6.3f} s, {100 * certify / total:4.1f} %; "
            f"polish {polish:6.3f} s, {100 * polish / total:4.1f} %",
            flush=True,
        )


def main() -> None:
    chosen = sys.argv[1:]
    if len(chosen) == 1:
        measure(chosen[0])
        return
    for key in chosen or CASES:
        subprocess.run([sys.executable, __file__, key], check=True)


if __name__ == "__main__":
    main()

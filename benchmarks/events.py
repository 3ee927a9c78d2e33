"""What events cost: watched crossings that never fire, events of a converter, many balls, many events.

python benchmarks/events.py
"""

from __future__ import annotations

import resource
import time as clock

import numpy as np

from modia_py import (
    Discrete,
    Model,
    Par,
    Var,
    assign,
    der,
    pre,
    reinit,
    sample,
    time,
    translate,
    when,
    where,
)


class Buck(Model):
    """A converter at 100 kHz: two time events in each period."""

    Vin, L, C, R = Par(12.0), Par(50e-6), Par(100e-6), Par(2.0)
    duty, period = Par(0.4), Par(1e-5)
    i = Var(init=0.0)
    u = Var(init=0.0)
    off_at = Discrete(0.0)

    def equations(self):
        return [
            self.L * der(self.i) == where(time < self.off_at, self.Vin, 0.0) - self.u,
            self.C * der(self.u) == self.i - self.u / self.R,
            when(sample(self.period), assign(self.off_at, time + self.duty * self.period)),
        ]


class Ball(Model):
    e = Par(0.7)
    h = Var(init=1.0)
    v = Var(init=0.0)
    n = Discrete(0)

    def equations(self):
        bounce = reinit(self.v, -self.e * self.v), assign(self.n, pre(self.n) + 1)
        return [der(self.h) == self.v, der(self.v) == -9.81, when(self.h < 0, *bounce)]


class Balls(Model):
    def __init__(self, n, **changes):
        super().__init__(**changes)
        self.ball = Ball.array(n)

    def equations(self):
        return []


class Rod(Model):
    """Heat in a rod, with some temperatures that are watched and stay where they are."""

    def __init__(self, n, watched, **changes):
        super().__init__(**changes)
        self.T = Var(n, init=np.linspace(0.0, 1.0, n))
        self.n, self.watched = n, watched
        if watched:
            self.hot = Discrete(np.zeros(watched))

    def equations(self):
        T, n = self.T, self.n
        rows = [
            der(T[1:-1]) == 1e-3 * n**2 * (T[2:] - 2 * T[1:-1] + T[:-2]),
            der(T[0]) == 0.0,
            der(T[-1]) == np.sin(time),
        ]
        if self.watched:
            some = T[: self.watched]
            rows.append(when(some > 10.0, assign(self.hot, np.ones(self.watched))))
        return rows


class Ticks(Model):
    x = Var(init=0.0)
    n = Discrete(0)

    def equations(self):
        step = when(sample(1e-5), assign(self.n, pre(self.n) + 1))
        return [der(self.x) == where(self.n % 2 > 0, -1.0, 1.0), step]


def repeated(sim, stop, **options):
    """Wall and processor seconds of a run that compiles nothing, the best of three, and its result."""
    result = sim.simulate(stop, **options)
    best = []
    for _ in range(3):
        began, used = clock.perf_counter(), clock.process_time()
        result = sim.simulate(stop, **options)
        best.append((clock.perf_counter() - began, clock.process_time() - used))
    return min(best), result


def main() -> None:
    sim = translate(Buck())
    (wall, used), result = repeated(sim, 0.02, times=101)
    print(f"buck, {len(result.events)} rows of events: {wall:.2f} s wall, {used:.2f} s of processor")
    print(f"  {result.stats.work.steps} steps")
    one, _ = repeated(translate(Ball()), 2.0, times=11)
    many, _ = repeated(translate(Balls(1000)), 2.0, times=11)
    print(f"1000 equal balls / one ball: {many[1] / one[1]:.1f} ({many[1]:.3f} s, {one[1]:.4f} s)")
    none, _ = repeated(translate(Rod(10_000, 0)), 1.0, times=3)
    some, _ = repeated(translate(Rod(10_000, 1000)), 1.0, times=3)
    print(f"10^4 unknowns with 1000 crossings / without: {some[1] / none[1]:.2f} ({some[1]:.3f} s)")
    sim = translate(Ticks())
    began = clock.process_time()
    result = sim.simulate(1.0, times=3)
    used, memory = clock.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{result.final('n')} events: {used:.1f} s of processor with compilation, {memory:.2f} GB")


if __name__ == "__main__":
    main()

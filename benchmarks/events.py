"""What events cost: watched crossings that never fire, events of a converter, many balls, many events.

python benchmarks/events.py
"""

from __future__ import annotations

import functools
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


def best_of(runs, times=5):
    """Processor seconds of each of these runs, which compile nothing: in turn, the best of several."""
    for run in runs:
        run()
    best = np.full(len(runs), np.inf)
    for _ in range(times):
        for k, run in enumerate(runs):
            began = clock.process_time()
            run()
            best[k] = min(best[k], clock.process_time() - began)
    return best


def cost_of_events(sim):
    """Microseconds of a step and of an event: runs of several lengths and tolerances have them in different
    numbers, and take (a run) + (steps) * (a step) + (events) * (an event)."""
    cases = [(stop, rtol) for stop in (0.0025, 0.005, 0.01) for rtol in (1e-3, 1e-5, 1e-7, 1e-9)]
    runs = [functools.partial(sim.simulate, stop, rtol=rtol, times=2) for stop, rtol in cases]
    seconds, results = best_of(runs, 3), [run() for run in runs]
    counts = np.array([[1, r.stats.work.steps, len(np.unique(r.events.time))] for r in results])
    found, *_ = np.linalg.lstsq(counts / seconds[:, None], np.ones(len(runs)), rcond=None)
    return 1e6 * found[1:]


def main() -> None:
    sim = translate(Buck())
    (used,) = best_of([lambda: sim.simulate(0.02, times=101)])
    result = sim.simulate(0.02, times=101)
    events = len(np.unique(result.events.time))
    print(f"buck, {events} events, {result.stats.work.steps} steps: {used:.2f} s of processor")
    step, event = cost_of_events(sim)
    print(f"  {step:.1f} us a step, and {event:.0f} us an event besides")
    one, many = translate(Ball()), translate(Balls(1000))
    seconds = best_of([lambda: one.simulate(2.0, times=11), lambda: many.simulate(2.0, times=11)])
    ratio = seconds[1] / seconds[0]
    print(f"1000 equal balls / one ball: {ratio:.1f} ({seconds[1]:.3f} s, {seconds[0]:.4f} s)")
    none, some = translate(Rod(10_000, 0)), translate(Rod(10_000, 1000))
    for rtol in (1e-6, 1e-8):
        options = {"stop_time": 1.0, "times": 3, "rtol": rtol}
        runs = [functools.partial(sim.simulate, **options) for sim in (none, some)]
        seconds = best_of(runs, 20)
        ratio = seconds[1] / seconds[0]
        print(
            f"10^4 unknowns with 1000 crossings / without: {ratio:.2f} ({seconds[1]:.3f} s, rtol {rtol:g})"
        )
    sim = translate(Ticks())
    sim.simulate(0.01, times=3)
    began, before = clock.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    result = sim.simulate(1.0, times=3)
    used, memory = clock.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{result.final('n')} events: {used:.1f} s of processor; {memory:.2f} GB, {before:.2f} before")


if __name__ == "__main__":
    main()

"""Runs with events against closed forms: when they happen, what follows, and what is noticed.

Published: the examples of ModiaMath and Modia (facts of their tests: bouncing ball, SimpleStateEvents, an
ideal clutch that switches), Robertson's reaction with roots as in the documents of SUNDIALS.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

from modia_py import (
    Discrete,
    Input,
    Model,
    Par,
    SimulationError,
    Var,
    assign,
    der,
    pre,
    reinit,
    sample,
    simulate,
    terminate,
    time,
    translate,
    when,
    where,
)
from modia_py.solvers import Status

E, G = 0.7, 9.81


class Ball(Model):
    e = Par(E)
    h = Var(init=1.0)
    v = Var(init=0.0)
    n = Discrete(0)

    def equations(self):
        hit = self.h < 0
        return [
            der(self.h) == self.v,
            der(self.v) == -G,
            when(hit, reinit(self.v, -self.e * self.v), assign(self.n, pre(self.n) + 1)),
        ]


class Balls(Model):
    def __init__(self, e, **changes):
        super().__init__(**changes)
        self.ball = Ball.array(len(e), e=e)

    def equations(self):
        return []


def bounces(e, count):
    """Times of the first bounces from a height of one."""
    first = np.sqrt(2 / G)
    return first + np.concatenate([[0.0], np.cumsum(2 * first * e ** np.arange(1, count))])


def height(e, t):
    times = bounces(e, 60)
    k = np.searchsorted(times, t, side="right")
    if k == 0:
        return 1 - 0.5 * G * t**2
    speed = np.sqrt(2 * G) * e**k
    return speed * (t - times[k - 1]) - 0.5 * G * (t - times[k - 1]) ** 2


@pytest.fixture(scope="module")
def ball():
    return translate(Ball())


def test_bouncing_ball(ball):
    result = ball.simulate(2.557, times=np.linspace(0, 2.557, 200))
    n = np.flatnonzero(np.diff(result["n"]))
    assert np.abs(result.time[n][:20] - bounces(E, 20)).max() < 1e-6
    assert abs(ball.simulate(0.5).final("h") - 0.1387799) < 1e-6
    exact = np.array([height(E, t) for t in result.time])
    assert np.abs(result["h"] - exact).max() < 1e-6


def test_values_on_both_sides_of_an_event(ball):
    result = ball.simulate(0.6, times=4)
    (at,) = np.flatnonzero(np.diff(result["n"]))
    speed = np.sqrt(2 * G)
    assert result.time[at] == result.time[at + 1]
    assert np.allclose(result["v"][[at, at + 1]], [-speed, E * speed], rtol=1e-6)
    assert list(result["n"][[at, at + 1]]) == [0, 1]


def test_a_ball_that_comes_to_rest_ends_the_run(ball):
    with pytest.raises(SimulationError, match="accumulate here") as caught:
        ball.simulate(3.0)
    result = caught.value.result
    assert result.status is Status.ZENO
    assert abs(result.time[-1] - 2.5586340) < 1e-3
    assert result["h"].min() > -1e-9


def test_balls_of_an_array_bounce_on_their_own(ball):
    e = np.array([0.5, 0.6, 0.7, 0.7])
    times = np.linspace(0, 1.7, 18)
    result = simulate(Balls(e), 1.7, times=times)
    for k, own in enumerate(e):
        single = ball.simulate(1.7, params={"e": own}, times=times)
        assert result.final("ball.n")[k] == single.final("n")
        assert abs(result.final("ball.h")[k] - single.final("h")) < 2e-6
        assert abs(result.final("ball.h")[k] - height(own, 1.7)) < 2e-6


def test_runs_in_threads_are_the_same_to_the_last_bit(ball):
    expected = ball.simulate(2.0)["h"]
    found = {}

    def run(k):
        found[k] = ball.simulate(2.0)["h"]

    threads = [threading.Thread(target=run, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(expected, each) for each in found.values())


class StateEvents(Model):
    s = Var(init=2.0)
    v = Var(init=0.0)
    f = Var()

    def equations(self):
        return [
            der(self.v) + 0.1 * self.v + self.s == self.f,
            self.v == der(self.s),
            self.f == where(self.s > 0, 0.0, 1.5),
        ]


def test_simple_state_events():
    result = simulate(StateEvents(), 10.0)
    jumps = result.time[np.flatnonzero(np.diff(result["f"]))]
    assert np.allclose(jumps, [1.62283, 3.36771, 6.51321, 8.04188], atol=2e-5)
    assert np.allclose([result.final("s"), result.final("v")], [1.1756992, -0.5351308], atol=2e-6)


class Clutch(Model):
    """A motor, and a wheel that a clutch connects until 100 s and from 300 s on."""

    w1 = Var(init=0.0)
    w2 = Var(init=10.0)
    tau = Var()

    def equations(self):
        engaged = (time < 100) | (time >= 300)
        return [
            0.1 * der(self.w1) == 0.25 * ((10 - 0.25 * self.w1) / 10 - 2 * 0.25 * der(self.w1)) - self.tau,
            0.4 * der(self.w2) == self.tau,
            where(engaged, self.w2 - self.w1, self.tau) == 0,
        ]


def test_a_clutch_that_engages_conserves_momentum():
    result = simulate(Clutch(), 500.0, start="impulse")
    J1 = 0.1 + 0.125
    assert abs(result["w1"][0] - 0.4 * 10 / (J1 + 0.4)) < 1e-9  # 6.4
    (before,) = np.flatnonzero((result.time[:-1] == 300) & (np.diff(result.time) == 0))
    w1, w2 = result["w1"][[before, before + 1]], result["w2"][[before, before + 1]]
    assert w1[0] > w2[0] + 0.5
    assert abs(w1[1] - w2[1]) < 1e-12
    assert abs(J1 * w1[0] + 0.4 * w2[0] - (J1 + 0.4) * w1[1]) < 1e-9
    assert abs(result.final("w1") - 38.9277466565) < 1e-3


class Once(Model):
    """x' = -k x^2 t, and x jumps up by v the first time that it is xc."""

    x = Var(init=1.0)
    done = Discrete(False)

    def equations(self):
        return [
            der(self.x) == -(self.x**2) * time,
            when((self.x < 0.5) & ~pre(self.done), reinit(self.x, self.x + 0.5), assign(self.done, True)),
        ]


def test_once_only():
    result = simulate(Once(), 3.0)
    (at,) = np.flatnonzero(np.diff(result["done"].astype(int)))
    assert abs(result.time[at] - np.sqrt(2)) < 1e-6
    assert abs(result.final("x") - 2 / 9) < 1e-6


class Robertson(Model):
    y = Var(3, init=[1.0, 0.0, 0.0], nominal=[1.0, 1e-4, 1.0])
    first = Discrete(0.0)
    second = Discrete(0.0)

    def equations(self):
        y = self.y
        rate = 0.04 * y[0] - 1e4 * y[1] * y[2]
        return [
            der(y[0]) == -rate,
            der(y[1]) == rate - 3e7 * y[1] ** 2,
            y.sum() == 1.0,
            when(y[2] > 0.01, assign(self.first, time)),
            when(y[0] < 1e-4, assign(self.second, time)),
        ]


def test_robertson_with_roots():
    result = simulate(Robertson(), 4e7, rtol=1e-6, times=np.array([0.0, 1.0, 4e7]))
    assert abs(result.final("first") - 0.2640) < 1e-4
    assert abs(result.final("second") / 2.0788e7 - 1) < 1e-3


class Pulse(Model):
    """A pulse that is a thousand times shorter than a step, and one that repeats."""

    x = Var(init=0.0)
    y = Var(init=0.0)

    def equations(self):
        pulse = (time > 50.0) & (time < 50.001)
        return [
            der(self.x) == where(pulse, 1000.0, 0.0),
            der(self.y) == where(time % 10.0 < 2.5, 1.0, 0.0),
        ]


def test_time_events_are_hit_exactly():
    result = simulate(Pulse(), 100.0, times=5)
    assert abs(result.final("x") - 1.0) < 1e-9
    assert abs(result.final("y") - 25.0) < 1e-9
    assert {50.0, 50.001, 2.5, 12.5}.issubset(result.time.tolist())


class Dip(Model):
    """x is below its threshold for less than a hundredth of a step, near t = 1."""

    depth = Par(1e-4)
    x = Var(init=1.0)
    v = Var(init=-2.0)
    n = Discrete(0)

    def equations(self):
        return [
            der(self.x) == self.v,
            der(self.v) == 2.0,
            when(self.x < self.depth, assign(self.n, pre(self.n) + 1)),
        ]


@pytest.mark.parametrize("depth", [1e-2, 1e-4, 1e-5])
def test_a_state_that_dips_within_a_step_is_noticed(depth):
    # x = (1 - t)^2 is below the depth from 1 - sqrt(depth) to 1 + sqrt(depth).
    result = simulate(Dip(), 2.0, params={"depth": depth}, times=2)
    assert result.final("n") == 1
    crossed = result.time[np.flatnonzero(np.diff(result["n"]))]
    assert abs(crossed[0] - (1 - np.sqrt(depth))) < 1e-4


class Sliding(Model):
    x = Var(init=1.0)

    def equations(self):
        return [der(self.x) == where(self.x > 0, -1.0, 1.0)]


def test_time_that_stands_still_is_a_failure():
    with pytest.raises(SimulationError, match="never settle") as caught:
        simulate(Sliding(), 2.0)
    assert caught.value.result.status is Status.CHATTERING
    assert abs(caught.value.result.time[-1] - 1.0) < 1e-6


class Ending(Model):
    x = Var(init=0.0)

    def equations(self):
        return [der(self.x) == 1.0, when(self.x > 0.7, terminate("the tank is full"))]


def test_terminate():
    result = simulate(Ending(), 3.0)
    assert result.status is Status.TERMINATED
    assert result.message == "the tank is full"
    assert abs(result.time[-1] - 0.7) < 1e-7


class Driven(Model):
    """An input that jumps decides, and so does a stop of a function of time."""

    u = Input()
    x = Var(init=0.0)
    n = Discrete(0)

    def equations(self):
        return [
            der(self.x) == where(self.u > 0.5, 1.0, 0.0) + np.where(time > 1.5, 1.0, 0.0),
            when(self.u > 0.5, assign(self.n, pre(self.n) + 1)),
        ]


def test_inputs_that_jump_make_events():
    result = simulate(Driven(), 2.5, inputs={"u": lambda t: np.where((t >= 1.0) & (t < 2.0), 1.0, 0.0)})
    assert abs(result.final("x") - 2.0) < 1e-9
    assert result.final("n") == 1


class Fast(Model):
    """Many events: memory stays bounded, and nothing is lost."""

    x = Var(init=0.0)
    n = Discrete(0)

    def equations(self):
        return [
            der(self.x) == where(self.n % 2 > 0, -1.0, 1.0),
            when(sample(1e-3), assign(self.n, pre(self.n) + 1)),
        ]


def test_many_events():
    result = simulate(Fast(), 4.0, times=3)
    assert result.final("n") == 4001
    assert abs(result.final("x")) < 1e-3 + 1e-9


def test_repeated_runs_are_the_same_to_the_last_bit(ball):
    assert np.array_equal(ball.simulate(2.0)["h"], ball.simulate(2.0)["h"])

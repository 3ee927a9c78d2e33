"""Clocks: sampled control of continuous systems, against recursions in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from modia_py import (
    Discrete,
    Model,
    ModelError,
    Par,
    Var,
    assign,
    clock,
    der,
    elaborate,
    hold,
    previous,
    sample,
    sampled,
    simulate,
    time,
    translate,
    when,
    where,
)
from modia_py.language.event_parts import ActionKind

from .event_passes import event_model

PERIOD, DECAY = 0.1, 0.1


def driven(v: float, f: float, seconds: float) -> float:
    """der(v) == f - DECAY*v from v, with a constant f."""
    return f / DECAY + (v - f / DECAY) * np.exp(-DECAY * seconds)


class Plant(Model):
    v = Var(init=5.0)
    f = Var()

    def equations(self):
        return [der(self.v) == self.f - DECAY * self.v]


class Proportional(Plant):
    """The example of Modia's tests: P control, sampled and held."""

    x = Var(init=0.0)
    K = Par(5.0)
    T = Par(PERIOD)
    target = Par(100.0)

    def equations(self):
        control = self.K * (self.target - sampled(self.v, clock(self.T)))
        return [*super().equations(), der(self.x) == self.v, self.f == hold(control)]


class ProportionalIntegral(Plant):
    """A clocked section with memory; what it computes is there `delay` after the tick."""

    k = Par(1.5)
    Ti = Par(0.4)
    delay = Par(0.03)
    s = Discrete(0.0, doc="sum of the errors")
    u = Discrete(2.0, doc="what was computed at the last tick")

    def equations(self):
        clk = clock(PERIOD)
        error = 50.0 - sampled(self.v, clk)
        return [
            *super().equations(),
            when(
                clk,
                assign(self.s, previous(self.s) + clk.period / self.Ti * error),
                assign(self.u, self.k * (error + self.s)),
            ),
            self.f == hold(sampled(self.u, clk.delayed(self.delay), start=2.0)),
        ]


class Cascade(Plant):
    """A slow loop that is computed at every fourth tick of a fast one."""

    phi = Var(init=0.0)
    w = Discrete(0.0, doc="wanted speed, of the slow loop")
    u = Discrete(0.0, doc="of the fast loop")
    ticks = Discrete(0)
    slow_ticks = Discrete(0)

    def clocks(self):
        fast = clock(0.05)
        return fast, fast.sub(4)

    def equations(self):
        fast, slow = self.clocks()
        return [
            *super().equations(),
            der(self.phi) == self.v,
            when(
                fast, assign(self.u, 3.0 * (self.w - self.v)), assign(self.ticks, previous(self.ticks) + 1)
            ),
            when(
                slow,
                assign(self.w, 2.0 * (10.0 - self.phi)),
                assign(self.slow_ticks, previous(self.slow_ticks) + 1),
            ),
            self.f == hold(self.u),
        ]


class CascadeFromSlow(Cascade):
    def clocks(self):
        slow = clock(0.2)
        return slow.super(4), slow


class Late(Plant):
    n = Discrete(0)

    def equations(self):
        return [
            *super().equations(),
            when(clock(0.1, 0.25), assign(self.n, previous(self.n) + 1)),
            self.f == hold(sampled(time, clock(0.5, 0.25), start=-1.0)),
        ]


class All(Model):
    """All of them, in one run."""

    one = Proportional()
    three = Proportional.array(3, T=[0.1, 0.05, 0.2])
    memory = ProportionalIntegral()
    cascade = Cascade()
    from_slow = CascadeFromSlow()
    late = Late()


@pytest.fixture(scope="module")
def all_of_them():
    return translate(All())


@pytest.fixture(scope="module")
def result(all_of_them):
    return all_of_them.simulate(1.5, rtol=1e-8, times=[0.0, 0.2, 0.3, 0.7, 0.8, 1.5])


def proportional(period: float) -> float:
    v = 5.0
    for _ in range(round(1.5 / period)):
        v = driven(v, 5.0 * (100.0 - v), period)
    return v


def test_sampled_proportional_control(result):
    # Modia.jl, test/TestSynchronous.jl
    assert result.final("one.x") == pytest.approx(133.3845202465569, rel=1e-6)
    assert result.final("one.v") == pytest.approx(98.03694943140056, rel=1e-6)
    assert result.final("one.v") == pytest.approx(proportional(PERIOD), rel=1e-7)


def test_copies_have_their_own_clocks(result):
    expected = [proportional(period) for period in (0.1, 0.05)]
    assert result.final("three.v")[:2] == pytest.approx(expected, rel=1e-6)


def test_a_period_is_a_parameter(all_of_them):
    result = all_of_them.simulate(1.5, params={"one.T": 0.05}, rtol=1e-8, times=[0.0, 1.5])
    assert result.final("one.v") == pytest.approx(proportional(0.05), rel=1e-7)


def test_a_controller_with_memory_and_a_delay_of_computation(result):
    v, s, f = 5.0, 0.0, 2.0
    for _ in range(15):
        error = 50.0 - v
        s += PERIOD / 0.4 * error
        v = driven(v, f, 0.03)
        f = 1.5 * (error + s)
        v = driven(v, f, 0.07)
    assert result.final("memory.v") == pytest.approx(v, rel=1e-7)


@pytest.mark.parametrize("name", ["cascade", "from_slow"])
def test_two_rates(result, name):
    v, phi, w = 5.0, 0.0, 0.0
    for tick in range(30):
        if (
            tick % 4 == 0
        ):  # common ticks are one event: the fast loop has what the slow one has just computed
            w = 2.0 * (10.0 - phi)
        f, h = 3.0 * (w - v), 0.05
        phi += f / DECAY * h + (v - f / DECAY) * -np.expm1(-DECAY * h) / DECAY
        v = driven(v, f, h)
    assert result.final(f"{name}.v") == pytest.approx(v, rel=1e-6)
    assert result.final(f"{name}.phi") == pytest.approx(phi, rel=1e-6)
    assert result.final(f"{name}.ticks") == 31  # the last one at the end of the run
    assert result.final(f"{name}.slow_ticks") == 8


def test_an_offset(result):
    assert result.final("late.n") == 13  # at 0.25, 0.35, ... 1.45
    found = {
        float(t): f for t, f in zip(np.round(result.time, 6), result["late.f"], strict=True)
    }  # of two rows at one time the one after the event
    assert [found[t] for t in (0.0, 0.2, 0.3, 0.7, 0.8)] == pytest.approx([-1, -1, 0.25, 0.25, 0.75])


class CascadeControlledDrive(Model):
    """Modelica.Clocked.Examples.CascadeControlledDrive.SubClocked: position at 100 Hz, speed at 500 Hz."""

    phi, w, tau, wanted = Var(init=0.0), Var(init=0.0), Var(), Var()
    x, y = Discrete(0.0), Discrete(0.0)

    def equations(self):
        fast = clock(0.002)
        slow = fast.sub(5)
        speed, acceleration = 2.0, 3.0  # of a motion from 0 to pi
        t1 = speed / acceleration
        t2 = np.pi / speed
        t3 = t1 + t2
        braking = np.pi - 0.5 * acceleration * (t3 - time) ** 2
        cruising = where(time < t2, speed * (time - 0.5 * t1), where(time < t3, braking, np.pi))
        position_control = 20.0 * sampled(self.wanted - self.phi, slow)
        u = position_control - sampled(self.w, fast)
        return [
            der(self.phi) == self.w,
            10.0 * der(self.w) == self.tau,
            self.wanted == where(time < t1, 0.5 * acceleration * time**2, cruising),
            when(
                fast,
                assign(self.x, previous(self.x) + u * fast.period / 0.5),
                assign(self.y, 100.0 * (self.x + u)),
            ),
            self.tau == hold(self.y),
        ]


def test_a_cascade_of_two_rates_against_the_modelica_library():
    result = simulate(CascadeControlledDrive(), 4.0, times=np.linspace(0.0, 4.0, 2001))
    # The largest values of the reference that is published with the library (Dymola, tolerance 1e-6).
    largest = {"phi": 3.14444, "w": 2.12099, "x": 0.221142, "y": 44.7103}
    for name, value in largest.items():
        assert np.abs(result[name]).max() == pytest.approx(value, rel=2e-4), name


def test_what_is_sampled_is_seen_before_the_tick_and_what_is_computed_at_it():
    class Seen(Plant):
        a = Discrete(1.0)
        b = Discrete(0.0)

        def equations(self):
            clk = clock(1.0)
            return [
                *super().equations(),
                self.f == hold(self.a),
                when(clk, assign(self.a, previous(self.a) + 1)),
                when(clk, assign(self.b, sampled(10 * self.f + self.a, clk))),
            ]

    own = event_model(Seen())
    left = own.settled(own.vectors(0.5, [5.0], own.p))
    now = own.vectors(1.0, [5.0], left["p"])
    vectors = {**now, "p": own.one_pass(left, now, ticks=range(len(own.functions.samples)))}
    assert own.value(vectors, "a") == 2.0
    assert own.value(vectors, "b") == 10 * 1.0 + 2.0


def test_clocked_parts_are_listed_and_print_as_typed():
    flat = elaborate(ProportionalIntegral())
    listing = str(flat)
    assert "sampled(u, clock(0.1, 0, delay), 2)" in listing
    assert "when(clock(0.1), assign(s, previous(s) + 0.1/Ti*(50 - sampled(v, clock(0.1))))" in listing
    assert sum(entry.part.kind is ActionKind.SAMPLED for entry in flat.actions) == 2
    assert str(clock(0.1).sub(5)) == "clock(0.5)"
    assert str(clock(0.1, 0.3).super(2)) == "clock(0.05, 0.3)"


class Wrong(Plant):
    T = Par(0.1)
    u = Discrete(0.0)


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        (lambda m: clock(0.0), r"A clock with the period 0 \(test_clocks.py:\d+\) has no next instant"),
        (lambda m: clock(m.v), r"The period of a clock is `v` .* is no parameter"),
        (lambda m: clock(0.1).sub(0), r"by a whole factor, not 0 \(test_clocks"),
        (lambda m: clock(0.1).super(2.5), r"by a whole factor, not 2\.5"),
        (
            lambda m: clock(0.1).delayed(0.1),
            r"period 0\.1 cannot be delayed by 0\.1 .*shorter than the period",
        ),
        (lambda m: clock(0.1).delayed(-0.1), r"cannot be delayed by -0\.1"),
        (
            lambda m: m.f == hold(m.v),
            r"hold\(v\) \(test_clocks.*`v` changes between ticks\. Use sampled\(v, clk\)",
        ),
        (
            lambda m: m.f == sampled(m.v, sample(0.1)),
            r"sampled\(x, clk\) takes a clock, .* not sample\(0\.1\)",
        ),
        (lambda m: m.f == sampled(m.v, clock(1), start=[1.0, 2.0]), r"The start of sampled\(v, \.\.\.\)"),
        (
            lambda m: when(clock(1), assign(m.u, previous(m.v))),
            r"previous\(v\) .*`v` changes between ticks",
        ),
        (
            lambda m: m.f == previous(m.u),
            r"`previous\(u\)` \(test_clocks.py:\d+\) stands outside of a clocked section",
        ),
    ],
)
def test_wrong_clocks(statement, text):
    class Some(Wrong):
        def equations(self):
            return [*super().equations(), statement(self)]

    with pytest.raises(ModelError, match=text):
        elaborate(Some())


def test_a_delay_from_parameters_is_checked_when_a_run_begins(all_of_them):
    with pytest.raises(
        ModelError,
        match=r"`clock\(0\.1, 0, delay\)` of memory .* has the period 0\.1 and the delay 0\.2: the delay",
    ):
        all_of_them.simulate(1.0, params={"memory.delay": 0.2})

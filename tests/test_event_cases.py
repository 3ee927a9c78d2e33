"""Small models with events as a new user writes them, against closed forms; some were wrong once."""

from __future__ import annotations

import numpy as np
import pytest

from modia_py import (
    Discrete,
    Model,
    Par,
    SimulationError,
    Var,
    always,
    assign,
    der,
    pre,
    reinit,
    simulate,
    time,
    translate,
    when,
    where,
)


class NextInstant(Model):
    """Each event says when the next one is: its own condition has to be false again at once."""

    following = Discrete(0.1)
    n = Discrete(0)
    x = Var(init=0.0)

    def equations(self):
        later = assign(self.following, pre(self.following) + 0.1), assign(self.n, pre(self.n) + 1)
        return [der(self.x) == where(self.n % 2 > 0, 1.0, 0.0), when(time >= pre(self.following), *later)]


def test_a_condition_of_pre_is_renewed_within_the_event():
    result = simulate(NextInstant(), 10.05)
    assert result.final("n") == 100
    assert abs(result.final("x") - 5.0) < 1e-9


class Resonance(Model):
    """A state that is linear in time, and a peak of it much narrower than a step."""

    at, width = Par(3.0), Par(0.01)
    x = Var(init=0.0)
    n = Discrete(0)

    def equations(self):
        peak = 1 / (1 + ((self.x - self.at) / self.width) ** 2)
        return [der(self.x) == 1.0, when(peak > 0.5, assign(self.n, pre(self.n) + 1))]


def test_peaks_narrower_than_steps_are_noticed():
    sim = translate(Resonance())
    for at in (1.234, 3.0, 7.777):
        for width in (0.1, 0.01, 1e-3):
            assert sim.simulate(10.0, params={"at": at, "width": width}, times=2).final("n") == 1


class Band(Model):
    """An oscillator that runs quickly through a narrow band; its distance from the middle has a kink."""

    width = Par(0.1)
    x = Var(init=1.0)
    v = Var(init=0.0)
    n = Discrete(0)

    def equations(self):
        inside = when(np.abs(self.x) < self.width, assign(self.n, pre(self.n) + 1))
        return [der(self.x) == self.v, der(self.v) == -self.x, inside]


def test_a_narrow_band_around_a_kink_is_noticed():
    sim = translate(Band())
    for width in (0.1, 1e-3, 1e-5):
        assert sim.simulate(30.0, params={"width": width}, times=2).final("n") == 10


class Crest(Model):
    c = Par(0.999)
    phi = Var(init=0.0)
    n = Discrete(0)

    def equations(self):
        return [der(self.phi) == 7.3, when(np.sin(self.phi) > self.c, assign(self.n, pre(self.n) + 1))]


def test_thin_crests_are_noticed():
    sim = translate(Crest())
    for c in (0.99, 0.9999, 0.999999):
        result = sim.simulate(100.0, params={"c": c}, times=2)
        assert result.final("n") == int((730.0 - np.arcsin(c)) // (2 * np.pi)) + 1


class Overflow(Model):
    """A tank that is full stays full as long as more flows in."""

    h = Var(init=0.5)
    spilled = Var(init=0.0)

    def equations(self):
        q = np.sin(time)
        full = (self.h >= 1.0) & (q > 0)
        return [der(self.h) == where(full, 0.0, q), der(self.spilled) == where(full, q, 0.0)]


def test_a_tank_overflows():
    result = simulate(Overflow(), 9.0)
    assert abs(result.final("spilled") - 1.5) < 1e-6
    assert abs(result.final("h") + np.cos(9.0)) < 1e-6


class Cradle(Model):
    x = Var(3, init=[0.0, 1.0, 2.5])
    v = Var(3, init=[1.0, 0.0, 0.0])

    def equations(self):
        x, v = self.x, self.v
        return [
            der(x) == v,
            der(v) == np.zeros(3),
            when(x[0] > x[1], reinit(v[0], pre(v[1])), reinit(v[1], pre(v[0]))),
            when(x[1] > x[2], reinit(v[1], pre(v[2])), reinit(v[2], pre(v[1]))),
        ]


def test_equal_balls_hand_on_their_velocity():
    result = simulate(Cradle(), 4.0)
    np.testing.assert_allclose(result.final("x"), [1.0, 2.5, 4.0], atol=1e-6)
    np.testing.assert_allclose(result.final("v"), [0.0, 0.0, 1.0], atol=1e-9)


class Relay(Model):
    x = Var(init=1.0)
    v = Var(init=0.0)

    def equations(self):
        return [der(self.x) == self.v, der(self.v) == where(self.x + self.v > 0, -3.0, 3.0)]


def test_a_sliding_mode_names_its_relation():
    with pytest.raises(SimulationError, match=r"sliding mode[\s\S]*x \+ v > 0"):
        simulate(Relay(), 5.0)


class OnlySignals(Model):
    """Nothing moves but the time: two pulses, and a choice by the values that they have."""

    u, y = Var(2), Var()

    def equations(self):
        first, second = where(time % 1.0 < 0.5, 1.0, 0.0), where(time % 2.0 < 1.6, 1.0, 0.0)
        chosen = where(self.u[0] > 0.5, 4.0, where(self.u[1] > 0.5, 6.0, 2.0))
        return [self.u[0] == first, self.u[1] == second, self.y == chosen]


def test_a_model_without_unknowns_of_the_integrator():
    """Native steps once read discrete values from the places of others here."""
    result = simulate(OnlySignals(), 10.0, times=np.arange(0.05, 10.0, 0.1))
    t = result.time
    first, second = t % 1.0 < 0.5, t % 2.0 < 1.6
    inside = np.abs((t * 10) % 1 - 0.5) < 0.01  # not at events
    expected = np.where(first, 4.0, np.where(second, 6.0, 2.0))
    np.testing.assert_array_equal(result["y"][inside], expected[inside])
    assert inside.sum() >= 100


class Touching(Model):
    """A square that comes down to zero and no further, at a time at which steps are looked at."""

    x = Var(init=0.0)
    touched, near = Discrete(0), Discrete(0)

    def equations(self):
        square = (self.x - 0.5) ** 2
        return [
            der(self.x) == 1.0,
            when(square < 1e-6, assign(self.near, pre(self.near) + 1)),
            when(square < 0, assign(self.touched, pre(self.touched) + 1)),
        ]


def test_what_touches_zero_has_not_passed_it():
    result = simulate(Touching(), 1.0)
    assert (result.final("near"), result.final("touched")) == (1, 0)


class Turns(Model):
    """A shaft that turns: its angle within a turn jumps back."""

    phi = Var(init=0.0)
    q = Var(init=0.0)
    n = Discrete(0)

    def equations(self):
        within = self.phi % (2 * np.pi)
        return [
            der(self.phi) == 2.0,
            der(self.q) == where(within > 3.0, 1.0, 0.0),
            when(within > 3.0, assign(self.n, pre(self.n) + 1)),
        ]


def test_a_function_of_states_that_jumps():
    """At the row of the jump itself the relation was said to have been missed."""
    result = simulate(Turns(), 10.0)
    assert result.final("n") == 3
    np.testing.assert_allclose(result.final("q"), 3 * (2 * np.pi - 3) / 2, rtol=1e-6)


class Opposite(Model):
    x = Var(init=0.0)
    d = Discrete(False)

    def equations(self):
        return [der(self.x) == 1.0, always(assign(self.d, ~pre(self.d)))]


def test_a_value_that_follows_its_own_opposite_is_named():
    named = r"(?s)change each other for ever:\n    d: \d, then \d\n.*hysteresis"
    with pytest.raises(SimulationError, match=named):
        simulate(Opposite(), 1.0)


class Returned(Model):
    """What happens at a crossing turns x round; what follows sets x beyond the threshold again."""

    x, w = Var(init=0.0), Var(init=1.0)
    n = Discrete(0)

    def equations(self):
        return [
            der(self.x) == self.w,
            der(self.w) == 0.0,
            when(self.x > 1.0, reinit(self.w, -1.0), assign(self.n, pre(self.n) + 1)),
            when(self.w < 0.0, reinit(self.x, 2.0)),
        ]


def test_a_condition_that_never_fell_fires_once():
    """It was taken for false in between, since x was about to go back."""
    result = simulate(Returned(), 1.5)
    assert result.final("n") == 1
    assert abs(result.final("x") - 1.5) < 1e-9

"""Power electronics, friction and sampled control against closed forms and exact or tight integration."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from modia_py import simulate, translate
from modia_py.models import switched_examples

from . import switched_references as reference


def just_behind(result, times):
    """Rows at these times; of two rows at an event the second."""
    at = np.searchsorted(result.time, times, side="right") - 1
    assert_allclose(result.time[at], times, rtol=1e-12)
    return at


def event_times(result):
    return np.unique(np.asarray(result.events.time))


def has_events_at(result, times, atol):
    """Whether there is an event at each of these times."""
    found = event_times(result)
    return all(np.abs(found - time).min() <= atol for time in times)


def test_full_wave_rectifier():
    times = np.linspace(0.0, 0.06, 301)
    result = simulate(switched_examples.FullWaveRectifier(), 0.06, times=times, rtol=1e-7)
    u = reference.full_wave_rectifier(0.06, times)
    assert_allclose(result["capacitor.u"][just_behind(result, times)], u, atol=2e-6 * u.max())


def test_buck_converter_for_a_thousand_periods():
    """Two switching instants a period, hit exactly: the solution is exact at all of them."""
    ends = 5e-6 * np.arange(2001)
    result = simulate(switched_examples.BuckConverter(), 1e-2, times=ends, rtol=1e-7)
    at = just_behind(result, ends)
    exact = reference.buck_converter(1000)
    assert_allclose(result["inductor.i"][at], exact[:, 0], atol=5e-5)
    assert_allclose(result["capacitor.u"][at], exact[:, 1], atol=5e-5)


def test_six_pulse_bridge():
    times = np.linspace(0.0, 0.02, 241)
    result = simulate(switched_examples.SixPulseBridge(), 0.02, times=times)
    phases = 100 * np.sin(2 * np.pi * 50 * times[:, None] + result["source.phase"])
    difference = phases.max(axis=1) - phases.min(axis=1)
    # Two diodes of 1e-5 Ohm in series with 10 Ohm.
    assert_allclose(result["load.u"][just_behind(result, times)], difference / (1 + 2e-6), rtol=1e-6)
    commutations = (2 * np.arange(6) + 1) * 0.02 / 12
    assert has_events_at(result, commutations, atol=1e-8)


def test_stick_slip():
    times = np.linspace(0.0, 6.0, 601)
    result = simulate(switched_examples.StickSlip(), 6.0, times=times, rtol=1e-7)
    position, slips, sticks = reference.stick_slip(times)
    assert_allclose(result["mass.s"][just_behind(result, times)], position, atol=1e-6)
    assert has_events_at(result, slips[slips < 5.9], atol=1e-5)
    assert has_events_at(result, sticks[sticks < 5.9], atol=1e-5)


def test_coulomb_oscillator_loses_the_same_amplitude_each_half_period_and_rests():
    times = np.linspace(0.0, 3.0, 301)
    result = simulate(switched_examples.CoulombOscillator(), 3.0, times=times, rtol=1e-8)
    position, turning = reference.coulomb_oscillator(times)
    assert_allclose(result["mass.s"][just_behind(result, times)], position, atol=1e-6)
    assert_allclose(np.abs(np.diff(np.abs(turning))), 0.14, rtol=1e-12)
    assert has_events_at(result, np.pi / 10 * np.arange(1, len(turning)), atol=1e-6)
    assert result.final("friction.mode") == 0
    assert abs(result.final("mass.v")) < 1e-8


def test_momentum_is_kept_when_a_clutch_closes():
    sim = translate(switched_examples.EngagingShafts())
    result = sim.simulate(2.0, times=[0.0, 0.25, 0.75, 1.25, 1.75, 2.0])
    t = np.array([0.25, 0.75, 1.25, 1.75])
    # 3 N.m on 2 kg.m2 alone, then on 3 kg.m2; at 0.5 s both get the common momentum of 2*6.75.
    together = lambda t: (2 * 6.75 + 3 * (t - 0.5)) / 3  # noqa: E731
    driven = [6 + 1.5 * 0.25, together(0.75), together(1.25), together(1.5) + 1.5 * 0.25]
    other = [0.0, together(0.75), together(1.25), together(1.5)]
    at = just_behind(result, t)
    assert_allclose(result["J1.w"][at], driven, rtol=1e-6)
    assert_allclose(result["J2.w"][at], other, rtol=1e-6, atol=1e-9)
    assert_allclose(event_times(result), [0.5, 1.5], rtol=1e-12)
    heavier = sim.simulate(1.0, params={"J2.J": 4.0})
    assert_allclose(heavier.final("J2.w"), (2 * 6.75 + 1.5) / 6, rtol=1e-6)


def test_a_relay_with_hysteresis():
    result = simulate(switched_examples.Thermostat(), 6.0, times=601, rtol=1e-8)
    first, falls, rises = (2 * np.log(q) for q in (1 / 0.3, 0.7 / 0.5, 0.5 / 0.3))
    off = first + (falls + rises) * np.arange(3)
    on = off + falls
    assert has_events_at(result, off[off < 6], atol=1e-6)
    assert has_events_at(result, on[on < 6], atol=1e-6)
    changes = np.flatnonzero(np.diff(result["relay.y"].astype(int)))
    assert len(changes) == np.sum(off < 6) + np.sum(on < 6)
    late = result.time > first
    assert result["x"][late].min() > 0.5 - 1e-6
    assert result["x"][late].max() < 0.7 + 1e-6


def test_sampled_control_of_a_motor():
    instants = 2e-3 * np.arange(100)
    result = simulate(switched_examples.SampledMotor(), 0.2, times=[*instants, 0.2], rtol=1e-8)
    exact = reference.sampled_motor(100)
    at = just_behind(result, instants)
    assert_allclose(result["inductor.i"][at], exact[:, 0], atol=1e-6 * np.abs(exact[:, 0]).max())
    assert_allclose(result["load.w"][at], exact[:, 1], atol=1e-6 * np.abs(exact[:, 1]).max())
    assert_allclose(result["controller.y"][at], exact[:, 2], atol=1e-6 * np.abs(exact[:, 2]).max())

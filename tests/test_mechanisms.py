"""Mechanisms in Cartesian coordinates, index 3 as written, over many periods.

Constraints are kept to rounding on the levels of position and of velocity, the multipliers mu stay small,
and the energy drifts no more than the tolerance of each step, summed over all steps, allows. Over a few
periods the motion is that of minimal coordinates, integrated by DOP853.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from modia_py import translate
from modia_py.models.examples import SlidingMass
from modia_py.models.mechanisms import DoublePendulum, FourBar, Pendulum, SliderCrank

from . import mechanism_references as minimal

RTOL = 1e-6
G = 9.81


def dot(a, b):
    return (a * b).sum(axis=-1)


def speed(v):
    return np.sqrt(dot(v, v)).max()


def end(result, bar, side):
    """Position and velocity of the end of a bar (side -1: a, 1: b), from its centre and angle."""
    half, phi = side * result[f"{bar}.L"] / 2, result[f"{bar}.phi"]
    along = np.stack([np.cos(phi), np.sin(phi)], axis=-1)
    across = np.stack([-np.sin(phi), np.cos(phi)], axis=-1) * result[f"{bar}.w"][:, None]
    return np.stack([result[f"{bar}.r"] + half * along, result[f"{bar}.v"] + half * across])


def energy_of_bar(result, bar):
    m, L = result[f"{bar}.m"], result[f"{bar}.L"]
    v, w = result[f"{bar}.v"], result[f"{bar}.w"]
    return m / 2 * dot(v, v) + m * L**2 / 24 * w**2 + m * G * result[f"{bar}.r"][:, 1]


def pendulum_constraints(result):
    """Position, and velocity in units of the largest speed; so for all mechanisms."""
    r, v = result["r"], result["v"]
    return dot(r, r) - 1, dot(r, v) / speed(v)


def pendulum_energy(result):
    return dot(result["v"], result["v"]) / 2 + G * result["r"][:, 1]


def double_pendulum_constraints(result):
    r, v, d = result["r1"], result["v1"], result["r2"] - result["r1"]
    u = result["v2"] - v
    return dot(r, r) - 1, dot(d, d) - 1, dot(r, v) / speed(v), dot(d, u) / speed(u)


def double_pendulum_energy(result):
    return sum(dot(result[f"v{k}"], result[f"v{k}"]) / 2 + G * result[f"r{k}"][:, 1] for k in (1, 2))


def slider_crank_constraints(result):
    slider = np.stack([result["x"], result["u"]])
    tip = end(result, "rod", 1)
    return (
        end(result, "crank", -1),
        end(result, "crank", 1) - end(result, "rod", -1),
        tip[..., 0] - slider,
        tip[..., 1],
    )


def slider_crank_energy(result):
    return energy_of_bar(result, "crank") + energy_of_bar(result, "rod") + result["u"] ** 2


def four_bar_constraints(result):
    rocker = end(result, "rocker", -1)
    return (
        end(result, "crank", -1),
        rocker[0] - result["pivot"],
        rocker[1],
        end(result, "crank", 1) - end(result, "coupler", -1),
        end(result, "coupler", 1) - end(result, "rocker", 1),
    )


def four_bar_energy(result):
    return sum(energy_of_bar(result, bar) for bar in ("crank", "coupler", "rocker"))


def positions_of_bars(result, *bars):
    return np.concatenate(
        [np.column_stack([result[f"{bar}.r"], result[f"{bar}.phi"]]) for bar in bars], axis=1
    )


@dataclass(frozen=True)
class Mechanism:
    """A model and what is known about its motion."""

    model: Any
    period: float
    constraints: Any
    energy: Any
    scale: float
    """Kinetic energy of the motion, the measure of its drift."""
    minimal: Any
    q0: tuple[float, ...]
    positions: Any
    compared: float = 3.0
    """Periods for the comparison with minimal coordinates."""
    tearing: Any = "auto"


MECHANISMS = {
    "pendulum": Mechanism(
        Pendulum,
        2.3679,
        pendulum_constraints,
        pendulum_energy,
        G,
        minimal.pendulum,
        (0.0,),
        lambda r: r["r"],
    ),
    "double pendulum": Mechanism(
        DoublePendulum,
        2.4,
        double_pendulum_constraints,
        double_pendulum_energy,
        3 * G,
        minimal.double_pendulum,
        (0.0, 0.0),
        lambda r: np.hstack([r["r1"], r["r2"]]),
        compared=1.0,  # chaotic: errors grow exponentially
    ),
    "slider crank": Mechanism(
        SliderCrank,
        2.232,
        slider_crank_constraints,
        slider_crank_energy,
        2.0,
        minimal.slider_crank,
        (-0.5,),
        lambda r: np.column_stack([positions_of_bars(r, "crank", "rod"), r["x"]]),
        tearing=False,
    ),
    "four bar": Mechanism(
        FourBar,
        2.112,
        four_bar_constraints,
        four_bar_energy,
        10.0,
        minimal.four_bar,
        (-0.5,),
        lambda r: positions_of_bars(r, "crank", "coupler", "rocker"),
        tearing=False,
    ),
}


@pytest.fixture(scope="module", params=MECHANISMS)
def mechanism(request):
    chosen = MECHANISMS[request.param]
    return chosen, translate(chosen.model(), tearing=chosen.tearing)


def check_long_run(mechanism, result):
    for error in mechanism.constraints(result):
        assert np.abs(error).max() < 1e-11
    assert result.stats.multipliers
    # By the chance of steps between one and a hundred tolerances (the pendulum, rtol 8e-7 to 1.2e-6).
    assert max(result.stats.multipliers.values()) < 300 * RTOL
    energy = mechanism.energy(result)
    drift = np.abs(energy - energy[0]).max() / mechanism.scale
    # Each step may err by the tolerance, and BDF errs in one direction. Measured: a thousandth of that.
    assert drift < 0.1 * result.stats.steps * RTOL


def test_ten_periods(mechanism):
    mechanism, model = mechanism
    result = model.simulate(10 * mechanism.period, times=401, rtol=RTOL)
    assert result.success
    assert not result.notes
    check_long_run(mechanism, result)


@pytest.mark.slow
def test_hundred_periods(mechanism):
    mechanism, model = mechanism
    check_long_run(mechanism, model.simulate(100 * mechanism.period, times=2001, rtol=RTOL))


def test_same_motion_as_in_minimal_coordinates(mechanism):
    mechanism, model = mechanism
    times = np.linspace(0, mechanism.compared * mechanism.period, 61)
    result = model.simulate(times[-1], times=times, rtol=1e-8)
    expected = minimal.reference(mechanism.minimal, mechanism.q0, times)
    np.testing.assert_allclose(mechanism.positions(result), expected, atol=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["slider crank", "four bar"])
def test_torn_loops(name):
    """All but a few angles assigned: the same motion."""
    mechanism = MECHANISMS[name]
    result = translate(mechanism.model()).simulate(100 * mechanism.period, times=2001, rtol=RTOL)
    check_long_run(mechanism, result)


def test_sliding_mass_has_two_states():
    """x = [s, der(s)]; s is a damped oscillation about its rest, the force is what keeps it on its rail."""
    model = translate(SlidingMass())
    assert model.structure.slot_names() == ["s", "der(s)"]
    result = model.simulate(2.0, init={"der(s)": 0.0}, times=101, rtol=1e-8)
    assert not result.stats.multipliers
    t, n = result.time, result["n"]
    decay, rest = 5.0 / 2, -0.8 * G / 1000
    omega = np.sqrt(1000 - decay**2)
    wave = np.cos(omega * t) + decay / omega * np.sin(omega * t)
    np.testing.assert_allclose(result["s"], rest + (0.1 - rest) * np.exp(-decay * t) * wave, atol=1e-7)
    across = np.array([-0.8, 0.6, 0.0])
    np.testing.assert_allclose(result["f"] @ across, 0.6 * G, atol=1e-9)
    np.testing.assert_allclose(result["f"] @ n, 0, atol=1e-12)

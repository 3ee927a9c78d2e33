"""What happens while nobody looks: pulses of sources while all else is at rest, and gains between steps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from modia_py import Input, Model, ModelWarning, Par, SimulationError, Var, der, simulate, time, translate

RTOLS = [1e-3, 1e-6, 1e-9]


class Peak(Model):
    """A diode charges a capacitor for a short part of each period."""

    vc = Var(init=0.0)

    def equations(self):
        current = 1e-12 * (np.exp((5 * np.sin(100 * np.pi * time) - self.vc) / 0.026) - 1)
        return [1e-4 * der(self.vc) == current - self.vc / 1e5]


@pytest.fixture(scope="module")
def peak():
    def slope(t, v):
        return (1e-12 * np.expm1((5 * np.sin(100 * np.pi * t) - v) / 0.026) - v / 1e5) / 1e-4

    times = np.linspace(0, 0.2, 101)
    right = solve_ivp(slope, (0, 0.2), [0.0], "Radau", times, rtol=1e-10, atol=1e-12, max_step=4e-4).y[0]
    return translate(Peak()), times, right


@pytest.mark.parametrize("rtol", RTOLS)
def test_pulses_of_a_source_are_not_stepped_over(peak, rtol):
    sim, times, right = peak
    assert np.abs(sim.simulate(0.2, times=times, rtol=rtol)["vc"] - right).max() < 10 * rtol * 5


class Charged(Model):
    """The same with an input, given as a function."""

    u = Input()
    vc = Var(init=0.0)

    def equations(self):
        return [1e-4 * der(self.vc) == 1e-12 * (np.exp((self.u - self.vc) / 0.026) - 1) - self.vc / 1e5]


def test_nor_those_of_an_input(peak):
    _, times, right = peak
    result = simulate(Charged(), 0.2, times=times, inputs={"u": lambda t: 5 * np.sin(100 * np.pi * t)})
    assert np.abs(result["vc"] - right).max() < 5e-5


class ByState(Model):
    """No integrator knows of the pulse before it is there."""

    x = Var(init=0.0)
    z = Var(init=0.0)

    def equations(self):
        return [der(self.x) == 1, der(self.z) == 1e2 * np.exp(-(((self.x - 50.0) * 10) ** 2))]


def test_a_pulse_that_was_stepped_over_is_an_error():
    with pytest.raises(
        SimulationError, match=r"within one step that the integrator has not\s+seen: z is off"
    ) as caught:
        simulate(ByState(), 100.0)
    assert caught.value.result.final("x") == pytest.approx(100.0)


class Amplifier(Model):
    A = Par(1e6)
    x = Var(init=0.1)
    vo = Var()
    vm = Var()

    def equations(self):
        return [
            self.vo == self.A * (np.sin(time) - self.vm),
            self.vm == 0.5 * self.vo,
            der(self.x) == self.vo - self.x,
        ]


@pytest.fixture(scope="module")
def amplifier():
    return translate(Amplifier())


@pytest.mark.parametrize("rtol", RTOLS)
def test_a_large_gain_does_not_spoil_output_between_steps(amplifier, rtol):
    result = amplifier.simulate(10.0, rtol=rtol)
    t, k = result.time, 1e6 / (1 + 0.5e6)
    assert np.abs(result["vo"] - k * np.sin(t)).max() < 1e-9
    x = 0.1 * np.exp(-t) + k * (np.sin(t) - np.cos(t) + np.exp(-t)) / 2
    assert np.abs(result["x"] - x).max() < 5 * rtol


class Jump(Model):
    x = Var(init=0.0)
    z = Var()
    w = Var(init=0.0)

    def equations(self):
        z = np.where(self.x > 0.5, 1.0, 0.0)
        return [der(self.x) == 1, self.z == z, der(self.w) + self.w == der(self.z)]


def test_a_jump_that_is_differentiated_is_noted():
    notes = simulate(Jump(), 2.0).notes
    assert any("without the impulse if it jumps: `where(x > 0.5, 1, 0)`" in note for note in notes)
    model = Jump()
    with pytest.warns(ModelWarning, match="no impulse where `where"):
        der(model.w - np.where(model.x > 0.5, 1.0, 0.0))


class OtherRoot(Model):
    x = Var(init=0.0)
    y = Var(guess=1.0)

    def equations(self):
        return [der(self.x) == 1, self.y**2 == (1 - self.x) ** 2 + 1e-8]


def test_a_branch_that_may_have_changed_is_noted():
    notes = simulate(OtherRoot(), 2.0, times=4).notes
    assert any(
        "between the times 0.666667 and 1.33333, the equations are singular" in note for note in notes
    )


class Relation(Model):
    x = Var(init=0.0)
    z = Var(init=0.0)

    def equations(self):
        return [der(self.x) == 1, der(self.z) == 5.0 * (self.x > 0.5) - (self.x > 0.75)]


def test_relations_count_as_one_or_zero_in_sums_and_products():
    assert simulate(Relation(), 1.0).final("z") == pytest.approx(2.25, abs=1e-4)


def test_few_rows_of_a_large_model_are_polished():
    """Whose matrices are larger than what is worked on at once."""
    n = 500_000

    class Many(Model):
        x = Var(n, init=np.ones(n))
        y = Var(n)

        def equations(self):
            return [der(self.x) == -self.y, self.y == self.x + 0.1 * np.sin(self.x)]

    result = simulate(Many(), 1e-3, times=[1e-3])
    assert result.final("y")[0] == pytest.approx(result.final("x")[0] + 0.1 * np.sin(result.final("x")[0]))

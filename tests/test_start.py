"""Initialization: `init`, guesses, initial equations, contradictions, impulses; and runs that fail."""

from __future__ import annotations

import numpy as np
import pytest

from modia_py import Model, Par, SimulationError, StructureError, Var, connect, der, simulate, translate
from modia_py.models.electrical import Capacitor, ConstantVoltage, Ground, Resistor
from modia_py.models.examples import Pendulum


@pytest.fixture(scope="module")
def pendulum():
    return translate(Pendulum())


def test_redundant_values_that_agree_are_welcome(pendulum):
    result = pendulum.simulate(0.1, init={"r": [0.6, -0.8], "v": [0.8, 0.6]}, times=3)
    assert np.abs((result["r"] ** 2).sum(axis=1) - 1).max() < 1e-8
    # the force of the rod: m (v^2 / l + g cos) per length
    assert result["force"][0] == pytest.approx(1.0 + 9.81 * 0.8, rel=1e-6)
    assert not result.notes


def test_what_is_free_stays_at_its_guess_and_is_listed(pendulum):
    result = pendulum.simulate(0.1, times=3)
    assert result.notes == ("no `init` determines the start of: der(r)[0] = 0, der(r)[1] = 0 (guess)",)


def test_contradictions_name_a_smallest_set(pendulum):
    with pytest.raises(SimulationError) as caught:
        pendulum.simulate(1.0, init={"r": [1.0, 0.5]})
    text = str(caught.value)
    assert "r[0] = 1" in text
    assert "r[1] = 0.5" in text
    assert "r @ r == length**2  (examples.py:" in text
    with pytest.raises(SimulationError) as caught:
        pendulum.simulate(1.0, init={"r": [1.0, 0.0], "v": [1.0, 2.0]})
    text = str(caught.value)
    assert "v[0] = 1" in text
    assert "v[1]" not in text


def test_an_impulse_keeps_what_it_can(pendulum):
    """The speed along the rod vanishes, the one across it stays."""
    result = pendulum.simulate(0.1, init={"v": [1.0, 2.0]}, start="impulse", times=3)
    np.testing.assert_allclose(result["v"][0], [0.0, 2.0], atol=1e-9)
    assert result.notes == ("jumped at the start: v[0] from 1 to 0",)


class Parallel(Model):
    """Two capacitors in parallel behind a resistor: one state, two values at the start."""

    source = ConstantVoltage(V=1.0)
    r = Resistor(R=1.0)
    ground = Ground()
    a = Capacitor(C=1.0, u=0.2)
    b = Capacitor(C=3.0, u=0.6)

    def equations(self):
        return [
            connect(self.source.p, self.r.p),
            connect(self.r.n, self.a.p, self.b.p),
            connect(self.source.n, self.a.n, self.b.n, self.ground.p),
        ]


def test_a_capacitor_loop_with_two_voltages():
    sim = translate(Parallel())
    with pytest.raises(SimulationError, match=r"a\.u = 0\.2\n    b\.u = 0\.6"):
        sim.simulate(1.0)
    result = sim.simulate(1.0, start="impulse", times=3)
    assert result["a.u"][0] == pytest.approx((1 * 0.2 + 3 * 0.6) / 4)  # the charge is conserved
    expected = 1 - (1 - 0.5) * np.exp(-result.time / 4)
    np.testing.assert_allclose(result["b.u"], expected, rtol=1e-5)


def test_initial_equations_choose_the_steady_state():
    class Steady(Model):
        k = Par(2.0)
        x = Var(guess=1.0)

        def equations(self):
            return [der(self.x) == 3.0 - self.k * self.x]

        def initial_equations(self):
            return [der(self.x) == 0]

    result = simulate(Steady(), 1.0, times=3)
    np.testing.assert_allclose(result["x"], 1.5, rtol=1e-9)
    np.testing.assert_allclose(simulate(Steady(k=6.0), 1.0, times=3)["x"], 0.5, rtol=1e-9)


def test_init_of_a_variable_that_is_computed_from_others():
    class Circle(Model):
        phi = Var(guess=0.4)
        y = Var(init=0.5)

        def equations(self):
            return [der(self.phi) == 1.0, self.y == np.sin(self.phi)]

    result = simulate(Circle(), 1.0, times=3)
    np.testing.assert_allclose(result["phi"], np.pi / 6 + result.time, atol=1e-8)


def test_division_by_zero_at_the_start():
    class Inverse(Model):
        x = Var(init=0.0)
        y = Var()

        def equations(self):
            return [der(self.x) == self.y, self.y == 1 / self.x]

    with pytest.raises(SimulationError, match=r"(?s)cannot start at time 0.*y == 1/x  \(test_start.py"):
        simulate(Inverse(), 1.0)


def test_no_start_names_the_worst_equation():
    class Nowhere(Model):
        x = Var(init=1.0)
        y = Var(guess=1.0)

        def equations(self):
            return [der(self.x) == -self.x + self.y, self.y**2 + self.x**2 == -3.0]

    with pytest.raises(SimulationError, match=r"(?s)No consistent start.*y\*\*2 \+ x\*\*2 == -3.*off by"):
        simulate(Nowhere(), 1.0)


def test_a_failure_on_the_way_keeps_what_was_computed():
    class Explosion(Model):
        x = Var(init=1.0)

        def equations(self):
            return [der(self.x) == self.x**2]

    with pytest.raises(SimulationError) as caught:
        simulate(Explosion(), 2.0, times=201)
    text, partial = str(caught.value), caught.value.result
    assert "stopped at time 1" in text or "stopped at time 0.99" in text
    assert "x = " in text
    assert not partial.success
    assert 90 <= len(partial.time) <= 101
    np.testing.assert_allclose(partial["x"][:90], 1 / (1 - partial.time[:90]), rtol=1e-3)


def test_too_few_steps():
    class Decay(Model):
        x = Var(init=1.0)

        def equations(self):
            return [der(self.x) == -self.x]

    with pytest.raises(SimulationError, match="max_steps") as caught:
        simulate(Decay(), 1.0, max_steps=5)
    assert caught.value.result.stats.steps <= 5


def test_structure_errors_name_equations_and_lines():
    class Unbalanced(Model):
        x = Var(init=1.0)
        y = Var()

        def equations(self):
            return [der(self.x) == self.y]

    with pytest.raises(StructureError, match=r"(?s)Unbalanced.*1 too few.*der\(x\) == y  \(test_start.py"):
        translate(Unbalanced())

    class Sources(Model):
        a = ConstantVoltage(V=1.0)
        b = ConstantVoltage(V=2.0)
        ground = Ground()

        def equations(self):
            return [connect(self.a.p, self.b.p), connect(self.a.n, self.b.n, self.ground.p)]

    with pytest.raises(StructureError, match=r"(?s)Over-determined by 1.*a\.u == a\.V.*b\.u == b\.V"):
        translate(Sources())
    with pytest.raises(StructureError, match="no variables"):
        translate(type("Empty", (Model,), {})())


class Twice(Model):
    """An alias of a state, both with a start value."""

    p = Var(init=1e5)
    x = Var(init=1.0)
    y = Var(init=1.0)

    def equations(self):
        return [der(self.x) == -self.x, self.y == self.x, der(self.p) == -self.p]


def test_two_values_for_one_state():
    sim = translate(Twice())
    assert sim.simulate(1.0, times=3)["y"][-1] == pytest.approx(np.exp(-1), rel=1e-5)
    for other in (2.0, 1.001):  # beside a pressure of 1e5 it is a contradiction, too
        with pytest.raises(SimulationError, match=r"x = 1\n    y = "):
            sim.simulate(1.0, init={"y": other})
    with pytest.raises(SimulationError, match="cannot hold together just before the start"):
        sim.simulate(1.0, init={"y": 2.0}, start="impulse")


def test_initial_equations_that_contradict_each_other():
    class Both(Model):
        x = Var(guess=1.0)

        def equations(self):
            return [der(self.x) == -self.x]

        def initial_equations(self):
            return [self.x == 1.0, self.x == 2.0]

    with pytest.raises(SimulationError, match=r"(?s)contradict each other.*x == [12] .*x == [12] "):
        simulate(Both(), 1.0)

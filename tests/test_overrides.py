"""Values for single runs by name: parameters, starts, inputs and tolerances, with component arrays."""

from __future__ import annotations

import numpy as np
import pytest

from modia_py import Input, Model, ModelError, Par, Var, der, translate


class Oscillator(Model):
    """s'' + w^2 s = u: started by position and speed, or by position and acceleration."""

    w = Par(2.0)
    s = Var(init=1.0)
    u = Var()

    def equations(self):
        return [der(der(self.s)) + self.w**2 * self.s == self.u]


class Lag(Model):
    T = Par(1.0, nonzero=True)
    x = Var(init=0.0)
    u = Var()

    def equations(self):
        return [self.T * der(self.x) == self.u - self.x]


class Bank(Model):
    """Three lags and a pair of oscillators behind one input, and a state that starts at rest."""

    force = Input()
    lag = Lag.array(3, T=[1.0, 2.0, 4.0])
    pair = Oscillator.array(2, w=[2.0, 3.0])
    y = Var()

    def equations(self):
        return [self.lag.u == self.force, self.pair.u == 0.0, der(self.y) == self.force - 2 * self.y]

    def initial_equations(self):
        return [der(self.y) == 0]


@pytest.fixture(scope="module")
def bank():
    return translate(Bank())


def rise(t, T, x0=0.0, to=1.0):
    return to + (x0 - to) * np.exp(-t / T)


def run(bank, **options):
    options = {"inputs": {"force": 1.0}, "times": np.array([0.0, 0.3, 1.0, 2.0]), "rtol": 1e-8, **options}
    return bank.simulate(2.0, **options)


def test_values_for_each_copy(bank):
    result = run(bank, init={"der(pair.s)": 0.0})
    t = result.time
    np.testing.assert_array_equal(t, [0.0, 0.3, 1.0, 2.0])
    np.testing.assert_allclose(result["lag.x"], rise(t[:, None], np.array([1.0, 2.0, 4.0])), atol=1e-7)
    np.testing.assert_allclose(result["lag[1].x"], rise(t, 2.0), atol=1e-7)
    np.testing.assert_allclose(result["pair.s"], np.cos(t[:, None] * [2.0, 3.0]), atol=1e-6)
    np.testing.assert_allclose(result["y"], 0.5, atol=1e-9)  # an initial equation: at rest


def test_parameters_and_starts_by_dotted_name(bank):
    result = run(bank, params={"lag.T": 0.5, "pair.w": [1.0, 4.0]},
                 init={"lag.x": [1.0, 0.0, -1.0], "der(pair.s)": [1.0, 0.0], "pair.s": 0.5})  # fmt: skip
    t = result.time
    np.testing.assert_allclose(
        result["lag.x"], rise(t[:, None], 0.5, np.array([1.0, 0.0, -1.0])), atol=1e-7
    )
    np.testing.assert_allclose(result["pair[0].s"], 0.5 * np.cos(t) + np.sin(t), atol=1e-6)
    np.testing.assert_allclose(result["pair[1].s"], 0.5 * np.cos(4 * t), atol=1e-6)


def test_a_start_by_a_higher_derivative(bank):
    """Position free, speed and acceleration given: the equation makes the position of them."""
    result = run(bank, init={"pair.s": -0.25, "der(pair.s)": 0.0, "der(der(pair.s))": [1.0, 2.25]})
    np.testing.assert_allclose(result["pair.s"][0], -0.25, atol=1e-9)
    np.testing.assert_allclose(result["pair[1].s"], -0.25 * np.cos(3 * result.time), atol=1e-6)


@pytest.mark.parametrize("kind", ["linear", "previous", "cubic"])
def test_tables(bank, kind):
    """A ramp in pieces, a staircase, and a parabola."""
    knots = np.array([0.0, 0.5, 1.0, 2.0])
    values = {"linear": 2 * knots, "previous": [1.0, 1.0, 3.0, 3.0], "cubic": knots**2}[kind]
    result = run(bank, inputs={"force": (knots, values, kind)})
    t = result.time
    late = np.maximum(t - 1, 0)
    expected = {
        "linear": 2 * (t - 1 + np.exp(-t)),
        "previous": rise(t, 1.0) + 2 * (1 - np.exp(-late)),
        "cubic": t**2 - 2 * t + 2 - 2 * np.exp(-t),
    }[kind]
    np.testing.assert_allclose(result["lag[0].x"], expected, atol=1e-6)


def test_tolerances_by_name(bank):
    """Where a start is far below the common tolerance, its own makes the difference."""
    own = run(bank, rtol=1e-6, atol={"lag.x": 1e-15, "pair.s": 1e-9, "lag.u": 1.0},
              inputs={"force": 0.0}, init={"lag.x": 1e-9})  # fmt: skip
    exact = 1e-9 * np.exp(-own.time[:, None] / np.array([1.0, 2.0, 4.0]))
    np.testing.assert_allclose(own["lag.x"], exact, rtol=1e-4)
    for atol, text in (
        ({"lag.z": 1.0}, "no variable 'lag.z'"),
        ({"lag.x": 0.0}, "atol must be positive"),
        ("small", "atol must be a number"),
    ):
        with pytest.raises(ModelError, match=text):
            run(bank, atol=atol)

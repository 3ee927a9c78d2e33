"""`translate` and `simulate`: options, parameters as data, caching, inputs."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from modia_py import (
    Input,
    Model,
    ModelError,
    ModelWarning,
    Par,
    Var,
    connect,
    der,
    simulate,
    time,
    translate,
)
from modia_py.models.electrical import Capacitor, ConstantVoltage, Resistor
from modia_py.models.examples import Ladder, SlidingMass
from modia_py.simulation.compile_times import watch_compilation
from modia_py.translate import _translations


class Lag(Model):
    """T der(x) + x = u, with an output that needs the derivative of the input."""

    T = Par(0.5, nonzero=True)
    u = Input()
    x = Var(init=1.0)
    y = Var()
    slope = Var()

    def equations(self):
        return [
            self.T * der(self.x) + self.x == self.u,
            self.y == 2 * self.u,
            self.slope == der(self.y),
        ]


@pytest.fixture(scope="module")
def lag():
    return translate(Lag())


@pytest.fixture(scope="module")
def mass():
    return translate(SlidingMass())


def damped(t, s0, c=1e3, d=5.0):
    rest, decay = -0.8 * 9.81 / c, d / 2
    omega = np.sqrt(c - decay**2)
    wave = np.cos(omega * t) + decay / omega * np.sin(omega * t)
    return rest + (s0 - rest) * np.exp(-decay * t) * wave


def test_every_variable_by_name(mass):
    result = mass.simulate(1.0, times=51)
    s = damped(result.time, 0.1)
    np.testing.assert_allclose(result["s"], s, atol=2e-6)
    np.testing.assert_allclose(result["r"], s[:, None] * [0.6, 0.8, 0.0], atol=2e-6)
    np.testing.assert_allclose(result["v"], result["der(s)"][:, None] * [0.6, 0.8, 0.0], atol=1e-9)
    # m der(v) = f + m g + u along the rail and across it
    g = np.array([0.0, -9.81, 0.0])
    np.testing.assert_allclose(result["der(v)"], result["f"] + g + result["u"], atol=1e-9)
    np.testing.assert_allclose(result["f"] @ [0.6, 0.8, 0.0], 0.0, atol=1e-9)
    assert result["f"].shape == (51, 3)


def test_other_values_compile_nothing(mass):
    mass.simulate(1.0, params={"c": 499.0}, init={"s": 0.05}, times=51)["f"]  # a start of its own is found
    with watch_compilation() as seen:
        for k in range(5):
            result = mass.simulate(
                1.0 + 0.1 * k, params={"c": 500.0 + k}, init={"s": 0.1 * k}, rtol=1e-5 / (k + 1), times=51
            )
            np.testing.assert_allclose(result["s"], damped(result.time, 0.1 * k, 500.0 + k), atol=1e-4)
            assert result["f"].shape == (51, 3)
    assert seen.programs == 0


def test_a_second_model_of_the_class_is_free(mass):
    again = translate(SlidingMass(c=700.0, s=0.3))
    assert again.translation is mass.translation
    with watch_compilation() as seen:
        result = again.simulate(1.0, times=51)
    assert seen.programs == 0
    np.testing.assert_allclose(result["s"], damped(result.time, 0.3, 700.0), atol=5e-6)
    assert translate(Ladder(3)).translation is translate(Ladder(3)).translation
    assert translate(Ladder(3)).translation is not translate(Ladder(4)).translation


def test_what_changes_the_structure_is_translated_anew():
    class Gain(Model):
        x = Var(init=1.0)

        def __init__(self, factor, **changes):
            super().__init__(**changes)
            self.factor = factor

        def equations(self):
            return [der(self.x) == self.factor * self.x]

    one, two = translate(Gain(-1.0)), translate(Gain(-2.0))
    assert one.translation is not two.translation
    assert translate(Gain(-1.0)).translation is one.translation
    assert len(_translations) <= 32


def test_tearing_changes_nothing_but_the_form():
    results = [
        simulate(SlidingMass(), 0.5, tearing=choice, times=11, rtol=1e-8) for choice in (True, False)
    ]
    for name in ("s", "r", "v", "f", "u"):
        size = np.abs(results[0][name]).max()
        np.testing.assert_allclose(results[0][name], results[1][name], atol=1e-6 * size)


def test_functions_of_numpy_and_jax_are_inputs(lag):
    import jax.numpy as jnp

    for function in (lambda t: np.sin(3 * t), lambda t: jnp.sin(3 * t), np.sin(3 * time)):
        result = lag.simulate(2.0, inputs={"u": function}, times=21)
        t = result.time
        exact = (np.sin(3 * t) - 1.5 * np.cos(3 * t)) / 3.25 + (1 + 1.5 / 3.25) * np.exp(-2 * t)
        np.testing.assert_allclose(result["x"], exact, atol=1e-5)
        np.testing.assert_allclose(result["slope"], 6 * np.cos(3 * t), atol=1e-12)
        np.testing.assert_allclose(result["u"], np.sin(3 * t), atol=1e-12)


class Filter(Model):
    """A lag without the derivative of its input, which may jump then."""

    u = Input()
    x = Var(init=1.0)

    def equations(self):
        return [0.5 * der(self.x) + self.x == self.u]


def test_a_table_that_jumps_is_not_smeared():
    """A pulse of a thousandth of the interval, which no step would meet by itself."""
    times = np.array([0.0, 1.0, 1.002])
    result = simulate(
        Filter(), 2.0, inputs={"u": (times, [0.0, 500.0, 0.0], "previous")}, times=[0.9, 1.002, 2.0]
    )
    before = np.exp(-2 * 0.9)
    pulse = np.exp(-2 * 1.002) + 500 * (1 - np.exp(-2 * 0.002))
    np.testing.assert_allclose(result["x"], [before, pulse, pulse * np.exp(-2 * 0.998)], rtol=1e-5)
    np.testing.assert_allclose(result["u"], 0.0)


def test_tables_are_data(lag):
    t = np.linspace(0, 1, 11)
    lag.simulate(1.0, inputs={"u": (t, t)}, times=5)["slope"]
    with watch_compilation() as seen:
        result = lag.simulate(1.0, inputs={"u": (t, 2 * t)}, times=5)
        slope = result["slope"]
    assert seen.programs == 0
    np.testing.assert_allclose(slope, 4.0)
    exact = 2 * (result.time - 0.5) + 2 * np.exp(-2 * result.time)
    np.testing.assert_allclose(result["x"], exact, atol=1e-5)


@pytest.mark.parametrize("interpolation", ["cubic", "akima"])
def test_smooth_tables(lag, interpolation):
    t = np.linspace(0, 1, 41)
    result = lag.simulate(1.0, inputs={"u": (t, t**2, interpolation)}, times=11)
    np.testing.assert_allclose(result["u"], result.time**2, atol=1e-12)
    np.testing.assert_allclose(result["slope"], 4 * result.time, atol=1e-9)


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        (None, r"Lag has the input u, for which nothing is given"),
        ({"w": 1.0}, r"no input 'w'. Known names: u"),
        ({"u": ([0, 1], [0, 1, 2])}, r"2 times and values of shape \(3,\)"),
        ({"u": ([0, 1], [0, 1], "quintic")}, r"'quintic'. There are: linear, previous, cubic, akima"),
        ({"u": ([0, 0.5], [0, 1])}, r"goes from 0 to 0.5, the simulation from 0 to 1. Nothing is extrap"),
        ({"u": ([0, 0.7, 0.6, 1], [0, 1, 2, 3])}, r"must increase"),
        ({"u": ([0, 1], [0, np.nan])}, r"not finite"),
        ({"u": lambda t: [t, t]}, r"returns shape \(2,\), expected \(\)"),
        ({"u": lambda t: 1.0 if t > 1 else 0.0}, r"`time > 1` cannot become a truth value .*np.where"),
    ],
)
def test_wrong_inputs(lag, inputs, text):
    with pytest.raises(ModelError, match=text):
        lag.simulate(1.0, inputs=inputs)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"stop_time": 0.0}, "stop_time = 0 is not after start_time = 0"),
        ({"stop_time": np.nan}, "stop_time must be a finite number"),
        ({"rtol": 0.0}, "rtol = 0 is not between"),
        ({"atol": -1.0}, "atol must be positive"),
        ({"times": 1}, "two points at least"),
        ({"times": [0.0, 2.0]}, "times go from 0 to 2, the simulation from 0 to 1"),
        ({"times": [0.5, 0.2]}, "finite and increase"),
        ({"method": "euler"}, "no method 'euler'; there are 'bdf', 'radau', 'auto'"),
        ({"linear_solver": "lu"}, "no linear_solver 'lu'; there are 'auto'"),
        ({"start": "now"}, "no start 'now'"),
        ({"max_steps": 0}, "max_steps must be a positive integer"),
        ({"params": {"k": 1.0}}, "no parameter 'k'"),
        ({"params": {"c": np.nan}}, "Parameter c is NaN"),
        ({"init": {"q": 1.0}}, "no variable 'q'"),
        ({"init": {"c": 1.0}}, "'c' is a parameter, not a variable"),
        ({"init": {"r": [1.0, 2.0]}}, r"start value of r has shape \(2,\), expected \(3,\)"),
        ({"init": {"s": np.inf}}, "start value of s is not finite"),
        ({"init": {"der3(s)": 1.0}}, r"der3\(s\) has a start value, but it is not part of the equations"),
    ],
)
def test_wrong_options(mass, options, text):
    with pytest.raises(ModelError, match=text):
        mass.simulate(**{"stop_time": 1.0, **options})


def test_an_unknown_option_is_refused_before_anything_is_translated(monkeypatch):
    module = sys.modules["modia_py.simulate"]  # the package has the function under this name
    monkeypatch.setattr(module, "translate", lambda *_, **__: pytest.fail("translated the model"))
    with pytest.raises(TypeError, match="rtoll"):
        simulate(SlidingMass(), 1.0, rtoll=1e-3)


def test_a_result_says_which_formulas_have_run(mass):
    result = mass.simulate(0.1, method="bdf")
    assert result.stats.method == "bdf: ndf of order 1 to 5"
    assert simulate(SlidingMass(), 0.1).stats.steps == result.stats.steps


def test_wrong_models():
    with pytest.raises(ModelError, match="SlidingMass is a class: give an instance"):
        translate(SlidingMass)
    with pytest.raises(ModelError, match="needs a Model, not int"):
        translate(3)
    with pytest.raises(ModelError, match='tearing is True, False or "auto"'):
        translate(SlidingMass(), tearing="yes")


def test_a_missing_ground_is_named_and_the_answer_right():
    class Floating(Model):
        source = ConstantVoltage(V=10.0)
        r = Resistor(R=100.0)
        c = Capacitor(C=2.5e-3, u=0.0)

        def equations(self):
            return [
                connect(self.source.p, self.r.p),
                connect(self.r.n, self.c.p),
                connect(self.c.n, self.source.n),
            ]

    with pytest.warns(ModelWarning, match="was set to zero: nothing determines it; is a ground missing"):
        result = simulate(Floating(), 1.0, times=5)
    np.testing.assert_allclose(result["c.u"], 10 * (1 - np.exp(-result.time / 0.25)), rtol=1e-5, atol=1e-6)
    assert any("set to zero" in note for note in result.notes)


def test_one_translation_serves_many_threads(mass):
    """Each run starts from its own parameters: der2(s) at the start says which those were."""
    stiffnesses = [100.0, 500.0, 1e3, 3e3] * 4

    def start_and_end(c):
        result = mass.simulate(0.3, params={"c": c})
        return result["der2(s)"][0], result.final("s")

    alone = [start_and_end(c) for c in stiffnesses]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(start_and_end, stiffnesses)) == alone
    np.testing.assert_allclose([start for start, _ in alone], -0.1 * np.array(stiffnesses) - 0.8 * 9.81)


def test_a_start_is_found_again_only_for_the_same_data():
    """Runs of one translation, of two instances that share it: other values, other starts."""
    sim, other = translate(SlidingMass()), translate(SlidingMass(s=0.3))
    assert sim.translation is other.translation
    first = [
        sim.simulate(0.1)["s"][0],
        other.simulate(0.1)["s"][0],
        sim.simulate(0.1, init={"s": 0.2})["s"][0],
    ]
    assert first == pytest.approx([0.1, 0.3, 0.2])
    force = [sim.simulate(0.1, params={"m": m})["f"][0] for m in (1.0, 2.0, 1.0)]
    np.testing.assert_array_equal(force[0], force[2])
    assert np.abs(force[1] - force[0]).max() > 1.0
    moving = sim.simulate(0.1, init={"der(s)": 1.0})
    assert moving["der(s)"][0] == pytest.approx(1.0)
    assert sim.simulate(0.1)["der(s)"][0] == pytest.approx(0.0)

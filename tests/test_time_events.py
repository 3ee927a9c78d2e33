"""Functions of time inside of equations: their jumps and kinks are stops; and functions traced anew."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from modia_py import (
    Input,
    Model,
    ModelError,
    Par,
    SimulationError,
    Var,
    der,
    elaborate,
    function,
    simulate,
    time,
    translate,
)
from modia_py.expressions.abrupt_parts import abrupt_parts
from modia_py.expressions.surroundings import surroundings
from modia_py.program.time_expressions import TimeExpressions
from modia_py.program.translation import MOST_PROGRAMS
from modia_py.simulation.compile_times import watch_compilation
from modia_py.translate import MOST_TRANSLATIONS, _translations


class LateStep(Model):
    T = Par(86400.0)
    height = Par(2.0)
    x = Var(init=0.0)

    def equations(self):
        return [der(self.x) == np.where(time > self.T, self.height, 0.0) - self.x / 1000]


def test_a_step_at_a_late_time():
    """It ended the run at default tolerances; other parameters move it and compile nothing."""
    sim = translate(LateStep())
    result = sim.simulate(87400.0, start_time=85400.0, times=[85400.0, 86400.0, 87400.0])
    np.testing.assert_allclose(result["x"], [0, 0, 2000 * (1 - np.exp(-1))], rtol=1e-6, atol=1e-6)
    (note,) = result.notes
    assert note.startswith(
        "`where(time > T, height, 0)` in `der(x) == where(time > T, height, 0) - x/1000` ("
    )
    assert note.endswith(") jumps at time 86400")
    with watch_compilation() as seen:
        moved = sim.simulate(87400.0, start_time=85400.0, params={"T": 86900.0}, times=3)
    np.testing.assert_allclose(moved.final("x"), 2000 * (1 - np.exp(-0.5)), rtol=1e-6)
    assert seen.programs == 0
    assert moved.notes[0].endswith("jumps at time 86900")


def test_a_pulse_in_an_equation_is_not_stepped_over():
    class Pulse(Model):
        begin = Par(500.0)
        width = Par(1e-3)
        x = Var(init=0.0)
        y = Var(init=0.0)

        def equations(self):
            on = (time > self.begin) & (time < self.begin + self.width)
            return [
                der(self.x) == np.where(on, 1000.0, 0.0) - self.x,
                der(self.y) == 1000 * np.maximum(0, self.width - np.abs(time - self.begin)) - self.y,
            ]

    result = simulate(Pulse(), 501.0, times=[499.0, 501.0])
    np.testing.assert_allclose(result["x"], [0.0, 1000 * (1 - np.exp(-1e-3)) * np.exp(-0.999)], atol=1e-6)
    np.testing.assert_allclose(result["y"], [0.0, 1e-3 * np.exp(-1.0)], atol=1e-8)


def test_waves_in_equations():
    """x is what the integral of each wave says."""

    class Waves(Model):
        P = Par(0.5)
        D = Par(0.2)
        x = Var(6, init=0.0)

        def equations(self):
            waves = [
                np.where(time % self.P < self.D * self.P, 1.0, 0.0),
                np.abs(np.sin(7 * time)),
                np.floor(3 * time),
                np.sign(np.cos(5 * time)),
                np.clip(4 * time - 2, -1, 1),
                np.maximum(0.0, time - 0.3),
            ]
            return [der(self.x) == np.stack(waves)]

    result = simulate(Waves(), 2.0, times=[2.0], rtol=1e-8)
    s = (np.arange(2_000_000) + 0.5) / 1e6
    waves = [
        s % 0.5 < 0.1,
        np.abs(np.sin(7 * s)),
        np.floor(3 * s),
        np.sign(np.cos(5 * s)),
        np.clip(4 * s - 2, -1, 1),
    ]
    exact = [np.mean(wave) * 2 for wave in [*waves, np.maximum(0, s - 0.3)]]
    np.testing.assert_allclose(result["x"][0], exact, atol=5e-6)


def test_conditions_beside_variables():
    """`where` chooses between variables: its condition is the function of time."""

    class Charge(Model):
        u = Input()
        x = Var(init=1.0)

        def equations(self):
            return [der(self.x) == np.where((time < 1.0) | (self.u > 0.5), self.x, -self.x)]

    result = simulate(Charge(), 3.0, inputs={"u": ([0.0, 3.0], [-2.0, 1.0])}, times=[1.0, 2.5, 3.0])
    np.testing.assert_allclose(result["x"], np.exp([1.0, -0.5, 0.0]), rtol=1e-5)
    assert "jumps at time 1, 2.5" in result.notes[0]


def test_which_parts_are_looked_at():
    """What is smooth costs nothing, copies with the same core are one, a factor is no part of it."""

    class Smooth(Model):
        w = Par(2.0)
        x = Var(init=0.0)

        def equations(self):
            return [der(self.x) == np.sin(self.w * time) * np.exp(-time) + time**2 / self.w]

    class Sources(Model):
        T = Par(1.0)
        A = Par(1.0)
        x = Var(init=0.0)

        def equations(self):
            return [der(self.x) == self.A * np.where(time > self.T, 2.0, 0.0) - self.x]

    class Many(Model):
        def __init__(self, **changes):
            super().__init__(**changes)
            self.s = Sources.array(1000, A=np.arange(1000.0), T=np.repeat([1.0, 2.0], 500))

        def equations(self):
            return []

    assert TimeExpressions(elaborate(Smooth())).groups == ()
    flat = elaborate(Many())
    expressions = TimeExpressions(flat)
    p = np.concatenate([np.broadcast_to(q.symbol.value, q.shape).ravel() for q in flat.parameters])
    _, numbers = expressions.rows(p)
    assert [len(chosen) for chosen in numbers] == [2]
    (part,) = abrupt_parts([3.0 * np.where(time > 1.0, 2.0, 0.0) + np.sin(time)])
    assert str(part.core) == "time > 1"


def test_the_derivative_of_a_jump_in_an_equation_is_an_error():
    class Jump(Model):
        T = Par(0.3)
        x = Var()
        v = Var()

        def equations(self):
            return [self.x == 2 * np.where(time > self.T, 1.0, 0.0), self.v == der(self.x)]

    sim = translate(Jump())
    with pytest.raises(SimulationError) as error:
        sim.simulate(1.0)
    text = str(error.value)
    assert (
        "jumps at time 0.3, and the equations contain the derivative of\n    x == 2*where(time > T, 1, 0)"
        in text
    )
    assert "There der(x) would be infinite" in text
    assert sim.simulate(1.0, params={"T": 2.0})["v"].max() == 0.0  # nothing jumps in this run

    class Lost(Model):
        x = Var()

        def equations(self):
            return [self.x == der(np.where(time > 0.3, time, 0.0))]

    with pytest.raises(
        SimulationError, match=r"`where\(time > 0.3, time, 0\)` in .* jumps at time 0.3, and"
    ):
        simulate(Lost(), 1.0)
    with pytest.raises(ModelError, match=r"der\(where\(time > 0.3, 1, 0\)\) is infinite where .* jumps"):
        der(np.where(time > 0.3, 1.0, 0.0))


# Functions that read what has changed since.

gain = 2.0
settings = {"rate": 1.0}


@function
def scaled(x):
    return -gain * x


@function
def by_setting(x):
    return -settings["rate"] * jnp.sin(x) / jnp.cos(x)


class Decay(Model):
    k = Par(1.0)
    x = Var(init=1.0)
    y = Var(init=0.5)

    def equations(self):
        return [der(self.x) == self.k * scaled(self.x), der(self.y) == by_setting(self.y)]


def decayed(result):
    x, y = result.final("x"), result.final("y")
    return [-np.log(x), np.log(np.sin(0.5) / np.sin(y))]


def test_functions_in_equations_are_traced_anew():
    global gain
    sim = translate(Decay())
    first = sim.simulate(1.0, rtol=1e-8)
    gain = 3.0
    np.testing.assert_allclose(decayed(first), [2.0, 1.0], rtol=1e-6)  # read after the change
    np.testing.assert_allclose(decayed(sim.simulate(1.0, rtol=1e-8)), [3.0, 1.0], rtol=1e-6)
    settings["rate"] = 0.5
    np.testing.assert_allclose(decayed(sim.simulate(1.0, rtol=1e-8)), [3.0, 0.5], rtol=1e-6)
    gain, settings["rate"] = 2.0, 1.0
    with watch_compilation() as seen:
        np.testing.assert_allclose(decayed(sim.simulate(1.0, rtol=1e-8)), [2.0, 1.0], rtol=1e-6)
        assert decayed(simulate(Decay(), 1.0, rtol=1e-8)) == decayed(first)
    assert seen.programs == 0


def test_functions_that_always_differ_are_not_kept_for_ever():
    numbers = iter(range(1, 100))

    @function
    def restless(x):
        return -float(next(numbers)) * x

    class Restless(Model):
        x = Var(init=1.0)

        def equations(self):
            return [der(self.x) == restless(self.x)]

    sim = translate(Restless())
    rates = [-np.log(sim.simulate(0.1, times=3).final("x")) / 0.1 for _ in range(3)]
    assert np.all(np.diff(np.round(rates)) >= 1)
    np.testing.assert_allclose(rates, np.round(rates), rtol=1e-4)
    assert len(_translations) <= MOST_TRANSLATIONS
    assert MOST_PROGRAMS < 100


def test_an_input_that_reads_a_variable():
    class Integral(Model):
        u = Input()
        x = Var(init=0.0)

        def equations(self):
            return [der(self.x) == self.u]

    sim, height, table = translate(Integral()), 1.0, np.array([1.0, 2.0])

    def u(t):
        return height + table[0] * jnp.sin(t)

    def exact():
        return height + table[0] * (1 - np.cos(1.0))

    first = sim.simulate(1.0, inputs={"u": u}, times=3)
    before = exact()
    height, table[0] = 5.0, -2.0
    np.testing.assert_allclose(first.final("x"), before, rtol=1e-6)  # read after the change
    np.testing.assert_allclose(sim.simulate(1.0, inputs={"u": u}, times=3).final("x"), exact(), rtol=1e-6)


def test_what_a_function_reads():
    number, array = 1.5, np.zeros(3)

    def inner(x):
        return number * x

    def of_number(x):
        return inner(x) + jnp.sin(x) + abs(x)

    def of_array(x):
        return array[0] * x

    before = surroundings(of_number)
    assert before == surroundings(of_number)
    number = 1.6
    assert before != surroundings(of_number)
    assert surroundings(of_array) is None
    assert surroundings(settings.get) is None

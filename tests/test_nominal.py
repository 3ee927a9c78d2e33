"""Small numbers: nominal values, the note where tolerances are too large, coefficients of any scale."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from modia_py import Model, ModelError, Var, connect, der, simulate, translate
from modia_py.models.electrical import Capacitor, ConstantVoltage, Ground, Resistor
from modia_py.program.signals import make_signals
from modia_py.simulation.nominal_values import nominal_of_x
from modia_py.solvers import Problem, Status, solve

from .linear_solvers import GENERAL


def rc(t, x, xdot, p):
    """R i == V - u, C der(u) == i, with the integral of i."""
    resistance, capacity, voltage = p
    return jnp.array([resistance * xdot[1] - (voltage - x[0]), capacity * xdot[0] - xdot[1]])


@pytest.mark.parametrize("linear_solver", GENERAL)
def test_coefficients_of_any_scale(linear_solver):
    problem = Problem(rc, 2, 2, integrals=[False, True])
    for resistance, capacity in ((1.0, 1.0), (1e6, 1e-12), (1e9, 1e-12), (1e3, 1e-15), (1e5, 1e-18)):
        for voltage in (1.0, 1e-12):
            tau = resistance * capacity
            current = voltage / resistance
            found = solve(
                problem, 0.0, 5 * tau, [0.0, 0.0], [current / capacity, current],
                np.array([resistance, capacity, voltage]), atol=1e-9 * voltage,
                linear_solver=linear_solver, max_steps=1000,
            )  # fmt: skip
            assert found.status is Status.SUCCESS, (resistance, capacity, voltage)
            assert found.statistics.rejected_singular == 0
            assert found.statistics.steps < 250
            np.testing.assert_allclose(found.x_last[0], voltage * (1 - np.exp(-5)), rtol=1e-6)


@pytest.mark.parametrize("linear_solver", GENERAL)
def test_a_singular_matrix_is_still_noticed(linear_solver):
    def dependent(t, x, xdot, p):
        return jnp.array([xdot[0] + x[0], 1e-9 * (x[1] + x[2] - x[0]), 3e6 * (x[1] + x[2] - x[0])])

    found = solve(
        Problem(dependent, 3, 1), 0.0, 1.0, [1.0, 0.5, 0.5], [-1.0, -0.5, -0.5], linear_solver=linear_solver
    )
    assert found.status is Status.SINGULAR


# In models.


class Oscillator(Model):
    x = Var(init=1.0, nominal=1.0)
    v = Var(init=0.0)

    def equations(self):
        return [der(self.x) == self.v, der(self.v) == -self.x]


class SecondOrder(Model):
    """The derivative has no name."""

    x = Var(init=1e-10, nominal=1e-10)

    def equations(self):
        return [der(der(self.x)) == -self.x]

    def initial_equations(self):
        return [der(self.x) == 0]


class Decay(Model):
    x = Var(init=1.0)
    y = Var(init=1.0)

    def equations(self):
        return [der(self.x) == -self.x, der(self.y) == -2 * self.y]


class Circuit(Model):
    def __init__(self, **changes):
        super().__init__(**changes)
        self.source = ConstantVoltage(V=1e-12)
        self.r = Resistor(R=1e3)
        self.c = Capacitor(C=1e-6, u=0.0)
        self.ground = Ground()

    def equations(self):
        return [
            connect(self.source.p, self.r.p),
            connect(self.r.n, self.c.p),
            connect(self.c.n, self.source.n, self.ground.p),
        ]


@pytest.fixture(scope="module")
def large_oscillation():
    return translate(Oscillator()).simulate(50.0)


def test_an_oscillation_of_any_amplitude_takes_the_same_steps(large_oscillation):
    for size in (1e-10, 1e-30, 1e8):
        small = Oscillator(**{"x": size, "x.nominal": size, "v.nominal": size})
        result = simulate(small, 50.0)
        assert result.notes == ()
        # Rounding alone makes 3 % of the steps more or less: the order is raised a little sooner or later.
        assert result.stats.work.steps == pytest.approx(large_oscillation.stats.work.steps, rel=0.06)
        np.testing.assert_allclose(result["x"] / size, np.cos(result.time), atol=3e-4)
        np.testing.assert_allclose(result["x"] / size, large_oscillation["x"], atol=1e-4)


def test_the_derivative_of_a_small_variable_is_small():
    result = simulate(SecondOrder(), 50.0)
    np.testing.assert_allclose(result["x"] / 1e-10, np.cos(result.time), atol=3e-4)
    assert result.notes == ()


def test_what_is_below_its_tolerance_is_named_with_the_remedy():
    model = translate(Oscillator(x=1e-10))
    result = model.simulate(10.0)
    (note,) = result.notes
    assert note.startswith("not zero, but below the absolute tolerance all the time")
    assert "x (at most 1e-10, atol 1e-09)" in note
    assert "Var(nominal=1e-10), or give simulate(atol={'x': 1e-19})" in note
    assert model.simulate(10.0, atol={"x": 1e-19, "v": 1e-19}).notes == ()
    assert model.simulate(10.0, atol=1e-19).notes == ()


def test_a_tiny_decay_beside_a_large_one():
    result = simulate(Decay(x=1e-30), 5.0)
    assert "x (at most 1e-30" in result.notes[0]
    assert "y" not in result.notes[0].partition(":")[2].partition(".")[0]
    right = simulate(Decay(**{"x": 1e-30, "x.nominal": 1e-30}), 5.0)
    assert right.notes == ()
    np.testing.assert_allclose(right["x"], 1e-30 * np.exp(-right.time), rtol=1e-5)


def test_nominal_values_compile_nothing_new():
    first = translate(Decay(**{"x.nominal": 1.0}))
    assert translate(Decay(**{"x.nominal": 1e-3})).translation is first.translation
    assert translate(Decay()).translation is first.translation


def test_a_circuit_at_a_picovolt():
    named = simulate(Circuit(), 5e-3)
    assert "c.u" in named.notes[0] or ".v" in named.notes[0]
    result = simulate(Circuit(**{"c.u.nominal": 1e-12, "r.i.nominal": 1e-15}), 5e-3)
    assert result.notes == ()
    assert result.stats.work.steps < 250
    np.testing.assert_allclose(result["c.u"], 1e-12 * (1 - np.exp(-result.time / 1e-3)), atol=1e-17)


def test_arrays_and_aliases():
    class Aliases(Model):
        a = Var(2, init=[1e-4, 1e-5], nominal=[1e-4, 1e-5])
        b = Var(2, nominal=1e-2)
        c = Var(2, nominal=[2.0, 1e-7])
        d = Var(2)

        def equations(self):
            return [der(self.a) == -self.a, self.b == -self.a, self.c == self.b, self.d == self.a]

    model = translate(Aliases())
    program = model.translation.program(make_signals(model.flat, None, 0.0, 1.0))
    # The smallest of those that stand for an element.
    np.testing.assert_array_equal(nominal_of_x(model.flat, program), [1e-4, 1e-7])

    class Cells(Model):
        def __init__(self, **changes):
            super().__init__(**changes)
            self.cell = Decay.array(3)

        def equations(self):
            return []

    model = translate(Cells(**{"cell.x.nominal": [1e-3, 1.0, 1e3]}))
    program = model.translation.program(make_signals(model.flat, None, 0.0, 1.0))
    assert sorted(nominal_of_x(model.flat, program)) == [1e-3, 1.0, 1.0, 1.0, 1.0, 1e3]


def test_only_parts_of_an_array_that_are_small_are_no_matter():
    class Rod(Model):
        u = Var(50, init=0.0)

        def equations(self):
            u = self.u
            left = np.concatenate([np.ones(1), u[:-1]])
            return [der(u) == left - u]

    result = simulate(Rod(), 1.0)
    assert 0 < np.abs(result["u"][:, -1]).max() < 1e-9
    assert result.notes == ()


def test_rounding_is_not_taken_for_a_small_value():
    class Rest(Model):
        """Forces that cancel."""

        s = Var(2, init=[0.3, 0.1])
        v = Var(2, init=0.0)

        def equations(self):
            pull = 0.1 * self.s[0] - 0.3 * self.s[1]
            return [der(self.s) == self.v, der(self.v) == pull * np.ones(2)]

    result = simulate(Rest(), 1.0)
    assert np.abs(result["v"]).max() < 1e-15
    assert result.notes == ()


@pytest.mark.parametrize(
    ("nominal", "text"),
    [
        (0.0, r"The nominal value of Bad.x is 0.0 .*: it is the usual size of the variable, a positive"),
        (-1.0, "a positive number"),
        (float("nan"), "nominal value of Bad.x is not finite"),
        (float("inf"), "nominal value of Bad.x is not finite"),
        ([1.0, 2.0], r"nominal value of Bad.x has shape \(2,\) .*, expected \(\)"),
        ("small", "must be real numbers"),
    ],
)
def test_nominal_values_are_checked(nominal, text):
    class Bad(Model):
        x = Var(init=1.0, nominal=nominal)

        def equations(self):
            return [der(self.x) == -self.x]

    with pytest.raises(ModelError, match=text):
        Bad()


def test_nominal_values_by_name_are_checked():
    with pytest.raises(ModelError, match=r"Circuit has no parameter or variable 'c.u.nominl'"):
        Circuit(**{"c.u.nominl": 1.0})
    with pytest.raises(ModelError, match=r"r.R is no variable .*: only variables have a nominal value"):
        Circuit(**{"r.R.nominal": 1.0})
    with pytest.raises(ModelError, match="positive number"):
        Circuit(c={"u": {"nominal": -1.0}})


# What starts from a guess is named.


def test_a_free_state_beside_an_algebraic_element_of_its_vector():
    class Mixed(Model):
        x = Var(2, guess=[0.5, 0.5])

        def equations(self):
            x = self.x
            return [der(x[0]) == -x[0], 3 * x[1] + np.sin(x[1]) == 1]

    result = simulate(Mixed(), 1.0)
    assert result.notes == ("no `init` determines the start of: x[0] = 0.5 (guess)",)
    np.testing.assert_allclose(result["x"][0], [0.5, 0.25065411])
    assert simulate(Mixed(x=result["x"][0]), 1.0).notes == ()

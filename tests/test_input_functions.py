"""Inputs that are functions of time: their breaks are found, become stops, and are told."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from modia_py import Input, Model, ModelError, SimulationError, Var, der, simulate, time, translate
from modia_py.program.breaks import Watch
from modia_py.simulation.compile_times import watch_compilation


class Lag(Model):
    u = Input()
    x = Var(init=0.0)

    def equations(self):
        return [der(self.x) + self.x == self.u]


class Follower(Model):
    """Everything is assigned, and v needs the derivative of u."""

    u = Input()
    x = Var()
    v = Var()

    def equations(self):
        return [self.x == self.u, self.v == der(self.x)]


@pytest.fixture(scope="module")
def lag():
    return translate(Lag())


@pytest.fixture(scope="module")
def follower():
    return translate(Follower())


def searched(functions, start, stop, given=()):
    """Breaks of several functions, (time, order) for each, by one search."""
    watch = Watch(lambda t, _: jnp.stack([jnp.asarray(f(t), float) for f in functions]), len(functions), 2)
    found = watch.search(start, stop, (), np.asarray(given, float))
    assert found.complete
    return [[(b.after, b.order) for b in found.breaks if b.component == k] for k in range(len(functions))]


def times_of(breaks, order=0):
    assert all(own == order for _, own in breaks)
    return np.array([t for t, _ in breaks])


def test_breaks_are_located_to_rounding():
    pulse, ramp, wave, rectified, sawtooth, steps, clipped, remainder = searched(
        [
            lambda t: jnp.where((t > 5.0) & (t < 5.0001), 1.0, 0.0),
            lambda t: jnp.maximum(0.0, t - 3.0),
            lambda t: jnp.sign(jnp.sin(3 * (t + 0.1))),
            lambda t: jnp.abs(jnp.sin(t + 0.1)),
            lambda t: jnp.arctan2(jnp.sin(t), jnp.cos(t)),
            lambda t: jnp.floor(2 * t),
            lambda t: jnp.clip(t, 1.0, 2.0),
            lambda t: jnp.where((t + 0.05) % 2.5 < 0.1, 1.0, 0.0),
        ],
        0.0,
        10.0,
    )
    np.testing.assert_allclose(times_of(pulse), [5.0, 5.0001], rtol=1e-15)
    np.testing.assert_allclose(times_of(ramp, 1), [3.0], rtol=1e-15)
    np.testing.assert_allclose(times_of(wave), np.arange(1, 10) * np.pi / 3 - 0.1, rtol=1e-14)
    np.testing.assert_allclose(times_of(rectified, 1), np.arange(1, 4) * np.pi - 0.1, rtol=1e-14)
    np.testing.assert_allclose(times_of(sawtooth), [np.pi, 3 * np.pi], rtol=1e-15)
    np.testing.assert_allclose(times_of(steps), np.arange(1, 21) / 2, rtol=1e-15)
    np.testing.assert_allclose(times_of(clipped, 1), [1.0, 2.0], rtol=1e-15)
    edges = np.sort(
        np.concatenate([[0.05], np.arange(1, 4) * 2.5 - 0.05, np.arange(1, 4) * 2.5 + 0.05, [9.95]])
    )
    np.testing.assert_allclose(times_of(remainder), edges, rtol=1e-13)


def test_what_is_smooth_has_no_breaks():
    """However fast it is, and however it is written."""
    functions = [
        lambda t: jnp.sin(1e3 * t),
        lambda t: jnp.sin(1e6 * t),
        lambda t: jnp.exp(-((t - 500) ** 2)),
        lambda t: jnp.tanh((t - 500) / 1e-3),
        lambda t: jnp.where(t < 1, t**2, 2 * t - 1),  # smooth as far as the equations need it
        lambda t: jnp.maximum(0, t - 3) ** 3,
        lambda t: jnp.sin(t.astype(jnp.float32)).astype(float),
        jnp.sqrt,
        jnp.cbrt,
    ]
    assert searched(functions, 0.0, 1000.0) == [[]] * len(functions)


def test_breaks_that_no_comparison_tells():
    """Kinks and jumps of functions that choose nothing, and a value that Python computes."""

    @jax.custom_jvp
    def from_python(t):
        shape = jax.ShapeDtypeStruct((), np.float64)
        return jax.pure_callback(
            lambda t: np.where(t > 7.25, 1.0, 0.0), shape, t, vmap_method="expand_dims"
        )

    from_python.defjvp(lambda t, dt: (from_python(*t), 0.0 * dt[0]))
    triangle, sawtooth, root, python, nested = searched(
        [
            lambda t: jnp.arcsin(jnp.sin(t)),
            lambda t: jnp.arctan(jnp.tan(t + 0.3)),
            lambda t: jnp.sqrt(1 - jnp.cos(t)),
            from_python,
            lambda t: jnp.where(jnp.abs(t - 4.0) < 1e-6, 1.0, 0.0),
        ],
        0.0,
        10.0,
    )
    np.testing.assert_allclose(times_of(triangle, 1), np.pi * np.array([0.5, 1.5, 2.5]), rtol=1e-6)
    np.testing.assert_allclose(times_of(sawtooth), np.pi * np.array([0.5, 1.5, 2.5]) - 0.3, rtol=1e-14)
    np.testing.assert_allclose(times_of(root, 1), [2 * np.pi], rtol=1e-6)
    np.testing.assert_allclose(times_of(python), [7.25], rtol=1e-15)
    np.testing.assert_allclose(times_of(nested), [4 - 1e-6, 4 + 1e-6], rtol=1e-15)


def test_thousands_of_breaks():
    (noise,) = searched([lambda t: jnp.sin(1e5 * jnp.floor(t * 50))], 0.0, 100.0)
    np.testing.assert_allclose(times_of(noise), np.arange(1, 5001) / 50, rtol=1e-14)
    watch = Watch(lambda t, _: jnp.sin(1e5 * jnp.floor(t * 1e4))[None], 1, 2)
    found = watch.search(0.0, 100.0, (), np.zeros(0))
    assert not found.complete
    assert found.breaks == ()


def test_a_pulse_is_not_stepped_over(lag):
    """A thousandth of the interval; output at its ends is what the function says there."""
    result = lag.simulate(
        1000.0,
        inputs={"u": lambda t: np.where((t > 500) & (t < 501), 1.0, 0.0)},
        times=[499.0, 500.0, 500.5, 501.0, 502.0],
    )
    height = 1 - np.exp(-1)
    exact = [0.0, 0.0, 1 - np.exp(-0.5), height, height * np.exp(-1)]
    np.testing.assert_allclose(result["x"], exact, atol=1e-6)
    np.testing.assert_array_equal(result["u"], [0.0, 0.0, 1.0, 0.0, 0.0])
    assert result.notes == ("the input u jumps at time 500, 501",)


def test_a_smooth_pulse_is_not_stepped_over(lag):
    result = lag.simulate(
        1000.0, inputs={"u": lambda t: np.exp(-(((t - 500) / 0.3) ** 2))}, times=[501.5, 600]
    )
    s = np.linspace(495, 501.5, 200_001)
    exact = np.trapezoid(np.exp(s - 501.5) * np.exp(-(((s - 500) / 0.3) ** 2)), s)
    np.testing.assert_allclose(result["x"][0], exact, rtol=1e-5)
    assert result.notes == ()


def test_breaks_can_be_given(lag):
    """A pulse that no grid meets: the user knows where it is."""

    def pulse(t):
        return np.where((t - 500) ** 2 < 1e-8, 5000.0, 0.0)

    ends = [500 - 1e-4, 500 + 1e-4]
    result = lag.simulate(501.0, inputs={"u": (pulse, ends)}, times=[501.0])
    np.testing.assert_allclose(result["x"], np.exp(-1), rtol=1e-4)
    assert lag.simulate(501.0, inputs={"u": (pulse, ends)}, times=[501.0]).stats.steps < 1000
    with pytest.raises(ModelError, match=r"The breaks of the input u are the times .* not 'soon'"):
        lag.simulate(1.0, inputs={"u": (pulse, "soon")})


def test_steps_at_the_ends_and_steps_that_cannot_be_told_apart(lag):
    def steps(t):
        at = (0.0, 1.0, 1.0 + 1e-15, 1.0 + 1e-13, 1.0 + 1e-11)
        return sum(np.where(t > one, 1.0, 0.0) for one in at) + np.where(t >= 2.0, 100.0, 0.0)

    result = lag.simulate(2.0, inputs={"u": steps}, times=[0.0, 1.0, 1.5, 2.0])
    after = 1 - np.exp(-2) + 4 * (1 - np.exp(-1))
    exact = [0.0, 1 - np.exp(-1), 1 - np.exp(-1.5) + 4 * (1 - np.exp(-0.5)), after]
    np.testing.assert_allclose(result["x"], exact, atol=2e-6)
    np.testing.assert_array_equal(result["u"], [0.0, 1.0, 5.0, 105.0])
    np.testing.assert_allclose(result["der(x)"], result["u"] - result["x"], atol=1e-9)
    assert result.notes == ("the input u jumps at time 0, 1, 2",)


def test_many_jumps(lag):
    """A square wave with 400 jumps, and one with more than a run stops at."""
    period = 0.05
    result = lag.simulate(
        10.0, inputs={"u": lambda t: np.where(t % period < 0.3 * period, 1.0, 0.0)}, times=3
    )
    on, off = np.exp(-0.3 * period), np.exp(-0.7 * period)
    final = (1 - on) * off / (1 - on * off) * (1 - np.exp(-10))
    np.testing.assert_allclose(result.final("x"), final, rtol=1e-5)
    assert "and 393 more until 9.965" in result.notes[0]


@pytest.mark.slow
def test_more_jumps_than_stops(lag):
    period = 1e-3
    result = lag.simulate(
        5.0, inputs={"u": lambda t: np.where(t % period < 0.3 * period, 1.0, 0.0)}, times=3
    )
    on, off = np.exp(-0.3 * period), np.exp(-0.7 * period)
    final = (1 - on) * off / (1 - on * off) * (1 - np.exp(-5))
    np.testing.assert_allclose(result.final("x"), final, rtol=1e-4)
    assert (
        "9999 jumps of inputs or functions of time: the integration does not stop at each"
        in result.notes[1]
    )


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda t: np.sqrt(1 - t), r"given for the input u is nan at time 1.000\d+. Choose by np.where"),
        (lambda t: np.sin(t) / t, r"given for the input u is nan at time 0"),
        (
            lambda t: jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), np.float64), t),
            r"input u cannot be evaluated at many times at once, with its derivative",
        ),
    ],
)
def test_functions_that_cannot_be(lag, function, text):
    with pytest.raises(ModelError, match=text):
        lag.simulate(2.0, inputs={"u": function})


@pytest.mark.slow
def test_tables_of_two_points(lag):
    for interpolation in ("linear", "cubic", "akima"):
        result = lag.simulate(1.0, inputs={"u": ([0.0, 1.0], [0.0, 1.0], interpolation)}, times=3)
        np.testing.assert_allclose(result["x"], result.time - 1 + np.exp(-result.time), atol=1e-6)
    result = lag.simulate(1.0, inputs={"u": ([0.0, 0.5], [1.0, 2.0], "previous")}, times=[0.5, 1.0])
    exact = [1 - np.exp(-0.5), 2 - (1 + np.exp(-0.5)) * np.exp(-0.5)]
    np.testing.assert_allclose(result["x"], exact, atol=1e-6)
    np.testing.assert_array_equal(result["u"], [2.0, 2.0])


@pytest.mark.parametrize(
    "u",
    [
        ([0.0, 0.5, 1.0], [0.0, 1.0, 0.0], "previous"),
        lambda t: np.where(t > 0.5, 1.0, 0.0),
        np.where(time > 0.5, 1.0, 0.0),
    ],
)
def test_the_derivative_of_a_jump_is_an_error(follower, u):
    with pytest.raises(SimulationError) as error:
        follower.simulate(1.0, inputs={"u": u})
    text = str(error.value)
    assert "The input u jumps at time 0.5, and the equations contain the derivative of\n    x == u" in text
    assert "There der(x) would be infinite: an impulse that is not computed. Give the jump a width" in text


def test_the_derivative_of_a_kink_is_a_jump(follower):
    ramp = ([0.0, 0.5, 0.75, 1.0], [0.0, 0.0, 1.0, 1.0])
    for u in (ramp, lambda t: np.clip(4 * t - 2, 0, 1)):
        result = follower.simulate(1.0, inputs={"u": u}, times=[0.25, 0.625, 0.875])
        np.testing.assert_allclose(result["v"], [0.0, 4.0, 0.0], atol=1e-12)


def test_a_derivative_that_was_written_is_one_of_the_input():
    class Written(Model):
        u = Input()
        x = Var(init=0.0)

        def equations(self):
            return [der(self.x) == der(self.u) - self.x]

    with pytest.raises(
        SimulationError, match=r"The input u jumps at time 0.5, and `der\(x\) == der\(u\) - x`"
    ):
        simulate(Written(), 1.0, inputs={"u": ([0.0, 0.5], [0.0, 1.0], "previous")})


class Pivot(Model):
    """A pendulum whose pivot is moved: a kink of its path is a blow."""

    u = Input()
    r = Var(2, init=[0.6, -0.8])
    v = Var(2, init=[0.0, 0.0])
    force = Var()

    def equations(self):
        rod = self.r - np.stack([self.u, 0.0 * self.u])
        gravity = np.array([0.0, -9.81])
        return [der(self.r) == self.v, der(self.v) == gravity + self.force * rod, rod @ rod == 1.0]


def test_a_blow_is_computed():
    """The limit of paths that bend within a short time; and a pivot that jumps is an error."""
    model, short = translate(Pivot()), 1e-3

    def bend(t):
        s = np.clip((t - 0.5 + short) / (2 * short), 0, 1)
        return np.where(t > 0.5 + short, t - 0.5, 2 * short * (s**3 - s**4 / 2))

    sharp = model.simulate(
        1.0, inputs={"u": lambda t: np.maximum(0, t - 0.5)}, times=[0.75, 1.0], rtol=1e-8
    )
    smooth = model.simulate(1.0, inputs={"u": bend}, times=[0.75, 1.0], rtol=1e-8)
    np.testing.assert_allclose(sharp["r"], smooth["r"], atol=1e-5)
    np.testing.assert_allclose(sharp["v"], smooth["v"], atol=1e-4)
    with pytest.raises(SimulationError, match="Pivot: The input u jumps at time 0.5") as error:
        model.simulate(1.0, inputs={"u": ([0.0, 0.5], [0.0, 0.1], "previous")}, times=5)
    assert error.value.result.time.tolist() == [0.0, 0.25]


def test_equal_functions_share_a_program(lag):
    def make(amplitude):
        return lambda t: amplitude * jnp.cos(t)

    first = lag.simulate(1.0, inputs={"u": make(2.0)}, times=5)["x"]
    with watch_compilation() as seen:
        again = lag.simulate(1.0, inputs={"u": make(2.0)}, times=5)["x"]
    assert seen.programs == 0
    np.testing.assert_array_equal(first, again)

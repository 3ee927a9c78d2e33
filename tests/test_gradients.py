"""Derivatives of simulations: against closed forms, published values and differences; forward = backward.

Published: Robertson's kinetics and its sensitivities are those of the examples of SUNDIALS (cvsRoberts,
CVODES user guide), to the digits given there. The ball and the jump have closed forms.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from modia_py import (
    Discrete,
    Input,
    Model,
    ModelError,
    Par,
    SimulationError,
    Var,
    assign,
    der,
    pre,
    reinit,
    sample,
    time,
    translate,
    when,
    where,
)
from modia_py.models.examples import HeatRod, SlidingMass
from modia_py.solvers import Status

from .testset_models import Amplifier


def both(sim, outputs, times, theta, *, params=(), init=(), inputs=(), ways=2, **options):
    """The Jacobian by name, forward and backward, which have to agree, or backward only; and the
    function."""
    options = {"rtol": 1e-9, **options}
    f = sim.function(outputs, times, params, init, inputs, **options)
    backward = jax.jacrev(f)(theta)
    forward = jax.jacfwd(f)(theta) if ways == 2 else backward
    for output in outputs:
        for name in theta:
            one, other = np.asarray(backward[output][name]), np.asarray(forward[output][name])
            assert np.all(np.isfinite(one))
            assert_allclose(one, other, rtol=1e-8, atol=1e-8 * np.abs(other).max() + 1e-13)
    return backward, f


def differences(f, theta, output, name, step=1e-5):
    """A central difference of fourth order by one number."""

    def at(shift):
        return np.asarray(f({**theta, name: theta[name] + shift})[output])

    h = step * max(1.0, abs(theta[name]))
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


def check(sim, outputs, times, theta, names=None, tolerance=1e-6, step=1e-3, **options):
    found, f = both(sim, outputs, times, theta, **{"rtol": 1e-11, **options})
    for output in outputs:
        for name in names or theta:
            expected = differences(f, theta, output, name, step)
            scale = max(np.abs(expected).max(), 1e-3)
            assert_allclose(
                found[output][name], expected, atol=tolerance * scale, err_msg=f"{output} {name}"
            )
    return found, f


BOTH_SLOW = pytest.mark.parametrize("ways", [1, pytest.param(2, marks=pytest.mark.slow)])
"""Each way is compiled: that they agree is looked at here by the pendulum, the ball and the clutch."""


@pytest.mark.slow
def test_sliding_mass():
    sim = translate(SlidingMass())
    theta = {"m": 1.0, "c": 1000.0, "d": 5.0, "s": 0.1}
    check(sim, ["s", "f", "der(s)"], [0.3, 1.0], theta, params=["m", "c", "d"], init=["s"], step=1e-4)


class Swing(Model):
    """A pendulum in Cartesian coordinates: index 3, with one coordinate given at the start."""

    L, g = Par(1.0), Par(9.81)
    x, y = Var(init=0.6), Var(guess=-0.8)
    vx, vy = Var(init=0.0), Var()
    tension = Var()

    def equations(self):
        return [
            der(self.x) == self.vx,
            der(self.y) == self.vy,
            der(self.vx) == -self.tension * self.x,
            der(self.vy) == -self.tension * self.y - self.g,
            self.x**2 + self.y**2 == self.L**2,
        ]


def test_pendulum_of_index_three():
    theta = {"L": 1.0, "g": 9.81, "x": 0.6}
    outputs = ["x", "vy", "tension"]
    check(translate(Swing()), outputs, [0.0, 0.5, 1.0], theta, params=["L", "g"], init=["x"], step=1e-4)


@BOTH_SLOW
def test_heat_rod_by_its_parameters(ways):
    sim = translate(HeatRod(20))
    theta = {"C": 1.0, "G": 1.0, "power": 1.0}
    theta = {name: value for name, value in theta.items() if name in sim.flat.by_name}
    check(sim, ["T"], [0.2, 1.0], theta, params=list(theta), ways=ways)


@pytest.mark.slow
def test_transistor_amplifier():
    theta = {"r0.R": 1000.0, "supply.V": 6.0, "emitter1.C": 2e-6}
    # Differences by what has little effect have to be large, or rounding of the run is seen.
    parts = {"r0.R": 0.1, "supply.V": 1e-4, "emitter1.C": 1e-2}
    outputs, options = ["t2.c.v", "t1.e.v"], {"params": list(theta), "atol": 1e-11}
    f = translate(Amplifier()).function(outputs, [0.002, 0.011], rtol=1e-10, **options)
    backward, forward = jax.jacrev(f)(theta), jax.jacfwd(f)(theta)
    for output in outputs:
        for name, value in theta.items():
            found = np.asarray(backward[output][name])
            assert_allclose(found, forward[output][name], rtol=1e-8)
            expected = differences(f, theta, output, name, parts[name] * min(1.0, value))
            assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


class Robertson(Model):
    p1, p2, p3 = Par(0.04), Par(1e4), Par(3e7)
    y1, y2, y3 = Var(init=1.0), Var(init=0.0), Var()
    G = Var(init=0.0)

    def equations(self):
        rate = self.p1 * self.y1 - self.p2 * self.y2 * self.y3
        return [
            der(self.y1) == -rate,
            der(self.y2) == rate - self.p3 * self.y2**2,
            self.y1 + self.y2 + self.y3 == 1.0,
            der(self.G) == self.y3,
        ]


@BOTH_SLOW
def test_published_sensitivities_of_robertson(ways):
    sim = translate(Robertson())
    theta = {"p1": 0.04, "p2": 1e4, "p3": 3e7}
    options = {"params": list(theta), "atol": 1e-12, "ways": ways}
    found, _ = both(sim, ["y1", "G"], [0.4, 40.0, 50.0], theta, **options)
    y1 = np.stack([found["y1"][name] for name in theta], axis=1)
    assert_allclose(y1[0], [-0.35595, 9.5424e-8, -1.5832e-11], rtol=2e-4)
    assert_allclose(y1[1], [-4.2476, 1.3731e-5, -2.2884e-9], rtol=2e-4)
    G = [found["G"][name][2] for name in theta]
    assert_allclose(G, [173.41, -5.0592e-4, 8.4323e-8], rtol=2e-4)


class Ball(Model):
    e = Par(0.7)
    h = Var(init=1.0)
    v = Var(init=0.0)
    t1 = Discrete(0.0)

    def equations(self):
        bounce = reinit(self.v, -self.e * self.v), assign(self.t1, time)
        return [der(self.h) == self.v, der(self.v) == -9.81, when(self.h < 0, *bounce)]


@pytest.fixture(scope="module")
def ball():
    return translate(Ball())


def test_bouncing_ball(ball):
    found, _ = both(ball, ["h"], [0.5, 1.3], {"h": 1.0, "e": 0.7}, params=["e"], init=["h"])
    assert_allclose(found["h"]["h"][0], -0.5174851, atol=1e-7)
    assert_allclose(found["h"]["e"][0], 0.2147235, atol=1e-7)

    def second(h0, e):  # two bounces
        t1 = np.sqrt(2 * h0 / 9.81)
        t2 = t1 * (1 + 2 * e)
        v2, s = e**2 * 9.81 * t1, 1.3 - t2
        return v2 * s - 9.81 / 2 * s**2

    for name, shift in (("h", (1e-6, 0.0)), ("e", (0.0, 1e-6))):
        up, down = second(1 + shift[0], 0.7 + shift[1]), second(1 - shift[0], 0.7 - shift[1])
        assert_allclose(found["h"][name][1], (up - down) / 2e-6, rtol=1e-6)


class Once(Model):
    k, v, xc = Par(1.0), Par(0.5), Par(0.5)
    x = Var(init=1.0)
    done = Discrete(False)

    def equations(self):
        fires = (self.x < self.xc) & ~pre(self.done)
        jump = when(fires, reinit(self.x, self.x + self.v), assign(self.done, True))
        return [der(self.x) == -self.k * self.x**2 * time, jump]


@pytest.mark.slow
def test_a_jump_at_a_threshold():
    theta = {"k": 1.0, "v": 0.5, "xc": 0.5, "x": 1.0}
    found, _ = both(translate(Once()), ["x"], [3.0], theta, params=["k", "v", "xc"], init=["x"])
    assert_allclose(found["x"]["x"], 0.0493827, atol=1e-7)
    assert_allclose(found["x"]["k"], -2 / 9, atol=1e-7)
    assert_allclose(found["x"]["xc"], -0.1481481, atol=1e-6)


class Converter(Model):
    """A switched converter: time events that parameters move, and a discrete value that holds a time."""

    duty, L, R = Par(0.4), Par(0.5), Par(2.0)
    i = Var(init=0.0)
    u = Var(init=0.0)
    off_at = Discrete(0.0)

    def equations(self):
        return [
            self.L * der(self.i) == where(time < self.off_at, 12.0, 0.0) - self.u,
            der(self.u) == self.i - self.u / self.R,
            when(sample(1.0), assign(self.off_at, time + self.duty)),
        ]


@pytest.mark.slow
def test_switched_converter():
    sim = translate(Converter())
    theta = {"duty": 0.4, "L": 0.5, "R": 2.0}
    check(sim, ["i", "u"], [1.7, 3.3], theta, params=list(theta), step=1e-4, tolerance=2e-6)


class Clutch(Model):
    """Two inertias that are coupled at a speed: an impulse, and a constraint from then on."""

    J1, J2, torque, limit = Par(2.0), Par(3.0), Par(4.0), Par(3.0)
    w1, w2 = Var(init=0.0), Var(init=1.0)
    tau = Var()
    engaged = Discrete(False)

    def equations(self):
        return [
            self.J1 * der(self.w1) == self.torque - self.tau,
            self.J2 * der(self.w2) == self.tau - 0.5 * self.w2,
            where(self.engaged, self.w1 - self.w2, self.tau) == 0,
            when(self.w1 > self.limit, assign(self.engaged, True)),
        ]


def test_clutch_with_impulse():
    sim = translate(Clutch())
    theta = {"J1": 2.0, "J2": 3.0, "torque": 4.0, "limit": 3.0, "w2": 1.0}
    params = ["J1", "J2", "torque", "limit"]
    check(sim, ["w1", "w2"], [1.0, 2.0, 3.0], theta, params=params, init=["w2"], step=1e-4)


class Driven(Model):
    u = Input()
    a = Par(1.0)
    x = Var(init=0.0)

    def equations(self):
        return [der(self.x) == self.u - self.a * self.x**2]


@pytest.mark.parametrize(
    "kind", ["linear", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("previous", "cubic"))]
)
@BOTH_SLOW
def test_tables_of_inputs(kind, ways):
    knots, values = np.linspace(0.0, 2.0, 5), np.array([0.0, 1.0, 0.5, 2.0, 1.0])
    sim = translate(Driven())
    inputs = {"u": (knots, values, kind)}
    found, f = both(sim, ["x"], [0.7, 2.0], {"u": values}, inputs=inputs, rtol=1e-10, ways=ways)
    for k in range(5):
        step = 1e-4 * np.eye(5)[k]
        slope = (f({"u": values + step})["x"] - f({"u": values - step})["x"]) / 2e-4
        assert_allclose(found["x"]["u"][:, k], slope, atol=2e-7)


def bounced(theta):
    """h at 0.5 and its derivatives, all in closed form."""
    t1 = jnp.sqrt(2 * theta["h"] / 9.81)
    s = 0.5 - t1
    return theta["e"] * 9.81 * t1 * s - 9.81 / 2 * s**2


@pytest.mark.parametrize(
    "twice",
    [
        jax.hessian,
        pytest.param(lambda f: jax.jacfwd(jax.jacfwd(f)), id="forward", marks=pytest.mark.slow),
        pytest.param(lambda f: jax.jacrev(jax.jacrev(f)), id="backward", marks=pytest.mark.slow),
    ],
)
def test_second_derivatives_through_an_event(ball, twice):
    f = ball.function(["h"], [0.5], ["e"], ["h"], rtol=1e-10)
    theta = {"e": 0.7, "h": 1.0}

    def squared(theta):
        return jnp.sum(f(theta)["h"] ** 2)

    expected = jax.hessian(lambda theta: bounced(theta) ** 2)(theta)
    found = twice(squared)(theta)
    for one in theta:
        for other in theta:
            assert_allclose(found[one][other], expected[one][other], rtol=1e-7)
    with pytest.raises(NotImplementedError, match="no third ones"):
        jax.jacfwd(jax.hessian(squared))(theta)


def test_transformations_of_jax(ball):
    f = ball.function(["h"], [0.5], ["e"], ["h"], rtol=1e-9)

    def loss(theta):
        return jnp.sum(f(theta)["h"] ** 2)

    theta = {"e": 0.7, "h": 1.0}
    expected = jax.grad(loss)(theta)
    assert_allclose(expected["h"], jax.grad(lambda own: bounced(own) ** 2)(theta)["h"], rtol=1e-7)
    compiled = jax.jit(jax.grad(loss))(theta)
    lanes = jax.vmap(jax.grad(loss))({"e": jnp.array([0.7, 0.6]), "h": jnp.array([1.0, 1.0])})
    outside = jax.grad(lambda many: jnp.sum(jax.vmap(loss)(many)))(
        {"e": jnp.array([0.7, 0.6]), "h": jnp.array([1.0, 1.0])}
    )
    for name in theta:
        assert_allclose(compiled[name], expected[name], rtol=1e-14)
        assert_allclose(lanes[name][0], expected[name], rtol=1e-14)
        assert_allclose(outside[name], lanes[name], rtol=1e-14)
    value, slope = jax.jit(lambda e: jax.jvp(f, ({"e": e},), ({"e": 1.0},)))(0.7)
    assert_allclose(value["h"], 0.1387799, atol=1e-7)
    assert_allclose(slope["h"], 0.2147235, atol=1e-7)


class Blowing(Model):
    a = Par(1.0)
    x = Var(init=1.0)

    def equations(self):
        return [der(self.x) == self.a * self.x**2]


def test_a_failed_run_is_nan_and_says_why():
    f = translate(Blowing()).function(["x"], [0.5, 2.0], ["a"])
    value, gradient = jax.value_and_grad(lambda theta: f(theta)["x"][0])({"a": 1.0})
    assert np.isnan(value)
    assert np.isnan(gradient["a"])
    with pytest.raises(SimulationError, match="stopped at time"):
        f.result({"a": 1.0})
    assert f.result({"a": 0.1}).status.name == "SUCCESS"
    lanes = {"a": jnp.array([0.1, 1.0, 0.2])}
    values, status = jax.jit(jax.vmap(lambda theta: (f(theta)["x"][1], f.status(theta))))(lanes)
    assert np.isfinite(values).tolist() == [True, False, True]
    assert (np.asarray(status) == 1).tolist() == [True, False, True]
    assert Status(int(status[1])).failed


def test_steps_that_do_not_fit_in_memory_are_made_again():
    sim, theta = translate(Swing()), {"L": 1.0, "g": 9.81}
    gradients = []
    for memory in (500e6, 4e5):
        f = sim.function(["x", "tension"], [2.0, 4.0, 6.0], ["L", "g"], rtol=1e-8, memory=memory)
        gradients.append(
            jax.grad(lambda theta, f=f: jnp.sum(f(theta)["x"]) + f(theta)["tension"][0])(theta)
        )
        (store,) = {leg.store for leg in f._simulations.run(theta).legs}
        assert (store.reruns > 1) == (memory < 1e6)
    assert gradients[0] == gradients[1]


def test_wrong_names(ball):
    with pytest.raises(ModelError, match="has no parameter 'ee'"):
        ball.function(["h"], [1.0], ["ee"])
    with pytest.raises(ModelError, match="has no variable 'height'"):
        ball.function(["height"], [1.0], ["e"])
    with pytest.raises(ModelError, match="list of names"):
        ball.function("h", [1.0], ["e"])
    with pytest.raises(ModelError, match="is not among the names"):
        ball.function(["h"], [1.0], ["e"])({"h": 1.0})
    with pytest.raises(ModelError, match="no derivative 'both'"):
        ball.function(["h"], [1.0], ["e"], derivative="both")
    with pytest.raises(ModelError, match="is discrete: it jumps"):
        ball.function(["t1"], [1.0], ["e"])
    with pytest.raises(ModelError, match=r"parameter e has shape \(\), not \(2,\)"):
        ball.function(["h"], [1.0], ["e"])({"e": [0.7, 0.6]})
    with pytest.raises(ModelError, match=r"start value of h has shape \(\), not \(3,\)"):
        ball.function(["h"], [1.0], init=["h"])({"h": np.zeros(3)})
    with pytest.raises(ModelError, match="times is empty"):
        ball.function(["h"], [], ["e"])
    with pytest.raises(ModelError, match="Sizes, and other arguments of a class"):
        translate(HeatRod(5)).function(["T"], [1.0], ["n"])
    with pytest.raises(ModelError, match="is a function: there is nothing"):
        translate(Driven()).function(["x"], [1.0], inputs=["u"], fixed_inputs={"u": np.sin})

"""Examples of Modia and ModiaMath, written in our language, to their published end values.

Where the values come from is in `data/simulation_examples.json`. Not here, because they need events or
clocks: SimpleStateEvents, BouncingBall, SpeedControl_clocked, Rectifier1 (ideal diodes), MotorControl
(clocked controllers). IdealClutch switches at given times, so that its three parts are three simulations.

Models that do not touch each other are simulated together: one compilation instead of a dozen.
"""

from __future__ import annotations

import json
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from modia_py import Connector, Flow, Input, Model, ModelWarning, Par, Var, connect, der, function, time
from modia_py import translate as translated
from modia_py.models.electrical import Capacitor, ConstantVoltage, Ground, Inductor, Resistor
from modia_py.models.examples import SlidingMass

EXAMPLES = json.loads((Path(__file__).parent / "data" / "simulation_examples.json").read_text())


def check(name, found):
    example = EXAMPLES[name]
    tolerance = example["tolerance"]
    if not isinstance(example["final"], dict):
        np.testing.assert_allclose(found, example["final"], **tolerance)
        return
    for key, value in example["final"].items():
        own = {"atol": tolerance[key]} if key in tolerance else tolerance
        np.testing.assert_allclose(found[key], value, **{"rtol": 0, **own}, err_msg=key)


class LinearODE(Model):
    def __init__(self, A, x0):
        super().__init__()
        self.A = Par(A)
        self.x = Var(len(x0), init=x0)

    def equations(self):
        return [der(self.x) == self.A @ self.x]


class FirstOrder(Model):
    T = Par(0.2)
    u = Var()
    x = Var(init=0.3)
    y = Var()

    def equations(self):
        return [self.u == np.sin(time), self.T * der(self.x) + self.x == self.u, self.y == 2 * self.x]


class StateSpace(Model):
    A = Par([[0.0, 1.0], [-400.0, -12.0]])
    B = Par([[0.0], [400.0]])
    u = Var(1)
    x = Var(2, init=0.0)

    def equations(self):
        return [self.u == np.ones(1), der(self.x) == self.A @ self.x + self.B @ self.u]


class HeatPort(Connector):
    T = Var()
    Q = Flow()


class HeatCapacitor(Model):
    C = Par(1.0)
    port = HeatPort()
    T = Var(init=293.15)

    def equations(self):
        return [self.T == self.port.T, self.C * der(self.T) == self.port.Q]


class Conductor(Model):
    G = Par(1.0)
    a = HeatPort()
    b = HeatPort()

    def equations(self):
        return [self.a.Q + self.b.Q == 0, self.a.Q == self.G * (self.a.T - self.b.T)]


class FixedTemperature(Model):
    T = Par(300.0)
    port = HeatPort()

    def equations(self):
        return [self.port.T == self.T]


class SimpleRod(Model):
    wall = FixedTemperature(T=393.15)
    C = HeatCapacitor(C=200.0)
    G = Conductor(G=100.0)

    def equations(self):
        return [connect(self.wall.port, self.G.a), connect(self.G.b, self.C.port)]


class FilterCircuit2(Model):
    R = Resistor(R=100.0)
    Ri = Resistor(R=10.0)
    C = Capacitor(C=2.5e-3, u=0.0)
    V = ConstantVoltage(V=10.0)
    ground = Ground()

    def equations(self):
        return [
            connect(self.V.p, self.Ri.n),
            connect(self.Ri.p, self.R.p),
            connect(self.R.n, self.C.p),
            connect(self.C.n, self.V.n, self.ground.p),
        ]


class Filter(Model):
    R = Resistor()
    C = Capacitor()
    V = ConstantVoltage(V=10.0)
    ground = Ground()

    def equations(self):
        return [
            connect(self.V.p, self.R.p),
            connect(self.R.n, self.C.p),
            connect(self.C.n, self.V.n, self.ground.p),
        ]


@function
def torque(phi, w, a):
    return a + jnp.sin(phi), w


class FunctionPendulum(Model):
    """The torque comes from a function with two results."""

    d = Par(0.0)
    phi = Var(init=np.pi / 2)
    w = Var(init=0.0)

    def equations(self):
        needed, speed = torque(self.phi, self.w, der(self.w))
        return [self.w == der(self.phi), needed == -self.d * speed]


class UnitTest(Model):
    T = Par(0.2)
    u0 = Par(8.5)
    x = Var(init=5.5)
    F = Par(20.0)
    m = Par(10.0)
    a = Var()
    v = Var(init=1.0)

    def equations(self):
        return [
            self.T * der(self.x) + self.x == self.u0,
            der(self.v) == self.a,
            self.m * self.a == self.F,
        ]


class PT1(Model):
    T = Par(2.0)
    x = Var(init=1.5)

    def equations(self):
        return [self.T * der(self.x) + self.x == 0]


class PendulumODE(Model):
    L = Par(0.5)
    m = Par(1.0)
    d = Par(0.1)
    phi = Var(init=np.pi / 3)
    w = Var(init=0.0)

    def equations(self):
        gravity = self.m * 9.81 * self.L * np.sin(self.phi)
        return [der(self.phi) == self.w, self.m * self.L**2 * der(self.w) == -gravity - self.d * self.w]


class Everything(Model):
    """All that have no index to reduce, side by side."""

    linear = LinearODE(np.diag([-1.0, -2.0]), [1.0, 2.0])
    resized = LinearODE(np.diag([-1.0, -2.0, -3.0]), [1.1, 2.1, 3.1])
    first = FirstOrder()
    space = StateSpace()
    rod = SimpleRod()
    circuit = FilterCircuit2()
    damped = FunctionPendulum(d=1.0)
    two = FunctionPendulum.array(2, phi=[np.pi / 2, np.pi / 4])
    units = UnitTest()
    ten = Filter.array(10, **{"R.R": 5.0 * np.arange(3, 13), "C.C": 2.0, "C.u": 0.1})
    many = Filter.array(10, **{"R.R": 100.0, "C.C": 2.5e-3, "C.u": 0.0})
    lag = PT1()
    pendulum = PendulumODE()


SHOWN = {
    "LinearODE_array": ["linear.x"],
    "LinearODE_array_resized": ["resized.x"],
    "FirstOrder": ["first.x"],
    "StateSpace2": ["space.x"],
    "SimpleRod": ["rod.C.T"],
    "FilterCircuit2": ["circuit.C.u"],
    "PendulumFunctionMbs": ["damped.w", "damped.phi"],
    "TwoPendulaFunctionMbs": ["two[0].w", "two[0].phi", "two[1].w", "two[1].phi"],
    "UnitTest": ["units.x", "units.v"],
    "TenFilters": ["ten.C.u"],
    "OldModia_ManyFilters": ["many[0].C.u"],
    "PT1": ["lag.x"],
}


@pytest.fixture(scope="module")
def everything():
    times = sorted({0.0, *(float(EXAMPLES[name]["stop_time"]) for name in SHOWN)})
    return translated(Everything()).simulate(times[-1], times=times, rtol=1e-7)


@pytest.mark.parametrize("name", SHOWN)
def test_end_values(everything, name):
    at = np.flatnonzero(everything.time == EXAMPLES[name]["stop_time"])[0]
    check(name, np.concatenate([np.atleast_1d(everything[part][at]) for part in SHOWN[name]]))


def test_damped_pendulum(everything):
    at = np.flatnonzero(everything.time == 10)[0]
    check("PendulumODE", {name: everything[f"pendulum.{name}"][at] for name in ("phi", "w")})


def test_no_ground_and_two_inductors_in_series():
    class SingularLRRL(Model):
        V = ConstantVoltage(V=10.0)
        L1 = Inductor(L=0.1)
        L2 = Inductor(L=0.2, i=0.1)
        R1 = Resistor(R=10.0)
        R2 = Resistor(R=20.0)

        def equations(self):
            return [
                connect(self.V.p, self.L1.p),
                connect(self.L1.n, self.R1.p, self.R2.p),
                connect(self.R1.n, self.R2.n, self.L2.p),
                connect(self.L2.n, self.V.n),
            ]

    with pytest.warns(ModelWarning, match="set to zero"):
        model = translated(SingularLRRL())
    result = model.simulate(1.0)
    check("SingularLRRL_no_ground", [result.final("L2.i")])
    current = 1.5 + (0.1 - 1.5) * np.exp(-result.time * (10 * 20 / 30) / 0.3)
    np.testing.assert_allclose(result["L1.i"], current, atol=1e-5)
    np.testing.assert_allclose(result["R1.i"], 2 * result["R2.i"], atol=1e-9)


def test_pendulum_with_inconsistent_left_limits():
    """Position and velocity are projected: the impulse equations decide."""

    class PendulumDAE(Model):
        L = Par(1.0)
        m = Par(1.0)
        g = Par([0.0, -9.81])
        r = Var(2, init=[0.5, -0.5])
        v = Var(2, init=[1.0, 1.0])
        tension = Var()

        def equations(self):
            return [
                der(self.r) == self.v,
                self.m * der(self.v) == -self.tension * self.r + self.m * self.g,
                self.r @ self.r == self.L**2,
            ]

    result = translated(PendulumDAE()).simulate(2.0, start="impulse", rtol=1e-8)
    np.testing.assert_allclose(result["r"][0], [np.sqrt(0.5), -np.sqrt(0.5)], atol=1e-9)
    np.testing.assert_allclose(result["v"][0], [1.0, 1.0], atol=1e-9)
    (x, y), (vx, vy), (ax, ay) = (result.final(name) for name in ("r", "v", "der(v)"))
    found = {"x": x, "y": y, "vx": vx, "vy": vy, "der(vx)": ax, "der(vy)": ay}
    check("PendulumDAE_GGL_dirac_init", found)


class Clutch(Model):
    """A motor with inertia, and a second inertia behind a clutch."""

    V0 = Par(10.0)
    J1 = Par(0.1)
    J2 = Par(0.4)
    R = Par(10.0)
    C = Par(2.0)
    k = Par(0.25)
    w1 = Var(init=0.0)
    w2 = Var(init=10.0)
    tau = Var()

    def __init__(self, engaged):
        super().__init__()
        self.engaged = engaged

    def equations(self):
        current = (self.V0 - self.k * self.w1) / self.R - self.C * self.k * der(self.w1)
        return [
            self.J1 * der(self.w1) == self.k * current - self.tau,
            self.J2 * der(self.w2) == self.tau,
            self.w1 == self.w2 if self.engaged else self.tau == 0,
        ]


def test_clutch_engages_with_an_impulse():
    """Momentum is conserved at 0 and 300, and the speeds jump."""

    def ends(result):
        return {name: result.final(name) for name in ("w1", "w2")}

    engaged, open_ = translated(Clutch(True)), translated(Clutch(False))
    first = engaged.simulate(100.0, start="impulse", rtol=1e-8)
    for name, value in EXAMPLES["IdealClutch_dirac"]["start"].items():
        assert first[name][0] == pytest.approx(value, abs=1e-9)
    second = open_.simulate(300.0, start_time=100.0, init=ends(first), rtol=1e-8)
    third = engaged.simulate(500.0, start_time=300.0, init=ends(second), start="impulse", rtol=1e-8)
    check("IdealClutch_dirac", ends(third))


def test_force_on_a_sliding_mass():
    """The mass slides along y; the rail carries its weight, in the third direction."""
    rail = SlidingMass(n=[0.0, 1.0, 0.0], g=[0.0, 0.0, -9.81])
    result = translated(rail).simulate(1.0)
    check("StateSelection", {"f[3]": result.final("f")[2]})


class Servo(Model):
    """Speed control of a load behind an elastic gear: current control, motor, gear, speed control."""

    ratio = Par(105.0)
    reference = Input()
    x = Var(2, init=0.0, doc="integrators of the controllers of current and of speed")
    voltage = Var(init=0.0)
    i = Var(init=0.0)
    wanted = Var(doc="current that the speed controller asks for")
    phi_motor = Var()
    phi_gear = Var(init=0.0)
    phi_load = Var(init=0.0)
    w_motor = Var(init=0.0)
    w_gear = Var()
    w_load = Var(init=0.0)
    tau_motor = Var(doc="torque of the motor on the gear")
    tau_load = Var(doc="torque of spring and damper on the load")

    def equations(self):
        error = self.ratio * self.reference - self.w_motor
        twist, speed = self.phi_gear - self.phi_load, self.w_gear - self.w_load
        return [
            der(self.x) == np.stack([self.wanted - self.i, error]),
            self.wanted == self.x[1] + error,
            0.001 * der(self.voltage) == 30 * (self.x[0] + self.wanted - self.i) - self.voltage,
            0.061 * der(self.i) == self.voltage - 13.8 * self.i - 1.016 * self.w_motor,
            0.0025 * der(self.w_motor) == 1.016 * self.i - self.tau_motor,
            der(self.phi_motor) == self.w_motor,
            der(self.phi_gear) == self.w_gear,
            der(self.phi_load) == self.w_load,
            self.phi_motor == self.ratio * self.phi_gear,
            self.tau_load == 5.84e5 * twist + 500 * speed,
            self.ratio * self.tau_motor == self.tau_load + 100 * self.w_gear,
            170 * der(self.w_load) == self.tau_load,
        ]


def test_servo():
    ramp = ([0.0, 1.18, 2.0], [0.0, 2.95, 2.95])
    result = translated(Servo()).simulate(2.0, inputs={"reference": ramp})
    names = ["x[1]", "x[0]", "voltage", "i", "phi_motor", "w_motor", "phi_load", "w_load"]
    check("ServoSystem", [result.final(name) for name in names])

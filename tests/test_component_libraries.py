"""Blocks and sources against their definitions, sensors and gears against each other; the list of all."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from modia_py import Model, connect, simulate, time
from modia_py.models import blocks, electrical, rotational, translational

STOP = 4.0


def between_events(result):
    """Rows that are not at an event, where there are two."""
    distance = np.abs(result.time[:, None] - np.asarray(result.events.time))
    return distance.min(axis=1, initial=np.inf) > 1e-9


def periodic(t, start, period):
    return (t - start) % period


def trapezoid(t):
    since = periodic(t, 0.3, 1.1)
    shape = np.interp(since, [0.0, 0.2, 0.5, 0.6, 1.1], [0.0, 2.0, 2.0, 0.0, 0.0])
    return 0.5 + np.where((t >= 0.3) & (t < 0.3 + 2 * 1.1), shape, 0.0)


def point_to_point(t):
    """From 1 to -2 with speed 1.5 and acceleration 3: half a second up, 1.5 s along, half a second down."""
    since = np.clip(t - 0.25, 0.0, 2.5)
    up, along, left = since < 0.5, since < 2.0, 2.5 - since
    way = np.where(up, 1.5 * since**2, np.where(along, 1.5 * (since - 0.25), 3.0 - 1.5 * left**2))
    return 1.0 - way


class Signals(Model):
    """Every source, and every block without memory, on one signal."""

    step = blocks.Step(height=2.0, offset=1.0, startTime=1.5)
    ramp = blocks.Ramp(height=2.0, duration=1.0, offset=-1.0, startTime=1.0)
    sine = blocks.Sine(amplitude=2.0, f=0.7, phase=0.3, offset=0.1, startTime=0.4)
    cosine = blocks.Cosine(f=0.5)
    expsine = blocks.ExpSine(amplitude=2.0, f=0.7, damping=0.5)
    exponentials = blocks.Exponentials(outMax=2.0, riseTime=1.0, riseTimeConst=0.5, fallTimeConst=0.3)
    pulse = blocks.Pulse(amplitude=3.0, width=30.0, period=0.9, startTime=0.2)
    saw = blocks.SawTooth(amplitude=3.0, period=0.9, startTime=0.2)
    trapezoid = blocks.Trapezoid(
        amplitude=2.0,
        rising=0.2,
        width=0.3,
        falling=0.1,
        period=1.1,
        nperiod=2.0,
        offset=0.5,
        startTime=0.3,
    )
    table = blocks.TimeTable(table=[[0.0, 1.0], [1.0, 2.0], [2.5, -1.0]])
    ptp = blocks.KinematicPTP2(q_begin=1.0, q_end=-2.0, qd_max=1.5, qdd_max=3.0, startTime=0.25)
    boolean = blocks.BooleanTable(table=[0.5, 1.7, 2.9], startValue=1.0)
    limiter = blocks.Limiter(uMax=1.2, uMin=-0.5)
    dead = blocks.DeadZone(uMax=0.8)
    curve = blocks.CombiTable1D(table=[[-1.0, 3.0], [0.0, 1.0], [1.0, 2.0]])
    absolute = blocks.Abs()
    sign = blocks.Sign()
    above = blocks.GreaterThreshold(threshold=0.7)
    switch = blocks.Switch()

    def equations(self):
        driven = (self.limiter, self.dead, self.curve, self.absolute, self.sign, self.above)
        return [
            *(block.u == self.sine.y for block in driven),
            self.switch.u1 == 5.0,
            self.switch.u2 == self.boolean.y,
            self.switch.u3 == self.sine.y,
        ]


@pytest.fixture(scope="module")
def signals():
    return simulate(Signals(), STOP, times=np.linspace(0.0, STOP, 400))


def test_sources_are_what_they_say(signals):
    t = signals.time
    wave = 0.1 + np.where(t >= 0.4, 2 * np.sin(2 * np.pi * 0.7 * (t - 0.4) + 0.3), 0.0)
    rises = 2 * (1 - np.exp(-t / 0.5))
    falls = 2 * (1 - np.exp(-2.0)) * np.exp(-(t - 1) / 0.3)
    table = np.interp(t, [0.0, 1.0, 2.5], [1.0, 2.0, -1.0]) - 2 * np.maximum(t - 2.5, 0.0)
    high = (t >= 0.2) & (periodic(t, 0.2, 0.9) < 0.27)
    expected = {
        "step.y": np.where(t >= 1.5, 3.0, 1.0),
        "ramp.y": np.interp(t, [1.0, 2.0], [-1.0, 1.0]),
        "sine.y": wave,
        "cosine.y": np.cos(np.pi * t),
        "expsine.y": 2 * np.exp(-0.5 * t) * np.sin(2 * np.pi * 0.7 * t),
        "exponentials.y": np.where(t < 1, rises, falls),
        "pulse.y": np.where(high, 3.0, 0.0),
        "saw.y": np.where(t >= 0.2, 3.0 * periodic(t, 0.2, 0.9) / 0.9, 0.0),
        "trapezoid.y": trapezoid(t),
        "table.y": table,
        "ptp.q": point_to_point(t),
        "boolean.y": np.searchsorted([0.5, 1.7, 2.9], t, side="right") % 2 == 0,
    }
    between = between_events(signals)
    for name, values in expected.items():
        assert_allclose(signals[name][between], values[between].astype(float), atol=1e-9, err_msg=name)


def test_blocks_without_memory_are_what_they_say(signals):
    u = signals["sine.y"]
    expected = {
        "limiter.y": np.clip(u, -0.5, 1.2),
        "dead.y": np.sign(u) * np.maximum(np.abs(u) - 0.8, 0.0),
        "curve.y": np.where(u < 0, 1 - 2 * u, 1 + u),
        "absolute.y": np.abs(u),
        "sign.y": np.sign(u),
        "above.y": u > 0.7,
        "switch.y": np.where(signals["boolean.y"] > 0.5, 5.0, u),
    }
    between = between_events(signals)
    for name, values in expected.items():
        assert_allclose(signals[name][between], values[between], atol=1e-8, err_msg=name)


class Linear(Model):
    """Dynamic blocks that answer a step, and what is sampled of them."""

    first = blocks.FirstOrder(k=2.0, T=0.5, y=0.0)
    second = blocks.SecondOrder(w=2.0, D=1.0, y=0.0, yd=0.0)
    pi = blocks.PI(k=3.0, T=0.5, x=0.0)
    derivative = blocks.Derivative(T=0.5, x=0.0)
    transfer = blocks.TransferFunction(b=[2.0, 1.0], a=[1.0, 3.0, 2.0], x=[0.0, 0.0])
    delay = blocks.UnitDelay(samplePeriod=0.5)

    def equations(self):
        return [
            *(b.u == 1.0 for b in (self.first, self.second, self.pi, self.derivative, self.transfer)),
            self.delay.u == time,
        ]


def test_linear_blocks_answer_a_step_as_their_transfer_functions_say():
    result = simulate(Linear(), 3.0, times=np.arange(13) * 0.24 + 0.01, start_time=0.0, rtol=1e-8)
    t = result.time
    expected = {
        "first.y": 2 * (1 - np.exp(-2 * t)),
        "second.y": 1 - np.exp(-2 * t) * (1 + 2 * t),
        "pi.y": 3 * (1 + 2 * t),
        "derivative.y": 2 * np.exp(-2 * t),
        "transfer.y": 0.5 + np.exp(-t) - 1.5 * np.exp(-2 * t),
        "delay.y": np.maximum(np.floor(t / 0.5 + 1e-9) - 1, 0) * 0.5,
    }
    between = between_events(result)
    for name, values in expected.items():
        assert_allclose(result[name][between], values[between], atol=1e-6, err_msg=name)


class Transmission(Model):
    """A planetary gear, a wheel, and sensors at each shaft: all speeds follow from two of them."""

    sun = rotational.ConstantSpeed(w_fixed=3.0, phi=0.0)
    ring = rotational.ConstantSpeed(w_fixed=-1.0, phi=0.0)
    gear = rotational.IdealPlanetary(ratio=2.0)
    torque = rotational.TorqueSensor()
    power = rotational.PowerSensor()
    wheel = rotational.IdealRollingWheel(radius=0.5)
    load = translational.Damper(d=4.0)
    wall = translational.Fixed()
    speed = translational.SpeedSensor()

    def equations(self):
        return [
            connect(self.sun.flange, self.gear.sun),
            connect(self.ring.flange, self.gear.ring),
            connect(self.gear.carrier, self.torque.flange_a),
            connect(self.torque.flange_b, self.power.flange_a),
            connect(self.power.flange_b, self.wheel.flangeR),
            connect(self.wheel.flangeT, self.load.flange_b, self.speed.flange),
            connect(self.load.flange_a, self.wall.flange),
        ]


def test_gears_wheels_and_sensors():
    result = simulate(Transmission(), 1.0)
    carrier = (3.0 - 2.0) / 3
    assert_allclose(result["speed.v"], carrier * 0.5)
    assert_allclose(result["torque.tau"], carrier * 0.5**2 * 4)
    assert_allclose(result["power.power"], result["load.lossPower"])
    assert_allclose(result["sun.flange.tau"], -carrier * 0.5**2 * 4 / 3)


class Circuit(Model):
    """Controlled sources, transformers and an amplifier, each with a load."""

    source = electrical.SineVoltage(V=2.0, f=1.0)
    ground = electrical.Ground()
    transformer = electrical.IdealTransformer(n=4.0)
    vcc = electrical.VCC(transConductance=0.5)
    zener = electrical.ZDiode()
    r1 = electrical.Resistor(R=8.0)
    r2 = electrical.Resistor(R=3.0)
    r3 = electrical.Resistor(R=100.0)
    amplifier = electrical.IdealOpAmp3Pin()
    back = electrical.Resistor(R=5.0)
    before = electrical.Resistor(R=2.0)
    switch = electrical.IdealCommutingSwitch()
    left = electrical.Resistor(R=1.0)
    right = electrical.Resistor(R=1.0)

    def equations(self):
        zero = self.ground.p
        return [
            connect(self.source.p, self.transformer.p1, self.vcc.p1, self.before.p, self.switch.p),
            connect(
                self.source.n, self.transformer.n1, self.vcc.n1, self.transformer.n2, self.vcc.n2, zero
            ),
            connect(self.transformer.p2, self.r1.p),
            connect(self.vcc.p2, self.r2.p),
            connect(self.before.n, self.back.p, self.amplifier.in_n),
            connect(self.back.n, self.amplifier.out, self.r3.p),
            connect(self.r3.n, self.zener.n),
            connect(self.switch.n1, self.left.p),
            connect(self.switch.n2, self.right.p),
            connect(
                self.r1.n, self.r2.n, self.zener.p, self.amplifier.in_p, self.left.n, self.right.n, zero
            ),
            self.switch.control == blocks.logical.truth(time >= 0.3),
        ]


def test_controlled_sources_amplifiers_and_switches():
    result = simulate(Circuit(), 1.0, times=np.linspace(0, 1, 90))
    v = 2 * np.sin(2 * np.pi * result.time)
    assert_allclose(result["r1.u"], v / 4, atol=1e-9)
    assert_allclose(result["transformer.i1"], v / 4 / 8 / 4, atol=1e-9)
    assert_allclose(result["r2.u"], -0.5 * v * 3, atol=1e-9)
    assert_allclose(result["amplifier.out.v"], -2.5 * v, atol=1e-9)
    closed = result.time > 0.3
    away = result.time != 0.3
    share = 1 / (1 + 1e-5)
    assert_allclose(
        result["left.u"][away], np.where(closed, 1e-5 / (1 + 1e-5), share)[away] * v[away], atol=1e-7
    )
    assert_allclose(
        result["right.u"][away], np.where(closed, share, 1e-5 / (1 + 1e-5))[away] * v[away], atol=1e-7
    )
    # The diode keeps less than its breakthrough voltage, and conducts in the other direction.
    assert result["zener.n.v"].max() < 5.1
    assert result["zener.n.v"].min() > -1.0


BASES = """Compliant CompliantWithVelocity CompliantWithAcceleration Supported TwoFlangesAndSupport Driven
RelativeSensor Rigid TwoFlangesWithFriction Backlash TwoPin TwoPort VoltageSource CurrentSource
IdealSemiconductor IdealSwitch SwitchWithArc VariableSine Source StartingSource SISO SI2SO MISO
SampledBlock Bipolar FieldEffectTransistor""".split()
"""What several components have in common, not to be used as it is."""


@pytest.mark.parametrize("library", ["rotational", "translational", "electrical", "blocks", "thermal"])
def test_every_component_stands_in_the_list(library):
    text = (Path(__file__).parents[1] / "docs" / "components.md").read_text()
    section = text.split(f"`{library}`\n", 1)[1].split("\n## ")[0]
    module = importlib.import_module(f"modia_py.models.{library}")
    for name, thing in vars(module).items():
        if (
            isinstance(thing, type)
            and issubclass(thing, Model)
            and thing.__module__.startswith(module.__name__)
        ):
            assert name in BASES or f"| `{name}` |" in section, name

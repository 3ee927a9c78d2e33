"""Examples of Modelica's library, built from ours, against the results that the library publishes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from modia_py import (
    Discrete,
    Model,
    Par,
    assign,
    clock,
    connect,
    hold,
    previous,
    sampled,
    simulate,
    when,
)
from modia_py.models import blocks, electrical, modelica_examples, rotational, translational

from .modelica_reference import ALLOWED, DATA, OF_INTERVAL, meets_published_results


class First(Model):
    """A motor, a gear, an elastic shaft and a load; everything stands on one support."""

    fixed = rotational.Fixed()
    torque = rotational.Torque(useSupport=True)
    inertia1 = rotational.Inertia(J=0.1)
    idealGear = rotational.IdealGear(ratio=10.0, useSupport=True)
    inertia2 = rotational.Inertia(J=2.0, phi=0.0, w=0.0)
    spring = rotational.Spring(c=1e4, phi_rel=0.0)
    inertia3 = rotational.Inertia(J=2.0, w=0.0)
    damper = rotational.Damper(d=10.0)
    sine = blocks.Sine(amplitude=10.0, f=5.0)

    def equations(self):
        return [
            connect(self.torque.flange, self.inertia1.flange_a),
            connect(self.inertia1.flange_b, self.idealGear.flange_a),
            connect(self.idealGear.flange_b, self.inertia2.flange_a),
            connect(self.inertia2.flange_b, self.spring.flange_a, self.damper.flange_a),
            connect(self.spring.flange_b, self.inertia3.flange_a),
            connect(self.damper.flange_b, self.torque.support, self.idealGear.support, self.fixed.flange),
            self.torque.tau == self.sine.y,
        ]


class InitialConditions(Model):
    """Two chains of masses and springs, with start values of positions, lengths and velocities."""

    fixed1 = translational.Fixed(s0=-1.0)
    s1 = translational.Spring(s_rel0=1.0, c=1e3, s_rel=0.5)
    m1 = translational.Mass(L=1.0, v=0.0)
    sd1 = translational.SpringDamper(s_rel0=1.0, c=111.0, s_rel=1.0, v_rel=0.0, d=1.0)
    m2 = translational.Mass(L=2.0)
    fixed2 = translational.Fixed(s0=1.0)
    s2 = translational.Spring(s_rel0=2.0, c=1e3)
    m3 = translational.Mass(L=3.0, s=4.5, v=0.0)
    sd2 = translational.SpringDamper(s_rel0=4.0, c=111.0, d=1.0)
    m4 = translational.Mass(L=5.0, s=12.5, v=0.0)

    def equations(self):
        return [
            connect(self.s1.flange_a, self.fixed1.flange),
            connect(self.m1.flange_a, self.s1.flange_b),
            connect(self.sd1.flange_a, self.m1.flange_b),
            connect(self.m2.flange_a, self.sd1.flange_b),
            connect(self.s2.flange_a, self.fixed2.flange),
            connect(self.m3.flange_a, self.s2.flange_b),
            connect(self.sd2.flange_a, self.m3.flange_b),
            connect(self.m4.flange_a, self.sd2.flange_b),
        ]


class Continuous(Model):
    """The speed of a load under a continuous PI controller; its start value is that of the output."""

    load = rotational.Inertia(J=10.0, phi=0.0, w=0.0)
    speed = rotational.SpeedSensor()
    ramp = blocks.Ramp(duration=2.0)
    PI = blocks.PI(y=0.0, T=0.1, k=110.0)
    feedback = blocks.Feedback()
    torque = rotational.Torque()

    def equations(self):
        return [
            connect(self.speed.flange, self.load.flange_b),
            connect(self.torque.flange, self.load.flange_a),
            self.feedback.u1 == self.ramp.y,
            self.feedback.u2 == self.speed.w,
            self.PI.u == self.feedback.y,
            self.torque.tau == self.PI.y,
        ]


class CauerLowPassAnalog(Model):
    """A filter with loops of capacitors."""

    l1, l2, c1, c3, c5 = 1.304, 0.8586, 1.072, 1.682, 0.7262
    c2, c4 = 1 / (1.704992**2 * l1), 1 / (1.179945**2 * l2)
    G = electrical.Ground()
    C1 = electrical.Capacitor(C=c1, u=0.0)
    C2 = electrical.Capacitor(C=c2)
    C3 = electrical.Capacitor(C=c3, u=0.0)
    C4 = electrical.Capacitor(C=c4)
    C5 = electrical.Capacitor(C=c5, u=0.0)
    L1 = electrical.Inductor(L=l1, i=0.0)
    L2 = electrical.Inductor(L=l2, i=0.0)
    R1 = electrical.Resistor(R=1.0)
    R2 = electrical.Resistor(R=1.0)
    V = electrical.StepVoltage(V=1.0, startTime=1.0)

    def equations(self):
        return [
            connect(self.V.p, self.R1.p),
            connect(self.R1.n, self.C1.p, self.L1.p, self.C2.p),
            connect(self.L1.n, self.C2.n, self.C3.p, self.L2.p, self.C4.p),
            connect(self.L2.n, self.C4.n, self.C5.p, self.R2.p),
            connect(self.V.n, self.C1.n, self.C3.n, self.C5.n, self.R2.n, self.G.p),
        ]


class CascadeControlledDrive(Model):
    """The angle of a load is controlled every 10 ms, its speed every 2 ms."""

    load = rotational.Inertia(J=10.0, phi=0.0, w=0.0)
    torque = rotational.Torque()
    kinematicPTP = blocks.KinematicPTP2(q_end=np.pi, qd_max=2.0, qdd_max=3.0)
    wanted, x, y = Discrete(0.0), Discrete(0.0), Discrete(0.0)
    T = Par(0.5)

    def equations(self):
        fast = clock(0.002)
        slow = fast.sub(5)
        angle = sampled(self.kinematicPTP.q, slow) - sampled(self.load.phi, slow)
        speed = self.wanted - sampled(self.load.w, fast)
        return [
            connect(self.torque.flange, self.load.flange_a),
            when(slow, assign(self.wanted, 20.0 * angle)),
            when(
                fast,
                assign(self.x, previous(self.x) + fast.period / self.T * speed),
                assign(self.y, 100.0 * (self.x + speed)),
            ),
            self.torque.tau == hold(self.y),
        ]


EXAMPLES = {
    "CoupledClutches": modelica_examples.CoupledClutches,
    "Friction": modelica_examples.Friction,
    "ElastoGap": modelica_examples.ElastoGap,
    "Rectifier": modelica_examples.Rectifier,
    "IdealTriacCircuit": modelica_examples.IdealTriacCircuit,
    "ClockedWithDiscreteController": modelica_examples.ClockedWithDiscreteController,
    "First": First,
    "InitialConditions": InitialConditions,
    "Continuous": Continuous,
    "CauerLowPassAnalog": CauerLowPassAnalog,
}
NAMES = {
    "Capacitor1.v": "capacitor1.u",
    "Capacitor2.v": "capacitor2.u",
    "Inductor2.i": "inductor[1].i",
    "Inductor3.i": "inductor[2].i",
    "idealTriac.capacitor.v": "idealTriac.capacitor.u",
    **{f"C{k}.v": f"C{k}.u" for k in range(1, 6)},
}
"""Phases of the rectifier are an array here, and the voltage of two pins is `u`."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_published_results_are_met(name):
    meets_published_results(name, EXAMPLES[name](), NAMES)


@pytest.mark.slow
def test_two_clocks():
    """All is sampled, so what is published are the largest values and the times of events."""
    reference = json.loads((DATA / "SubClocked.json").read_text())
    stop = reference["stop_time"]
    result = simulate(CascadeControlledDrive(), stop, times=2001)
    for signal, largest in reference["largest"].items():
        found = np.abs(result[signal.removeprefix("PI.")]).max()
        assert abs(found - largest) <= ALLOWED * largest, signal
    times = np.asarray(result.events.time)
    for event in reference["event_times"]:
        assert np.abs(times - event).min() <= OF_INTERVAL * stop

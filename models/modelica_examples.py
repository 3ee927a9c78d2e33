"""Examples of Modelica's library, built from the components here under the names they have there.

Each is a small system of its domain; the tests compare them with the results that the library publishes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from modia_py import Model, connect

from . import blocks, electrical, rotational, translational


class CoupledClutches(Model):
    """Three clutches between four shafts; they stick and slide in turn, two of them at one instant."""

    J1 = rotational.Inertia(J=1.0, phi=0.0, w=10.0)
    J2 = rotational.Inertia(J=1.0, phi=0.0, w=0.0)
    J3 = rotational.Inertia(J=1.0, phi=0.0, w=0.0)
    J4 = rotational.Inertia(J=1.0, phi=0.0, w=0.0)
    clutch1 = rotational.Clutch(peak=1.1, fn_max=20.0)
    clutch2 = rotational.Clutch(peak=1.1, fn_max=20.0)
    clutch3 = rotational.Clutch(peak=1.1, fn_max=20.0)
    torque = rotational.Torque(useSupport=True)
    fixed = rotational.Fixed()
    sin1 = blocks.Sine(amplitude=10.0, f=5.0)
    sin2 = blocks.Sine(amplitude=1.0, f=0.2, phase=np.pi / 2)
    step1 = blocks.Step(startTime=0.4)
    step2 = blocks.Step(startTime=0.9)

    def equations(self) -> Any:
        return [
            connect(self.torque.flange, self.J1.flange_a),
            connect(self.J1.flange_b, self.clutch1.flange_a),
            connect(self.clutch1.flange_b, self.J2.flange_a),
            connect(self.J2.flange_b, self.clutch2.flange_a),
            connect(self.clutch2.flange_b, self.J3.flange_a),
            connect(self.J3.flange_b, self.clutch3.flange_a),
            connect(self.clutch3.flange_b, self.J4.flange_a),
            connect(self.fixed.flange, self.torque.support),
            self.torque.tau == self.sin1.y,
            self.clutch1.f_normalized == self.sin2.y,
            self.clutch2.f_normalized == self.step1.y,
            self.clutch3.f_normalized == self.step2.y,
        ]


class Friction(Model):
    """A motor, a clutch, an elastic shaft and a brake that stops it."""

    torque = rotational.Torque(useSupport=True)
    inertia3 = rotational.Inertia(J=1.0, phi=0.0, w=100.0)
    clutch = rotational.Clutch(fn_max=160.0)
    inertia2 = rotational.Inertia(J=0.05, phi=0.0, w=90.0)
    spring = rotational.SpringDamper(c=160.0, d=1.0)
    inertia1 = rotational.Inertia(J=1.0, phi=0.0, w=90.0)
    brake = rotational.Brake(fn_max=1600.0, useSupport=True)
    const = blocks.Constant(k=1.0)
    step = blocks.Step(startTime=0.5)
    step2 = blocks.Step(height=-1.0, offset=1.0, startTime=0.5)
    sine = blocks.Sine(amplitude=200.0, f=50 / np.pi)
    product = blocks.Product()
    fixed = rotational.Fixed()

    def equations(self) -> Any:
        return [
            connect(self.torque.flange, self.inertia3.flange_a),
            connect(self.inertia3.flange_b, self.clutch.flange_a),
            connect(self.clutch.flange_b, self.inertia2.flange_a),
            connect(self.inertia2.flange_b, self.spring.flange_a),
            connect(self.spring.flange_b, self.brake.flange_a),
            connect(self.brake.flange_b, self.inertia1.flange_a),
            connect(self.torque.support, self.brake.support, self.fixed.flange),
            self.product.u1 == self.sine.y,
            self.product.u2 == self.step2.y,
            self.torque.tau == self.product.y,
            self.clutch.f_normalized == self.const.y,
            self.brake.f_normalized == self.step.y,
        ]


class ElastoGap(Model):
    """Two masses between walls: one held by springs, one that bounces between elastic stops."""

    fixed = translational.Fixed()
    rod1 = translational.Rod(L=2.0)
    rod2 = translational.Rod(L=2.0)
    springDamper1 = translational.SpringDamper(c=10.0, s_rel0=1.0, d=1.5)
    springDamper2 = translational.SpringDamper(c=10.0, s_rel0=1.0, d=1.5)
    mass1 = translational.Mass(m=1.0, s=2.0, v=0.0)
    elastoGap1 = translational.ElastoGap(c=10.0, s_rel0=1.5, d=1.5)
    elastoGap2 = translational.ElastoGap(c=10.0, s_rel0=1.5, d=1.5)
    mass2 = translational.Mass(m=1.0, s=2.0, v=0.0)

    def equations(self) -> Any:
        return [
            connect(self.rod1.flange_b, self.fixed.flange, self.rod2.flange_a),
            connect(self.rod1.flange_a, self.springDamper1.flange_a, self.elastoGap1.flange_a),
            connect(self.rod2.flange_b, self.springDamper2.flange_b, self.elastoGap2.flange_b),
            connect(self.springDamper1.flange_b, self.mass1.flange_a),
            connect(self.mass1.flange_b, self.springDamper2.flange_a),
            connect(self.elastoGap1.flange_b, self.mass2.flange_a),
            connect(self.mass2.flange_b, self.elastoGap2.flange_a),
        ]


class Rectifier(Model):
    """Three phases, six diodes (the upper ones first), a capacitor in two halves and a constant load."""

    source = electrical.SineVoltage.array(
        3, V=400 * np.sqrt(2 / 3), f=50.0, phase=[0.0, -2 / 3 * np.pi, -4 / 3 * np.pi]
    )
    inductor = electrical.Inductor.array(3, L=60e-6, i=0.0)
    diode = electrical.IdealDiode.array(6, Ron=1e-3, Goff=1e-3, Vknee=2.0)
    capacitor1 = electrical.Capacitor(C=30e-3, u=400 / np.sqrt(2))
    capacitor2 = electrical.Capacitor(C=30e-3, u=400 / np.sqrt(2))
    load = electrical.ConstantCurrent(I=500.0)
    ground = electrical.Ground()

    def equations(self) -> Any:
        upper, lower = self.diode[:3], self.diode[3:]
        return [
            connect(self.source[0].n, self.source[1].n),
            connect(self.source[1].n, self.source[2].n),
            connect(self.source.p, self.inductor.p),
            connect(self.inductor.n, upper.p),
            connect(self.inductor.n, lower.n),
            connect(upper.n, self.capacitor1.p),
            connect(lower.p, self.capacitor2.n),
            connect(self.capacitor1.n, self.capacitor2.p, self.ground.p),
            connect(self.load.p, self.capacitor1.p),
            connect(self.load.n, self.capacitor2.n),
        ]


class IdealTriacCircuit(Model):
    """A triac that is fired in pulses, behind a resistor and an alternating voltage."""

    V = electrical.SineVoltage(V=5.0, f=2.0)
    R = electrical.Resistor(R=20.0)
    idealTriac = electrical.IdealTriac(capacitor={"u": 0.0})
    booleanPulse = blocks.BooleanPulse(width=50.0, period=0.25, startTime=0.1)
    ground = electrical.Ground()

    def equations(self) -> Any:
        return [
            connect(self.V.n, self.idealTriac.p, self.ground.p),
            connect(self.V.p, self.R.p),
            connect(self.R.n, self.idealTriac.n),
            self.idealTriac.fire1 == self.booleanPulse.y,
        ]


class ClockedWithDiscreteController(Model):
    """The speed of a load, controlled ten times a second by a discrete PI controller."""

    load = rotational.Inertia(J=10.0, phi=0.0, w=0.0)
    speed = rotational.SpeedSensor()
    torque = rotational.Torque()
    ramp = blocks.Ramp(duration=2.0)
    feedback = blocks.Feedback()
    PI = blocks.DiscretePI(T=0.1, k=110.0, samplePeriod=0.1)

    def equations(self) -> Any:
        return [
            connect(self.speed.flange, self.load.flange_b),
            connect(self.torque.flange, self.load.flange_a),
            self.feedback.u1 == self.ramp.y,
            self.feedback.u2 == self.speed.w,
            self.PI.u == self.feedback.y,
            self.torque.tau == self.PI.y,
        ]

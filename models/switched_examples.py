"""Systems that switch, built from the libraries: power electronics, friction, sampled control."""

from __future__ import annotations

from typing import Any

import numpy as np

from modia_py import Discrete, Model, Par, Var, assign, connect, der, time, when, where

from . import blocks, electrical, rotational, translational


class FullWaveRectifier(Model):
    """Four diodes between an alternating voltage with resistance and a smoothed load."""

    source = electrical.SineVoltage(V=10.0, f=50.0)
    inner = electrical.Resistor(R=1.0)
    capacitor = electrical.Capacitor(C=1e-3, u=0.0)
    load = electrical.Resistor(R=50.0)
    ground = electrical.Ground()
    diode = electrical.IdealDiode.array(4, Ron=1e-3, Goff=1e-5)

    def equations(self) -> Any:
        diode, ends = self.diode, (self.inner.n, self.source.n)
        return [
            connect(self.source.p, self.inner.p),
            *(connect(end, diode[k].p, diode[k + 2].n) for k, end in enumerate(ends)),
            connect(diode[:2].n, self.capacitor.p),
            connect(diode[2:].p, self.capacitor.n),
            connect(self.load.p, self.capacitor.p),
            connect(self.load.n, self.capacitor.n, self.ground.p),
        ]


class BuckConverter(Model):
    """A step-down converter: a switch at 100 kHz, a diode, an inductor and a capacitor."""

    source = electrical.ConstantVoltage(V=12.0)
    switch = electrical.IdealClosingSwitch()
    diode = electrical.IdealDiode()
    inductor = electrical.Inductor(L=100e-6, i=3.0)
    capacitor = electrical.Capacitor(C=100e-6, u=6.0)
    load = electrical.Resistor(R=2.0)
    gate = blocks.BooleanPulse(period=10e-6, width=50.0)
    ground = electrical.Ground()

    def equations(self) -> Any:
        return [
            connect(self.source.p, self.switch.p),
            connect(self.switch.n, self.diode.n, self.inductor.p),
            connect(self.inductor.n, self.capacitor.p, self.load.p),
            connect(self.source.n, self.diode.p, self.capacitor.n, self.load.n, self.ground.p),
            self.switch.control == self.gate.y,
        ]


class SixPulseBridge(Model):
    """Six diodes that rectify three phases for a resistor: it sees the largest difference of phases."""

    load = electrical.Resistor(R=10.0)
    ground = electrical.Ground()
    source = electrical.SineVoltage.array(3, V=100.0, f=50.0, phase=[0.0, -2 / 3 * np.pi, -4 / 3 * np.pi])
    diode = electrical.IdealDiode.array(6, Ron=1e-5, Goff=1e-8)

    def equations(self) -> Any:
        return [
            connect(self.source.n, self.ground.p),
            connect(self.source.p, self.diode[:3].p),
            connect(self.source.p, self.diode[3:].n),
            connect(self.diode[:3].n, self.load.p),
            connect(self.diode[3:].p, self.load.n),
        ]


class StickSlip(Model):
    """A mass on a moving belt, held by a spring: it sticks, is carried along, and slips back."""

    mass = translational.Mass(m=1.0, s=0.0, v=0.2)
    spring = translational.Spring(c=100.0)
    friction = translational.Brake(useSupport=True, fn_max=10.0, mue_pos=[[0.0, 0.3]], peak=1.5)
    belt = translational.ConstantSpeed(v_fixed=0.2, s=0.0)
    wall = translational.Fixed()

    def equations(self) -> Any:
        return [
            connect(self.wall.flange, self.spring.flange_a),
            connect(self.spring.flange_b, self.mass.flange_a),
            connect(self.mass.flange_b, self.friction.flange_a),
            connect(self.belt.flange, self.friction.support),
            self.friction.f_normalized == 1.0,
        ]


class CoulombOscillator(Model):
    """A mass on a spring, with dry friction: every half period loses the same amplitude."""

    mass = translational.Mass(m=1.0, s=1.0, v=0.0)
    spring = translational.Spring(c=100.0)
    friction = translational.SupportFriction(f_pos=[[0.0, 7.0]])
    wall = translational.Fixed()

    def equations(self) -> Any:
        return [
            connect(self.wall.flange, self.spring.flange_a),
            connect(self.spring.flange_b, self.mass.flange_a),
            connect(self.mass.flange_b, self.friction.flange_a),
        ]


class IdealClutch(rotational.CompliantWithVelocity):
    """A clutch without slip: w_rel = 0 while `engaged`, else tau = 0. Momentum is kept when it closes."""

    engaged = Discrete(False, doc="whether it is closed")

    def equations(self) -> Any:
        return [*super().equations(), where(self.engaged, self.w_rel, self.tau) == 0]


class EngagingShafts(Model):
    """Two shafts that are coupled from 0.5 s to 1.5 s; one of them is driven."""

    J1 = rotational.Inertia(J=2.0, phi=0.0, w=6.0)
    J2 = rotational.Inertia(J=1.0, phi=0.0, w=0.0)
    drive = rotational.ConstantTorque(tau_constant=3.0)
    clutch = IdealClutch()

    def equations(self) -> Any:
        return [
            connect(self.drive.flange, self.J1.flange_a),
            connect(self.J1.flange_b, self.clutch.flange_a),
            connect(self.clutch.flange_b, self.J2.flange_a),
            when([time >= 0.5, time >= 1.5], assign(self.clutch.engaged, time < 1.0)),
        ]


class Thermostat(Model):
    """A relay with hysteresis heats a room: T der(x) = power - x, power on below uLow, off above uHigh."""

    T = Par(2.0, nonzero=True, unit="s", doc="time constant")
    x = Var(init=0.0, doc="temperature")
    relay = blocks.Hysteresis(uLow=0.5, uHigh=0.7)

    def equations(self) -> Any:
        return [
            self.relay.u == self.x,
            self.T * der(self.x) == where(self.relay.y, 0.0, 1.0) - self.x,
        ]


class SampledMotor(Model):
    """The speed of a motor, controlled by a sampled PI controller that sets its voltage."""

    source = electrical.SignalVoltage()
    resistor = electrical.Resistor(R=0.5)
    inductor = electrical.Inductor(L=5e-3, i=0.0)
    emf = electrical.RotationalEMF(k=0.2)
    load = rotational.Inertia(J=1e-3, phi=0.0, w=0.0)
    controller = blocks.DiscretePI(k=0.05, T=0.02, samplePeriod=2e-3)
    wanted = blocks.Step(height=50.0, startTime=0.01)
    ground = electrical.Ground()

    def equations(self) -> Any:
        return [
            connect(self.source.p, self.resistor.p),
            connect(self.resistor.n, self.inductor.p),
            connect(self.inductor.n, self.emf.p),
            connect(self.emf.n, self.source.n, self.ground.p),
            connect(self.emf.flange, self.load.flange_a),
            self.controller.u == self.wanted.y - self.load.w,
            self.source.u == self.controller.y,
        ]

"""What drives or loads a shaft, and what measures it.

Torque, angle, speed and acceleration of a source are signals: `self.torque.tau == self.sine.y`. A torque is
positive if it turns the flange forward.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from modia_py import Model, Par, Var, der

from .. import signals
from .components import Flange, Supported


class Driven(Supported):
    """A source on one flange: phi is its angle against the support."""

    flange = Flange()
    phi = Var(unit="rad", doc="angle of the flange against the support")

    def equations(self) -> Any:
        return [
            self.phi == self.flange.phi - self.phi_support,
            self.support_equations(self.flange.tau),
        ]


class Torque(Driven):
    """A given torque: flange.tau = -tau."""

    tau = Var(unit="N.m", doc="torque that turns the flange forward: a signal")

    def equations(self) -> Any:
        return [*super().equations(), self.flange.tau == -self.tau]


class Torque2(Model):
    """A given torque between two flanges: flange_a.tau = tau, flange_b.tau = -tau."""

    flange_a = Flange()
    flange_b = Flange()
    tau = Var(unit="N.m", doc="torque that turns flange_b forward: a signal")

    def equations(self) -> Any:
        return [self.flange_a.tau == self.tau, self.flange_b.tau == -self.tau]


class ConstantTorque(Driven):
    """A constant torque: flange.tau = -tau_constant."""

    tau_constant = Par(0.0, unit="N.m", doc="torque that turns the flange forward")

    def equations(self) -> Any:
        return [*super().equations(), self.flange.tau == -self.tau_constant]


class TorqueStep(Driven):
    """A torque that jumps: offsetTorque, and from startTime on stepTorque more."""

    stepTorque = Par(1.0, unit="N.m", doc="height of the step")
    offsetTorque = Par(0.0, unit="N.m", doc="torque before the step")
    startTime = Par(0.0, unit="s", doc="time of the step")

    def equations(self) -> Any:
        torque = self.offsetTorque + signals.step(self.stepTorque, self.startTime)
        return [*super().equations(), self.flange.tau == -torque]


class LinearSpeedDependentTorque(Driven):
    """A load that grows with the speed: flange.tau = -tau_nominal w/w_nominal, w = der(phi)."""

    tau_nominal = Par(0.0, unit="N.m", doc="torque at w_nominal, negative for a load")
    w_nominal = Par(1.0, nonzero=True, unit="rad/s", doc="nominal speed")

    def equations(self) -> Any:
        share = der(self.phi) / self.w_nominal
        return [*super().equations(), self.flange.tau == -self.tau_nominal * share]


class QuadraticSpeedDependentTorque(Driven):
    """A load as of a fan: flange.tau = -tau_nominal (w/w_nominal)^2, w = der(phi).

    Without TorqueDirection the sign of the torque follows that of the speed.
    """

    tau_nominal = Par(0.0, unit="N.m", doc="torque at w_nominal, negative for a load")
    w_nominal = Par(1.0, nonzero=True, unit="rad/s", doc="nominal speed")
    TorqueDirection = Par(
        1.0, doc="1: the same direction of torque for both directions of rotation; 0: not"
    )

    def equations(self) -> Any:
        share = der(self.phi) / self.w_nominal
        square = np.where(self.TorqueDirection > 0.5, share**2, share * np.abs(share))
        return [*super().equations(), self.flange.tau == -self.tau_nominal * square]


class Position(Driven):
    """A given angle: phi = phi_ref. What it is connected to follows exactly, whatever the torque."""

    phi_ref = Var(unit="rad", doc="angle of the flange against the support: a signal")

    def equations(self) -> Any:
        return [*super().equations(), self.phi == self.phi_ref]


class Speed(Driven):
    """A given speed: der(phi) = w_ref. The angle at the start is that of `phi`."""

    w_ref = Var(unit="rad/s", doc="angular velocity of the flange against the support: a signal")

    def equations(self) -> Any:
        return [*super().equations(), der(self.phi) == self.w_ref]


class ConstantSpeed(Driven):
    """A constant speed: der(phi) = w_fixed."""

    w_fixed = Par(0.0, unit="rad/s", doc="angular velocity of the flange against the support")

    def equations(self) -> Any:
        return [*super().equations(), der(self.phi) == self.w_fixed]


class Accelerate(Driven):
    """A given acceleration: w = der(phi), der(w) = a_ref."""

    w = Var(unit="rad/s", doc="angular velocity of the flange against the support")
    a_ref = Var(unit="rad/s2", doc="angular acceleration of the flange: a signal")

    def equations(self) -> Any:
        return [*super().equations(), self.w == der(self.phi), der(self.w) == self.a_ref]


class AngleSensor(Model):
    """phi = flange.phi, without torque."""

    flange = Flange()
    phi = Var(unit="rad", doc="angle of the flange")

    def equations(self) -> Any:
        return [self.phi == self.flange.phi, self.flange.tau == 0]


class SpeedSensor(Model):
    """w = der(flange.phi), without torque."""

    flange = Flange()
    w = Var(unit="rad/s", doc="angular velocity of the flange")

    def equations(self) -> Any:
        return [self.w == der(self.flange.phi), self.flange.tau == 0]


class AccSensor(Model):
    """w = der(flange.phi), a = der(w), without torque."""

    flange = Flange()
    w = Var(unit="rad/s", doc="angular velocity of the flange")
    a = Var(unit="rad/s2", doc="angular acceleration of the flange")

    def equations(self) -> Any:
        return [self.w == der(self.flange.phi), self.a == der(self.w), self.flange.tau == 0]


class RelativeSensor(Model):
    """What sensors between two flanges have in common: no torque, phi_rel = flange_b.phi - flange_a.phi."""

    flange_a = Flange()
    flange_b = Flange()
    phi_rel = Var(unit="rad", doc="angle from flange_a to flange_b")

    def equations(self) -> Any:
        return [
            self.phi_rel == self.flange_b.phi - self.flange_a.phi,
            self.flange_a.tau == 0,
            self.flange_b.tau == 0,
        ]


class RelAngleSensor(RelativeSensor):
    """The angle between two flanges: phi_rel = flange_b.phi - flange_a.phi."""


class RelSpeedSensor(RelativeSensor):
    """The speed between two flanges: w_rel = der(phi_rel)."""

    w_rel = Var(unit="rad/s", doc="angular velocity of flange_b against flange_a")

    def equations(self) -> Any:
        return [*super().equations(), self.w_rel == der(self.phi_rel)]


class TorqueSensor(Model):
    """The torque in a shaft: flange_a.phi = flange_b.phi, tau = flange_a.tau = -flange_b.tau."""

    flange_a = Flange()
    flange_b = Flange()
    tau = Var(unit="N.m", doc="torque in the shaft")

    def equations(self) -> Any:
        return [
            self.flange_a.phi == self.flange_b.phi,
            self.flange_a.tau == self.tau,
            self.flange_b.tau == -self.tau,
        ]


class PowerSensor(Model):
    """The power through a shaft: power = flange_a.tau der(flange_a.phi), flange_a.phi = flange_b.phi."""

    flange_a = Flange()
    flange_b = Flange()
    power = Var(unit="W", doc="power from flange_a to flange_b")

    def equations(self) -> Any:
        return [
            self.flange_a.phi == self.flange_b.phi,
            self.flange_a.tau + self.flange_b.tau == 0,
            self.power == self.flange_a.tau * der(self.flange_a.phi),
        ]

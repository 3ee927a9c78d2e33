"""What moves or loads a point of the line, and what measures it.

Force, position, speed and acceleration of a source are signals: `self.force.f == self.sine.y`. A force is
positive if it pushes the flange forward.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from modia_py import Model, Par, Var, der

from .. import signals
from .components import Flange, Supported


class Driven(Supported):
    """A source on one flange: s is its position against the support."""

    flange = Flange()
    s = Var(unit="m", doc="position of the flange against the support")

    def equations(self) -> Any:
        return [self.s == self.flange.s - self.s_support, self.support_equations(self.flange.f)]


class Force(Driven):
    """A given force: flange.f = -f."""

    f = Var(unit="N", doc="force that pushes the flange forward: a signal")

    def equations(self) -> Any:
        return [*super().equations(), self.flange.f == -self.f]


class Force2(Model):
    """A given force between two flanges: flange_a.f = f, flange_b.f = -f."""

    flange_a = Flange()
    flange_b = Flange()
    f = Var(unit="N", doc="force that pushes flange_b forward: a signal")

    def equations(self) -> Any:
        return [self.flange_a.f == self.f, self.flange_b.f == -self.f]


class ConstantForce(Driven):
    """A constant force: flange.f = -f_constant."""

    f_constant = Par(0.0, unit="N", doc="force that pushes the flange forward")

    def equations(self) -> Any:
        return [*super().equations(), self.flange.f == -self.f_constant]


class ForceStep(Driven):
    """A force that jumps: offsetForce, and from startTime on stepForce more."""

    stepForce = Par(1.0, unit="N", doc="height of the step")
    offsetForce = Par(0.0, unit="N", doc="force before the step")
    startTime = Par(0.0, unit="s", doc="time of the step")

    def equations(self) -> Any:
        force = self.offsetForce + signals.step(self.stepForce, self.startTime)
        return [*super().equations(), self.flange.f == -force]


class LinearSpeedDependentForce(Driven):
    """A load that grows with the speed: flange.f = -f_nominal v/v_nominal, v = der(s)."""

    f_nominal = Par(0.0, unit="N", doc="force at v_nominal, negative for a load")
    v_nominal = Par(1.0, nonzero=True, unit="m/s", doc="nominal speed")

    def equations(self) -> Any:
        share = der(self.s) / self.v_nominal
        return [*super().equations(), self.flange.f == -self.f_nominal * share]


class QuadraticSpeedDependentForce(Driven):
    """A load as of the air: flange.f = -f_nominal (v/v_nominal)^2, v = der(s).

    Without ForceDirection the sign of the force follows that of the speed.
    """

    f_nominal = Par(0.0, unit="N", doc="force at v_nominal, negative for a load")
    v_nominal = Par(1.0, nonzero=True, unit="m/s", doc="nominal speed")
    ForceDirection = Par(1.0, doc="1: the same direction of force for both directions of motion; 0: not")

    def equations(self) -> Any:
        share = der(self.s) / self.v_nominal
        square = np.where(self.ForceDirection > 0.5, share**2, share * np.abs(share))
        return [*super().equations(), self.flange.f == -self.f_nominal * square]


class Position(Driven):
    """A given position: s = s_ref. What it is connected to follows exactly, whatever the force."""

    s_ref = Var(unit="m", doc="position of the flange against the support: a signal")

    def equations(self) -> Any:
        return [*super().equations(), self.s == self.s_ref]


class Speed(Driven):
    """A given speed: der(s) = v_ref. The position at the start is that of `s`."""

    v_ref = Var(unit="m/s", doc="velocity of the flange against the support: a signal")

    def equations(self) -> Any:
        return [*super().equations(), der(self.s) == self.v_ref]


class ConstantSpeed(Driven):
    """A constant speed: der(s) = v_fixed."""

    v_fixed = Par(0.0, unit="m/s", doc="velocity of the flange against the support")

    def equations(self) -> Any:
        return [*super().equations(), der(self.s) == self.v_fixed]


class Accelerate(Driven):
    """A given acceleration: v = der(s), der(v) = a_ref."""

    v = Var(unit="m/s", doc="velocity of the flange against the support")
    a_ref = Var(unit="m/s2", doc="acceleration of the flange: a signal")

    def equations(self) -> Any:
        return [*super().equations(), self.v == der(self.s), der(self.v) == self.a_ref]


class PositionSensor(Model):
    """s = flange.s, without force."""

    flange = Flange()
    s = Var(unit="m", doc="position of the flange")

    def equations(self) -> Any:
        return [self.s == self.flange.s, self.flange.f == 0]


class SpeedSensor(Model):
    """v = der(flange.s), without force."""

    flange = Flange()
    v = Var(unit="m/s", doc="velocity of the flange")

    def equations(self) -> Any:
        return [self.v == der(self.flange.s), self.flange.f == 0]


class AccSensor(Model):
    """v = der(flange.s), a = der(v), without force."""

    flange = Flange()
    v = Var(unit="m/s", doc="velocity of the flange")
    a = Var(unit="m/s2", doc="acceleration of the flange")

    def equations(self) -> Any:
        return [self.v == der(self.flange.s), self.a == der(self.v), self.flange.f == 0]


class RelativeSensor(Model):
    """What sensors between two flanges have in common: no force, s_rel = flange_b.s - flange_a.s."""

    flange_a = Flange()
    flange_b = Flange()
    s_rel = Var(unit="m", doc="distance from flange_a to flange_b")

    def equations(self) -> Any:
        return [
            self.s_rel == self.flange_b.s - self.flange_a.s,
            self.flange_a.f == 0,
            self.flange_b.f == 0,
        ]


class RelPositionSensor(RelativeSensor):
    """The distance between two flanges: s_rel = flange_b.s - flange_a.s."""


class RelSpeedSensor(RelativeSensor):
    """The speed between two flanges: v_rel = der(s_rel)."""

    v_rel = Var(unit="m/s", doc="velocity of flange_b against flange_a")

    def equations(self) -> Any:
        return [*super().equations(), self.v_rel == der(self.s_rel)]


class ForceSensor(Model):
    """The force in a rod: flange_a.s = flange_b.s, f = flange_a.f = -flange_b.f."""

    flange_a = Flange()
    flange_b = Flange()
    f = Var(unit="N", doc="force in the rod")

    def equations(self) -> Any:
        return [
            self.flange_a.s == self.flange_b.s,
            self.flange_a.f == self.f,
            self.flange_b.f == -self.f,
        ]

"""A robot with six joints and its drive trains, as in the paper on inline integration (1995).

Each drive train has a motor with current control (two states), a tacho filter of first and of second order
(three), a cascade of controllers (three), and a gearbox with Coulomb friction: elastic in the first three
(two states more), rigid in the others. With the arm these are 12 + 3*2 + 6*(2 + 3 + 3) = 66 states. Data
are of the size of those of a Manutec r3.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from spatial_arm import Arm, Revolute

from modia_py import Connector, Flow, Model, Par, Var, connect, der, time, where


class Flange(Connector):
    """A shaft."""

    phi = Var(unit="rad")
    tau = Flow(unit="N.m")


class DrivenRevolute(Revolute):
    """A joint with a shaft along its axis."""

    axis_flange = Flange()

    def equations(self) -> Any:
        *others, _ = super().equations()
        flange = self.axis_flange
        return [*others, flange.phi == self.phi, self.e @ self.b.t == self.d * self.w - flange.tau]


class Motor(Model):
    """Windings, and an amplifier that controls their current."""

    flange = Flange()
    L, R, k = Par(5e-3, nonzero=True, unit="H"), Par(0.5, unit="Ohm"), Par(1.16, unit="N.m/A")
    gain, T = Par(10.0, unit="V/A"), Par(1e-4, nonzero=True, unit="s", doc="of the amplifier")
    J = Par(1.3e-3, nonzero=True, unit="kg.m2")
    i, u = Var(init=0.0, unit="A"), Var(init=0.0, unit="V")
    wanted = Var(unit="A")
    w, a = Var(unit="rad/s"), Var(unit="rad/s2")

    def equations(self) -> Any:
        return [
            self.w == der(self.flange.phi),
            self.a == der(self.w),
            self.L * der(self.i) == self.u - self.R * self.i - self.k * self.w,
            self.T * der(self.u) == self.gain * (self.wanted - self.i) - self.u,
            self.J * self.a == self.k * self.i + self.flange.tau,
        ]


class Friction(Model):
    """Coulomb friction and viscous friction, with a steep line through zero."""

    flange = Flange()
    coulomb, viscous = Par(0.4, unit="N.m"), Par(8e-4, unit="N.m.s")
    slow = Par(0.5, nonzero=True, unit="rad/s")
    w = Var(unit="rad/s")

    def equations(self) -> Any:
        w, c = self.w, self.coulomb
        dry = where(w > self.slow, c, where(w < -self.slow, -c, c * w / self.slow))
        return [w == der(self.flange.phi), self.flange.tau == dry + self.viscous * w]


class Gearbox(Model):
    """An ideal gear; with a spring and a damper on the side of the load, if it is elastic."""

    motor, load = Flange(), Flange()
    ratio = Par(100.0, nonzero=True)
    c, d = Par(4e4, unit="N.m/rad"), Par(200.0, unit="N.m.s/rad")

    def __init__(self, elastic: bool, **changes: Any):
        super().__init__(**changes)
        self.elastic = elastic
        if elastic:
            self.twist = Var(init=0.0, unit="rad")
            self.rate = Var(init=0.0, unit="rad/s")

    def equations(self) -> Any:
        motor, load, n = self.motor, self.load, self.ratio
        found = [n * motor.tau + load.tau == 0]
        if not self.elastic:
            return [*found, motor.phi == n * load.phi]
        return [
            *found,
            self.twist == load.phi - motor.phi / n,
            self.rate == der(self.twist),
            load.tau == self.c * self.twist + self.d * self.rate,
        ]


class TachoFilter(Model):
    """Filters of first and of second order in series."""

    u, y = Var(), Var()
    T, w, D = Par(1e-3, nonzero=True, unit="s"), Par(1000.0, unit="rad/s"), Par(0.7)
    x1, x2, x3 = Var(init=0.0), Var(init=0.0), Var(init=0.0)

    def equations(self) -> Any:
        return [
            self.T * der(self.x1) == self.u - self.x1,
            der(self.x2) == self.x3,
            der(self.x3) == self.w**2 * (self.x1 - self.x2) - 2 * self.D * self.w * self.x3,
            self.y == self.x2,
        ]


class Controller(Model):
    """Position and speed, with the limited current as its output."""

    phi, w = Var(unit="rad"), Var(unit="rad/s")
    wanted = Var(unit="rad", doc="of the angle, on the side of the motor")
    current = Var(unit="A")
    kp, ks, Ts = Par(20.0), Par(0.3), Par(0.05, nonzero=True)
    T_reference, T_current = Par(2e-3, nonzero=True), Par(2e-4, nonzero=True)
    largest = Par(20.0, unit="A")
    reference, sum, command = Var(init=0.0), Var(init=0.0), Var(init=0.0)
    error = Var()

    def equations(self) -> Any:
        asked = self.ks * (self.error + self.sum / self.Ts)
        c = self.command
        return [
            self.T_reference * der(self.reference) == self.kp * (self.wanted - self.phi) - self.reference,
            self.error == self.reference - self.w,
            der(self.sum) == self.error,
            self.T_current * der(c) == asked - c,
            self.current
            == where(c > self.largest, self.largest, where(c < -self.largest, -self.largest, c)),
        ]


class DriveTrain(Model):
    """Controller, tacho filter, motor, friction and gearbox."""

    flange = Flange()
    amplitude, speed = Par(0.4, unit="rad"), Par(2.0, unit="rad/s")
    start = Par(0.3, unit="rad")

    def __init__(self, elastic: bool, ratio: float, **changes: Any):
        super().__init__(**changes)
        self.motor, self.friction, self.tacho = Motor(), Friction(), TachoFilter()
        self.controller, self.gearbox = Controller(), Gearbox(elastic, ratio=ratio)

    def equations(self) -> Any:
        motor, control = self.motor, self.controller
        wanted = self.start + self.amplitude * (1.0 - np.cos(self.speed * time))
        return [
            connect(motor.flange, self.friction.flange, self.gearbox.motor),
            connect(self.gearbox.load, self.flange),
            self.tacho.u == motor.w,
            control.phi == motor.flange.phi,
            control.w == self.tacho.y,
            control.wanted == self.gearbox.ratio * wanted,
            motor.wanted == control.current,
        ]


class MechatronicRobot(Arm):
    """Six joints, six drive trains."""

    def __init__(self, joint: type[DrivenRevolute] = DrivenRevolute, **changes: Any):
        super().__init__(6, joint=joint, **changes)
        for k, ratio in enumerate((105.0, 210.0, 60.0, 99.0, 79.0, 99.0)):
            setattr(self, f"drive{k}", DriveTrain(elastic=k < 3, ratio=ratio, speed=2.0 + 0.3 * k))

    def equations(self) -> Any:
        drives, joints = ([getattr(self, f"{name}{k}") for k in range(6)] for name in ("drive", "joint"))
        return [
            *super().equations(),
            *(
                connect(drive.flange, joint.axis_flange)
                for drive, joint in zip(drives, joints, strict=True)
            ),
        ]

"""A closed loop in space, of the joints and links of `spatial_arm`; and one body with a quaternion.

The loop: a crank that turns about y, a coupler on a universal joint, a rocker that turns about x, and a
ball joint between coupler and rocker: four angles, three constraints, one degree of freedom, index 3. With
all assigned that can be, x has the four angles, their speeds, and integrals of three forces and three
multipliers.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from spatial_arm import Frame, Link, Revolute, World

from modia_py import Model, Par, Var, connect, der


class Ball(Model):
    """Two frames with one point in common, which transmits no torque."""

    a = Frame()
    b = Frame()

    def equations(self) -> Any:
        a, b = self.a, self.b
        return [b.r == a.r, a.f + b.f == 0, a.t == 0, b.t == 0]


class Pivot(Model):
    """A frame at rest somewhere."""

    b = Frame()
    place = Par([0.0, 0.0, 0.0], unit="m")

    def equations(self) -> Any:
        return [self.b.r == self.place, np.eye(3) == self.b.R, self.b.w == 0]


class LoopJoint(Revolute):
    """A joint whose angle and speed follow from others."""

    phi = Var(unit="rad")
    w = Var(unit="rad/s")


class FourBar(Model):
    """Crank, coupler, rocker; the ground is the fourth bar."""

    def __init__(
        self,
        drive: type[Revolute] = Revolute,
        joint: type[Revolute] = LoopJoint,
        ball: type[Ball] = Ball,
        **changes: Any,
    ):
        super().__init__(**changes)
        self.world = World()
        self.pivot = Pivot(place=[0.8, 0.8, 0.4])
        self.drive = drive("y")
        self.crank = Link(L=[0.0, 0.0, -0.2])
        self.first, self.second = joint("z"), joint("y")
        self.coupler = Link(L=[0.8, 0.8, 0.0])
        self.ball = ball()
        self.hinge = joint("x")
        self.rocker = Link(L=[0.0, 0.0, -0.6])

    def equations(self) -> Any:
        path = self.drive, self.crank, self.first, self.second, self.coupler, self.ball
        found = [connect(self.world.b, self.drive.a), connect(self.pivot.b, self.hinge.a)]
        found += [connect(one.b, other.a) for one, other in itertools.pairwise(path)]
        return [*found, connect(self.hinge.b, self.rocker.a), connect(self.rocker.b, self.ball.b)]


class QuaternionPendulum(Model):
    """A body that swings about a point, its rotation by four numbers of length one."""

    m = Par(1.0, nonzero=True, unit="kg")
    L = Par([0.0, 0.0, -0.5], unit="m", doc="from the point to the centre, in the body")
    inertia = Par([[0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.02]], unit="kg.m2")
    g = Par([0.0, 0.0, -9.81], unit="m/s2")
    q = Var(4, init=[np.cos(0.3), np.sin(0.3), 0.0, 0.0], doc="rotation from the body to the world")
    w = Var(3, init=[0.0, 0.5, 1.0], unit="rad/s", doc="angular velocity, in the body")
    r = Var(3, unit="m")
    v = Var(3, unit="m/s")
    f = Var(3, unit="N")

    def equations(self) -> Any:
        s, x, y, z = (self.q[k] for k in range(4))
        half_speed = [[-x, s, z, -y], [-y, -z, s, x], [-z, y, -x, s]]
        turn = [
            [s * s + x * x - y * y - z * z, 2 * (x * y - s * z), 2 * (x * z + s * y)],
            [2 * (x * y + s * z), s * s - x * x + y * y - z * z, 2 * (y * z - s * x)],
            [2 * (x * z - s * y), 2 * (y * z + s * x), s * s - x * x - y * y + z * z],
        ]
        E = np.stack([np.stack(row) for row in half_speed])
        R = np.stack([np.stack(row) for row in turn])
        momentum = self.inertia @ self.w
        return [
            self.q @ self.q == 1,
            self.w == 2 * (E @ der(self.q)),
            self.r == R @ self.L,
            self.v == der(self.r),
            self.m * der(self.v) == self.f + self.m * self.g,
            self.inertia @ der(self.w) + np.cross(self.w, momentum) == np.cross(R.T @ self.f, self.L),
        ]

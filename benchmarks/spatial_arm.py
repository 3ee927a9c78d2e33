"""A robot arm in three dimensions: joints, links, and frames that carry position, rotation and forces.

Written as one would on paper: index 3, with a rotation matrix for each frame, in coordinates of the world.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from modia_py import Connector, Flow, Model, Par, Var, connect, der

AXES = {"x": np.array([1.0, 0.0, 0.0]), "y": np.array([0.0, 1.0, 0.0]), "z": np.array([0.0, 0.0, 1.0])}


class Frame(Connector):
    r = Var(3, unit="m", doc="position")
    R = Var((3, 3), doc="rotation from the frame to the world")
    w = Var(3, unit="rad/s", doc="angular velocity")
    f = Flow(3, unit="N")
    t = Flow(3, unit="N.m")


class World(Model):
    b = Frame()

    def equations(self) -> Any:
        return [self.b.r == 0, np.eye(3) == self.b.R, self.b.w == 0]


class Revolute(Model):
    """A joint about one of the axes of frame a, with friction."""

    a = Frame()
    b = Frame()
    d = Par(0.1, unit="N.m.s", doc="friction")
    phi = Var(init=0.3, unit="rad")
    w = Var(init=0.0, unit="rad/s")
    e = Var(3, doc="direction of the axis in the world")

    def __init__(self, axis: str, **changes: Any):
        super().__init__(**changes)
        self.axis = axis

    def equations(self) -> Any:
        c, s = np.cos(self.phi), np.sin(self.phi)
        rows = {
            "x": [[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]],
            "y": [[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]],
            "z": [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]],
        }
        turned = np.stack([np.stack(row) for row in rows[self.axis]])
        return [
            self.b.r == self.a.r,
            self.a.R @ turned == self.b.R,
            self.e == self.a.R @ AXES[self.axis],
            self.b.w == self.a.w + self.e * self.w,
            self.w == der(self.phi),
            self.a.f + self.b.f == 0,
            self.a.t + self.b.t == 0,
            self.e @ self.b.t == self.d * self.w,
        ]


class Link(Model):
    """A rigid body between two frames."""

    a = Frame()
    b = Frame()
    m = Par(1.0, nonzero=True, unit="kg")
    L = Par([0.0, 0.0, -0.5], unit="m", doc="from a to b")
    inertia = Par([[0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.02]], unit="kg.m2")
    g = Par([0.0, 0.0, -9.81], unit="m/s2")
    r = Var(3, unit="m", doc="centre")
    v = Var(3, unit="m/s")
    h = Var(3, unit="kg.m2/s", doc="angular momentum")

    def equations(self) -> Any:
        a, b = self.a, self.b
        torque = a.t + b.t + np.cross(a.r - self.r, a.f) + np.cross(b.r - self.r, b.f)
        return [
            b.R == a.R,
            b.w == a.w,
            b.r == a.r + a.R @ self.L,
            self.r == a.r + a.R @ self.L / 2,
            self.v == der(self.r),
            self.h == a.R @ (self.inertia @ (a.R.T @ a.w)),
            self.m * der(self.v) == a.f + b.f + self.m * self.g,
            der(self.h) == torque,
        ]


class Arm(Model):
    """A chain of joints and links that hangs on the world."""

    def __init__(self, joints: int, joint: type[Revolute] = Revolute, **changes: Any):
        super().__init__(**changes)
        self.joints = joints
        self.world = World()
        for k in range(joints):
            setattr(self, f"joint{k}", joint("zyxzyx"[k % 6] if k else "y"))
            setattr(self, f"link{k}", Link())

    def equations(self) -> Any:
        found, last = [], self.world.b
        for k in range(self.joints):
            joint, link = getattr(self, f"joint{k}"), getattr(self, f"link{k}")
            found += [connect(last, joint.a), connect(joint.b, link.a)]
            last = link.b
        return found

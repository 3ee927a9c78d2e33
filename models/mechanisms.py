"""Planar mechanisms in Cartesian coordinates, written down as one would on paper.

Every body has its own equations of motion, every joint says where two points coincide, and the forces in
the joints are unknowns: index 3 as written. Nothing is prepared by hand; vectors have two elements, x to
the right and y upwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from modia_py import Model, Par, Var, der


class Pendulum(Model):
    """A point mass on a rod without mass."""

    m = Par(1.0, nonzero=True, unit="kg", doc="mass")
    L = Par(1.0, nonzero=True, unit="m", doc="length of the rod")
    g = Par([0.0, -9.81], unit="m/s2", doc="gravity")
    r = Var(2, init=[1.0, 0.0], unit="m", doc="position")
    v = Var(2, init=0.0, unit="m/s", doc="velocity")
    f = Var(2, unit="N", doc="force of the rod")
    tension = Var(unit="N", doc="tension of the rod")

    def equations(self) -> Any:
        return [
            self.v == der(self.r),
            self.m * der(self.v) == self.f + self.m * self.g,
            self.f == -self.tension * self.r / self.L,
            self.r @ self.r == self.L**2,
        ]


class DoublePendulum(Model):
    """A point mass on a rod, and a second one that hangs on the first."""

    m = Par([1.0, 1.0], nonzero=True, unit="kg", doc="masses")
    L = Par([1.0, 1.0], nonzero=True, unit="m", doc="lengths of the rods")
    g = Par([0.0, -9.81], unit="m/s2", doc="gravity")
    r1 = Var(2, init=[1.0, 0.0], unit="m", doc="position of the first mass")
    r2 = Var(2, init=[2.0, 0.0], unit="m", doc="position of the second mass")
    v1 = Var(2, init=0.0, unit="m/s")
    v2 = Var(2, init=0.0, unit="m/s")
    f1 = Var(2, unit="N", doc="force of the first rod on the first mass")
    f2 = Var(2, unit="N", doc="force of the second rod on the second mass")
    tension = Var(2, unit="N", doc="tensions of the rods")

    def equations(self) -> Any:
        d = self.r2 - self.r1
        return [
            self.v1 == der(self.r1),
            self.v2 == der(self.r2),
            self.m[0] * der(self.v1) == self.f1 - self.f2 + self.m[0] * self.g,
            self.m[1] * der(self.v2) == self.f2 + self.m[1] * self.g,
            self.f1 == -self.tension[0] * self.r1 / self.L[0],
            self.f2 == -self.tension[1] * d / self.L[1],
            self.r1 @ self.r1 == self.L[0] ** 2,
            d @ d == self.L[1] ** 2,
        ]


class Bar(Model):
    """A slender rigid bar that moves in the plane, with a joint at each of its ends a and b.

    Parameters
    ----------
    near : float
        The angle, in rad, near which a mechanism is put together, where it can be in several ways.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    m = Par(1.0, nonzero=True, unit="kg", doc="mass")
    L = Par(1.0, nonzero=True, unit="m", doc="length")
    g = Par([0.0, -9.81], unit="m/s2", doc="gravity")
    r = Var(2, unit="m", doc="position of the centre")
    v = Var(2, unit="m/s", doc="velocity of the centre")
    w = Var(unit="rad/s", doc="angular velocity")
    a = Var(2, unit="m", doc="position of the end a")
    b = Var(2, unit="m", doc="position of the end b")
    f_a = Var(2, unit="N", doc="force on the end a")
    f_b = Var(2, unit="N", doc="force on the end b")

    def __init__(self, near: float = 0.0, **changes: Any):
        self.phi = Var(guess=near, unit="rad", doc="angle from the x axis to the direction from a to b")
        super().__init__(**changes)

    def equations(self) -> Any:
        arm = self.L / 2 * np.stack([np.cos(self.phi), np.sin(self.phi)])
        torque = arm[0] * (self.f_b[1] - self.f_a[1]) - arm[1] * (self.f_b[0] - self.f_a[0])
        return [
            self.v == der(self.r),
            self.w == der(self.phi),
            self.a == self.r - arm,
            self.b == self.r + arm,
            self.m * der(self.v) == self.f_a + self.f_b + self.m * self.g,
            self.m * self.L**2 / 12 * der(self.w) == torque,
        ]


class SliderCrank(Model):
    """A crank that turns about the origin, a connecting rod, and a slider on the x axis."""

    crank = Bar(m=1.0, L=0.5, phi=-0.5, w=0.0)
    rod = Bar(m=1.0, L=1.5)
    m = Par(2.0, nonzero=True, unit="kg", doc="mass of the slider")
    x = Var(guess=2.0, unit="m", doc="position of the slider")
    u = Var(unit="m/s", doc="velocity of the slider")
    normal = Var(unit="N", doc="force of the guide on the slider")

    def equations(self) -> Any:
        return [
            self.crank.a == 0,
            self.rod.a == self.crank.b,
            self.rod.f_a == -self.crank.f_b,
            self.rod.b == np.stack([self.x, 0.0]),
            self.u == der(self.x),
            self.m * der(self.u) == -self.rod.f_b[0],
            self.normal == self.rod.f_b[1] - self.m * self.rod.g[1],
        ]


class FourBar(Model):
    """Three bars and the frame in a closed loop: crank, coupler and rocker between two fixed pivots."""

    pivot = Par([2.0, 0.0], unit="m", doc="where the rocker is fixed; the crank is at the origin")
    crank = Bar(m=1.0, L=1.0, phi=-0.5, w=0.0)
    coupler = Bar(near=-0.5, m=2.0, L=2.0)
    rocker = Bar(near=-1.0, m=1.5, L=1.5)

    def equations(self) -> Any:
        return [
            self.crank.a == 0,
            self.rocker.a == self.pivot,
            self.coupler.a == self.crank.b,
            self.coupler.b == self.rocker.b,
            self.coupler.f_a == -self.crank.f_b,
            self.coupler.f_b == -self.rocker.f_b,
        ]

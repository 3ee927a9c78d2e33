"""Small complete models, for the demo, the documentation and the tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from modia_py import Model, Par, Var, connect, der, time

from .electrical import Capacitor, ConstantVoltage, Ground, Resistor


class SlidingMass(Model):
    """A mass on a rail, held by a spring and a damper."""

    m = Par(1.0, unit="kg")
    c = Par(1e3, unit="N/m")
    d = Par(5.0, unit="N.s/m")
    n = Par([0.6, 0.8, 0.0])
    g = Par([0.0, -9.81, 0.0], unit="m/s2")
    s = Var(init=0.1, unit="m")
    r = Var(3, unit="m")
    v = Var(3, unit="m/s")
    f = Var(3, unit="N")
    u = Var(3, unit="N")

    def equations(self) -> Any:
        return [
            self.r == self.n * self.s,
            self.v == der(self.r),
            self.m * der(self.v) == self.f + self.m * self.g + self.u,
            self.n @ self.f == 0,
            self.u == -(self.c * self.s + self.d * der(self.s)) * self.n,
        ]


class Pendulum(Model):
    """A point mass on a rod, in Cartesian coordinates: index 3 as written."""

    length = Par(1.0, unit="m")
    m = Par(1.0, nonzero=True, unit="kg")
    g = Par([0.0, -9.81], unit="m/s2")
    r = Var(2, init=[1.0, 0.0], unit="m", doc="position")
    v = Var(2, unit="m/s", doc="velocity")
    force = Var(unit="N/m", doc="force of the rod, per length")

    def equations(self) -> Any:
        return [
            der(self.r) == self.v,
            self.m * der(self.v) == self.m * self.g - self.force * self.r,
            self.r @ self.r == self.length**2,
        ]


class HeatRod(Model):
    """A rod of n cells, heated at its left end for ten seconds.

    Parameters
    ----------
    n : int
        The number of cells.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    C = Par(0.5, nonzero=True, unit="J/K", doc="heat capacity of a cell")
    G = Par(20.0, unit="W/K", doc="conductance between cells")
    loss = Par(2.0, unit="W/K", doc="conductance to the ambient at the right end")
    T0 = Par(293.15, unit="K", doc="ambient temperature")
    power = Par(100.0, unit="W", doc="power of the heater")

    def __init__(self, n: int = 50, **changes: Any):
        super().__init__(**changes)
        self.T = Var(n, init=self.T0, unit="K", doc="temperature of the cells")
        self.Q = Var(n + 1, unit="W", doc="heat flow to the right, through the borders of the cells")

    def equations(self) -> Any:
        return [
            self.Q[0] == np.where(time < 10, self.power, 0),
            self.Q[1:-1] == self.G * (self.T[:-1] - self.T[1:]),
            self.Q[-1] == self.loss * (self.T[-1] - self.T0),
            self.C * der(self.T) == self.Q[:-1] - self.Q[1:],
        ]


class Ladder(Model):
    """n sections of a resistor in series and a capacitor to ground, behind a constant voltage.

    Parameters
    ----------
    n : int
        The number of sections.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    def __init__(self, n: int = 100, **changes: Any):
        super().__init__(**changes)
        self.source = ConstantVoltage(V=1.0)
        self.r = Resistor.array(n, R=1.0)
        self.c = Capacitor.array(n, C=1e-3)
        self.ground = Ground()

    def equations(self) -> Any:
        return [
            connect(self.source.p, self.r[0].p),
            connect(self.r[:-1].n, self.r[1:].p),
            connect(self.r.n, self.c.p),
            connect(self.c.n, self.source.n, self.ground.p),
        ]


class Decay(Model):
    """The smallest model: x = x(0) exp(-k t)."""

    k = Par(1.0, unit="1/s", doc="rate")
    x = Var(init=1.0, doc="what is left")

    def equations(self) -> Any:
        return [der(self.x) == -self.k * self.x]

"""Blocks without memory: sums, products, limits, curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from modia_py import Model, Par, Var, where

from ..tables import interpolate
from .continuous import SISO


class SI2SO(Model):
    """Two inputs, one output."""

    u1 = Var(doc="first input")
    u2 = Var(doc="second input")
    y = Var(doc="output")


class Gain(SISO):
    """y = k u."""

    k = Par(1.0, doc="gain")

    def equations(self) -> Any:
        return [self.y == self.k * self.u]


class Feedback(SI2SO):
    """y = u1 - u2."""

    def equations(self) -> Any:
        return [self.y == self.u1 - self.u2]


class Add(SI2SO):
    """y = k1 u1 + k2 u2."""

    k1 = Par(1.0, doc="gain of u1")
    k2 = Par(1.0, doc="gain of u2")

    def equations(self) -> Any:
        return [self.y == self.k1 * self.u1 + self.k2 * self.u2]


class Product(SI2SO):
    """y = u1 u2."""

    def equations(self) -> Any:
        return [self.y == self.u1 * self.u2]


class Division(SI2SO):
    """y = u1 / u2."""

    def equations(self) -> Any:
        return [self.y == self.u1 / self.u2]


class Add3(Model):
    """y = k1 u1 + k2 u2 + k3 u3."""

    k1 = Par(1.0, doc="gain of u1")
    k2 = Par(1.0, doc="gain of u2")
    k3 = Par(1.0, doc="gain of u3")
    u1 = Var(doc="first input")
    u2 = Var(doc="second input")
    u3 = Var(doc="third input")
    y = Var(doc="output")

    def equations(self) -> Any:
        return [self.y == self.k1 * self.u1 + self.k2 * self.u2 + self.k3 * self.u3]


class LinearDependency(SI2SO):
    """y = y0 (1 + k1 u1 + k2 u2)."""

    y0 = Par(0.0, doc="value at u1 = u2 = 0")
    k1 = Par(0.0, doc="dependency on u1")
    k2 = Par(0.0, doc="dependency on u2")

    def equations(self) -> Any:
        return [self.y == self.y0 * (1 + self.k1 * self.u1 + self.k2 * self.u2)]


class Max(SI2SO):
    """y is the larger one of u1 and u2; the change is an event."""

    def equations(self) -> Any:
        return [self.y == where(self.u1 > self.u2, self.u1, self.u2)]


class Min(SI2SO):
    """y is the smaller one of u1 and u2; the change is an event."""

    def equations(self) -> Any:
        return [self.y == where(self.u1 < self.u2, self.u1, self.u2)]


class MISO(Model):
    """A vector of nu inputs, one output.

    Parameters
    ----------
    nu : int
        How many inputs; they are joined by equations, `self.sum.u[0] == self.sine.y`.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    y = Var(doc="output")

    def __init__(self, nu: int = 1, **changes: Any):
        self.u = Var(nu, doc="inputs")
        super().__init__(**changes)


class MultiSum(MISO):
    """y = k @ u.

    Parameters
    ----------
    nu : int
        How many inputs.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    def __init__(self, nu: int = 1, **changes: Any):
        self.k = Par(np.ones(nu), doc="gains")
        super().__init__(nu, **changes)

    def equations(self) -> Any:
        return [self.y == self.k @ self.u]


class MultiProduct(MISO):
    """y is the product of the inputs."""

    def equations(self) -> Any:
        inputs: Any = self.u
        return [self.y == np.prod(inputs)]


class MinMax(Model):
    """yMax and yMin are the largest and the smallest one of nu inputs, without events.

    Parameters
    ----------
    nu : int
        How many inputs.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    yMax = Var(doc="largest input")
    yMin = Var(doc="smallest input")

    def __init__(self, nu: int = 1, **changes: Any):
        self.u = Var(nu, doc="inputs")
        super().__init__(**changes)

    def equations(self) -> Any:
        inputs: Any = self.u
        return [self.yMax == np.max(inputs), self.yMin == np.min(inputs)]


class InverseBlockConstraints(Model):
    """Joins two inputs and two outputs, u1 = u2 and y1 = y2: the equations between them are inverted."""

    u1 = Var(doc="first input")
    u2 = Var(doc="second input")
    y1 = Var(doc="first output")
    y2 = Var(doc="second output")

    def equations(self) -> Any:
        return [self.u1 == self.u2, self.y1 == self.y2]


class Limiter(SISO):
    """y = u within uMin ... uMax, else the limit; reaching a limit is an event. By default uMin = -uMax.

    Parameters
    ----------
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    uMax = Par(1.0, doc="upper limit")

    def __init__(self, **changes: Any):
        self.uMin = Par(-self.uMax, doc="lower limit")
        super().__init__(**changes)

    def equations(self) -> Any:
        below = where(self.u < self.uMin, self.uMin, self.u)
        return [self.y == where(self.u > self.uMax, self.uMax, below)]


class DeadZone(SISO):
    """y = 0 within uMin ... uMax, else how far u is outside: with events. By default uMin = -uMax.

    Parameters
    ----------
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    uMax = Par(1.0, doc="upper border")

    def __init__(self, **changes: Any):
        self.uMin = Par(-self.uMax, doc="lower border")
        super().__init__(**changes)

    def equations(self) -> Any:
        below = where(self.u < self.uMin, self.u - self.uMin, 0.0)
        return [self.y == where(self.u > self.uMax, self.u - self.uMax, below)]


class Abs(SISO):
    """y = |u|; the change of sign is an event."""

    def equations(self) -> Any:
        return [self.y == where(self.u >= 0, self.u, -self.u)]


class Sign(SISO):
    """y = 1, 0 or -1, as u is positive, zero or negative; the change is an event."""

    def equations(self) -> Any:
        return [self.y == where(self.u > 0, 1.0, where(self.u < 0, -1.0, 0.0))]


class CombiTable1D(SISO):
    """y is the value of a table at u: linear in between, the first and last segment continued.

    Parameters
    ----------
    table : sequence of pairs
        Rows of u and y, with rising u.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    def __init__(self, table: Sequence[Sequence[float]] = ((0.0, 0.0), (1.0, 1.0)), **changes: Any):
        self.table = Par(table, doc="rows of u and y")
        super().__init__(**changes)

    def equations(self) -> Any:
        return [self.y == interpolate(self.table, self.u)]

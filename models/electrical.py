"""Analog electrical components with lumped parameters."""

from __future__ import annotations

from typing import Any

from modia_py import Connector, Flow, Model, Par, Var, der


class Pin(Connector):
    """An electrical terminal. The current is positive into the component."""

    v = Var(unit="V", doc="potential")
    i = Flow(unit="A", doc="current into the component")


class Ground(Model):
    """Potential zero."""

    p = Pin()

    def equations(self) -> Any:
        return [self.p.v == 0]


class TwoPin(Model):
    """What all components with two pins have in common."""

    p = Pin()
    n = Pin()
    u = Var(unit="V", doc="voltage from p to n")
    i = Var(unit="A", doc="current from p to n")

    def equations(self) -> Any:
        return [self.u == self.p.v - self.n.v, self.p.i + self.n.i == 0, self.i == self.p.i]


class Resistor(TwoPin):
    """Ohm's law: R i = u."""

    R = Par(1.0, unit="Ohm", doc="resistance")

    def equations(self) -> Any:
        return [*super().equations(), self.R * self.i == self.u]


class Capacitor(TwoPin):
    """C der(u) = i. Its start value is that of `u`: `Capacitor(C=1e-3, u=5.0)`."""

    C = Par(1.0, nonzero=True, unit="F", doc="capacitance")

    def equations(self) -> Any:
        return [*super().equations(), self.C * der(self.u) == self.i]


class Inductor(TwoPin):
    """L der(i) = u. Its start value is that of `i`: `Inductor(L=0.1, i=2.0)`."""

    L = Par(1.0, nonzero=True, unit="H", doc="inductance")

    def equations(self) -> Any:
        return [*super().equations(), self.L * der(self.i) == self.u]


class ConstantVoltage(TwoPin):
    """An ideal source: u = V, whatever the current."""

    V = Par(1.0, unit="V", doc="source voltage")

    def equations(self) -> Any:
        return [*super().equations(), self.u == self.V]

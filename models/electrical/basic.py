"""Resistors, capacitors, inductors, transformers, controlled sources and meters.

A pin has the potential `v` and the current `i` into the component. Of two pins, `v` is p.v - n.v, and `i`
the current from p to n. `u` is another name for `v`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from modia_py import Connector, Flow, Model, Par, Var, der

from ..heat_port import HeatPort
from ..rotational.components import Flange


class Pin(Connector):
    """An electrical terminal. The current is positive into the component."""

    v = Var(unit="V", doc="potential")
    i = Flow(unit="A", doc="current into the component")


PositivePin = NegativePin = Pin
"""Names that Modelica's library has for the two pins of a component."""


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
    v = Var(unit="V", doc="the same as u, by its name in Modelica's library")
    i = Var(unit="A", doc="current from p to n")

    def equations(self) -> Any:
        return [
            self.u == self.p.v - self.n.v,
            self.v == self.u,
            self.p.i + self.n.i == 0,
            self.i == self.p.i,
        ]


class Resistor(TwoPin):
    """R i = u. With a heat port, R (1 + alpha (heatPort.T - T_ref)) i = u, and it heats the port.

    Parameters
    ----------
    useHeatPort : bool
        Whether the port `heatPort` is there to be connected, with the parameters T_ref and alpha.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    R = Par(1.0, unit="Ohm", doc="resistance; with a heat port that at T_ref")

    def __init__(self, *values: Any, useHeatPort: bool = False, **changes: Any):
        if useHeatPort:
            self.heatPort = HeatPort()
            self.T_ref = Par(300.15, unit="K", doc="reference temperature")
            self.alpha = Par(0.0, unit="1/K", doc="increase of the resistance for a kelvin")
        self.useHeatPort = useHeatPort
        super().__init__(*values, **changes)

    def equations(self) -> Any:
        if not self.useHeatPort:
            return [*super().equations(), self.R * self.i == self.u]
        resistance = self.R * (1 + self.alpha * (self.heatPort.T - self.T_ref))
        return [
            *super().equations(),
            resistance * self.i == self.u,
            self.heatPort.Q_flow == -self.u * self.i,
        ]


class VariableResistor(TwoPin):
    """A resistance that is a signal: R i = u."""

    R = Var(unit="Ohm", doc="resistance: a signal")

    def equations(self) -> Any:
        return [*super().equations(), self.R * self.i == self.u]


class Conductor(TwoPin):
    """i = G u."""

    G = Par(1.0, unit="S", doc="conductance")

    def equations(self) -> Any:
        return [*super().equations(), self.i == self.G * self.u]


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


class SaturatingInductor(TwoPin):
    """An inductance that becomes smaller with the current: der(Psi) = v.

        Psi = Linf i + (Lzer - Linf) Ipar arctan(i/Ipar), with Psi = Lnom Inom at i = Inom

    By default Lzer = 2 Lnom and Linf = Lnom/2.

    Parameters
    ----------
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    Inom = Par(1.0, nonzero=True, unit="A", doc="nominal current")
    Lnom = Par(1.0, nonzero=True, unit="H", doc="inductance at the nominal current")
    Psi = Var(unit="V.s", doc="flux linkage")
    Ipar = Var(unit="A", guess=0.1, doc="current at which it begins to saturate: a constant")

    def __init__(self, **changes: Any):
        self.Lzer = Par(2 * self.Lnom, unit="H", doc="inductance near current zero, more than Lnom")
        self.Linf = Par(0.5 * self.Lnom, unit="H", doc="inductance at large currents, less than Lnom")
        super().__init__(**changes)

    def equations(self) -> Any:
        part = self.Ipar / self.Inom
        share = (self.Lnom - self.Linf) / (self.Lzer - self.Linf)
        return [
            *super().equations(),
            share == part * np.arctan(1 / part),
            self.Psi
            == self.Linf * self.i + (self.Lzer - self.Linf) * self.Ipar * np.arctan(self.i / self.Ipar),
            der(self.Psi) == self.v,
        ]


class ConstantVoltage(TwoPin):
    """An ideal source: u = V, whatever the current."""

    V = Par(1.0, unit="V", doc="source voltage")

    def equations(self) -> Any:
        return [*super().equations(), self.u == self.V]


class ConstantCurrent(TwoPin):
    """An ideal source: i = I from p to n, whatever the voltage."""

    I = Par(1.0, unit="A", doc="source current")  # noqa: E741

    def equations(self) -> Any:
        return [*super().equations(), self.i == self.I]


class TwoPort(Model):
    """Two pairs of pins: v1, i1 at p1, n1, and v2, i2 at p2, n2. Currents flow in at p1 and p2."""

    p1 = Pin()
    n1 = Pin()
    p2 = Pin()
    n2 = Pin()
    v1 = Var(unit="V", doc="voltage from p1 to n1")
    v2 = Var(unit="V", doc="voltage from p2 to n2")
    i1 = Var(unit="A", doc="current from p1 to n1")
    i2 = Var(unit="A", doc="current from p2 to n2")

    def equations(self) -> Any:
        return [
            self.v1 == self.p1.v - self.n1.v,
            self.v2 == self.p2.v - self.n2.v,
            self.p1.i + self.n1.i == 0,
            self.p2.i + self.n2.i == 0,
            self.i1 == self.p1.i,
            self.i2 == self.p2.i,
        ]


class Transformer(TwoPort):
    """Two coupled coils: v1 = L1 der(i1) + M der(i2), v2 = M der(i1) + L2 der(i2)."""

    L1 = Par(1.0, unit="H", doc="inductance of the first coil")
    L2 = Par(1.0, unit="H", doc="inductance of the second coil")
    M = Par(1.0, unit="H", doc="their coupling, at most sqrt(L1 L2)")

    def equations(self) -> Any:
        return [
            *super().equations(),
            self.v1 == self.L1 * der(self.i1) + self.M * der(self.i2),
            self.v2 == self.M * der(self.i1) + self.L2 * der(self.i2),
        ]


class Gyrator(TwoPort):
    """i1 = G2 v2, i2 = -G1 v1."""

    G1 = Par(1.0, unit="S", doc="gyration conductance of i2")
    G2 = Par(1.0, unit="S", doc="gyration conductance of i1")

    def equations(self) -> Any:
        return [*super().equations(), self.i1 == self.G2 * self.v2, self.i2 == -self.G1 * self.v1]


class VCV(TwoPort):
    """A voltage controlled by a voltage: v2 = gain v1, i1 = 0."""

    gain = Par(1.0, doc="voltage gain")

    def equations(self) -> Any:
        return [*super().equations(), self.v2 == self.gain * self.v1, self.i1 == 0]


class VCC(TwoPort):
    """A current controlled by a voltage: i2 = transConductance v1, i1 = 0."""

    transConductance = Par(1.0, unit="S", doc="current for a volt")

    def equations(self) -> Any:
        return [*super().equations(), self.i2 == self.transConductance * self.v1, self.i1 == 0]


class CCV(TwoPort):
    """A voltage controlled by a current: v2 = transResistance i1, v1 = 0."""

    transResistance = Par(1.0, unit="Ohm", doc="voltage for an ampere")

    def equations(self) -> Any:
        return [*super().equations(), self.v2 == self.transResistance * self.i1, self.v1 == 0]


class CCC(TwoPort):
    """A current controlled by a current: i2 = gain i1, v1 = 0."""

    gain = Par(1.0, doc="current gain")

    def equations(self) -> Any:
        return [*super().equations(), self.i2 == self.gain * self.i1, self.v1 == 0]


class RotationalEMF(TwoPin):
    """Electric to mechanic power of a motor: u = k w, flange.tau = -k i, w = der(flange.phi).

    The housing stands on the ground.
    """

    flange = Flange()
    k = Par(1.0, unit="N.m/A", doc="torque for an ampere, voltage for a rad/s")
    w = Var(unit="rad/s", doc="angular velocity of the flange")

    def equations(self) -> Any:
        return [
            *super().equations(),
            self.w == der(self.flange.phi),
            self.u == self.k * self.w,
            self.flange.tau == -self.k * self.i,
        ]


class PotentialSensor(Model):
    """phi = p.v, without current."""

    p = Pin()
    phi = Var(unit="V", doc="potential")

    def equations(self) -> Any:
        return [self.phi == self.p.v, self.p.i == 0]


class VoltageSensor(TwoPin):
    """The voltage from p to n, without current: i = 0."""

    def equations(self) -> Any:
        return [*super().equations(), self.i == 0]


class CurrentSensor(TwoPin):
    """The current from p to n, without voltage: u = 0."""

    def equations(self) -> Any:
        return [*super().equations(), self.u == 0]

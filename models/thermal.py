"""Heat: capacities, conductances, sources. A port has a temperature T, and Q_flow into the component."""

from __future__ import annotations

from typing import Any

from modia_py import Model, Par, Var, der

from .electrical.basic import Resistor
from .heat_port import HeatPort

STEFAN_BOLTZMANN = 5.670374419e-8
"""W/(m2 K4), exact since the SI of 2019."""


class HeatCapacitor(Model):
    """C der(T) = port.Q_flow."""

    port = HeatPort()
    C = Par(1.0, nonzero=True, unit="J/K", doc="heat capacity")
    T = Var(unit="K", nominal=300.0, guess=293.15, doc="temperature")

    def equations(self) -> Any:
        return [self.T == self.port.T, self.C * der(self.T) == self.port.Q_flow]


class ThermalConductor(Model):
    """Q_flow = G dT from port_a to port_b, dT = port_a.T - port_b.T."""

    port_a = HeatPort()
    port_b = HeatPort()
    G = Par(1.0, unit="W/K", doc="conductance")
    Q_flow = Var(unit="W", doc="heat flow from port_a to port_b")
    dT = Var(unit="K", doc="port_a.T - port_b.T")

    def equations(self) -> Any:
        return [
            self.dT == self.port_a.T - self.port_b.T,
            self.Q_flow == self.G * self.dT,
            self.port_a.Q_flow == self.Q_flow,
            self.port_b.Q_flow == -self.Q_flow,
        ]


class FixedTemperature(Model):
    """port.T = T, whatever the heat flow."""

    port = HeatPort()
    T = Par(293.15, unit="K", doc="temperature")

    def equations(self) -> Any:
        return [self.port.T == self.T]


class PrescribedHeatFlow(Model):
    """A given heat flow out of the port: port.Q_flow = -Q_flow."""

    port = HeatPort()
    Q_flow = Var(unit="W", doc="heat flow into what is connected: a signal")

    def equations(self) -> Any:
        return [self.port.Q_flow == -self.Q_flow]


class TemperatureSensor(Model):
    """T = port.T, without heat flow."""

    port = HeatPort()
    T = Var(unit="K", nominal=300.0, doc="temperature")

    def equations(self) -> Any:
        return [self.T == self.port.T, self.port.Q_flow == 0]


class HeatingResistor(Resistor):
    """A resistor that heats its port and depends on its temperature: `Resistor(useHeatPort=True)`.

    Parameters
    ----------
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    def __init__(self, **changes: Any):
        super().__init__(useHeatPort=True, **changes)


class ThermalResistor(Model):
    """dT = R Q_flow from port_a to port_b, dT = port_a.T - port_b.T."""

    port_a = HeatPort()
    port_b = HeatPort()
    R = Par(1.0, unit="K/W", doc="resistance")
    Q_flow = Var(unit="W", doc="heat flow from port_a to port_b")
    dT = Var(unit="K", doc="port_a.T - port_b.T")

    def equations(self) -> Any:
        return [
            self.dT == self.port_a.T - self.port_b.T,
            self.dT == self.R * self.Q_flow,
            self.port_a.Q_flow == self.Q_flow,
            self.port_b.Q_flow == -self.Q_flow,
        ]


class Convection(Model):
    """Heat from a solid to a fluid: Q_flow = Gc dT, dT = solid.T - fluid.T; Gc is a signal."""

    solid = HeatPort()
    fluid = HeatPort()
    Gc = Var(unit="W/K", doc="conductance: a signal")
    Q_flow = Var(unit="W", doc="heat flow from solid to fluid")
    dT = Var(unit="K", doc="solid.T - fluid.T")

    def equations(self) -> Any:
        return [
            self.dT == self.solid.T - self.fluid.T,
            self.Q_flow == self.Gc * self.dT,
            self.solid.Q_flow == self.Q_flow,
            self.fluid.Q_flow == -self.Q_flow,
        ]


class BodyRadiation(Model):
    """Radiation between two bodies: Q_flow = Gr sigma (port_a.T^4 - port_b.T^4)."""

    port_a = HeatPort()
    port_b = HeatPort()
    Gr = Par(1.0, unit="m2", doc="net radiation conductance")
    Q_flow = Var(unit="W", doc="heat flow from port_a to port_b")

    def equations(self) -> Any:
        radiation = self.port_a.T**4 - self.port_b.T**4
        return [
            self.Q_flow == STEFAN_BOLTZMANN * self.Gr * radiation,
            self.port_a.Q_flow == self.Q_flow,
            self.port_b.Q_flow == -self.Q_flow,
        ]


class PrescribedTemperature(Model):
    """port.T = T, a signal, whatever the heat flow."""

    port = HeatPort()
    T = Var(unit="K", nominal=300.0, doc="temperature: a signal")

    def equations(self) -> Any:
        return [self.port.T == self.T]


class FixedHeatFlow(Model):
    """A constant heat flow out of the port: port.Q_flow = -Q_flow (1 + alpha (port.T - T_ref))."""

    port = HeatPort()
    Q_flow = Par(1.0, unit="W", doc="heat flow into what is connected, at T_ref")
    T_ref = Par(293.15, unit="K", doc="reference temperature")
    alpha = Par(0.0, unit="1/K", doc="increase of the heat flow for a kelvin")

    def equations(self) -> Any:
        return [self.port.Q_flow == -self.Q_flow * (1 + self.alpha * (self.port.T - self.T_ref))]


class RelTemperatureSensor(Model):
    """T_rel = port_a.T - port_b.T, without heat flow."""

    port_a = HeatPort()
    port_b = HeatPort()
    T_rel = Var(unit="K", doc="port_a.T - port_b.T")

    def equations(self) -> Any:
        return [
            self.T_rel == self.port_a.T - self.port_b.T,
            self.port_a.Q_flow == 0,
            self.port_b.Q_flow == 0,
        ]


class HeatFlowSensor(Model):
    """The heat flow from port_a to port_b: port_a.T = port_b.T, Q_flow = port_a.Q_flow."""

    port_a = HeatPort()
    port_b = HeatPort()
    Q_flow = Var(unit="W", doc="heat flow from port_a to port_b")

    def equations(self) -> Any:
        return [
            self.port_a.T == self.port_b.T,
            self.port_a.Q_flow == self.Q_flow,
            self.port_b.Q_flow == -self.Q_flow,
        ]

"""Heat: capacities, conductances, sources. A port has a temperature T, and Q_flow into the component."""

from __future__ import annotations

from typing import Any

from modia_py import Connector, Flow, Model, Par, Var, der

from .electrical.basic import TwoPin


class HeatPort(Connector):
    """Where heat flows in and out."""

    T = Var(unit="K", nominal=300.0, doc="temperature")
    Q_flow = Flow(unit="W", doc="heat flow into the component")


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


class HeatingResistor(TwoPin):
    """A resistor that heats its port and depends on its temperature: R (1 + alpha (T - T_ref)) i = u."""

    heatPort = HeatPort()
    R = Par(1.0, unit="Ohm", doc="resistance at T_ref")
    T_ref = Par(300.15, unit="K", doc="reference temperature")
    alpha = Par(0.0, unit="1/K", doc="increase of the resistance for a kelvin")

    def equations(self) -> Any:
        resistance = self.R * (1 + self.alpha * (self.heatPort.T - self.T_ref))
        return [
            *super().equations(),
            resistance * self.i == self.u,
            self.heatPort.Q_flow == -self.u * self.i,
        ]

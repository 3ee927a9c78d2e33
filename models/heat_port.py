"""Where heat flows in and out of a component."""

from __future__ import annotations

from modia_py import Connector, Flow, Var


class HeatPort(Connector):
    """A thermal terminal. The heat flow is positive into the component."""

    T = Var(unit="K", nominal=300.0, doc="temperature")
    Q_flow = Flow(unit="W", doc="heat flow into the component")

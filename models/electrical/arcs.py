"""Switches that draw an arc when they open."""

from __future__ import annotations

from typing import Any

import numpy as np

from modia_py import Discrete, Par, Var, assign, pre, time, when, where

from ..discrete_equations import follow
from .basic import TwoPin


class SwitchWithArc(TwoPin):
    """A switch with an arc, which opens at tSwitch and goes out when the current has become small.

    closed:  v = Ron i
    arc:     v = min(Vmax, V0 + dVdt (time - tSwitch)), in the direction of i
    open:    i = Goff v, from |i| = Goff |v| on
    """

    Ron = Par(1e-5, unit="Ohm", doc="resistance if it is closed")
    Goff = Par(1e-5, unit="S", doc="conductance if it is open")
    V0 = Par(30.0, unit="V", doc="voltage of the arc when it begins")
    dVdt = Par(10e3, unit="V/s", doc="how fast the voltage of the arc grows")
    Vmax = Par(60.0, unit="V", doc="largest voltage of the arc")
    control = Var(doc="true above 1/2: a signal")
    quenched = Discrete(True, doc="whether the arc is out")
    tSwitch = Discrete(-1e30, doc="when it opened the last time")

    def arc(self, off: Any) -> Any:
        """The characteristic, from the condition that it is open."""
        burns = off & ~self.quenched
        growing = self.V0 + self.dVdt * (time - self.tSwitch)
        voltage = where(self.i > 0, 1.0, -1.0) * np.minimum(self.Vmax, growing)
        is_small = where(burns, np.abs(self.i) - self.Goff * np.abs(self.v), 1.0) <= 0
        return [
            where(burns, self.v, where(off, self.i, self.v))
            == where(burns, voltage, where(off, self.Goff * self.v, self.Ron * self.i)),
            when(off, assign(self.tSwitch, time)),
            follow(self.quenched, off & (is_small | pre(self.quenched))),
        ]


class CloserWithArc(SwitchWithArc):
    """A switch with an arc that is closed while `control` is true."""

    def equations(self) -> Any:
        return [*super().equations(), *self.arc(self.control <= 0.5)]


class OpenerWithArc(SwitchWithArc):
    """A switch with an arc that is open while `control` is true."""

    def equations(self) -> Any:
        return [*super().equations(), *self.arc(self.control > 0.5)]

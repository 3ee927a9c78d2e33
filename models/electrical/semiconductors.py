"""Diodes with exponential characteristics, continued linearly beyond Maxexp. They make no events."""

from __future__ import annotations

from typing import Any

import numpy as np

from modia_py import Par

from .basic import TwoPin


class Diode(TwoPin):
    """i = Ids (exp(u/Vt) - 1) + u/R."""

    Ids = Par(1e-6, unit="A", doc="saturation current")
    Vt = Par(0.04, nonzero=True, unit="V", doc="temperature voltage")
    Maxexp = Par(15.0, doc="largest exponent")
    R = Par(1e8, nonzero=True, unit="Ohm", doc="resistance in parallel")

    def equations(self) -> Any:
        forward = self.Ids * (exponential(self.u / self.Vt, self.Maxexp) - 1)
        return [*super().equations(), self.i == forward + self.u / self.R]


class ZDiode(TwoPin):
    """i = Ids (exp(u/Vt) - 1) - Ibv exp(-(u + Bv)/(Nbv Vt)) + u/R: it breaks through at -Bv."""

    Ids = Par(1e-6, unit="A", doc="saturation current")
    Vt = Par(0.04, nonzero=True, unit="V", doc="temperature voltage")
    Maxexp = Par(30.0, doc="largest exponent")
    R = Par(1e8, nonzero=True, unit="Ohm", doc="resistance in parallel")
    Bv = Par(5.1, unit="V", doc="voltage of the breakthrough")
    Ibv = Par(0.7, unit="A", doc="current at the breakthrough")
    Nbv = Par(0.74, nonzero=True, doc="how soft the breakthrough is")

    def equations(self) -> Any:
        forward = self.Ids * (exponential(self.u / self.Vt, self.Maxexp) - 1)
        backward = self.Ibv * exponential(-(self.u + self.Bv) / (self.Nbv * self.Vt), self.Maxexp)
        return [*super().equations(), self.i == forward - backward + self.u / self.R]


def exponential(x: Any, largest: Any) -> Any:
    """The exponential function, continued by its tangent beyond the largest exponent."""
    within = np.minimum(x, largest)
    return np.exp(within) * (1 + x - within)

"""From turning to moving along a line."""

from __future__ import annotations

from typing import Any

from modia_py import Model, Par

from ..translational.components import Flange as Point
from .components import Flange


class IdealRollingWheel(Model):
    """A wheel without slip: flangeT.s = radius flangeR.phi, 0 = flangeR.tau + radius flangeT.f."""

    flangeR = Flange()
    flangeT = Point()
    radius = Par(0.3, nonzero=True, unit="m", doc="radius of the wheel")

    def equations(self) -> Any:
        return [
            self.flangeT.s == self.radius * self.flangeR.phi,
            self.flangeR.tau + self.radius * self.flangeT.f == 0,
        ]


class IdealGearR2T(Model):
    """A pinion and a rack: flangeR.phi = ratio flangeT.s, 0 = ratio flangeR.tau + flangeT.f."""

    flangeR = Flange()
    flangeT = Point()
    ratio = Par(1.0, nonzero=True, unit="rad/m", doc="angle of the pinion for a metre of the rack")

    def equations(self) -> Any:
        return [
            self.flangeR.phi == self.ratio * self.flangeT.s,
            self.ratio * self.flangeR.tau + self.flangeT.f == 0,
        ]

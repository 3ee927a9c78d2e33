"""Bipolar transistors by the equations of Ebers and Moll, with capacitances of their layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from modia_py import Model, Par, Var, der

from .basic import Pin


class Bipolar(Model):
    """What bipolar transistors have in common: collector C, base B and emitter E, substrate on ground."""

    C = Pin()
    B = Pin()
    E = Pin()
    Bf = Par(50.0, nonzero=True, doc="forward gain")
    Br = Par(0.1, nonzero=True, doc="reverse gain")
    Is = Par(1e-16, unit="A", doc="saturation current")
    Vak = Par(0.02, unit="1/V", doc="early voltage, inverse")
    Tauf = Par(0.12e-9, unit="s", doc="forward transit time")
    Taur = Par(5e-9, unit="s", doc="reverse transit time")
    Ccs = Par(1e-12, unit="F", doc="capacitance from collector to substrate")
    Cje = Par(0.4e-12, unit="F", doc="capacitance of base and emitter without voltage")
    Cjc = Par(0.5e-12, unit="F", doc="capacitance of base and collector without voltage")
    Phie = Par(0.8, nonzero=True, unit="V", doc="diffusion voltage of base and emitter")
    Me = Par(0.4, doc="gradation exponent of base and emitter")
    Phic = Par(0.8, nonzero=True, unit="V", doc="diffusion voltage of base and collector")
    Mc = Par(0.333, doc="gradation exponent of base and collector")
    Gbc = Par(1e-15, unit="S", doc="conductance from base to collector")
    Gbe = Par(1e-15, unit="S", doc="conductance from base to emitter")
    EMin = Par(-100.0, doc="smallest exponent: below it exponentials go on as their tangents")
    EMax = Par(40.0, doc="largest exponent")
    Vt = Par(0.02585, nonzero=True, unit="V", doc="temperature voltage")
    vbc = Var(unit="V", doc="voltage from base to collector")
    vbe = Var(unit="V", doc="voltage from base to emitter")

    POLARITY = 1.0
    """Of voltages at which it conducts."""

    def equations(self) -> Any:
        sign = self.POLARITY
        # As of an NPN transistor: voltages vc, ve; currents ic, ib into collector and base.
        vc, ve = sign * self.vbc, sign * self.vbe
        exp_c, exp_e = self._exponential(vc), self._exponential(ve)
        through_c = self.Is * (exp_c - 1) + vc * self.Gbc
        through_e = self.Is * (exp_e - 1) + ve * self.Gbe
        cbc = self.Taur * self.Is / self.Vt * exp_c + self.Cjc * depletion(vc / self.Phic, self.Mc)
        cbe = self.Tauf * self.Is / self.Vt * exp_e + self.Cje * depletion(ve / self.Phie, self.Me)
        into_c = (through_e - through_c) * (1 - vc * self.Vak) - through_c / self.Br
        into_b = through_e / self.Bf + through_c / self.Br
        return [
            self.vbc == self.B.v - self.C.v,
            self.vbe == self.B.v - self.E.v,
            self.C.i == sign * into_c - cbc * der(self.vbc) + self.Ccs * der(self.C.v),
            self.B.i == sign * into_b + cbc * der(self.vbc) + cbe * der(self.vbe),
            self.E.i == -self.B.i - self.C.i + self.Ccs * der(self.C.v),
        ]

    def _exponential(self, voltage: Any) -> Any:
        x = voltage / self.Vt
        within = np.clip(x, self.EMin, self.EMax)
        return np.exp(within) * (1 + x - within)


class NPN(Bipolar):
    """A transistor that conducts with a positive base:

        C.i = (ibe - ibc) (1 - Vak vbc) - ibc/Br - cbc der(vbc) + Ccs der(C.v)
        B.i = ibe/Bf + ibc/Br + cbc der(vbc) + cbe der(vbe)

    with ibc = Is (exp(vbc/Vt) - 1) + Gbc vbc, cbc = Taur Is/Vt exp(vbc/Vt) + Cjc (1 - vbc/Phic)^-Mc (for
    vbc > 0: 1 + Mc vbc/Phic), and the same for base and emitter.
    """


class PNP(Bipolar):
    """A transistor that conducts with a negative base: `NPN` with all voltages and currents reversed."""

    POLARITY = -1.0


def depletion(x: Any, exponent: Any) -> Any:
    """(1 - x)^-exponent, continued by its tangent for x > 0."""
    within = np.minimum(x, 0.0)
    return (1 - within) ** -exponent + exponent * (x - within)

"""Diodes, transistors and a thyristor by their characteristic curves. Only the thyristor makes events.

Exponentials are continued by their tangents beyond an exponent of Maxexp. With `useTemperatureDependency`
parameters depend on the temperature of `heatPort`, which gets the lost power.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from modia_py import Model, Par, Var, der, where

from ..heat_port import HeatPort
from .basic import Pin, TwoPin

BOLTZMANN_BY_CHARGE = 1.380649e-23 / 1.602176634e-19
"""V/K, exact since the SI of 2019."""


class Diode(TwoPin):
    """i = Ids (exp(u/Vt) - 1) + u/R.

    With the temperature T of the heat port, i = Ids (exp(u/(N k T/q)) - 1) f(T) + u/R, where
    f(T) = (T/TNOM)^(XTI/N) exp((T/TNOM - 1) EG/(N k T/q)).

    Parameters
    ----------
    useTemperatureDependency : bool
        Whether the port `heatPort` is there, and its temperature counts.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    Ids = Par(1e-6, unit="A", doc="saturation current")
    Vt = Par(0.04, nonzero=True, unit="V", doc="temperature voltage; of no account with a heat port")
    Maxexp = Par(15.0, doc="largest exponent")
    R = Par(1e8, nonzero=True, unit="Ohm", doc="resistance in parallel")

    def __init__(self, *values: Any, useTemperatureDependency: bool = False, **changes: Any):
        if useTemperatureDependency:
            self.heatPort = HeatPort()
            self.EG = Par(1.11, unit="V", doc="activation energy of a charge")
            self.N = Par(1.0, nonzero=True, doc="emission coefficient")
            self.TNOM = Par(300.15, nonzero=True, unit="K", doc="temperature at which Ids was measured")
            self.XTI = Par(3.0, doc="temperature exponent of the saturation current")
        self.useTemperatureDependency = useTemperatureDependency
        super().__init__(*values, **changes)

    def equations(self) -> Any:
        if not self.useTemperatureDependency:
            forward = self.Ids * (exponential(self.u / self.Vt, self.Maxexp) - 1)
            return [*super().equations(), self.i == forward + self.u / self.R]
        T = self.heatPort.T
        relative, voltage = T / self.TNOM, self.N * BOLTZMANN_BY_CHARGE * T
        factor = relative ** (self.XTI / self.N) * np.exp((relative - 1) * self.EG / voltage)
        forward = self.Ids * (exponential(self.u / voltage, self.Maxexp) - 1)
        return [
            *super().equations(),
            self.i == forward * factor + self.u / self.R,
            self.heatPort.Q_flow == -self.u * self.i,
        ]


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


class Thyristor(Model):
    """A thyristor that fires after some gate current, and goes out below the holding current IH.

    A control voltage says how far it conducts: der(vControl) = (vContot - vControl)/T, with T = 1.87 TON
    upwards and 0.638 TOFF downwards. vContot is 5 V while Anode.i > IH or vAK > VDRM (events), and more
    with a gate current iGK near IGT: 10 vAK from 0.95 IGT + 1 mA on. The resistance from anode to cathode
    is Roff = VDRM^2/(VTM IH) below vControl = 1.5 V, Ron = (VTM - 0.7)/ITM above 5 V, a smooth curve of
    its logarithm in between. Below -VRRM it breaks through.
    """

    Anode = Pin()
    Cathode = Pin()
    Gate = Pin()
    VDRM = Par(100.0, unit="V", doc="forward voltage at which it breaks through")
    VRRM = Par(100.0, unit="V", doc="backward voltage at which it breaks through")
    IDRM = Par(0.1, unit="A", doc="saturation current, of no account here")
    VTM = Par(1.7, nonzero=True, unit="V", doc="voltage if it conducts")
    IH = Par(6e-3, nonzero=True, unit="A", doc="holding current")
    ITM = Par(25.0, nonzero=True, unit="A", doc="current if it conducts")
    VGT = Par(0.7, nonzero=True, unit="V", doc="gate voltage that triggers")
    IGT = Par(5e-3, nonzero=True, unit="A", doc="gate current that triggers")
    TON = Par(1e-6, nonzero=True, unit="s", doc="time to switch on")
    TOFF = Par(15e-6, nonzero=True, unit="s", doc="time to switch off")
    Vt = Par(0.04, nonzero=True, unit="V", doc="temperature voltage")
    Nbv = Par(0.74, nonzero=True, doc="how soft the breakthrough is")
    iGK = Var(unit="A", doc="gate current")
    vGK = Var(unit="V", doc="voltage from gate to cathode")
    vAK = Var(unit="V", doc="voltage from anode to cathode")
    vControl = Var(unit="V", doc="control voltage: how far it conducts")
    vContot = Var(unit="V", doc="where the control voltage goes")

    V_ON, V_OFF = 5.0, 1.5
    """Control voltages at which it conducts and blocks."""
    V_KNEE = 0.65
    """Gate voltage beyond which the gate's resistance is another one."""

    def equations(self) -> Any:
        knee, on, off = self.V_KNEE, self.V_ON, self.V_OFF
        holds = where((self.Anode.i > self.IH) | (self.vAK > self.VDRM), on, 0.0)
        beyond = np.clip(self.iGK - 0.95 * self.IGT, 0.0, 1e-3)
        steep = knee**2 / self.VGT + self.iGK * (self.VGT - knee) / self.IGT
        away = self.vContot - self.vControl
        return [
            self.Anode.i + self.Gate.i + self.Cathode.i == 0,
            self.vGK == self.Gate.v - self.Cathode.v,
            self.vAK == self.Anode.v - self.Cathode.v,
            self.iGK == self.Gate.i,
            self.vGK == np.where(self.vGK < knee, self.VGT / self.IGT * self.iGK, steep),
            self.vContot == holds + 1e4 * beyond * self.vAK,
            der(self.vControl) == away / np.where(away > 0, 1.87 * self.TON, 0.638 * self.TOFF),
            self.Anode.i == self._current(np.clip(self.vControl, off, on)),
        ]

    def _current(self, control: Any) -> Any:
        on, off = (self.VTM - 0.7) / self.ITM, self.VDRM**2 / self.VTM / self.IH
        part = (2 * control - self.V_ON - self.V_OFF) / (2 * (self.V_ON - self.V_OFF))
        resistance = np.sqrt(on * off) * (on / off) ** ((3 * part - 4 * part**3) / 2)
        exponent = np.clip(-(self.vAK + self.VRRM) / (self.Nbv * self.Vt), 0.0, 300.0)
        broken = -self.VRRM / off * np.exp(exponent)
        return np.where(self.vAK < -self.VRRM, broken, self.vAK / resistance)


class FieldEffectTransistor(Model):
    """What MOS transistors have in common: drain D, gate G, source S and bulk B.

    Parameters
    ----------
    useTemperatureDependency : bool
        Whether the port `heatPort` is there, and its temperature counts.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    D = Pin()
    G = Pin()
    S = Pin()
    B = Pin()
    W = Par(20e-6, unit="m", doc="width")
    L = Par(6e-6, unit="m", doc="length")
    Beta = Par(0.041e-3, unit="A/V2", doc="transconductance")
    Vt = Par(0.8, unit="V", doc="threshold voltage")
    K2 = Par(1.144, doc="influence of the bulk on the threshold")
    K5 = Par(0.7311, doc="reduction of the pinch-off region")
    dW = Par(-2.5e-6, unit="m", doc="narrowing of the channel")
    dL = Par(-1.5e-6, unit="m", doc="shortening of the channel")
    RDS = Par(1e7, nonzero=True, unit="Ohm", doc="resistance from drain to source")

    POLARITY = 1.0
    """Of voltages at which it conducts."""
    KVT, KK2 = -6.96e-3, 6e-4
    """By how much Vt and K2 change with a kelvin."""

    def __init__(self, *values: Any, useTemperatureDependency: bool = False, **changes: Any):
        if useTemperatureDependency:
            self.heatPort = HeatPort()
            self.Tnom = Par(300.15, nonzero=True, unit="K", doc="temperature of the measurement")
            self.kvt = Par(self.KVT, unit="1/K", doc="change of Vt")
            self.kk2 = Par(self.KK2, unit="1/K", doc="change of K2")
        self.useTemperatureDependency = useTemperatureDependency
        super().__init__(*values, **changes)

    def equations(self) -> Any:
        sign, drain, source = self.POLARITY, self.D.v, self.S.v
        beta, threshold, bulk = self.Beta, self.Vt, self.K2
        if self.useTemperatureDependency:
            warmer = self.heatPort.T - self.Tnom
            beta = beta * (self.heatPort.T / self.Tnom) ** -1.5
            threshold, bulk = threshold * (1 + warmer * self.kvt), bulk * (1 + warmer * self.kk2)
        # All voltages as for a channel of electrons, from the end that works as the source.
        lower = np.minimum(sign * drain, sign * source)
        voltage = np.abs(drain - source)
        of_bulk = np.minimum(sign * self.B.v - lower, 0.0)
        drive = np.maximum((sign * (self.G.v - threshold) - lower + bulk * of_bulk) * self.K5, 0.0)
        linear = np.minimum(voltage, drive)
        channel = beta * (self.W + self.dW) / (self.L + self.dL) * linear * (drive - linear / 2)
        current = np.where(drain < source, -1.0, 1.0) * channel + (drain - source) / self.RDS
        balance = (
            [self.heatPort.Q_flow == -self.D.i * (drain - source)] if self.useTemperatureDependency else []
        )
        return [self.G.i == 0, self.B.i == 0, self.D.i == current, self.S.i == -self.D.i, *balance]


class NMOS(FieldEffectTransistor):
    """An n-channel transistor: from drain to source, for D.v >= S.v,

        D.i = v uds (ugst - uds/2) + uds/RDS,  at most v ugst^2/2 + uds/RDS;  v = Beta (W + dW)/(L + dL)
        ugst = K5 (ugs - Vt + K2 min(ubs, 0)), zero if negative

    with exchanged ends for D.v < S.v; no currents into gate and bulk. With a temperature T: Beta
    (T/Tnom)^-1.5, Vt (1 + kvt (T - Tnom)), K2 (1 + kk2 (T - Tnom)).
    """


class PMOS(FieldEffectTransistor):
    """A p-channel transistor: `NMOS` with all voltages and currents the other way round."""

    Beta = Par(0.0105e-3, unit="A/V2", doc="transconductance")
    Vt = Par(-1.0, unit="V", doc="threshold voltage")
    K2 = Par(0.41, doc="influence of the bulk on the threshold")
    K5 = Par(0.839, doc="reduction of the pinch-off region")
    dL = Par(-2.1e-6, unit="m", doc="shortening of the channel")

    POLARITY = -1.0
    KVT, KK2 = -2.9e-3, 6.2e-4


def exponential(x: Any, largest: Any) -> Any:
    """The exponential function, continued by its tangent beyond the largest exponent."""
    within = np.minimum(x, largest)
    return np.exp(within) * (1 + x - within)

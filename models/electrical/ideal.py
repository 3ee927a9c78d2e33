"""Ideal diodes, thyristors, switches and amplifiers.

The characteristic of an ideal switch is a curve with two branches. Its parameter is the variable `s`: the
voltage where the switch is open, the current where it is closed.

    open:    u = s + Vknee,      i = Goff (s + Vknee)
    closed:  u = Ron s + Vknee,  i = s + Goff Vknee

With Ron = 0 or Goff = 0 a branch is exactly vertical or horizontal. Control signals are true above 1/2.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from modia_py import (
    Discrete,
    Model,
    ModelError,
    Par,
    Var,
    always,
    assign,
    connect,
    pre,
    where,
)

from ..discrete_equations import follow
from .basic import Capacitor, Pin, Resistor, TwoPin, TwoPort


class IdealSemiconductor(TwoPin):
    """What conducts in one direction: the curve above, with Vknee."""

    Ron = Par(1e-5, unit="Ohm", doc="resistance if it conducts")
    Goff = Par(1e-5, unit="S", doc="conductance if it blocks")
    Vknee = Par(0.0, unit="V", doc="voltage at which it begins to conduct")
    s = Var(doc="parameter of the curve: voltage if it blocks, current if it conducts")

    def curve(self, off: Any) -> Any:
        """The characteristic, from the condition that it blocks."""
        return [
            self.u == self.s * where(off, 1.0, self.Ron) + self.Vknee,
            self.i == self.s * where(off, self.Goff, 1.0) + self.Goff * self.Vknee,
        ]


class IdealDiode(IdealSemiconductor):
    """A diode: it blocks while s < 0."""

    def equations(self) -> Any:
        return [*super().equations(), *self.curve(self.s < 0)]


class IdealThyristor(IdealSemiconductor):
    """A diode that conducts only after it was fired: off = s < 0 or pre(off) and not fire."""

    fire = Var(doc="gate, true above 1/2: a signal")
    off = Discrete(True, doc="whether it blocks")

    def equations(self) -> Any:
        blocks = (self.s < 0) | (pre(self.off) & (self.fire <= 0.5))
        return [*super().equations(), *self.curve(self.off), follow(self.off, blocks)]


class IdealGTOThyristor(IdealSemiconductor):
    """A thyristor that can be switched off: it blocks while s < 0 or not fire."""

    fire = Var(doc="gate, true above 1/2: a signal")

    def equations(self) -> Any:
        return [*super().equations(), *self.curve((self.s < 0) | (self.fire <= 0.5))]


class IdealTriac(Model):
    """Two thyristors in opposite directions with one gate; beside them Rdis and Cdis in series.

    Parameters
    ----------
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    n = Pin()
    p = Pin()
    Ron = Par(1e-5, unit="Ohm", doc="resistance if it conducts")
    Goff = Par(1e-5, unit="S", doc="conductance if it blocks")
    Vknee = Par(0.8, unit="V", doc="voltage at which it begins to conduct")
    Rdis = Par(100.0, unit="Ohm", doc="resistance against disturbances")
    Cdis = Par(0.005, nonzero=True, unit="F", doc="capacitance against disturbances")
    fire1 = Var(doc="gate, true above 1/2: a signal")

    def __init__(self, **changes: Any):
        values = {"Ron": self.Ron, "Goff": self.Goff, "Vknee": self.Vknee}
        self.idealThyristor = IdealThyristor(**values)
        self.idealThyristor1 = IdealThyristor(**values)
        self.resistor = Resistor(R=self.Rdis)
        self.capacitor = Capacitor(C=self.Cdis)
        super().__init__(**changes)

    def equations(self) -> Any:
        forward, backward = self.idealThyristor, self.idealThyristor1
        return [
            connect(self.n, forward.p, backward.n, self.resistor.p),
            connect(self.p, forward.n, backward.p, self.capacitor.n),
            connect(self.resistor.n, self.capacitor.p),
            forward.fire == self.fire1,
            backward.fire == self.fire1,
        ]


class IdealSwitch(TwoPin):
    """What is open or closed, whatever the current: the curve above, without Vknee."""

    Ron = Par(1e-5, unit="Ohm", doc="resistance if it is closed")
    Goff = Par(1e-5, unit="S", doc="conductance if it is open")
    control = Var(doc="true above 1/2: a signal")
    s = Var(doc="parameter of the curve: voltage if it is open, current if it is closed")

    def curve(self, off: Any) -> Any:
        """The characteristic, from the condition that it is open."""
        return [
            self.u == self.s * where(off, 1.0, self.Ron),
            self.i == self.s * where(off, self.Goff, 1.0),
        ]


class IdealClosingSwitch(IdealSwitch):
    """A switch that is closed while `control` is true."""

    def equations(self) -> Any:
        return [*super().equations(), *self.curve(self.control <= 0.5)]


class IdealOpeningSwitch(IdealSwitch):
    """A switch that is open while `control` is true."""

    def equations(self) -> Any:
        return [*super().equations(), *self.curve(self.control > 0.5)]


class IdealCommutingSwitch(Model):
    """A switch from p to n2 while `control` is true, else to n1: each way is one of the curves above."""

    p = Pin()
    n1 = Pin()
    n2 = Pin()
    Ron = Par(1e-5, unit="Ohm", doc="resistance if it is closed")
    Goff = Par(1e-5, unit="S", doc="conductance if it is open")
    control = Var(doc="true above 1/2: a signal")
    s1 = Var(doc="parameter of the curve from p to n1")
    s2 = Var(doc="parameter of the curve from p to n2")

    def equations(self) -> Any:
        second = self.control > 0.5
        return [
            self.p.i + self.n1.i + self.n2.i == 0,
            self.p.v - self.n1.v == self.s1 * where(second, 1.0, self.Ron),
            self.n1.i == -self.s1 * where(second, self.Goff, 1.0),
            self.p.v - self.n2.v == self.s2 * where(second, self.Ron, 1.0),
            self.n2.i == -self.s2 * where(second, 1.0, self.Goff),
        ]


class IdealTransformer(TwoPort):
    """v1 = n v2, i2 = -n i1."""

    n = Par(1.0, doc="turns of the first coil for one of the second")

    def equations(self) -> Any:
        return [*super().equations(), self.v1 == self.n * self.v2, self.i2 == -self.n * self.i1]


class IdealOpAmp(TwoPort):
    """An amplifier with infinite gain: v1 = 0, i1 = 0; the output is whatever this takes."""

    def equations(self) -> Any:
        return [*super().equations(), self.v1 == 0, self.i1 == 0]


class IdealOpAmp3Pin(Model):
    """An amplifier with infinite gain and grounded output: in_p.v = in_n.v, no currents into the inputs."""

    in_p = Pin()
    in_n = Pin()
    out = Pin()

    def equations(self) -> Any:
        return [self.in_p.v == self.in_n.v, self.in_p.i == 0, self.in_n.i == 0]


class Region(IntEnum):
    """Where the output of an amplifier is: at a limit, or in between."""

    LOWER = -1
    LINEAR = 0
    UPPER = 1


class IdealizedOpAmpLimited(Model):
    """An amplifier with limits: out.v = V0 (in_p.v - in_n.v) between Vns and Vps; a limit is an event.

    With positive feedback (Schmitt trigger, multivibrator) there may be three outputs that fit: it stays in
    the `region` it is in (-1: at Vns, 0: in between, 1: at Vps) as long as that fits, and then flips over.

    Parameters
    ----------
    homotopyType : str
        Where it is looked for at the start first: "NoHomotopy" or "Linear" in between, "LowerLimit",
        "UpperLimit".
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    in_p = Pin()
    in_n = Pin()
    out = Pin()
    V0 = Par(15000.0, doc="gain")
    Vps = Par(15.0, unit="V", doc="upper limit")
    Vns = Par(-15.0, unit="V", doc="lower limit")
    v_in = Var(unit="V", doc="voltage from in_p to in_n")
    v_out = Var(unit="V", doc="voltage of the output to ground")
    fresh = Discrete(False, doc="whether the region has just changed, within an event")

    STARTS = {"NoHomotopy": Region.LINEAR, "Linear": Region.LINEAR} | {
        "LowerLimit": Region.LOWER, "UpperLimit": Region.UPPER
    }  # fmt: skip

    def __init__(self, homotopyType: str = "NoHomotopy", **changes: Any):
        if homotopyType not in self.STARTS:
            raise ModelError(
                f"IdealizedOpAmpLimited has no homotopyType {homotopyType!r}: it is one of "
                f"{', '.join(self.STARTS)}."
            )
        self.region = Discrete(int(self.STARTS[homotopyType]), doc="-1 at Vns, 0 in between, 1 at Vps")
        super().__init__(**changes)

    def equations(self) -> Any:
        wanted, was = self.V0 * self.v_in, pre(self.region)
        high, low = wanted > self.Vps, wanted < self.Vns
        # With positive feedback it cannot stay between the limits: where the limit that was reached in the
        # pass before does not fit, the other one is what remains.
        at_once = pre(self.fresh)
        down = where(low | at_once, int(Region.LOWER), int(Region.LINEAR))
        up = where(high | at_once, int(Region.UPPER), int(Region.LINEAR))
        inside = where(high, int(Region.UPPER), where(low, int(Region.LOWER), int(Region.LINEAR)))
        of_upper = where(high, int(Region.UPPER), down)
        of_lower = where(low, int(Region.LOWER), up)
        following = where(was == Region.UPPER, of_upper, where(was == Region.LOWER, of_lower, inside))
        return [
            self.v_in == self.in_p.v - self.in_n.v,
            self.v_out == self.out.v,
            self.in_p.i == 0,
            self.in_n.i == 0,
            self.v_out
            == where(
                self.region == Region.UPPER, self.Vps, where(self.region == Region.LOWER, self.Vns, wanted)
            ),
            always(
                assign(self.region, following),
                assign(self.fresh, ~(following == was)),
            ),
        ]

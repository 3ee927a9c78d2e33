"""Further examples of Modelica's library, built from their netlists, against its published results."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from modia_py import Model, connect, der
from modia_py.models import electrical

from .modelica_netlist import netlist_model
from .modelica_reference import DATA, meets_published_results

PMOS = {"W": 6.5e-6, "L": 3.1e-6, "Beta": 1.05e-5, "K5": 0.8385}
NMOS = {"W": 6.5e-6, "L": 3.1e-6}


class Transistor(Model):
    """A transistor with resistances and a capacitor at its base."""

    c, b, e = electrical.Pin(), electrical.Pin(), electrical.Pin()
    rtb = electrical.Resistor(R=0.05)
    rtc = electrical.Resistor(R=0.1)
    ct = electrical.Capacitor(C=1e-10)
    Tr = electrical.NPN()
    ground = electrical.Ground()

    def equations(self):
        return [
            connect(self.b, self.rtb.p),
            connect(self.rtb.n, self.Tr.B, self.ct.p),
            connect(self.ct.n, self.ground.p),
            connect(self.Tr.C, self.rtc.p),
            connect(self.rtc.n, self.c),
            connect(self.Tr.E, self.e),
        ]


class Nand(Model):
    """A gate of four transistors."""

    x1, x2, Vdd, y = electrical.Pin(), electrical.Pin(), electrical.Pin(), electrical.Pin()
    TP1, TP2 = electrical.PMOS(**PMOS), electrical.PMOS(**PMOS)
    TN1, TN2 = electrical.NMOS(**NMOS), electrical.NMOS(**NMOS)
    C4, C7 = electrical.Capacitor(C=0.4e-13), electrical.Capacitor(C=0.4e-13)
    ground = electrical.Ground()

    def equations(self):
        grounded = self.TN2.B, self.TN2.S, self.TN1.B, self.TP1.B, self.TP2.B, self.C4.n, self.C7.n
        return [
            connect(self.ground.p, *grounded),
            connect(self.TN1.S, self.TN2.D, self.C7.p),
            connect(self.TP1.S, self.TP2.S, self.TN1.D, self.C4.p, self.y),
            connect(self.x2, self.TP1.G, self.TN1.G),
            connect(self.x1, self.TP2.G, self.TN2.G),
            connect(self.Vdd, self.TP1.D, self.TP2.D),
        ]


class Differentiator(Model):
    """An amplifier with a capacitor at its input: p2.v = -R C der(p1.v)."""

    p1, n1, p2, n2 = electrical.Pin(), electrical.Pin(), electrical.Pin(), electrical.Pin()
    opAmp = electrical.IdealizedOpAmpLimited()
    r = electrical.Resistor(R=1000.0)

    def __init__(self, k: float = 1.0, f: float = 1.0, v: float = 0.0):
        super().__init__()
        self.c = electrical.Capacitor(C=k / (2 * np.pi * f * 1000.0), v=v)

    def equations(self):
        return [
            connect(self.n1, self.n2, self.opAmp.in_p),
            connect(self.c.n, self.opAmp.in_n, self.r.n),
            connect(self.opAmp.out, self.p2, self.r.p),
            connect(self.c.p, self.p1),
        ]


TRAPEZOID = type("vIn", (), {"rising": 0.02, "width": 0.03})
"""What values of a source refer to that is being defined."""
SUPPLY = {"Vps": 15.0, "Vns": -15.0}
OUTPUT_AT_START = {"initType": None, "y_start": None}
FREE = {**OUTPUT_AT_START, "y": 0.0}


def at_rest(*names: str) -> Any:
    return lambda model: [der(getattr(model, name).y) == 0 for name in names]


EXAMPLES: dict[str, dict[str, Any]] = {
    "RealNetwork1": {},
    "SchmittTrigger": {"known": {"vIn": TRAPEZOID, **SUPPLY}},
    "LossyGearDemo1": {},
    "Filter": {
        "known": {name: name for name in ("CriticalDamping", "Bessel", "Butterworth", "ChebyshevI")},
    },
    "FilterWithDifferentiation": {},
    "InverseModel": {
        "values": {"firstOrder1": OUTPUT_AT_START, "firstOrder2": OUTPUT_AT_START},
        "start": at_rest("firstOrder1", "firstOrder2"),
    },
    "SlewRateLimiter": {
        "known": {"positionStep": type("positionStep", (), {"offset": 0.0})},
        "values": {"limit_v": FREE, "limit_a": FREE, "positionSmoothed": FREE},
    },
    "Multivibrator": {"known": SUPPLY, "values": {"opAmp": {"strict": None}}},
    "Differentiator": {"known": {"vIn": TRAPEZOID}, "utilities": {"Der": Differentiator}},
    "CauerLowPassOPV": {},
    "ParallelResonance": {},
    "ShowSaturatingInductor": {},
    "ShowVariableResistor": {},
    "SwitchWithArc": {"values": {"switch2": {"off": None}}},
    "DifferenceAmplifier": {"utilities": {"Transistor": Transistor}},
    "NandGate": {"utilities": {"Nand": Nand}},
    "HeatingRectifier": {"values": {"HeatingDiode1": {"useHeatPort": None}}},
    "HeatingMOSInverter": {},
    "ThyristorBehaviourTest": {},
    "FirstGrounded": {},
    "RollingWheel": {},
    "TranslationalBrake": {},
    "TranslationalDamper": {},
    "Oscillator": {},
    "PreLoad": {},
    "SignConvention": {"without": ("fixed",)},
    "TwoMasses": {"without": ("Tsensor1", "Tsensor2")},
}
WITHOUT_EVENTS = ("NandGate", "HeatingMOSInverter", "ThyristorBehaviourTest")
"""Their published runs stopped at kinks of smooth curves, where ours have no events."""
QUICK = ("RealNetwork1", "SchmittTrigger", "LossyGearDemo1")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in EXAMPLES]
)
def test_the_published_results_are_met(name):
    reference = json.loads((DATA / f"{name}.json").read_text())
    model = netlist_model(reference["netlist"], **EXAMPLES[name])
    names = {signal: from_zero(signal) for signal in reference["signals"]}
    meets_published_results(name, model, names, events=name not in WITHOUT_EVENTS)


def from_zero(name):
    """Elements are counted from one there."""
    return re.sub(r"\[(\d+)\]", lambda match: f"[{int(match[1]) - 1}]", name)

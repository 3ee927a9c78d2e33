"""Five circuits with strong nonlinearities, as a user writes them.

Diode: limited exponent, continued by its tangent. Transistors: Ebers and Moll (1954) in transport form;
MOSFETs: Shichman and Hodges (1968), "level 1".
"""

from __future__ import annotations

import numpy as np

from modia_py import Model, Par, connect, der, time
from modia_py.models.electrical import Capacitor, ConstantVoltage, Ground, Inductor, Pin, Resistor, TwoPin


def limited_exponential(x, limit):
    """exp, continued by its tangent: Newton's method cannot overflow."""
    return np.exp(np.minimum(x, limit)) * (1 + np.maximum(x - limit, 0.0))


class SineVoltage(TwoPin):
    offset = Par(0.0, unit="V")
    V = Par(1.0, unit="V", doc="amplitude")
    f = Par(50.0, unit="Hz")
    phase = Par(0.0, unit="rad")

    def equations(self):
        wave = self.V * np.sin(2 * np.pi * self.f * time + self.phase)
        return [*super().equations(), self.u == self.offset + wave]


class Diode(TwoPin):
    saturation = Par(1e-12, unit="A")
    thermal = Par(0.025, nonzero=True, unit="V")
    leakage = Par(1e8, nonzero=True, unit="Ohm")
    limit = Par(40.0)

    def equations(self):
        exponential = limited_exponential(self.u / self.thermal, self.limit)
        return [*super().equations(), self.i == self.saturation * (exponential - 1) + self.u / self.leakage]


class NPN(Model):
    """A bipolar transistor without charges."""

    saturation = Par(1e-14, unit="A")
    thermal = Par(0.02585, nonzero=True, unit="V")
    forward = Par(100.0, nonzero=True)
    reverse = Par(1.0, nonzero=True)
    c, b, e = Pin(), Pin(), Pin()

    def equations(self):
        forward, reverse = (
            self.saturation * (limited_exponential((self.b.v - pin.v) / self.thermal, 40.0) - 1)
            for pin in (self.e, self.c)
        )
        return [
            self.c.i == forward - reverse - reverse / self.reverse,
            self.b.i == forward / self.forward + reverse / self.reverse,
            self.c.i + self.b.i + self.e.i == 0,
        ]


class MOSFET(Model):
    """n-channel for sign = 1, p-channel for sign = -1; symmetric in drain and source."""

    k = Par(1e-4, unit="A/V2")
    threshold = Par(0.7, unit="V")
    modulation = Par(0.02, unit="1/V")
    sign = Par(1.0)
    d, g, s = Pin(), Pin(), Pin()

    def equations(self):
        vds = self.sign * (self.d.v - self.s.v)
        high = np.maximum(self.sign * (self.g.v - self.s.v), self.sign * (self.g.v - self.d.v))
        v, overdrive = np.abs(vds), np.maximum(high - self.threshold, 0.0)
        channel = np.where(v < overdrive, (2 * overdrive - v) * v, overdrive**2) * (1 + self.modulation * v)
        return [
            self.d.i == self.sign * np.sign(vds) * self.k * channel,
            self.g.i == 0,
            self.s.i + self.d.i == 0,
        ]


class Bridge(Model):
    """A sine source of 12 V, 0.5 Ohm, four diodes, a capacitor and a load."""

    source = SineVoltage(V=12.0)
    r = Resistor(R=0.5)
    d = Diode.array(4)
    c = Capacitor(C=1e-3, u=0.0)
    load = Resistor(R=50.0)
    ground = Ground()

    def equations(self):
        return [
            connect(self.source.p, self.r.p),
            connect(self.r.n, self.d[0].p, self.d[1].n),
            connect(self.source.n, self.d[2].p, self.d[3].n),
            connect(self.d[0].n, self.d[2].n, self.c.p, self.load.p),
            connect(self.d[1].p, self.d[3].p, self.c.n, self.load.n, self.ground.p),
        ]


class Graetz(Model):
    """Three phases through leakage inductances to six diodes. The star point floats: the three currents
    sum to zero, so one of the inductors is no state."""

    source = SineVoltage.array(3, V=100.0, phase=[0.0, -2 * np.pi / 3, 2 * np.pi / 3])
    leakage = Inductor.array(3, L=1e-3)
    r = Resistor.array(3, R=0.2)
    upper = Diode.array(3)
    lower = Diode.array(3)
    c = Capacitor(C=1e-3, u=100.0)
    load = Resistor(R=20.0)
    ground = Ground()

    def __init__(self, **changes):
        super().__init__(leakage={"i": [0.0, 0.0, 0.0]}, **changes)

    def equations(self):
        first = self.source[0].n
        return [
            connect(first, self.source[1].n, self.source[2].n),
            connect(self.source.p, self.leakage.p),
            connect(self.leakage.n, self.r.p),
            [connect(self.r[k].n, self.upper[k].p, self.lower[k].n) for k in range(3)],
            connect(self.upper[0].n, self.upper[1].n, self.upper[2].n, self.c.p, self.load.p),
            connect(
                self.lower[0].p, self.lower[1].p, self.lower[2].p, self.c.n, self.load.n, self.ground.p
            ),
        ]


class SchmittTrigger(Model):
    """Two transistors with one emitter resistor. Without capacitance the root ends where it switches."""

    def __init__(self, capacitance=1e-9, **changes):
        super().__init__(**changes)
        self.supply = ConstantVoltage(V=10.0)
        self.input = SineVoltage(offset=2.5, V=2.5, f=1e3, phase=-np.pi / 2)
        self.rb = Resistor(R=1e3)
        self.rc1, self.rc2, self.re = Resistor(R=2.2e3), Resistor(R=1e3), Resistor(R=330.0)
        self.r1, self.r2 = Resistor(R=10e3), Resistor(R=10e3)
        self.q1, self.q2 = NPN(), NPN()
        self.ground = Ground()
        self.with_capacitors = capacitance > 0
        if self.with_capacitors:
            self.c1, self.c2 = Capacitor(C=capacitance), Capacitor(C=capacitance)

    def equations(self):
        first, second, earth = [self.rc1.n, self.q1.c, self.r1.p], [self.rc2.n, self.q2.c], [self.ground.p]
        if self.with_capacitors:
            first, second = [*first, self.c1.p], [*second, self.c2.p]
            earth += [self.c1.n, self.c2.n]
        return [
            connect(self.supply.p, self.rc1.p, self.rc2.p),
            connect(self.input.p, self.rb.p),
            connect(self.rb.n, self.q1.b),
            connect(*first),
            connect(self.r1.n, self.r2.p, self.q2.b),
            connect(*second),
            connect(self.q1.e, self.q2.e, self.re.p),
            connect(self.supply.n, self.input.n, self.r2.n, self.re.n, *earth),
        ]

    def initial_equations(self):
        # The capacitors start at rest: dc analysis.
        return [der(self.c1.u) == 0, der(self.c2.u) == 0] if self.with_capacitors else []


class RingStage(Model):
    """A transistor inverter with a capacitor at its output; the base potential is algebraic."""

    a, y, supply, earth = Pin(), Pin(), Pin(), Pin()
    rb, rc = Resistor(R=10e3), Resistor(R=1e3)
    q = NPN()
    c = Capacitor(C=1e-9)

    def equations(self):
        return [
            connect(self.a, self.rb.p),
            connect(self.rb.n, self.q.b),
            connect(self.supply, self.rc.p),
            connect(self.rc.n, self.q.c, self.c.p, self.y),
            connect(self.q.e, self.c.n, self.earth),
        ]


RING_START = (0.1, 4.8, 0.3, 4.5, 2.0)


class RingOscillator(Model):
    """Five inverters in a ring."""

    def __init__(self, **changes):
        super().__init__(**changes)
        self.stage = RingStage.array(5, **{"c.u": list(RING_START)})
        self.vcc = ConstantVoltage(V=5.0)
        self.ground = Ground()

    def equations(self):
        return [
            connect(self.stage[:-1].y, self.stage[1:].a),
            connect(self.stage[-1].y, self.stage[0].a),
            connect(self.vcc.p, self.stage.supply),
            connect(self.vcc.n, self.stage.earth, self.ground.p),
        ]


class Inverter(Model):
    """Two MOSFETs and the capacitance they drive."""

    a, y, supply, earth = Pin(), Pin(), Pin(), Pin()
    n = MOSFET(k=1e-4, threshold=0.7, sign=1.0)
    p = MOSFET(k=8e-5, threshold=0.8, sign=-1.0)
    c = Capacitor(C=1e-12)

    def equations(self):
        return [
            connect(self.a, self.n.g, self.p.g),
            connect(self.n.d, self.p.d, self.c.p, self.y),
            connect(self.supply, self.p.s),
            connect(self.earth, self.n.s, self.c.n),
        ]


CHAIN_START = (5.0, 0.0) * 4


class InverterChain(Model):
    """Eight CMOS inverters behind a sine wave."""

    def __init__(self, **changes):
        super().__init__(**changes)
        self.stage = Inverter.array(8, **{"c.u": list(CHAIN_START)})
        self.input = SineVoltage(offset=2.5, V=2.5, f=2e6, phase=-np.pi / 2)
        self.vdd = ConstantVoltage(V=5.0)
        self.ground = Ground()

    def equations(self):
        return [
            connect(self.input.p, self.stage[0].a),
            connect(self.stage[:-1].y, self.stage[1:].a),
            connect(self.vdd.p, self.stage.supply),
            connect(self.vdd.n, self.input.n, self.stage.earth, self.ground.p),
        ]


STOP_TIMES = {
    "Bridge": 0.1,
    "Graetz": 0.04,
    "SchmittTrigger": 1e-3,
    "RingOscillator": 1e-5,
    "InverterChain": 5e-7,
}
"""Five periods of the source; two; one; more than two oscillations; one period of the source."""

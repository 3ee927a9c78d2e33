"""Small complete models, for the demo, the documentation and the tests."""

from __future__ import annotations

from typing import Any

from modia_py import Model, Par, Var, connect, der

from .electrical import Capacitor, ConstantVoltage, Ground, Resistor


class SlidingMass(Model):
    """A mass on a rail, held by a spring and a damper."""

    m = Par(1.0, unit="kg")
    c = Par(1e3, unit="N/m")
    d = Par(5.0, unit="N.s/m")
    n = Par([0.6, 0.8, 0.0])
    g = Par([0.0, -9.81, 0.0], unit="m/s2")
    s = Var(init=0.1, unit="m")
    r = Var(3, unit="m")
    v = Var(3, unit="m/s")
    f = Var(3, unit="N")
    u = Var(3, unit="N")

    def equations(self) -> Any:
        return [
            self.r == self.n * self.s,
            self.v == der(self.r),
            self.m * der(self.v) == self.f + self.m * self.g + self.u,
            self.n @ self.f == 0,
            self.u == -(self.c * self.s + self.d * der(self.s)) * self.n,
        ]


class Ladder(Model):
    """n sections of a resistor in series and a capacitor to ground, behind a constant voltage."""

    def __init__(self, n: int = 100, **changes: Any):
        super().__init__(**changes)
        self.source = ConstantVoltage(V=1.0)
        self.r = Resistor.array(n, R=1.0)
        self.c = Capacitor.array(n, C=1e-3)
        self.ground = Ground()

    def equations(self) -> Any:
        return [
            connect(self.source.p, self.r[0].p),
            connect(self.r[:-1].n, self.r[1:].p),
            connect(self.r.n, self.c.p),
            connect(self.c.n, self.source.n, self.ground.p),
        ]

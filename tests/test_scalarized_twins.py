"""Models with arrays, and the same with every element written out: the same numbers.

Both are integrated at a tight tolerance; all variables agree at all times to 1e-9 of their size.
"""

from __future__ import annotations

import numpy as np

from modia_py import Model, Par, Var, connect, der, time, translate
from modia_py.models.electrical import Capacitor, ConstantVoltage, Ground, Resistor
from modia_py.models.examples import Ladder
from modia_py.models.mechanisms import Pendulum

RTOL = 1e-10


def check_twins(arrays, scalars, stop_time, names):
    """`names`: of a variable with arrays, those of its elements in the twin."""
    a = translate(arrays, check=True).simulate(stop_time, times=41, rtol=RTOL)
    b = translate(scalars, check=True).simulate(stop_time, times=41, rtol=RTOL)
    for name, elements in names.items():
        twin = np.stack([b[element] for element in elements], axis=-1)
        size = np.abs(twin).max()
        np.testing.assert_allclose(a[name], twin, rtol=0, atol=1e-9 * max(size, 1e-3), err_msg=name)


class Rod(Model):
    """A rod, warm at its left end and with a loss at the right."""

    G = Par(20.0)

    def __init__(self, n):
        super().__init__()
        self.n = n
        self.T = Var(n, init=1.0)
        self.Q = Var(n + 1)

    def equations(self):
        return [
            self.Q[0] == self.G * (2 + np.sin(time) - self.T[0]),
            self.Q[1:-1] == self.G * (self.T[:-1] - self.T[1:]),
            self.Q[-1] == 2 * self.T[-1] ** 4,
            0.5 * der(self.T) == self.Q[:-1] - self.Q[1:],
        ]


class ScalarRod(Model):
    G = Par(20.0)

    def __init__(self, n):
        super().__init__()
        self.n = n
        self.T = [Var(init=1.0) for _ in range(n)]
        self.Q = [Var() for _ in range(n + 1)]

    def equations(self):
        yield self.Q[0] == self.G * (2 + np.sin(time) - self.T[0])
        for k in range(1, self.n):
            yield self.Q[k] == self.G * (self.T[k - 1] - self.T[k])
        yield self.Q[self.n] == 2 * self.T[self.n - 1] ** 4
        for k in range(self.n):
            yield 0.5 * der(self.T[k]) == self.Q[k] - self.Q[k + 1]


def test_heat_rod():
    n = 6
    names = {"T": [f"T[{k}]" for k in range(n)], "Q": [f"Q[{k}]" for k in range(n + 1)]}
    check_twins(Rod(n), ScalarRod(n), 3.0, names)


class SeparateLadder(Model):
    def __init__(self, n):
        super().__init__()
        self.source = ConstantVoltage(V=1.0)
        self.r = [Resistor(R=1.0) for _ in range(n)]
        self.c = [Capacitor(C=1e-3) for _ in range(n)]
        self.ground = Ground()

    def equations(self):
        yield connect(self.source.p, self.r[0].p)
        for first, second in zip(self.r[:-1], self.r[1:], strict=True):
            yield connect(first.n, second.p)
        for r, c in zip(self.r, self.c, strict=True):
            yield connect(r.n, c.p)
            yield connect(c.n, self.source.n, self.ground.p)


def test_ladder():
    n = 5
    names = {f"r.{x}": [f"r[{k}].{x}" for k in range(n)] for x in ("i", "u", "p.v", "n.v", "n.i")}
    names |= {f"c.{x}": [f"c[{k}].{x}" for k in range(n)] for x in ("i", "u", "p.i")}
    check_twins(Ladder(n), SeparateLadder(n), 0.05, names)


class ScalarPendulum(Model):
    x = Var(init=1.0)
    y = Var(init=0.0)
    vx = Var(init=0.0)
    vy = Var(init=0.0)
    fx = Var()
    fy = Var()
    tension = Var()

    def equations(self):
        return [
            self.vx == der(self.x),
            self.vy == der(self.y),
            der(self.vx) == self.fx,
            der(self.vy) == self.fy - 9.81,
            self.fx == -self.tension * self.x,
            self.fy == -self.tension * self.y,
            self.x**2 + self.y**2 == 1,
        ]


def test_pendulum():
    names = {"r": ["x", "y"], "v": ["vx", "vy"], "f": ["fx", "fy"]}
    check_twins(Pendulum(), ScalarPendulum(), 2.0, names)


class Masses(Model):
    """n masses in a row with springs between them, the first one moved by hand."""

    def __init__(self, n):
        super().__init__()
        self.n = n
        self.m, self.c = Par(np.linspace(1, 2, n)), Par(np.linspace(5, 9, n - 1))
        self.s, self.v, self.f = Var(n), Var(n), Var(n - 1)
        self.hand = Var()

    def equations(self):
        pull = np.concatenate([self.f, np.zeros(1)]) - np.concatenate([np.zeros(1), self.f])
        return [
            self.v == der(self.s),
            self.f == self.c * (self.s[1:] - self.s[:-1]),
            self.m * der(self.v) == pull + self.hand * np.eye(self.n)[0],
            self.s[0] == np.sin(time) ** 2,
        ]


class ScalarMasses(Model):
    def __init__(self, n):
        super().__init__()
        self.n = n
        self.m, self.c = np.linspace(1, 2, n), np.linspace(5, 9, n - 1)
        self.s, self.v = [Var() for _ in range(n)], [Var() for _ in range(n)]
        self.f, self.hand = [Var() for _ in range(n - 1)], Var()

    def equations(self):
        n, s, f = self.n, self.s, self.f
        for k in range(n):
            pull = (f[k] if k < n - 1 else 0) - (f[k - 1] if k else 0)
            yield self.v[k] == der(s[k])
            yield self.m[k] * der(self.v[k]) == pull + (0 if k else self.hand)
        for k in range(n - 1):
            yield f[k] == self.c[k] * (s[k + 1] - s[k])
        yield s[0] == np.sin(time) ** 2


def test_vector_of_masses():
    n = 4
    names = {x: [f"{x}[{k}]" for k in range(n)] for x in ("s", "v")}
    names |= {"f": [f"f[{k}]" for k in range(n - 1)]}
    check_twins(Masses(n), ScalarMasses(n), 5.0, names)

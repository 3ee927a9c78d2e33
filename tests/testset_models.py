"""Published test problems as models: in vectors where the problem has them, at the index it is given with.

Sources as in `problems/testset.py`; the transistor amplifier is put together from components.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from modia_py import Input, Model, Par, Var, connect, der, function, time
from modia_py.models.electrical import Capacitor, ConstantVoltage, Ground, Pin, Resistor, TwoPin

from .problems import andrews as squeezer
from .problems.circuits import NODES, PIPES


class Hires(Model):
    """High irradiance response: eight species."""

    k = Par([1.71, 0.43, 8.32, 0.69, 0.035, 8.32, 280.0, 0.69, 0.69])
    y = Var(8, init=[1.0, 0, 0, 0, 0, 0, 0, 0.0057])

    def equations(self):
        k1, k2, k3, k4, k5, k6, k7, k8, k9 = (self.k[n] for n in range(9))
        a, b, c, d, e, g, u, v = (self.y[n] for n in range(8))
        bind = k7 * g * v
        last = bind - (k2 + k8 + k9) * u
        rates = [
            0.0007 - k1 * a + k2 * b + k6 * c,
            k1 * a - (k2 + k3) * b,
            k2 * d + k5 * e - (k1 + k6) * c,
            k3 * b + k1 * c - (k2 + k4) * d,
            k2 * (g + u) - (k1 + k5) * e,
            k8 * d + k1 * e + k8 * u - k2 * g - bind,
            last,
            -last,
        ]
        return [der(self.y) == np.stack(rates)]


class Robertson(Model):
    """Three species whose sum is one."""

    a = Var(init=1.0)
    b = Var(init=0.0)
    c = Var(init=0.0)

    def equations(self):
        forward, back = 0.04 * self.a, 1e4 * self.b * self.c
        return [
            der(self.a) == back - forward,
            der(self.b) == forward - back - 3e7 * self.b**2,
            self.a + self.b + self.c == 1,
        ]


class ChemicalAkzo(Model):
    """Five species, five reactions with a matrix of stoichiometry, and one species in equilibrium."""

    S = Par(
        [[-2, 1, -1, -1, 0], [-0.5, 0, 0, -1, -0.5], [1, -1, 1, 0, 0], [0, -1, 1, -2, 0], [0, 1, -1, 0, 1]]
    )
    y = Var(5, init=[0.444, 0.00123, 0.0, 0.007, 0.0])
    g = Var()
    rate = Var(5)

    def equations(self):
        a, b, c, d, e = (self.y[n] for n in range(5))
        root = np.sqrt(b)
        inflow = 3.3 * (0.9 / 737.0 - b)
        return [
            self.rate[0] == 18.7 * a**4 * root,
            self.rate[1] == 0.58 * c * d,
            self.rate[2] == 0.58 / 34.4 * a * e,
            self.rate[3] == 0.09 * a * d**2,
            self.rate[4] == 0.42 * self.g**2 * root,
            der(self.y) == self.S @ self.rate + inflow * np.eye(5)[1],
            self.g == 115.83 * a * d,
        ]


class MedicalAkzo(Model):
    """Antibodies penetrate tissue: a stencil over the cells; the value at the border drops at 5."""

    phi = Input()

    def __init__(self, n=200):
        super().__init__()
        z = np.arange(1, n + 1) / n
        self.n = n
        self.alpha, self.beta = Par(2 * (z - 1) ** 3 / 16), Par((z - 1) ** 4 / 16)
        self.u, self.v = Var(n, init=0.0), Var(n, init=1.0)

    def equations(self):
        left = np.concatenate([np.stack([self.phi]), self.u[:-1]])
        right = np.concatenate([self.u[1:], np.zeros(1)])
        slope, bend = (right - left) * self.n / 2, (left - 2 * self.u + right) * self.n**2
        reaction = 100.0 * self.u * self.v
        return [
            der(self.u) == self.alpha * slope + self.beta * bend - reaction,
            der(self.v) == -reaction,
        ]


class Transistor(Model):
    b = Pin()
    c = Pin()
    e = Pin()
    i = Var(guess=3e-4)

    def equations(self):
        return [
            self.i == 1e-6 * np.expm1((self.b.v - self.e.v) / 0.026),
            self.b.i == 0.01 * self.i,
            self.c.i == 0.99 * self.i,
            self.e.i == -self.i,
        ]


class Signal(TwoPin):
    def equations(self):
        return [*super().equations(), self.u == 0.1 * np.sin(200 * np.pi * time)]


class Amplifier(Model):
    """Two stages. Node 1 is behind the source, 2 and 5 are bases, 3 and 6 emitters, 4 and 7 collectors."""

    signal = Signal()
    supply = ConstantVoltage(V=6.0)
    ground = Ground()
    r0 = Resistor(R=1000.0)
    r = Resistor.array(9, R=9000.0)
    first = Capacitor(C=1e-6, u=-3.0)
    emitter1 = Capacitor(C=2e-6, u=3.0)
    middle = Capacitor(C=3e-6, u=3.0)
    emitter2 = Capacitor(C=4e-6, u=3.0)
    last = Capacitor(C=5e-6, u=6.0)
    t1 = Transistor()
    t2 = Transistor()

    def equations(self):
        r = self.r
        return [
            connect(self.signal.p, self.r0.p),
            connect(self.r0.n, self.first.p),
            connect(self.first.n, self.t1.b, r[0].p, r[1].n),
            connect(self.t1.e, self.emitter1.p, r[2].p),
            connect(self.t1.c, r[3].n, self.middle.p),
            connect(self.middle.n, self.t2.b, r[4].p, r[5].n),
            connect(self.t2.e, self.emitter2.p, r[6].p),
            connect(self.t2.c, r[7].n, self.last.p),
            connect(self.last.n, r[8].p),
            connect(self.supply.p, r[1].p, r[3].p, r[5].p, r[7].p),
            connect(self.ground.p, self.signal.n, self.supply.n, self.emitter1.n, self.emitter2.n),
            connect(self.ground.p, r[0].n, r[2].n, r[4].n, r[6].n, r[8].n),
        ]


class Brenan(Model):
    a = Var(init=1.0)
    b = Var()

    def equations(self):
        return [
            der(self.a) - time * der(self.b) == -self.a + (1 + time) * self.b,
            self.b == np.sin(time),
        ]


class Kvaerno(Model):
    a = Var(init=np.exp(1.0))
    b = Var(init=np.sin(-1.0))
    c = Var(init=np.cos(1.0))

    def equations(self):
        a, b, c = self.a, self.b, self.c
        return [
            der(a) + c * der(b) - (b + 1) * der(c) + a == 1 + np.sin(time),
            (c + 1) * der(a) + a * der(b) == -np.exp(-time),
            a * b * c == 0.5 * np.exp(-time) * np.sin(2 * time),
        ]


class Jay(Model):
    """Index 2."""

    a = Var(init=1.0)
    b = Var(init=1.0)
    z = Var()

    def equations(self):
        a, b, z = self.a, self.b, self.z
        return [der(a) == a * b * z, der(b) == a**2 * b**2 - 3 * b**2 * z, a**2 * b == 1]


class HeatExchanger(Model):
    """Two flows in opposite directions with a wall between them; inlet and mass flow jump."""

    inlet = Input()
    flow = Input()

    def __init__(self, nodes=80):
        super().__init__()
        self.k = nodes - 1
        self.a, self.b, self.w = (Var(self.k, init=300.0) for _ in range(3))
        self.qa, self.qb = Var(self.k), Var(self.k)

    def equations(self):
        length = 10.0 / self.k
        heat, wall = 1000 * length * 5e-5 * 4200, 2000.0 / self.k
        a_up = np.concatenate([np.stack([self.inlet]), self.a[:-1]])
        b_up = np.concatenate([self.b[1:], np.array([310.0])])
        return [
            heat * der(self.a) == self.flow * 4200 * (a_up - self.a) + self.qa,
            heat * der(self.b) == 4200 * (b_up - self.b) - self.qb,
            wall * der(self.w) == self.qb - self.qa,
            self.qa == (self.w - (a_up + self.a) / 2) * 400 * length,
            self.qb == ((b_up + self.b) / 2 - self.w) * 1000 * length,
        ]


class WaterTubes(Model):
    """18 pipes between 13 nodes, two of which have buffers. Index 2: flows balance in the other nodes."""

    flow = Var(18, init=0.0)
    friction = Var(18, guess=0.0475)
    buffers = Var(2, init=109800.0)
    pressure = Var(11, guess=109800.0)

    def equations(self):
        row = {node: k for k, node in enumerate(NODES)}
        origin, target = (np.array([row[pipe[k]] for pipe in PIPES]) for k in (0, 1))
        incidence = np.zeros((13, 18))
        incidence[origin, np.arange(18)] -= 1
        incidence[target, np.arange(18)] += 1
        outside = np.eye(13)
        nu, density, length, rough, area = 1.31e-6, 1e3, 1e3, 2e-4, np.pi / 4
        hours = time / 3600.0
        inflow = 1 - np.cos(np.exp(-hours) - 1)
        outflow = hours**2 * (3 * hours**2 - 92 * hours + 720) / 1e6
        reynolds = np.abs(self.flow / (nu * area))
        turbulent = reynolds > 2.3e3
        root = np.sqrt(self.friction)
        drop = np.where(
            turbulent,
            self.friction * density * length * self.flow**2 / area**2,
            32 * nu * density * length * self.flow / area,
        )
        supply = inflow / 200 * outside[row[1]] + inflow / 80 * outside[row[13]]
        balance = incidence @ self.flow + supply - outflow * outside[row[10]]
        p = np.concatenate([self.buffers, self.pressure])
        return [
            density * length / area * der(self.flow) == p[origin] - p[target] - drop,
            1 / root
            == 1.74 - 2 * np.log10(2 * rough + 18.7 / (np.where(turbulent, reynolds, 2.3e3) * root)),
            2e2 / (density * 9.8) * der(self.buffers) == balance[:2],
            balance[2:] == 0,
        ]


class CarAxis(Model):
    """An axle on two springs, one of which stands on a bumpy road."""

    m = Par(5e-4)
    left = Var(2, init=[0.0, 0.5])
    right = Var(2, init=[1.0, 0.5])
    v_left = Var(2, init=[-0.5, 0.0])
    v_right = Var(2, init=[-0.5, 0.0])
    along = Var()
    tension = Var()

    def equations(self):
        bump = 0.1 * np.sin(10 * time)
        base = np.stack([np.sqrt(1 - bump**2), bump])
        d = self.left - self.right

        def spring(r):
            length = np.sqrt(r @ r)
            return (0.5 - length) / length * r + self.m * np.array([0.0, -1.0])

        return [
            der(self.left) == self.v_left,
            der(self.right) == self.v_right,
            self.m * der(self.v_left) == spring(self.left) + self.along * base + 2 * self.tension * d,
            self.m * der(self.v_right) == spring(self.right - base) - 2 * self.tension * d,
            self.left @ base == 0,
            d @ d == 1,
        ]


mass = function(lambda q: squeezer._mass(q))
force = function(lambda q, v: squeezer._force(0.0, q, v))
closure = function(lambda q: squeezer._constraint(0.0, q))
pulled = function(lambda q, f: jax.vjp(lambda q: squeezer._constraint(0.0, q), q)[1](jnp.asarray(f))[0])


class Andrews(Model):
    """Seven angles and six conditions of closure. Mass, forces and closure are functions of JAX."""

    q = Var(7, init=[-0.0617138900142764496, 0.0, 0.455279819163070380, 0.222668390165885885,
                     0.487364979543842550, -0.222668390165885885, 1.23054744454982120])  # fmt: skip
    v = Var(7, init=0.0)
    f = Var(6)

    def equations(self):
        return [
            der(self.q) == self.v,
            mass(self.q) @ der(self.v) == force(self.q, self.v) - pulled(self.q, self.f),
            closure(self.q) == np.zeros(6),
        ]

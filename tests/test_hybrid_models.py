"""Many small hybrid models with known answers, as components of one: they share a translation, and events.

Each part says what its variables have to be at 3.3 s.
"""

from __future__ import annotations

import numpy as np
import pytest

from modia_py import (
    Discrete,
    Input,
    Model,
    Par,
    Var,
    always,
    assign,
    change,
    clock,
    der,
    edge,
    hold,
    initial,
    pre,
    previous,
    reinit,
    sample,
    sampled,
    terminal,
    time,
    translate,
    when,
    where,
)

STOP = 3.3


class Decay(Model):
    k = Par(1.0)
    x = Var(init=1.0)
    n = Discrete(0)

    def equations(self):
        again = reinit(self.x, 1.0), assign(self.n, pre(self.n) + 1)
        return [der(self.x) == -self.k * self.x, when(self.x < 0.5, *again)]


class Refilled(Model):
    """Copies with events of their own."""

    K = np.array([1.0, 2.0, 3.3])

    def __init__(self, **changes):
        super().__init__(**changes)
        self.cell = Decay.array(3, k=self.K)

    def equations(self):
        return []

    def answers(self):
        period = np.log(2) / self.K
        n = np.floor(STOP / period)
        return {"cell.n": n, "cell.x": np.exp(-self.K * (STOP - n * period))}


class Edges(Model):
    """`edge` and `change` of a discrete truth value, and the condition itself."""

    x = Var(init=0.0)
    b = Discrete(False)
    rises, changes, falls = Discrete(0), Discrete(0), Discrete(0)

    def equations(self):
        return [
            der(self.x) == 3 * np.cos(3 * time),
            always(assign(self.b, self.x > 0.5)),
            when(edge(self.b), assign(self.rises, pre(self.rises) + 1)),
            when(change(self.b), assign(self.changes, pre(self.changes) + 1)),
            when(~self.b, assign(self.falls, pre(self.falls) + 1)),
        ]

    def answers(self):  # sin(3 t) > 0.5 from 0.17 to 0.87 and from 2.27 to 2.97
        return {"rises": 2, "changes": 4, "falls": 2}


class Clocks(Model):
    """A clock, every third tick, two ticks for one, and one that is late."""

    a, b, c, d = Discrete(0), Discrete(0), Discrete(0), Discrete(0)
    kept = Discrete(0)

    def equations(self):
        base = clock(0.1)
        slow, fast, late = base.sub(3), base.super(2), base.delayed(0.03)
        return [
            when(base, assign(self.a, previous(self.a) + 1)),
            when(slow, assign(self.b, previous(self.b) + 1), assign(self.kept, sampled(self.a, slow))),
            when(fast, assign(self.c, previous(self.c) + 1)),
            when(late, assign(self.d, previous(self.d) + 1)),
        ]

    def answers(self):  # at 3.3 s the first three tick, too
        return {"a": 34, "b": 12, "c": 67, "d": 33, "kept": 34}


class Chain(Model):
    """One event causes the next ones, through a discrete value, a state and its relation."""

    x, y = Var(init=0.0), Var(init=0.0)
    a, b, c = Discrete(False), Discrete(0), Discrete(0)

    def equations(self):
        return [
            der(self.x) == 1.0,
            der(self.y) == 0.0,
            when(self.x > 1.0, assign(self.a, True)),
            when(self.a, reinit(self.y, 3.0)),
            when(self.y > 2.0, assign(self.b, pre(self.b) + 1)),
            when(self.b > 0, assign(self.c, self.b * 10)),
        ]

    def answers(self):
        return {"y": 3.0, "b": 1, "c": 10}


class OnWhere(Model):
    """A relation of a variable that jumps, and a choice of a choice."""

    x, y, z = Var(init=0.0), Var(init=0.0), Var()
    n = Discrete(0)

    def equations(self):
        chosen = where(self.x < 1.0, 1.0, where(self.x < 2.0, 2.0, 3.0))
        return [
            der(self.x) == 1.0,
            self.z == where(self.x < 1.0, self.x, 5.0 - self.x),
            when(self.z < 2.0, assign(self.n, pre(self.n) + 1)),
            der(self.y) == where(chosen > 1.5, chosen, -1.0),
        ]

    def answers(self):
        return {"n": 1, "z": 1.7, "y": -1 + 2 + 3.9}


class WholeNumbers(Model):
    """Integers and truth values in equations, and a shift register."""

    n, b, d = Discrete(1), Discrete(False), Discrete(np.zeros(3))
    x = Var(init=0.0)
    y = Var(3, init=0.0)

    def equations(self):
        shift = assign(self.d[0], pre(self.d[0]) + 1), assign(self.d[1:], pre(self.d[:-1]))
        return [
            der(self.x) == 2.0 * self.n + where(self.b, 10.0, 0.0),
            when(time >= 1.0, assign(self.n, 3 * pre(self.n))),
            when(time >= 2.0, assign(self.b, ~pre(self.b))),
            der(self.y) == self.d,
            when(sample(1.0), *shift),
        ]

    def answers(self):
        return {"x": 2 + 6 + 1.3 * 16, "d": [4, 3, 2], "y": [6 + 1.2, 3 + 0.9, 1 + 0.6]}


class Swap(Model):
    """States that take the values that others had; an impulse by `initial`."""

    x, y, z = Var(init=1.0), Var(init=2.0), Var(init=0.0)

    def equations(self):
        return [
            der(self.x) == 0.0,
            der(self.y) == 0.0,
            der(self.z) == 1.0,
            when(sample(1.0, 0.5), reinit(self.x, self.y), reinit(self.y, self.x)),
            when(initial(), reinit(self.z, 5.0)),
        ]

    def answers(self):
        return {"x": 2.0, "y": 1.0, "z": 5 + STOP}


class Instants(Model):
    """Algebraic variables and derivatives that cross; all and any; a threshold that moves on."""

    x, y, v = Var(init=0.0), Var(guess=0.1), Var(init=0.0)
    r = Var(3, init=[0.0, 0.2, 0.4])
    of_y, of_slope, of_any, of_all = (Discrete(0.0) for _ in range(4))
    limit, n = Discrete(0.4), Discrete(0)

    def equations(self):
        return [
            der(self.x) == 1.0,
            self.y**3 + self.y == self.x,
            der(self.v) == time - 1.0,
            der(self.r) == np.ones(3),
            when(self.y > 1.0, assign(self.of_y, time)),
            when(der(self.v) > 0.5, assign(self.of_slope, time)),
            when(np.any(self.r > 1.0), assign(self.of_any, time)),
            when(np.all(self.r > 1.0), assign(self.of_all, time)),
            when(
                self.x > self.limit,
                assign(self.limit, pre(self.limit) + 0.5),
                assign(self.n, pre(self.n) + 1),
            ),
        ]

    def answers(self):
        return {"of_y": 2.0, "of_slope": 1.5, "of_any": 0.6, "of_all": 1.0, "n": 6, "limit": 3.4}


class Clutch(Model):
    """Two wheels that are coupled from 0.5 s to 1.5 s, and capacitors that are joined at 1 s."""

    w1, w2, tau = Var(init=3.0), Var(init=0.0), Var()
    u1, u2, i = Var(init=2.0), Var(init=0.0), Var()

    def equations(self):
        coupled = (time >= 0.5) & (time < 1.5)
        return [
            der(self.w1) == 1.0 - self.tau,
            2.0 * der(self.w2) == self.tau,
            where(coupled, self.w1 - self.w2, self.tau) == 0,
            der(self.u1) == -self.i,
            3.0 * der(self.u2) == self.i,
            where(time < 1.0, self.i, self.u1 - self.u2) == 0,
        ]

    def answers(self):
        w = 3.5 / 3 + 1 / 3
        return {"w1": w + STOP - 1.5, "w2": w, "u1": 0.5, "u2": 0.5}


class Collision(Model):
    """A mass hits another one, and they stay together; a fall that ends at the floor."""

    x1, x2, v1, v2, f = Var(init=0.0), Var(init=1.0), Var(init=1.0), Var(init=0.0), Var()
    h, v = Var(init=0.5), Var(init=0.0)
    stuck, rests = Discrete(False), Discrete(False)

    def equations(self):
        return [
            der(self.x1) == self.v1,
            der(self.x2) == self.v2,
            2 * der(self.v1) == -self.f,
            der(self.v2) == self.f,
            where(self.stuck, self.v1 - self.v2, self.f) == 0,
            when(where(self.stuck, -1.0, self.x1 - self.x2) > 0, assign(self.stuck, True)),
            der(self.h) == where(self.rests, 0.0, self.v),
            der(self.v) == where(self.rests, 0.0, -9.81),
            when(self.h < 0, reinit(self.v, 0.0), assign(self.rests, True)),
        ]

    def answers(self):
        return {"v1": 2 / 3, "x2": 1 + 2.3 * 2 / 3, "h": 0.0, "v": 0.0}


class Pendulum(Model):
    """A constraint of positions, and velocities that are turned round at a height."""

    x, y, vx, vy, F = Var(init=1.0), Var(init=0.0), Var(), Var(init=0.0), Var()
    energy = Var()
    n = Discrete(0)

    def equations(self):
        back = reinit(self.vx, -self.vx), reinit(self.vy, -self.vy), assign(self.n, pre(self.n) + 1)
        return [
            der(self.x) == self.vx,
            der(self.y) == self.vy,
            der(self.vx) == -self.F * self.x,
            der(self.vy) == -self.F * self.y - 9.81,
            self.x**2 + self.y**2 == 1.0,
            self.energy == 0.5 * (self.vx**2 + self.vy**2) + 9.81 * self.y,
            when(self.y < -0.5, *back),
        ]

    def answers(self):  # it is back after 0.657 s
        return {"energy": 0.0, "n": 5}


class Sampling(Model):
    """Samples of a ramp, held; an input that jumps at an instant; the event at the end."""

    x, y, u = Var(init=0.0), Var(init=0.0), Input()
    total, seen, last = Discrete(0.0), Discrete(0.0), Discrete(0.0)

    def equations(self):
        clk = clock(0.5)
        return [
            der(self.x) == self.u,
            when(clk, assign(self.total, previous(self.total) + sampled(self.x, clk))),
            der(self.y) == hold(self.total),
            when(sample(10.0, 1.0), assign(self.seen, self.u)),
            when(terminal(), assign(self.last, self.x)),
        ]

    def answers(self):  # x = 0, 0.5, 1, -0.5, -2, -3.5, -5 at the ticks
        x = np.array([0.0, 0.5, 1.0, -0.5, -2.0, -3.5, -5.0])
        y = 0.5 * np.cumsum(x)[:-1].sum() + 0.3 * x.sum()
        return {"total": x.sum(), "seen": -3.0, "last": 1 - 3 * 2.3, "y": y}


class Switched(Model):
    """A stiff mode, a band of conditions, a pulse, a wave, and values that are asked for at the start."""

    x, y, z, w = Var(init=1.0), Var(init=0.0), Var(init=0.0), Var(init=0.0)
    d, e = Discrete(0.0), Discrete(0)

    def equations(self):
        band = ((time > 0.5) & ~(time > 1.0)) | (self.z > 1.5)
        return [
            der(self.x) == where(time < 1.0, -1e6 * self.x, -1e6 * (self.x - 1.0)),
            der(self.y) == where(band, 1.0, 0.0),
            der(self.z) == self.d + where((time > 0.3) & (time < 0.3 + 1e-6), 1e6, 0.0),
            der(self.w) == where(time % 1.0 < 0.25, 1.0, 0.0),
            when(initial(), assign(self.d, 0.25)),
            when(self.d > 0.1, assign(self.e, pre(self.e) + 1)),
        ]

    def answers(self):
        return {"x": 1.0, "z": 1 + 0.25 * STOP, "w": 1.0, "e": 1, "y": 0.5 + STOP - 2.0}


PARTS = (
    Refilled,
    Edges,
    Clocks,
    Chain,
    OnWhere,
    WholeNumbers,
    Swap,
    Instants,
    Clutch,
    Collision,
    Pendulum,
    Sampling,
    Switched,
)


class Together(Model):
    def __init__(self, **changes):
        super().__init__(**changes)
        for part in PARTS:
            setattr(self, part.__name__.lower(), part())

    def equations(self):
        return []


@pytest.fixture(scope="module")
def together():
    return translate(Together())


@pytest.mark.parametrize("rtol", [pytest.param(1e-4, marks=pytest.mark.slow), 1e-8])
def test_small_models_beside_each_other(together, rtol):
    jumps = {"sampling.u": lambda t: np.where(t < 1.0, 1.0, -3.0)}
    result = together.simulate(STOP, times=3, rtol=rtol, inputs=jumps)
    for part in PARTS:
        name = part.__name__.lower()
        for variable, expected in part().answers().items():
            found = np.asarray(result.final(f"{name}.{variable}"), float)
            allowed = 30 * rtol * (1 + np.max(np.abs(expected)))
            np.testing.assert_allclose(found, expected, rtol=0, atol=allowed, err_msg=f"{name}.{variable}")

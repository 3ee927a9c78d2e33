"""Variables that equations make constant are not differentiated, no states, and bring no multiplier."""

from __future__ import annotations

import numpy as np
import pytest

from modia_py import Connector, Flow, Input, Model, Par, Var, connect, der, translate
from modia_py.arrays import make_structure
from modia_py.arrays.constants import MOST_PASSES, find_constants
from modia_py.arrays.index1 import Slot


class Frame(Connector):
    R = Var((2, 2))
    t = Flow()


class World(Model):
    frame = Frame()

    def equations(self):
        return [np.eye(2) == self.frame.R]


class Revolute(Model):
    """A joint in the plane: its orientation is differentiated for the angular velocity."""

    a = Frame()
    b = Frame()
    phi = Var(init=0.1)
    w = Var(init=0.0)
    omega = Var((2, 2))

    def equations(self):
        c, s = np.cos(self.phi), np.sin(self.phi)
        turn = np.stack([np.stack([c, -s]), np.stack([s, c])])
        return [
            self.a.R @ turn == self.b.R,
            self.a.t + self.b.t == 0,
            der(self.phi) == self.w,
            der(self.w) == -self.phi,
            self.omega == self.b.R.T @ der(self.b.R),
        ]


class Arm(Model):
    world = World()
    j = Revolute()
    k = Revolute()

    def equations(self):
        return [connect(self.world.frame, self.j.a), connect(self.j.b, self.k.a)]


@pytest.mark.parametrize("tearing", [True, False])
def test_the_frame_of_a_world_is_no_state(tearing):
    sim = translate(Arm(), tearing=tearing, check=True)
    assert "once: world.frame.R" not in sim.report()
    assert "der(world.frame.R)" not in sim.equations()
    form = sim.structure.form
    states = [form.slot_name(k) for k in np.flatnonzero(form.kind == Slot.STATE)]
    assert "world.frame.R" not in states
    result = sim.simulate(1.0, times=5, rtol=1e-8)
    speed = -0.2 * np.sin(result.time)  # of both joints
    np.testing.assert_allclose(result["k.omega[1, 0]"], speed, atol=1e-7)


class Pendulum(Model):
    """Its pivot and length are variables that equations fix."""

    place = Par([0.5, 0.0])
    pivot = Var(2)
    corner = Var(2)
    length = Var()
    r = Var(2, init=[1.5, 0.0])
    v = Var(2, init=0.0)
    f = Var()

    def equations(self):
        return [
            self.corner == self.place - 1.0,
            self.pivot == self.corner + 1.0,
            self.length == 1.0,
            der(self.r) == self.v,
            der(self.v) == [0, -9.81] - self.f * (self.r - self.pivot),
            (self.r - self.pivot) @ (self.r - self.pivot) == self.length**2,
        ]


class Moving(Pendulum):
    """The same on a pivot that depends on the time: nothing of it is constant."""

    def equations(self):
        from modia_py import time

        first, _, *others = super().equations()
        return [first, self.pivot == self.corner + 1.0 + 0.0 * time, *others]


@pytest.mark.parametrize("tearing", [True, False])
def test_what_follows_from_constants_is_constant(tearing):
    sim = translate(Pendulum(), tearing=tearing, check=True)
    report = sim.report()
    assert "times: pivot" not in report
    assert "times: length" not in report
    assert "1 multiplier" in report  # that of the constraint only
    result = sim.simulate(1.0, rtol=1e-8)
    other = translate(Moving(), tearing=tearing, check=True)
    assert "2 times: pivot" in other.report()
    np.testing.assert_allclose(result.final("r"), other.simulate(1.0, rtol=1e-8).final("r"), atol=1e-6)
    shifted = sim.simulate(1.0, params={"place": [2.5, 0.0]}, init={"r": [3.5, 0.0]}, rtol=1e-8)
    np.testing.assert_allclose(shifted.final("r") - [2, 0], result.final("r"), atol=1e-6)


class Driven(Model):
    u = Input()
    x = Var()
    y = Var()
    z = Var()

    def equations(self):
        return [self.x == self.u, self.y == self.x**2, self.z == der(self.y)]


def test_an_input_is_not_constant():
    sim = translate(Driven(), check=True)
    result = sim.simulate(1.0, inputs={"u": lambda t: 3 * t}, times=3)
    np.testing.assert_allclose(result["z"], 18 * result.time, atol=1e-9)


def test_long_chains_and_what_is_no_constant():
    n = MOST_PASSES + 5
    chain = make_structure([[0], *([k, k - 1] for k in range(1, n))], n, solvable=[[k] for k in range(n)])
    found = find_constants(chain, np.ones(n, bool))
    assert found.variables.sum() == MOST_PASSES
    assert not find_constants(chain, np.arange(n) > 0).variables.any()  # the first depends on time
    unsolvable = make_structure([[0], [0, 1]], 2, solvable=[[], [1]])
    assert not find_constants(unsolvable, np.ones(2, bool)).variables.any()

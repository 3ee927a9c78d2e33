"""Components replaced by others, values found in surroundings, labels of equations."""

from __future__ import annotations

import numpy as np
import pytest

from modia_py import (
    Connector,
    Flow,
    Input,
    Model,
    ModelError,
    Par,
    StructureError,
    Var,
    connect,
    der,
    elaborate,
    function,
    named,
    outer,
    translate,
)
from modia_py.models.electrical import Capacitor, Ground, Resistor


class Hot(Resistor):
    """A resistor that is warm."""


class Discharge(Model):
    r = Resistor(R=2.0)
    c = Capacitor(C=1.0, u=1.0)
    others = [Resistor(), Resistor()]
    g = Ground()

    def equations(self):
        loose = [connect(each.n, self.g.p) for each in self.others]
        return [connect(self.r.p, self.c.p), connect(self.r.n, self.c.n, self.g.p), *loose]


class Warm(Discharge):
    r = Hot(R=3.0)


class Pair(Model):
    a = Discharge(r=Hot(R=9.0))
    b = Discharge()
    many = Discharge.array(2, r=Hot(), **{"r.R": [1.0, 2.0]})


def message(act, kind=ModelError):
    with pytest.raises(kind) as caught:
        act()
    return str(caught.value)


def value(model, name):
    return elaborate(model).by_name[name].symbol.value.tolist()


def test_a_component_is_replaced_by_a_subclass_or_an_argument():
    assert type(Warm().r) is Hot
    assert value(Warm(), "r.R") == 3.0
    assert value(Discharge(r=Hot(R=5.0)), "r.R") == 5.0
    assert value(Discharge(**{"others[1]": Hot(R=7.0)}), "others[1].R") == 7.0
    assert value(Discharge(r=Hot(R=5.0), **{"r.R": 6.0}), "r.R") == 6.0
    assert type(Pair().a.r) is Hot
    assert type(Pair(b={"r": Hot()}).b.r) is Hot
    assert type(Pair(**{"b.r": Hot()}).b.r) is Hot
    assert value(Pair(), "many.r.R") == [1.0, 2.0]
    result = translate(Discharge(r=Hot(R=4.0))).simulate(1.0, times=2)
    assert result.final("c.u") == pytest.approx(np.exp(-1 / 4), rel=1e-5)


def test_what_does_not_fit():
    text = message(lambda: Discharge(r=Ground()))
    assert "Ground cannot replace the Resistor Discharge.r" in text
    assert "it has no connector 'n'" in text

    def declared():
        class Wrong(Discharge):
            r = Ground()

    assert "Ground cannot replace the Resistor Wrong.r (test_composition.py:" in message(declared)
    assert "write Hot()" in message(lambda: Discharge(r=Hot))
    assert "has no component 'q' to replace" in message(lambda: Discharge(q=Hot()))
    assert "it is 3 copies, in place of one component" in message(lambda: Discharge(r=Hot.array(3)))
    once = Hot()
    assert "already `a.r`" in message(lambda: Pair(**{"a.r": once, "b.r": once}))


class World(Model):
    g = Par([0.0, -9.81], unit="m/s2")
    T = Var(unit="K")
    sun = Input()
    kind = "uniform"

    def equations(self):
        return [300 + 10 * self.sun == self.T]

    def gravity(self, r):
        return self.g if self.kind == "uniform" else -4.0 * r


class Body(Model):
    world = outer(World)
    r = Var(2, init=[0.0, 1.0])
    v = Var(2, init=0.0)
    heat = Var(init=0.0)

    def equations(self):
        return [
            der(self.r) == self.v,
            der(self.v) == self.world.gravity(self.r),
            der(self.heat) == self.world.T,
        ]


class Robot(Model):
    arm = Body.array(2)
    hand = Body()


class Scene(Model):
    world = World(g=[0.0, -2.0])
    robots = Robot.array(2)
    ball = Body()


def test_values_of_the_surroundings_are_found():
    sim = translate(Scene())
    result = sim.simulate(1.0, inputs={"world.sun": 1.0}, times=2)
    for name in ("robots.arm.v", "robots.hand.v", "ball.v"):
        np.testing.assert_allclose(result[name][-1][..., 1], -2.0, rtol=1e-6)
    assert result.final("ball.heat") == pytest.approx(310.0)
    again = sim.simulate(1.0, inputs={"world.sun": 0.0}, params={"world.g": [1.0, 0.0]}, times=2)
    np.testing.assert_allclose(again["robots.arm.v"][-1][..., 0], 1.0, rtol=1e-6)


class Planet(World):
    kind = "radial"
    body = Body()


def test_the_model_itself_may_be_what_is_around_and_its_plain_attributes_count():
    result = translate(Planet()).simulate(0.5, inputs={"sun": 0.0}, times=2)
    assert result.final("body.r")[1] == pytest.approx(np.cos(1.0), abs=1e-5)


class Twice(Model):
    north = World()
    south = World()
    body = Body()


def test_surroundings_that_are_missing_or_ambiguous():
    assert "there is no World around it" in message(lambda: elaborate(Body()))
    assert "`world = World()`" in message(lambda: elaborate(Body()))
    assert "finds 2 of class World around it: north, south" in message(lambda: elaborate(Twice()))
    text = message(lambda: Scene(**{"ball.world.g": [0.0, 0.0]}))
    assert "belongs to the World around Scene" in text
    assert "outer takes the class of a model" in message(lambda: outer(World()))


@function
def friction(w, k):
    return k * w**3


class Rotor(Model):
    J = Par(2.0, nonzero=True)
    k = Par(1.0)
    w = Var(init=1.0)
    tau = Var()
    drift = Var()
    z = Var(3)

    def equations(self):
        return [
            named("torque balance", self.J * der(self.w) == self.tau),
            self.tau == -friction(self.w, self.k),
            named("drift", self.drift == der(self.tau)),
            named("shape", [self.z[0] == self.w, self.z[1:] == np.stack([self.w, 2 * self.w])]),
            self.too_long(),
        ]

    def too_long(self):
        return []


class LongRotor(Rotor):
    y = Var()

    def too_long(self):
        return self.y == sum(np.sin(k * self.w) for k in range(1, 60))


class Overfull(Rotor):
    def too_long(self):
        return named("wrong", self.w == 3)


def test_labels_are_used_wherever_equations_are_named():
    sim = translate(Rotor())
    assert "torque balance: J*der(w) == tau" in str(sim.flat)
    assert "torque balance: J*der(w) == tau  (test_composition.py:" in sim.equations()
    assert "shape: z[1:][1] == 2*w" in sim.equations()
    text = message(lambda: translate(Overfull()), StructureError)
    assert "    torque balance: J*der(w) == tau" in text
    assert "    wrong: w == 3" in text
    assert "is given 3" in message(lambda: named("a", 3))
    assert "named takes a text first" in message(lambda: named(3, 4))


def test_functions_print_as_calls_and_long_equations_are_shortened_in_lists():
    sim = translate(LongRotor())
    assert "tau == -friction(w, k)" in sim.report()
    assert "der(tau) == -der(friction(w, k))" in sim.equations()
    (line,) = [line for line in str(sim.flat).splitlines() if line.startswith("  y == ")]
    assert " ..." in line
    assert len(line) < 220
    assert "sin(59*w)" in sim.equations()


class Frame(Connector):
    r = Var(2)
    R = Var((2, 2))
    f = Flow(2)


class Bar(Model):
    a = Frame()
    b = Frame()
    length = Par([1.0, 0.0])

    def equations(self):
        return [
            self.b.R == self.a.R,
            self.b.r == self.a.r + self.a.R @ self.length,
            self.a.f + self.b.f == 0,
        ]


class Triangle(Model):
    x = Bar()
    y = Bar()
    z = Bar()

    def equations(self):
        return [connect(self.x.b, self.y.a), connect(self.y.b, self.z.a), connect(self.z.b, self.x.a)]


def test_a_loop_of_orientations_is_named():
    text = message(lambda: translate(Triangle()), StructureError)
    assert "The connections of z, x, y close a loop, around which R is given once too often." in text
    assert "depend on each other, as those of an orientation do" in text

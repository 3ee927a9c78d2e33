"""Models of the papers on tearing and relaxing, and what hints make of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from spatial_arm import Arm, Revolute
from spatial_loop import Ball, FourBar, LoopJoint

from modia_py import Connector, Flow, Model, Par, Var, connect, der, relax, residue, translate, where
from modia_py.lowering.solved_loops import SolvedLoop, solved_loops
from modia_py.models import electrical
from modia_py.models.electrical import (
    Capacitor,
    ConstantVoltage,
    Ground,
    MeshCut,
    NodeCut,
    TearCut,
    TwoPin,
)


class Resistor(electrical.Resistor):
    """One that may be divided by, as in the papers."""

    R = Par(1.0, nonzero=True, unit="Ohm", doc="resistance")


class Ladder(Model):
    """U0 - R1 - (R2 // (R3 - (R4 // (R5 - R6)))): six resistors, and cuts of one kind (tearing, 1994)."""

    def __init__(self, cuts: str = "", **changes: Any):
        super().__init__(**changes)
        self.cuts = cuts
        self.source, self.ground = ConstantVoltage(V=10.0), Ground()
        for k in range(1, 7):
            setattr(self, f"R{k}", Resistor(R=10.0 * k))
        kind = {"": None, "mesh": MeshCut, "node": NodeCut, "tear": TearCut}[cuts]
        for k in range(0 if kind is None else 1 if cuts == "tear" else 3):
            setattr(self, f"cut{k + 1}", kind())

    def equations(self) -> Any:
        along, across = (self.R1, self.R3, self.R5), (self.R2, self.R4, self.R6)
        common, last = [self.source.n, self.ground.p], self.source.p
        found = []
        for k, (one, other) in enumerate(zip(along, across, strict=True)):
            found.append(connect(last, one.p))
            nodes = [one.n, other.p]
            if self.cuts == "mesh" or (self.cuts == "tear" and not k):
                cut = getattr(self, f"cut{k + 1}")
                found.append(connect(one.n, cut.p))
                nodes[0] = cut.n
            if self.cuts == "node":
                nodes.append(getattr(self, f"cut{k + 1}").p)
            if self.cuts == "tear" and k == 2:
                nodes.append(self.cut1.res)
            found.append(connect(*nodes))
            common.append(other.n)
            last = other.p
        return [*found, connect(*common)]


class TornRevolute(Revolute):
    """d'Alembert's principle is the residual, the acceleration of the joint is varied (tearing, 1994)."""

    def equations(self) -> Any:
        *others, along_the_axis = super().equations()
        return [*others, along_the_axis.lhs == along_the_axis.rhs + residue(der(self.w))]


class TornLoopJoint(LoopJoint, TornRevolute):
    """A joint of the spanning tree: its angle and speed are varied, too."""

    tear_phi = Var()
    tear_w = Var()

    def equations(self) -> Any:
        return [
            *super().equations(),
            self.tear_phi == residue(self.phi),
            self.tear_w == residue(der(self.phi)),
        ]


class CutBall(Ball):
    """The joint that is cut: its constraints are residuals, its forces are varied."""

    tear_f = Var(3)

    def equations(self) -> Any:
        _, *others = super().equations()
        return [self.b.r - self.a.r == residue(np.zeros(3)), *others, self.tear_f == residue(self.b.f)]


class RelaxedResistor(TwoPin):
    """A component that is eliminated from the equations of potentials (relaxing, 1996)."""

    R = Par(1.0, nonzero=True, unit="Ohm")

    def equations(self) -> Any:
        return [*super().equations(), self.R * self.i == relax(self.p.v) - relax(self.n.v)]


class Excerpt(Model):
    """R1, C2 and R3 meet in a node; behind the capacitor, R4 leads to the ground."""

    def __init__(self, **changes: Any):
        super().__init__(**changes)
        self.source, self.ground, self.C2 = ConstantVoltage(V=5.0), Ground(), Capacitor(C=1e-5)
        self.R1, self.R3, self.R4 = (RelaxedResistor(R=R) for R in (100.0, 200.0, 50.0))

    def equations(self) -> Any:
        return [
            connect(self.source.p, self.R1.p),
            connect(self.R1.n, self.C2.n, self.R3.p),
            connect(self.C2.p, self.R4.p),
            connect(self.source.n, self.R3.n, self.R4.n, self.ground.p),
        ]


class Flange(Connector):
    """A shaft of a drive train, with its acceleration (relaxing, 1996)."""

    w = Var(unit="rad/s")
    a = Var(unit="rad/s2")
    t = Flow(unit="N.m")


class Shaft(Model):
    """An inertia; with `state`, its speed is one."""

    left, right = Flange(), Flange()
    J = Par(1.0, nonzero=True, unit="kg.m2")

    def __init__(self, state: bool = False, torn: bool = False, **changes: Any):
        super().__init__(**changes)
        self.state, self.torn = state, torn
        if state:
            self.w = Var(init=0.0)

    def equations(self) -> Any:
        left, right = self.left, self.right
        rigid = [left.w == right.w, left.a == right.a]
        if not self.state:
            a = left.a if self.torn else relax(left.a)
            return [*rigid, self.J * a == left.t + right.t]
        hint = residue(left.a) if self.torn else 0.0
        return [
            *rigid,
            self.w == left.w,
            der(self.w) == left.a,
            self.J * left.a == left.t + right.t + hint,
        ]


class Gear(Model):
    """An ideal gear, solved for the acceleration on its left."""

    left, right = Flange(), Flange()
    i = Par(5.0, nonzero=True)

    def __init__(self, torn: bool = False, **changes: Any):
        super().__init__(**changes)
        self.torn = torn

    def equations(self) -> Any:
        left, right = self.left, self.right
        a = right.a if self.torn else relax(right.a)
        return [left.w == self.i * right.w, left.a == self.i * a, self.i * left.t + right.t == 0]


class Torque(Model):
    """Drives a flange."""

    flange = Flange()
    tau = Par(2.0, unit="N.m")
    brake = Par(0.0, unit="N.m", doc="less torque above 1 rad/s")

    def equations(self) -> Any:
        return [self.flange.t == -where(self.flange.w > 1.0, self.tau - self.brake, self.tau)]


class DriveTrain(Model):
    """Motor shaft, gear, load; `reversed_gear` turns the gear round."""

    def __init__(self, reversed_gear: bool = False, torn: bool = False, **changes: Any):
        super().__init__(**changes)
        self.reversed_gear = reversed_gear
        self.motor, self.load = Shaft(torn=torn, J=0.01), Shaft(state=True, torn=torn, J=2.0)
        self.gear, self.drive = Gear(torn=torn), Torque()

    def equations(self) -> Any:
        one, other = self.gear.left, self.gear.right
        if self.reversed_gear:
            one, other = other, one
        return [
            connect(self.drive.flange, self.motor.left),
            connect(self.motor.right, one),
            connect(other, self.load.left),
        ]


class PlanarFrame(Connector):
    """Angle, speed and accelerations of a point of a body in the plane, and what is transmitted there."""

    phi = Var(unit="rad")
    w = Var(unit="rad/s")
    z = Var(unit="rad/s2")
    acc = Var(2, unit="m/s2", doc="acceleration, in coordinates of the world")
    f = Flow(2, unit="N")
    t = Flow(unit="N.m")


class Segment(Model):
    """A revolute joint at a, a bar, and a body at its end b."""

    a, b = PlanarFrame(), PlanarFrame()
    m = Par(1.0, nonzero=True, unit="kg")
    J = Par(0.1, nonzero=True, unit="kg.m2")
    L = Par(0.5, unit="m")
    d = Par(0.2, unit="N.m.s")
    g = Par([0.0, -9.81], unit="m/s2")
    q = Var(init=0.1, unit="rad")
    qd = Var(init=0.0, unit="rad/s")

    def __init__(self, relaxed: bool = True, **changes: Any):
        super().__init__(**changes)
        self.relaxed = relaxed

    def equations(self) -> Any:
        a, b, qdd = self.a, self.b, der(self.qd)
        z, acc = (relax(a.z), relax(a.acc)) if self.relaxed else (a.z, a.acc)
        along = self.L * np.stack([np.sin(b.phi), -np.cos(b.phi)])
        across = self.L * np.stack([np.cos(b.phi), np.sin(b.phi)])
        return [
            b.phi == a.phi + self.q,
            b.w == a.w + self.qd,
            der(self.q) == self.qd,
            b.z == z + qdd,
            b.acc == acc + across * b.z - along * b.w**2,
            self.m * b.acc == a.f + b.f + self.m * self.g,
            self.J * b.z == a.t + b.t + along[1] * a.f[0] - along[0] * a.f[1],
            a.t == -self.d * self.qd + residue(qdd),
        ]


class Wall(Model):
    """A frame at rest."""

    b = PlanarFrame()

    def equations(self) -> Any:
        b = self.b
        return [b.phi == 0, b.w == 0, b.z == 0, b.acc == np.zeros(2)]


class Chain(Model):
    """f segments that hang on a wall: a tree of bodies."""

    def __init__(self, f: int, relaxed: bool = True, **changes: Any):
        super().__init__(**changes)
        self.wall, self.segment = Wall(), Segment.array(f, relaxed=relaxed)

    def equations(self) -> Any:
        s = self.segment
        return [connect(self.wall.b, s[0].a), connect(s[:-1].b, s[1:].a)]


def loop_of(sim: Any) -> SolvedLoop:
    """The largest loop of a translated model, and what solving it takes."""
    model, transformed = sim.translation.structure, sim.translation.transformed
    blocks = transformed.blocks
    sizes = np.add.reduceat(
        transformed.structure.variable_size[blocks.variables], blocks.variable_start[:-1]
    )
    return solved_loops(model, transformed, sim.translation.functions.value_map, [int(np.argmax(sizes))])[0]


def main() -> None:
    """The table of docs/tearing.md."""
    models = {
        "resistor ladder, no hints": Ladder(),
        "resistor ladder, three mesh cuts": Ladder("mesh"),
        "resistor ladder, three node cuts": Ladder("node"),
        "resistor ladder, one tear cut": Ladder("tear"),
        "robot of six joints": Arm(6, joint=TornRevolute),
        "drive train, relaxed": DriveTrain(),
        "drive train, torn": DriveTrain(torn=True),
        "drive train, torn, gear reversed": DriveTrain(reversed_gear=True, torn=True),
        "four-bar loop": FourBar(drive=TornRevolute, joint=TornLoopJoint, ball=CutBall),
    }
    for name, model in models.items():
        found = loop_of(translate(model))
        print(f"{name}: {found.equations} equations, {found.torn} torn; {found.count}")
    for relaxed, sizes in ((True, (10, 30, 100, 300, 1000)), (False, (10, 20, 40))):
        counts = [loop_of(translate(Chain(f, relaxed))).count for f in sizes]
        totals = [count.multiplications + count.additions for count in counts if count is not None]
        exponents = np.diff(np.log(totals)) / np.diff(np.log(sizes))
        print(
            f"chain, {'relaxed' if relaxed else 'torn'}: {dict(zip(sizes, totals, strict=True))}; "
            f"exponents {exponents.round(2)}"
        )


if __name__ == "__main__":
    main()

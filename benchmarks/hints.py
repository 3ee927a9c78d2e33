"""Models of the papers on tearing and relaxing, and what hints make of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from spatial_arm import Arm, Revolute
from spatial_loop import Ball, FourBar, LoopJoint

from modia_py import Model, Par, Var, connect, der, residue, translate
from modia_py.lowering.solved_loops import SolvedLoop, solved_loops
from modia_py.models import electrical
from modia_py.models.electrical import ConstantVoltage, Ground, MeshCut, NodeCut, TearCut


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
        "four-bar loop": FourBar(drive=TornRevolute, joint=TornLoopJoint, ball=CutBall),
    }
    for name, model in models.items():
        found = loop_of(translate(model))
        print(f"{name}: {found.equations} equations, {found.torn} torn; {found.count}")


if __name__ == "__main__":
    main()

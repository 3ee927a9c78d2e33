"""Masses, springs and dampers that move along one line.

A flange has the position `s` and the force `f` that acts on the component. Of two flanges, `s_rel` is
flange_b.s - flange_a.s, and a positive `f` of a compliant component pulls the flanges together.
"""

from __future__ import annotations

from typing import Any

from modia_py import Connector, Flow, Model, Par, Var, der


class Flange(Connector):
    """A point on the line. The force is the one that acts on the component."""

    s = Var(unit="m", doc="position")
    f = Flow(unit="N", doc="force on the component")


class Fixed(Model):
    """A flange that does not move: flange.s = s0."""

    flange = Flange()
    s0 = Par(0.0, unit="m", doc="its position")

    def equations(self) -> Any:
        return [self.flange.s == self.s0]


class Rigid(Model):
    """What has two flanges at the constant distance L: s is the middle of them."""

    flange_a = Flange()
    flange_b = Flange()
    L = Par(0.0, unit="m", doc="length from flange_a to flange_b")
    s = Var(unit="m", doc="position of the middle")

    def equations(self) -> Any:
        return [
            self.flange_a.s == self.s - self.L / 2,
            self.flange_b.s == self.s + self.L / 2,
        ]


class Rod(Rigid):
    """A rod without mass: 0 = flange_a.f + flange_b.f."""

    def equations(self) -> Any:
        return [*super().equations(), self.flange_a.f + self.flange_b.f == 0]


class Mass(Rigid):
    """A sliding mass: v = der(s), a = der(v), m a = flange_a.f + flange_b.f."""

    m = Par(1.0, unit="kg", doc="mass")
    v = Var(unit="m/s", doc="velocity")
    a = Var(unit="m/s2", doc="acceleration")

    def equations(self) -> Any:
        return [
            *super().equations(),
            self.v == der(self.s),
            self.a == der(self.v),
            self.m * self.a == self.flange_a.f + self.flange_b.f,
        ]


class Compliant(Model):
    """What lets its two flanges move against each other: s_rel = flange_b.s - flange_a.s.

    The force `f` acts on flange_b, and its opposite on flange_a.
    """

    flange_a = Flange()
    flange_b = Flange()
    s_rel = Var(unit="m", doc="distance from flange_a to flange_b")
    f = Var(unit="N", doc="force between the flanges")

    def equations(self) -> Any:
        return [
            self.s_rel == self.flange_b.s - self.flange_a.s,
            self.flange_b.f == self.f,
            self.flange_a.f == -self.f,
        ]


class CompliantWithVelocity(Compliant):
    """A compliant component whose force depends on the velocity too: v_rel = der(s_rel)."""

    v_rel = Var(unit="m/s", doc="velocity of flange_b against flange_a")

    def equations(self) -> Any:
        return [*super().equations(), self.v_rel == der(self.s_rel)]


class Spring(Compliant):
    """A linear spring: f = c (s_rel - s_rel0)."""

    c = Par(1.0, unit="N/m", doc="stiffness")
    s_rel0 = Par(0.0, unit="m", doc="length without force")

    def equations(self) -> Any:
        return [*super().equations(), self.f == self.c * (self.s_rel - self.s_rel0)]


class Damper(CompliantWithVelocity):
    """A linear damper: f = d v_rel; lossPower = f v_rel."""

    d = Par(0.0, unit="N.s/m", doc="damping")
    lossPower = Var(unit="W", doc="power that becomes heat")

    def equations(self) -> Any:
        return [
            *super().equations(),
            self.f == self.d * self.v_rel,
            self.lossPower == self.f * self.v_rel,
        ]


class SpringDamper(CompliantWithVelocity):
    """A spring and a damper side by side: f = c (s_rel - s_rel0) + d v_rel."""

    c = Par(1.0, unit="N/m", doc="stiffness")
    d = Par(1.0, unit="N.s/m", doc="damping")
    s_rel0 = Par(0.0, unit="m", doc="length without force")

    def equations(self) -> Any:
        return [
            *super().equations(),
            self.f == self.c * (self.s_rel - self.s_rel0) + self.d * self.v_rel,
        ]


class Supported(Model):
    """What moves against a support: the ground, or the flange `support`.

    Parameters
    ----------
    useSupport : bool
        Whether the flange `support` is there to be connected.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    s_support = Var(unit="m", doc="position of the support")

    def __init__(self, *values: Any, useSupport: bool = False, **changes: Any):
        if useSupport:
            self.support = Flange()
        self.useSupport = useSupport
        super().__init__(*values, **changes)

    def support_equations(self, f: Any) -> Any:
        """The equations of the support of a component on which otherwise the force `f` acts."""
        if self.useSupport:
            return [self.support.s == self.s_support, self.support.f == -f]
        return [self.s_support == 0]

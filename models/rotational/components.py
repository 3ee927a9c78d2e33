"""Shafts, springs, dampers and gears that turn about one axis.

A flange has the angle `phi` and the torque `tau` that acts on the component. Of two flanges, `phi_rel` is
flange_b.phi - flange_a.phi, and a positive `tau` of a compliant component pulls the flanges together.
"""

from __future__ import annotations

from typing import Any

from modia_py import Connector, Flow, Model, Par, Var, der


class Flange(Connector):
    """The end of a shaft. The torque is the one that acts on the component."""

    phi = Var(unit="rad", doc="angle")
    tau = Flow(unit="N.m", doc="torque on the component")


class Fixed(Model):
    """A flange that does not turn: flange.phi = phi0."""

    flange = Flange()
    phi0 = Par(0.0, unit="rad", doc="its angle")

    def equations(self) -> Any:
        return [self.flange.phi == self.phi0]


class Inertia(Model):
    """A rigid shaft: w = der(phi), a = der(w), J a = flange_a.tau + flange_b.tau."""

    flange_a = Flange()
    flange_b = Flange()
    J = Par(1.0, unit="kg.m2", doc="moment of inertia")
    phi = Var(unit="rad", doc="angle")
    w = Var(unit="rad/s", doc="angular velocity")
    a = Var(unit="rad/s2", doc="angular acceleration")

    def equations(self) -> Any:
        return [
            self.flange_a.phi == self.phi,
            self.flange_b.phi == self.phi,
            self.w == der(self.phi),
            self.a == der(self.w),
            self.J * self.a == self.flange_a.tau + self.flange_b.tau,
        ]


class Compliant(Model):
    """What lets its two flanges turn against each other: phi_rel = flange_b.phi - flange_a.phi.

    The torque `tau` acts on flange_b, and its opposite on flange_a.
    """

    flange_a = Flange()
    flange_b = Flange()
    phi_rel = Var(unit="rad", doc="angle from flange_a to flange_b")
    tau = Var(unit="N.m", doc="torque between the flanges")

    def equations(self) -> Any:
        return [
            self.phi_rel == self.flange_b.phi - self.flange_a.phi,
            self.flange_b.tau == self.tau,
            self.flange_a.tau == -self.tau,
        ]


class CompliantWithVelocity(Compliant):
    """A compliant component whose torque depends on the velocity too: w_rel = der(phi_rel)."""

    w_rel = Var(unit="rad/s", doc="angular velocity of flange_b against flange_a")

    def equations(self) -> Any:
        return [*super().equations(), self.w_rel == der(self.phi_rel)]


class CompliantWithAcceleration(CompliantWithVelocity):
    """A compliant component that needs the acceleration too: a_rel = der(w_rel)."""

    a_rel = Var(unit="rad/s2", doc="angular acceleration of flange_b against flange_a")

    def equations(self) -> Any:
        return [*super().equations(), self.a_rel == der(self.w_rel)]


class Spring(Compliant):
    """A linear spring: tau = c (phi_rel - phi_rel0)."""

    c = Par(1e5, unit="N.m/rad", doc="stiffness")
    phi_rel0 = Par(0.0, unit="rad", doc="angle without torque")

    def equations(self) -> Any:
        return [*super().equations(), self.tau == self.c * (self.phi_rel - self.phi_rel0)]


class Damper(CompliantWithVelocity):
    """A linear damper: tau = d w_rel; lossPower = tau w_rel."""

    d = Par(0.0, unit="N.m.s/rad", doc="damping")
    lossPower = Var(unit="W", doc="power that becomes heat")

    def equations(self) -> Any:
        return [
            *super().equations(),
            self.tau == self.d * self.w_rel,
            self.lossPower == self.tau * self.w_rel,
        ]


class SpringDamper(CompliantWithVelocity):
    """A spring and a damper side by side: tau = c (phi_rel - phi_rel0) + d w_rel."""

    c = Par(1e5, unit="N.m/rad", doc="stiffness")
    d = Par(0.0, unit="N.m.s/rad", doc="damping")
    phi_rel0 = Par(0.0, unit="rad", doc="angle without torque")

    def equations(self) -> Any:
        return [
            *super().equations(),
            self.tau == self.c * (self.phi_rel - self.phi_rel0) + self.d * self.w_rel,
        ]


class Supported(Model):
    """What turns against a support: the ground, or the flange `support`.

    Parameters
    ----------
    useSupport : bool
        Whether the flange `support` is there to be connected.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    phi_support = Var(unit="rad", doc="angle of the support")

    def __init__(self, *values: Any, useSupport: bool = False, **changes: Any):
        if useSupport:
            self.support = Flange()
        self.useSupport = useSupport
        super().__init__(*values, **changes)

    def support_equations(self, tau: Any) -> Any:
        """The equations of the support of a component on which otherwise the torque `tau` acts."""
        if self.useSupport:
            return [self.support.phi == self.phi_support, self.support.tau == -tau]
        return [self.phi_support == 0]


class TwoFlangesAndSupport(Supported):
    """A component between two shafts: phi_a and phi_b are their angles against the support."""

    flange_a = Flange()
    flange_b = Flange()
    phi_a = Var(unit="rad", doc="angle of flange_a against the support")
    phi_b = Var(unit="rad", doc="angle of flange_b against the support")

    def equations(self) -> Any:
        return [
            self.phi_a == self.flange_a.phi - self.phi_support,
            self.phi_b == self.flange_b.phi - self.phi_support,
            self.support_equations(self.flange_a.tau + self.flange_b.tau),
        ]


class IdealGear(TwoFlangesAndSupport):
    """A gear without losses: phi_a = ratio phi_b, 0 = ratio flange_a.tau + flange_b.tau."""

    ratio = Par(1.0, nonzero=True, doc="turns of flange_a for one of flange_b")

    def equations(self) -> Any:
        return [
            *super().equations(),
            self.phi_a == self.ratio * self.phi_b,
            self.ratio * self.flange_a.tau + self.flange_b.tau == 0,
        ]


class IdealPlanetary(Model):
    """A planetary gear: (1 + ratio) carrier.phi = sun.phi + ratio ring.phi.

    ring.tau = ratio sun.tau, carrier.tau = -(1 + ratio) sun.tau.
    """

    sun = Flange()
    carrier = Flange()
    ring = Flange()
    ratio = Par(2.0, nonzero=True, doc="teeth of the ring for one of the sun")

    def equations(self) -> Any:
        return [
            (1 + self.ratio) * self.carrier.phi == self.sun.phi + self.ratio * self.ring.phi,
            self.ring.tau == self.ratio * self.sun.tau,
            self.carrier.tau == -(1 + self.ratio) * self.sun.tau,
        ]


class Disc(Model):
    """A shaft whose ends are turned by a constant angle: flange_b.phi = flange_a.phi + deltaPhi."""

    flange_a = Flange()
    flange_b = Flange()
    deltaPhi = Par(0.0, unit="rad", doc="angle of flange_b against flange_a")

    def equations(self) -> Any:
        return [
            self.flange_b.phi == self.flange_a.phi + self.deltaPhi,
            self.flange_a.tau + self.flange_b.tau == 0,
        ]

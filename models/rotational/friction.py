"""Friction between shafts and in bearings, with sticking: see `modia_py.models.friction`.

The friction coefficient is a table of rows (angular velocity, coefficient), linear in between; the last two
rows are continued.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from modia_py import Discrete, Par, Var, der, where

from ..discrete_equations import follow
from ..friction import Friction
from ..tables import interpolate
from .components import CompliantWithAcceleration, Flange, Supported

Table = Sequence[Sequence[float]]


class Clutch(CompliantWithAcceleration, Friction):
    """A clutch: its plates are pressed together by fn = fn_max f_normalized.

        sliding: tau = cgeo mue(|w_rel|) fn, in the direction of w_rel;  free where fn <= 0
        stuck:   w_rel = 0, until |tau| exceeds peak cgeo mue(0) fn

    Parameters
    ----------
    mue_pos : sequence of pairs
        Rows of angular velocity and friction coefficient, from velocity zero on.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    peak = Par(1.0, doc="how much larger the largest friction at rest is, at least 1")
    cgeo = Par(1.0, unit="m", doc="geometry: number of surfaces times mean radius")
    fn_max = Par(1.0, unit="N", doc="largest normal force")
    w_small = Par(1e10, unit="rad/s", doc="beyond it a reversal is a jump; small only if velocities jump")
    f_normalized = Var(doc="normal force as a share of fn_max: a signal")
    fn = Var(unit="N", doc="normal force")

    def __init__(self, mue_pos: Table = ((0.0, 0.5),), **changes: Any):
        self.mue_pos = Par(mue_pos, doc="rows of angular velocity and friction coefficient")
        super().__init__(**changes)

    def equations(self) -> Any:
        tau0 = self.mue_pos[0, 1] * self.cgeo * self.fn
        return [
            *super().equations(),
            self.fn == self.fn_max * self.f_normalized,
            self.friction_equations(
                v=self.w_rel,
                a=self.a_rel,
                f=self.tau,
                f0=tau0,
                f0_max=self.peak * tau0,
                sliding=lambda w: self.cgeo * self.fn * interpolate(self.mue_pos, w),
                v_small=self.w_small,
                free=self.fn <= 0,
            ),
        ]


class OneWayClutch(CompliantWithAcceleration):
    """A clutch and a freewheel side by side: flange_b may only turn faster than flange_a, w_rel >= 0.

        sliding: tau = cgeo mu(w_rel) fn,  fn = fn_max f_normalized, 0 where f_normalized <= 0
        stuck:   w_rel = 0, until tau exceeds peak cgeo mu(0) fn; any negative torque is held

    Parameters
    ----------
    mu_pos : sequence of pairs
        Rows of angular velocity and friction coefficient, from velocity zero on.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    peak = Par(1.0, doc="how much larger the largest friction at rest is, at least 1")
    cgeo = Par(1.0, unit="m", doc="geometry: number of surfaces times mean radius")
    fn_max = Par(1.0, unit="N", doc="largest normal force")
    f_normalized = Var(doc="normal force as a share of fn_max: a signal")
    fn = Var(unit="N", doc="normal force")
    sa = Var(doc="parameter of the friction's curve: the torque if stuck")
    stuck = Discrete(False, doc="stuck, or about to slide at velocity zero")
    startForward = Discrete(False, doc="about to slide, at velocity zero")

    SLACK = 1e-4
    """By how much the torque to break away exceeds that of sliding, at least, as a share."""

    def __init__(self, mu_pos: Table = ((0.0, 0.5),), **changes: Any):
        self.mu_pos = Par(mu_pos, doc="rows of angular velocity and friction coefficient")
        super().__init__(**changes)

    def equations(self) -> Any:
        mu0 = self.mu_pos[0, 1]
        free = self.f_normalized <= 0
        tau0 = mu0 * self.cgeo * self.fn
        peak = where(self.peak > 1 + self.SLACK, self.peak, 1 + self.SLACK)
        tau0_max = where(free, self.SLACK * mu0 * self.cgeo * self.fn_max, peak * tau0)
        locked = self.stuck & ~self.startForward
        sliding = interpolate(self.mu_pos, self.w_rel) * self.cgeo * self.fn
        limit = where(self.stuck, where(self.startForward, tau0, tau0_max), 0.0)
        breaks = where(self.stuck, self.sa, -1.0) > limit
        moving = where(locked, 0.0, self.w_rel) > 0
        return [
            *super().equations(),
            self.fn == where(free, 0.0, self.fn_max * self.f_normalized),
            self.a_rel == where(locked, 0.0, self.sa - tau0),
            self.tau == where(locked, self.sa, where(free, 0.0, sliding)),
            follow(self.startForward, breaks),
            follow(self.stuck, ~moving),
        ]


class TwoFlangesWithFriction(Supported, Friction):
    """A shaft that rubs on its support: phi, w and a are against the support, tau brakes it."""

    flange_a = Flange()
    flange_b = Flange()
    w_small = Par(1e10, unit="rad/s", doc="beyond it a reversal is a jump; small only if velocities jump")
    phi = Var(unit="rad", doc="angle of the shaft against the support")
    w = Var(unit="rad/s", doc="angular velocity of the shaft against the support")
    a = Var(unit="rad/s2", doc="angular acceleration of the shaft against the support")
    tau = Var(unit="N.m", doc="friction torque")

    def equations(self) -> Any:
        return [
            self.flange_a.phi == self.phi + self.phi_support,
            self.flange_b.phi == self.flange_a.phi,
            self.w == der(self.phi),
            self.a == der(self.w),
            self.flange_a.tau + self.flange_b.tau == self.tau,
            self.support_equations(self.tau),
        ]


class Brake(TwoFlangesWithFriction):
    """A brake: its shoes are pressed on by fn = fn_max f_normalized.

        sliding: tau = cgeo mue(|w|) fn, in the direction of w;  free where fn <= 0
        stuck:   w = 0, until |tau| exceeds peak cgeo mue(0) fn

    Parameters
    ----------
    mue_pos : sequence of pairs
        Rows of angular velocity and friction coefficient, from velocity zero on.
    useSupport : bool
        Whether the flange `support` is there to be connected.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    peak = Par(1.0, doc="how much larger the largest friction at rest is, at least 1")
    cgeo = Par(1.0, unit="m", doc="geometry: number of surfaces times mean radius")
    fn_max = Par(1.0, unit="N", doc="largest normal force")
    f_normalized = Var(doc="normal force as a share of fn_max: a signal")
    fn = Var(unit="N", doc="normal force")

    def __init__(self, mue_pos: Table = ((0.0, 0.5),), useSupport: bool = False, **changes: Any):
        self.mue_pos = Par(mue_pos, doc="rows of angular velocity and friction coefficient")
        super().__init__(useSupport=useSupport, **changes)

    def equations(self) -> Any:
        tau0 = self.mue_pos[0, 1] * self.cgeo * self.fn
        return [
            *super().equations(),
            self.fn == self.fn_max * self.f_normalized,
            self.friction_equations(
                v=self.w,
                a=self.a,
                f=self.tau,
                f0=tau0,
                f0_max=self.peak * tau0,
                sliding=lambda w: self.cgeo * self.fn * interpolate(self.mue_pos, w),
                v_small=self.w_small,
                free=self.fn <= 0,
            ),
        ]


class BearingFriction(TwoFlangesWithFriction):
    """Friction in bearings.

        sliding: tau = tau_pos(|w|), in the direction of w
        stuck:   w = 0, until |tau| exceeds peak tau_pos(0)

    Parameters
    ----------
    tau_pos : sequence of pairs
        Rows of angular velocity and friction torque, from velocity zero on.
    useSupport : bool
        Whether the flange `support` is there to be connected.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    peak = Par(1.0, doc="how much larger the largest friction at rest is, at least 1")

    def __init__(self, tau_pos: Table = ((0.0, 1.0),), useSupport: bool = False, **changes: Any):
        self.tau_pos = Par(tau_pos, doc="rows of angular velocity and friction torque")
        super().__init__(useSupport=useSupport, **changes)

    def equations(self) -> Any:
        tau0 = self.tau_pos[0, 1]
        return [
            *super().equations(),
            self.friction_equations(
                v=self.w,
                a=self.a,
                f=self.tau,
                f0=tau0,
                f0_max=self.peak * tau0,
                sliding=lambda w: interpolate(self.tau_pos, w),
                v_small=self.w_small,
            ),
        ]

"""Friction of what slides, with sticking: see `modia_py.models.friction`; and hard and elastic stops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from modia_py import Par, Var, der, reinit, when, where

from ..friction import Friction
from ..tables import interpolate
from .components import CompliantWithVelocity, Flange, Rigid, Supported

Table = Sequence[Sequence[float]]


class TwoFlangesWithFriction(Supported, Friction):
    """What rubs on its support: s, v and a are against the support, f brakes it."""

    flange_a = Flange()
    flange_b = Flange()
    v_small = Par(1e-3, unit="m/s", doc="beyond it a reversal is a jump")
    s = Var(unit="m", doc="position against the support")
    v = Var(unit="m/s", doc="velocity against the support")
    a = Var(unit="m/s2", doc="acceleration against the support")
    f = Var(unit="N", doc="friction force")

    def equations(self) -> Any:
        return [
            self.flange_a.s == self.s + self.s_support,
            self.flange_b.s == self.flange_a.s,
            self.v == der(self.s),
            self.a == der(self.v),
            self.flange_a.f + self.flange_b.f == self.f,
            self.support_equations(self.f),
        ]


class Brake(TwoFlangesWithFriction):
    """A brake: its shoes are pressed on by fn = fn_max f_normalized.

        sliding: f = cgeo mue(|v|) fn, in the direction of v;  free where fn <= 0
        stuck:   v = 0, until |f| exceeds peak cgeo mue(0) fn

    Parameters
    ----------
    mue_pos : sequence of pairs
        Rows of velocity and friction coefficient, from velocity zero on.
    useSupport : bool
        Whether the flange `support` is there to be connected.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    peak = Par(1.0, doc="how much larger the largest friction at rest is, at least 1")
    cgeo = Par(1.0, doc="geometry: number of surfaces")
    fn_max = Par(1.0, unit="N", doc="largest normal force")
    f_normalized = Var(doc="normal force as a share of fn_max: a signal")
    fn = Var(unit="N", doc="normal force")

    def __init__(self, mue_pos: Table = ((0.0, 0.5),), useSupport: bool = False, **changes: Any):
        self.mue_pos = Par(mue_pos, doc="rows of velocity and friction coefficient")
        super().__init__(useSupport=useSupport, **changes)

    def equations(self) -> Any:
        f0 = self.mue_pos[0, 1] * self.cgeo * self.fn
        return [
            *super().equations(),
            self.fn == self.fn_max * self.f_normalized,
            self.friction_equations(
                v=self.v,
                a=self.a,
                f=self.f,
                f0=f0,
                f0_max=self.peak * f0,
                sliding=lambda v: self.cgeo * self.fn * interpolate(self.mue_pos, v),
                v_small=self.v_small,
                free=self.fn <= 0,
            ),
        ]


class SupportFriction(TwoFlangesWithFriction):
    """Friction on a support.

        sliding: f = f_pos(|v|), in the direction of v
        stuck:   v = 0, until |f| exceeds peak f_pos(0)

    Parameters
    ----------
    f_pos : sequence of pairs
        Rows of velocity and friction force, from velocity zero on.
    useSupport : bool
        Whether the flange `support` is there to be connected.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    peak = Par(1.0, doc="how much larger the largest friction at rest is, at least 1")

    def __init__(self, f_pos: Table = ((0.0, 1.0),), useSupport: bool = False, **changes: Any):
        self.f_pos = Par(f_pos, doc="rows of velocity and friction force")
        super().__init__(useSupport=useSupport, **changes)

    def equations(self) -> Any:
        f0 = self.f_pos[0, 1]
        return [
            *super().equations(),
            self.friction_equations(
                v=self.v,
                a=self.a,
                f=self.f,
                f0=f0,
                f0_max=self.peak * f0,
                sliding=lambda v: interpolate(self.f_pos, v),
                v_small=self.v_small,
            ),
        ]


class MassWithStopAndFriction(Rigid, Friction):
    """A sliding mass with Stribeck friction between two hard stops: m a = flange_a.f + flange_b.f - f.

        sliding:  f = F_Coulomb + F_prop |v| + F_Stribeck exp(-fexp |v|), in the direction of v
        stuck:    v = 0, until |f| exceeds F_Coulomb + F_Stribeck
        stopped:  flange_a.s = smin or flange_b.s = smax; the velocity is zero from then on

    Its position s and velocity v have to be independent of those of other masses.
    """

    m = Par(1.0, unit="kg", doc="mass")
    smax = Par(25.0, unit="m", doc="stop of flange_b")
    smin = Par(-25.0, unit="m", doc="stop of flange_a")
    v_small = Par(1e-3, unit="m/s", doc="beyond it a reversal is a jump")
    F_prop = Par(1.0, unit="N.s/m", doc="friction that grows with the velocity")
    F_Coulomb = Par(5.0, unit="N", doc="constant friction")
    F_Stribeck = Par(10.0, unit="N", doc="friction at rest that fades with the velocity")
    fexp = Par(2.0, unit="s/m", doc="how fast it fades")
    v = Var(unit="m/s", doc="velocity")
    a = Var(unit="m/s2", doc="acceleration")
    f = Var(unit="N", doc="friction force")

    BREAK = 1.001
    """How much more than the friction at rest makes it slide."""

    def equations(self) -> Any:
        lowest, highest = self.smin + self.L / 2, self.smax - self.L / 2
        ahead, behind = self.s < highest, self.s > lowest
        at_rest = self.F_Coulomb + self.F_Stribeck
        fading = self.F_Stribeck
        return [
            *super().equations(),
            self.v == der(self.s),
            self.a == der(self.v),
            self.m * self.a == self.flange_a.f + self.flange_b.f - self.f,
            self.friction_equations(
                v=self.v,
                a=self.a,
                f=self.f,
                f0=at_rest,
                f0_max=self.BREAK * at_rest,
                sliding=lambda v: self.F_prop * v + self.F_Coulomb + fading * np.exp(-self.fexp * v),
                v_small=self.v_small,
                room=(ahead, behind),
            ),
            when(~ahead, reinit(self.s, highest), reinit(self.v, 0.0)),
            when(~behind, reinit(self.s, lowest), reinit(self.v, 0.0)),
        ]


class ElastoGap(CompliantWithVelocity):
    """A gap that closes at s_rel = s_rel0, and an elastic stop that only pushes.

    s_rel < s_rel0:  f = f_c + f_d,  f_c = -c |s_rel - s_rel0|^n,  f_d = d v_rel within -|f_c| ... |f_c|
    else:            f = 0
    """

    c = Par(1.0, unit="N/m", doc="stiffness")
    d = Par(1.0, unit="N.s/m", doc="damping")
    s_rel0 = Par(0.0, unit="m", doc="length at which it makes contact")
    n = Par(1.0, doc="exponent of the spring, at least 1")

    def equations(self) -> Any:
        contact = self.s_rel < self.s_rel0
        # The power of what is positive only: its derivative exists for every exponent.
        spring = self.c * where(contact, self.s_rel0 - self.s_rel, 1.0) ** self.n
        damper = np.clip(self.d * self.v_rel, -spring, spring)
        return [*super().equations(), self.f == where(contact, damper - spring, 0.0)]

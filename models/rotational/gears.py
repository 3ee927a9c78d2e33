"""A gear whose teeth and bearings lose power, up to standing still under load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from modia_py import Par, Var, der, pre, where

from ..discrete_equations import follow
from ..friction import Friction, Mode
from ..tables import interpolate
from .components import TwoFlangesAndSupport


class LossyGear(TwoFlangesAndSupport, Friction):
    """A gear with the efficiency of its teeth and the friction of its bearings; it may stick.

        phi_a = ratio phi_b,  0 = ratio (flange_a.tau - tauLoss) + flange_b.tau
        w_a = der(phi_a),  a_a = der(w_a)
        stuck:             a_a = 0,                   tauLoss = sa
        sliding forward:   a_a = sa - tauLossMax,     tauLoss = tauLossMax
        sliding backward:  a_a = sa - tauLossMin,     tauLoss = tauLossMin

    With eta_mf1, eta_mf2, tau_bf1 and tau_bf2 from the table at |w_a|:

        flange_a.tau >= 0:  tauLossMax = (1 - eta_mf1) flange_a.tau + tau_bf1
                            tauLossMin = (1 - 1/eta_mf2) flange_a.tau - tau_bf2
        flange_a.tau < 0:   tauLossMax = (1 - 1/eta_mf2) flange_a.tau + tau_bf2
                            tauLossMin = (1 - eta_mf1) flange_a.tau - tau_bf1

    Parameters
    ----------
    lossTable : sequence of rows
        Angular velocity from zero on; efficiency of the teeth while flange_a drives (eta_mf1) and while
        flange_b does (eta_mf2); friction torque of the bearings in both cases (tau_bf1, tau_bf2).
    useSupport : bool
        Whether the flange `support` is there to be connected.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    ratio = Par(1.0, nonzero=True, doc="turns of flange_a for one of flange_b")
    w_a = Var(unit="rad/s", doc="angular velocity of flange_a against the support")
    a_a = Var(unit="rad/s2", doc="angular acceleration of flange_a against the support")
    tauLoss = Var(unit="N.m", doc="torque that is lost, at flange_a")

    def __init__(
        self,
        lossTable: Sequence[Sequence[float]] = ((0.0, 1.0, 1.0, 0.0, 0.0),),
        useSupport: bool = False,
        **changes: Any,
    ):
        self.lossTable = Par(lossTable, doc="rows of velocity, eta_mf1, eta_mf2, tau_bf1, tau_bf2")
        super().__init__(useSupport, **changes)

    def equations(self) -> Any:
        tau_a, v = self.flange_a.tau, self.w_a
        is_stuck = self.mode == Mode.STUCK
        slides_forward = (self.mode == Mode.FORWARD) | self.startForward
        slides_backward = (self.mode == Mode.BACKWARD) | self.startBackward
        locked = ~slides_forward & ~slides_backward
        # A velocity that is zero while it sticks, up to rounding, must not make events.
        moving = where(locked & ~(self.mode == Mode.UNKNOWN), 0.0, v)
        most, least = self._losses(tau_a, np.abs(v))
        begins = pre(self.mode) == Mode.UNKNOWN
        never = pre(self.mode) < Mode.BACKWARD
        return [
            *super().equations(),
            self.phi_a == self.ratio * self.phi_b,
            self.ratio * (tau_a - self.tauLoss) + self.flange_b.tau == 0,
            self.w_a == der(self.phi_a),
            self.a_a == der(self.w_a),
            self.a_a == where(locked, 0.0, self.sa - where(slides_forward, most, least)),
            self.tauLoss == where(locked, self.sa, where(slides_forward, most, least)),
            follow(self.startForward, (where(is_stuck, self.sa - most, -1.0) > 0) | begins & (moving > 0)),
            follow(
                self.startBackward, (where(is_stuck, least - self.sa, -1.0) > 0) | begins & (moving < 0)
            ),
            self._next_mode(never, moving > 0, moving < 0),
        ]

    def _losses(self, tau: Any, speed: Any) -> tuple[Any, Any]:
        """The torque that is lost while it slides forward, and while it slides backward."""
        velocity = self.lossTable[:, :1]
        eta1, eta2, friction1, friction2 = (
            interpolate(np.concatenate([velocity, self.lossTable[:, k : k + 1]], axis=1), speed)
            for k in range(1, 5)
        )
        drives, driven = (1 - eta1) * tau, (1 - 1 / eta2) * tau
        is_positive = tau >= 0
        most = where(is_positive, drives + friction1, driven + friction2)
        least = where(is_positive, driven - friction2, drives - friction1)
        return most, least

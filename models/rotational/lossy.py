"""A gear that loses power between its teeth and in its bearings, and may get stuck."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from modia_py import Par, Var, der, pre, where

from ..discrete_equations import follow
from ..friction import Friction, Mode
from ..tables import interpolate
from .components import TwoFlangesAndSupport

IDEAL = ((0.0, 1.0, 1.0, 0.0, 0.0),)
"""Of `lossTable`: no losses."""


class LossyGear(TwoFlangesAndSupport, Friction):
    """A gear with losses: phi_a = ratio phi_b, 0 = ratio (flange_a.tau - tauLoss) + flange_b.tau.

    The efficiencies eta1 (flange_a drives) and eta2 (flange_b drives) and the friction torques of bearings
    bf1, bf2 are functions of the speed |w_a|, w_a = der(phi_a), given by `lossTable`::

        turning forward:   tauLoss = (1 - eta1) flange_a.tau + bf1    if flange_a.tau >= bf_a
                           tauLoss = (1 - 1/eta2) flange_a.tau + bf2  else
        turning backward:  tauLoss = (1 - 1/eta2) flange_a.tau - bf2  if flange_a.tau >= -bf_a
                           tauLoss = (1 - eta1) flange_a.tau - bf1    else
        stuck:             w_a = 0, until tauLoss exceeds what it would be turning slowly

    where bf_a = (bf1 - bf2)/(eta1 - 1/eta2), or bf1/2 where both efficiencies are 1. Which side drives is
    an event. `mode` is -1 turning backward, 0 stuck, 1 turning forward; without losses it is 3.

    Parameters
    ----------
    lossTable : sequence of rows
        Rows of |w_a|, eta1, eta2, bf1 and bf2; linear in between, the last two rows continued.
    useSupport : bool
        Whether the flange `support` is there to be connected.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    ratio = Par(1.0, nonzero=True, doc="turns of flange_a for one of flange_b")
    w_a = Var(unit="rad/s", doc="speed of flange_a against the support")
    a_a = Var(unit="rad/s2", doc="acceleration of flange_a against the support")
    tauLoss = Var(unit="N.m", doc="torque that is lost, seen from flange_a")
    lossPower = Var(unit="W", doc="power that becomes heat")

    def __init__(
        self, lossTable: Sequence[Sequence[float]] = IDEAL, useSupport: bool = False, **changes: Any
    ):
        rows = np.atleast_2d(np.asarray(lossTable, float))
        self.ideal = np.array_equal(rows, IDEAL)
        if not self.ideal:
            self.lossTable = Par(rows, doc="rows of speed, two efficiencies, two friction torques")
        super().__init__(useSupport=useSupport, **changes)

    def equations(self) -> Any:
        return [
            *super().equations(),
            self.phi_a == self.ratio * self.phi_b,
            self.w_a == der(self.phi_a),
            self.a_a == der(self.w_a),
            self.ratio * (self.flange_a.tau - self.tauLoss) + self.flange_b.tau == 0,
            self.lossPower == self.tauLoss * self.w_a,
            *(self._without_losses() if self.ideal else self._with_losses()),
        ]

    def _without_losses(self) -> Any:
        still = [follow(d, pre(self.mode) < Mode.BACKWARD) for d in (self.startForward, self.startBackward)]
        return [self.tauLoss == 0, self.sa == self.a_a, *still]

    def _with_losses(self) -> Any:
        tau, sa = self.flange_a.tau, self.sa
        is_stuck = self.mode == Mode.STUCK
        forward = (self.mode == Mode.FORWARD) | self.startForward
        backward = (self.mode == Mode.BACKWARD) | self.startBackward
        locked = ~forward & ~backward
        now, slowly = self._losses(np.abs(self.w_a)), self._losses(0.0)
        # Which side drives is watched where it decides.
        a_drives = where(locked, tau, where(forward, tau - now.at_a, tau + now.at_a)) >= 0
        ahead = where(a_drives, now.by_a(tau, 1), now.by_b(tau, 1))
        behind = where(a_drives, now.by_b(tau, -1), now.by_a(tau, -1))
        most = np.where(tau > slowly.at_a, slowly.by_a(tau, 1), slowly.by_b(tau, 1))
        least = np.where(tau > -slowly.at_a, slowly.by_b(tau, -1), slowly.by_a(tau, -1))
        moving = where(locked & ~(self.mode == Mode.UNKNOWN), 0.0, self.w_a)
        begins = pre(self.mode) == Mode.UNKNOWN
        never = pre(self.mode) < Mode.BACKWARD
        return [
            self.a_a == where(locked, 0.0, sa - self.tauLoss),
            self.tauLoss == where(locked, sa, where(forward, ahead, behind)),
            follow(self.startForward, (where(is_stuck, sa - most, -1.0) > 0) | begins & (moving > 0)),
            follow(self.startBackward, (where(is_stuck, least - sa, -1.0) > 0) | begins & (moving < 0)),
            self._next_mode(never, moving > 0, moving < 0),
        ]

    def _losses(self, speed: Any) -> Losses:
        table = self.lossTable
        eta1, eta2, first, second = (
            interpolate(np.stack([table[:, 0], table[:, k]], axis=1), speed) for k in range(1, 5)
        )
        first, second = np.abs(first), np.abs(second)
        between = eta1 - 1 / eta2
        is_none = np.abs(between) < 1e-15
        at_a = np.where(is_none, first / 2, (first - second) / np.where(is_none, 1.0, between))
        return Losses(eta1, eta2, first, second, at_a)


class Losses:
    """The losses at one speed: efficiencies, friction of bearings, and its part at flange_a."""

    def __init__(self, eta1: Any, eta2: Any, first: Any, second: Any, at_a: Any):
        self.eta1, self.eta2, self.first, self.second, self.at_a = eta1, eta2, first, second, at_a

    def by_a(self, tau: Any, sign: int) -> Any:
        """tauLoss where the efficiency is that of flange_a driving."""
        return (1 - self.eta1) * tau + sign * self.first

    def by_b(self, tau: Any, sign: int) -> Any:
        """tauLoss where the efficiency is that of flange_b driving."""
        return (1 - 1 / self.eta2) * tau + sign * self.second

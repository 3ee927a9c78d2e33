"""Play between two shafts, with an elastic stop at both ends that only pushes."""

from __future__ import annotations

from typing import Any

import numpy as np

from modia_py import Par, where

from .components import CompliantWithVelocity

SMALLEST_PLAY = 1e-10
"""Less play, in rad, is none: the component is a spring with a damper."""


class Backlash(CompliantWithVelocity):
    """What play has in common: the torques of spring and damper beyond +-b/2 about phi_rel0."""

    c = Par(1e5, unit="N.m/rad", doc="stiffness")
    d = Par(0.0, unit="N.m.s/rad", doc="damping")
    b = Par(0.0, unit="rad", doc="play in all")
    phi_rel0 = Par(0.0, unit="rad", doc="angle in the middle of the play")

    def torque(self, ahead: Any, behind: Any) -> Any:
        """The torque, from functions of those of spring and damper where it pushes forward and backward."""
        angle, damper = self.phi_rel - self.phi_rel0, self.d * self.w_rel
        without_play = self.b <= SMALLEST_PLAY
        half = np.where(without_play, np.inf, self.b / 2)  # without play nothing is watched
        inside = where(without_play, self.c * angle + damper, 0.0)
        forward = ahead(self.c * (angle - self.b / 2), damper)
        backward = behind(self.c * (angle + self.b / 2), damper)
        return where(angle > half, forward, where(angle < -half, backward, inside))


class ElastoBacklash(Backlash):
    """Play, and an elastic stop whose torque begins at zero: the damper never exceeds the spring.

    Beyond the play: tau = c (phi_rel - phi_rel0 -+ b/2) + d w_rel, between zero and twice the torque of the
    spring. Within it: tau = 0.
    """

    def equations(self) -> Any:
        return [
            *super().equations(),
            self.tau
            == self.torque(
                lambda spring, damper: np.clip(spring + damper, 0.0, 2 * spring),
                lambda spring, damper: np.clip(spring + damper, 2 * spring, 0.0),
            ),
        ]


class ElastoBacklash2(Backlash):
    """Play, and an elastic stop whose torque jumps at the contact, by that of the damper.

    Beyond the play: tau = c (phi_rel - phi_rel0 -+ b/2) + d w_rel, or zero where this would pull. Within
    it: tau = 0.
    """

    def equations(self) -> Any:
        return [
            *super().equations(),
            self.tau
            == self.torque(
                lambda spring, damper: np.maximum(spring + damper, 0.0),
                lambda spring, damper: np.minimum(spring + damper, 0.0),
            ),
        ]

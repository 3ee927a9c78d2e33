"""Coulomb friction with sticking: the equations and the modes that all friction components have in common.

Stuck, a component has the acceleration zero and whatever force this takes; sliding, it has a force given
by the velocity. Both are branches of one curve with the parameter `sa`:

    stuck:             a = 0,            f = sa
    sliding forward:   a = sa - f0_max,  f = f(v)
    sliding backward:  a = sa + f0_max,  f = -f(-v)
    free:              a = sa,           f = 0

It sticks when the velocity reaches zero, and breaks away when |sa| exceeds f0_max; while it begins to move,
at velocity zero, `startForward` or `startBackward` is true. Within one event the modes change as often as
coupled components need until they fit together.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np

from modia_py import Discrete, Model, Var, assign, initial, pre, when, where

from .discrete_equations import follow


class Mode(IntEnum):
    """What a friction component does."""

    BACKWARD = -1
    STUCK = 0
    FORWARD = 1
    FREE = 2
    UNKNOWN = 3


class Friction(Model):
    """Modes of friction: -1 sliding backward, 0 stuck, 1 sliding forward, 2 free, 3 not yet known."""

    sa = Var(doc="parameter of the friction's curve: the force if stuck")
    mode = Discrete(int(Mode.UNKNOWN), doc="-1 backward, 0 stuck, 1 forward, 2 free, 3 unknown")
    startForward = Discrete(False, doc="about to slide forward, at velocity zero")
    startBackward = Discrete(False, doc="about to slide backward, at velocity zero")

    def friction_equations(
        self,
        v: Any,
        a: Any,
        f: Any,
        f0: Any,
        f0_max: Any,
        sliding: Callable[[Any], Any],
        v_small: Any,
        free: Any = None,
        room: tuple[Any, Any] | None = None,
    ) -> Any:
        """The equations of friction.

        `v` and `a` are velocity and acceleration, `f` the force, `f0` its size for sliding slowly, `f0_max`
        the size at which it breaks away; `sliding` gives its size at a velocity that is not negative. A
        reversal to a velocity beyond `v_small` is a jump, after which it slides the other way. `free` is
        the condition that nothing is transmitted, `room` the two that it may move forward and backward.
        """
        free = pre(self.mode) < Mode.BACKWARD if free is None else free  # never
        ahead, behind = (None, None) if room is None else room
        slides_forward = (self.mode == Mode.FORWARD) | self.startForward
        slides_backward = (self.mode == Mode.BACKWARD) | self.startBackward
        locked = ~free & ~slides_forward & ~slides_backward
        forward, backward = sliding(np.maximum(v, 0.0)), -sliding(np.maximum(-v, 0.0))

        # Velocities and forces are watched only where they decide: a velocity that is zero while it sticks,
        # up to rounding, must not make events.
        is_stuck = self.mode == Mode.STUCK
        moving = where(locked & ~(self.mode == Mode.UNKNOWN), 0.0, v)
        breaks_forward = where(is_stuck, self.sa, -1.0) > self._limit(self.startForward, f0, f0_max)
        breaks_backward = where(is_stuck, -self.sa, -1.0) > self._limit(self.startBackward, f0, f0_max)
        jumps_forward = where(self.mode == Mode.BACKWARD, v, -1.0) > v_small
        jumps_backward = where(self.mode == Mode.FORWARD, -v, -1.0) > v_small
        begins = pre(self.mode) == Mode.UNKNOWN
        return [
            a == where(locked, 0.0, self.sa - where(free, 0.0, where(slides_forward, f0_max, -f0_max))),
            f == where(locked, self.sa, where(free, 0.0, where(slides_forward, forward, backward))),
            follow(self.startForward, both(breaks_forward, ahead) | jumps_forward | begins & (moving > 0)),
            follow(
                self.startBackward, both(breaks_backward, behind) | jumps_backward | begins & (moving < 0)
            ),
            self._next_mode(free, both(moving > 0, ahead), both(moving < 0, behind)),
        ]

    def _limit(self, starts: Any, f0: Any, f0_max: Any) -> Any:
        """The force beyond which it begins, or goes on, to slide; of no account unless it is stuck."""
        return where(self.mode == Mode.STUCK, where(starts, f0, f0_max), 0.0)

    def _next_mode(self, free: Any, forward: Any, backward: Any) -> Any:
        mode = pre(self.mode)
        was_free = mode == Mode.FREE
        to_forward = ~free & ((mode == Mode.FORWARD) | was_free | self.startForward) & forward
        to_backward = ~free & ((mode == Mode.BACKWARD) | was_free | self.startBackward) & backward
        to_stuck = ~free & ~to_forward & ~to_backward
        chosen = where(
            to_forward, int(Mode.FORWARD), where(to_backward, int(Mode.BACKWARD), int(Mode.STUCK))
        )
        # A condition for each mode: after a change the one that made it is false, and another may act.
        changes = [
            free & ~was_free,
            to_forward & ~(mode == Mode.FORWARD),
            to_backward & ~(mode == Mode.BACKWARD),
            to_stuck & ~(mode == Mode.STUCK),
        ]
        return when([initial(), *changes], assign(self.mode, where(free, int(Mode.FREE), chosen)))


def both(condition: Any, other: Any) -> Any:
    """Whether both conditions hold, or the first if there is no other."""
    return condition if other is None else condition & other

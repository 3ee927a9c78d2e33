"""The derivative of the event at the start, where it sets values anew.

The equations of the start give values; what `initial()` and samples at this instant make of them are passes
as at any event, but for the first one, in which conditions do not fire because they are true. The instant
does not move.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np

from ..program.program import Program
from ..solvers.sensitivity.lifted import Jets
from ..solvers.sensitivity.moves import slope
from ..start.problem import BeforeEvent
from .event_derivative import EventDerivative, Pass
from .linear_maps import Held, LinearMaps
from .recording import Leg


class StartHappened(NamedTuple):
    """The event at a start as it was."""

    others: Any
    """What cannot move, of the data that the first pass has seen,"""
    moving: Any
    """and what can."""
    after: Held | None
    """After the first pass, if it has set states,"""
    passes: tuple[Pass, ...]
    """those that followed,"""
    end: Held
    """and where they have led."""


def declared_discretes(program: Program, base: Any) -> Any:
    """Discrete values before the start, in p as it was then."""
    assert program.events is not None
    size = program.events.functions.parameter_size
    return base[0][size : size + program.events.discrete_size]


def with_values_of(found: Any, base: Any) -> Any:
    """The derivative of data before the start, with the values that the start has found."""
    return (base[0] - jax.lax.stop_gradient(base[0]) + found[0], *base[1:])


class StartEventDerivative:
    """(x, xdot, p before the start) -> (x, xdot, p) after the event, for the starts of one program."""

    def __init__(self, program: Program, linear: LinearMaps, events: EventDerivative):
        self.program, self.linear, self.events = program, linear, events
        self.jets = Jets(self._happen, linear.jit)

    def _happen(self, known: StartHappened, x: Any, xdot: Any, base: Any) -> Any:
        linear, events, t = self.linear, self.program.events, known.end.at.t
        assert events is not None
        a = linear.join(with_values_of(known.moving, base), known.others)
        x, a, _ = events.at_start(t, x, xdot, a, declared_discretes(self.program, base))
        moving = linear.moving_of(a)
        if known.after is not None:
            x, xdot, moving = self.events.restarted(t, x, moving, known.after)
        x, moving = self.events.through(t, x, xdot, moving, known.passes, known.end)
        end = known.end
        return x, slope(linear.equations(end), end.factors, end.at, t, x, moving), moving

    def happened(self, before: BeforeEvent, leg: Leg, keep: list[Any]) -> StartHappened:
        """What the derivative needs of an event before this leg."""
        t, a = float(leg.start.t), before.first
        x, xdot, after = before.x, before.xdot, None
        if before.x_set is not None:
            after, a = self.events.restart(t, before.x_set, xdot, a, keep)
            x, xdot = np.asarray(after.at.x), np.asarray(after.at.xdot)
        passes = self.events.passes(t, x, xdot, a, 1, keep)
        moving, others = self.linear.parts(before.arguments)
        end = self.linear.hold(leg.start, leg.arguments, keep)
        return StartHappened(others, moving, after, passes, end)

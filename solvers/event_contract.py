"""The discrete part of a problem: what is constant between events, and how it changes at one.

Discrete values are part of the parameters p. An event is one instant: values just before it (x, xdot, p)
become values just after it. It takes some passes. Each pass looks at x and xdot as they are now and says
which discrete values change, and which states are set anew; then x and xdot follow from the equations
(`restart`). When a pass changes nothing any more, the event is over (`handle`).

All functions are pure and traced by JAX, so that an event needs no Python.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any


class Occasion(IntEnum):
    """Why there is an event.

    Attributes
    ----------
    DURING
        A crossing or a time event on the way.
    INITIAL
        The run starts.
    TERMINAL
        The run ends.
    """

    DURING = 0
    INITIAL = 1
    TERMINAL = 2


class Effect(IntEnum):
    """What a pass of an event has changed.

    Attributes
    ----------
    NOTHING
        The event is over.
    CONDITIONS
        Discrete values that no equation contains: another pass is to be made, with the same x and xdot.
    EQUATIONS
        States or values in equations: x and xdot are to be computed anew.
    """

    NOTHING = 0
    CONDITIONS = 1
    EQUATIONS = 2


@dataclass(frozen=True, eq=False)
class Events:
    """What happens at the events of a problem.

    Parameters
    ----------
    crossings : callable
        crossings(t, x, xdot, p) -> array: positive while nothing happens; an event is where one ceases to
        be.
    next_time : callable
        next_time(t, p) -> the first time after t at which there is an event, infinite if there is none.
    begin : callable
        begin(t, x, xdot, p, occasion) -> p with what is known at the instant before the first pass.
    one_pass : callable
        one_pass(t, x, xdot, p, number) -> (x, p, effect): discrete values from the present ones, states
        that are set anew, and what follows from it (`Effect`). Passes are numbered from 0.
    settle : callable
        settle(t, x, xdot, p) -> p when nothing changes any more: crossings are positive for it.
    discretes : callable
        discretes(p) -> vector of the discrete values, for the record of events.
    with_discretes : callable
        with_discretes(p, d) -> p with such a vector of discrete values.
    ends : callable
        ends(p) -> a `Status` as a number: RUNNING, or with what the run is to end here.
    row_flags : callable
        row_flags(p) -> flags of the rows that contain derivatives as long as p holds: an equation that
        switches may be a constraint in one mode and none in another.
    with_row_flags : callable
        with_row_flags(p, flags) -> p.
    must_restart : callable
        must_restart(p) -> whether the integration starts anew after every event, also where the equations
        go on as they were: for derivatives, which may change there.
    slopes : array of bool, optional
        Of the elements of x, whether crossings may depend on its slope; None: on all. Unknowns that x has
        integrals of take part in the error test only for this: between steps they are known as well as
        their integrals are, and so is the time at which something crosses.
    has_terminal : bool
        Whether something may happen at the end of a run because it is the end.
    """

    crossings: Callable[[Any, Any, Any, Any], Any]
    next_time: Callable[[Any, Any], Any]
    begin: Callable[[Any, Any, Any, Any, Any], Any]
    one_pass: Callable[[Any, Any, Any, Any, Any], tuple[Any, Any, Any]]
    settle: Callable[[Any, Any, Any, Any], Any]
    discretes: Callable[[Any], Any]
    with_discretes: Callable[[Any, Any], Any]
    ends: Callable[[Any], Any]
    row_flags: Callable[[Any], Any]
    with_row_flags: Callable[[Any, Any], Any]
    must_restart: Callable[[Any], Any] = lambda p: False
    slopes: Any = None
    has_terminal: bool = False

"""A run as derivatives see it: legs of steps between starts, and the rows of output in them.

A run is made twice: once for the values at the wanted times, with all that a simulation checks, and once
more with a row at every step. Both take the same steps. A leg begins at the start of the run, behind a stop
(where an input jumps or bends) or behind an event; with it p changes, never within it. Where an event was
located within a step, the step is taken to end there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import ModelError, SimulationError
from ..program.program import Arguments, Program
from ..program.run_plan import make_plan
from ..program.signals import Signals, make_signals
from ..program.stretches import Stretch
from ..results.result import Result
from ..simulation.request import RunRequest
from ..simulation.run import Run, integrate
from ..solvers.sensitivity.moves import Made, Point
from ..solvers.solution import EventRecord
from ..start.events import with_rows_of_mode
from ..start.problem import StartPoint

DIFFERENTIATED = ("bdf",)
"""Methods whose steps are."""


@dataclass(frozen=True, eq=False)
class Leg:
    """Steps from a start on, with what is constant on them; and which rows of output lie in them."""

    start: Point
    at: Point
    """Ends of the steps."""
    made: Made
    arguments: Arguments
    event: EventRecord | None
    """What the leg begins with, if it is an event,"""
    stretch: Stretch | None
    """or a stop."""
    rows: np.ndarray
    """Of the wanted times, those within the leg,"""
    step: np.ndarray
    """in which step each is; -1 at the start."""

    @property
    def count(self) -> int:
        return len(self.at.t)

    @property
    def end(self) -> Point:
        """Where the last step ends."""
        return Point(*(part[-1] for part in self.at)) if self.count else self.start


@dataclass(frozen=True, eq=False)
class Recording:
    """All of a run that derivatives need."""

    signals: Signals
    arguments: Arguments
    """As they were before the start."""
    point: StartPoint
    start_arguments: Arguments
    """As they are after the start."""
    legs: tuple[Leg, ...]
    output: Point
    """At the wanted times, as the result has them; with the times that the equations see."""
    result: Result
    asked: RunRequest


def check_method(asked: RunRequest) -> None:
    """Complain about a method whose steps have no derivatives."""
    if asked.method not in DIFFERENTIATED:
        raise ModelError(
            f"Runs by method {asked.method!r} are not differentiated: use method={DIFFERENTIATED[0]!r}, or "
            f"`simulate` for values alone."
        )


def record(sim: Any, asked: RunRequest) -> Recording:
    """Run a model, and run it again with a row at every step."""
    check_method(asked)
    asked = replace(asked, must_restart=True)
    run, program, arguments, point, seconds = sim._run(asked)
    result = sim._result(program, arguments, point, run, seconds)
    if run.status.failed:
        raise SimulationError(f"{sim.name}: {run.message}", result)
    assert run.options is not None
    options = run.options
    signals = make_signals(sim.flat, asked.inputs, options.start, options.stop)
    before = Arguments(sim._values.vector(dict(asked.params or {}), asked.init), signals.data)
    chosen = run.outputs.asked_rows(options.times) if run.outputs is not None else np.zeros(0, int)
    (span,) = run.spans
    if len(chosen) < len(options.times):
        raise SimulationError(
            f"{sim.name}: the run ended at time {run.end:g}, before the last time that was asked for. "
            f"{run.message}",
            result,
        )
    size = program.problem.size
    x, xdot = (_padded(part[chosen], size) for part in (span.x, span.xdot))
    output = Point(span.seen[chosen], x, xdot)
    if program.functions.size:
        plan = make_plan(program, signals, before, options.start, options.stop)
        steps = integrate(program, arguments, point, replace(options, times=None), plan)
        if steps.status.failed:
            raise SimulationError(f"{sim.name}: {steps.message}", result)
        legs = _legs(program, steps, arguments, span.t[chosen])
    else:
        legs = (_still(program, arguments, options.start, span.t[chosen]),)
    return Recording(signals, before, point, arguments, legs, output, result, asked)


def _padded(rows: np.ndarray, size: int) -> np.ndarray:
    return rows if rows.shape[1] == size else np.zeros((len(rows), size))


def _still(program: Program, arguments: Arguments, t: float, times: np.ndarray) -> Leg:
    """A model without unknowns for the integrator: all rows are at its start."""
    nothing = np.zeros(1)
    none = Point(np.zeros(0), np.zeros((0, 1)), np.zeros((0, 1)))
    made = Made(np.zeros(0), np.zeros(0), np.zeros(0, int))
    rows = np.arange(len(times))
    return Leg(Point(t, nothing, nothing), none, made, arguments, None, None, rows, np.full(len(rows), -1))


def _legs(program: Program, run: Run, arguments: Arguments, times: np.ndarray) -> tuple[Leg, ...]:
    (span,) = run.spans
    assert run.steps is not None
    _, order = run.steps
    events = {event.row: event for event in run.events}
    if not all(event.has_rows for event in run.events):
        raise SimulationError(
            f"{program.structure.flat.name}: {len(run.events)} events of so large a model are too many for "
            f"derivatives."
        )
    stops = dict(zip(run.restarts, run.stretches[1:], strict=False))
    firsts = sorted({0, *events, *stops})
    legs: list[Leg] = []
    number, held = 0, arguments.signals
    for first, end in zip(firsts, (*firsts[1:], len(span.t)), strict=True):
        if first in stops or first == 0:
            number += first in stops
            stretch = run.stretches[number]
            held = arguments.signals._replace(
                first=np.float64(stretch.first), last=np.float64(stretch.last)
            )
        own = arguments._replace(signals=held)
        start = Point(span.t[first], span.x[first], span.xdot[first])
        if program.events is not None:
            own = program.with_discretes(own, span.discretes[first])
            own = with_rows_of_mode(program, float(start.t), start.x, start.xdot, own)
        inside = first + 1 + np.flatnonzero(np.diff(span.t[first:end]) > 0)
        made = _made(np.append(start.t, span.t[inside]), order[inside])
        at = Point(span.t[inside], span.x[inside], span.xdot[inside])
        legs.append(
            Leg(start, at, made, own, events.get(first), stops.get(first), np.zeros(0, int), np.zeros(0))
        )
    return _with_rows(legs, times)


def _made(t: np.ndarray, order: np.ndarray) -> Made:
    """Steps between these times. The order of one that ends at an event is that of the one before it, and
    no formula reaches behind the start."""
    h, order = np.diff(t), order.copy()
    for k in range(len(h)):
        if order[k] == 0:
            order[k] = order[k - 1] if k else 1
        order[k] = min(order[k], k + 1)
    return Made(h, np.concatenate([h[:1], h[:-1]]), order)


def _with_rows(legs: list[Leg], times: np.ndarray) -> tuple[Leg, ...]:
    """Each wanted time belongs to the last leg that begins before or at it."""
    starts = np.array([leg.start.t for leg in legs])
    of_row = np.searchsorted(starts, times, side="right") - 1
    found = []
    for number, leg in enumerate(legs):
        rows = np.flatnonzero(of_row == number)
        step = np.searchsorted(leg.at.t, times[rows], side="left")
        step = np.where(times[rows] <= leg.start.t, -1, np.minimum(step, leg.count - 1))
        found.append(replace(leg, rows=rows, step=step))
    return tuple(found)

"""A run as derivatives see it: legs of steps between starts, and the rows of output in them.

For derivatives a run is made twice: once for the values at the wanted times, with all that a simulation
checks, and once more with a row at every step. Both take the same steps. A leg begins at the start of the
run, behind a stop (where an input jumps or bends) or behind an event; with it p changes, never within it.
Where an event was located within a step, the step is taken to end there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
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
from .linear_maps import NoDerivative
from .step_store import StepRows, StepStore

DIFFERENTIATED = ("bdf", "radau", "inline-bdf")
"""Methods whose steps are."""
PART_FOR_STEPS = 0.4
"""Of the memory that is allowed: points of steps. The rest is for what is computed from them."""
AT_ONCE = 256
SHORTENED_ORDER = 2
"""Least order of steps that were shortened for derivatives: for a run at rest the first one is enough."""


@dataclass(frozen=True, eq=False)
class Leg:
    """Steps from a start on, with what is constant on them; and which rows of output lie in them."""

    start: Point
    end: Point
    """Where the last step ends."""
    t: np.ndarray
    """Ends of the steps."""
    made: Made
    inside: np.ndarray
    """Their rows in the store"""
    store: StepStore | None
    arguments: Arguments
    event: EventRecord | None
    """What the leg begins with, if it is an event,"""
    stretch: Stretch | None
    """or a stop."""
    stages: int
    """How many rows in the store a step has."""
    rows: np.ndarray
    """Of the wanted times, those within the leg,"""
    step: np.ndarray
    """in which step each is; -1 at the start."""

    @property
    def count(self) -> int:
        return len(self.t)

    def points(self, steps: slice) -> tuple[np.ndarray, np.ndarray]:
        """x and xdot at the points of some steps: at the ends, or with an axis of stages at all of them."""
        assert self.store is not None
        if self.stages == 1:
            return self.store.take(self.inside[steps])
        first, end, _ = steps.indices(self.count)
        x, xdot = self.store.take(self.inside[self.stages * first : self.stages * end])
        return x.reshape(end - first, self.stages, -1), xdot.reshape(end - first, self.stages, -1)

    def fastest(self) -> np.ndarray:
        """The largest xdot, element by element."""
        found = np.maximum(np.abs(self.start.xdot), np.abs(self.end.xdot))
        for first in range(0, self.count, AT_ONCE):
            _, xdot = self.points(slice(first, first + AT_ONCE))
            found = np.maximum(found, np.abs(xdot).reshape(-1, len(found)).max(axis=0))
        return found


@dataclass(eq=False)
class Recording:
    """All of a run that derivatives need; its steps are found when they are asked for."""

    program: Program
    signals: Signals
    arguments: Arguments
    """As they were before the start."""
    point: StartPoint
    start_arguments: Arguments
    """As they are after the start."""
    output: Point
    """At the wanted times, as the result has them; with the times that the equations see."""
    result: Result
    asked: RunRequest
    find_legs: Callable[[float], tuple[Leg, ...]]
    """Steps are not longer than this."""
    longest: float = np.inf
    lock: Lock = field(default_factory=Lock)
    work: Lock = field(default_factory=Lock)
    """Held by who takes derivatives."""
    found: tuple[Leg, ...] | None = None
    resolved: set[Any] = field(default_factory=set)
    """Names by which tangents were found accurate."""
    jump: str | None = None
    """What there is to say of a jump that is no event; empty if there is none, None before it is known."""

    @property
    def bytes(self) -> float:
        """What it takes in memory, about."""
        stores = [leg.store for leg in self.found or () if leg.store is not None]
        rows = stores[0].rows.count - stores[0].rows.first if stores else 0
        return 16.0 * self.output.x.shape[-1] * (rows + len(self.output.t))

    @property
    def is_whole(self) -> bool:
        """Whether all points of its steps are in memory."""
        return all(leg.store is None or leg.store.is_whole for leg in self.legs)

    @property
    def legs(self) -> tuple[Leg, ...]:
        with self.lock:
            if self.found is None:
                self.found = self.find_legs(self.longest)
            return self.found

    @property
    def longest_step(self) -> float:
        """Of those that were made."""
        return max((float(leg.made.h.max()) for leg in self.legs if leg.count), default=0.0)

    @property
    def steps(self) -> int:
        """How many were made."""
        return sum(leg.count for leg in self.legs)

    def shorten(self, longest: float) -> None:
        """Make steps that are not longer than this."""
        with self.lock:
            self.longest, self.found = longest, None


def check_method(asked: RunRequest) -> None:
    """Complain about a method whose steps have no derivatives."""
    if asked.method not in DIFFERENTIATED:
        raise ModelError(
            f"Runs by method {asked.method!r} are not differentiated: use "
            f"{' or '.join(f'method={name!r}' for name in DIFFERENTIATED)}, or `simulate` for values alone."
        )


def record(sim: Any, asked: RunRequest, memory: float, moving: Sequence[str] = ()) -> Recording:
    """Run a model. The same run with a row at every step is made when derivatives are asked for; with stops
    at all knots of tables that are `moving`: what bends there for other values has a tangent that bends."""
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
    output, times = Point(span.seen[chosen], x, xdot), span.t[chosen]

    def find_legs(longest: float) -> tuple[Leg, ...]:
        if not program.functions.size and program.events is None:
            return (_still(arguments, options.start, times),)
        moved = make_signals(sim.flat, _bent(asked.inputs, moving), options.start, options.stop)
        plan = make_plan(program, moved, before, options.start, options.stop)
        stretches = (replace(own, longest_step=min(own.longest_step, longest)) for own in plan.stretches)
        plan = replace(plan, stretches=tuple(stretches))

        def run_again(rows: StepRows) -> Run:
            return integrate(program, arguments, point, replace(options, times=None, rows=rows), plan)

        rows = StepRows(memory * PART_FOR_STEPS)
        steps = run_again(rows)
        if steps.status.failed:
            raise NoDerivative(f"{sim.name}: the run could not be repeated. {steps.message}")
        least = 1 if longest == np.inf else SHORTENED_ORDER
        return _legs(program, steps, arguments, times, StepStore(rows, run_again), least)

    return Recording(program, signals, before, point, arguments, output, result, asked, find_legs)


def _bent(inputs: Any, moving: Sequence[str]) -> Any:
    """The same inputs with values in these tables between which nothing is constant or straight."""
    found = dict(inputs or {})
    for name in moving:
        if isinstance(found[name], (tuple, list)):
            knots, values, *rest = found[name]
            wave = np.cos(np.arange(np.size(values)) ** 2.0).reshape(np.shape(values))
            found[name] = (
                knots,
                np.asarray(values) + wave * (1.0 + np.abs(values).max(initial=0.0)),
                *rest,
            )
    return found or inputs


def _padded(rows: np.ndarray, size: int) -> np.ndarray:
    return rows if rows.shape[1] == size else np.zeros((len(rows), size))


def _still(arguments: Arguments, t: float, times: np.ndarray) -> Leg:
    """A model without unknowns for the integrator: all rows are at its start."""
    nothing = np.zeros(1)
    made = Made(np.zeros(0), np.zeros(0), np.zeros(0, int))
    rows, at = np.arange(len(times)), Point(t, nothing, nothing)
    none = np.zeros(0)
    steps = np.full(len(rows), -1)
    return Leg(at, at, none, made, none, None, arguments, None, None, 1, rows, steps)


def _legs(
    program: Program, run: Run, arguments: Arguments, times: np.ndarray, store: StepStore, least: int
) -> tuple[Leg, ...]:
    (span,) = run.spans
    assert run.steps is not None
    _, order = run.steps
    nodes = np.asarray(run.nodes)
    events = {event.row: event for event in run.events}
    if not all(event.has_rows for event in run.events):
        raise NoDerivative(
            f"{program.structure.flat.name}: {len(run.events)} events of so large a model are too many for "
            f"derivatives."
        )
    stops = dict(zip(run.restarts, run.stretches[1:], strict=False))
    firsts = sorted({0, *events, *stops})
    ends = (*firsts[1:], len(span.t))
    insides = [
        first + 1 + np.flatnonzero(np.diff(span.t[first:end]) > 0)
        for first, end in zip(firsts, ends, strict=True)
    ]
    lasts = [
        int(inside[-1]) if len(inside) else first for first, inside in zip(firsts, insides, strict=True)
    ]
    store.keep([*firsts, *lasts])

    def point(row: int) -> Point:
        return Point(span.t[row], *store.row(row))

    legs: list[Leg] = []
    number, held = 0, arguments.signals
    for first, inside, last in zip(firsts, insides, lasts, strict=True):
        if first in stops or first == 0:
            number += first in stops
            stretch = run.stretches[number]
            held = arguments.signals._replace(
                first=np.float64(stretch.first), last=np.float64(stretch.last)
            )
        own, start = arguments._replace(signals=held), point(first)
        if program.events is not None:
            own = program.with_discretes(own, span.discretes[first])
            own = with_rows_of_mode(program, float(start.t), start.x, start.xdot, own)
        ends_of_steps = _ends(inside, nodes, span.t, float(start.t))
        t = span.t[ends_of_steps]
        of_steps = _made(np.append(start.t, t), order[ends_of_steps], least)
        if len(nodes) > 1:
            of_steps = of_steps._replace(order=np.full(len(t), len(nodes)))
        legs.append(
            Leg(
                start,
                point(last),
                t,
                of_steps,
                inside,
                store,
                own,
                events.get(first),
                stops.get(first),
                len(nodes),
                np.zeros(0, int),
                np.zeros(0, int),
            )
        )
    return _with_rows(legs, times)


def _ends(inside: np.ndarray, nodes: np.ndarray, t: np.ndarray, start: float) -> np.ndarray:
    """Of rows within a leg those at ends of steps, each behind the rows at the other nodes of its step."""
    count = len(nodes)
    ends = inside[count - 1 :: count]
    if count == 1 or not len(inside):
        return ends
    begun = np.append(start, t[ends])[: len(ends), None]
    expected = (begun + nodes * (t[ends, None] - begun)).ravel()
    same = len(inside) == len(expected) and np.allclose(t[inside], expected, rtol=1e-12, atol=0.0)
    if not same:
        raise NoDerivative(f"The stages of the steps from time {start:.9g} on were not all recorded.")
    return ends


def _made(t: np.ndarray, order: np.ndarray, least: int) -> Made:
    """Steps between these times. The order of one that ends at an event is that of the one before it, and
    no formula reaches behind the start."""
    h, order = np.diff(t), order.copy()
    for k in range(len(h)):
        if order[k] == 0:
            order[k] = order[k - 1] if k else 1
        order[k] = min(max(order[k], least), k + 1)
    return Made(h, np.concatenate([h[:1], h[:-1]]), order)


def _with_rows(legs: list[Leg], times: np.ndarray) -> tuple[Leg, ...]:
    """Each wanted time belongs to the last leg that begins before or at it."""
    starts = np.array([leg.start.t for leg in legs])
    of_row = np.searchsorted(starts, times, side="right") - 1
    found = []
    for number, leg in enumerate(legs):
        rows = np.flatnonzero(of_row == number)
        step = np.searchsorted(leg.t, times[rows], side="left")
        step = np.where(times[rows] <= leg.start.t, -1, np.minimum(step, leg.count - 1))
        found.append(replace(leg, rows=rows, step=step))
    return tuple(found)

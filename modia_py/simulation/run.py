"""One simulation: start, integrate from stop to stop, and what came out of it.

The integration stops where an input, or a function of time in an equation, jumps or has a kink (see
`program.stretches`), and starts anew behind it: at a jump with the impulse equations, so that what has to
jump does, at a kink with the same x. Zero crossings of the model stop it, too: what follows is up to their
action.
"""

from __future__ import annotations

import itertools
import time as clock
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays.index1 import Slot
from ..errors import SimulationError
from ..program.events import ModelEvents
from ..program.lost_impulses import check_impulses
from ..program.program import Arguments, Program
from ..program.row_names import x_name
from ..program.signals import Data
from ..program.stretches import Plan, Stretch
from ..results.statistics import Certificate
from ..solvers import (
    Crossing,
    Refusal,
    Restart,
    Solution,
    Statistics,
    Status,
    Stop,
    consistent_xdot,
    impulse_start,
    solve,
)
from ..solvers.events.records import EventRecords, all_records
from ..solvers.method.formula import formula_of
from ..solvers.solution import EventRecord
from ..solvers.stops import OnCrossing
from ..start.problem import StartPoint
from .event_failures import termination_reason
from .failures import failure_text
from .outputs import Outputs, Span

PROGRESS_AFTER = 1.0
"""Seconds without a progress bar: short runs need none."""
MOST_LOST = 5
"""Values that were set and not kept, of which a result tells."""
NONE = "none is needed"
INLINE = "inline-bdf"
METHODS = {"bdf": "ndf", "radau": "radau", "auto": "auto", INLINE: "ndf"}
"""By the name of a method, the formulas of `solvers.solve` that run: NDF are BDF with one term more, which
makes the errors of order 1 to 4 smaller."""


@dataclass(frozen=True)
class RunOptions:
    """What a user can choose for a run, checked."""

    start: float
    stop: float
    times: np.ndarray
    rtol: float
    atol: Any
    max_steps: int
    linear_solver: str
    progress: bool
    method: str = "bdf"
    must_restart: bool = False
    """Whether the integration starts anew after every event: see `event_contract`."""
    rows: Any = None
    """What takes the rows of output, if it is not memory for all of them."""


@dataclass(frozen=True, eq=False)
class Run:
    """What a run has computed, and how it ended."""

    spans: list[Span]
    status: Status
    message: str
    work: Statistics
    method: str
    linear_solver: str
    multipliers: dict[str, float]
    seconds: float
    outputs: Outputs | None = None
    certificate: Certificate | None = None
    notes: tuple[str, ...] = ()
    crossings: tuple[Crossing, ...] = ()
    events: Sequence[EventRecord] = ()
    lost_reinits: tuple[str, ...] = ()
    stretches: tuple[Stretch, ...] = ()
    options: RunOptions | None = None
    end: float = 0.0
    """The last time that was reached."""
    steps: tuple[np.ndarray, np.ndarray] | None = None
    """For each row the size and the order of the step in which it lies."""
    restarts: tuple[int, ...] = ()
    """The first row after each stop."""
    not_inlined: str = ""
    """Why inline integration was not possible, if it was asked for."""
    nodes: tuple[float, ...] = (1.0,)
    """The parts of each step at which there are rows, where these are at steps."""
    declared: np.ndarray | None = None
    """Discrete values as they are declared, before the event at the start."""

    @property
    def start(self) -> float:
        return self.stretches[0].start

    def tolerance(self, x: np.ndarray) -> np.ndarray:
        """Of each element of x, compared with its largest value in the run."""
        assert self.options is not None
        return self.options.rtol * np.abs(x).max(axis=0, initial=0.0) + np.asarray(self.options.atol)


def integrate(
    program: Program, arguments: Arguments, start: StartPoint, options: RunOptions, plan: Plan
) -> Run:
    """Go from stop to stop, and keep what is wanted on the way."""
    began = clock.perf_counter()
    stretches = plan.stretches
    of_stretches = [_within(arguments, stretch) for stretch in stretches]
    stops = [
        _stop(program, before, after, arguments, own.signals)
        for (before, after), own in zip(itertools.pairwise(stretches), of_stretches[1:], strict=True)
    ]
    solution = solve(
        program.problem,
        stretches[0].start,
        stretches[-1].end,
        start.x if program.functions.size else np.zeros(1),
        start.xdot if program.functions.size else np.zeros(1),
        of_stretches[0],
        rtol=options.rtol,
        atol=options.atol,
        times=options.times,
        max_steps=options.max_steps,
        max_step=stretches[0].longest_step,
        formula=METHODS[options.method],
        corrector="stages" if options.method == INLINE else "whole",
        linear_solver=options.linear_solver,
        progress=PROGRESS_AFTER if options.progress else False,
        stops=stops,
        on_crossing=_on_crossing(program, arguments),
        rows=options.rows,
    )
    own, message = solution.p_last, ""
    if solution.refused:
        message = solution.message
    elif solution.status.failed:
        message = failure_text(program, own, solution, options.rtol, options.atol)
    elif solution.status is Status.TERMINATED:
        message = termination_reason(program, own)
    span = _span(program, solution, of_stretches, arguments)
    return Run(
        [span],
        solution.status,
        message or solution.status.advice,
        solution.statistics,
        f"{options.method}: {solution.method}",
        solution.linear_solver,
        _multipliers(program, span),
        clock.perf_counter() - began,
        crossings=solution.crossings,
        events=solution.events,
        lost_reinits=_lost_reinits(program, solution.p_last),
        not_inlined=solution.not_inlined,
        stretches=stretches,
        options=options,
        end=solution.t_last,
        steps=(solution.step, solution.order),
        restarts=solution.restarts,
        nodes=formula_of(METHODS[options.method]).nodes if options.rows is not None else (1.0,),
    )


def _on_crossing(program: Program, arguments: Arguments) -> OnCrossing | None:
    """What is done at crossings of the model, as the loop over stops calls it."""
    if program.crossings is None or program.crossings.action is None:
        return None
    action = program.crossings.action
    return lambda found, x, xdot: action(found, x, xdot, arguments)


def _stop(program: Program, before: Stretch, after: Stretch, arguments: Arguments, held: Data) -> Stop:
    """The stop between two stretches: values behind it are found from those before."""

    def action(t: float, x: np.ndarray, xdot: np.ndarray, now: Arguments) -> Restart | Refusal:
        own = now._replace(signals=held)
        try:
            check_impulses(program, before, after, x, xdot, arguments)
            x, xdot = _restart(program, after, x, own)
        except SimulationError as error:  # what was computed before is part of the error
            return Refusal(Status.INCONSISTENT, str(error))
        return Restart(x, xdot, after.start, own, after.longest_step, step_factor=1.0)

    return Stop(before.end, after.cause, action)


def evaluate_only(program: Program, arguments: Arguments, options: RunOptions, plan: Plan) -> Run:
    """A model in which everything is assigned from parameters, inputs and time: nothing to integrate."""
    none = np.zeros(0)
    for left, right in itertools.pairwise(plan.stretches):
        check_impulses(program, left, right, none, none, arguments)
    empty = np.zeros((len(options.times), 0))
    spans = [Span(options.times, empty, empty, np.zeros(len(empty)), arguments)]
    return Run(
        spans,
        Status.SUCCESS,
        Status.SUCCESS.advice,
        Statistics(),
        NONE,
        NONE,
        {},
        0.0,
        stretches=plan.stretches,
        options=options,
        end=options.stop,
    )


def _within(arguments: Arguments, stretch: Stretch) -> Arguments:
    first, last = np.float64(stretch.first), np.float64(stretch.last)
    return arguments._replace(signals=arguments.signals._replace(first=first, last=last))


def _span(
    program: Program, solution: Solution, of_stretches: list[Arguments], arguments: Arguments
) -> Span:
    """What was computed; where equations were evaluated at held times, they are so again."""
    step = solution.step
    slack = np.divide(1.0, step, np.zeros_like(step), where=step > 0)
    held = solution.t.copy()
    ends = (*solution.restarts, len(held))
    for own, first, end in zip(of_stretches, (0, *solution.restarts), ends, strict=False):
        held[first:end] = np.clip(held[first:end], own.signals.first, own.signals.last)
    discretes = None if program.events is None else _discrete_rows(program.events, solution, arguments)
    n = program.functions.size
    return Span(solution.t, solution.x[:, :n], solution.xdot[:, :n], slack, arguments, held, discretes)


def _lost_reinits(program: Program, arguments: Arguments) -> tuple[str, ...]:
    """What a user should know of values that were set and not kept."""
    if program.events is None:
        return ()
    table = program.events.functions.reinits
    return tuple(
        f"`{table.text(row)}` ({table.source(row)}) was made, but the variable has not taken the value: "
        f"constraints, or another reinit, do not let it"
        for row in np.flatnonzero(np.asarray(arguments.events.lost)).tolist()[:MOST_LOST]
    )


def _discrete_rows(events: ModelEvents, solution: Solution, arguments: Arguments) -> np.ndarray:
    """Discrete values at each row of output."""
    records = solution.events if isinstance(solution.events, EventRecords) else all_records(())
    return records.discrete_rows(np.array(events.discretes(arguments.p)), len(solution.t))


def _restart(
    program: Program, stretch: Stretch, x: np.ndarray, arguments: Arguments
) -> tuple[np.ndarray, np.ndarray]:
    restart = impulse_start if stretch.starts_with == "jump" else consistent_xdot
    found = restart(program.problem, stretch.start, x, arguments)
    if not found.success:
        raise SimulationError(
            f"No values were found with which to go on at time {stretch.start:.9g}, where "
            f"{stretch.cause or 'the integration was started anew'}. {found.message}"
        )
    return found.x, found.xdot


def _multipliers(program: Program, span: Span) -> dict[str, float]:
    """The largest |mu| of each constraint: zero in the exact solution."""
    slots = np.flatnonzero(program.transformed.form.kind == Slot.MU)
    found = {}
    for slot in slots[:1000].tolist():
        elements = np.flatnonzero(program.layout.slot_of == slot)
        largest = float(np.abs(span.xdot[:, elements]).max(initial=0.0))
        name = x_name(program, int(elements[0])).removeprefix("integral(").removesuffix(")")
        found[name] = largest
    return found

"""One simulation: start, integrate from stop to stop, and what came out of it.

The integration stops where an input, or a function of time in an equation, jumps or has a kink (`stops`),
and starts anew behind it: at a jump with the impulse equations, so that what has to jump does, at a kink
with the same x.
"""

from __future__ import annotations

import itertools
import time as clock
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays.index1 import Slot
from .errors import SimulationError
from .failures import failure_text
from .lost_impulses import check_impulses
from .outputs import Outputs, Piece
from .program import Arguments, Program
from .row_names import x_name
from .run_statistics import Certificate
from .solvers import Solution, Statistics, Status, consistent_xdot, impulse_start, solve
from .start_problem import StartPoint
from .stops import Plan, Stretch

PROGRESS_AFTER = 1.0
"""Seconds without a progress bar: short runs need none."""


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


@dataclass(frozen=True, eq=False)
class Run:
    """What a run has computed, and how it ended."""

    pieces: list[Piece]
    status: Status
    message: str
    work: Statistics
    linear_solver: str
    multipliers: dict[str, float]
    seconds: float
    outputs: Outputs | None = None
    certificate: Certificate | None = None
    notes: tuple[str, ...] = ()


def integrate(
    program: Program, arguments: Arguments, start: StartPoint, options: RunOptions, plan: Plan
) -> Run:
    """Go from stop to stop, and keep what is wanted on the way."""
    began = clock.perf_counter()
    x, xdot = start.x, start.xdot
    pieces: list[Piece] = []
    works: list[Statistics] = []
    status, message, linear_solver = Status.SUCCESS, "", ""
    steps = 0
    for number, stretch in enumerate(plan.stretches):
        own = _within(arguments, stretch)
        if number:
            try:
                check_impulses(program, plan.stretches[number - 1], stretch, x, xdot, arguments)
                x, xdot = _restart(program, stretch, x, own)
            except KeyboardInterrupt:  # what was computed before is kept
                status, message = Status.INTERRUPTED, _interrupted(stretch.begin)
                break
            except SimulationError as error:  # what was computed before is part of the error
                status, message = Status.INCONSISTENT, str(error)
                break
        first = np.searchsorted(options.times, stretch.begin)
        last = np.searchsorted(options.times, stretch.end, side="right")
        wanted = options.times[first:last]
        # A single time: before a jump at the start, or after one at the end.
        if stretch.end <= stretch.begin:
            rows = len(wanted)
            pieces.append(
                Piece(wanted, np.tile(x, (rows, 1)), np.tile(xdot, (rows, 1)), np.zeros(rows), own)
            )
            continue
        solution = _solve(
            program, stretch, own, x, xdot, wanted, max(1, options.max_steps - steps), options
        )
        works.append(solution.statistics)
        steps += solution.statistics.steps + solution.statistics.rejected
        if len(wanted):
            slack = np.divide(1.0, solution.step, np.zeros_like(solution.step), where=solution.step > 0)
            pieces.append(Piece(solution.t, solution.x, solution.xdot, slack, own))
        status, linear_solver = solution.status, solution.linear_solver
        if status.failed:
            message = failure_text(program, own, solution, options.rtol, options.atol)
            break
        x, xdot = solution.x_last, solution.xdot_last
    multipliers = _multipliers(program, pieces)
    seconds = clock.perf_counter() - began
    joined = [_joined(pieces, arguments)]
    return Run(joined, status, message or status.advice, _total(works), linear_solver, multipliers, seconds)


def evaluate_only(program: Program, arguments: Arguments, options: RunOptions, plan: Plan) -> Run:
    """A model in which everything is assigned from parameters, inputs and time: nothing to integrate."""
    none = np.zeros(0)
    for left, right in itertools.pairwise(plan.stretches):
        check_impulses(program, left, right, none, none, arguments)
    empty = np.zeros((len(options.times), 0))
    pieces = [Piece(options.times, empty, empty, np.zeros(len(empty)), arguments)]
    return Run(pieces, Status.SUCCESS, Status.SUCCESS.advice, Statistics(), "none is needed", {}, 0.0)


def _interrupted(t: float) -> str:
    return f"The simulation stopped at time {t:.6g}. {Status.INTERRUPTED.advice}"


def _within(arguments: Arguments, stretch: Stretch) -> Arguments:
    first, last = np.float64(stretch.first), np.float64(stretch.last)
    return arguments._replace(signals=arguments.signals._replace(first=first, last=last))


def _joined(pieces: list[Piece], arguments: Arguments) -> Piece:
    """All pieces as one: where equations were evaluated at held times, they are so again."""
    if not pieces:
        return Piece(np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0), arguments)
    names = ("t", "x", "xdot", "slack")
    t, x, xdot, slack = (np.concatenate([getattr(piece, name) for piece in pieces]) for name in names)
    held = [np.clip(p.t, p.arguments.signals.first, p.arguments.signals.last) for p in pieces]
    return Piece(t, x, xdot, slack, arguments, np.concatenate(held))


def _solve(
    program: Program,
    stretch: Stretch,
    arguments: Arguments,
    x: np.ndarray,
    xdot: np.ndarray,
    wanted: np.ndarray,
    max_steps: int,
    options: RunOptions,
) -> Solution:
    return solve(
        program.problem,
        stretch.begin,
        stretch.end,
        x,
        xdot,
        arguments,
        rtol=options.rtol,
        atol=options.atol,
        times=wanted if len(wanted) else np.array([stretch.end]),
        max_steps=max_steps,
        max_step=stretch.longest_step,
        linear_solver=options.linear_solver,
        progress=PROGRESS_AFTER if options.progress else False,
    )


def _restart(
    program: Program, stretch: Stretch, x: np.ndarray, arguments: Arguments
) -> tuple[np.ndarray, np.ndarray]:
    restart = impulse_start if stretch.starts_with == "jump" else consistent_xdot
    found = restart(program.problem, stretch.begin, x, arguments)
    if not found.success:
        raise SimulationError(
            f"No values were found with which to go on at time {stretch.begin:.9g}, where "
            f"{stretch.cause or 'the integration was started anew'}. {found.message}"
        )
    return found.x, found.xdot


def _total(works: list[Statistics]) -> Statistics:
    """The work of all parts of a run."""
    if len(works) == 1:
        return works[0]
    names = [name for name in Statistics.__dataclass_fields__ if name != "order_histogram"]
    sums = {name: sum(getattr(work, name) for work in works) for name in names}
    lengths = max((len(work.order_histogram) for work in works), default=0)
    histogram = np.zeros(lengths, int)
    for work in works:
        histogram[: len(work.order_histogram)] += work.order_histogram
    return Statistics(**sums, order_histogram=tuple(histogram.tolist()))


def _multipliers(program: Program, pieces: list[Piece]) -> dict[str, float]:
    """The largest |mu| of each constraint: zero in the exact solution."""
    slots = np.flatnonzero(program.result.form.kind == Slot.MU)
    found = {}
    for slot in slots[:1000].tolist():
        elements = np.flatnonzero(program.layout.slot_of == slot)
        largest = max(
            (float(np.abs(piece.xdot[:, elements]).max(initial=0.0)) for piece in pieces), default=0.0
        )
        name = x_name(program, int(elements[0])).removeprefix("integral(").removesuffix(")")
        found[name] = largest
    return found

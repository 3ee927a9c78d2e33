"""One simulation: start, integrate from stop to stop, and what came out of it.

The integration stops where a table of an input jumps or has a kink, and starts anew behind it: at a jump
with the impulse equations, so that what has to jump does, at a kink with the same x.
"""

from __future__ import annotations

import time as clock
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays.index1 import Slot
from .errors import SimulationError
from .failures import failure_text
from .outputs import Outputs, Piece
from .program import Arguments, Program
from .row_names import x_name
from .run_statistics import Certificate
from .signals import NO_STOP, Signals
from .solvers import Solution, Statistics, Status, consistent_xdot, impulse_start, solve
from .start_problem import StartPoint

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


def integrate(
    program: Program, signals: Signals, arguments: Arguments, start: StartPoint, options: RunOptions
) -> Run:
    """Go from stop to stop, and keep what is wanted on the way."""
    began = clock.perf_counter()
    stops = np.append(np.union1d(signals.jumps, signals.kinks), options.stop)
    t, x, xdot = options.start, start.x, start.xdot
    pieces: list[Piece] = []
    works: list[Statistics] = []
    status, message, linear_solver = Status.SUCCESS, "", ""
    for stop in stops.tolist():
        last = stop == options.stop
        own = _until(arguments, NO_STOP if last else stop)
        if t > options.start:
            try:
                x, xdot = _restart(program, t, x, own, t in signals.jumps)
            except KeyboardInterrupt:  # what was computed before is kept
                status, message = Status.INTERRUPTED, _interrupted(t)
                break
        wanted = options.times[
            (options.times >= t) & ((options.times <= stop) if last else options.times < stop)
        ]
        left = options.max_steps - sum(work.steps + work.rejected for work in works)
        solution = _solve(program, signals, own, t, stop, x, xdot, wanted, max(1, left), options)
        works.append(solution.statistics)
        if len(wanted):
            slack = np.divide(1.0, solution.step, np.zeros_like(solution.step), where=solution.step > 0)
            pieces.append(Piece(solution.t, solution.x, solution.xdot, slack, own))
        status, linear_solver = solution.status, solution.linear_solver
        if status.failed:
            message = failure_text(program, own, solution, options.rtol, options.atol)
            break
        t, x, xdot = stop, solution.x_last, solution.xdot_last
    multipliers = _multipliers(program, pieces)
    seconds = clock.perf_counter() - began
    return Run(pieces, status, message or status.advice, _total(works), linear_solver, multipliers, seconds)


def evaluate_only(program: Program, arguments: Arguments, options: RunOptions) -> Run:
    """A model in which everything is assigned from parameters, inputs and time: nothing to integrate."""
    empty = np.zeros((len(options.times), 0))
    pieces = [Piece(options.times, empty, empty, np.zeros(len(empty)), arguments)]
    return Run(pieces, Status.SUCCESS, Status.SUCCESS.advice, Statistics(), "none is needed", {}, 0.0)


def _interrupted(t: float) -> str:
    return f"The simulation stopped at time {t:.6g}. {Status.INTERRUPTED.advice}"


def _until(arguments: Arguments, stop: float) -> Arguments:
    return arguments._replace(signals=arguments.signals._replace(stop=np.float64(stop)))


def _solve(
    program: Program,
    signals: Signals,
    arguments: Arguments,
    t: float,
    stop: float,
    x: np.ndarray,
    xdot: np.ndarray,
    wanted: np.ndarray,
    max_steps: int,
    options: RunOptions,
) -> Solution:
    return solve(
        program.problem,
        t,
        stop,
        x,
        xdot,
        arguments,
        rtol=options.rtol,
        atol=options.atol,
        times=wanted if len(wanted) else np.array([stop]),
        max_steps=max_steps,
        max_step=signals.longest_step,
        linear_solver=options.linear_solver,
        progress=PROGRESS_AFTER if options.progress else False,
    )


def _restart(
    program: Program, t: float, x: np.ndarray, arguments: Arguments, jump: bool
) -> tuple[np.ndarray, np.ndarray]:
    if jump:
        found = impulse_start(program.problem, t, x, arguments)
    else:
        found = consistent_xdot(program.problem, t, x, arguments)
    if not found.success:
        raise SimulationError(
            f"No values were found with which to go on at time {t:g}, where an input has a "
            f"{'jump' if jump else 'kink'}. {found.message}"
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

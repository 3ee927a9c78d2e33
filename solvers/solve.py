"""Integrate a problem over an interval: the Python side of the loop.

Python gets control between chunks. There it hands over output, shows progress, honours an interrupt,
renews pivots and goes on. A chunk is bounded in rows of output, so memory does not grow with the number
of steps beyond what is kept; and in attempts, so that it takes about a third of a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .compiled import CompiledProblem, compile_problem
from .diagnose import describe_singularity, describe_violation
from .forks import use_jax
from .initialize import consistent_xdot
from .inputs import Request, check_changed, check_request
from .interrupts import Interrupts
from .joined import Joined
from .linear import SingularMatrix
from .output import Buffer
from .problem import Problem
from .solution import Crossing, Solution, Statistics, rounding_warning
from .start import INCONSISTENT, NO_WORK, StartPoint
from .state import Settings, make_settings, pack_settings
from .status import Status

CHUNK_BYTES = 2e6
CHUNK_ROWS, FEWEST_ROWS = 1024, 4
"""A chunk of output has at most so many rows, and for large problems only as many as fit in CHUNK_BYTES:
all of it is allocated and cleared, filled or not, and with more it no longer stays in the cache."""
CHUNK_SECONDS = 0.3
FIRST_CHUNK = 2e7
"""Attempts in the first chunk times unknowns, before it is known how long an attempt takes."""
RESTART_FACTOR = 0.1
"""The first step after an event, compared with the one that would have been chosen at a start."""

Chunk = tuple[Joined, Buffer]
OnChunk = Callable[[np.ndarray, np.ndarray, np.ndarray], None]
OnCrossing = Callable[[Crossing, np.ndarray, np.ndarray], tuple[Any, Any] | None]


def solve(
    problem: Problem,
    t0: float,
    t1: float,
    x0: Any,
    xdot0: Any = None,
    p: Any = None,
    *,
    rtol: float = 1e-6,
    atol: Any = 1e-9,
    times: Any = None,
    max_steps: int = 1_000_000,
    initial_step: float | None = None,
    max_step: float = np.inf,
    max_order: int = 5,
    formula: str = "ndf",
    linear_solver: str = "auto",
    progress: bool | float = False,
    on_chunk: OnChunk | None = None,
    on_crossing: OnCrossing | None = None,
) -> Solution:
    """Integrate 0 = F(t, x, xdot, p) from t0 to t1.

    xdot0        None: computed from the equations
    atol         one number, or one for each element of x
    times        where output is wanted, increasing; None: at every step
    max_steps    attempts at a step, rejected ones included
    progress     True: a bar at once; a number: after so many seconds
    on_chunk     is given each chunk (t, x, xdot) as it comes, which is then not kept: memory stays bounded
    on_crossing  is given each crossing with x and xdot there, and returns new ones (xdot None: computed) to
                 go on with; None, or if it returns None: the run ends at the crossing

    Wrong arguments raise ValueError. Whatever happens during the run is told by `Solution.status`, an
    interrupt, too. One before the run, while the problem is made ready, is a KeyboardInterrupt.
    """
    use_jax()
    request = check_request(
        problem, t0, t1, x0, xdot0, p, rtol, atol, times, max_steps, initial_step, max_step, max_order
    )
    with Interrupts() as interrupts:
        run = _Run(problem, request, formula, linear_solver, progress, on_chunk, interrupts)
        with run.compiled.for_one_run() as run.compiled:
            status = _from_crossing_to_crossing(run, on_crossing)
            if status == Status.INTERRUPTED:
                interrupts.taken()
            return run.solution(status)


def _from_crossing_to_crossing(run: _Run, on_crossing: OnCrossing | None) -> Status:
    request = run.request
    t, x, xdot, restarted = request.t0, request.x0, request.xdot0, False
    while True:
        status, found = run.from_start(t, x, xdot, restarted)
        if status != Status.CROSSING or on_crossing is None or found is None:
            return status
        t, restarted = found.time, True
        try:
            changed = on_crossing(found, run.x_last.copy(), run.xdot_last.copy())
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        if changed is None or t >= request.t1:
            return status
        x, xdot = check_changed(run.problem, changed)


class _Run:
    """One call of `solve`: what was computed so far, and how to go on."""

    def __init__(
        self,
        problem: Problem,
        request: Request,
        formula: str,
        linear_solver: str,
        progress: bool | float,
        on_chunk: OnChunk | None,
        interrupts: Interrupts,
    ):
        self.interrupts = interrupts
        self.problem, self.request, self.formula = problem, request, formula
        self.linear_solver, self.on_chunk = linear_solver, on_chunk
        self.every_step = request.times is None
        self.compiled = self._compile(linear_solver)
        self.kept: list[tuple[np.ndarray, ...]] = []
        self.rows_written = 0
        self.settings = _settings(request, self.compiled)
        self.packed_settings = pack_settings(self.settings)
        self.joined: Joined | None = None  # the state
        self.detail = ""
        self.crossings: list[Crossing] = []
        self.attempts = self.chunks = self.pivots_renewed = 0
        self.attempts_per_chunk = int(min(max(FIRST_CHUNK / problem.size, 20), 2000))
        self.t_last, self.x_last = request.t0, np.asarray(request.x0)
        self.xdot_last = np.full(problem.size, np.nan)
        self.began = time.perf_counter()
        self.bar = _progress_bar(request.t0, request.t1, progress) if progress else None

    def _compile(self, linear_solver: str) -> CompiledProblem:
        request = self.request

        def example() -> tuple[Any, Any, Any, Any]:
            slope = np.zeros(self.problem.size) if request.xdot0 is None else request.xdot0
            return request.t0, request.x0, slope, 1e-3 * (request.t1 - request.t0)

        return compile_problem(self.problem, request.p, linear_solver, self.formula, example)

    def from_start(self, t: float, x: Any, xdot: Any, restarted: bool) -> tuple[Status, Crossing | None]:
        """Start at order one and go to the end, a crossing, or a failure."""
        if xdot is None:
            found = consistent_xdot(self.problem, t, x, self.request.p)
            if found.status.failed:
                self.detail = found.message
                return found.status, None
            xdot = found.xdot
        self.t_last, self.x_last, self.xdot_last = t, np.asarray(x), np.asarray(xdot)
        factor = RESTART_FACTOR if restarted else 1.0
        try:
            chunk = self._start_at_once(t, x, xdot, factor)
            if chunk is None:
                failed = self._start(t, x, xdot, factor)
                if failed is not None:
                    return failed, None
            if self.every_step:
                self._keep(np.array([t]), np.asarray(x)[None], np.asarray(xdot)[None], np.zeros(1))
            return self._go_on(chunk)
        except KeyboardInterrupt:
            return Status.INTERRUPTED, None

    def _start_at_once(self, t: float, x: Any, xdot: Any, factor: float) -> Chunk | None:
        """Start and go on by one call; None where that is not possible, or something is wrong."""
        if self.compiled.blank is None:
            return None
        numbers = np.array([1.0, t, self.request.initial_step or 0.0, factor])
        chunk = self._call(self.compiled.blank, StartPoint(numbers, x, xdot, self._work()))
        return None if chunk[0].on_host().status == Status.INCONSISTENT else chunk

    def _start(self, t: float, x: Any, xdot: Any, factor: float) -> Status | None:
        """Make the state step by step, or say what is wrong."""
        request, compiled = self.request, self.compiled
        given = request.initial_step or 0.0
        first, h, values = compiled.look(
            compiled.tables.gather, self.settings, t, x, xdot, request.p, given, factor
        )
        finite = np.isfinite(np.asarray(first))
        if not finite.all():
            rows = np.flatnonzero(~finite)[:10]
            self.detail = f"Rows {rows.tolist()} of the residual are not finite at the start."
            return Status.NON_FINITE
        try:
            factors = compiled.chosen.solver.prepare(values)
        except SingularMatrix:
            return self._singular(t, x, xdot, float(h))
        joined, off = compiled.begin(
            compiled.tables.solver, self.settings, t, x, xdot, request.p, h, factors, first, self._work()
        )
        if np.asarray(off) > INCONSISTENT:
            self.detail = describe_violation(self.problem, first, float(off))
            return Status.INCONSISTENT
        self.joined = joined
        return None

    @property
    def _state(self) -> Any:
        """The state, with numbers of Python."""
        assert self.joined is not None
        return self.joined.on_host()

    def _work(self) -> Joined:
        """What was counted so far."""
        if self.joined is None:
            return NO_WORK
        return NO_WORK.changed_on_host((self._state.counters, self._state.attempts))

    def _go_on(self, chunk: Chunk | None) -> tuple[Status, Crossing | None]:
        while True:
            status = self._chunk(chunk)
            chunk = None
            self.interrupts.check()
            self._show_progress()
            if status == Status.NEW_PIVOTS:
                if not self._renew_pivots():
                    return self._singular_now(), None
            elif status == Status.CROSSING and not self._pending():
                return status, self._record_crossing()
            elif status == Status.SINGULAR:
                return self._singular_now(), None
            elif status != Status.RUNNING and not self._pending():
                return status, None

    def _call(self, joined: Joined | None, point: StartPoint | None) -> Chunk:
        """One call of the compiled loop."""
        self.called = time.perf_counter()
        compiled, attempts = self.compiled, np.asarray(self.attempts_per_chunk, np.int32)
        arguments = self.packed_settings, self.request.p, joined, point, self._next_times(), attempts
        return compiled.run(compiled.tables, *arguments, self.every_step)

    def _chunk(self, chunk: Chunk | None) -> Status:
        """Wait for a chunk, and take what it brings."""
        try:
            joined, buffer = chunk or self._call(self.joined, self.compiled.no_start)
            state = joined.on_host()
        except jax.errors.JaxRuntimeError:
            self.interrupts.check()  # raised in a callback, it comes out as an error of JAX
            raise
        made, self.attempts = state.attempts - self.attempts, state.attempts
        seconds = time.perf_counter() - self.called
        self.joined = joined
        self.chunks += 1
        if made >= self.attempts_per_chunk and seconds < CHUNK_SECONDS:
            self.attempts_per_chunk *= 2
        elif seconds > 2 * CHUNK_SECONDS:
            self.attempts_per_chunk = max(1, self.attempts_per_chunk // 2)
        self.t_last = state.reached
        if self.t_last == state.t:
            self.x_last, self.xdot_last = np.array(np.asarray(state.differences)[0]), np.asarray(state.xdot)
        else:
            x, xdot = self.compiled.evaluate(joined, state.reached)
            self.x_last, self.xdot_last = np.asarray(x), np.asarray(xdot)
        rows = int(np.asarray(buffer.rows))
        parts = buffer.times, buffer.x, buffer.xdot, buffer.step
        self._keep(*(np.asarray(part)[:rows] for part in parts))
        return Status(state.status)

    def _next_times(self) -> np.ndarray:
        """The next wanted times, as many as fit in a chunk."""
        fit = int(min(max(CHUNK_BYTES / (16 * self.problem.size), FEWEST_ROWS), CHUNK_ROWS))
        window = np.full(fit, np.inf)
        if self.request.times is not None:
            left = self.request.times[self.rows_written : self.rows_written + fit]
            window[: len(left)] = left
        return window

    def _pending(self) -> bool:
        times = self.request.times
        return (
            times is not None and self.rows_written < len(times) and times[self.rows_written] <= self.t_last
        )

    def _keep(self, t: np.ndarray, x: np.ndarray, xdot: np.ndarray, step: np.ndarray) -> None:
        self.rows_written += len(t)
        if len(t) == 0:
            return
        if self.on_chunk is not None:
            self.on_chunk(t, x, xdot)
            return
        self.kept.append((t, x, xdot, step))

    def _record_crossing(self) -> Crossing:
        which = np.flatnonzero(np.asarray(self._state.crossed))
        sides = np.asarray(self._state.sides)
        found = Crossing(self.t_last, tuple(which.tolist()), tuple(sides[which].tolist()))
        self.crossings.append(found)
        return found

    def _renew_pivots(self) -> bool:
        self.pivots_renewed += 1
        values = self.compiled.values_for_next_attempt(self._state, self.request.t1, self.request.p)
        try:
            factors = self.compiled.chosen.solver.prepare(values)
        except SingularMatrix:
            return False
        self._change_matrix(factors=factors, pivots_are_new=True, outdated=True)
        return True

    def _change_matrix(self, **changes: Any) -> None:
        """Change what is known of the matrix, and go on."""
        state, joined = self._state, self.joined
        assert joined is not None
        matrix = state.matrix._replace(**changes)
        self.joined = joined.changed_on_host(state._replace(matrix=matrix, status=Status.RUNNING))

    def _singular(self, t: float, x: jax.Array, xdot: jax.Array, h: float) -> Status:
        self.detail = describe_singularity(
            self.problem, self.compiled.pattern, t, x, xdot, self.request.p, h
        )
        return Status.SINGULAR

    def _singular_now(self) -> Status:
        x, xdot = jnp.asarray(self.x_last), jnp.asarray(self.xdot_last)
        return self._singular(self.t_last, x, xdot, self._state.h)

    def _show_progress(self) -> None:
        if self.bar is not None:
            self.bar.update(self.t_last - self.bar.n - self.request.t0)

    def solution(self, status: Status) -> Solution:
        if self.bar is not None:
            self.bar.close()
        nothing = np.zeros((0, self.problem.size))
        kept = self.kept or [(np.zeros(0), nothing, nothing, np.zeros(0))]
        t, x, xdot, step = map(np.concatenate, zip(*kept, strict=True))
        counts = {} if self.joined is None else self._state.counters._asdict()
        histogram = tuple(np.asarray(counts.pop("order_histogram", ())).tolist())
        element = counts.pop("limited_element", 0)
        warning = rounding_warning(element, counts.get("steps", 0), counts.get("limited_by_rounding", 0))
        return Solution(
            t=t,
            x=x,
            xdot=xdot,
            step=step,
            status=status,
            message=" ".join(part for part in (status.advice, self.detail, warning) if part),
            t_last=self.t_last,
            x_last=self.x_last,
            xdot_last=self.xdot_last,
            statistics=Statistics(
                **counts,
                order_histogram=histogram,
                chunks=self.chunks,
                pivots_renewed=self.pivots_renewed,
                seconds=time.perf_counter() - self.began,
            ),
            linear_solver=str(self.compiled.chosen),
            crossings=tuple(self.crossings),
        )


def _settings(request: Request, compiled: CompiledProblem) -> Settings:
    r = request
    return make_settings(compiled.problem, r.t1, r.rtol, r.atol, r.max_step, r.max_steps, r.max_order)


def _progress_bar(t0: float, t1: float, delay: bool | float) -> Any:
    from tqdm import tqdm

    return tqdm(
        total=t1 - t0,
        unit="s",
        desc="simulated time",
        bar_format="{l_bar}{bar}| {n:.4g}/{total:.4g}",
        delay=0.0 if delay is True else delay,
    )

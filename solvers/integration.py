"""One run of the compiled loop, from Python's side: starts, chunks, new pivots, and what was computed so
far.

Python gets control between chunks. There it hands over output, shows progress, honours an interrupt,
renews pivots and goes on. A chunk is bounded in rows of output, so memory does not grow with the number
of steps beyond what is kept; and in attempts, so that it takes about a third of a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .arguments import RunArguments
from .event_contract import Occasion
from .hybrid_run import HybridRun
from .integration_events import EventsOutsideTheLoop
from .integration_methods import GIVEN_UP_AT, ChangesOfMethod, settings_of
from .interrupts import Interrupts
from .linear.contract import SingularMatrix
from .loop.compiled import CompiledProblem
from .loop.hybrid import Hybrid
from .loop.output import Buffer
from .loop.start import Origin, origin
from .loop.workspaces import Workspace
from .matrix.diagnose import describe_singularity, describe_violation
from .method.numbers import AT, LIMIT_AT
from .method.settings import Settings
from .method.state import NO_WORK, State, histogram
from .method_choice import MethodChoice
from .output_rows import OutputRows
from .roots.initialize import consistent_xdot
from .solution import Crossing, Solution, Statistics, rounding_warning
from .status import Status
from .stops import Restart

CHUNK_BYTES = 2e6
CHUNK_ROWS, FEWEST_ROWS = 1024, 4
"""A chunk of output has at most so many rows, and for large problems only as many as fit in CHUNK_BYTES:
all of it is allocated and cleared, filled or not, and with more it no longer stays in the cache."""
CHUNK_SECONDS = 0.3
FIRST_CHUNK = 2e7
"""Attempts in the first chunk times unknowns, before it is known how long an attempt takes."""

Chunk = tuple[State, Buffer, Hybrid | None]
OnChunk = Callable[[np.ndarray, np.ndarray, np.ndarray], None]


class Integration(EventsOutsideTheLoop, ChangesOfMethod):
    """One call of `solve`: what was computed so far, and how to go on."""

    def __init__(
        self,
        compiled: CompiledProblem,
        workspace: Workspace,
        arguments: RunArguments,
        progress: bool | float,
        on_chunk: OnChunk | None,
        interrupts: Interrupts,
        rows: OutputRows | None = None,
    ):
        self.compiled, self.workspace, self.interrupts = compiled, workspace, interrupts
        self.problem, self.arguments, self.on_chunk = compiled.problem, arguments, on_chunk
        self.solver = workspace.solver
        self.tables = compiled.tables._replace(solver=self.solver.tables)
        self.p = arguments.p
        self.settings = settings_of(arguments, compiled)
        self.state: State | None = None
        self.numbers: Any = None  # those of the state, on the host
        wanted = 0 if arguments.times is None else len(arguments.times)
        self.rows = OutputRows(self.problem.size, wanted) if rows is None else rows
        self.per_step = 0  # rows, where no times are wanted
        if arguments.times is None:
            self.per_step = len(compiled.method.formula.nodes) if self.rows.at_nodes else 1
        self.rows_written = self.next_time = 0
        self.restarts: list[int] = []
        self.crossings: list[Crossing] = []
        self.detail, self.refusal = "", ""
        self.chunks = self.pivots_renewed = 0
        self.attempts_per_chunk = int(min(max(FIRST_CHUNK / self.problem.size, 20), 2000))
        self.t_last, self.x_last = arguments.t0, np.asarray(arguments.x0)
        self.xdot_last = np.full(self.problem.size, np.nan)
        self.began = time.perf_counter()
        self.left: tuple[float, np.ndarray, np.ndarray] | None = None  # values before a stop
        self.hybrid = None
        if self.problem.events is not None:
            self.hybrid = HybridRun(compiled, self.p, arguments.t0, arguments.t1)
        self.choice: MethodChoice | None = None
        self.bar = _progress_bar(arguments.t0, arguments.t1, progress) if progress else None

    # From stop to stop -----------------------------------------------------------------------------------

    def go(self, t: float, until: float, restart: Restart) -> Status:
        """Start at order one, and go until a time, a crossing, or a failure."""
        if restart.p is not None:
            self.p = restart.p
        self.settings = self._limited(until, restart.max_step)
        x, xdot = restart.x, restart.xdot
        if xdot is None:
            found = consistent_xdot(self.problem, t, x, self.p)
            if found.status.failed:
                self.detail = found.message
                return found.status
            xdot = found.xdot
        self.t_last, self.x_last, self.xdot_last = t, np.asarray(x), np.asarray(xdot)
        if self.hybrid is not None:
            self.hybrid.begin(t, until, self.p)
            if self.state is not None:
                status = self._event(Occasion.DURING)
                self.left = None
                if status != Status.RUNNING:
                    return status
                x, xdot = self.x_last, self.xdot_last
                self.hybrid.begin(t, until, self.p)
        if until <= t:
            self._keep_instant(t)
            return Status.SUCCESS
        counted = NO_WORK if self.state is None else np.asarray(self.state.numbers)
        here = origin(t, x, xdot, self.arguments.initial_step, restart.step_factor, counted)
        chunk = self._start(here)
        if isinstance(chunk, Status):
            return chunk
        if self.per_step:
            self._keep(np.array([t]), np.asarray(x)[None], np.asarray(xdot)[None], np.zeros((1, 2)))
        return self._go_on(chunk)

    def again(self, t: float) -> None:
        """After a stop: rows from t on, where the run goes on, are written once more."""
        self.restarts.append(self.rows_written)
        self.left = self.t_last, self.x_last, self.xdot_last
        if self.arguments.times is not None:
            self.next_time = int(np.searchsorted(self.arguments.times, t))

    def _limited(self, until: float, max_step: float | None) -> Settings:
        limits = np.array(self.settings.limits)
        limits[LIMIT_AT.t_end] = until
        if max_step is not None:
            limits[LIMIT_AT.max_step] = max_step
        return self.settings._replace(limits=limits)

    def _start(self, here: Origin) -> Chunk | Status | None:
        """Start, and where that is one call, go on; or say what is wrong."""
        compiled, chunk = self.compiled, None
        if compiled.placeholder is not None:
            chunk = self._call(compiled.placeholder, here)
            state = chunk[0]
        else:
            arguments = self.tables, self.settings, self.p, here
            try:
                factors = self.solver.prepare(compiled.first_matrix(*arguments))
            except SingularMatrix:
                _, t, h, _ = here.numbers
                return self._singular(t, jnp.asarray(here.x), jnp.asarray(here.xdot), h or 1.0)
            state = self.workspace.wait_for(compiled.start, *arguments, factors)
        numbers = state.read()
        if numbers.status != Status.RUNNING and numbers.attempts == here.counted[AT.attempts]:
            return self._wrong_start(here, numbers)
        if chunk is None:
            self.state, self.numbers = state, numbers
        return chunk

    def _wrong_start(self, here: Origin, numbers: Any) -> Status:
        """What is wrong with a start from which no attempt was made."""
        t, x, xdot = here.numbers[1], jnp.asarray(here.x), jnp.asarray(here.xdot)
        residual = np.asarray(self.problem.residual(t, x, xdot, self.p))
        if numbers.status == Status.INCONSISTENT:
            self.detail = describe_violation(self.problem, residual, numbers.violation)
        else:
            bad = np.flatnonzero(~np.isfinite(residual))[:10].tolist()
            self.detail = f"Rows {bad} of the residual are not finite at the start."
        return Status(int(numbers.status))

    # Chunks ----------------------------------------------------------------------------------------------

    def _go_on(self, chunk: Chunk | None) -> Status:
        while True:
            status = self._chunk(chunk)
            chunk = None
            self.interrupts.check()
            if self.bar is not None:
                self.bar.update(self.t_last - self.bar.n - self.arguments.t0)
            if status in GIVEN_UP_AT and self.may_go_back:
                changed = self._go_back(status)
                if isinstance(changed, Status):
                    return changed
                chunk = changed
            elif status == Status.NEW_PIVOTS:
                if not self._renew_pivots():
                    return self._singular_now()
            elif status == Status.SINGULAR:
                return self._singular_now()
            elif status == Status.NO_RESTART and self.hybrid is not None:
                return self._go_on_carefully()
            elif status != Status.RUNNING and not self._pending():
                return status
            elif status == Status.RUNNING:
                changed = self._look()
                if isinstance(changed, Status):
                    return changed
                chunk = changed

    def _call(self, state: State | None, here: Origin | None) -> Chunk:
        """One call of the compiled loop."""
        self.called = time.perf_counter()
        attempts = np.asarray(self._attempts(), np.int32)
        return self.workspace.wait_for(
            self.compiled.run, self.tables, self.settings, self.p, state, here, self._next_times(),
            attempts, np.int32(self.per_step), None if self.hybrid is None else self.hybrid.hybrid,
        )  # fmt: skip

    def _chunk(self, chunk: Chunk | None) -> Status:
        """Wait for a chunk, and take what it brings."""
        try:
            state, buffer, hybrid = chunk or self._call(self.state, self.compiled.no_origin)
        except jax.errors.JaxRuntimeError:
            self.interrupts.check()  # raised in a callback, it comes out as an error of JAX
            raise
        seconds = time.perf_counter() - self.called
        before = 0 if self.numbers is None else self.numbers.attempts
        self.state, self.numbers = state, state.read()
        now = self.numbers
        self.chunks += 1
        if now.attempts - before >= self.attempts_per_chunk and seconds < CHUNK_SECONDS:
            self.attempts_per_chunk *= 2
        elif seconds > 2 * CHUNK_SECONDS:
            self.attempts_per_chunk = max(1, self.attempts_per_chunk // 2)
        self.t_last = now.reached
        if now.reached == now.t:
            self.x_last, self.xdot_last = np.array(np.asarray(state.table)[0]), np.asarray(state.xdot)
        else:
            x, xdot = self.compiled.evaluate(state, now.reached)
            self.x_last, self.xdot_last = np.asarray(x), np.asarray(xdot)
        rows = int(np.asarray(buffer.rows))
        parts = buffer.times, buffer.x, buffer.xdot, buffer.step
        brought: Any = tuple(np.asarray(part)[:rows] for part in parts)
        if self.hybrid is not None and hybrid is not None:
            brought = self.hybrid.take(hybrid, brought, self.rows_written)
            self.p = self.hybrid.p
        t, of_x, of_xdot, step = brought
        self._keep(t, of_x, of_xdot, step, wanted=rows)
        status = Status(int(now.status))
        if self.hybrid is not None and self.hybrid.is_waiting(status, now.t):
            return Status.RUNNING
        return status

    def _next_times(self) -> np.ndarray:
        """The next wanted times, as many as fit in a chunk."""
        fit = int(min(max(CHUNK_BYTES / (16 * self.problem.size), FEWEST_ROWS), CHUNK_ROWS))
        window = np.full(fit, np.inf)
        if self.arguments.times is not None:
            left = self.arguments.times[self.next_time : self.next_time + fit]
            window[: len(left)] = left
        return window

    def _pending(self) -> bool:
        times = self.arguments.times
        return times is not None and self.next_time < len(times) and times[self.next_time] <= self.t_last

    def _keep(
        self, t: np.ndarray, x: np.ndarray, xdot: np.ndarray, step: np.ndarray, wanted: int | None = None
    ) -> None:
        """Rows of output, of which so many are at wanted times; None: all of them."""
        self.rows_written += len(t)
        self.next_time += len(t) if wanted is None else wanted
        if len(t) == 0:
            return
        if self.on_chunk is not None:
            self.on_chunk(t, x, xdot)
            return
        self.rows.append(t, x, xdot, step)

    def _keep_instant(self, t: float) -> None:
        """Nothing is integrated between two stops at one time; rows that are wanted there are."""
        count = 1
        if self.arguments.times is not None:
            count = int(np.searchsorted(self.arguments.times, t, side="right")) - self.next_time
            count = max(count, 0)
        x, xdot = np.tile(self.x_last, (count, 1)), np.tile(self.xdot_last, (count, 1))
        self._keep(np.full(count, t), x, xdot, np.zeros((count, 2)))

    # What happened ---------------------------------------------------------------------------------------

    def record_crossing(self) -> Crossing:
        assert self.state is not None
        which = np.flatnonzero(np.asarray(self.state.crossed))
        sides = np.asarray(self.state.sides)
        found = Crossing(self.t_last, tuple(which.tolist()), tuple(sides[which].tolist()))
        self.crossings.append(found)
        return found

    def _renew_pivots(self) -> bool:
        assert self.state is not None
        self.pivots_renewed += 1
        values = self.compiled.next_matrix(self.state, self.settings, self.p)
        try:
            factors = self.solver.prepare(values)
        except SingularMatrix:
            return False
        state = self.state.on_host(pivots_are_new=1, outdated=1, status=int(Status.RUNNING))
        self.state = state._replace(factors=factors)
        return True

    def _singular(self, t: float, x: jax.Array, xdot: jax.Array, h: float) -> Status:
        self.detail = describe_singularity(self.problem, self.compiled.pattern, t, x, xdot, self.p, h)
        return Status.SINGULAR

    def _singular_now(self) -> Status:
        x, xdot = jnp.asarray(self.x_last), jnp.asarray(self.xdot_last)
        return self._singular(self.t_last, x, xdot, self.numbers.h)

    def solution(self, status: Status) -> Solution:
        """All of it."""
        if self.bar is not None:
            self.bar.close()
        t, x, xdot, step = self.rows.arrays()
        work = self._statistics()
        warning = ""
        if self.numbers is not None:
            warning = rounding_warning(
                int(self.numbers.limited_element), work.steps, work.limited_by_rounding
            )
        return Solution(
            t=t,
            x=x,
            xdot=xdot,
            step=step[:, 0],
            order=step[:, 1].astype(np.int64),
            status=status,
            message=self.refusal
            or " ".join(part for part in (status.advice, self.detail, warning) if part),
            t_last=self.t_last,
            x_last=self.x_last,
            xdot_last=self.xdot_last,
            statistics=work,
            linear_solver=str(self.compiled.chosen),
            method=self._method(),
            crossings=tuple(self.crossings),
            events=() if self.hybrid is None else self.hybrid.history.records,
            p_last=self.p,
            restarts=tuple(self.restarts),
            refused=bool(self.refusal),
            loop=self.compiled.loop,
            not_inlined=self.compiled.not_inlined,
        )

    def _statistics(self) -> Statistics:
        """What was counted: by the loop under the names of `Statistics`, and here."""
        counted: dict[str, Any] = {}
        if self.state is not None:
            names = (field.name for field in fields(Statistics))
            counted = {
                name: int(getattr(self.numbers, name)) for name in names if hasattr(self.numbers, name)
            }
            of_orders = histogram(np.asarray(self.state.numbers))
            counted["order_histogram"] = tuple(int(count) for count in of_orders)
        return Statistics(
            **counted,
            chunks=self.chunks,
            pivots_renewed=self.pivots_renewed,
            seconds=time.perf_counter() - self.began,
        )


def _progress_bar(t0: float, t1: float, delay: bool | float) -> Any:
    from tqdm import tqdm

    return tqdm(
        total=t1 - t0,
        unit="s",
        desc="simulated time",
        bar_format="{l_bar}{bar}| {n:.4g}/{total:.4g}",
        delay=0.0 if delay is True else delay,
    )

"""Events of a run from Python's side: what the compiled loop carries for them, and what it leaves to
Python.

The loop handles events itself. Python handles those at stops and at the end of a run, and those after which
the loop has found no values to go on with: more careful iterations are made here (`roots.initialize`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from .event_contract import Effect, Events, Occasion
from .events.handle import MOST_PASSES
from .events.history import EventHistory, Rows
from .events.log import EventLog, empty_log
from .events.rhythm import no_events
from .loop.crossings import Stretches
from .loop.hybrid import Hybrid
from .roots.initialize import impulse_start
from .status import Status

if TYPE_CHECKING:
    from .loop.compiled import CompiledProblem

LOG_BYTES = 2e6
SHORTEST, LONGEST = 1e-5, 1 / 128
"""Parts of the interval: in stretches between these lengths steps are looked at for crossings."""
MANY_UNKNOWNS = 1000
"""With more of them looks cost more, and the longest stretch is longer in proportion."""
MOST_LOGGED, FEWEST_LOGGED = 256, 4
"""Events in one chunk."""


class Values(NamedTuple):
    """Values after an event, and how it ended."""

    x: np.ndarray
    xdot: np.ndarray
    p: Any
    status: Status
    passes: int
    first: np.ndarray
    """Discrete values after the first pass."""


class HybridRun:
    """The discrete side of one call of `solve`."""

    def __init__(self, compiled: CompiledProblem, p: Any, t0: float, t1: float):
        assert compiled.problem.events is not None
        self.compiled, self.events = compiled, compiled.problem.events
        discretes = np.asarray(self.events.discretes(p))
        size = compiled.problem.size
        self.history = EventHistory(discretes, size)
        fit = LOG_BYTES / (32 * size + 16 * len(discretes) + 32)
        self.log = empty_log(int(min(max(fit, FEWEST_LOGGED), MOST_LOGGED)), size, len(discretes))
        longest = LONGEST * max(1.0, size / MANY_UNKNOWNS)
        stretches = Stretches(np.float64(SHORTEST * (t1 - t0)), np.float64(longest * (t1 - t0)))
        rhythm = no_events(t0, compiled.crossings)
        self.hybrid = Hybrid(p, np.inf, np.inf, self.log, rhythm, stretches)
        self.message = ""

    @property
    def p(self) -> Any:
        return self.hybrid.p

    def begin(self, t: float, until: float, p: Any) -> None:
        """From here on, with these discrete values."""
        t_event = np.maximum(float(self.compiled.next_time(t, p)), np.nextafter(t, np.inf))
        self.hybrid = self.hybrid._replace(p=p, t_event=t_event, t_stop=np.float64(until))

    def take(self, hybrid: Hybrid, rows: Rows, rows_before: int) -> Rows:
        """What a chunk has brought."""
        log: EventLog = hybrid.log
        self.hybrid = hybrid._replace(log=self.log)
        return self.history.take(log, rows, rows_before)

    def is_waiting(self, status: Status, t: float) -> bool:
        """Whether the loop has stopped for an event that it will handle."""
        return status == Status.CROSSING or (status == Status.SUCCESS and t < float(self.hybrid.t_stop))

    def ends_with_event(self, t: float) -> bool:
        """Whether something may happen at the end of the run."""
        return self.events.has_terminal or float(self.hybrid.t_event) <= t

    def handle(
        self, tables: Any, settings: Any, state: Any, t: float, x: Any, xdot: Any, occasion: Occasion
    ) -> Values:
        """An event outside of the loop."""
        found = self.compiled.event(tables, settings, self.p, t, x, xdot, state.factors, int(occasion))
        status = Status(int(found.status))
        if status == Status.NO_RESTART:
            return self.handle_carefully(t, x, xdot, occasion)
        return Values(
            np.asarray(found.x),
            np.asarray(found.xdot),
            found.p,
            status,
            int(found.passes),
            np.asarray(found.first),
        )

    def handle_carefully(self, t: float, x: Any, xdot: Any, occasion: Occasion) -> Values:
        """The same with line searches and homotopies: for equations that are far from linear."""
        events, problem = self.events, self.compiled.problem
        p = events.begin(jnp.asarray(t), x, xdot, self.p, int(occasion))
        x, xdot = np.asarray(x), np.asarray(xdot)
        for number in range(MOST_PASSES):
            x_new, p, effect = self.compiled.one_pass(t, x, xdot, p, number)
            if number == 0:
                first = np.asarray(events.discretes(p))
            if effect == Effect.CONDITIONS:
                continue
            if effect == Effect.NOTHING:
                p = events.settle(jnp.asarray(t), x, xdot, p)
                return Values(x, xdot, p, Status(int(events.ends(p))), number + 1, first)
            p = self.compiled.rows_of_mode(t, x_new, xdot, p)
            found = impulse_start(problem, t, x_new, p, xdot)
            if not found.success:
                self.message = found.message
                return Values(x, xdot, p, Status.NO_RESTART, number + 1, first)
            x, xdot = found.x, found.xdot
        return Values(x, xdot, p, Status.CHATTERING, MOST_PASSES, first)

    def record(self, t: float, after: Values, rows_before: int, is_crossing: bool = False) -> Rows:
        """Note an event that was handled outside of the loop: the row just after it."""
        discretes = np.asarray(self.events.discretes(after.p))
        self.history.add(t, after.first, discretes, rows_before, after.passes, is_crossing)
        return np.array([t]), after.x[None], after.xdot[None], np.zeros((1, 2))


def has_changed(events: Events, p: Any, x: Any, after: Values) -> bool:
    """Whether an event has done anything."""
    same = np.array_equal(np.asarray(events.discretes(p)), np.asarray(events.discretes(after.p)))
    return not same or not np.array_equal(np.asarray(x), after.x)

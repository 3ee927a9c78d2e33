"""Events of a run that Python handles: at stops, at the end, and where compiled code finds no way on."""

from __future__ import annotations

from typing import Any

import numpy as np

from .event_contract import Occasion
from .hybrid_run import HybridRun, Values, has_changed
from .loop.start import origin
from .status import Status
from .stops import RESTART_FACTOR


class EventsOutsideTheLoop:
    """A part of `Integration`, which has what is declared here."""

    hybrid: HybridRun | None
    state: Any
    tables: Any
    settings: Any
    p: Any
    left: tuple[float, np.ndarray, np.ndarray] | None
    t_last: float
    x_last: np.ndarray
    xdot_last: np.ndarray
    detail: str
    restarts: list[int]
    rows_written: int
    _keep: Any
    _start: Any
    _go_on: Any

    def _event(self, occasion: Occasion, carefully: bool = False) -> Status:
        """An event here and now; RUNNING if the run may go on after it."""
        assert self.hybrid is not None
        assert self.state is not None
        t, x, xdot = self.t_last, self.x_last, self.xdot_last
        if carefully:
            after = self.hybrid.handle_carefully(t, x, xdot, occasion)
        else:
            after = self.hybrid.handle(self.tables, self.settings, self.state, t, x, xdot, occasion)
        if has_changed(self.hybrid.events, self.p, x, after):
            self._keep_event(after, carefully)
        self.x_last, self.xdot_last, self.p = after.x, after.xdot, after.p
        self.detail = self.hybrid.message
        return after.status

    def _keep_event(self, after: Values, is_crossing: bool) -> None:
        assert self.hybrid is not None
        t, x, xdot = self.left or (self.t_last, self.x_last, self.xdot_last)
        self._keep(np.array([t]), x[None], xdot[None], np.zeros((1, 2)), wanted=0)
        if self.left is not None:
            self.restarts[-1] += 1  # the row just before it belongs to what was before the stop
        row = self.hybrid.record(self.t_last, after, self.rows_written, is_crossing)
        self._keep(*row, wanted=0)

    def _go_on_carefully(self) -> Status:
        """After an event for which compiled code has found no values to go on with."""
        assert self.hybrid is not None
        assert self.state is not None
        status = self._event(Occasion.DURING, carefully=True)
        if status != Status.RUNNING:
            return status
        self.hybrid.begin(self.t_last, float(self.hybrid.hybrid.t_stop), self.p)
        counted = np.asarray(self.state.numbers)
        here = origin(self.t_last, self.x_last, self.xdot_last, None, RESTART_FACTOR, counted)
        chunk = self._start(here)
        return chunk if isinstance(chunk, Status) else self._go_on(chunk)

    def end(self) -> Status:
        """The event at the end of a run."""
        if self.hybrid is None or self.state is None or not self.hybrid.ends_with_event(self.t_last):
            return Status.SUCCESS
        status = self._event(Occasion.TERMINAL)
        return Status.SUCCESS if status == Status.RUNNING else status

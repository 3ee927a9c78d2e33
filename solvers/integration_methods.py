"""What a run does with `method_choice`: looks after so many attempts, and a start by another method."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arguments import RunArguments
from .loop.compiled import CompiledProblem
from .loop.start import origin
from .method.formula import NDF, RADAU
from .method.numbers import LIMIT_AT
from .method.settings import Settings, make_settings
from .method_choice import MethodChoice, Seen
from .status import Status

GIVEN_UP_AT = (Status.ERROR_TEST, Status.NEWTON, Status.NON_FINITE, Status.SINGULAR)
"""Failures of steps: what was tried is given up then, and the run goes on as it began."""


class ChangesOfMethod:
    """The part of `integration.Integration` that looks after the method."""

    compiled: CompiledProblem
    arguments: RunArguments
    choice: MethodChoice | None
    settings: Settings
    hybrid: Any
    state: Any
    numbers: Any
    attempts_per_chunk: int
    restarts: list[int]
    t_last: float
    x_last: np.ndarray
    xdot_last: np.ndarray
    _start: Any
    _limited: Any

    def _attempts(self) -> int:
        """How many in the next chunk: no more than there are to the next look."""
        if self.choice is None or self.choice.is_over:
            return self.attempts_per_chunk
        counted = 0 if self.numbers is None else int(self.numbers.attempts)
        return min(self.attempts_per_chunk, max(self.choice.look_at - counted, 1))

    def _look(self) -> Any:
        """Where it is time for that, look how the method does; the first chunk by another one if that is
        better, or how its start failed."""
        now, choice = self.numbers, self.choice
        if choice is None or choice.is_over or now.attempts < choice.look_at:
            return None
        if now.status != Status.RUNNING or now.reached != now.t or now.accepted == 0:
            return None  # an event waits, or a step is not finished
        formula = choice.look(self._seen())
        return None if formula is None else self._go_on_by(formula)

    @property
    def may_go_back(self) -> bool:
        return self.choice is not None and self.compiled.method.formula is RADAU

    def _go_back(self, status: Status) -> Any:
        """What was chosen has failed."""
        assert self.choice is not None
        return self._go_on_by(self.choice.give_up(self._seen(), status.name))

    def _seen(self) -> Seen:
        events = len(self.restarts) + (0 if self.hybrid is None else len(self.hybrid.history.records))
        return Seen.of(self.t_last, self.numbers, events)

    def _go_on_by(self, formula: str) -> Any:
        """Start by another method where the run is."""
        assert self.choice is not None
        self.compiled, self.workspace = self.choice.make_ready(formula)
        self.solver = self.workspace.solver
        self.tables = self.compiled.tables._replace(solver=self.solver.tables)
        limits = self.settings.limits
        until, longest = float(limits[LIMIT_AT.t_end]), float(limits[LIMIT_AT.max_step])
        self.settings = settings_of(self.arguments, self.compiled)
        self.settings = self._limited(until, longest)
        if self.hybrid is not None:
            self.hybrid.compiled = self.compiled
        counted = np.asarray(self.state.numbers)
        return self._start(origin(self.t_last, self.x_last, self.xdot_last, None, 1.0, counted))

    def _method(self) -> str:
        """What has run, in words."""
        method, order = self.compiled.method, self.arguments.max_order
        if self.choice is not None:
            return self.choice.describe(NDF.describe(order))
        formula = method.formula.describe(order)
        return formula if method.inlined is None else f"{formula}, {method.inlined}"


def settings_of(arguments: RunArguments, compiled: CompiledProblem) -> Settings:
    """Of a run, for the formulas that were compiled."""
    method, a = compiled.method, arguments
    return make_settings(
        method.problem, method.formula, method.solver.keeps_pivots, t_end=a.t1, rtol=a.rtol, atol=a.atol,
        max_step=a.max_step, max_steps=a.max_steps, max_order=a.max_order,
    )  # fmt: skip

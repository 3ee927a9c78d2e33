"""formula="auto": BDF, or Radau IIA, by what a run has seen of itself.

A run begins with the multistep formulas. Now and then it is looked at:

    events          many starts: the multistep method is back at order one each time, Radau IIA is not
    low orders      most steps at orders one and two: higher ones are unstable for oscillations that are
                    hardly damped, and the steps are short for the low order's sake
    length          a run this long is worth a trial, whatever the reason

Each is a reason for a trial: so many attempts by Radau IIA, from there on. Then the work for a unit of
time, since the look before the trial and in it, says which of the two goes on. Radau IIA then goes on to
the end; a trial that it has lost is repeated when the run has become twice as long. Where it fails, the
run goes back for good. Work is counted, and looks are taken after given numbers of attempts: nothing
depends on a clock, and runs repeat to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .method.formula import NDF, RADAU

AUTO = "auto"
LOOK_EVERY = 1000
"""Attempts."""
STEPS_AN_EVENT = 50
"""Events are frequent where there are fewer steps for each."""
LOW_SHARE = 0.7
"""Of the steps since the last look."""
LONG = 10_000
"""Attempts after which a trial is made without another reason,"""
TRIAL = 150
"""and attempts of a trial."""
OF_FACTORIZATION = 3.0
"""Its work, where that of a residual and of a solve is one."""


@dataclass(frozen=True)
class Seen:
    """The counts of a run."""

    t: float
    attempts: int = 0
    steps: int = 0
    low: int = 0
    """Steps of order one or two."""
    events: int = 0
    work: float = 0.0

    @classmethod
    def of(cls, t: float, numbers: Any, events: int) -> Seen:
        """From the numbers of a state."""
        work = numbers.residuals + numbers.solves + OF_FACTORIZATION * numbers.factorizations
        low = numbers.steps_of_order_1 + numbers.steps_of_order_2
        return cls(t, int(numbers.attempts), int(numbers.steps), int(low), events, float(work))

    def pace(self, before: Seen) -> float:
        """Time for a unit of work since then."""
        return (self.t - before.t) / max(self.work - before.work, 1.0)


class MethodChoice:
    """Of one run: what is decided at each look, and why.

    Parameters
    ----------
    t0 : float
        Where the run begins.
    make_ready : callable
        Formula -> compiled problem, workspace.
    """

    def __init__(self, t0: float, make_ready: Callable[[str], Any]):
        self.make_ready = make_ready
        self.look_at = LOOK_EVERY
        """So many attempts, when the next look is taken."""
        self.is_over = False
        self._last = Seen(t0)
        self._trial: Seen | None = None
        self._pace, self._next_trial = 0.0, 0
        self._reason = self._story = ""

    def look(self, now: Seen) -> str | None:
        """The formula to go on with, if it is another one."""
        if self._trial is not None:
            return self._judge(self._trial, now)
        last, self._last = self._last, now
        self.look_at = now.attempts + LOOK_EVERY
        reason = _reason(last, now)
        if not reason or now.attempts < self._next_trial:
            return None
        self._reason = reason
        self._trial, self._pace = now, now.pace(last)
        self.look_at = now.attempts + TRIAL
        return RADAU.name

    def _judge(self, begun: Seen, now: Seen) -> str | None:
        own = now.pace(begun)
        self.is_over = own > self._pace
        times = own / self._pace if self._pace > 0 else float("inf")
        self._tell(begun, f"{times:.2g} times as far for the same work", tried=not self.is_over)
        if self.is_over:
            return None
        self._trial, self._last = None, now
        self._next_trial, self.look_at = 2 * now.attempts, now.attempts + LOOK_EVERY
        return NDF.name

    def give_up(self, now: Seen, status: str) -> str:
        """The formula to go on with after a failure of what was tried."""
        assert self._trial is not None
        self.is_over = True
        self._tell(self._trial, f"{status} at time {now.t:.6g}, and back", tried=True)
        return NDF.name

    def _tell(self, begun: Seen, outcome: str, tried: bool) -> None:
        name = RADAU.describe(RADAU.max_order)
        how = f"{name} tried at" if tried else f"{name} from"
        self._story = f"{how} time {begun.t:.6g}{'' if tried else ' on'}, for {self._reason}: {outcome}"

    def describe(self, first: str) -> str:
        """What has run."""
        if self._trial is not None and not self.is_over:
            self._tell(self._trial, "not judged yet", tried=False)
        return f"{first}; {self._story or 'nothing spoke for another method'}"


def _reason(last: Seen, now: Seen) -> str:
    """Why another method should be tried; empty if nothing speaks for it."""
    steps, events = max(now.steps - last.steps, 1), now.events - last.events
    if events * STEPS_AN_EVENT > steps:
        return f"frequent events ({events} in {steps} steps)"
    share = (now.low - last.low) / steps
    if share > LOW_SHARE:
        return f"low orders ({100 * share:.0f} % of {steps} steps at orders 1 and 2)"
    return f"its length ({now.attempts} attempts)" if now.attempts >= LONG else ""

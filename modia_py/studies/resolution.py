"""Steps that are short enough for derivatives.

Steps are chosen for the run. Where that is at rest, or goes straight, they are long, and a tangent that
moves is followed badly: of a crane that stands still, the derivative by its input would be nonsense. So the
error that the steps make in a tangent is estimated, and they are made shorter until it is small.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ModelWarning
from .recording import Recording

ALLOWED, LEAST = 1000.0, 1e-5
"""Error of tangents in units of rtol; and the least that is asked for, as a part of the largest value."""
SHORTER, SHORTEST = 0.6, 0.1
"""A shortening is between these."""
MOST_STEPS, MOST_WORK, MORE = 20_000, 2e7, 4
"""So many steps are made for derivatives, so many times unknowns, or so many times those of the run."""
USELESS, BETTER = 2, 0.9
"""So often steps are made shorter without an effect: an error that is less by this factor."""
ALIKE = 0.7
"""A run with so many steps as one that was looked at, and not longer ones by more than this, is like it."""
UNSEEN = 20
"""So many runs like one that was looked at are not looked at."""


@dataclass
class Seen:
    """A run that was looked at."""

    longest: float
    steps: int
    limit: float
    """What steps were limited to."""
    uses: int = 0

    def covers(self, run: Recording) -> bool:
        is_like = run.longest_step * ALIKE <= self.longest and run.steps >= ALIKE * self.steps
        return is_like and self.uses < UNSEEN


@dataclass
class Resolution:
    """How accurate derivatives have to be, and what was found of it."""

    rtol: float
    accuracy: float | None = None
    seen: dict[Any, Seen] = field(default_factory=dict)

    @property
    def allowed(self) -> float:
        return max(ALLOWED * self.rtol, LEAST) if self.accuracy is None else self.accuracy

    def resolve(self, run: Recording, names: Any, error: Callable[[], float]) -> None:
        """Shorten the steps of a run until the error of tangents by some names is small."""
        if names in run.resolved:
            return
        run.resolved.add(names)
        before = self.seen.get(names)
        if before is not None:
            if before.limit < run.longest_step:
                run.shorten(before.limit)
            if before.covers(run):
                before.uses += 1
                return
        found = self._shortened(run, error)
        self.seen[names] = Seen(run.longest_step, run.steps, run.longest)
        if not found <= self.allowed:
            warnings.warn(
                f"Derivatives of this run are accurate to about {found:.1g} of their largest values only: "
                f"they change faster than the run itself. A smaller rtol may help.",
                ModelWarning,
                stacklevel=2,
            )

    def _shortened(self, run: Recording, error: Callable[[], float]) -> float:
        """The error that is left."""
        found, useless = error(), 0
        most = max(MORE * run.steps, min(MOST_STEPS, MOST_WORK / max(1, run.output.x.shape[-1])))
        length = float(run.legs[-1].end.t - run.legs[0].start.t)
        while not found <= self.allowed and useless < USELESS:
            limit = run.longest_step * float(np.clip(np.sqrt(self.allowed / found), SHORTEST, SHORTER))
            if not limit > 0 or length > most * limit:
                break
            run.shorten(limit)
            before, found = found, error()
            useless += not found < BETTER * before
        return found

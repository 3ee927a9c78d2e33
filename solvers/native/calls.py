"""The native functions that XLA calls: their names, and the names of the arrays they are given and change.

Both sides of the border use these: `attempt` puts arrays in this order, `handlers` finds them by the same
names.
"""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Call:
    """A function with arrays that it reads, and others that it changes in place."""

    target: str
    given: tuple[str, ...]
    changed: tuple[str, ...]

    @cached_property
    def arguments(self) -> Any:
        """Places of the arrays that are given, by name."""
        return namedtuple("Arguments", self.given)(*range(len(self.given)))

    @cached_property
    def results(self) -> Any:
        """Places of the arrays that are changed, by name."""
        return namedtuple("Results", self.changed)(*range(len(self.changed)))


BEGIN = Call(
    "modia_py_begin",
    given=("table", "atol", "tightness", "limits"),
    changed=("x", "slope", "weights", "numbers"),
)
WEIGH = Call(
    "modia_py_weigh",
    given=("table", "atol", "tightness", "of_constraints", "of_slopes", "limits"),
    changed=("weights", "numbers"),
)
ITERATE = Call(
    "modia_py_iterate",
    given=(
        "delta",
        "limits",
        "weights",
        "tightness",
        "slope_places",
        "slope_atol",
        "of_constraints",
        "of_slopes",
    ),
    changed=("d", "x", "slope", "numbers"),
)
FINISH = Call(
    "modia_py_finish",
    given=("d", "limits", "atol", "tightness"),
    changed=("table", "weights", "x", "slope", "xdot", "numbers"),
)

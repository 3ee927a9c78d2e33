"""The outcome of a run, in five words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from .parts import Deviation, Part

FACTOR = 5.0
"""Errors of a right answer, at most, in units of rtol*size + atol and of the gain of the variable: global
errors of a code that controls local ones."""


class Outcome(StrEnum):
    RIGHT = "right"
    REFUSED = "refused"  # with a ModiaError, as the model has no answer
    UNJUSTIFIED = "unjustified refusal"  # with a ModiaError, though it has one
    SILENT = "silent error"  # SUCCESS, and wrong
    CRASH = "crash"  # any other exception, or the end of the process
    HANG = "hang"


BAD = (Outcome.UNJUSTIFIED, Outcome.SILENT, Outcome.CRASH, Outcome.HANG)


@dataclass(frozen=True)
class Verdict:
    outcome: Outcome
    text: str = ""
    error: float = 0.0  # in tolerances

    @property
    def bad(self) -> bool:
        return self.outcome in BAD


def judge_success(
    part: Part, times: np.ndarray, values: Callable[[str], np.ndarray], rtol: float, atol: float
) -> Verdict:
    """A run that ended with SUCCESS."""
    if part.must == "error":
        return Verdict(Outcome.SILENT, "SUCCESS, where only an error is right", np.inf)
    worst: tuple[float, Deviation] | None = None
    for deviation in part.deviations(times, values):
        error = deviation.in_tolerances(rtol, atol)
        if worst is None or error > worst[0]:
            worst = (error, deviation)
    if worst is None:
        return Verdict(Outcome.RIGHT)
    error, d = worst
    text = f"{d.name} = {d.value:.9g} at {d.time:.6g}, right is {d.right:.9g}"
    text += f" ({error:.3g} tolerances, rtol {rtol:g})"
    return Verdict(Outcome.SILENT if error > FACTOR else Outcome.RIGHT, text, error)


def judge_refusal(part: Part, error: BaseException) -> Verdict:
    """A run that ended with an exception."""
    from modia_py import ModiaError

    text = f"{type(error).__name__}: {error}"
    if not isinstance(error, ModiaError):
        return Verdict(Outcome.CRASH, text, np.inf)
    if part.must == "right":
        return Verdict(Outcome.UNJUSTIFIED, text, np.inf)
    return Verdict(Outcome.REFUSED, text)


def worst_of(verdicts: Sequence[Verdict]) -> Verdict:
    order = list(Outcome)
    return max(verdicts, key=lambda verdict: (order.index(verdict.outcome), verdict.error))


def prefixed(result: Any, prefix: str) -> Callable[[str], np.ndarray]:
    """Variables of one part in the result of a batch: `der(x)` of part 3 is `der(p3.x)`."""

    def values(name: str) -> np.ndarray:
        depth = name.count("der(")
        inner = name.replace("der(", "").rstrip(")")
        return np.asarray(result["der(" * depth + prefix + inner + ")" * depth])

    return values

"""What a user asks of a run, as it was typed, and checked."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from ..language.symbols import holds_text
from ..solvers.linear.choice import NAMES as LINEAR_SOLVERS
from ..start.values import Starts
from .run import METHODS, RunOptions

POINTS = 501
"""Times of output if nothing else is asked for."""
ATOL = 1e-3
"""Absolute tolerance, compared with the relative one, if it is not given."""
ROUNDING = 1e-12
"""Of the ends of a run: times of output that are off by no more are at the end."""
STARTS = ("init", "impulse")
RTOL_LIMITS = (1e-14, 0.1)


@dataclass(frozen=True, eq=False)
class RunRequest:
    """The arguments of `CompiledModel.simulate`: see there."""

    stop_time: float
    start_time: float = 0.0
    params: Mapping[str, Any] | None = None
    inputs: Mapping[str, Any] | None = None
    init: Mapping[str, Any] | None = None
    times: Any = POINTS
    rtol: float = 1e-6
    atol: Any = None
    method: str = "bdf"
    linear_solver: str = "auto"
    progress: bool | None = None
    max_steps: int = 1_000_000
    start: str = "init"
    must_restart: bool = False
    guess: Mapping[str, Any] | None = None
    near: Any = None
    """A start of other values (`start.problem.StartPoint`), near which that of these is looked for."""

    @property
    def starts(self) -> Starts:
        """What is given for the start."""
        return Starts(self.init, self.guess, self.near)

    def check_choices(self) -> None:
        """Complain about a word that is none of those to choose from."""
        for word, value, known in (
            ("method", self.method, tuple(METHODS)),
            ("linear_solver", self.linear_solver, LINEAR_SOLVERS),
            ("start", self.start, STARTS),
        ):
            if value not in known:
                raise ModelError(f"There is no {word} {value!r}; there {_are(known)}.")

    def checked(self) -> RunOptions:
        """The options of the run, or an error that says what is wrong with them."""
        self.check_choices()
        for word in ("params", "inputs", "init", "guess"):
            given = getattr(self, word)
            if given is not None and not isinstance(given, Mapping):
                raise ModelError(f"{word} are values by name, {{'name': value}}, not {given!r}.")
        for word in ("start_time", "stop_time", "rtol"):
            number = getattr(self, word)
            if isinstance(number, str):
                raise ModelError(f"{word} is the text {number!r}: write the number without quotes.")
            if not _is_finite_number(number):
                hint = (
                    " An interval is start_time=..., stop_time=...."
                    if isinstance(number, (tuple, list))
                    else ""
                )
                raise ModelError(f"{word} must be a finite number, not {number!r}.{hint}")
        start, stop = float(self.start_time), float(self.stop_time)
        if stop <= start:
            raise ModelError(f"stop_time = {stop:g} is not after start_time = {start:g}.")
        least, most = RTOL_LIMITS
        if not least <= self.rtol <= most:
            raise ModelError(f"rtol = {self.rtol:g} is not between {least:g} and {most:g}.")
        if not isinstance(self.max_steps, (int, np.integer)) or self.max_steps < 1:
            raise ModelError(f"max_steps must be a positive integer, not {self.max_steps!r}.")
        progress = sys.stderr.isatty() if self.progress is None else bool(self.progress)
        return RunOptions(
            start,
            stop,
            times_between(self.times, start, stop),
            float(self.rtol),
            checked_atol(self.atol, self.rtol),
            int(self.max_steps),
            self.linear_solver,
            progress,
            self.method,
            self.must_restart,
        )


def _is_finite_number(value: Any) -> bool:
    """Whether it is a number, which an array without axes is, too."""
    array = np.asarray(value)
    return array.ndim == 0 and array.dtype.kind in "iuf" and bool(np.isfinite(array))


def checked_atol(atol: Any, rtol: float) -> float:
    if isinstance(atol, str):
        raise ModelError(f"atol must be a number, or numbers by name, not the text {atol!r}.")
    if atol is None or isinstance(atol, Mapping):
        return ATOL * rtol
    try:
        value = float(atol)
    except (TypeError, ValueError):
        raise ModelError(f"atol must be a number, or numbers by name, not {atol!r}.") from None
    if not (np.isfinite(value) and value > 0):
        raise ModelError(f"atol must be positive and finite, not {atol!r}.")
    return value


def times_between(times: Any, start: float, stop: float) -> np.ndarray:
    """Times of output from what a user gave for them."""
    if isinstance(times, (int, np.integer)) and not isinstance(times, bool):
        if times < 2:
            raise ModelError(f"times = {times}: output needs two points at least.")
        return np.linspace(start, stop, int(times))
    if np.ndim(times) == 0 and isinstance(times, (float, np.floating, np.ndarray)):
        step = float(times)
        points = round((stop - start) / step) + 1 if step > 0 and (stop - start) / step < 1e9 else 501
        if step >= 2 and step == round(step):
            points = round(step)
        meant = f"times={points} is a point every {(stop - start) / max(points - 1, 1):g}"
        raise ModelError(
            f"times = {step:g} is neither a number of points, which is an integer, nor an array of times. "
            f"{meant}; times=[{step:g}] is that time only."
        )
    try:
        if holds_text(times):
            raise TypeError
        array = np.atleast_1d(np.asarray(times, float))
    except (TypeError, ValueError):
        raise ModelError(f"times is a number of points or an array of times, not {times!r}.") from None
    if array.ndim == 1:
        array = _without_rounding(array, start, stop)
    if array.ndim != 1 or not len(array) or not np.all(np.isfinite(array)) or np.any(np.diff(array) <= 0):
        raise ModelError("times must be finite and increase.")
    if array[0] < start or array[-1] > stop:
        raise ModelError(
            f"times go from {array[0]:g} to {array[-1]:g}, the simulation from {start:g} to {stop:g}."
        )
    return array


def _without_rounding(times: np.ndarray, start: float, stop: float) -> np.ndarray:
    """Times that are past an end by rounding (`np.arange(0, 0.31, 0.1)` ends at 0.30000000000000004)."""
    slack = ROUNDING * max(abs(start), abs(stop))
    times = np.where((times > stop) & (times <= stop + slack), stop, times)
    return np.where((times < start) & (times >= start - slack), start, times)


def _are(known: tuple[str, ...]) -> str:
    return f"is {known[0]!r}" if len(known) == 1 else f"are {', '.join(map(repr, known))}"

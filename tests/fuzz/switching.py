"""What a system that switches is: its text, and a function that follows it from event to event.

`n` counts events, `last` is the time of the last one, `q` the time spent in a mode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from .pieces import Piece, Solution

Numbers = Mapping[str, float]
Draw = np.random.Generator


@dataclass(frozen=True)
class Extra:
    """Something to be observed, which can be left out."""

    name: str
    variable: str
    equation: str


@dataclass(frozen=True)
class System:
    title: str
    variables: tuple[str, ...]
    equations: tuple[str, ...]
    solve: Callable[[Numbers, float], Solution]
    names: tuple[str, ...]  # what is compared besides the extras
    extras: tuple[Extra, ...] = ()
    before: tuple[str, ...] = ()  # statements before the equations

    @property
    def compared(self) -> tuple[str, ...]:
        return (*self.names, *(extra.name for extra in self.extras))


def observed(event: str, mode: str = "") -> tuple[Extra, ...]:
    """A counter and a clock of an event, and the time spent in a mode."""
    extras = (
        Extra("n", "n = Discrete(0)", f"when({event}, assign(s.n, pre(s.n) + 1))"),
        Extra("last", "last = Discrete(-1.0)", f"when({event}, assign(s.last, time))"),
    )
    integral = Extra("q", "q = Var(init=0.0)", f"der(s.q) == where({mode}, 1.0, 0.0)")
    return (*extras, integral) if mode else extras


def between(draw: Draw, low: float, high: float) -> float:
    return float(np.round(draw.uniform(low, high), 3))


def followed(pieces: list[Piece], enlarged: float = 1.0) -> Solution:
    """Every event adds an error of its own: a restart, and the place of the event."""
    return Solution(pieces, 2.0 * enlarged * (1 + len(pieces)))

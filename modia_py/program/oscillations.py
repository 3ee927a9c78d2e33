"""How fast functions of time oscillate, and so how long steps may be.

While all states are at rest, steps of any length satisfy the error test, and a source that swings meanwhile
is not looked at: a capacitor behind a diode is charged for a short part of a period, and whole periods
would be stepped over. Where a source matters, a step is a small part of its period anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ..expressions.abrupt_parts import smooth_parts
from ..solvers.compile_options import quick_jit
from .bursts import MOST_BUSY
from .program import Arguments, Program
from .time_expressions import TimeExpressions

STEPS_A_PERIOD = 32
FEWEST_EXTREMA = 4
"""Fewer are no oscillation."""
AT_REST = 1e-3
"""A slope, compared with the largest one; what is at rest but for a small part of the run is no oscillation
either (see `bursts`)."""
MOST_STEPS = 1e5
"""That a run has to take because of this; a faster source is left to the error test."""
GRID = 1024
"""Times at which functions are looked at, more or less evenly spread, so that none hides behind them."""


def longest_step_for_sources(program: Program, arguments: Arguments, start: float, stop: float) -> float:
    """A part of the shortest period of the smooth functions of time in the equations."""
    parts, compiled = smooth_expressions(program)
    if not parts.groups or not stop > start:
        return np.inf
    rows, _ = parts.rows(np.asarray(arguments.p))
    spread = (np.arange(GRID) + 0.8 * ((np.arange(GRID) * 0.6180339887498949) % 1.0)) / GRID
    values, slopes = map(np.asarray, compiled(start + (stop - start) * spread, arguments.signals, rows))
    return max(step_for(values, slopes), (stop - start) / MOST_STEPS)


def smooth_expressions(program: Program) -> tuple[TimeExpressions, Callable[..., Any]]:
    """Smooth functions of time in the equations, and their values and slopes at many times, compiled."""
    if program.cache.smooth_expressions is None:
        parts = TimeExpressions(program.structure.flat, smooth_parts)
        program.cache.smooth_expressions = parts, quick_jit(_with_slopes(program, parts), 0)
    return program.cache.smooth_expressions


def step_for(values: np.ndarray, slopes: np.ndarray) -> float:
    """For functions and their slopes at many times, one in each column.

    A sine has a slope of its frequency times its size, in the mean.
    """
    size, speed = np.std(values, axis=0), np.sqrt(np.mean(np.square(slopes), axis=0))
    extrema = np.sum(np.diff(np.sign(slopes), axis=0) != 0, axis=0)
    busy = np.mean(np.abs(slopes) > AT_REST * np.abs(slopes).max(axis=0, initial=0.0), axis=0)
    swings = (extrema >= FEWEST_EXTREMA) & (busy > MOST_BUSY)
    swings &= np.isfinite(size) & np.isfinite(speed) & (size > 0)
    periods = 2 * np.pi * size[swings] / speed[swings]
    return float(np.min(periods, initial=np.inf)) / STEPS_A_PERIOD


def _with_slopes(program: Program, parts: TimeExpressions) -> Any:
    def at_all(times: Any, data: Any, rows: Any) -> Any:
        def one(t: Any) -> Any:
            return jax.jvp(lambda t: parts.values(t, program.signals, data, rows), (t,), (1.0,))

        return jax.vmap(one)(times)

    return at_all

"""Trajectories in pieces: closed forms between the times at which something switches.

Every piece has functions of the time since its start, and keeps them a little beyond its ends: where the
border between two pieces is nearer than BLUR, a value may be that of either. Whether borders are where they
have to be is seen in variables that store the time of an event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Elapsed = Callable[[np.ndarray], np.ndarray]

BLUR = 1e-4
"""Of time: some hundred times the error of an event at the loosest tolerance."""


@dataclass(frozen=True)
class Piece:
    start: float
    functions: Mapping[str, Elapsed]

    def at(self, name: str, times: np.ndarray) -> np.ndarray:
        return self.functions[name](times - self.start)


@dataclass(frozen=True)
class Solution:
    """All pieces of a run, the first of which starts at time zero."""

    pieces: Sequence[Piece]
    gain: float  # by which a switching system enlarges errors of one tolerance

    def nearest(self, name: str, times: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The right values; at borders of pieces those on the side that is nearer to `values`."""
        starts = np.array([piece.start for piece in self.pieces])
        own = np.maximum(np.searchsorted(starts, times, side="right") - 1, 0)
        right = self._of_pieces(name, times, own)
        for other in (np.maximum(own - 1, 0), np.minimum(own + 1, len(starts) - 1)):
            border = starts[np.maximum(own, other)]
            candidate = self._of_pieces(name, times, other)
            closer = np.abs(candidate - values) < np.abs(right - values)
            right = np.where((np.abs(times - border) < BLUR) & closer, candidate, right)
        return right

    def _of_pieces(self, name: str, times: np.ndarray, which: np.ndarray) -> np.ndarray:
        values = np.empty(len(times))
        for k in np.unique(which):
            rows = which == k
            values[rows] = self.pieces[k].at(name, times[rows])
        return values


def line(value: float, slope: float = 0.0) -> Elapsed:
    return lambda s: value + slope * s


def parabola(value: float, slope: float, curvature: float) -> Elapsed:
    return lambda s: value + slope * s + curvature / 2 * s**2


def relaxing(value: float, target: float, rate: float) -> Elapsed:
    """x' = rate*(target - x)."""
    return lambda s: target + (value - target) * np.exp(-rate * s)


def swinging(center: float, amplitude: float, w: float, phase: float) -> Elapsed:
    return lambda s: center + amplitude * np.sin(w * s + phase)


def time_to_reach(value: float, border: float, target: float, rate: float) -> float:
    """When x' = rate*(target - x) gets from `value` to `border`, which lies before its target."""
    return float(np.log((target - value) / (target - border)) / rate)

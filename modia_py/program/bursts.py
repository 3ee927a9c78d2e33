"""Times at which a function of time is busy, after and before long rests.

A smooth pulse has no break at which to stop, and a system at rest takes steps of any length. So where a
function varies during a small part of the run only, that part is found on the grid, and steps in it are
kept short.
"""

from __future__ import annotations

import numpy as np

QUIET = 1e-4
"""Change from one point of the grid to the next but some, compared with the whole range: at rest."""
NEIGHBOURS = 4
MOST_BUSY = 0.1
"""Part of the run: what is busy for longer is seen by the error estimates of the integrator."""
MOST_BURSTS = 50


def bursts(times: np.ndarray, values: np.ndarray, breaks: list[float]) -> list[tuple[float, float]]:
    """Intervals in which some function varies that rests elsewhere."""
    if len(times) < 10 * NEIGHBOURS:
        return []
    found: list[tuple[float, float]] = []
    for column in np.unique(values, axis=1).T if values.shape[1] > 1 else values.T:
        found += _of_one(times, column, np.asarray(breaks))
    return _merged(found)[:MOST_BURSTS] if len(found) <= MOST_BURSTS else []


def _of_one(times: np.ndarray, column: np.ndarray, breaks: np.ndarray) -> list[tuple[float, float]]:
    size = np.ptp(column)
    if not np.isfinite(size) or size == 0:
        return []
    # Curvature counts: a ramp is followed by steps of any length.
    slope = np.diff(column) / np.diff(times)
    bend = np.abs(np.diff(slope)) * np.diff(times)[1:]
    at_break = np.zeros(len(times), bool)
    for k in np.searchsorted(times, breaks):
        at_break[max(0, k - 2) : k + 2] = True
    busy = np.append(np.append(False, bend > QUIET * size), False) & ~at_break
    if not busy.any() or busy.mean() > MOST_BUSY:
        return []
    spread = np.convolve(busy, np.ones(2 * NEIGHBOURS + 1), mode="same") > 0
    edges = np.flatnonzero(np.diff(np.concatenate([[False], spread, [False]]).astype(int)))
    return [(float(times[a]), float(times[min(b, len(times) - 1)])) for a, b in edges.reshape(-1, 2)]


def _merged(intervals: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Intervals that overlap, as one."""
    result: list[tuple[float, float]] = []
    for low, high in sorted(intervals):
        if result and low <= result[-1][1]:
            result[-1] = result[-1][0], max(high, result[-1][1])
        else:
            result.append((low, high))
    return result

"""Zero crossings in a step, by native code: what `crossings` and `extrema` do in JAX.

The method and its constants are theirs. Here it is written for numbers, one function of the problem after
the other: compiled by XLA it is half of the program of a model with events, and the longer half of a step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from ..method.coefficients import DIFFERENCES
from ..method.numbers import AT
from ..status import Status
from .crossings import LONGER, MOST_ROUNDS, RESOLUTION, SHORTER
from .extrema import (
    ASIDE,
    CLOSER,
    ELSEWHERE,
    EVERYWHERE,
    FARTHEST,
    FINE,
    MATTERS,
    MOST_COMPARED,
    MOST_EXTREMA,
    NEAR,
    PLACES,
    ROUNDING,
    ROUNDS,
    UNEXPECTED,
    through_places,
)

_compiled = njit(error_model="numpy")

_POINTS = FINE * PLACES + 1
_AT_POINTS = through_places(np.linspace(0.0, 1.0, _POINTS))
_AT_OTHERS = through_places(ELSEWHERE)
_CROSSING, _RUNNING, _SUCCESS = (float(s) for s in (Status.CROSSING, Status.RUNNING, Status.SUCCESS))
_EPSILON = float(np.finfo(float).eps)


@_compiled
def _factors(order: int, h: float, distance: float, of: Any) -> None:
    """Factors of the differences for the value (of[0]) and the slope (of[1]) at a distance."""
    s, of[0, 0], of[1, 0] = distance / h, 1.0, 0.0
    for j in range(1, order + 1):
        of[0, j] = of[0, j - 1] * (s + (j - 1)) / j
        of[1, j] = (of[1, j - 1] * (s + (j - 1)) + of[0, j - 1] / h) / j


@_compiled
def _bends(table: Any, xdot: Any, before: Any, s: Any) -> Any:
    """By how much the polynomial's slopes are not those of the step, at its beginning and at its end."""
    order, h, n = int(s[AT.order]), s[AT.h], len(xdot)
    of, bends = np.empty((2, DIFFERENCES)), np.empty((2, n))
    for k in range(2):
        _factors(order, h, -s[AT.last_step] if k == 0 else 0.0, of)
        for i in range(n):
            slope = 0.0
            for j in range(1, order + 1):
                slope += of[1, j] * table[j, i]
            bends[k, i] = (before[i] if k == 0 else xdot[i]) - slope
    return bends


@_compiled
def _point(table: Any, xdot: Any, bends: Any, s: Any, t: float, point: Any) -> None:
    """t, x and xdot within the last step (`loop.output.evaluate_within`)."""
    order, h, now, last, n = int(s[AT.order]), s[AT.h], s[AT.t], s[AT.last_step], len(xdot)
    point[0] = t
    if t == now:
        for i in range(n):
            point[1 + i], point[1 + n + i] = table[0, i], xdot[i]
        return
    of = np.empty((2, DIFFERENCES))
    _factors(order, h, t - now, of)
    part = (now - t) / last if last > 0.0 else 0.0
    for i in range(n):
        x, slope = table[0, i], 0.0
        for j in range(1, order + 1):
            x += of[0, j] * table[j, i]
            slope += of[1, j] * table[j, i]
        point[1 + i] = x
        point[1 + n + i] = slope + bends[1, i] + part * (bends[0, i] - bends[1, i])


@_compiled
def _range(values: Any, rows: int, j: int) -> tuple[float, float]:
    """Smallest and largest value of a function; NaN if any of them is."""
    low = high = values[0, j]
    for k in range(1, rows):
        value = values[k, j]
        if value < low or np.isnan(value):
            low = value
        if value > high or np.isnan(value):
            high = value
    return low, high


@_compiled
def _unexpected(values: Any, off: Any) -> bool:
    """`extrema.unexpected`, for values at all places and elsewhere."""
    found = False
    for j in range(values.shape[1]):
        low, high = _range(values, len(EVERYWHERE), j)
        variation, off[j] = high - low, 0.0
        for k in range(len(ELSEWHERE)):
            expected = 0.0
            for i in range(PLACES + 1):
                expected += _AT_OTHERS[k, i] * values[i, j]
            off[j] = max(off[j], abs(values[PLACES + 1 + k, j] - expected))
        matters = min(abs(high), abs(low)) < MATTERS * variation or (high > 0.0) != (low > 0.0)
        matters = matters and variation > ROUNDING * max(abs(high), abs(low))
        found = found or (matters and off[j] > UNEXPECTED * variation)
    return found


@_compiled
def _may_return(values: Any) -> bool:
    for j in range(values.shape[1]):
        low, high = _range(values, PLACES + 1, j)
        if min(abs(high), abs(low)) < NEAR * (high - low) and high != low:
            return True
    return False


@_compiled
def _vertex(before: float, here: float, after: float) -> float:
    curvature = before - 2.0 * here + after
    return 0.5 * (before - after) / curvature if curvature > 0.0 else 0.0


@_compiled
def _candidates(values: Any, off: Any, part: Any, function: Any, sign: Any) -> int:
    """`extrema.candidates`: how many there are."""
    count = values.shape[1]
    found, of = np.empty(2 * count), np.empty(2 * count, np.int64)
    towards = np.empty(_POINTS)
    number = 0
    for late in range(2):  # first minima of all functions, then the lowest places
        for j in range(count):
            own = 1.0 if values[0, j] > 0.0 else -1.0
            low, high = _range(values, PLACES + 1, j)
            margin = 2.0 * max(UNEXPECTED * (high - low), off[j])
            for i in range(_POINTS):
                towards[i] = 0.0
                for k in range(PLACES + 1):
                    towards[i] += own * _AT_POINTS[i, k] * values[k, j]
            first, lowest = 0, 0
            for i in range(_POINTS):
                if towards[i] < towards[lowest]:
                    lowest = i
                inner = 0 < i < _POINTS - 1
                if first == 0 and inner and towards[i] <= min(towards[i - 1], towards[i + 1], margin):
                    first = i
            lowest = min(max(lowest, 1), _POINTS - 2)
            if (late == 0 and first == 0) or (late == 1 and first == lowest):
                continue
            place = first if late == 0 else lowest
            around = towards[place - 1], towards[place], towards[place + 1]
            shift = min(max(_vertex(around[0], around[1], around[2]), -1.0), 1.0)
            if around[1] - 0.25 * (around[0] - around[2]) * shift <= margin:
                found[number] = min((place + shift) / (_POINTS - 1), 1.0 - 0.5 * ASIDE)
                of[number] = j
                number += 1
    kept, last = 0, -1.0
    order = np.argsort(found[:number], kind="mergesort")
    for k in range(min(number, MOST_COMPARED)):
        here = found[order[k]]
        if here > last + 0.5 * ASIDE and kept < MOST_EXTREMA:  # equal functions have equal extrema
            j = of[order[k]]
            part[kept], function[kept] = here, j
            sign[kept] = 1.0 if values[0, j] > 0.0 else -1.0
            kept += 1
        last = here
    return kept


@_compiled
def _first_change(sides: Any, values: Any, count: int, at: Any) -> int:
    """The first row in which a function is no longer positive, or -1; `at` are the sides before it."""
    m = len(sides)
    for j in range(m):
        at[j] = sides[j]
    for k in range(count):
        for j in range(m):
            if at[j] != 0.0 and not values[k, j] > 0.0:
                return k
        for j in range(m):
            at[j] = values[k, j] > 0.0
    return -1


def make_watch(evaluate: Callable[..., Any]) -> Any:
    """watch(data, table, xdot, before, sides, crossed, s, start, shortest, longest): look for crossings in
    the step from start that was made last; at the first one, put its time and status into the numbers s.

    evaluate(data, points, count, out) computes the functions at points (t, x, xdot), in rows. They are
    positive while nothing happens.
    """

    @_compiled
    def values_at(
        data: Any, table: Any, xdot: Any, bends: Any, s: Any, times: Any, count: int, out: Any
    ) -> None:
        points = np.empty((count, 1 + 2 * len(xdot)))
        for k in range(count):
            _point(table, xdot, bends, s, times[k], points[k])
        evaluate(data, points, count, out)

    @_compiled
    def refine(
        data: Any, table: Any, xdot: Any, bends: Any, s: Any, low: float, high: float,
        part: Any, function: Any, sign: Any, count: int, times: Any, out: Any,
    ) -> None:  # fmt: skip
        """`extrema.refined`: part is moved to the extrema of the functions themselves."""
        aside, m = np.full(count, ASIDE), out.shape[1]
        for _ in range(ROUNDS):
            for k in range(count):
                part[k] = min(max(part[k], aside[k]), 1.0 - aside[k])
                for i in range(3):
                    times[3 * k + i] = low + (part[k] + (i - 1) * aside[k]) * (high - low)
            values_at(data, table, xdot, bends, s, times, 3 * count, out)
            for k in range(count):
                j = min(function[k], m - 1)
                a, b, c = sign[k] * out[3 * k, j], sign[k] * out[3 * k + 1, j], sign[k] * out[3 * k + 2, j]
                is_bent = a - 2.0 * b + c > 0.0
                shift = -1.0 if a < c else 1.0
                if is_bent:
                    shift = min(max(_vertex(a, b, c), -FARTHEST), FARTHEST)
                part[k] += aside[k] * shift
                if is_bent and abs(shift) <= 1.0:
                    aside[k] *= CLOSER
        for k in range(count):
            part[k] = min(max(part[k], 0.0), 1.0)

    @_compiled
    def locate(
        data: Any, table: Any, xdot: Any, bends: Any, s: Any, low: float, high: float, before: Any,
        sides: Any, crossed: Any,
    ) -> float:  # fmt: skip
        """`crossings._first`: the time of the first crossing between two times."""
        m, resolution = len(before), RESOLUTION * _EPSILON * max(abs(low), abs(high))
        z_low, z_high, z = np.empty((1, m)), np.empty((1, m)), np.empty((1, m))
        time = np.empty(1)
        time[0] = low
        values_at(data, table, xdot, bends, s, time, 1, z_low)
        time[0] = high
        values_at(data, table, xdot, bends, s, time, 1, z_high)
        last, width, count = 0, high - low, 0
        while high - low > resolution and count < MOST_ROUNDS:
            part = 1.0
            for j in range(m):
                if before[j] != 0.0 and not z_high[0, j] > 0.0:
                    own = z_low[0, j] / (z_low[0, j] - z_high[0, j])
                    if 0.0 < own < part:
                        part = own
            if (count % 3 == 2 and high - low > 0.3 * width) or part >= 1.0:
                part = 0.5
            t = min(max(low + part * (high - low), low + 0.5 * resolution), high - 0.5 * resolution)
            time[0] = t
            values_at(data, table, xdot, bends, s, time, 1, z)
            late = False
            for j in range(m):
                late = late or (before[j] != 0.0 and not z[0, j] > 0.0)
            if count % 3 == 2:
                width = high - low
            for j in range(m):
                if late:
                    z_high[0, j] = z[0, j]
                    z_low[0, j] *= 0.5 if last == 1 else 1.0
                else:
                    z_low[0, j] = z[0, j]
                    z_high[0, j] *= 0.5 if last == -1 else 1.0
            if late:
                high, last = t, 1
            else:
                low, last = t, -1
            count += 1
        time[0] = high
        values_at(data, table, xdot, bends, s, time, 1, z)
        for j in range(m):
            sides[j] = z[0, j] > 0.0
            crossed[j] = before[j] != 0.0 and sides[j] == 0.0
        return high

    @_compiled
    def watch(
        data: Any, table: Any, xdot: Any, before: Any, sides: Any, crossed: Any, s: Any, start: float,
        shortest: float, longest: float,
    ) -> None:  # fmt: skip
        m, now = len(sides), s[AT.t]
        if not (now > start and (s[AT.status] == _RUNNING or s[AT.status] == _SUCCESS)):
            return
        most = max(len(EVERYWHERE), PLACES + 1 + 2 * MOST_EXTREMA, 3 * MOST_EXTREMA)
        times, values, out = np.empty(most), np.empty((len(EVERYWHERE), m)), np.empty((most, m))
        off, at, bends = np.empty(m), np.empty(m), _bends(table, xdot, before, s)
        part, function, sign = (
            np.empty(MOST_EXTREMA), np.empty(MOST_EXTREMA, np.int64), np.empty(MOST_EXTREMA)
        )  # fmt: skip
        low, width = start, min(now - start, longest)
        while low < now:
            high = now if low + 1.5 * width >= now else low + width
            for k in range(len(EVERYWHERE)):
                times[k] = high if EVERYWHERE[k] >= 1.0 else low + EVERYWHERE[k] * (high - low)
            values_at(data, table, xdot, bends, s, times, len(EVERYWHERE), values)
            if _unexpected(values, off) and high - low > shortest:
                width = min(SHORTER * (high - low), longest)
                continue
            changed = _first_change(sides, values[1:], PLACES, at)
            begin, end = low, high
            if changed >= 0:
                begin, end = times[changed], times[changed + 1]
            # A crossing between later places must not hide an extremum before them.
            if changed != 0 and _may_return(values):
                count = _candidates(values, off, part, function, sign)
                if count:
                    more = np.empty(PLACES + 2 * count)
                    for k in range(PLACES):
                        more[k] = EVERYWHERE[k + 1]
                    more[PLACES : PLACES + count] = part[:count]
                    refine(data, table, xdot, bends, s, low, high, part, function, sign, count, times, out)
                    more[PLACES + count :] = part[:count]
                    more.sort()
                    for k in range(len(more)):
                        times[k] = high if more[k] >= 1.0 else low + more[k] * (high - low)
                    values_at(data, table, xdot, bends, s, times, len(more), out)
                    changed = _first_change(sides, out, len(more), at)
                    if changed >= 0:
                        begin, end = low if changed == 0 else times[changed - 1], times[changed]
            if changed >= 0:
                s[AT.reached] = locate(data, table, xdot, bends, s, begin, end, at, sides, crossed)
                s[AT.status] = _CROSSING
                return
            for j in range(m):
                sides[j] = values[PLACES, j] > 0.0
            low, width = high, min(LONGER * (high - low), longest)

    return watch

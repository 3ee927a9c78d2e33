"""Passes over the long vectors of a step, compiled by numba, and called by XLA through `native_handlers`.

    begin     predict, and 1 / tolerance
    weigh     1 / tolerance where rounding comes near it
    iterate   add a change to the correction, measure it, judge it
    finish    the error test and what follows from it; move the table; predict again

Each goes through memory as few times as it can: the table of differences is read and written once a step,
in blocks that stay in the cache between moving and predicting. The formulas are those of `step`, `table`
and `state`, the decisions those of `decisions`.

Largest elements are found by comparing bits: as integers, sizes of numbers have the same order as the
numbers, infinity is larger than all of them, and NaN larger still.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import literal_unroll, njit

from .coefficients import HARMONIC, MAX_ORDER, SIGNED_BINOMIALS
from .decisions import MAX_ITERATIONS, PART_IF_LARGE, STAGNATED, Found, Limits, Position, decisions
from .native_layout import at, limit_at
from .rounding import FLOOR, LOOSEN, ROUNDING_REACHED

BLOCK = 256
"""Elements that are moved and predicted at once: all rows of so many stay in the smallest cache."""

_compiled = njit(error_model="numpy")


@_compiled
def _where(condition: bool, a: Any, b: Any) -> Any:
    return a if condition else b


_native = decisions(np, _where, _compiled)
_decide, _judge, _work = _native.decide, _native.judge_iteration, _native.work
_is_accepted, _may_change, _is_needed = _native.is_accepted, _native.may_change, _native.matrix_is_needed

T, H, ORDER, EQUAL_STEPS = at("t"), at("h"), at("order"), at("equal_steps")
FAILURES, ATTEMPTS, REACHED, STATUS = at("failures"), at("attempts"), at("reached"), at("status")
OUTDATED, PIVOTS_ARE_NEW, MATRIX_C = at("outdated"), at("pivots_are_new"), at("matrix_c")
AGE, RATE, USABLE, FINITE_MATRIX = at("age"), at("rate"), at("usable"), at("finite_matrix")
ITERATING, T_NEW, C, NEEDED = at("iterating"), at("t_new"), at("c"), at("needed")
ITERATION, SIZE, SIZE_OF_D, FINITE = at("iteration"), at("size"), at("size_of_d"), at("finite")
CONVERGED, INEVITABLE, FORESEEN = at("converged"), at("inevitable"), at("foreseen")
LIMITED, ELEMENT, ACCEPTED, RESTART = (
    at("limited"),
    at("limited_element_now"),
    at("accepted"),
    at("restart"),
)
WORK, LIMITED_COUNT, LIMITED_ELEMENT = at("steps"), at("limited_by_rounding"), at("limited_element")
HISTOGRAM = at("steps_of_order_0")
RTOL, STRICTNESS, SMALLEST_RATE = limit_at("rtol"), limit_at("strictness"), limit_at("smallest_rate")
IS_LARGE, KEEPS_PIVOTS = limit_at("is_large"), limit_at("keeps_pivots")
LEADING, ERROR_CONSTANT = limit_at("leading_0"), limit_at("error_constant_0")


@_compiled
def _part(begin: int, n: int) -> slice:
    """A block of a vector of length n. (Loops go over views of a block, and begin at zero: numba has to see
    that no index is negative.)"""
    return slice(begin, min(begin + BLOCK, n))


@_compiled
def _rows(table: Any, part: slice) -> Any:
    """The same part of all rows."""
    return (
        table[0, part], table[1, part], table[2, part], table[3, part],
        table[4, part], table[5, part], table[6, part], table[7, part],
    )  # fmt: skip


@_compiled
def _largest(block: Any, count: int) -> Any:
    """Bits of the largest of the first elements, none of which is negative."""
    bits = block.view(np.int64)
    found = np.int64(0)
    for i in range(count):
        found = max(found, bits[i])
    return found


@_compiled
def _number(bits: Any) -> float:
    one = np.empty(1, np.int64)
    one[0] = bits
    return one.view(np.float64)[0]


@_compiled
def _prepare(s: Any, limits: Any) -> None:
    """The numbers of the next attempt."""
    order, h = int(s[ORDER]), s[H]
    s[T_NEW] = limits[0] if h >= limits[0] - s[T] else s[T] + h
    c = h / limits[LEADING + order]
    s[C] = c
    s[NEEDED] = _is_needed(c, s[MATRIX_C], s[AGE], s[OUTDATED] != 0.0)
    if limits[IS_LARGE] != 0.0:
        # A matrix for another c converges at least as slowly as that says.
        s[RATE] = max(s[RATE], abs(c - s[MATRIX_C]) / abs(c))
    s[USABLE] = s[FINITE_MATRIX] = s[ITERATING] = s[FINITE] = 1.0
    s[ITERATION] = s[SIZE] = s[SIZE_OF_D] = s[CONVERGED] = 0.0
    s[INEVITABLE] = s[FORESEEN] = s[LIMITED] = s[ELEMENT] = 0.0


@_compiled
def _predict(
    table: Any, order: int, h: float, rtol: float, atol: Any, tightness: Any, x: Any, slope: Any, w: Any
) -> None:
    coefficient, now, change = HARMONIC[1] / h, table[0], table[1]
    for i in range(len(x)):
        w[i] = 1.0 / (rtol * abs(now[i]) + atol[i])
        x[i] = now[i] + change[i]
        slope[i] = coefficient * change[i]
    for i in range(len(tightness)):  # none if it is one for all
        w[i] *= tightness[i]
    for j in range(2, order + 1):
        coefficient, difference = HARMONIC[j] / h, table[j]
        for i in range(len(x)):
            x[i] += difference[i]
            slope[i] += coefficient * difference[i]


@_compiled
def _advance(table: Any, d: Any, order: int) -> None:
    """The differences one step later."""
    highest, beyond = table[order + 1], table[order + 2]
    for i in range(len(d)):
        beyond[i] = d[i] - highest[i]
        highest[i] = d[i]
    for j in range(order, -1, -1):
        row, above = table[j], table[j + 1]
        for i in range(len(d)):
            row[i] += above[i]


@_compiled
def _rescaling(factor: float, order: int) -> Any:
    """As `step.rescale_matrix`, for the first rows and columns only. It is upper triangular."""
    size = order + 1
    values, matrix = np.ones((size, size)), np.zeros((size, size))
    for i in range(size):
        for j in range(1, size):
            values[i, j] = values[i, j - 1] * (-factor * i + (j - 1)) / j
    for m in range(size):
        for j in range(m, size):
            for i in range(m + 1):
                matrix[m, j] += SIGNED_BINOMIALS[m, i] * values[i, j]
    return matrix


@_compiled
def _rescale(table: Any, matrix: Any, order: int) -> None:
    """In place: a row needs none of those before it."""
    for m in range(1, order + 1):
        row, coefficient = table[m], matrix[m, m]
        for i in range(len(row)):
            row[i] *= coefficient
        for j in range(m + 1, order + 1):
            above, coefficient = table[j], matrix[m, j]
            for i in range(len(row)):
                row[i] += coefficient * above[i]


@_compiled
def _neighbours(row: Any, next_row: Any, d: Any, w: Any) -> tuple[float, float]:
    """Sizes of D[k] and D[k+2] as they will be after the step, from D[k] and D[k+1] before it."""
    sizes = np.empty(BLOCK)
    below = above = np.int64(0)
    for begin in range(0, len(d), BLOCK):
        part = _part(begin, len(d))
        D, E, change, weights = row[part], next_row[part], d[part], w[part]
        for i in range(len(change)):
            sizes[i] = abs((D[i] + change[i]) * weights[i])
        below = max(below, _largest(sizes, len(change)))
        for i in range(len(change)):
            sizes[i] = abs((change[i] - E[i]) * weights[i])
        above = max(above, _largest(sizes, len(change)))
    return _number(below), _number(above)


@_compiled
def begin(table: Any, atol: Any, tightness: Any, s: Any, limits: Any, x: Any, slope: Any, w: Any) -> None:
    _prepare(s, limits)
    rows = _rows(table, slice(0, len(x)))
    _predict(rows, int(s[ORDER]), s[H], limits[RTOL], atol, tightness, x, slope, w)


@_compiled
def _corrector_weight(weight: float, tightness: float, constraint: float, slope: float) -> float:
    """As `state.corrector_weights`."""
    return max(weight, 1.0 / max(tightness / weight, FLOOR * max(constraint, slope)))


@_compiled
def weigh(
    table: Any, atol: Any, tightness: Any, constraints: Any, slopes: Any, limits: Any, w: Any, s: Any
) -> None:
    """No tolerance is smaller than rounding allows (`state.error_weights`, `state.beyond_tolerance`)."""
    loosest, least = LOOSEN * limits[STRICTNESS], PART_IF_LARGE * limits[IS_LARGE]
    inevitable = of_slopes = excess = 0.0
    element = 0
    for i in range(len(w)):
        tolerance = limits[RTOL] * abs(table[0, i]) + atol[i]
        asked = limits[STRICTNESS] * tolerance
        if len(tightness):
            tolerance /= tightness[i]
        floor = FLOOR * constraints[i]
        allowed = max(floor, min(FLOOR * slopes[i], loosest * tolerance))
        strict = w[i] = 1.0 / max(tolerance, allowed)
        if len(tightness):
            strict = _corrector_weight(w[i], max(tightness[i], least), constraints[i], slopes[i])
        inevitable = max(inevitable, constraints[i] * strict)
        of_slopes = max(of_slopes, slopes[i] * strict)
        beyond = floor / asked
        if beyond > excess:
            excess, element = beyond, i
    s[INEVITABLE], s[FORESEEN] = inevitable, inevitable + of_slopes
    s[LIMITED], s[ELEMENT] = excess > 1.0, element


@_compiled
def _largest_of_slopes(
    delta: Any,
    slope: Any,
    places: Any,
    slope_atol: Any,
    constraints: Any,
    slopes: Any,
    limits: Any,
    c: float,
) -> float:
    """The largest change of an unknown that is a derivative of an element of x (`state.slope_weights`)."""
    size, inverse, rtol = 0.0, 1.0 / c, limits[STRICTNESS] * limits[RTOL]
    for k in range(len(places)):
        i = places[k]
        tolerance = c * (rtol * abs(slope[i] + inverse * delta[i]) + slope_atol[k])
        found = abs(delta[i]) / max(tolerance, FLOOR * (constraints[i] + slopes[i]))
        size = found if found > size or np.isnan(found) else size
    return size


@_compiled
def iterate(
    delta: Any, limits: Any, w: Any, tightness: Any, places: Any, slope_atol: Any, constraints: Any,
    slopes: Any, d: Any, x: Any, slope: Any, s: Any,
) -> None:  # fmt: skip
    """d + delta is the new d; where iteration goes on, x and its slope are moved with it."""
    n, first, renewed = len(delta), s[ITERATION] == 0.0, s[NEEDED] != 0.0
    least = PART_IF_LARGE * limits[IS_LARGE]
    sizes = np.empty(BLOCK)
    of_delta = of_d = np.int64(0)
    for begin in range(0, n, BLOCK):
        part = _part(begin, n)
        change, total, weights = delta[part], d[part], w[part]
        for i in range(len(change)):
            sizes[i] = abs(change[i] * weights[i])
        if first:
            of_d = max(of_d, _largest(sizes, len(change)))
        if len(tightness):
            tight, of_fc, of_fd = tightness[part], constraints[part], slopes[part]
            for i in range(len(change)):
                tightness_here = max(tight[i], least)
                weight = _corrector_weight(weights[i], tightness_here, of_fc[i], of_fd[i])
                sizes[i] = abs(change[i]) * weight
        of_delta = max(of_delta, _largest(sizes, len(change)))
        if first:
            for i in range(len(change)):
                total[i] = change[i]
        else:
            for i in range(len(change)):
                total[i] += change[i]
                sizes[i] = abs(total[i] * weights[i])
            of_d = max(of_d, _largest(sizes, len(change)))
    of_x = _number(of_delta)
    of_slopes = _largest_of_slopes(delta, slope, places, slope_atol, constraints, slopes, limits, s[C])
    size = of_slopes if of_slopes > of_x or np.isnan(of_slopes) else of_x
    judged = _judge(
        size, s[SIZE], int(s[ITERATION]), s[RATE], s[ORDER] == 1.0, ROUNDING_REACHED * s[INEVITABLE],
        renewed | (ROUNDING_REACHED * s[FORESEEN] >= STAGNATED), limits[SMALLEST_RATE],
    )  # fmt: skip
    s[ITERATION] += 1.0
    s[SIZE], s[SIZE_OF_D] = size, _number(of_d)
    s[RATE], s[FINITE], s[CONVERGED] = judged.rate, judged.finite, judged.converged
    going_on = judged.finite and not judged.converged and not judged.diverged
    going_on = going_on and s[ITERATION] < MAX_ITERATIONS
    s[ITERATING] = going_on
    if going_on or judged.converged:
        inverse = 1.0 / s[C]
        for i in range(n):
            slope[i] += inverse * delta[i]
    if going_on:
        for i in range(n):
            x[i] += delta[i]


@_compiled
def finish(
    d: Any,
    limits: Any,
    atol: Any,
    tightness: Any,
    table: Any,
    w: Any,
    x: Any,
    slope: Any,
    xdot: Any,
    s: Any,
) -> None:
    n, order, equal_steps = len(d), int(s[ORDER]), int(s[EQUAL_STEPS])
    usable, converged = s[USABLE] != 0.0, s[CONVERGED] != 0.0
    error = limits[ERROR_CONSTANT + order] * s[SIZE_OF_D]
    below = above = error
    accepted = _is_accepted(usable, converged, error)
    if _may_change(accepted, equal_steps, order):
        below, above = _neighbours(table[order], table[order + 1], d, w)
        below *= limits[ERROR_CONSTANT + order - 1]
        above *= limits[ERROR_CONSTANT + min(order + 1, MAX_ORDER)]
    now = Position(
        s[T], s[H], order, equal_steps, int(s[FAILURES]), int(s[ATTEMPTS]), s[REACHED], int(s[STATUS]),
        int(s[AGE]), s[RATE], s[OUTDATED] != 0.0, s[PIVOTS_ARE_NEW] != 0.0,
    )  # fmt: skip
    found = Found(
        s[T_NEW], s[NEEDED] != 0.0, usable, s[FINITE_MATRIX] != 0.0, converged, s[FINITE] != 0.0,
        int(s[ITERATION]), s[RATE], error, below, above,
    )  # fmt: skip
    run_limits = Limits(limits[0], limits[1], limits[2], int(limits[3]))
    verdict = _decide(now, found, run_limits, limits[KEEPS_PIVOTS] != 0.0)
    _count(s, _work(found, accepted), order, accepted)
    _put(s, verdict.next)
    s[ACCEPTED], s[RESTART] = accepted, verdict.restart
    _prepare(s, limits)

    new_order, h = int(s[ORDER]), s[H]
    rescaled = verdict.factor != 1.0
    matrix = _rescaling(verdict.factor, new_order) if rescaled else np.empty((0, 0))
    for begin in range(0, n, BLOCK):
        part = _part(begin, n)
        rows = _rows(table, part)
        if accepted:
            known, found_slope = xdot[part], slope[part]
            for i in range(len(known)):
                known[i] = found_slope[i]
            _advance(rows, d[part], order)
        if rescaled:
            _rescale(rows, matrix, new_order)
        some = tightness[part]
        _predict(rows, new_order, h, limits[RTOL], atol[part], some, x[part], slope[part], w[part])


@_compiled
def _count(s: Any, work: Any, order: int, accepted: bool) -> None:
    place = WORK
    for more in literal_unroll(work):
        s[place] += more
        place += 1
    if accepted:
        s[HISTOGRAM + order] += 1.0
        if s[LIMITED] != 0.0:
            s[LIMITED_COUNT] += 1.0
            s[LIMITED_ELEMENT] = s[ELEMENT]


@_compiled
def _put(s: Any, position: Any) -> None:
    s[T], s[H], s[ORDER], s[EQUAL_STEPS] = position.t, position.h, position.order, position.equal_steps
    s[FAILURES], s[ATTEMPTS], s[REACHED] = position.failures, position.attempts, position.reached
    s[STATUS], s[AGE], s[RATE] = position.status, position.age, position.rate
    s[OUTDATED], s[PIVOTS_ARE_NEW] = position.outdated, position.pivots_are_new

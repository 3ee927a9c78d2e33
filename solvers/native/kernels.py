"""Passes over the long vectors of a step, compiled by numba, and called by XLA through `handlers`.

    predict   for the first attempt, with 1 / tolerance
    weigh     1 / tolerance where rounding comes near it
    iterate   add a change to the correction, measure it, judge it
    finish    the error test and what follows from it; move the table; predict again

Each goes through memory as few times as it can: the table of differences is read and written once a step,
in blocks that stay in the cache between moving and predicting. The formulas are those of `polynomial`,
`step`, `table` and `tolerances`, the decisions those of `controller`.

Largest elements are found by comparing bits: as integers, sizes of numbers have the same order as the
numbers, infinity is larger than all of them, and NaN larger still.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import literal_unroll, njit

from ..method.coefficients import HARMONIC, MAX_ORDER, SIGNED_BINOMIALS
from ..method.controller import (
    MAX_ITERATIONS,
    PART_IF_LARGE,
    STAGNATED,
    TOLERANCE,
    Control,
    Outcome,
    StepLimits,
    make_controller,
)
from ..method.numbers import AT, LIMIT_AT
from ..method.rounding import FLOOR, LOOSEN, ROUNDING_REACHED

BLOCK = 256
"""Elements that are moved and predicted at once: all rows of so many stay in the smallest cache."""

_compiled = njit(error_model="numpy")


@_compiled
def _where(condition: bool, a: Any, b: Any) -> Any:
    return a if condition else b


_native = make_controller(np, _where, _compiled)
_decide, judge, _work = _native.decide, _native.judge_iteration, _native.work
_is_needed = _native.matrix_is_needed


@_compiled
def _part(start: int, n: int) -> slice:
    """A block of a vector of length n. (Loops go over views of a block, and begin at zero: numba has to see
    that no index is negative.)"""
    return slice(start, min(start + BLOCK, n))


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
    order, h = int(s[AT.order]), s[AT.h]
    s[AT.t_new] = limits[LIMIT_AT.t_end] if h >= limits[LIMIT_AT.t_end] - s[AT.t] else s[AT.t] + h
    c = h / limits[LIMIT_AT.leading_0 + order]
    s[AT.c] = c
    s[AT.needed] = _is_needed(c, s[AT.matrix_c], s[AT.age], s[AT.outdated] != 0.0)
    if limits[LIMIT_AT.is_large] != 0.0:
        # A matrix for another c converges at least as slowly as that says.
        s[AT.rate] = max(s[AT.rate], abs(c - s[AT.matrix_c]) / abs(c))
    s[AT.usable] = s[AT.finite_matrix] = s[AT.iterating] = s[AT.finite] = 1.0
    s[AT.iteration] = s[AT.size] = s[AT.size_of_d] = s[AT.converged] = 0.0
    s[AT.inevitable] = s[AT.foreseen] = s[AT.limited] = s[AT.limited_element_now] = 0.0


@_compiled
def _predict_and_weigh(
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
    """As `polynomial.rescale_matrix`, for the first rows and columns only. It is upper triangular."""
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
    for start in range(0, len(d), BLOCK):
        part = _part(start, len(d))
        D, E, change, weights = row[part], next_row[part], d[part], w[part]
        for i in range(len(change)):
            sizes[i] = abs((D[i] + change[i]) * weights[i])
        below = max(below, _largest(sizes, len(change)))
        for i in range(len(change)):
            sizes[i] = abs((change[i] - E[i]) * weights[i])
        above = max(above, _largest(sizes, len(change)))
    return _number(below), _number(above)


@_compiled
def predict(table: Any, atol: Any, tightness: Any, s: Any, limits: Any, x: Any, slope: Any, w: Any) -> None:
    """What `finish` does at the end of an attempt, for the first one."""
    _prepare(s, limits)
    rows = _rows(table, slice(0, len(x)))
    _predict_and_weigh(rows, int(s[AT.order]), s[AT.h], limits[LIMIT_AT.rtol], atol, tightness, x, slope, w)


@_compiled
def corrector_weight(weight: float, tightness: float, constraint: float, slope: float) -> float:
    """As `tolerances.corrector_weights`."""
    return max(weight, 1.0 / max(tightness / weight, FLOOR * max(constraint, slope)))


@_compiled
def weigh(
    table: Any, atol: Any, tightness: Any, constraints: Any, slopes: Any, limits: Any, w: Any, s: Any
) -> None:
    """No tolerance is smaller than rounding allows (`tolerances.error_weights`,
    `tolerances.beyond_tolerance`)."""
    loosest, least = LOOSEN * limits[LIMIT_AT.strictness], PART_IF_LARGE * limits[LIMIT_AT.is_large]
    inevitable = of_slopes = excess = 0.0
    element = 0
    for i in range(len(w)):
        tolerance = limits[LIMIT_AT.rtol] * abs(table[0, i]) + atol[i]
        asked = limits[LIMIT_AT.strictness] * tolerance
        if len(tightness):
            tolerance /= tightness[i]
        floor = FLOOR * constraints[i]
        allowed = max(floor, min(FLOOR * slopes[i], loosest * tolerance))
        strict = w[i] = 1.0 / max(tolerance, allowed)
        if len(tightness):
            strict = corrector_weight(w[i], max(tightness[i], least), constraints[i], slopes[i])
        inevitable = max(inevitable, constraints[i] * strict)
        of_slopes = max(of_slopes, slopes[i] * strict)
        beyond = floor / asked
        if beyond > excess:
            excess, element = beyond, i
    s[AT.inevitable], s[AT.foreseen] = inevitable, inevitable + of_slopes
    s[AT.limited], s[AT.limited_element_now] = excess > 1.0, element


@_compiled
def largest_of_slopes(
    delta: Any,
    slope: Any,
    places: Any,
    slope_atol: Any,
    constraints: Any,
    slopes: Any,
    limits: Any,
    c: float,
) -> float:
    """The largest change of an unknown that is a derivative of an element of x
    (`tolerances.slope_weights`)."""
    size, inverse, rtol = 0.0, 1.0 / c, limits[LIMIT_AT.strictness] * limits[LIMIT_AT.rtol]
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
    n, first, renewed = len(delta), s[AT.iteration] == 0.0, s[AT.needed] != 0.0
    least = PART_IF_LARGE * limits[LIMIT_AT.is_large]
    sizes = np.empty(BLOCK)
    of_delta = of_d = np.int64(0)
    for start in range(0, n, BLOCK):
        part = _part(start, n)
        change, total, weights = delta[part], d[part], w[part]
        for i in range(len(change)):
            sizes[i] = abs(change[i] * weights[i])
        if first:
            of_d = max(of_d, _largest(sizes, len(change)))
        if len(tightness):
            tight, of_fc, of_fd = tightness[part], constraints[part], slopes[part]
            for i in range(len(change)):
                tightness_here = max(tight[i], least)
                weight = corrector_weight(weights[i], tightness_here, of_fc[i], of_fd[i])
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
    of_slopes = largest_of_slopes(delta, slope, places, slope_atol, constraints, slopes, limits, s[AT.c])
    size = of_slopes if of_slopes > of_x or np.isnan(of_slopes) else of_x
    judged = judge(
        size, s[AT.size], int(s[AT.iteration]), s[AT.rate], s[AT.order] == 1.0,
        ROUNDING_REACHED * s[AT.inevitable],
        renewed | (ROUNDING_REACHED * s[AT.foreseen] >= STAGNATED), limits[LIMIT_AT.smallest_rate],
        MAX_ITERATIONS, TOLERANCE,
    )  # fmt: skip
    s[AT.iteration] += 1.0
    s[AT.size], s[AT.size_of_d] = size, _number(of_d)
    s[AT.rate], s[AT.finite], s[AT.converged] = judged.rate, judged.finite, judged.converged
    going_on = judged.finite and not judged.converged and not judged.diverged
    going_on = going_on and s[AT.iteration] < MAX_ITERATIONS
    s[AT.iterating] = going_on
    if going_on or judged.converged:
        inverse = 1.0 / s[AT.c]
        for i in range(n):
            slope[i] += inverse * delta[i]
    if going_on:
        for i in range(n):
            x[i] += delta[i]


@_compiled
def _errors(d: Any, w: Any, table: Any, s: Any, limits: Any) -> tuple[float, float, float]:
    """The last part of a step: its error, and those at the neighbouring orders if they are asked for."""
    order = int(s[AT.order])
    error = limits[LIMIT_AT.error_constant_0 + order] * s[AT.size_of_d]
    below = above = error
    if s[AT.converged] != 0.0 and s[AT.equal_steps] >= order:
        below, above = _neighbours(table[order], table[order + 1], d, w)
        below *= limits[LIMIT_AT.error_constant_0 + order - 1]
        above *= limits[LIMIT_AT.error_constant_0 + min(order + 1, MAX_ORDER)]
    return error, below, above


@_compiled
def _decided(errors: tuple[float, float, float], s: Any, limits: Any) -> Any:
    """What the controller says about the step; the numbers are those of the next attempt."""
    order = int(s[AT.order])
    now = Control(
        s[AT.t], s[AT.h], order, int(s[AT.equal_steps]), int(s[AT.failures]), int(s[AT.attempts]),
        s[AT.reached], int(s[AT.status]), int(s[AT.age]), s[AT.rate], s[AT.outdated] != 0.0,
        s[AT.pivots_are_new] != 0.0,
    )  # fmt: skip
    outcome = Outcome(
        s[AT.t_new], s[AT.needed] != 0.0, s[AT.usable] != 0.0, s[AT.finite_matrix] != 0.0,
        s[AT.converged] != 0.0, s[AT.finite] != 0.0, int(s[AT.iteration]), s[AT.rate], *errors,
    )  # fmt: skip
    step_limits = StepLimits(
        limits[LIMIT_AT.t_end], limits[LIMIT_AT.max_step], limits[LIMIT_AT.max_steps],
        int(limits[LIMIT_AT.max_order]),
    )  # fmt: skip
    decision = _decide(now, outcome, step_limits, limits[LIMIT_AT.keeps_pivots] != 0.0)
    _count(s, _work(outcome, decision.accepted), order, decision.accepted)
    if decision.accepted:
        s[AT.last_step] = decision.next.t - s[AT.t]
    _put(s, decision.next)
    s[AT.accepted], s[AT.restart] = decision.accepted, decision.restart
    _prepare(s, limits)
    return decision


@_compiled
def finish(
    d: Any, limits: Any, atol: Any, tightness: Any, table: Any, w: Any, x: Any, slope: Any, xdot: Any,
    s: Any,
) -> None:  # fmt: skip
    """Estimate, decide; move the table, and predict from it."""
    n, order = len(d), int(s[AT.order])
    decision = _decided(_errors(d, w, table, s, limits), s, limits)
    accepted, rescaled = decision.accepted, decision.factor != 1.0
    new_order, h = int(s[AT.order]), s[AT.h]
    matrix = _rescaling(decision.factor, new_order) if rescaled else np.empty((0, 0))
    for start in range(0, n, BLOCK):
        part = _part(start, n)
        rows = _rows(table, part)
        if accepted:
            known, found_slope = xdot[part], slope[part]
            for i in range(len(known)):
                known[i] = found_slope[i]
            _advance(rows, d[part], order)
        if rescaled:
            _rescale(rows, matrix, new_order)
        rtol, some = limits[LIMIT_AT.rtol], tightness[part]
        _predict_and_weigh(rows, new_order, h, rtol, atol[part], some, x[part], slope[part], w[part])


@_compiled
def _count(s: Any, work: Any, order: int, accepted: bool) -> None:
    place = AT.steps
    for more in literal_unroll(work):
        s[place] += more
        place += 1
    if accepted:
        s[AT.steps_of_order_0 + order] += 1.0
        if s[AT.limited] != 0.0:
            s[AT.limited_by_rounding] += 1.0
            s[AT.limited_element] = s[AT.limited_element_now]


@_compiled
def _put(s: Any, position: Any) -> None:
    s[AT.t], s[AT.h], s[AT.order], s[AT.equal_steps] = (
        position.t,
        position.h,
        position.order,
        position.equal_steps,
    )
    s[AT.failures], s[AT.attempts], s[AT.reached] = position.failures, position.attempts, position.reached
    s[AT.status], s[AT.age], s[AT.rate] = position.status, position.age, position.rate
    s[AT.outdated], s[AT.pivots_are_new] = position.outdated, position.pivots_are_new

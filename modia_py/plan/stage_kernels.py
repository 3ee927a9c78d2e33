"""The corrector of inline integration in native code: what `solvers.inlined.corrector` does, with plans.

Stages travel as one vector of words and one of constants (`encode_stages`): for each stage what `_STAGE`
names, then lists of places, and the plans of its formulas and of the rows that are iterated. Inputs of
plans are [t, x, xdot, parameters, inputs, c].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from ..solvers.method.controller import MAX_ITERATIONS, PART_IF_LARGE, STAGNATED, TOLERANCE
from ..solvers.method.numbers import AT, LIMIT_AT
from ..solvers.method.rounding import ROUNDING_REACHED
from ..solvers.native.kernels import corrector_weight, judge, largest_of_slopes
from ..solvers.xla.structures import places
from .native import CONSTANTS, INPUTS, RESULTS, parts, run

_STAGE = places(
    "Stage",
    "blocks", "iterated", "solved", "tears_at", "rows_at", "solved_at",
    "change_at", "change_constants", "rows_plan_at", "rows_constants",
)  # fmt: skip
_STAGE_WORDS = len(_STAGE)
_OF_CHANGE, _OF_ROWS = 0, 1
_compiled = njit(error_model="numpy")
Encoded = tuple[np.ndarray, np.ndarray]
"""The words of a plan, and its constants."""


class StageData(NamedTuple):
    """See `solvers.inlined_contract.Stage`."""

    tears: np.ndarray
    rows: np.ndarray
    solved: np.ndarray
    change: Encoded
    residual: Encoded


def encode_stages(stages: Sequence[StageData]) -> Encoded:
    """All stages as one plan is encoded."""
    words = [np.zeros(1 + _STAGE_WORDS * len(stages), np.int64)]
    numbers: list[np.ndarray] = []

    def put(all_parts: list[np.ndarray], part: np.ndarray) -> int:
        first = sum(len(one) for one in all_parts)
        all_parts.append(part)
        return first

    words[0][0] = len(stages)
    for number, stage in enumerate(stages):
        places = [put(words, np.asarray(part, np.int64).ravel()) for part in stage[:3]]
        plans = [
            place
            for plan, constants in (stage.change, stage.residual)
            for place in (put(words, plan), put(numbers, constants))
        ]
        first = 1 + _STAGE_WORDS * number
        words[0][first : first + _STAGE_WORDS] = [
            *stage.tears.shape, len(stage.solved), *places, *plans
        ]  # fmt: skip
    return np.concatenate(words), np.concatenate([np.zeros(0), *numbers])


@_compiled
def _stage(stages: Any, number: int) -> Any:
    first = 1 + _STAGE_WORDS * number
    return stages[first : first + _STAGE_WORDS]


@_compiled
def rooms(stages: Any, constants: Any) -> Any:
    """Room for the values of all plans, with their constants, one after the other; and where each begins:
    that of the formulas and that of the rows of each stage."""
    count = stages[0]
    begins = np.zeros(2 * count + 1, np.int64)
    for number in range(count):
        stage = _stage(stages, number)
        for k, at in enumerate((stage[_STAGE.change_at], stage[_STAGE.rows_plan_at])):
            size = stages[at + INPUTS] + stages[at + CONSTANTS] + stages[at + RESULTS]
            begins[2 * number + k + 1] = begins[2 * number + k] + size
    w = np.empty(begins[2 * count])
    for number in range(count):
        stage = _stage(stages, number)
        own = (stage[_STAGE.change_at], stage[_STAGE.change_constants]), (
            stage[_STAGE.rows_plan_at], stage[_STAGE.rows_constants],
        )  # fmt: skip
        for k, (at, first) in enumerate(own):
            place = begins[2 * number + k] + stages[at + INPUTS]
            for i in range(stages[at + CONSTANTS]):
                w[place + i] = constants[first + i]
    return w, begins


@_compiled
def put_inputs(w: Any, begins: Any, place: int, values: Any) -> None:
    """The same inputs of all plans."""
    for plan in range(len(begins) - 1):
        first = begins[plan] + place
        for k in range(len(values)):
            w[first + k] = values[k]


@_compiled
def put_input(w: Any, begins: Any, place: int, value: float) -> None:
    for plan in range(len(begins) - 1):
        w[begins[plan] + place] = value


@_compiled
def solve_factored(lu: Any, scale: Any, rows: Any, b: Any, x: Any) -> None:
    """As `solvers.linear.dense`: rows are scaled, then put in the order in which they were eliminated."""
    n = len(x)
    for i in range(n):
        row = np.int64(rows[i])
        total = scale[row] * b[row]
        for j in range(i):
            total -= lu[i, j] * x[j]
        x[i] = total
    for i in range(n - 1, -1, -1):
        total = x[i]
        for j in range(i + 1, n):
            total -= lu[i, j] * x[j]
        x[i] = total / lu[i, i]


@_compiled
def _evaluate(stages: Any, at: int, w: Any, x: Any, slope: Any) -> None:
    """A plan at x with this slope."""
    n = len(x)
    for k in range(n):
        w[1 + k] = x[k]
        w[1 + n + k] = slope[k]
    run(stages[at:], w, 1)


@_compiled
def _move(
    element: int, change: float, from_x: Any, from_slope: Any, c: float, d: Any, x: Any, slope: Any
) -> None:
    d[element] += change
    x[element] = from_x[element] + d[element]
    slope[element] = from_slope[element] + d[element] / c


@_compiled
def _follow(
    stages: Any, number: int, w: Any, begins: Any, from_x: Any, from_slope: Any, c: float, d: Any, x: Any,
    slope: Any,
) -> None:  # fmt: skip
    """Move what follows from the tear variables of a stage."""
    stage = _stage(stages, number)
    if stage[_STAGE.solved] == 0:
        return
    own = w[begins[2 * number + _OF_CHANGE] :]
    _evaluate(stages, stage[_STAGE.change_at], own, x, slope)
    outputs = parts(stages[stage[_STAGE.change_at] :])[0]
    for k in range(stage[_STAGE.solved]):
        element = stages[stage[_STAGE.solved_at] + k]
        _move(element, own[outputs[k]], from_x, from_slope, c, d, x, slope)


@_compiled
def _newton_step(
    stages: Any, number: int, w: Any, begins: Any, factors: Any, firsts: Any, is_fd: Any, from_x: Any,
    from_slope: Any, c: float, d: Any, x: Any, slope: Any,
) -> None:  # fmt: skip
    """Move the tear variables of a stage, each block by its own matrix."""
    stage, (lu, scale, order) = _stage(stages, number), factors
    k, of_lu, of_rows = stage[_STAGE.iterated], firsts[0], firsts[1]
    own = w[begins[2 * number + _OF_ROWS] :]
    _evaluate(stages, stage[_STAGE.rows_plan_at], own, x, slope)
    outputs = parts(stages[stage[_STAGE.rows_plan_at] :])[0]
    right, delta = np.empty(k), np.empty(k)
    for block in range(stage[_STAGE.blocks]):
        for i in range(k):
            off = own[outputs[block * k + i]]
            row = stages[stage[_STAGE.rows_at] + block * k + i]
            right[i] = -c * off if is_fd[row] != 0.0 else -off
        first, behind = of_rows + block * k, of_rows + (block + 1) * k
        matrix = lu[of_lu + block * k * k : of_lu + (block + 1) * k * k].reshape((k, k))
        solve_factored(matrix, scale[first:behind], order[first:behind], right, delta)
        for i in range(k):
            element = stages[stage[_STAGE.tears_at] + block * k + i]
            _move(element, delta[i], from_x, from_slope, c, d, x, slope)


@_compiled
def _size(d: Any, before: Any, slope_before: Any, measures: Any, c: float) -> float:
    """Of the changes of all unknowns, as `solvers.native.kernels.iterate` measures them."""
    limits, weights, tightness, slope_places, slope_atol, of_constraints, of_slopes = measures
    least, size, change = PART_IF_LARGE * limits[LIMIT_AT.is_large], 0.0, np.empty(len(d))
    for i in range(len(d)):
        change[i] = d[i] - before[i]
        weight = weights[i]
        if len(tightness):
            weight = corrector_weight(weight, max(tightness[i], least), of_constraints[i], of_slopes[i])
        found = abs(change[i]) * weight
        size = found if found > size or np.isnan(found) else size
    of_places = largest_of_slopes(
        change, slope_before, slope_places, slope_atol, of_constraints, of_slopes, limits, c
    )
    return of_places if of_places > size or np.isnan(of_places) else size


@_compiled
def _all_finite(d: Any) -> bool:
    return bool(np.isfinite(d).all())


@_compiled
def _last_iterated(stages: Any) -> int:
    found = -1
    for number in range(stages[0]):
        if _stage(stages, number)[_STAGE.iterated] > 0:
            found = number
    return found


@_compiled
def correct_by_stages(
    stages: Any, w: Any, begins: Any, factors: Any, is_fd: Any, measures: Any, d: Any, x: Any, slope: Any,
    s: Any,
) -> bool:  # fmt: skip
    """The correction of an attempt, from predicted x and slope. False where the stages have failed with new
    matrices: then these are as predicted, and `unsolved` is set."""
    if s[AT.iterating] == 0.0:
        s[AT.unsolved] = 1.0
        return False
    limits, c, renewed = measures[0], s[AT.c], s[AT.needed] != 0.0
    from_x, from_slope = x.copy(), slope.copy()
    before, slope_before = np.empty(len(d)), np.empty(len(d))
    rounding = ROUNDING_REACHED * s[AT.inevitable]
    may_stagnate = renewed | (ROUNDING_REACHED * s[AT.foreseen] >= STAGNATED)
    d[:] = 0.0
    iterations, largest, slowest, last = 0, 0.0, 0.0, _last_iterated(stages)
    finite = converged = True
    firsts = np.zeros(2, np.int64)
    for number in range(stages[0]):
        _follow(stages, number, w, begins, from_x, from_slope, c, d, x, slope)
        k, blocks = _stage(stages, number)[_STAGE.iterated], _stage(stages, number)[_STAGE.blocks]
        if k == 0:
            continue
        iteration, size, rate = 0, 0.0, s[AT.rate]
        strict = number != last or s[AT.order] == 1.0
        while finite:
            before[:] = d
            slope_before[:] = slope
            _newton_step(
                stages, number, w, begins, factors, firsts, is_fd, from_x, from_slope, c, d, x, slope
            )
            _follow(stages, number, w, begins, from_x, from_slope, c, d, x, slope)
            judged = judge(
                _size(d, before, slope_before, measures, c), size, iteration, rate, strict, rounding,
                may_stagnate, limits[LIMIT_AT.smallest_rate], MAX_ITERATIONS, TOLERANCE,
            )  # fmt: skip
            iteration += 1
            size, rate, finite = judged.size, judged.rate, judged.finite
            converged = judged.converged
            if judged.converged or judged.diverged or iteration == MAX_ITERATIONS:
                break
        iterations, largest, slowest = max(iterations, iteration), max(largest, size), max(slowest, rate)
        firsts[0] += blocks * k * k
        firsts[1] += blocks * k
        if not converged:
            break
    finite = finite and _all_finite(d)
    converged = converged and finite
    if renewed and not converged:
        x[:] = from_x
        slope[:] = from_slope
        s[AT.unsolved] = 1.0
        return False
    of_d = 0.0
    for i in range(len(d)):
        of_d = max(of_d, abs(d[i] * measures[1][i]))
    s[AT.iteration], s[AT.size], s[AT.size_of_d] = iterations, largest, of_d
    s[AT.rate] = slowest if last >= 0 else s[AT.rate]
    s[AT.finite], s[AT.converged], s[AT.iterating] = finite, converged, 0.0
    return True

"""LU of a narrow band in native code: compiled by numba, called by XLA inside of the compiled loop.

The matrix is kept by rows: row i holds the columns i-lower ... i+upper+lower, the last `lower` of them for
rows that are swapped in. Multipliers are kept by the column they eliminate. A row is swapped in only where
the pivot at hand is small against the column, each entry in units of its row (rows of constraints come in
units of their own), so that a diagonally dominant matrix keeps its band and its order. Rows of U are
divided by their pivot: each element of a solve then waits for one multiplication only.

Three diagonals are eliminated from both ends at once and meet in the middle (twisted factorization, "burn
at both ends"): what such a loop costs is waiting for the element before, and two loops wait at the same
time. Where one of these pivots is small, the matrix is treated as any other band.

XLA calls independent solves of one program on several threads at once: a solve reads the factors and writes
to nothing but its own results, the reordered vector included. A factorization writes to the memory of the
factors; it takes the number of the one before, and each solve that of its own, which puts them in order. A
solve with factors that are there no more gives NaN.

How XLA calls these functions is in `xla`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, cfunc, njit

from ..xla import calls, structures
from ..xla.calls import (
    HANDLER,
    argument,
    argument_address,
    asked_for_version,
    matrix,
    numbers,
    result,
    result_address,
    words,
)
from ..xla.structures import FRAME_WORDS
from . import band_calls
from .band_calls import FACTOR, FACTORS, LAYOUT, PLAIN, SOLVE, SOLVE_TRANSPOSED, SWAPPED, TWISTED

SMALL_PIVOT = 0.1
"""A pivot below this part of the largest entry of its column is replaced, each in units of its row."""

TINY = 1e-280
"""Less is zero. A solution that decays along a chain would end in numbers so small that processors take a
hundred times as long for each, and rounding keeps them from ever becoming zero."""
STRETCH: Any = np.uint64(64)
"""Elements between two looks: each waits for the one before it, and longer for a look."""

ZERO: Any = np.uint64(0)
ONE: Any = np.uint64(1)


@njit(fastmath={"contract"}, error_model="numpy")
def factorize(band: Any, multipliers: Any, swaps: Any, units: Any, lower: int, upper: int) -> bool:
    """LU in place; whether rows were swapped. A pivot that is zero leaves infinities and NaN behind."""
    n, swapped = band.shape[0], False
    for i in range(n):
        size = 0.0
        for column in range(lower + upper + 1):
            size = max(size, abs(band[i, column]))
        units[i] = 1.0 / size
    for i in range(n):
        reach = min(lower, n - 1 - i)
        largest, at = abs(band[i, lower]) * units[i], i
        limit = largest
        for m in range(1, reach + 1):
            size = abs(band[i + m, lower - m]) * units[i + m]
            if size > largest:
                largest, at = size, i + m
        width = upper
        if limit < SMALL_PIVOT * largest:
            swapped = True
            units[i], units[at] = units[at], units[i]
            for column in range(upper + lower + 1):
                other = column - (at - i)
                kept = band[i, lower + column]
                band[i, lower + column] = band[at, lower + other] if other + lower >= 0 else 0.0
                if other + lower >= 0:
                    band[at, lower + other] = kept
        else:
            at = i
        if swapped:
            width = upper + lower
        swaps[i] = at
        inverse = 1.0 / band[i, lower]
        band[i, lower] = inverse
        for m in range(1, reach + 1):
            factor = band[i + m, lower - m] * inverse
            multipliers[i, m - 1] = factor
            for column in range(1, width + 1):
                band[i + m, lower + column - m] -= factor * band[i, lower + column]
        for column in range(1, width + 1):
            band[i, lower + column] *= inverse
    return swapped


@njit(fastmath={"contract"}, error_model="numpy")
def _eliminate(
    i: int, pivot: float, size: float, diagonal: Any, above: Any, below: Any, factors: Any
) -> tuple[bool, float, float]:
    """Take column i out of row i + 1, seen from the end where elimination began; whether row i may stay
    where it is, and pivot and size of the next one."""
    forward, inverse, backward = factors
    next_size = max(abs(below[i]), abs(diagonal[i + 1]), abs(above[i + 1]))
    kept = abs(pivot) * next_size >= SMALL_PIVOT * abs(below[i]) * size
    reciprocal = 1.0 / pivot
    ratio = above[i] * reciprocal
    next_pivot = diagonal[i + 1] - below[i] * ratio
    forward[i], inverse[i], backward[i] = below[i] * reciprocal, reciprocal, ratio
    return kept, next_pivot, next_size


@njit(fastmath={"contract"}, error_model="numpy")
def factorize_twisted(entries: Any, forward: Any, inverse: Any, backward: Any) -> bool:
    """LU of three diagonals, n > 2, from both ends to the row n // 2; False where a row should be swapped.

    In the order of elimination the matrix is (1 + F) D (1 + B): forward[i] is the entry of F in column i,
    inverse[i] is 1 / D[i], and backward[i] is the entry of B in row i.
    """
    n = len(inverse)
    middle = n // 2
    diagonal, above, below = entries[0::3], entries[1::3], entries[2::3]
    up_diagonal, up_above, up_below = diagonal[::-1], below[::-1], above[::-1]
    factors, up_factors = (forward, inverse, backward), (forward[::-1], inverse[::-1], backward[::-1])
    pivot, size = diagonal[0], max(abs(diagonal[0]), abs(above[0]))
    up_pivot, up_size = up_diagonal[0], max(abs(up_diagonal[0]), abs(up_above[0]))
    for i in range((n - 1) // 2):
        kept, pivot, size = _eliminate(i, pivot, size, diagonal, above, below, factors)
        up_kept, up_pivot, up_size = _eliminate(
            i, up_pivot, up_size, up_diagonal, up_above, up_below, up_factors
        )
        if not (kept and up_kept):
            return False
    if n % 2 == 0:
        kept, pivot, size = _eliminate(middle - 1, pivot, size, diagonal, above, below, factors)
        if not kept:
            return False
    inverse[middle] = 1.0 / (pivot - above[middle] * backward[middle + 1])
    return True


@njit(fastmath={"contract"}, error_model="numpy")
def solve_twisted(forward: Any, inverse: Any, backward: Any, b: Any, x: Any) -> None:
    """From both ends to the middle and back; x may be b. With `forward` and `backward` exchanged, the
    transposed matrix. Indices are unsigned: others are taken for ones that may count from the end."""
    last = np.uint64(len(inverse)) - ONE
    pairs, middle = last >> ONE, (last + ONE) >> ONE
    down, up, down_factor, up_factor = 0.0, 0.0, 0.0, 0.0
    for start in range(ZERO, pairs, STRETCH):
        for i in range(start, min(start + STRETCH, pairs)):
            j = last - i
            down = b[i] - down_factor * down
            up = b[j] - up_factor * up
            x[i], x[j] = down * inverse[i], up * inverse[j]
            down_factor, up_factor = forward[i], forward[j]
        down = 0.0 if abs(down) < TINY else down
        up = 0.0 if abs(up) < TINY else up
    if pairs < middle:
        down = b[pairs] - down_factor * down
        x[pairs] = down * inverse[pairs]
        down_factor = forward[pairs]
    up = (b[middle] - down_factor * down - up_factor * up) * inverse[middle]
    x[middle] = down = up
    if pairs < middle:
        x[pairs] = down = x[pairs] - backward[pairs] * up
    for start in range(ZERO, pairs, STRETCH):
        for back in range(start, min(start + STRETCH, pairs)):
            i = pairs - ONE - back
            j = last - i
            down = x[i] - backward[i] * down
            up = x[j] - backward[j] * up
            x[i], x[j] = down, up
        down = 0.0 if abs(down) < TINY else down
        up = 0.0 if abs(up) < TINY else up


@njit(fastmath={"contract"}, error_model="numpy")
def solve_in_place(
    band: Any, multipliers: Any, swaps: Any, lower: int, upper: int, swapped: bool, y: Any
) -> None:
    n = band.shape[0]
    for i in range(n):
        if swapped:
            at = swaps[i]
            y[i], y[at] = y[at], y[i]
        if abs(y[i]) < TINY:
            y[i] = 0.0
        for m in range(1, min(lower, n - 1 - i) + 1):
            y[i + m] -= multipliers[i, m - 1] * y[i]
    width = upper + lower if swapped else upper
    last = 0.0
    for i in range(n - 1, -1, -1):
        total = y[i] * band[i, lower]
        for column in range(min(width, n - 1 - i), 1, -1):
            total -= band[i, lower + column] * y[i + column]
        total = total - band[i, lower + 1] * last if width > 0 else total
        y[i] = last = 0.0 if abs(total) < TINY else total


@njit(fastmath={"contract"}, error_model="numpy")
def solve_transposed_in_place(
    band: Any, multipliers: Any, swaps: Any, lower: int, upper: int, swapped: bool, y: Any
) -> None:
    n = band.shape[0]
    width = upper + lower if swapped else upper
    for i in range(n):
        for column in range(1, min(width, n - 1 - i) + 1):
            y[i + column] -= band[i, lower + column] * y[i]
        y[i] *= band[i, lower]
        if abs(y[i]) < TINY:
            y[i] = 0.0
    for i in range(n - 1, -1, -1):
        for m in range(1, min(lower, n - 1 - i) + 1):
            y[i] -= multipliers[i, m - 1] * y[i + m]
        if swapped:
            at = swaps[i]
            y[i], y[at] = y[at], y[i]


# Places of arrays by name: numba wants them as constants.
_TO_FACTOR, _FACTORED = FACTOR.arguments, FACTOR.results
_TO_SOLVE, _SOLVED = SOLVE.arguments, SOLVE.results
_WORDS, _FACTORS_WORDS = len(LAYOUT), len(FACTORS)


@njit(error_model="numpy")
def _factor(layout: Any, values: Any) -> int:
    """What the factors are."""
    n, lower, upper, slots = (
        layout[LAYOUT.n],
        layout[LAYOUT.lower],
        layout[LAYOUT.upper],
        words(layout[LAYOUT.slots], len(values)),
    )
    band = matrix(layout[LAYOUT.band], n, 2 * lower + upper + 1)
    flat, three = band.reshape(-1), layout[LAYOUT.three]
    if three:
        entries = values
        if three == 1:
            entries = numbers(layout[LAYOUT.entries], 3 * n - 2)
            for k in range(len(slots)):
                entries[slots[k]] = values[k]
        twisted = matrix(layout[LAYOUT.twisted], 3, n)
        if factorize_twisted(entries, twisted[0], twisted[1], twisted[2]):
            return TWISTED
    flat[:] = 0.0
    for k in range(len(slots)):
        slot = slots[k]
        flat[slot + (slot + 1) // 3 + 1 if three else slot] = values[k]
    multipliers = matrix(layout[LAYOUT.multipliers], n, lower)
    swaps, units = words(layout[LAYOUT.swaps], n), numbers(layout[LAYOUT.vector], n)
    return SWAPPED if factorize(band, multipliers, swaps, units, lower, upper) else PLAIN


@njit(error_model="numpy")
def _solve_ordered(layout: Any, transposed: bool, b: Any, x: Any) -> None:
    """Rows and columns in the order of the factors; x may be b."""
    n, lower, upper = layout[LAYOUT.n], layout[LAYOUT.lower], layout[LAYOUT.upper]
    kind = words(layout[LAYOUT.factors], _FACTORS_WORDS)[FACTORS.kind]
    if kind == TWISTED:
        twisted = matrix(layout[LAYOUT.twisted], 3, n)
        solve_twisted(twisted[2 * transposed], twisted[1], twisted[2 - 2 * transposed], b, x)
        return
    band = matrix(layout[LAYOUT.band], n, 2 * lower + upper + 1)
    multipliers = matrix(layout[LAYOUT.multipliers], n, lower)
    swaps, swapped = words(layout[LAYOUT.swaps], n), kind == SWAPPED
    for i in range(n):
        x[i] = b[i]
    if transposed:
        solve_transposed_in_place(band, multipliers, swaps, lower, upper, swapped, x)
    else:
        solve_in_place(band, multipliers, swaps, lower, upper, swapped, x)


@njit(error_model="numpy")
def _solve(frame: Any, transposed: bool) -> None:
    layout = words(argument_address(frame, _TO_SOLVE.layout), _WORDS)
    n, b, x = layout[LAYOUT.n], argument(frame, _TO_SOLVE.b), result(frame, _SOLVED.x)
    if (
        words(layout[LAYOUT.factors], _FACTORS_WORDS)[FACTORS.number]
        != words(argument_address(frame, _TO_SOLVE.number), 1)[0]
    ):
        for i in range(n):
            x[i] = np.nan
        return
    if not layout[LAYOUT.reordered]:
        _solve_ordered(layout, transposed, b, x)
        return
    rows, columns, y = (
        words(layout[LAYOUT.rows], n),
        words(layout[LAYOUT.columns], n),
        result(frame, _SOLVED.reordered),
    )
    before, after = (columns, rows) if transposed else (rows, columns)
    for i in range(n):
        y[i] = b[before[i]]
    _solve_ordered(layout, transposed, y, y)
    for i in range(n):
        x[after[i]] = y[i]


def _handlers(source: int) -> dict[str, Any]:
    """What XLA calls. The fingerprint of the other files is part of each function for numba's cache."""

    @cfunc(HANDLER, cache=True)
    def factor_handler(frame_pointer: Any) -> int:
        frame = carray(frame_pointer, FRAME_WORDS)
        if not asked_for_version(frame) and source != 0:
            layout = words(argument_address(frame, _TO_FACTOR.layout), _WORDS)
            factors = words(layout[LAYOUT.factors], _FACTORS_WORDS)
            factors[FACTORS.kind] = _factor(layout, argument(frame, _TO_FACTOR.values))
            factors[FACTORS.number] += 1
            words(result_address(frame, _FACTORED.new_number), 1)[0] = factors[FACTORS.number]
        return 0

    @cfunc(HANDLER, cache=True)
    def solve_handler(frame_pointer: Any) -> int:
        frame = carray(frame_pointer, FRAME_WORDS)
        if not asked_for_version(frame) and source != 0:
            _solve(frame, False)
        return 0

    @cfunc(HANDLER, cache=True)
    def solve_transposed_handler(frame_pointer: Any) -> int:
        frame = carray(frame_pointer, FRAME_WORDS)
        if not asked_for_version(frame) and source != 0:
            _solve(frame, True)
        return 0

    return {
        FACTOR.target: factor_handler,
        SOLVE.target: solve_handler,
        SOLVE_TRANSPOSED.target: solve_transposed_handler,
    }


_OTHERS = (calls, structures, band_calls)
HANDLERS = _handlers(calls.source_of(__file__, *(str(module.__file__) for module in _OTHERS)))

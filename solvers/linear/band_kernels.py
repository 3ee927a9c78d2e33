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

How XLA calls these functions is in `foreign`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, cfunc, njit

from .. import xla_calls
from ..xla_calls import (
    FRAME_WORDS,
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


_LAYOUT = 15
_N, _LOWER, _UPPER, _REORDERED, _THREE, _BAND, _MULTIPLIERS = range(7)
_SWAPS, _FACTORS, _SLOTS, _ROWS, _COLUMNS, _VECTOR, _ENTRIES, _TWISTED = range(7, _LAYOUT)
"""Words of the layout: size and diagonals besides the main one; whether rows or columns are in another
order; whether there are three diagonals (2: and the values are all their entries, by rows).
Addresses: of a band, its multipliers and swapped rows; of what the factors are and their number; of the
place of each value; of the order of rows and columns; of a vector for factorizations; of the entries of
three diagonals and of their factors."""

TWISTED, PLAIN, SWAPPED = 0, 1, 2
"""What the last factors are: of three diagonals from both ends, of a band, of a band with swapped rows."""

KIND, NUMBER, FACTORS_WORDS = 0, 1, 2
"""Words that say what the last factors are, and how many there were before."""


@njit(error_model="numpy")
def _factor(layout: Any, values: Any) -> int:
    """What the factors are."""
    n, lower, upper, slots = layout[_N], layout[_LOWER], layout[_UPPER], words(layout[_SLOTS], len(values))
    band = matrix(layout[_BAND], n, 2 * lower + upper + 1)
    flat, three = band.reshape(-1), layout[_THREE]
    if three:
        entries = values
        if three == 1:
            entries = numbers(layout[_ENTRIES], 3 * n - 2)
            for k in range(len(slots)):
                entries[slots[k]] = values[k]
        twisted = matrix(layout[_TWISTED], 3, n)
        if factorize_twisted(entries, twisted[0], twisted[1], twisted[2]):
            return TWISTED
    flat[:] = 0.0
    for k in range(len(slots)):
        slot = slots[k]
        flat[slot + (slot + 1) // 3 + 1 if three else slot] = values[k]
    multipliers = matrix(layout[_MULTIPLIERS], n, lower)
    swaps, units = words(layout[_SWAPS], n), numbers(layout[_VECTOR], n)
    return SWAPPED if factorize(band, multipliers, swaps, units, lower, upper) else PLAIN


@njit(error_model="numpy")
def _solve_ordered(layout: Any, transposed: bool, b: Any, x: Any) -> None:
    """Rows and columns in the order of the factors; x may be b."""
    n, lower, upper = layout[_N], layout[_LOWER], layout[_UPPER]
    kind = words(layout[_FACTORS], FACTORS_WORDS)[KIND]
    if kind == TWISTED:
        twisted = matrix(layout[_TWISTED], 3, n)
        solve_twisted(twisted[2 * transposed], twisted[1], twisted[2 - 2 * transposed], b, x)
        return
    band = matrix(layout[_BAND], n, 2 * lower + upper + 1)
    multipliers = matrix(layout[_MULTIPLIERS], n, lower)
    swaps, swapped = words(layout[_SWAPS], n), kind == SWAPPED
    for i in range(n):
        x[i] = b[i]
    if transposed:
        solve_transposed_in_place(band, multipliers, swaps, lower, upper, swapped, x)
    else:
        solve_in_place(band, multipliers, swaps, lower, upper, swapped, x)


@njit(error_model="numpy")
def _solve(frame: Any, transposed: bool) -> None:
    """Arguments: layout, number of the factorization, right-hand side. Results: the solution, and where
    rows or columns are in another order, room for a vector in theirs."""
    layout = words(argument_address(frame, 0), _LAYOUT)
    n, b, x = layout[_N], argument(frame, 2), result(frame, 0)
    if words(layout[_FACTORS], FACTORS_WORDS)[NUMBER] != words(argument_address(frame, 1), 1)[0]:
        for i in range(n):
            x[i] = np.nan
        return
    if not layout[_REORDERED]:
        _solve_ordered(layout, transposed, b, x)
        return
    rows, columns, y = words(layout[_ROWS], n), words(layout[_COLUMNS], n), result(frame, 1)
    before, after = (columns, rows) if transposed else (rows, columns)
    for i in range(n):
        y[i] = b[before[i]]
    _solve_ordered(layout, transposed, y, y)
    for i in range(n):
        x[after[i]] = y[i]


def _handlers(source: int) -> dict[str, Any]:
    """What XLA calls. The fingerprint of the other file is part of each function for numba's cache."""

    @cfunc(HANDLER, cache=True)
    def factor_handler(frame_pointer: Any) -> int:
        """Arguments: layout, values, number of the last factorization. Result: the number of this one."""
        frame = carray(frame_pointer, FRAME_WORDS)
        if not asked_for_version(frame) and source != 0:
            layout = words(argument_address(frame, 0), _LAYOUT)
            factors = words(layout[_FACTORS], FACTORS_WORDS)
            factors[KIND] = _factor(layout, argument(frame, 1))
            factors[NUMBER] += 1
            words(result_address(frame, 0), 1)[0] = factors[NUMBER]
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
        "modia_py_band_factor": factor_handler,
        "modia_py_band_solve": solve_handler,
        "modia_py_band_solve_transposed": solve_transposed_handler,
    }


HANDLERS = _handlers(xla_calls.source_of(__file__, xla_calls.__file__))

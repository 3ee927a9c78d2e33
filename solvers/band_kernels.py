"""LU of a narrow band in native code: compiled by numba, called by XLA inside of the compiled loop.

The matrix is kept by rows: row i holds the columns i-lower ... i+upper+lower, the last `lower` of them for
rows that are swapped in. Multipliers are kept by the column they eliminate. A row is swapped in only where
the pivot at hand is small against the column, each entry in units of its row (rows of constraints come in
units of their own), so that a diagonally dominant matrix keeps its band and its order. Rows of U are
divided by their pivot: each element of a solve then waits for one multiplication only.

XLA calls a foreign function with one pointer, to a frame of 64-bit words (`xla/ffi/api/c_api.h`, version
0.x): pointers to the descriptions of arguments and results, whose fourth word is the address of the data.
Everything compiled by numba is in this file: its cache notices changes of this file only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, njit, types
from numba.extending import intrinsic

SMALL_PIVOT = 0.1
"""A pivot below this part of the largest entry of its column is replaced, each in units of its row."""

TINY = 1e-280
"""Less is zero. A solution that decays along a chain would end in numbers so small that processors take a
hundred times as long for each, and rounding keeps them from ever becoming zero."""
STRETCH = 64
"""Elements between two looks: each waits for the one before it, and longer for a look."""

# Words of the frame, and of what it points to.
_EXTENSION, _API, _ARGUMENTS, _RESULTS = 1, 2, 9, 14
_METADATA, _METADATA_VERSION, _API_VERSION = 3, 3, 4
_DATA = 3


def _typed_pointer(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), generate


_pointer: Any = intrinsic(_typed_pointer)
"""The pointer to an address."""


@njit(inline="always")
def _words(address: int, count: int) -> Any:
    return carray(_pointer(address), count, np.int64)


@njit(inline="always")
def _numbers(address: int, count: int) -> Any:
    return carray(_pointer(address), count, np.float64)


@njit(inline="always")
def _data(list_address: int, index: int) -> int:
    """Address of the data of an argument or a result."""
    return _words(_words(list_address, index + 1)[index], _DATA + 1)[_DATA]


@njit(inline="always")
def _asked_for_version(frame: Any) -> bool:
    """XLA asks once for the version of its interface that is spoken here: its own, as long as it is 0.x."""
    if frame[_EXTENSION] == 0:
        return False
    metadata = _words(_words(frame[_EXTENSION], _METADATA + 1)[_METADATA], _METADATA_VERSION + 1)
    version = _words(frame[_API], _API_VERSION + 1)[_API_VERSION]
    if version & 0xFFFFFFFF == 0:
        metadata[_METADATA_VERSION] = version
    return True


@njit(fastmath={"contract"}, error_model="numpy")
def factorize(band: Any, multipliers: Any, swaps: Any, sizes: Any, lower: int, upper: int) -> bool:
    """LU in place; whether rows were swapped. A pivot that is zero leaves infinities and NaN behind."""
    n, swapped = band.shape[0], False
    for i in range(n):
        sizes[i] = np.max(np.abs(band[i]))
    for i in range(n):
        reach = min(lower, n - 1 - i)
        largest, at = abs(band[i, lower]) / sizes[i], i
        limit = largest
        for m in range(1, reach + 1):
            size = abs(band[i + m, lower - m]) / sizes[i + m]
            if size > largest:
                largest, at = size, i + m
        width = upper
        if limit < SMALL_PIVOT * largest:
            swapped = True
            sizes[i], sizes[at] = sizes[at], sizes[i]
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
def factorize_tridiagonal(band: Any, multipliers: Any) -> bool:
    """The same for one diagonal on either side; False where a row would have to be swapped."""
    n = band.shape[0]
    diagonal, size = band[0, 1], max(abs(band[0, 1]), abs(band[0, 2]))
    for i in range(n - 1):
        below = band[i + 1, 0]
        next_size = max(abs(below), abs(band[i + 1, 1]), abs(band[i + 1, 2]))
        if not abs(diagonal) * next_size >= SMALL_PIVOT * abs(below) * size:
            return False
        size = next_size
        inverse = 1.0 / diagonal
        band[i, 1] = inverse
        factor = below * inverse
        multipliers[i, 0] = factor
        diagonal = band[i + 1, 1] - factor * band[i, 2]
        band[i, 2] *= inverse
    band[n - 1, 1] = 1.0 / diagonal
    return True


@njit(fastmath={"contract"}, error_model="numpy")
def solve_in_place(
    band: Any, multipliers: Any, swaps: Any, lower: int, upper: int, swapped: bool, y: Any
) -> None:
    n = band.shape[0]
    if lower == 1 and upper == 1 and not swapped:
        last = y[0]
        for start in range(1, n, STRETCH):
            for i in range(start, min(start + STRETCH, n)):
                last = y[i] - multipliers[i - 1, 0] * last
                y[i] = last
            last = 0.0 if abs(last) < TINY else last
        last = y[n - 1] * band[n - 1, 1]
        y[n - 1] = last
        for start in range(n - 2, -1, -STRETCH):
            for i in range(start, max(start - STRETCH, -1), -1):
                last = y[i] * band[i, 1] - band[i, 2] * last
                y[i] = last
            last = 0.0 if abs(last) < TINY else last
        return
    for i in range(n):
        if swapped:
            at = swaps[i]
            y[i], y[at] = y[at], y[i]
        if abs(y[i]) < TINY:
            y[i] = 0.0
        for m in range(1, min(lower, n - 1 - i) + 1):
            y[i + m] -= multipliers[i, m - 1] * y[i]
    width = upper + lower if swapped else upper
    for i in range(n - 1, -1, -1):
        total = y[i] * band[i, lower]
        for column in range(min(width, n - 1 - i), 0, -1):
            total -= band[i, lower + column] * y[i + column]
        y[i] = 0.0 if abs(total) < TINY else total


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


@njit(error_model="numpy")
def fill_and_factorize(
    values: Any, slots: Any, band: Any, multipliers: Any, swaps: Any, sizes: Any, lower: int, upper: int
) -> bool:
    """Whether rows were swapped."""
    flat = band.reshape(-1)
    flat[:] = 0.0
    for entry in range(len(slots)):
        flat[slots[entry]] = values[entry]
    if lower == 1 and upper == 1:
        if factorize_tridiagonal(band, multipliers):
            return False
        flat[:] = 0.0
        for entry in range(len(slots)):
            flat[slots[entry]] = values[entry]
    return factorize(band, multipliers, swaps, sizes, lower, upper)


@njit(error_model="numpy")
def _solve(arguments: int, results: int, transposed: bool) -> None:
    """Arguments: layout, number of the factorization, right-hand side. Result: the solution."""
    layout = _words(_data(arguments, 0), LAYOUT_WORDS)
    n, lower, upper = layout[0], layout[1], layout[2]
    band = carray(_pointer(layout[3]), (n, 2 * lower + upper + 1), np.float64)
    multipliers = carray(_pointer(layout[4]), (n, lower), np.float64)
    swaps, swapped = _words(layout[5], n), _words(layout[6], 1)[0] != 0
    b, x = _numbers(_data(arguments, 2), n), _numbers(_data(results, 0), n)
    if layout[10] == 0:
        for i in range(n):
            x[i] = b[i]
        if transposed:
            solve_transposed_in_place(band, multipliers, swaps, lower, upper, swapped, x)
        else:
            solve_in_place(band, multipliers, swaps, lower, upper, swapped, x)
        return
    rows, columns, y = _words(layout[8], n), _words(layout[9], n), _numbers(layout[11], n)
    before, after = (columns, rows) if transposed else (rows, columns)
    for i in range(n):
        y[i] = b[before[i]]
    if transposed:
        solve_transposed_in_place(band, multipliers, swaps, lower, upper, swapped, y)
    else:
        solve_in_place(band, multipliers, swaps, lower, upper, swapped, y)
    for i in range(n):
        x[after[i]] = y[i]


LAYOUT_WORDS = 13
"""n, lower, upper; addresses of band, multipliers, swaps, whether rows were swapped, slots, order of the
rows, order of the columns; whether they are in another order; address of a vector; number of entries."""


@cfunc(types.int64(types.CPointer(types.int64)), cache=True)
def factor_handler(frame_pointer: Any) -> int:
    """Arguments: layout, values, number of the last factorization. Result: the number of this one."""
    frame = carray(frame_pointer, _RESULTS + 1)
    if _asked_for_version(frame):
        return 0
    arguments, results = frame[_ARGUMENTS], frame[_RESULTS]
    layout = _words(_data(arguments, 0), LAYOUT_WORDS)
    n, lower, upper, entries = layout[0], layout[1], layout[2], layout[12]
    band = carray(_pointer(layout[3]), (n, 2 * lower + upper + 1), np.float64)
    multipliers = carray(_pointer(layout[4]), (n, lower), np.float64)
    values, slots = _numbers(_data(arguments, 1), entries), _words(layout[7], entries)
    swaps, sizes = _words(layout[5], n), _numbers(layout[11], n)
    swapped = fill_and_factorize(values, slots, band, multipliers, swaps, sizes, lower, upper)
    _words(layout[6], 1)[0] = 1 if swapped else 0
    _words(_data(results, 0), 1)[0] = _words(_data(arguments, 2), 1)[0] + 1
    return 0


@cfunc(types.int64(types.CPointer(types.int64)), cache=True)
def solve_handler(frame_pointer: Any) -> int:
    frame = carray(frame_pointer, _RESULTS + 1)
    if not _asked_for_version(frame):
        _solve(frame[_ARGUMENTS], frame[_RESULTS], False)
    return 0


@cfunc(types.int64(types.CPointer(types.int64)), cache=True)
def solve_transposed_handler(frame_pointer: Any) -> int:
    frame = carray(frame_pointer, _RESULTS + 1)
    if not _asked_for_version(frame):
        _solve(frame[_ARGUMENTS], frame[_RESULTS], True)
    return 0

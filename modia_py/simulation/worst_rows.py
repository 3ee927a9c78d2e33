"""The worst row of the written equations at each time, by native code.

Both plans, that of all values and that of the equations as written, are evaluated at a block of times
together, once for the values as they are and once for each direction. Nothing is compiled for a model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int64, njit, void

from ..plan import kernels, native, operations
from ..plan.native import parts, points_together, room, run
from ..solvers.xla import calls

_WORDS, _NUMBERS, _MATRIX = int64[::1], float64[::1], float64[:, ::1]


@njit
def _put(w: Any, first: int, rows: Any, begin: int, count: int, columns: int) -> None:
    """Rows of a matrix into the columns of w; the last one again where there are too many columns."""
    for column in range(columns):
        row = rows[begin + min(column, count - 1)]
        for k in range(len(row)):
            w[(first + k) * columns + column] = row[k]


@njit
def _put_everywhere(w: Any, first: int, vector: Any, columns: int) -> None:
    for k in range(len(vector)):
        w[(first + k) * columns : (first + k + 1) * columns] = vector[k]


@njit
def _moved(w: Any, first: int, values: Any, tolerance: Any, direction: Any, columns: int) -> None:
    """Values changed along a direction, into w."""
    for j in range(len(values)):
        out = w[(first + j) * columns : (first + j + 1) * columns]
        value, allowed, part = values[j], tolerance[j], direction[j]
        for column in range(columns):
            out[column] = value[column] + part * allowed[column]


def _compiled(fingerprint: int) -> Any:
    """The fingerprint of the other files is part of the function for numba's cache."""

    @njit(
        void(
            _WORDS, _NUMBERS, _WORDS, _NUMBERS, _MATRIX, _MATRIX, _MATRIX, _NUMBERS, _MATRIX, _MATRIX,
            _NUMBERS, _WORDS, _NUMBERS, _WORDS, _NUMBERS, float64, _NUMBERS, _MATRIX, _MATRIX, _NUMBERS,
            _WORDS, _NUMBERS,
        ),
        cache=True,
    )  # fmt: skip
    def worst_rows(
        of_values: Any, constants_of_values: Any, written: Any, constants_of_written: Any, t: Any, x: Any,
        xdot: Any, p: Any, u_of_values: Any, u_of_written: Any, slack: Any, place: Any, sign: Any,
        slope_place: Any, slope_sign: Any, rtol: float, atol: Any, directions: Any, everything: Any,
        violation: Any, worst: Any, residual: Any,
    ) -> None:  # fmt: skip
        if fingerprint == 0:
            return
        points, n, size = len(t), x.shape[1], len(place)
        columns = min(points_together(written, points), points_together(of_values, points))
        w, z = room(of_values, constants_of_values, columns), room(written, constants_of_written, columns)
        found, rows = parts(of_values)[0], parts(written)[0]
        _put_everywhere(w, 1 + 2 * n, p, columns)
        _put_everywhere(z, 1 + 2 * size, p, columns)
        v, vdot = np.empty((size, columns)), np.empty((size, columns))
        of_v, of_vdot = np.empty((size, columns)), np.empty((size, columns))
        plain, allowed = np.empty((len(rows), columns)), np.empty((len(rows), columns))
        for begin in range(0, points, columns):
            count = min(columns, points - begin)
            _put(w, 0, t, begin, count, columns)
            _put(w, 1, x, begin, count, columns)
            _put(w, 1 + n, xdot, begin, count, columns)
            _put(w, 1 + 2 * n + len(p), u_of_values, begin, count, columns)
            run(of_values, w, columns)
            if len(everything):
                for column in range(count):
                    for k in range(len(found)):
                        everything[begin + column, k] = w[np.int64(found[k]) * columns + column]
            for j in range(size):
                at, slope_at = np.int64(found[place[j]]), np.int64(found[slope_place[j]])
                for column in range(columns):
                    v[j, column] = sign[j] * w[at * columns + column]
                    vdot[j, column] = slope_sign[j] * w[slope_at * columns + column]
                    of_v[j, column] = rtol * abs(v[j, column]) + atol[j]
                    step = slack[begin + min(column, count - 1)]
                    of_vdot[j, column] = rtol * abs(vdot[j, column]) + step * of_v[j, column]
            _put(z, 0, t, begin, count, columns)
            _put(z, 1 + 2 * size + len(p), u_of_written, begin, count, columns)
            for number in range(len(directions)):
                direction = directions[number]
                _moved(z, 1, v, of_v, direction[:size], columns)
                _moved(z, 1 + size, vdot, of_vdot, direction[size:], columns)
                run(written, z, columns)
                for r in range(len(rows)):
                    first = np.int64(rows[r]) * columns
                    now = z[first : first + columns]
                    if number == 0:
                        plain[r] = now
                        allowed[r] = 0.0
                        continue
                    for column in range(columns):
                        change = abs(now[column] - plain[r, column])
                        # What is not finite after a change says nothing.
                        if change > allowed[r, column] and change < np.inf:
                            allowed[r, column] = change
            for column in range(count):
                largest, where = -1.0, 0
                for r in range(len(rows)):
                    off = abs(plain[r, column])
                    here = 0.0 if off == 0.0 else off / max(allowed[r, column], 1e-300)
                    if not off < np.inf:
                        here = np.inf
                    if here > largest:
                        largest, where = here, r
                if len(rows):
                    violation[begin + column], worst[begin + column] = largest, where
                    residual[begin + column] = plain[where, column]

    return worst_rows


worst_rows = _compiled(
    calls.source_of(__file__, *(str(module.__file__) for module in (calls, kernels, native, operations)))
)

"""Plans and their derivatives at many points, called from Python: nothing is compiled for a model.

The inputs of a plan are the numbers of a point, then those that all points share. Tangents: for each point,
or for all of them, some directions; of a direction the first numbers are multiplied by a factor of the
point.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int64, njit, void

from ..solvers.xla import calls
from . import kernels, native, operations
from .kernels import push, push_one_direction
from .native import TANGENTS, parts, points_together, room, run

_WORDS, _NUMBERS, _MATRIX, _CUBE = int64[::1], float64[::1], float64[:, ::1], float64[:, :, ::1]


@njit
def _put(w: Any, points: Any, shared: Any, begin: int, columns: int) -> None:
    """Points into the columns of w; the last one again where there are too many columns."""
    count, own = points.shape
    for column in range(columns):
        point = points[min(begin + column, count - 1)]
        for k in range(own):
            w[k * columns + column] = point[k]
    for k in range(len(shared)):
        w[(own + k) * columns : (own + k + 1) * columns] = shared[k]


@njit
def _seed(d: Any, direction: Any, factor: float, scaled: int, lane: int, lanes: int) -> None:
    for j in range(len(direction)):
        d[j * lanes + lane] = factor * direction[j] if j < scaled else direction[j]


@njit
def _take(d: Any, rows: Any, lane: int, lanes: int, out: Any) -> None:
    for j in range(len(rows)):
        out[j] = d[rows[j] * lanes + lane] if rows[j] >= 0 else 0.0


def _compiled(fingerprint: int) -> tuple[Any, Any]:
    """The fingerprint of the other files is part of each function for numba's cache."""

    @njit(void(_WORDS, _NUMBERS, _MATRIX, _NUMBERS, _MATRIX), cache=True)
    def evaluate_points(program: Any, constants: Any, points: Any, shared: Any, out: Any) -> None:
        if fingerprint == 0:
            return
        count, outputs = len(points), parts(program)[0]
        columns = points_together(program, count)
        w = room(program, constants, columns)
        for begin in range(0, count, columns):
            _put(w, points, shared, begin, columns)
            run(program, w, columns)
            for column in range(min(columns, count - begin)):
                for k in range(len(outputs)):
                    out[begin + column, k] = w[np.int64(outputs[k]) * columns + column]

    @njit(void(_WORDS, _NUMBERS, _MATRIX, _NUMBERS, _CUBE, _NUMBERS, int64, _CUBE), cache=True)
    def push_points(
        program: Any, constants: Any, points: Any, shared: Any, directions: Any, factor: Any, scaled: int,
        out: Any,
    ) -> None:  # fmt: skip
        if fingerprint == 0:
            return
        count, width, inputs = len(points), directions.shape[1], directions.shape[2]
        coefficient, start, source, rows = parts(program)
        columns = points_together(program, count)
        w = room(program, constants, columns)
        together = max(columns, width)  # points or directions: whichever are more
        d = np.empty((inputs + program[TANGENTS]) * together)
        for begin in range(0, count, columns):
            _put(w, points, shared, begin, columns)
            run(program, w, columns)
            here = min(columns, count - begin)
            if width < columns:
                for number in range(width):
                    for column in range(columns):
                        point = min(begin + column, count - 1)
                        own = directions[point if len(directions) > 1 else 0, number]
                        _seed(d, own, factor[point], scaled, column, columns)
                    push_one_direction(start, coefficient, source, w, d, inputs, columns)
                    for column in range(here):
                        _take(d, rows, column, columns, out[begin + column, number])
            else:
                for column in range(here):
                    point = begin + column
                    for number in range(width):
                        own = directions[point if len(directions) > 1 else 0, number]
                        _seed(d, own, factor[point], scaled, number, width)
                    push(start, coefficient, source, w, d, inputs, width, column, columns)
                    for number in range(width):
                        _take(d, rows, number, width, out[point, number])

    return evaluate_points, push_points


evaluate_points, push_points = _compiled(
    calls.source_of(__file__, *(str(module.__file__) for module in (calls, kernels, native, operations)))
)

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
from .kernels import push
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
        w, d = room(program, constants, columns), np.empty((inputs + program[TANGENTS], width))
        for point in range(count):
            column = point % columns
            if column == 0:
                _put(w, points, shared, point, columns)
                run(program, w, columns)
            own = directions[point if len(directions) > 1 else 0]
            for j in range(inputs):
                part = factor[point] if j < scaled else 1.0
                for k in range(width):
                    d[j, k] = part * own[k, j]
            push(start, coefficient, source, w, d, inputs, width, column, columns)
            for j in range(len(rows)):
                for k in range(width):
                    out[point, k, j] = d[rows[j], k] if rows[j] >= 0 else 0.0

    return evaluate_points, push_points


evaluate_points, push_points = _compiled(
    calls.source_of(__file__, *(str(module.__file__) for module in (calls, kernels, native, operations)))
)

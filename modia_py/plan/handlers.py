"""Plans as functions that XLA calls, for one or many points at a time.

A plan travels as one vector of words (`native.encode`) and one of constants. All arrays have the same
number of leading axes, those of `vmap`; an array that is the same for all lanes of an axis has length one
there. Where only tangents differ along the last of them, its lanes are pushed through together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, cfunc, njit

from ..solvers.xla import calls as xla_calls
from ..solvers.xla import structures
from ..solvers.xla.calls import HANDLER, asked_for_version, numbers, words
from ..solvers.xla.structures import BUFFER, FRAME, FRAME_WORDS, WORD
from . import kernels, native
from .kernels import push
from .native import CONSTANTS, FEWEST_TOGETHER, TANGENTS, parts, points_together, room, run

EVALUATE, PUSH = "modia_py_plan_evaluate", "modia_py_plan_push"

_NUMBERS_TOGETHER = 1_000_000
"""Tangents of all directions that are pushed through together. Long rows of directions count for more than
the nearest cache: with a tenth of it, steps of an arm of 24 joints took twice as long."""


@njit
def _buffer(frame: Any, list_word: int, index: int) -> Any:
    return words(words(frame[list_word], index + 1)[index], len(BUFFER))


@njit
def _program(frame: Any) -> Any:
    described = _buffer(frame, FRAME.arguments, 0)
    rank = described[BUFFER.rank]
    return words(described[BUFFER.data], words(described[BUFFER.lengths], rank)[rank - 1])


@njit
def _row(described: Any, lane: int, full: Any) -> Any:
    """The vector of an array for a lane of all lanes: `full` are the lengths of their axes."""
    axes = len(full)
    lengths = words(described[BUFFER.lengths], axes + 1)
    width, place, stride = lengths[axes], 0, 1
    for axis in range(axes - 1, -1, -1):
        own = lane % full[axis]
        lane //= full[axis]
        if lengths[axis] > 1:
            place += own * stride
        stride *= lengths[axis]
    return numbers(described[BUFFER.data] + WORD * place * width, width)


@njit
def _axes(described: Any) -> Any:
    """Lengths of the axes of lanes."""
    return words(described[BUFFER.lengths], described[BUFFER.rank])[:-1]


@njit
def _lanes(full: Any) -> int:
    count = 1
    for length in full:
        count *= length
    return count


@njit
def _fill(
    frame: Any, first: int, behind: int, lane: int, full: Any, w: Any, column: int, columns: int
) -> None:
    """Inputs, one after the other, into a column of w."""
    place = column
    for index in range(first, behind):
        vector = _row(_buffer(frame, FRAME.arguments, index), lane, full)
        for k in range(len(vector)):
            w[place] = vector[k]
            place += columns


@njit
def _room(program: Any, frame: Any, columns: int) -> Any:
    constants = numbers(_buffer(frame, FRAME.arguments, 1)[BUFFER.data], program[CONSTANTS])
    return room(program, constants, columns)


@njit
def _evaluate_all(frame: Any) -> None:
    program, out = _program(frame), _buffer(frame, FRAME.results, 0)
    full, outputs = _axes(out), parts(program)[0]
    lanes = _lanes(full)
    columns = points_together(program, lanes)
    w = _room(program, frame, columns)
    for first in range(0, lanes, columns):
        count = min(columns, lanes - first)
        for column in range(columns):  # the last lane again where there are too many columns
            lane = first + min(column, count - 1)
            _fill(frame, 2, frame[FRAME.argument_count], lane, full, w, column, columns)
        run(program, w, columns)
        for column in range(count):
            target = _row(out, first + column, full)
            for k in range(len(outputs)):
                target[k] = w[np.int64(outputs[k]) * columns + column]


@njit
def _vary(frame: Any, first: int, behind: int, axes: int) -> bool:
    """Whether any of some arguments differs along the last axis of lanes."""
    for index in range(first, behind):
        described = _buffer(frame, FRAME.arguments, index)
        if words(described[BUFFER.lengths], axes + 1)[axes - 1] > 1:
            return True
    return False


@njit
def _push_all(frame: Any) -> None:
    """Arguments: program, constants, a vector as long as there are inputs, inputs, tangents."""
    program, out = _program(frame), _buffer(frame, FRAME.results, 0)
    full = _axes(out)
    coefficient, start, source, rows = parts(program)
    described = _buffer(frame, FRAME.arguments, 2)
    first = 3 + words(described[BUFFER.lengths], described[BUFFER.rank])[described[BUFFER.rank] - 1]
    axes, lanes = len(full), _lanes(full)
    together = 1
    if axes > 0 and not _vary(frame, 3, first, axes):
        together = full[axes - 1]
    behind = frame[FRAME.argument_count]
    inputs = 0
    for index in range(first, behind):
        own = _buffer(frame, FRAME.arguments, index)
        inputs += words(own[BUFFER.lengths], axes + 1)[axes]
    count = inputs + program[TANGENTS]
    block = min(together, max(FEWEST_TOGETHER, _NUMBERS_TOGETHER // max(count, 1)))
    w, d, seed = _room(program, frame, 1), np.empty(count * max(block, 1)), np.empty(inputs)
    for lane in range(0, lanes, max(together, 1)):
        _fill(frame, 3, first, lane, full, w, 0, 1)
        run(program, w, 1)
        for begin in range(lane, lane + together, max(block, 1)):
            width = min(block, lane + together - begin)
            for k in range(width):
                _fill(frame, first, behind, begin + k, full, seed, 0, 1)
                for j in range(inputs):
                    d[j * width + k] = seed[j]
            push(start, coefficient, source, w, d, inputs, width, 0, 1)
            for k in range(width):
                target = _row(out, begin + k, full)
                for j in range(len(rows)):
                    target[j] = d[rows[j] * width + k] if rows[j] >= 0 else 0.0


def _handlers(fingerprint: int) -> dict[str, Any]:
    """What XLA calls. The fingerprint of the other files is part of each function for numba's cache."""

    @cfunc(HANDLER, cache=True)
    def evaluate_handler(frame_pointer: Any) -> int:
        frame = carray(frame_pointer, FRAME_WORDS)
        if not asked_for_version(frame) and fingerprint != 0:
            _evaluate_all(frame)
        return 0

    @cfunc(HANDLER, cache=True)
    def push_handler(frame_pointer: Any) -> int:
        frame = carray(frame_pointer, FRAME_WORDS)
        if not asked_for_version(frame) and fingerprint != 0:
            _push_all(frame)
        return 0

    return {EVALUATE: evaluate_handler, PUSH: push_handler}


_OTHERS = (xla_calls, structures, kernels, native)
"""Whose functions or constants become part of what is compiled."""

HANDLERS = _handlers(xla_calls.source_of(__file__, *(str(module.__file__) for module in _OTHERS)))

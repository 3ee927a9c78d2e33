"""Native code that reads plans, compiled once: other native functions call it by its symbol.

A plan travels as one vector of words (`encode`). Compiled into each function that evaluates plans, the
loops of all operations would be compiled as often as there are such functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite.binding import add_symbol
from numba import cfunc, njit, types

from ..solvers.xla import calls as xla_calls
from ..solvers.xla.calls import numbers as numbers_at
from ..solvers.xla.calls import words
from . import kernels, operations
from .derivatives import Linearization
from .kernels import evaluate
from .plan import Plan

FEWEST_TOGETHER = 8
_MOST_POINTS, _VALUES_TOGETHER = 64, 32_768
"""Points that are evaluated together: as many as stay in the cache with all values."""

_HEADER = 8
INPUTS, CONSTANTS, GROUPS, RESULTS, OUTPUTS, TANGENTS, EDGES, ROWS = range(_HEADER)


def encode(plan: Plan, linear: Linearization | None = None) -> np.ndarray:
    """A plan, and what is linear, as one vector of words."""
    start = np.zeros(1, np.int64) if linear is None else linear.start
    source = np.zeros(0, np.int64) if linear is None else linear.source
    rows = np.zeros(0, np.int64) if linear is None else linear.rows
    header = np.zeros(_HEADER, np.int64)
    header[INPUTS], header[CONSTANTS] = plan.inputs, len(plan.constants)
    header[GROUPS], header[RESULTS] = len(plan.groups), len(plan.operands)
    header[OUTPUTS], header[TANGENTS] = len(plan.outputs), len(start) - 1
    header[EDGES], header[ROWS] = len(source), len(rows)
    parts = (header, plan.groups.ravel(), plan.operands.T.ravel(), plan.outputs, start, source, rows)
    return np.concatenate([np.asarray(part, np.int64) for part in parts])


def _compiled(fingerprint: int) -> Any:
    """The fingerprint of the other files is part of the function for numba's cache."""

    @cfunc(types.void(types.int64, types.int64, types.int64), cache=True)
    def run_plan(program_address: int, values_address: int, columns: int) -> None:
        if fingerprint == 0:
            return
        header = words(program_address, _HEADER)
        count, results = header[GROUPS], header[RESULTS]
        first = _HEADER + 3 * count
        program = words(program_address, first + 3 * results)
        shift = header[INPUTS] + header[CONSTANTS]
        groups = program[_HEADER:first].reshape((count, 3))
        places = program[first:].view(np.uint64).reshape((3, results))
        w = numbers_at(values_address, (shift + results) * columns)
        evaluate(groups, places[0], places[1], places[2], w, shift, columns)

    return run_plan


FINGERPRINT = xla_calls.source_of(
    __file__, *(str(module.__file__) for module in (xla_calls, kernels, operations))
)
_SYMBOL = "modia_py_run_plan"
_run_plan = _compiled(FINGERPRINT)
add_symbol(_SYMBOL, _run_plan.address)
_by_symbol: Any = types.ExternalFunction(_SYMBOL, types.void(types.int64, types.int64, types.int64))


@njit
def run(program: Any, w: Any, columns: int) -> None:
    """All results of a plan into w, which holds for each place the values of so many points."""
    _by_symbol(program.ctypes.data, w.ctypes.data, columns)


@njit
def room(program: Any, constants: Any, columns: int) -> Any:
    """Room for all values at so many points, with the constants."""
    inputs = program[INPUTS]
    w = np.empty((inputs + program[CONSTANTS] + program[RESULTS]) * columns)
    for k in range(program[CONSTANTS]):
        for column in range(columns):
            w[(inputs + k) * columns + column] = constants[k]
    return w


@njit
def points_together(program: Any, points: int) -> int:
    """Points at which all values are computed together: as many as stay in the cache."""
    size = program[INPUTS] + program[CONSTANTS] + program[RESULTS]
    most = max(FEWEST_TOGETHER, min(_MOST_POINTS, _VALUES_TOGETHER // max(size, 1)))
    return max(1, min(points, most - most % FEWEST_TOGETHER))


@njit
def parts(program: Any) -> Any:
    """Places of outputs; start, source and rows of what is linear."""
    first = _HEADER + 3 * program[GROUPS] + 3 * program[RESULTS]
    outputs = program[first : first + program[OUTPUTS]].view(np.uint64)
    first += program[OUTPUTS]
    start = program[first : first + program[TANGENTS] + 1]
    first += program[TANGENTS] + 1
    source = program[first : first + program[EDGES]].view(np.uint64)
    first += program[EDGES]
    return outputs, start, source, program[first : first + program[ROWS]]

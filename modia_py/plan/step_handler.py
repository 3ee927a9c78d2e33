"""Steps of the integrator by native code: the corrector with a plan as its residual, and what follows.

Between two evaluations of a small plan XLA takes longer than the evaluation; here nothing of it is between
them. The passes are those of `solvers.native.kernels`, the linear systems dense and small.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, cfunc, njit

from ..solvers import status
from ..solvers.loop import crossing_kernels, crossings, extrema
from ..solvers.loop.crossing_kernels import make_watch
from ..solvers.method import coefficients, controller, rounding
from ..solvers.method import numbers as numbers_of_state
from ..solvers.method.numbers import AT
from ..solvers.native import calls, kernels
from ..solvers.native.kernels import finish, iterate, weigh
from ..solvers.xla import calls as xla_calls
from ..solvers.xla import structures
from ..solvers.xla.calls import (
    HANDLER,
    argument,
    argument_address,
    argument_matrix,
    argument_words,
    asked_for_version,
    pointer,
    result,
    result_matrix,
)
from ..solvers.xla.structures import FRAME_WORDS
from . import kernels as plan_kernels
from . import native, operations, stage_kernels
from .native import parts, room, run
from .stage_kernels import correct_by_stages, put_input, put_inputs, rooms, solve_factored

_GIVEN, _CHANGED = calls.STEP.arguments, calls.STEP.results
_RUNNING = float(status.Status.RUNNING)


@njit
def _put(w: Any, place: int, vector: Any) -> int:
    for k in range(len(vector)):
        w[place + k] = vector[k]
    return place + len(vector)


@njit
def _crossing_values(data: Any, points: Any, count: int, out: Any) -> None:
    """Functions in which crossings are looked for, at points (t, x, xdot)."""
    program, constants, parameters, held, signs, slack = data
    outputs, w = parts(program)[0], room(program, constants, count)
    for column in range(count):
        point = points[column]
        w[column] = min(max(point[0], held[0]), held[1])
        for k in range(1, len(point)):
            w[k * count + column] = point[k]
        for k in range(len(parameters)):
            w[(len(point) + k) * count + column] = parameters[k]
    run(program, w, count)
    for column in range(count):
        for j in range(len(signs)):
            out[column, j] = signs[j] * w[np.int64(outputs[j]) * count + column] + slack[j]


_watch = make_watch(_crossing_values)


@njit
def _step(frame: Any) -> None:
    given, changed = _GIVEN, _CHANGED
    limits, atol, tightness = (
        argument(frame, given.limits), argument(frame, given.atol), argument(frame, given.tightness)
    )  # fmt: skip
    of_constraints, of_slopes = argument(frame, given.of_constraints), argument(frame, given.of_slopes)
    places, slope_atol = argument_words(frame, given.slope_places), argument(frame, given.slope_atol)
    d, x, slope = result(frame, changed.d), result(frame, changed.x), result(frame, changed.slope)
    weights, xdot, s = (
        result(frame, changed.weights), result(frame, changed.xdot), result(frame, changed.numbers)
    )  # fmt: skip
    table = result_matrix(frame, changed.table)
    n = len(x)
    lu, scale = argument_matrix(frame, given.lu), argument(frame, given.scale)
    rows = carray(pointer(argument_address(frame, given.rows)), n, np.int32)
    is_fd, program = argument(frame, given.is_fd), argument_words(frame, given.program)
    held, pause = argument(frame, given.held), argument(frame, given.pause)
    inputs = argument(frame, given.inputs)
    stages = argument_words(frame, given.stages)
    by_stages = len(stages) > 0
    if by_stages:
        w, begins = rooms(stages, argument(frame, given.stage_constants))
        place = 1 + 2 * n
        put_inputs(w, begins, place, argument(frame, given.parameters))
        put_inputs(w, begins, place + len(argument(frame, given.parameters)), inputs)
        outputs = parts(program)[0]
    else:
        outputs, w = parts(program)[0], room(program, argument(frame, given.constants), 1)
        begins = np.zeros(1, np.int64)
        _put(w, _put(w, 1 + 2 * n, argument(frame, given.parameters)), inputs)
    of_c = 1 + 2 * n + len(argument(frame, given.parameters)) + len(inputs)
    small = (
        argument(frame, given.stage_lu), argument(frame, given.stage_scale),
        argument_words(frame, given.stage_rows),
    )  # fmt: skip
    measures = limits, weights, tightness, places, slope_atol, of_constraints, of_slopes
    right, delta = np.empty(n), np.empty(n)
    sides, crossed = result(frame, changed.sides), result(frame, changed.crossed)
    xdot_before, stretches = result(frame, changed.xdot_before), argument(frame, given.stretches)
    watched = (
        argument_words(frame, given.watch_program), argument(frame, given.watch_constants),
        argument(frame, given.parameters), held, argument(frame, given.watch_signs),
        argument(frame, given.watch_slack),
    )  # fmt: skip
    while True:
        if s[AT.rounding_matters] != 0.0:
            weigh(table, atol, tightness, of_constraints, of_slopes, limits, weights, s)
        t_new = min(max(s[AT.t_new], held[0]), held[1])
        if by_stages:
            put_input(w, begins, 0, t_new)
            put_input(w, begins, of_c, s[AT.c])
            if not correct_by_stages(stages, w, begins, small, is_fd, measures, d, x, slope, s):
                return
        else:
            w[0] = t_new
        while s[AT.iterating] != 0.0:
            _put(w, _put(w, 1, x), slope)
            run(program, w, 1)
            for k in range(n):
                off = w[outputs[k]]
                right[k] = -s[AT.c] * off if is_fd[k] != 0.0 else -off
            solve_factored(lu, scale, rows, right, delta)
            iterate(
                delta, limits, weights, tightness, places, slope_atol, of_constraints, of_slopes, d, x,
                slope, s,
            )  # fmt: skip
        if len(sides):
            _put(xdot_before, 0, xdot)
        before = s[AT.t]
        finish(d, limits, atol, tightness, table, weights, x, slope, xdot, s)
        if len(sides):
            _watch(watched, table, xdot, xdot_before, sides, crossed, s, before, stretches[0], stretches[1])
        if s[AT.needed] != 0.0 or s[AT.restart] != 0.0 or s[AT.status] != _RUNNING:
            return
        # Inputs are known at one time only.
        if len(inputs) or s[AT.reached] >= pause[0] or s[AT.attempts] >= pause[1]:
            return


def _handlers(fingerprint: int) -> dict[str, Any]:
    """What XLA calls. The fingerprint of the other files is part of each function for numba's cache."""

    @cfunc(HANDLER, cache=True)
    def step_handler(frame_pointer: Any) -> int:
        frame = carray(frame_pointer, FRAME_WORDS)
        if not asked_for_version(frame) and fingerprint != 0:
            _step(frame)
        return 0

    return {calls.STEP.target: step_handler}


_OTHERS = (
    xla_calls, structures, calls, kernels, numbers_of_state, controller, coefficients, rounding, status,
    plan_kernels, native, operations, stage_kernels, crossing_kernels, crossings, extrema,
)  # fmt: skip
"""Whose functions or constants become part of what is compiled."""

HANDLERS = _handlers(xla_calls.source_of(__file__, *(str(module.__file__) for module in _OTHERS)))

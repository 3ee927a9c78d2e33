"""The passes of `native_kernels` as functions that XLA calls: which argument is what.

numba keeps what it compiles of this file; the fingerprint of the other files is part of each function, so
that a change there is noticed.
"""

from __future__ import annotations

from typing import Any

from numba import carray, cfunc

from . import coefficients, decisions, foreign, native_kernels, native_layout, rounding, status
from .foreign import (
    FRAME_WORDS,
    HANDLER,
    argument,
    argument_words,
    asked_for_version,
    result,
    result_matrix,
)
from .native_kernels import begin, finish, iterate, weigh


def _handlers(source: int) -> dict[str, Any]:
    """What XLA calls. The fingerprint of the other files is part of each function for numba's cache."""

    @cfunc(HANDLER, cache=True)
    def begin_handler(frame_pointer: Any) -> int:
        """table, atol, tightness, numbers, limits -> x, slope, weights, numbers"""
        frame = carray(frame_pointer, FRAME_WORDS)
        if not asked_for_version(frame) and source != 0:
            before, s = argument(frame, 3), result(frame, 3)
            for i in range(len(s)):  # an assignment of slices takes seconds to compile
                s[i] = before[i]
            begin(
                foreign.argument_matrix(frame, 0), argument(frame, 1), argument(frame, 2), s,
                argument(frame, 4), result(frame, 0), result(frame, 1), result(frame, 2),
            )  # fmt: skip
        return 0

    @cfunc(HANDLER, cache=True)
    def weigh_handler(frame_pointer: Any) -> int:
        """table, atol, tightness, rounding of constraints, of slopes, limits, weights, numbers
        -> the last two"""
        frame = carray(frame_pointer, FRAME_WORDS)
        if not asked_for_version(frame) and source != 0:
            weigh(
                foreign.argument_matrix(frame, 0), argument(frame, 1), argument(frame, 2),
                argument(frame, 3), argument(frame, 4), argument(frame, 5), result(frame, 0),
                result(frame, 1),
            )  # fmt: skip
        return 0

    @cfunc(HANDLER, cache=True)
    def iterate_handler(frame_pointer: Any) -> int:
        """delta, limits, weights, tightness, places of slopes, their atol, rounding of constraints, of
        slopes, d, x, slope, numbers -> the last four"""
        frame = carray(frame_pointer, FRAME_WORDS)
        if not asked_for_version(frame) and source != 0:
            iterate(
                argument(frame, 0), argument(frame, 1), argument(frame, 2), argument(frame, 3),
                argument_words(frame, 4), argument(frame, 5), argument(frame, 6), argument(frame, 7),
                result(frame, 0), result(frame, 1), result(frame, 2), result(frame, 3),
            )  # fmt: skip
        return 0

    @cfunc(HANDLER, cache=True)
    def finish_handler(frame_pointer: Any) -> int:
        """d, limits, atol, tightness, table, weights, x, slope, xdot, numbers -> the last six"""
        frame = carray(frame_pointer, FRAME_WORDS)
        if not asked_for_version(frame) and source != 0:
            finish(
                argument(frame, 0), argument(frame, 1), argument(frame, 2), argument(frame, 3),
                result_matrix(frame, 0), result(frame, 1), result(frame, 2), result(frame, 3),
                result(frame, 4), result(frame, 5),
            )  # fmt: skip
        return 0

    return {
        "modia_py_begin": begin_handler,
        "modia_py_weigh": weigh_handler,
        "modia_py_iterate": iterate_handler,
        "modia_py_finish": finish_handler,
    }


_OTHERS = (foreign, native_kernels, native_layout, decisions, coefficients, rounding, status)
"""Whose functions or constants become part of what is compiled."""

HANDLERS = _handlers(foreign.source_of(__file__, *(str(module.__file__) for module in _OTHERS)))

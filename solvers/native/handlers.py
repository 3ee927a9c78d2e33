"""The passes of `kernels` as functions that XLA calls, with arrays found by the names of `calls`.

numba keeps what it compiles of this file; the fingerprint of the other files is part of each function, so
that a change there is noticed.
"""

from __future__ import annotations

from typing import Any

from numba import carray, cfunc

from .. import status
from ..method import coefficients, controller, numbers, rounding
from ..xla import calls as xla_calls
from ..xla import structures
from ..xla.calls import (
    HANDLER,
    argument,
    argument_matrix,
    argument_words,
    asked_for_version,
    result,
    result_matrix,
)
from ..xla.structures import FRAME_WORDS
from . import calls, kernels
from .kernels import finish, iterate, predict, weigh

# Places of arrays by name: numba wants them as constants.
_PREDICT, _PREDICT_RESULTS = calls.PREDICT.arguments, calls.PREDICT.results
_WEIGH, _WEIGH_RESULTS = calls.WEIGH.arguments, calls.WEIGH.results
_ITERATE, _ITERATE_RESULTS = calls.ITERATE.arguments, calls.ITERATE.results
_FINISH, _FINISH_RESULTS = calls.FINISH.arguments, calls.FINISH.results


def _handlers(source: int) -> dict[str, Any]:
    """What XLA calls. The fingerprint of the other files is part of each function for numba's cache."""

    @cfunc(HANDLER, cache=True)
    def predict_handler(frame_pointer: Any) -> int:
        frame, given, changed = carray(frame_pointer, FRAME_WORDS), _PREDICT, _PREDICT_RESULTS
        if not asked_for_version(frame) and source != 0:
            predict(
                argument_matrix(frame, given.table), argument(frame, given.atol),
                argument(frame, given.tightness), result(frame, changed.numbers),
                argument(frame, given.limits), result(frame, changed.x), result(frame, changed.slope),
                result(frame, changed.weights),
            )  # fmt: skip
        return 0

    @cfunc(HANDLER, cache=True)
    def weigh_handler(frame_pointer: Any) -> int:
        frame, given, changed = carray(frame_pointer, FRAME_WORDS), _WEIGH, _WEIGH_RESULTS
        if not asked_for_version(frame) and source != 0:
            weigh(
                argument_matrix(frame, given.table), argument(frame, given.atol),
                argument(frame, given.tightness), argument(frame, given.of_constraints),
                argument(frame, given.of_slopes), argument(frame, given.limits),
                result(frame, changed.weights), result(frame, changed.numbers),
            )  # fmt: skip
        return 0

    @cfunc(HANDLER, cache=True)
    def iterate_handler(frame_pointer: Any) -> int:
        frame, given, changed = carray(frame_pointer, FRAME_WORDS), _ITERATE, _ITERATE_RESULTS
        if not asked_for_version(frame) and source != 0:
            iterate(
                argument(frame, given.delta), argument(frame, given.limits), argument(frame, given.weights),
                argument(frame, given.tightness), argument_words(frame, given.slope_places),
                argument(frame, given.slope_atol), argument(frame, given.of_constraints),
                argument(frame, given.of_slopes), result(frame, changed.d), result(frame, changed.x),
                result(frame, changed.slope), result(frame, changed.numbers),
            )  # fmt: skip
        return 0

    @cfunc(HANDLER, cache=True)
    def finish_handler(frame_pointer: Any) -> int:
        frame, given, changed = carray(frame_pointer, FRAME_WORDS), _FINISH, _FINISH_RESULTS
        if not asked_for_version(frame) and source != 0:
            finish(
                argument(frame, given.d), argument(frame, given.limits), argument(frame, given.atol),
                argument(frame, given.tightness), result_matrix(frame, changed.table),
                result(frame, changed.weights), result(frame, changed.x), result(frame, changed.slope),
                result(frame, changed.xdot), result(frame, changed.numbers),
            )  # fmt: skip
        return 0

    return {
        calls.PREDICT.target: predict_handler,
        calls.WEIGH.target: weigh_handler,
        calls.ITERATE.target: iterate_handler,
        calls.FINISH.target: finish_handler,
    }


_OTHERS = (xla_calls, structures, calls, kernels, numbers, controller, coefficients, rounding, status)
"""Whose functions or constants become part of what is compiled."""

HANDLERS = _handlers(xla_calls.source_of(__file__, *(str(module.__file__) for module in _OTHERS)))

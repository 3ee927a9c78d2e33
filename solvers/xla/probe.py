"""A foreign function that says how it was called: whether XLA's structures are those that are relied on.

A version alone does not say it. Before any other native function is used, XLA calls this one with known
arrays; it writes down the sizes of the structures it was given, and works on the arrays in the way all
others do. Structures that XLA hands over as part of another one have to have the very size that is known
here, or all that comes behind them is elsewhere; those at the end of a pointer may have grown.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from numba import carray, cfunc

from . import calls, structures
from .call import call
from .calls import HANDLER, argument_matrix, argument_words, asked_for_version, result_matrix, words
from .structures import (
    API,
    ARGUMENTS_WORDS,
    BUFFER,
    FLOAT64,
    FRAME,
    FRAME_WORDS,
    INT64,
    RESULTS_WORDS,
    WORD,
    Call,
    places,
)

PROBE = Call("modia_py_probe", given=("matrix", "integers"), changed=("total", "seen"))

MATRIX = np.array([[0.5, -2.0, 3.0], [1e300, 7.0, -0.125]])
INTEGERS = np.array([2, 3, 5, 7, -(2**40)], np.int64)

_GIVEN, _RESULTS = PROBE.arguments, PROBE.results
_AT_LEAST = ("frame", "functions")
EXPECTED = {
    "frame": FRAME_WORDS * WORD,
    "arguments": ARGUMENTS_WORDS * WORD,
    "results": RESULTS_WORDS * WORD,
    "functions": len(API) * WORD,
    "argument": len(BUFFER) * WORD,
    "result": len(BUFFER) * WORD,
    "argument_count": len(PROBE.given) + len(PROBE.changed),
    "result_count": len(PROBE.changed),
    "type_of_floats": FLOAT64,
    "type_of_integers": INT64,
    "axes_of_matrix": MATRIX.ndim,
    "axes_of_vector": INTEGERS.ndim,
    "sum_of_integers": int(INTEGERS.sum()),
}
"""Sizes in bytes of XLA's structures, and what else was to be seen."""
SEEN = places("Seen", *EXPECTED)

_FRAME_SIZE, _ARGUMENTS_SIZE = EXPECTED["frame"], EXPECTED["arguments"]
_RESULTS_SIZE, _HALF = EXPECTED["results"], 0xFFFFFFFF


def _handler(source: int) -> Any:
    """What XLA calls. The fingerprint of the other files is part of it for numba's cache."""

    @cfunc(HANDLER, cache=True)
    def probe_handler(frame_pointer: Any) -> int:
        frame = carray(frame_pointer, FRAME_WORDS)
        if asked_for_version(frame) or source == 0:
            return 0
        # Where these are wrong, nobody knows where the results are.
        if frame[FRAME.size] < _FRAME_SIZE or frame[FRAME.arguments_size] != _ARGUMENTS_SIZE:
            return 0
        if frame[FRAME.results_size] != _RESULTS_SIZE:
            return 0
        given, results = words(frame[FRAME.arguments], 2), words(frame[FRAME.results], 2)
        floats, integers = words(given[_GIVEN.matrix], 6), words(given[_GIVEN.integers], 6)
        total, seen = words(results[_RESULTS.total], 6), words(results[_RESULTS.seen], 6)
        found = words(seen[BUFFER.data], len(SEEN))
        found[SEEN.frame] = frame[FRAME.size]
        found[SEEN.arguments] = frame[FRAME.arguments_size]
        found[SEEN.results] = frame[FRAME.results_size]
        found[SEEN.functions] = words(frame[FRAME.api], 1)[API.size]
        found[SEEN.argument] = floats[BUFFER.size]
        found[SEEN.result] = total[BUFFER.size]
        found[SEEN.argument_count] = frame[FRAME.argument_count]
        found[SEEN.result_count] = frame[FRAME.result_count]
        found[SEEN.type_of_floats] = floats[BUFFER.dtype] & _HALF
        found[SEEN.type_of_integers] = integers[BUFFER.dtype] & _HALF
        found[SEEN.axes_of_matrix] = floats[BUFFER.rank]
        found[SEEN.axes_of_vector] = integers[BUFFER.rank]
        if floats[BUFFER.rank] != 2 or total[BUFFER.rank] != 2 or integers[BUFFER.rank] != 1:
            return 0
        found[SEEN.sum_of_integers] = argument_words(frame, _GIVEN.integers).sum()
        rows, sums = argument_matrix(frame, _GIVEN.matrix), result_matrix(frame, _RESULTS.total)
        for i in range(rows.shape[0]):
            for j in range(rows.shape[1]):
                sums[i, j] += rows[i, j]
        return 0

    return probe_handler


HANDLERS = {PROBE.target: _handler(calls.source_of(__file__, calls.__file__, structures.__file__))}


def what_is_wrong() -> str:
    """What XLA's structures have that they should not; empty if all is well. XLA has to know the
    handler."""
    found = jax.jit(lambda **arrays: call(PROBE, **arrays))(
        matrix=MATRIX, integers=INTEGERS, total=MATRIX[::-1].copy(), seen=np.zeros(len(SEEN), np.int64),
    )  # fmt: skip
    seen = dict(zip(EXPECTED, np.asarray(found["seen"]).tolist(), strict=True))
    for name, expected in EXPECTED.items():
        if not (seen[name] >= expected if name in _AT_LEAST else seen[name] == expected):
            return f"the {name.replace('_', ' ')} XLA calls with has {seen[name]} and not {expected}"
    if not np.array_equal(found["total"], MATRIX + MATRIX[::-1]):
        return "numbers are not where they should be"
    return ""

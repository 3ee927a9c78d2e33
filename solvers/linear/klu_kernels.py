"""KLU for calls from several threads at once: what stands between XLA and the functions of klujax.

A solve by KLU works in memory that belongs to the factors, so that two of them at the same time overwrite
each other; and XLA runs independent calls of one program on several threads. Each call here holds the lock
of its factors while klujax is at work.

A pivot that is exactly zero would end the whole program. Here it leaves factors that nobody can use: every
solve with them gives NaN, as does one with factors that are there no more, and the loop asks for new
pivots.

Functions of klujax and of Python's locks are called by their addresses, which come with the arguments: what
numba keeps on disk is for all processes. klujax is given the same frame, with the number of arguments and
results that it expects; what is for us comes behind them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, njit, types
from numba.extending import intrinsic

from .. import xla_calls
from ..xla_calls import (
    FRAME_WORDS,
    HANDLER,
    argument_address,
    asked_for_version,
    pointer,
    result,
    result_address,
    words,
)

LAYOUT = 7
LOCK, ACQUIRE, RELEASE, FACTORS, REFACTOR, SOLVE, SOLVE_TRANSPOSED = range(LAYOUT)
"""Words of the layout: addresses of the lock and of the functions that take and free it; of two words about
the factors; of the functions of klujax."""

NUMBER, USABLE, FACTORS_WORDS = 0, 1, 2
"""Words about the factors: how many factorizations there were, and whether the last one has succeeded."""

_API, _ARGUMENT_COUNT, _RESULT_COUNT = 2, 7, 12
_DESTROY_ERROR, _DESTRUCTION = 8, 3
"""Word of XLA's functions that frees an error; words of what it is called with."""
_WORD = np.dtype(np.int64).itemsize
_WAIT = 1


def _called(typing_context: Any, address: Any, what: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, what, number = arguments
        word, byte_pointer = ir.IntType(64), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(word, [byte_pointer, ir.IntType(32)])
        function = builder.inttoptr(address, kind.as_pointer())
        return builder.call(function, [what, builder.trunc(number, ir.IntType(32))])

    return types.int64(types.int64, types.voidptr, types.int64), generate


call: Any = intrinsic(_called)
"""call(address, pointer, number): what the C function there returns, as a word. Functions of a pointer
alone do not see the number."""


def _address(typing_context: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from numba.core import cgutils

        data = cgutils.create_struct_proxy(array)(context, builder, arguments[0]).data
        return builder.ptrtoint(data, ir.IntType(64))

    return types.int64(array), generate


address_of: Any = intrinsic(_address)


@njit
def _call_klujax(frame: Any, handler: int, arguments: int, results: int) -> int:
    """The error, or zero. The frame belongs to this call alone."""
    ours = frame[_ARGUMENT_COUNT], frame[_RESULT_COUNT]
    frame[_ARGUMENT_COUNT], frame[_RESULT_COUNT] = arguments, results
    error = call(handler, pointer(address_of(frame)), 0)
    frame[_ARGUMENT_COUNT], frame[_RESULT_COUNT] = ours
    return error


@njit
def _free(frame: Any, error: int) -> None:
    destruction = np.zeros(_DESTRUCTION, np.int64)
    destruction[0], destruction[_DESTRUCTION - 1] = _DESTRUCTION * _WORD, error
    call(words(frame[_API], _DESTROY_ERROR + 1)[_DESTROY_ERROR], pointer(address_of(destruction)), 0)


@njit
def _refactor(frame: Any) -> None:
    """Arguments: rows, columns, values, symbolic analysis, handle; layout. Results: handle; number."""
    layout = words(argument_address(frame, 5), LAYOUT)
    factors = words(layout[FACTORS], FACTORS_WORDS)
    call(layout[ACQUIRE], pointer(layout[LOCK]), _WAIT)
    error = _call_klujax(frame, layout[REFACTOR], 5, 1)
    factors[NUMBER] += 1
    factors[USABLE] = error == 0
    call(layout[RELEASE], pointer(layout[LOCK]), 0)
    if error != 0:
        _free(frame, error)
        words(result_address(frame, 0), 1)[0] = words(argument_address(frame, 4), 1)[0]
    words(result_address(frame, 1), 1)[0] = factors[NUMBER]


@njit
def _solve(frame: Any, target: int) -> int:
    """Arguments: symbolic analysis, handle, right-hand side; number, layout. Result: the solution."""
    layout = words(argument_address(frame, 4), LAYOUT)
    factors, x = words(layout[FACTORS], FACTORS_WORDS), result(frame, 0)
    if factors[USABLE] == 0 or factors[NUMBER] != words(argument_address(frame, 3), 1)[0]:
        for i in range(len(x)):
            x[i] = np.nan
        return 0
    call(layout[ACQUIRE], pointer(layout[LOCK]), _WAIT)
    error = _call_klujax(frame, layout[target], 3, 1)
    call(layout[RELEASE], pointer(layout[LOCK]), 0)
    return error


def _handlers(source: int) -> dict[str, Any]:
    """What XLA calls. The fingerprint of the other file is part of each function for numba's cache."""

    @cfunc(HANDLER, cache=True)
    def factor_handler(frame_pointer: Any) -> int:
        frame = carray(frame_pointer, FRAME_WORDS)
        if not asked_for_version(frame) and source != 0:
            _refactor(frame)
        return 0

    @cfunc(HANDLER, cache=True)
    def solve_handler(frame_pointer: Any) -> int:
        frame = carray(frame_pointer, FRAME_WORDS)
        if asked_for_version(frame) or source == 0:
            return 0
        return _solve(frame, SOLVE)

    @cfunc(HANDLER, cache=True)
    def solve_transposed_handler(frame_pointer: Any) -> int:
        frame = carray(frame_pointer, FRAME_WORDS)
        if asked_for_version(frame) or source == 0:
            return 0
        return _solve(frame, SOLVE_TRANSPOSED)

    return {
        "modia_py_klu_factor": factor_handler,
        "modia_py_klu_solve": solve_handler,
        "modia_py_klu_solve_transposed": solve_transposed_handler,
    }


HANDLERS = _handlers(xla_calls.source_of(__file__, xla_calls.__file__))

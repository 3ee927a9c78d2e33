"""KLU for calls from several threads at once: what stands between XLA and the functions of klujax.

A solve by KLU works in memory that belongs to the factors, so that two of them at the same time overwrite
each other; and XLA runs independent calls of one program on several threads. Each call here holds the lock
of its factors while klujax is at work.

A pivot that is exactly zero would end the whole program. Here it leaves factors that nobody can use: every
solve with them gives NaN, as does one with factors that are there no more, and the loop asks for new
pivots.

Functions of klujax and of Python's locks are called by their addresses, which come with the arguments: what
numba keeps on disk is for all processes. klujax is given the same frame, with the number of arguments and
results that it expects (`klu_calls`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, njit, types
from numba.extending import intrinsic

from ..xla import calls, structures
from ..xla.calls import (
    HANDLER,
    argument_address,
    asked_for_version,
    pointer,
    result,
    result_address,
    words,
)
from ..xla.structures import API, ERROR_DESTRUCTION, FRAME, FRAME_WORDS, WORD
from . import klu_calls
from .klu_calls import FACTOR, FACTORS, KLUJAX_FACTOR, KLUJAX_SOLVE, LAYOUT, SOLVE, SOLVE_TRANSPOSED

# Places of arrays by name: numba wants them as constants.
_TO_FACTOR, _FACTORED = FACTOR.arguments, FACTOR.results
_TO_SOLVE, _SOLVED = SOLVE.arguments, SOLVE.results
_WORDS, _FACTORS_WORDS = len(LAYOUT), len(FACTORS)
_WAIT = 1


def _called(typing_context: Any, address: Any, argument: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, argument, number = arguments
        word, byte_pointer = ir.IntType(64), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(word, [byte_pointer, ir.IntType(32)])
        function = builder.inttoptr(address, kind.as_pointer())
        return builder.call(function, [argument, builder.trunc(number, ir.IntType(32))])

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
def _call_klujax(frame: Any, handler: int, counts: tuple[int, int]) -> int:
    """The error, or zero. The frame belongs to this call alone."""
    ours = frame[FRAME.argument_count], frame[FRAME.result_count]
    frame[FRAME.argument_count], frame[FRAME.result_count] = counts
    error = call(handler, pointer(address_of(frame)), 0)
    frame[FRAME.argument_count], frame[FRAME.result_count] = ours
    return error


@njit
def _free(frame: Any, error: int) -> None:
    destruction = np.zeros(len(ERROR_DESTRUCTION), np.int64)
    destruction[ERROR_DESTRUCTION.size] = len(ERROR_DESTRUCTION) * WORD
    destruction[ERROR_DESTRUCTION.error] = error
    call(words(frame[FRAME.api], len(API))[API.destroy_error], pointer(address_of(destruction)), 0)


@njit
def _refactor(frame: Any) -> None:
    layout = words(argument_address(frame, _TO_FACTOR.layout), _WORDS)
    factors = words(layout[LAYOUT.factors], _FACTORS_WORDS)
    call(layout[LAYOUT.acquire], pointer(layout[LAYOUT.lock]), _WAIT)
    error = _call_klujax(frame, layout[LAYOUT.refactor], KLUJAX_FACTOR)
    factors[FACTORS.number] += 1
    factors[FACTORS.usable] = error == 0
    call(layout[LAYOUT.release], pointer(layout[LAYOUT.lock]), 0)
    if error != 0:
        _free(frame, error)
        old_handle = words(argument_address(frame, _TO_FACTOR.handle), 1)[0]
        words(result_address(frame, _FACTORED.new_handle), 1)[0] = old_handle
    words(result_address(frame, _FACTORED.new_number), 1)[0] = factors[FACTORS.number]


@njit
def _solve(frame: Any, target: int) -> int:
    layout = words(argument_address(frame, _TO_SOLVE.layout), _WORDS)
    factors, x = words(layout[LAYOUT.factors], _FACTORS_WORDS), result(frame, _SOLVED.x)
    number = words(argument_address(frame, _TO_SOLVE.number), 1)[0]
    if factors[FACTORS.usable] == 0 or factors[FACTORS.number] != number:
        for i in range(len(x)):
            x[i] = np.nan
        return 0
    call(layout[LAYOUT.acquire], pointer(layout[LAYOUT.lock]), _WAIT)
    error = _call_klujax(frame, layout[target], KLUJAX_SOLVE)
    call(layout[LAYOUT.release], pointer(layout[LAYOUT.lock]), 0)
    return error


def _handlers(source: int) -> dict[str, Any]:
    """What XLA calls. The fingerprint of the other files is part of each function for numba's cache."""

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
        return _solve(frame, LAYOUT.solve)

    @cfunc(HANDLER, cache=True)
    def solve_transposed_handler(frame_pointer: Any) -> int:
        frame = carray(frame_pointer, FRAME_WORDS)
        if asked_for_version(frame) or source == 0:
            return 0
        return _solve(frame, LAYOUT.solve_transposed)

    return {
        FACTOR.target: factor_handler,
        SOLVE.target: solve_handler,
        SOLVE_TRANSPOSED.target: solve_transposed_handler,
    }


_OTHERS = (calls, structures, klu_calls)
HANDLERS = _handlers(calls.source_of(__file__, *(str(module.__file__) for module in _OTHERS)))

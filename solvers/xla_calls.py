"""Functions compiled by numba that XLA calls inside of compiled loops.

XLA calls a foreign function with one pointer, to a frame of 64-bit words (`xla/ffi/api/c_api.h`, version
0.x): pointers to the descriptions of arguments and results, whose words are, from the fourth on, the
address of the data, the number of axes and the address of their lengths.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from llvmlite import ir
from numba import carray, njit, types
from numba.extending import intrinsic

FRAME_WORDS = 15
HANDLER = types.int64(types.CPointer(types.int64))
"""What XLA calls: a function of the frame, which returns zero."""

# Words of the frame, and of what it points to.
_EXTENSION, _API, _ARGUMENTS, _RESULTS = 1, 2, 9, 14
_METADATA, _METADATA_VERSION, _API_VERSION = 3, 3, 4
_DATA, _LENGTHS = 3, 5


def _typed_pointer(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), generate


pointer: Any = intrinsic(_typed_pointer)
"""The pointer to an address."""


@njit
def words(address: int, count: int) -> Any:
    return carray(pointer(address), count, np.int64)


@njit
def numbers(address: int, count: int) -> Any:
    return carray(pointer(address), count, np.float64)


@njit
def matrix(address: int, rows: int, columns: int) -> Any:
    return carray(pointer(address), (rows, columns), np.float64)


@njit
def _described(list_address: int, index: int) -> Any:
    return words(words(list_address, index + 1)[index], _LENGTHS + 1)


@njit
def argument_address(frame: Any, index: int) -> int:
    """Where the data of an argument are."""
    return _described(frame[_ARGUMENTS], index)[_DATA]


@njit
def result_address(frame: Any, index: int) -> int:
    """Where the data of a result are to be written."""
    return _described(frame[_RESULTS], index)[_DATA]


@njit
def _vector(described: Any) -> Any:
    return numbers(described[_DATA], words(described[_LENGTHS], 1)[0])


@njit
def _matrix(described: Any) -> Any:
    lengths = words(described[_LENGTHS], 2)
    return matrix(described[_DATA], lengths[0], lengths[1])


@njit
def argument(frame: Any, index: int) -> Any:
    """A vector of numbers that is given."""
    return _vector(_described(frame[_ARGUMENTS], index))


@njit
def argument_words(frame: Any, index: int) -> Any:
    """A vector of integers that is given."""
    described = _described(frame[_ARGUMENTS], index)
    return words(described[_DATA], words(described[_LENGTHS], 1)[0])


@njit
def argument_matrix(frame: Any, index: int) -> Any:
    return _matrix(_described(frame[_ARGUMENTS], index))


@njit
def result(frame: Any, index: int) -> Any:
    """A vector of numbers to be written."""
    return _vector(_described(frame[_RESULTS], index))


@njit
def result_matrix(frame: Any, index: int) -> Any:
    return _matrix(_described(frame[_RESULTS], index))


@njit
def asked_for_version(frame: Any) -> bool:
    """XLA asks once for the version of its interface that is spoken here: its own, as long as it is 0.x."""
    if frame[_EXTENSION] == 0:
        return False
    metadata = words(words(frame[_EXTENSION], _METADATA + 1)[_METADATA], _METADATA_VERSION + 1)
    version = words(frame[_API], _API_VERSION + 1)[_API_VERSION]
    if version & 0xFFFFFFFF == 0:
        metadata[_METADATA_VERSION] = version
    return True


def source_of(*files: str) -> int:
    """A fingerprint of source files. What numba keeps on disk is told from other versions by the file a
    function is in; where it calls functions of other files, their fingerprint has to be part of it."""
    text = b"".join(Path(file).read_bytes() for file in files)
    return 1 + int.from_bytes(hashlib.sha256(text).digest()[:6])


def register(handlers: Mapping[str, Any]) -> str:
    """Make XLA know functions by name. Why it does not take them; empty if it does."""
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype = ctypes.py_object
    capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    try:
        for name, handler in handlers.items():
            jax.ffi.register_ffi_target(name, capsule(handler.address, None, None), platform="cpu")
    except RuntimeError as error:
        return f"XLA has another interface for foreign functions ({error})"
    return ""

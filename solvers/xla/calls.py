"""How functions compiled by numba find what XLA calls them with.

XLA calls a foreign function with one pointer, to a frame of 64-bit words, which leads to descriptions of
arguments and results (`structures`).
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, njit, types
from numba.extending import intrinsic

from .structures import API, BUFFER, FRAME, METADATA, METADATA_EXTENSION

HANDLER = types.int64(types.CPointer(types.int64))
"""What XLA calls: a function of the frame, which returns zero."""


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
    return words(words(list_address, index + 1)[index], len(BUFFER))


@njit
def argument_address(frame: Any, index: int) -> int:
    """Where the data of an argument are."""
    return _described(frame[FRAME.arguments], index)[BUFFER.data]


@njit
def result_address(frame: Any, index: int) -> int:
    """Where the data of a result are to be written."""
    return _described(frame[FRAME.results], index)[BUFFER.data]


@njit
def _vector(described: Any) -> Any:
    return numbers(described[BUFFER.data], words(described[BUFFER.lengths], 1)[0])


@njit
def _matrix(described: Any) -> Any:
    lengths = words(described[BUFFER.lengths], 2)
    return matrix(described[BUFFER.data], lengths[0], lengths[1])


@njit
def argument(frame: Any, index: int) -> Any:
    """A vector of numbers that is given."""
    return _vector(_described(frame[FRAME.arguments], index))


@njit
def argument_words(frame: Any, index: int) -> Any:
    """A vector of integers that is given."""
    described = _described(frame[FRAME.arguments], index)
    return words(described[BUFFER.data], words(described[BUFFER.lengths], 1)[0])


@njit
def argument_matrix(frame: Any, index: int) -> Any:
    return _matrix(_described(frame[FRAME.arguments], index))


@njit
def result(frame: Any, index: int) -> Any:
    """A vector of numbers to be written."""
    return _vector(_described(frame[FRAME.results], index))


@njit
def result_matrix(frame: Any, index: int) -> Any:
    return _matrix(_described(frame[FRAME.results], index))


@njit
def asked_for_version(frame: Any) -> bool:
    """XLA asks once for the version of its interface that is spoken here: its own, as long as it is 0.x."""
    if frame[FRAME.extension] == 0:
        return False
    extension = words(frame[FRAME.extension], len(METADATA_EXTENSION))
    metadata = words(extension[METADATA_EXTENSION.metadata], len(METADATA))
    version = words(frame[FRAME.api], len(API))[API.version]
    if version & 0xFFFFFFFF == 0:
        metadata[METADATA.version] = version
    return True


def source_of(*files: str) -> int:
    """A fingerprint of source files. What numba keeps on disk is told from other versions by the file a
    function is in; where it calls functions of other files, their fingerprint has to be part of it. So has
    the name of the package: what was compiled under another one cannot be loaded under this one."""
    text = b"".join([__name__.encode(), *(Path(file).read_bytes() for file in files)])
    return 1 + int.from_bytes(hashlib.sha256(text).digest()[:6])

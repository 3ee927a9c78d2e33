"""Checksums behind a file of HDF5: any byte that has changed since it was written is found.

A seal is appended to the file, where HDF5 never looks: a table of checksums, and a footer by which it is
found. Values of a variable that lie in one piece have a checksum of their own, so that large variables
need be read, and are checked, only when they are asked for. Everything else in the file, its *frame*, has
one together: names, shapes, attributes, and the library's own structures. It is checked before HDF5 is
given the file, because the library follows whatever addresses it finds in there.

    content of HDF5 | table in JSON | length of the content and of the table, checksum of the seal | MARK
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

MARK = b"modia_py checked"
LENGTHS = struct.Struct(">QQ")
BYTES = 16  # of a checksum
FOOTER = LENGTHS.size + BYTES + len(MARK)
BLOCK = 2**20  # bytes that are read at a time
NOT_SAVED = "the values of {} are not those that were saved"


class DamagedFile(Exception):
    """The bytes are not those that were written; the text says which."""


@dataclass(frozen=True)
class Seal:
    """What a file must contain."""

    size: int  # of the content
    frame: str  # checksum of all that is not part of a variable below
    variables: dict[str, tuple[int, int, str]]  # where the values begin, their bytes and their checksum

    def check_values(self, name: str, values: np.ndarray) -> None:
        """Values that were read are those that were written, or DamagedFile."""
        if name in self.variables and checksum_of(values) != self.variables[name][2]:
            raise DamagedFile(NOT_SAVED.format(name))


def seal(path: Path) -> None:
    """Append checksums to a complete file of HDF5."""
    ranges = _ranges(path)
    size = path.stat().st_size
    with path.open("rb") as file:
        variables = {
            name: (start, length, _checksum(_read(file, start, start + length)))
            for name, (start, length) in ranges.items()
        }
        frame = _frame_checksum(file, size, variables)
    table = json.dumps({"frame": frame, "variables": variables}).encode()
    lengths = LENGTHS.pack(size, len(table))
    with path.open("ab") as file:
        file.write(table + lengths + _digest(table + lengths) + MARK)


def checked_seal(path: Path, values_up_to: int = 0) -> Seal | None:
    """The seal of a file whose frame is as it was written; None if it has none. DamagedFile otherwise.

    In files of up to so many bytes, values are looked at as well.
    """
    with path.open("rb") as file:
        found = _read_seal(file, path.stat().st_size)
        if found is None:
            return None
        if _frame_checksum(file, found.size, found.variables) != found.frame:
            raise DamagedFile("names, shapes or attributes are not those that were saved")
        for name, (start, length, sum) in found.variables.items() if found.size <= values_up_to else ():
            if _checksum(_read(file, start, start + length)) != sum:
                raise DamagedFile(NOT_SAVED.format(name))
    return found


def checksum_of(values: np.ndarray) -> str:
    return _checksum([np.ascontiguousarray(values).reshape(-1).view(np.uint8).data])


def _ranges(path: Path) -> dict[str, tuple[int, int]]:
    """Where values lie in one piece as they are: first byte and number of bytes, by name."""
    import h5py

    found = {}
    with h5py.File(path, "r") as file:
        for name, entry in file.items():
            whole = isinstance(entry, h5py.Dataset) and entry.chunks is None and entry.dtype.kind in "fiu"
            if whole and entry.nbytes and entry.id.get_offset() is not None:
                found[name] = (int(entry.id.get_offset()), int(entry.nbytes))
    return found


def _read_seal(file: BinaryIO, size: int) -> Seal | None:
    if size < FOOTER:
        return None
    file.seek(size - FOOTER)
    footer = file.read(FOOTER)
    if not footer.endswith(MARK):
        return None
    lengths, digest = footer[: LENGTHS.size], footer[LENGTHS.size : -len(MARK)]
    content, length = LENGTHS.unpack(lengths)
    if content + length + FOOTER != size:
        raise DamagedFile("it is not as long as it was when it was saved")
    file.seek(content)
    table = file.read(length)
    if _digest(table + lengths) != digest:
        raise DamagedFile("its table of checksums is not the one that was saved")
    entries: dict[str, Any] = json.loads(table)
    variables = {name: (start, count, sum) for name, (start, count, sum) in entries["variables"].items()}
    return Seal(content, entries["frame"], variables)


def _frame_checksum(file: BinaryIO, size: int, variables: dict[str, tuple[int, int, str]]) -> str:
    def blocks() -> Iterator[bytes]:
        position = 0
        for start, length, _ in sorted(variables.values()):
            yield from _read(file, position, start)
            position = start + length
        yield from _read(file, position, size)

    return _checksum(blocks())


def _read(file: BinaryIO, start: int, stop: int) -> Iterator[bytes]:
    file.seek(start)
    while start < stop and (block := file.read(min(BLOCK, stop - start))):
        start += len(block)
        yield block


def _checksum(blocks: Any) -> str:
    found = hashlib.blake2b(digest_size=BYTES)
    for block in blocks:
        found.update(block)
    return found.hexdigest()


def _digest(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=BYTES).digest()

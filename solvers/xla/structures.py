"""What XLA calls foreign functions with: its structures, as names of their 64-bit words.

From `xla/ffi/api/c_api.h`, version 0.x. Every structure begins with its own size in bytes, so that what is
relied on here can be compared with what XLA has (`probe`).
"""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from functools import cached_property
from typing import Any

WORD = 8


def places(name: str, *fields: str) -> Any:
    """The place of each word, by name."""
    return namedtuple(name, fields)(*range(len(fields)))


FRAME = places(
    "Frame",
    "size", "extension", "api", "context", "stage",
    "arguments_size", "arguments_extension", "argument_count", "argument_types", "arguments",
    "results_size", "results_extension", "result_count", "result_types", "results",
)  # fmt: skip
"""A call: the list of arguments and that of results are part of it. What comes behind is not looked at."""
FRAME_WORDS = len(FRAME)
ARGUMENTS_WORDS = FRAME.arguments - FRAME.arguments_size + 1
RESULTS_WORDS = FRAME.results - FRAME.results_size + 1

BUFFER = places("Buffer", "size", "extension", "dtype", "data", "rank", "lengths")
"""An argument or a result. The type of its numbers takes half of a word."""
FLOAT64, INT64 = 12, 5
"""Types of numbers."""

API = places(
    "Api",
    "size", "extension", "version_size", "version_extension", "version", "internal",
    "create_error", "error_message", "destroy_error",
)  # fmt: skip
"""Functions of XLA."""

METADATA_EXTENSION = places("MetadataExtension", "size", "kind", "next", "metadata")
METADATA = places("Metadata", "size", "version_size", "version_extension", "version")
"""What XLA asks for when it is told of a function."""

ERROR_DESTRUCTION = places("ErrorDestruction", "size", "extension", "error")
"""What `destroy_error` is called with."""


@dataclass(frozen=True)
class Call:
    """A foreign function: the names of arrays that it reads, that it changes in place, and that it makes.

    Both sides of the border use them: `call.call` puts arrays in this order, and native code finds them by
    the same names.
    """

    target: str
    given: tuple[str, ...]
    changed: tuple[str, ...] = ()
    made: tuple[str, ...] = ()

    @cached_property
    def arguments(self) -> Any:
        """Places of the arrays that are given, by name."""
        return places("Arguments", *self.given)

    @cached_property
    def results(self) -> Any:
        """Places of the arrays that are changed or made, by name."""
        return places("Results", *self.changed, *self.made)

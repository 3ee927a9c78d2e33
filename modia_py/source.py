"""Where in the user's text something was written."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType


@dataclass(frozen=True)
class Source:
    """A file and a line of the user's, and the label that was given to what stands there."""

    file: str
    line: int
    label: str = ""

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}" if self.line else self.file


UNKNOWN_SOURCE = Source("<unknown>", 0)
_words: ContextVar[str | None] = ContextVar("words", default=None)


LIBRARIES = frozenset({"modia_py", "numpy", "jax", "jaxlib", "scipy"})
STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep


def _is_library(frame: FrameType) -> bool:
    """Whether a frame is in what a user calls, and has not written."""
    module = frame.f_globals.get("__name__", "")
    # The component libraries in modia_py.models are model text like a user's own.
    if module == "modia_py.models" or module.startswith("modia_py.models."):
        return False
    if module.partition(".")[0] in LIBRARIES:
        return True
    file = frame.f_code.co_filename
    return file.startswith(STANDARD_LIBRARY) and "-packages" not in file


def source_of(error: BaseException) -> Source:
    """The innermost line of the user's on the way to an error."""
    found, trace = UNKNOWN_SOURCE, error.__traceback__
    while trace is not None:
        if not _is_library(trace.tb_frame):
            found = Source(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
    return found if found is not UNKNOWN_SOURCE else user_source()


@contextmanager
def written_at(words: str) -> Iterator[None]:
    """What is said inside was written as these words, on a command line, and in no file."""
    before = _words.set(words)
    try:
        yield
    finally:
        _words.reset(before)


def user_source() -> Source:
    """The innermost line on the call stack that is not in a library."""
    words = _words.get()
    if words is not None:
        return Source(words, 0)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not _is_library(frame):
            return Source(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return UNKNOWN_SOURCE


def user_level() -> int:
    """How far up the line of the user's is from who calls this: the `stacklevel` of a warning."""
    frame, level = sys._getframe(1), 1
    while _is_library(frame) and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    return level

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


def _is_ours(module: str) -> bool:
    # The component libraries in modia_py.models are model text like a user's own.
    if module == "modia_py.models" or module.startswith("modia_py.models."):
        return False
    return module.partition(".")[0] in ("modia_py", "numpy")


def source_of(error: BaseException) -> Source:
    """The innermost line of the user's on the way to an error."""
    found, trace = UNKNOWN_SOURCE, error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if not _is_ours(module) and module.partition(".")[0] not in ("jax", "jaxlib"):
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
    """The innermost line on the call stack that is neither modia_py's nor numpy's."""
    words = _words.get()
    if words is not None:
        return Source(words, 0)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not _is_ours(frame.f_globals.get("__name__", "")):
            return Source(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return UNKNOWN_SOURCE

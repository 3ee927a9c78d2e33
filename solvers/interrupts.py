"""Interrupts (Ctrl-C) that are never lost, and never leave something half made.

Python raises KeyboardInterrupt wherever the main thread happens to be. That may be in a function called
from C++, whose exceptions XLA turns into errors of its own; in a finalizer or a hook of the garbage
collector, whose exceptions are printed and forgotten; or in JAX while it imports or registers parts of
itself, which it cannot do a second time. So an interrupt is written down when it comes, and raised at the
first moment at which the main thread is in none of these places, at the end of the context at the
latest. The loop over chunks asks for it as well.

Who presses the keys again, a while later, is obeyed at once, wherever that may be.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from types import FrameType, TracebackType
from typing import Any, Self

NOT_INSIDE = frozenset(
    "jax jaxlib numba llvmlite asdex klujax importlib _frozen_importlib _frozen_importlib_external".split()
)
"""Packages that an exception could leave half made, or that lose it."""
NOT_DURING = frozenset({"__enter__", "__exit__", "__del__"})
LOOK_AGAIN = 0.01
"""Seconds between two looks at where the main thread is."""
IMPATIENT = 2.0
"""Seconds after which a second interrupt does not wait."""


class Interrupts:
    """A context in which interrupts are raised where they do no harm, and which ends with one that is left.

    In a context inside of another one, everything is the outer one's. Only the main thread is interrupted;
    in others, and where SIGINT is not handled by Python at all, nothing happens here.
    """

    def __init__(self) -> None:
        self._outer: Interrupts | None = None
        self._former: Any = None  # the handler
        self._handler = self._handle  # one object: it must be known again
        self._profile: Any = None
        self._entered: FrameType | None = None
        self._came = self._looked = 0.0
        self._pending = self._watching = False

    @property
    def pending(self) -> bool:
        """Whether there was one."""
        return self._pending if self._outer is None else self._outer.pending

    def check(self) -> None:
        """KeyboardInterrupt if there was one."""
        if self.pending:
            raise KeyboardInterrupt

    def taken(self) -> None:
        """It was dealt with here. An outer context will deal with it, too."""
        if self._outer is None:
            self._look_no_more()
            self._pending = False

    def __enter__(self) -> Self:
        if threading.current_thread() is not threading.main_thread():
            return self
        former = signal.getsignal(signal.SIGINT)
        if isinstance(outer := getattr(former, "__self__", None), Interrupts):
            self._outer = outer
        elif callable(former):
            self._former, self._entered = former, sys._getframe(1)
            signal.signal(signal.SIGINT, self._handler)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._look_no_more()
        if self._former is not None and signal.getsignal(signal.SIGINT) == self._handler:
            signal.signal(signal.SIGINT, self._former)
        self._entered = None
        if self._pending and not isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt from error

    def _handle(self, number: int, frame: FrameType | None) -> None:
        try:
            self._former(number, frame)  # which decides whether this is an interrupt
        except KeyboardInterrupt:
            now = time.monotonic()
            again = self._pending and now - self._came > IMPATIENT
            if not self._pending:
                self._pending, self._came = True, now
            if again or self._is_harmless(frame):
                self._look_no_more()
                raise
            self._look()

    def _look(self) -> None:
        """Be called by everything that the main thread calls from now on."""
        if not self._watching:
            self._watching, self._looked, self._profile = True, 0.0, sys.getprofile()
            sys.setprofile(self._called)

    def _look_no_more(self) -> None:
        if self._watching:
            self._watching = False
            sys.setprofile(self._profile)

    def _called(self, frame: FrameType, event: str, _: Any) -> None:
        now = time.monotonic()
        if now - self._looked < LOOK_AGAIN:
            return
        if self._is_harmless(frame):
            self._look_no_more()
            raise KeyboardInterrupt
        self._looked = time.monotonic()

    def _is_harmless(self, frame: FrameType | None) -> bool:
        while frame is not None and frame is not self._entered:
            package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
            if package in NOT_INSIDE or frame.f_code.co_name in NOT_DURING:
                return False
            frame = frame.f_back
        return True

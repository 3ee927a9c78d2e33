"""How often and how long XLA compiles; and a sentence for who has to wait for it."""

from __future__ import annotations

import sys
import threading
import time as clock
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import jax.monitoring

STAGES = "/jax/core/compile/"
LOWERING = STAGES + "jaxpr_to_mlir_module_duration"
"""When this has been done, XLA begins,"""
COMPILATION = STAGES + "backend_compile_duration"
"""and this is when it ends."""
PATIENCE = 2.0
"""Seconds of compiling after which a user is told."""


@dataclass
class CompileTimes:
    """What was compiled while looking on: number of programs, seconds of that, and seconds in all."""

    programs: int = 0
    compiling: float = 0.0
    total: float = 0.0

    @property
    def other(self) -> float:
        """Seconds that were not spent on compiling."""
        return max(0.0, self.total - self.compiling)


class SlowCompilation:
    """Says once what is being compiled, when that takes longer than a user waits without a word."""

    def __init__(self, name: str, unknowns: int, patience: float = PATIENCE):
        self._text = (
            f"{name}: XLA is compiling programs for {unknowns} unknowns. This is done once; later runs "
            f"find them again."
        )
        self._left = patience
        self._timer: threading.Timer | None = None

    def begins(self) -> None:
        self.ends(0.0)
        if self._left < float("inf"):
            self._timer = threading.Timer(max(0.0, self._left), self._tell)
            self._timer.daemon = True  # nobody waits for it at the end of the process
            self._timer.start()

    def ends(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._left -= seconds

    def _tell(self) -> None:
        self._left = float("inf")
        print(self._text, file=sys.stderr, flush=True)


@contextmanager
def watch_compilation(slow: SlowCompilation | None = None) -> Iterator[CompileTimes]:
    """Count compilations inside a `with`; tracing belongs to them."""
    seen = CompileTimes()

    def listen(event: str, duration_secs: float, **_: str | int) -> None:
        if event.startswith(STAGES):
            seen.compiling += duration_secs
            seen.programs += event == COMPILATION
        if slow is not None and event == LOWERING:
            slow.begins()
        elif slow is not None and event == COMPILATION:
            slow.ends(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(listen)
    began = clock.perf_counter()
    try:
        yield seen
    finally:
        seen.total = clock.perf_counter() - began
        jax.monitoring.unregister_event_duration_listener(listen)
        if slow is not None:
            slow.ends(0.0)

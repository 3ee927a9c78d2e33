"""How often and how long XLA compiles."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import jax.monitoring

COMPILATION = "/jax/core/compile/backend_compile_duration"
STAGES = "/jax/core/compile/"


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


@contextmanager
def watch_compilation() -> Iterator[CompileTimes]:
    """Count compilations inside a `with`; tracing belongs to them."""
    seen = CompileTimes()

    def listen(event: str, duration_secs: float, **_: str | int) -> None:
        if event.startswith(STAGES):
            seen.compiling += duration_secs
            seen.programs += event == COMPILATION

    jax.monitoring.register_event_duration_secs_listener(listen)
    began = clock.perf_counter()
    try:
        yield seen
    finally:
        seen.total = clock.perf_counter() - began
        jax.monitoring.unregister_event_duration_listener(listen)

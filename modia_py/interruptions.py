"""What stops a computation from outside: an interrupt, and a process in which JAX cannot compute."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from .errors import ForkedProcessError, SimulationInterrupted
from .solvers.forks import ForkedProcess, check_not_forked
from .solvers.interrupts import Interrupts


class Interruptible(Interrupts):
    """A context in which an interrupt, wherever it comes, ends as SimulationInterrupted.

    `result` is what it hands on: the result so far.
    """

    def __init__(self, doing: str, result: Any = None):
        super().__init__()
        self.doing, self.result = doing, result

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The context is a cycle of references: what it holds would live until Python's collector comes.
        result, self.result = self.result, None
        try:
            super().__exit__(kind, error, trace)
        except KeyboardInterrupt as interrupt:
            error = interrupt
        if isinstance(error, KeyboardInterrupt) and not isinstance(error, SimulationInterrupted):
            raise SimulationInterrupted(f"{self.doing} was interrupted.", result) from error


def check_process() -> None:
    """An error at once in a forked process, where a computation would never end."""
    try:
        check_not_forked()
    except ForkedProcess as reason:
        raise ForkedProcessError(str(reason)) from None

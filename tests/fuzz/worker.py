"""A process that runs batches: it may crash or hang without ending the campaign."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from .judge import Outcome, Verdict
from .parts import Part

RUNS = 25
"""Batches of one process; compiled programs stay in its memory."""


def serve(connection: Connection) -> None:
    """The loop of the process: parts in, verdicts out."""
    from .run import run_parts

    while True:
        parts = connection.recv()
        if parts is None:
            return
        connection.send(run_parts(parts))


class Worker:
    """A process that is started when needed, and again after a crash or a hang."""

    def __init__(self) -> None:
        self.process: Any = None
        self.connection: Any = None
        self.runs = 0

    def run(self, parts: Sequence[Part], seconds: float) -> list[Verdict]:
        """A verdict for each part; the same for all if the process did not come to an end."""
        if self.process is None or self.runs >= RUNS:
            self._start()
        self.runs += 1
        try:
            self.connection.send(list(parts))
            if self.connection.poll(seconds):
                return self.connection.recv()
            verdict = Verdict(Outcome.HANG, f"no result after {seconds:.0f} s", float("inf"))
        except (EOFError, OSError):
            self.process.join(5)
            verdict = Verdict(
                Outcome.CRASH, f"the process ended with code {self.process.exitcode}", float("inf")
            )
        self.stop()
        return [verdict] * len(parts)

    def _start(self) -> None:
        self.stop()
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.runs = 0

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.connection.close()
        self.process = None

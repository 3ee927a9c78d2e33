"""Who runs what: batches go to workers, what fails is taken apart until the culprit stands alone."""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .generate import VARIANTS, generate
from .judge import Outcome, Verdict
from .parts import Part, batch_source, single_source
from .shrink import shrink_company, shrink_part, signature
from .worker import Worker

SHARES = {
    "manufactured": 0.4,
    "algebra": 0.17,
    "circuit": 0.17,
    "hybrid": 0.13,
    "ending": 0.05,
    "wrong": 0.08,
}
"""Of all models."""
STRUCTURES = 4
"""Different structures of one batch, each in VARIANTS."""
ALONE = ("ending", "wrong")
"""Kinds that end a batch by their nature."""
SECONDS_ALONE = 180.0
SECONDS_BATCH = 900.0
SHRUNK = 2
"""Failures with one signature that are shrunk; the others are only counted."""


@dataclass(frozen=True)
class Label:
    kind: str
    seed: int
    number: int

    def __str__(self) -> str:
        return f"{self.kind} {self.seed}/{self.number}"

    def part(self) -> Part:
        return generate(self.kind, self.seed, self.number)


@dataclass(frozen=True)
class Failure:
    labels: tuple[Label, ...]  # more than one if they fail only together
    verdict: Verdict
    source: str


@dataclass
class Campaign:
    """Counts and failures, filled by threads that drive one worker each."""

    report: Callable[[str], None] = print
    outcomes: Counter = field(default_factory=Counter)
    largest: dict[str, float] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    alone: int = 0
    seconds: float = 0.0
    _signatures: Counter = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, jobs: Sequence[Sequence[Label]], processes: int, minutes: float) -> None:
        start = time.monotonic()
        waiting: queue.SimpleQueue = queue.SimpleQueue()
        for job in jobs:
            waiting.put(job)

        def drive() -> None:
            worker = Worker()
            try:
                while time.monotonic() - start < 60 * minutes:
                    try:
                        labels = waiting.get_nowait()
                    except queue.Empty:
                        return
                    self._batch(worker, list(labels))
            finally:
                worker.stop()

        threads = [threading.Thread(target=drive) for _ in range(processes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.seconds = time.monotonic() - start
        if not waiting.empty():
            self.report(f"out of time with {waiting.qsize()} batches left")

    def _batch(self, worker: Worker, labels: list[Label]) -> None:
        """Run a batch; where it fails as a whole, its halves; where a part fails in it, that part alone."""
        parts = [label.part() for label in labels]
        verdicts = worker.run(parts, SECONDS_ALONE if len(parts) == 1 else SECONDS_BATCH)
        if len(parts) == 1:
            self._settle(worker, labels[0], parts[0], verdicts[0])
            return
        as_a_whole = all(verdict.bad and verdict.outcome != Outcome.SILENT for verdict in verdicts)
        if as_a_whole:
            before = len(self.failures)
            middle = len(labels) // 2
            self._batch(worker, labels[:middle])
            self._batch(worker, labels[middle:])
            if len(self.failures) == before and not self._signatures[signature(verdicts[0])]:
                self._company(worker, labels, parts, verdicts[0])
            return
        for label, part, verdict in zip(labels, parts, verdicts, strict=True):
            if not verdict.bad:
                self._count(label, verdict)
                continue
            again = worker.run([part], SECONDS_ALONE)[0]
            if again.bad:
                self._settle(worker, label, part, again)
            else:
                self._count(label, verdict)
                self._company(worker, labels, parts, verdict)

    def _count(self, label: Label, verdict: Verdict) -> None:
        with self._lock:
            self.outcomes[label.kind, verdict.outcome] += 1
            if verdict.outcome == Outcome.RIGHT:
                self.largest[label.kind] = max(self.largest.get(label.kind, 0.0), verdict.error)
            done = sum(self.outcomes.values())
        if done % 100 == 0:
            self.report(f"{done} models, {len(self.failures)} failures")

    def _settle(self, worker: Worker, label: Label, part: Part, verdict: Verdict) -> None:
        """The outcome of a part that ran alone."""
        self._count(label, verdict)
        with self._lock:
            self.alone += 1
        if not verdict.bad:
            return
        known = self._seen(verdict)
        if known < SHRUNK:
            self.report(f"{label}: {verdict.outcome}; shrinking")
            part, verdict = shrink_part(part, verdict, lambda parts: worker.run(parts, SECONDS_ALONE))
            self._fail(Failure((label,), verdict, single_source(part)))
        else:
            self.report(f"{label}: {verdict.outcome}, as before: {signature(verdict)}")

    def _company(self, worker: Worker, labels: list[Label], parts: list[Part], verdict: Verdict) -> None:
        """Parts that are right alone, and not together."""
        if self._seen(Verdict(verdict.outcome, "together: " + verdict.text, float("inf"))) < SHRUNK:
            kept = shrink_company(parts, lambda some: worker.run(some, SECONDS_BATCH), tries=20)
            names = tuple(label for label, part in zip(labels, parts, strict=True) if part in kept)
            self._fail(Failure(names, verdict, batch_source(kept)))

    def _seen(self, verdict: Verdict) -> int:
        with self._lock:
            self._signatures[signature(verdict)] += 1
            return self._signatures[signature(verdict)] - 1

    def _fail(self, failure: Failure) -> None:
        with self._lock:
            self.failures.append(failure)
        names = ", ".join(str(label) for label in failure.labels)
        self.report(
            f"\n=== {failure.verdict.outcome}: {names}\n{failure.verdict.text}\n\n{failure.source}\n==="
        )

    @property
    def bad(self) -> int:
        return sum(count for (_, outcome), count in self.outcomes.items() if Verdict(outcome).bad)


def plan(kinds: Sequence[str], models: int, seed: int, alone: float, first: int = 0) -> list[list[Label]]:
    """Batches of each kind, and a share of structures alone.

    Kinds take turns, so that a campaign that is cut short has seen all of them.
    """
    shares = {kind: SHARES[kind] for kind in kinds}
    queues: list[list[list[Label]]] = []
    for kind, share in shares.items():
        count = max(1, round(models * share / sum(shares.values())))
        labels = [Label(kind, seed, number) for number in range(first, first + count)]
        size = 1 if kind in ALONE else STRUCTURES * VARIANTS[kind]
        batches = [labels[k : k + size] for k in range(0, count, size)]
        if kind not in ALONE:
            # The first variant of some structures by itself: a batch takes the steps of its fastest part.
            every = max(1, round(1 / alone)) if alone > 0 else count + 1
            single = labels[:: VARIANTS[kind]][::every]
            chosen = set(single)
            batches = [[label for label in batch if label not in chosen] for batch in batches]
            batches = [batch for batch in batches if batch] + [[label] for label in single]
        queues.append(batches)
    order = [
        (position / len(batches), index, batch)
        for index, batches in enumerate(queues)
        for position, batch in enumerate(batches)
    ]
    return [batch for _, _, batch in sorted(order, key=lambda entry: entry[:2])]

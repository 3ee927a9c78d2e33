"""The smallest model that still fails in the same way."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from .judge import Verdict
from .parts import Part

Run = Callable[[Sequence[Part]], list[Verdict]]


def signature(verdict: Verdict) -> str:
    """What two failures of one cause have in common: outcome, exception, and its sentence without names
    and numbers."""
    first = verdict.text.split("\n", 1)[0] if verdict.error == float("inf") else ""
    sentence = re.sub(r"`[^`]*`|[-+\d.e]*\d[-+\d.e]*|\b\w*\[\S*|\w+\.\w[\w.]*", "_", first)
    return f"{verdict.outcome}: {sentence[:80]}"


def shrink_part(part: Part, verdict: Verdict, run: Run, tries: int = 60) -> tuple[Part, Verdict]:
    """Leave out what can be left out, until nothing can."""
    smaller = True
    while smaller:
        smaller = False
        for candidate in part.reductions():
            if tries <= 0:
                return part, verdict
            tries -= 1
            found = run([candidate])[0]
            if found.outcome == verdict.outcome:
                part, verdict, smaller = candidate, found, True
                break
    return part, verdict


def shrink_company(parts: Sequence[Part], run: Run, tries: int = 60) -> list[Part]:
    """Parts that fail together, though each is right alone: as few of them as possible."""
    kept = list(parts)
    size = len(kept) // 2
    while size >= 1 and tries > 0:
        for start in range(0, len(kept), size):
            fewer = kept[:start] + kept[start + size :]
            tries -= 1
            if len(fewer) > 1 and any(verdict.bad for verdict in run(fewer)):
                kept = fewer
                break
        else:
            size //= 2
    return kept

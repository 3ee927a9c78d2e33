"""The stretches of a run: where it stops and starts anew, and what it may assume in between.

A run is cut into stretches at the breaks of its inputs and of the parts of equations that are functions of
time. Within a stretch these are smooth. A stretch ends at the last time at which what holds before the
break holds, and the next one starts at the first time at which it does not: output at either time is what
the equations say there. The integrator sees times a little inside of a stretch only, so that rounding
cannot put it on the wrong side.

If a jump is of order 0 (the function itself), 1 (a kink), and so on, and equations contain derivatives of
functions of time up to order K, then breaks up to order K change the equations abruptly: impulse equations
say what follows. Breaks of order K + 1 are kinks of the equations: x goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .breaks import guard_at, merged
from .signals import NO_LIMIT

MOST_KINKS = 100
"""With more kinks than this, steps no longer than the pieces between them are better than many new
starts."""
MOST_JUMPS = 5000
SHORT = 0.25
"""Pieces shorter than this, compared with half of the others, keep their stops in any case."""
SHORTEST = 8
"""Of a stretch, in units of the guard."""
SHORT_STEPS = 0.1
"""Of a busy time: a step that is longer might see nothing of it."""
TIMES_LISTED = 6


@dataclass(frozen=True)
class NamedBreak:
    """A break of a function of time: the times just before and after, the order of what jumps, its name."""

    before: float
    after: float
    order: int
    cause: str
    is_note: bool = False  # found by searching: the user does not know of it


@dataclass(frozen=True)
class Stretch:
    """A part of the run: from `start` to `end`, with equations evaluated from `first` to `last`."""

    start: float
    end: float
    first: float
    last: float
    longest_step: float
    starts_with: str = ""  # "jump", "kink", or nothing at the start of the run
    cause: str = ""


@dataclass(frozen=True)
class Plan:
    """The stretches of a run, and what a user should know of them."""

    stretches: tuple[Stretch, ...]
    notes: tuple[str, ...] = ()


def plan_run(
    start: float,
    stop: float,
    breaks: list[NamedBreak],
    highest: int,
    longest_step: float,
    busy: Sequence[tuple[float, float]] = (),
) -> Plan:
    """Cut the run at breaks. `highest` is the order K above; within `busy` times steps must be short."""
    matter = [s for s in breaks if s.order <= highest + 1 and s.after > start and s.before < stop]
    notes = _notes(matter, start + guard_at(start, stop))
    jumps = [s for s in matter if s.order <= highest]
    kinks = [s for s in matter if s.order > highest]
    for group, most, word in ((jumps, MOST_JUMPS, "jumps"), (kinks, MOST_KINKS, "kinks")):
        times = np.unique([s.before for s in group])
        if len(times) > most:
            needed, longest = _too_many(times, start, stop)
            longest_step = min(longest_step, longest)
            group[:] = [s for s in group if s.before in needed] if len(needed) <= most else []
            notes.append(
                f"{len(times)} {word} of inputs or functions of time: the integration does not stop at "
                f"each of them, but takes steps no longer than {longest:.3g}"
            )
    cuts = _cuts(start, stop, jumps, kinks, busy)
    return Plan(_stretches(start, stop, cuts, longest_step, busy), tuple(notes))


def _too_many(times: np.ndarray, start: float, stop: float) -> tuple[set[float], float]:
    """Breaks that stay because pieces beside them are short, and a step as short as the other pieces."""
    lengths = np.diff(np.concatenate([[start], times, [stop]]))
    short = lengths < SHORT * np.median(lengths)
    needed = times[short[:-1] | short[1:]]
    return set(needed.tolist()), float(lengths[~short].min())


@dataclass(frozen=True)
class _Cut:
    before: float
    after: float
    starts_with: str
    cause: str


def _cuts(
    start: float,
    stop: float,
    jumps: list[NamedBreak],
    kinks: list[NamedBreak],
    busy: Sequence[tuple[float, float]],
) -> list[_Cut]:
    """Where stretches end and start, in order; what is too near to be told apart is one."""
    every = [*jumps, *kinks]
    edges = [t for pair in busy for t in pair if start < t < stop]
    every += [NamedBreak(t, float(np.nextafter(t, np.inf)), 99, "") for t in edges]
    guard = guard_at(start, stop)
    before, after = merged(
        np.array([s.before for s in every]), np.array([s.after for s in every]), SHORTEST * guard
    )
    names: dict[int, list[NamedBreak]] = {}
    is_jump = {id(s) for s in jumps}
    for s in every:
        names.setdefault(int(np.searchsorted(before, s.before, side="right")) - 1, []).append(s)
    cuts = []
    for k, (low, high) in enumerate(zip(before.tolist(), after.tolist(), strict=True)):
        word = "jump" if any(id(s) in is_jump for s in names[k]) else "kink"
        if low <= start + guard:  # the first time of all has equations of its own
            low = start
        if high >= stop - guard:
            low, high = float(np.nextafter(stop, -np.inf)), stop
        cause = ", ".join(dict.fromkeys(f"{s.cause} {_verb(s.order)}" for s in names[k] if s.cause))
        cuts.append(_Cut(max(low, start), high, word, cause))
    return cuts


def _stretches(
    start: float, stop: float, cuts: list[_Cut], longest_step: float, busy: Sequence[tuple[float, float]]
) -> tuple[Stretch, ...]:
    guard = guard_at(start, stop)
    stretches = []
    here, first, word, cause = start, start, "", ""
    for cut in [*cuts, None]:
        end = stop if cut is None else cut.before
        last = stop if cut is None else max(min(first, cut.before), cut.before - guard)
        middle = 0.5 * (here + end)
        limits = [SHORT_STEPS * (b - a) for a, b in busy if a <= middle <= b]
        longest = min([longest_step, *limits])
        stretches.append(Stretch(here, end, first, max(first, last), longest, word, cause))
        if cut is not None:
            here = float(np.nextafter(cut.before, np.inf))
            first, word, cause = min(cut.after + guard, stop), cut.starts_with, cut.cause
    return tuple(stretches)


def _notes(breaks: list[NamedBreak], start: float) -> list[str]:
    """What was found, for each function that breaks."""
    found: dict[tuple[str, int], list[float]] = {}
    for s in breaks:
        if s.is_note:
            found.setdefault((s.cause, s.order), []).append(s.before if s.before <= start else s.after)
    texts = []
    for (cause, order), times in found.items():
        written = list(dict.fromkeys(f"{t:.9g}" for t in sorted(times)))
        listed, rest = ", ".join(written[:TIMES_LISTED]), len(written) - TIMES_LISTED
        more = f" and {rest} more until {written[-1]}" if rest > 0 else ""
        texts.append(f"{cause} {_verb(order)} at time {listed}{more}")
    return texts


def _verb(order: int) -> str:
    return ("jumps", "has a kink")[order] if order < 2 else f"has a jump in its derivative of order {order}"


def whole(start: float, stop: float, longest_step: float) -> Plan:
    """A run without stops."""
    return Plan((Stretch(start, stop, -NO_LIMIT, NO_LIMIT, longest_step),))

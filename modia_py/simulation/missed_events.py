"""Whether an event was missed: at the output, every relation is on the side that its discrete value says.

The equations hold in the mode that the discrete values describe; that it is the right mode is another
question. A relation that is on the wrong side, by more than tolerances and interpolation explain, was
crossed without being noticed: a state went and returned between two places where the integrator has looked,
or a ball has fallen through the floor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..expressions.lanes import lanes
from ..program.program import Program
from ..solvers.compile_options import quick_jit
from .outputs import Span, filled

TOLERANCES = 100.0
"""A relation may be wrong by so many tolerances,"""
PART = 1e-4
"""and by this part of the largest value of its function at the output."""
ASIDE = 1e-7
"""A relation that is right so much earlier or later, compared with the time, jumps there: on which side
of the jump x lies is a matter of rounding."""
MOST_NUMBERS = 1e6
"""Values of relations in one call."""


@dataclass(frozen=True)
class MissedEvent:
    """A relation that is on the wrong side: when, and by how much."""

    time: float
    relation: int
    wrong: float

    def text(self, program: Program) -> str:
        assert program.events is not None
        relations = program.events.functions.relations
        path = relations.path(self.relation)
        return (
            f"An event was missed before time {self.time:.6g}: the relation\n    "
            f"{relations.text(self.relation)}{f' of {path}' if path else ''}  "
            f"({relations.source(self.relation)})\nhas changed there, by {self.wrong:.3g}, without being "
            f"noticed. What was computed since then is wrong. A smaller `rtol`, or a smaller step at this "
            f"time, may help; where events come faster and faster, model what holds afterwards."
        )


def missed_event(program: Program, spans: list[Span]) -> MissedEvent | None:
    """The first one, if there is any."""
    events = program.events
    if events is None or not len(events.functions.relations):
        return None
    spans = [span for span in spans if len(span.t)]
    found = [_wrong(program, span) for span in spans]
    if not found:
        return None
    t = np.concatenate([span.t for span in spans])
    wrong, tolerance = (np.concatenate([part[k] for part in found]) for k in (0, 1))
    allowed = TOLERANCES * tolerance + PART * np.max(np.abs(wrong), axis=0)
    is_wrong = ~(wrong <= allowed)
    for side in (-ASIDE, ASIDE) if is_wrong.any() else ():
        aside = np.concatenate([_wrong(program, span, side)[0] for span in spans])
        is_wrong &= ~(aside <= allowed)
    rows, relations = np.nonzero(is_wrong)
    if not len(rows):
        return None
    return MissedEvent(float(t[rows[0]]), int(relations[0]), float(wrong[rows[0], relations[0]]))


def _wrong(program: Program, span: Span, aside: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """By how much relations are wrong, and their tolerances; so much earlier or later, compared with the
    time."""
    events = program.events
    assert events is not None
    if program.cache.wrong_relations is None:

        def one(t: Any, x: Any, xdot: Any, d: Any, arguments: Any) -> Any:
            return jnp.stack(events.wrong_by(t, x, xdot, program.with_discretes(arguments, d)))

        at_all_times = lanes(one, (0, 0, 0, 0, None), program.problem.one_by_one)
        program.cache.wrong_relations = quick_jit(at_all_times, program.functions.size)
    count = len(events.functions.relations)
    most = max(1, int(MOST_NUMBERS // count))
    rows = min(most, 1 << max(0, len(span.t) - 1).bit_length())
    parts, later = [], aside * np.maximum(1.0, np.abs(span.t))
    seen, x = span.seen + later, span.x + later[:, None] * span.xdot
    for start in range(0, len(span.t), rows):
        chosen = slice(start, start + rows)
        vectors = (seen, x, span.xdot, span.discretes)
        given = (filled(part[chosen], rows) for part in vectors)
        parts.append(
            np.asarray(program.cache.wrong_relations(*given, span.arguments))[: len(span.t[chosen])]
        )
    both = np.concatenate(parts)
    return both[:, 0], both[:, 1]

"""Jumps where a variable has some value, which are no events: what is differentiated, and what is not seen.

The derivative says nothing of the jump. Where the function stands alone, an impulse is left out; where it
is multiplied by something that is zero there, as in sign(v)*v**2, nothing is. Nobody can tell, so it is
noted.
"""

from __future__ import annotations

import numpy as np

from ..arrays.distinct import distinct
from ..arrays.structure import NONE, Integers
from ..arrays.transform import Transformation
from ..expressions.abrupt_parts import jumps_with_variables
from ..expressions.expression import Call
from ..expressions.primitives import named
from ..expressions.printing import clip_text
from .model_structure import ModelStructure

LISTED = 3
WHERE = named("where")


def times_differentiated(transformed: Transformation) -> Integers:
    """How often each equation of the simplified structure was differentiated."""
    final = transformed.structure
    times = np.zeros(len(transformed.simplified.equations), np.int64)
    at = np.arange(len(times))
    while (moving := (at != NONE) & (final.equation_derivative[at] != NONE)).any():
        times += moving
        at = np.where(moving, final.equation_derivative[at], NONE)
    return times


def jump_notes(structure: ModelStructure, transformed: Transformation) -> tuple[str, ...]:
    """A sentence about the first such equations."""
    found = []
    chosen = transformed.simplified.equations[times_differentiated(transformed) > 0]
    for number in distinct(structure.equation_of[chosen]).tolist():
        flat = structure.flat.equations[number]
        for jump in jumps_with_variables([flat.equation.lhs, flat.equation.rhs])[:1]:
            found.append(f"`{clip_text(jump)}` in `{flat}` ({flat.equation.source})")
    if not found:
        return ()
    more = f" and {len(found) - LISTED} more" if len(found) > LISTED else ""
    return (
        f"differentiated, without the impulse if it jumps: {', '.join(found[:LISTED])}{more}. Write a ramp "
        f"in place of a jump",
    )


def unwatched_notes(structure: ModelStructure) -> tuple[str, ...]:
    """A sentence about choices between constants by the value of a variable that make no event.

    Nobody looks for the times at which they change: a pulse that begins and ends within one step is missed.
    """
    found: list[str] = []
    seen: set[int] = set()
    for flat in structure.flat.equations:
        equation = flat.equation
        if id(equation) in seen:
            continue
        seen.add(id(equation))
        for jump in jumps_with_variables([equation.lhs, equation.rhs]):
            if isinstance(jump, Call) and jump.primitive is WHERE:
                found.append(f"`{clip_text(jump)}` in `{clip_text(str(flat))}` ({equation.source})")
    if not found:
        return ()
    more = f" and {len(found) - LISTED} more" if len(found) > LISTED else ""
    return (
        f"np.where makes no event: {', '.join(found[:LISTED])}{more}. What it does between two steps is "
        f"not seen, such as a short pulse; with modia_py's where(condition, a, b) it is an event",
    )

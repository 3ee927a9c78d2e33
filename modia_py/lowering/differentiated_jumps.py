"""Differentiated equations in which a function jumps where a variable has some value.

The derivative says nothing of the jump. Where the function stands alone, an impulse is left out; where it
is multiplied by something that is zero there, as in sign(v)*v**2, nothing is. Nobody can tell, so it is
noted.
"""

from __future__ import annotations

import numpy as np

from ..arrays.structure import NONE, Integers
from ..arrays.transform import Transformation
from ..expressions.abrupt_parts import jumps_with_variables
from ..expressions.printing import clip_text
from .model_structure import ModelStructure

LISTED = 3


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
    for number in np.unique(structure.equation_of[chosen]).tolist():
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

"""Equations with a vector that was put together from parts: one equation for each part.

`r == np.stack([x, y])` says two things that have nothing to do with each other. Kept as one array equation
each element would count as depending on both parts, and the structure would be less precise than the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..expressions.equation import Equation
from ..expressions.expression import Call, Expr
from ..expressions.primitives import named

MOST_PARTS = 16  # more parts are a table, and stay one equation


def split_equation(equation: Equation) -> list[Equation]:
    """The equations of the parts, or the equation itself."""
    waiting, done = [equation], []
    while waiting:
        current = waiting.pop()
        parts = list(_parts(current))
        if parts:
            waiting.extend(reversed(parts))
        else:
            done.append(current)
    return done


def _parts(equation: Equation) -> Iterator[Equation]:
    for side, other in ((equation.lhs, equation.rhs), (equation.rhs, equation.lhs)):
        places = list(_places(side)) if side.shape == equation.shape else []
        if not places:
            continue
        for place, part in places:
            matching = other[place] if other.shape == equation.shape else other
            left, right = (part, matching) if side is equation.lhs else (matching, part)
            yield Equation(left, right, equation.source)
        return


def _places(side: Expr) -> Iterator[tuple[Any, Expr]]:
    """The parts of a concatenation along the first axis, and where they stand in it."""
    joins = (named("stack"), named("concatenate"))
    if not isinstance(side, Call) or side.primitive not in joins or not 1 < len(side.args) <= MOST_PARTS:
        return
    args, kwargs = side.signature.bind(side.args)
    axis = kwargs.get("axis", args[1] if len(args) > 1 else 0)
    if axis != 0 or not set(kwargs) <= {"axis"}:
        return
    start = 0
    for place, part in enumerate(side.args):
        assert isinstance(part, Expr)
        if side.primitive is named("stack"):
            yield place, part
        else:
            stop = start + part.shape[0]
            yield slice(start or None, stop if stop < side.shape[0] else None), part
            start = stop

"""Discrete equations: `b = condition` in which the condition contains `pre(b)`.

`when` acts where a condition becomes true. What follows a condition in both directions, such as a thyristor
that is off while `s < 0 or pre(off) and not fire`, is `follow(off, (s < 0) | pre(off) & ~fire)`.
"""

from __future__ import annotations

from typing import Any

from modia_py import assign, initial, pre, when


def follow(variable: Any, condition: Any) -> Any:
    """Keep a discrete truth value equal to a condition, at the start and in every event.

    Becoming true and becoming false are two conditions: after each change the one that made it is false
    again, so that a variable may change several times while an event settles.
    """
    rises, falls = condition & ~pre(variable), ~condition & pre(variable)
    return when([initial(), rises, falls], assign(variable, condition))

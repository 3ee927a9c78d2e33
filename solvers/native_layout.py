"""Where the numbers of a run are in the two short vectors that travel through the native loop.

`NUMBERS` change from attempt to attempt, `LIMITS` are those of a run. XLA handles every single number of a
loop with an operation of its own; in two vectors they cost nothing.
"""

from __future__ import annotations

from .coefficients import MAX_ORDER
from .decisions import Limits, Position, Work

_OF_A_NEW_MATRIX = ("matrix_c", "age", "rate", "usable", "finite_matrix", "iterating")
"""Beside each other, because they are set together."""

_OF_AN_ATTEMPT = (
    "t_new", "c", "needed",
    "iteration", "size", "size_of_d", "finite", "converged",
    "inevitable", "foreseen", "limited", "limited_element_now",
    "accepted", "restart",
)  # fmt: skip

_HISTOGRAM = tuple(f"steps_of_order_{order}" for order in range(MAX_ORDER + 1))

NUMBERS = (
    *(name for name in Position._fields if name not in _OF_A_NEW_MATRIX),
    *_OF_A_NEW_MATRIX,
    *_OF_AN_ATTEMPT,
    *Work._fields,
    "limited_by_rounding", "limited_element",
    *_HISTOGRAM,
)  # fmt: skip
"""Names in the order of the vector."""

LIMITS = (
    *Limits._fields,
    "rtol", "strictness", "smallest_rate", "is_large", "keeps_pivots",
    *(f"leading_{order}" for order in range(MAX_ORDER + 1)),
    *(f"error_constant_{order}" for order in range(MAX_ORDER + 1)),
)  # fmt: skip


def at(name: str) -> int:
    """Place of a number that changes."""
    return NUMBERS.index(name)


def limit_at(name: str) -> int:
    return LIMITS.index(name)

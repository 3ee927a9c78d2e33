"""The functions of events, as they stand in expressions until elaboration has given them their meaning.

What is true or constant between events becomes a discrete symbol there; until then these are nodes like any
other, with a shape, and print as they were typed.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from .primitives import Primitive


def _first(x: Any, *_: Any) -> Any:
    return x


def _truth(*arguments: Any) -> Any:
    """A truth value for each element of the arguments."""
    return jnp.zeros(jnp.broadcast_shapes(*(jnp.shape(argument) for argument in arguments)), bool)


EVENT_WHERE = Primitive("where", jnp.where, linear=frozenset({1, 2}), operands=3, elementwise=True)
PRE = Primitive("pre", _first, operands=1, elementwise=True)
EDGE = Primitive("edge", _truth, operands=1, elementwise=True)
CHANGE = Primitive("change", _truth, operands=1, elementwise=True)
SAMPLE = Primitive("sample", _truth, operands=2, elementwise=True)
INITIAL = Primitive("initial", _truth)
TERMINAL = Primitive("terminal", _truth)
CLOCK = Primitive("clock", _truth, operands=3, elementwise=True)
SAMPLED = Primitive("sampled", _first, operands=3)
HOLD = Primitive("hold", _first, operands=1, elementwise=True)
PREVIOUS = Primitive("previous", _first, operands=1, elementwise=True)

HOLDING = frozenset({PRE, EDGE, CHANGE, SAMPLE, INITIAL, TERMINAL, CLOCK, SAMPLED, HOLD, PREVIOUS})
"""Constant between events, whatever stands in them."""
EVENT_PRIMITIVES = HOLDING | {EVENT_WHERE}

RELATIONS = ("less", "less_equal", "greater", "greater_equal")

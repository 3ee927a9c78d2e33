"""The state of a run: what travels through the compiled loop, and between Python and it.

One form for every loop: a vector of numbers, read by name, and a few arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..status import Status
from .coefficients import DIFFERENCES
from .controller import UNKNOWN_RATE, Control
from .numbers import AT, COUNTS, FLAGS, HISTOGRAM, INTEGERS, NUMBERS, Numbers
from .rounding import Rounding

NO_WORK = np.zeros(len(NUMBERS))
"""The numbers before anything was counted."""


class State(NamedTuple):
    numbers: Any
    """A vector: see `numbers.NUMBERS`."""
    table: Any
    """Backward differences of x at the distance h of the next attempt (`coefficients`)."""
    xdot: Any
    factors: Any
    """Those of the matrix, in the form of the linear solver."""
    of_constraints: Any
    of_slopes: Any
    """By how much rounding moves each element of x (`rounding`)."""
    sides: Any
    """For each crossing function whether it is positive."""
    crossed: Any
    """Which of them have changed their side where the run has stopped."""
    xdot_before: Any
    """At the beginning of the last step. Empty where there are no crossings."""
    torn: Any = ()
    """The small matrices of inline integration (`inlined.matrices`)."""

    @property
    def x(self) -> jax.Array:
        return self.table[0]

    def number(self, name: str) -> jax.Array:
        """A number inside of a compiled function, of its own type."""
        value = self.numbers[getattr(AT, name)]
        if name in INTEGERS:
            return value.astype(jnp.int32)
        return value != 0 if name in FLAGS else value

    @property
    def control(self) -> Control:
        return Control(*(self.number(name) for name in Control._fields))

    @property
    def rounding(self) -> Rounding:
        matters = self.number("rounding_matters") != 0
        others = (self.number(f"rounding_{name}") for name in ("largest", "c", "rest"))
        return Rounding(self.of_constraints, self.of_slopes, matters, *others)

    def with_numbers(self, **changed: Any) -> State:
        """The same with some numbers changed, inside of a compiled function."""
        values = (changed.pop(name, self.numbers[k]) for k, name in enumerate(NUMBERS))
        numbers = jnp.stack([jnp.asarray(value, float) for value in values])
        assert not changed, changed
        return self._replace(numbers=numbers)

    def with_rounding(self, rounding: Rounding) -> State:
        """Its vectors; the numbers are set by `rounding_numbers`."""
        return self._replace(of_constraints=rounding.of_constraints, of_slopes=rounding.of_slopes)

    def read(self) -> Any:
        """All numbers on the host, by name."""
        return Numbers(*np.asarray(self.numbers).tolist())

    def on_host(self, **changed: float) -> State:
        """The same with some numbers changed, outside of compiled functions."""
        numbers = np.array(self.numbers)
        for name, value in changed.items():
            numbers[getattr(AT, name)] = value
        return self._replace(numbers=numbers)


def rounding_numbers(rounding: Rounding) -> dict[str, jax.Array]:
    return {f"rounding_{name}": getattr(rounding, name) for name in ("matters", "largest", "c", "rest")}


def histogram(numbers: Any) -> Any:
    """Accepted steps of order 0 (none), 1, ..., 5."""
    first = getattr(AT, HISTOGRAM[0])
    return numbers[first : first + len(HISTOGRAM)]


def start_state(
    t: Any,
    x: jax.Array,
    xdot: jax.Array,
    h: Any,
    factors: Any,
    sides: jax.Array,
    before: Any = NO_WORK,
) -> State:
    """Order one with a given step size: how a run starts, and restarts after an event. What the numbers
    before have counted is counted on."""
    t, h = jnp.asarray(t, float), jnp.asarray(h, float)
    known = {
        "t": t,
        "h": h,
        "order": 1,
        "reached": t,
        "status": int(Status.RUNNING),
        "rate": UNKNOWN_RATE,
        "outdated": True,
        "rounding_largest": 1.0,  # near, so that a look will be taken
        **{name: before[getattr(AT, name)] for name in (*COUNTS, "attempts")},
    }
    numbers = jnp.stack([jnp.asarray(known.get(name, 0.0), float) for name in NUMBERS])
    table = jnp.zeros((DIFFERENCES, x.shape[0])).at[0].set(x).at[1].set(h * xdot)
    nothing = jnp.zeros_like(x)
    former = xdot if sides.shape[0] else jnp.zeros(0)
    return State(numbers, table, xdot, factors, nothing, nothing, sides, jnp.zeros_like(sides), former)

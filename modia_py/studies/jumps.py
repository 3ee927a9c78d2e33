"""Jumps of the equations in a run that are no events: where one is passed, there is no derivative.

`np.where(x > limit, a, b)`, `np.sign(x)` and the like decide within steps. Where the equations are
continuous nevertheless, as those of `np.where(x > 0, x, 0)` are, derivatives are right. Where they jump,
the time of the jump moves with the parameters, and recorded steps say nothing of that. So decisions are
compared from step to step, and where one changes the equations are evaluated on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..program.program import Program
from ..program.row_names import row_name
from ..program.switches import switches
from ..solvers.compile_options import quick_jit
from .linear_maps import NoDerivative
from .recording import AT_ONCE, Leg, Recording

LOOKED_AT, LOOKED_AT_TOGETHER = 3, 100
"""Changes of each decision that are looked at in a run, the first ones; and of all together."""
HALVINGS = 50
JUMP = 1e-7
"""Of an equation, compared with what is in it."""
PROBES, PROBED = 3, 1e-6
AFTER_START = 0.01
"""Of the first step: decisions at a start may lie on their limit."""


class Jumps:
    """Looks for jumps in the runs of one program."""

    def __init__(self, program: Program, example: Any):
        self.program = program
        residual, size = program.problem.residual, program.problem.size
        self._decided: Any = None

        def decided(t: Any, x: Any, xdot: Any, arguments: Any) -> Any:
            return switches(lambda own: residual(t, own[0], own[1], arguments), (x, xdot))

        t, x = jnp.zeros(()), jnp.zeros(size)
        self._count = jax.eval_shape(decided, t, x, x, example).size
        if not self._count:
            return
        self._decided, self._residual = quick_jit(decided, size), quick_jit(residual, size)

        def changes(t: Any, x: Any, xdot: Any, arguments: Any) -> Any:
            """Of each point, whether the decisions are others than at the one before it."""

            def step(before: Any, point: Any) -> tuple[Any, Any]:
                now = decided(point[0], point[1], point[2], arguments)
                return now, now != before

            return jax.lax.scan(step, decided(t[0], x[0], xdot[0], arguments), (t, x, xdot))[1]

        self._changes = quick_jit(changes, size)

    def check(self, recording: Recording) -> None:
        """Complain about a jump that is passed in a run."""
        if self._decided is None:
            return
        if recording.jump is None:
            recording.jump = next(self._found(recording), "")
        if recording.jump:
            raise NoDerivative(recording.jump)

    def _found(self, recording: Recording) -> Iterator[str]:
        looked_at, together = np.zeros(self._count, int), 0
        for leg in recording.legs:
            for one, other, changed in self._passages(leg):
                if together == LOOKED_AT_TOGETHER:
                    return
                if np.all(looked_at[changed] >= LOOKED_AT):
                    continue
                looked_at[changed] += 1
                together += 1
                yield from self._jumps(one, other, leg.arguments)

    def _passages(self, leg: Leg) -> Iterator[tuple[Any, Any, np.ndarray]]:
        """Points before and behind changes of decisions; and of which."""
        if not leg.count:
            return
        early = AFTER_START * leg.made.h[0]
        last: Any = (leg.start.t, leg.start.x + early * leg.start.xdot, leg.start.xdot)
        size = min(AT_ONCE, leg.count)
        for first in range(0, leg.count, size):
            steps = slice(first, min(first + size, leg.count))
            ends = (part if leg.stages == 1 else part[:, -1] for part in leg.points(steps))
            rows = (leg.t[steps], *ends)
            count = len(rows[0])
            points = [np.concatenate([[own], part]) for own, part in zip(last, rows, strict=True)]
            full = [np.concatenate([part, *[part[-1:]] * (size - count)]) for part in points]
            changed = np.asarray(self._changes(*full, leg.arguments))[1 : count + 1]
            for k in np.flatnonzero(changed.any(axis=1)).tolist():
                yield [part[k] for part in points], [part[k + 1] for part in points], changed[k]
            last = [part[-1] for part in points]

    def _jumps(self, one: Any, other: Any, arguments: Any) -> Iterator[str]:
        """The jump on the line between two points, if there is one; several changes may lie on it."""

        def at(part: float) -> list[Any]:
            return [(1.0 - part) * a + part * b for a, b in zip(one, other, strict=True)]

        def decided(part: float) -> np.ndarray:
            return np.asarray(self._decided(*at(part), arguments))

        end, low = decided(1.0), 0.0
        for _ in range(LOOKED_AT):
            here, high = decided(low), 1.0
            if np.array_equal(here, end):
                return
            for _ in range(HALVINGS):
                middle = 0.5 * (low + high)
                if np.array_equal(decided(middle), here):
                    low = middle
                else:
                    high = middle
            before, behind = (np.asarray(self._residual(*at(part), arguments)) for part in (low, high))
            sizes = self._sizes(at(low), before, arguments)
            gap = np.nan_to_num(np.abs(behind - before) / (sizes + JUMP * sizes.max()))
            row = int(np.argmax(gap))
            if gap[row] > JUMP:
                yield (
                    f"At time {at(low)[0]:.9g} an equation jumps, and not by an event: "
                    f"`{row_name(self.program, row)}`. The time of the jump moves with what the derivative "
                    f"is taken by, so there is none. Write `where(...)` in place of `np.where`, `np.sign` "
                    f"and the like: its events have derivatives."
                )
                return
            low = high

    def _sizes(self, at: Any, value: np.ndarray, arguments: Any) -> np.ndarray:
        """How large what is in each equation is: what changes if all unknowns change in all digits."""
        t, x, xdot = at
        found = np.full(len(value), np.finfo(float).tiny)
        for k in range(PROBES):
            along = np.cos(np.arange(len(x)) + k * k), np.sin(np.arange(len(x)) + k * k)
            near = self._residual(t, x * (1 + PROBED * along[0]), xdot * (1 + PROBED * along[1]), arguments)
            found = np.maximum(found, np.abs(np.asarray(near) - value) / PROBED)
        return found

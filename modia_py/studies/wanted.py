"""What a function of a run returns of each row of output: variables, or all that the equations see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import jax.numpy as jnp
import numpy as np

from ..arrays.index1 import Slot
from ..program.program import Arguments, Program
from .recording import Recording

Values = Callable[[Any, Any, Any, Any], Any]
"""values(t, x, xdot, arguments) -> vector"""


class Wanted(Protocol):
    """Numbers of a row."""

    @property
    def key(self) -> Any:
        """Equal where the same is wanted."""

    @property
    def width(self) -> int: ...

    def values(self, sim: Any, program: Program) -> tuple[Values, bool]:
        """As a function of a point; and whether that has to be on the constraints."""

    def read(self, found: Recording) -> np.ndarray:
        """As a run has them, row by row."""


@dataclass(frozen=True, eq=False)
class Variables:
    """Variables by name, with their shapes."""

    shapes: Mapping[str, tuple[int, ...]]

    @property
    def key(self) -> Any:
        return tuple(self.shapes)

    @property
    def width(self) -> int:
        return sum(int(np.prod(shape, dtype=int)) for shape in self.shapes.values())

    def values(self, sim: Any, program: Program) -> tuple[Values, bool]:
        places = [sim._places(program, name) for name in self.shapes]
        place, sign = (np.concatenate([part[k] for part in places]) for k in (0, 1))
        in_x = program.layout.x_of_place[place]
        kinds = np.append(program.layout.kind, -1)[in_x]
        are_states = np.all((in_x >= 0) & (kinds == Slot.STATE))

        def values(t: Any, x: Any, xdot: Any, arguments: Arguments) -> Any:
            return sign * program.values(t, x, xdot, arguments)[place]

        return values, bool(program.functions.size) and not are_states

    def read(self, found: Recording) -> np.ndarray:
        rows, result = found.result.output_rows, found.result
        parts = [np.asarray(result[name], float)[rows] for name in self.shapes]
        return np.concatenate([part.reshape(len(rows), -1) for part in parts], axis=1)


@dataclass(frozen=True)
class WholePoint:
    """x, xdot, the parameters with discrete values, and the inputs, side by side: so many of each."""

    sizes: tuple[int, int, int, int]

    @property
    def key(self) -> Any:
        return self

    @property
    def width(self) -> int:
        return sum(self.sizes)

    def values(self, sim: Any, program: Program) -> tuple[Values, bool]:
        return whole_point(program), True

    def read(self, found: Recording) -> np.ndarray:
        rows = np.zeros((len(found.output.t), self.width))
        for leg in found.legs:
            for row in leg.rows:
                t, x, xdot = (part[row] for part in found.output)
                rows[row] = whole_point(found.program)(t, x, xdot, leg.arguments)
        return rows

    def parts(self, row: Any) -> list[Any]:
        return jnp.split(row, np.cumsum(self.sizes)[:-1])


def whole_point(program: Program) -> Values:
    """All that the equations see, as one vector."""

    def values(t: Any, x: Any, xdot: Any, arguments: Arguments) -> Any:
        n = program.functions.size
        return jnp.concatenate([x[:n], xdot[:n], arguments.p, program.inputs(t, arguments)])

    return values

"""The initial problem of a model: its unknowns, equations, and what is given.

Unknowns are z = [x, xdot]. Equations are

    fd(t, x, xdot) = 0,  fc(t, x) = 0,  d/dt fc = 0        what index reduction has produced
    variable - init = 0,  initial equations = 0

The first three determine xdot from x, and leave x as many degrees of freedom as the model has states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse

from .initial_equations import initial_residual
from .program import Arguments, Program
from .row_names import row_name
from .solvers.nearest import NearestSystem
from .start_values import StartValues

NUDGE = 0.1


@dataclass(frozen=True, eq=False)
class StartPoint:
    """Consistent x and xdot, and what a user should know about them."""

    x: np.ndarray
    xdot: np.ndarray
    notes: tuple[str, ...] = ()


class StartProblem:
    """The initial problem of a program, with some `init` values as rows."""

    def __init__(
        self, program: Program, init: StartValues, guess: StartValues, arguments: Arguments, t: float
    ):
        self.program, self.init, self.guess, self.t = program, init, guess, t
        self.arguments = arguments
        layout = program.layout
        self.n = program.functions.size
        self.in_x = layout.x_of_place[init.place]
        self.is_direct = (self.in_x >= 0) & ~np.append(layout.integrals, False)[self.in_x]
        self.z_guess = self._guess()

    def _guess(self) -> np.ndarray:
        """Guesses and `init` values where they stand in x or xdot; zero elsewhere."""
        z = np.zeros(2 * self.n)
        layout = self.program.layout
        for known in (self.guess, self.init):
            for of_place, shift in ((layout.x_of_place, 0), (layout.xdot_of_place, self.n)):
                at = of_place[known.place]
                there = at >= 0
                z[shift + at[there]] = (known.sign * known.value)[there]
        z[: self.n][layout.integrals] = 0.0
        return z

    def nudged(self, kept: np.ndarray | None = None) -> np.ndarray:
        """The guess, with what is free moved a little: at zero many equations cannot be solved for it.

        Only `init` values that are kept count as given; all of them by default.
        """
        z = self.z_guess.copy()
        free = np.ones(2 * self.n, bool)
        layout = self.program.layout
        for given in (self.guess, self.init if kept is None else self.init.chosen(kept)):
            for of_place, shift in ((layout.x_of_place, 0), (layout.xdot_of_place, self.n)):
                at = of_place[given.place]
                free[shift + at[at >= 0]] = False
        free[: self.n][layout.integrals] = False
        z[free] += NUDGE * (1.0 + 0.5 * np.sin(1.0 + np.arange(int(free.sum()))))  # no two the same
        return z

    @property
    def fixed(self) -> np.ndarray:
        """Unknowns that are given, and integrals, which have no meaning themselves."""
        fixed = np.zeros(2 * self.n, bool)
        fixed[self.in_x[self.is_direct]] = True
        fixed[: self.n][self.program.layout.integrals] = True
        return fixed

    @property
    def agrees(self) -> bool:
        """Whether an element of x that is given more than once, by aliases, is given the same value."""
        given = (self.init.sign * self.init.value)[self.is_direct]
        return bool(np.all(self.z_guess[self.in_x[self.is_direct]] == given))

    @property
    def cost(self) -> np.ndarray:
        """x stays near its guess; xdot follows from it."""
        return np.append(np.ones(self.n), np.zeros(self.n))

    def system(self, rows: StartValues) -> NearestSystem:
        """The equations with some `init` values as rows, compiled once for each choice of them."""
        key = "start", rows.place.tobytes(), rows.sign.tobytes()
        kept = self.program.kept
        if key not in kept:
            equations = start_equations(self.program, rows)
            pattern = self._pattern(rows)
            kept[key] = NearestSystem(equations, self.z_guess, self.system_arguments(rows), pattern)
        return kept[key]

    def _pattern(self, rows: StartValues) -> tuple[np.ndarray, np.ndarray] | None:
        """The pattern of the system, if that of the program is known from its terms."""
        patterns = self.program.patterns
        if patterns is None or self.init.flat.initial_equations:
            return None
        residual, places = patterns
        of_x = residual[self.program.functions.differential_rows :, : self.n]
        rates = sparse.hstack([of_x, of_x])
        entries = sparse.vstack([residual, rates, places[rows.place]]).tocoo()
        return entries.row, entries.col

    def system_arguments(self, rows: StartValues) -> tuple[Any, ...]:
        return jnp.asarray(self.t, float), self.arguments, jnp.asarray(rows.value)

    def row_text(self, row: int, rows: StartValues) -> str:
        """What a row of the system says."""
        if row < self.n:
            return row_name(self.program, row)
        constraints = self.n - self.program.functions.differential_rows
        if row < self.n + constraints:
            return f"d/dt of {row_name(self.program, row - constraints)}"
        row -= self.n + constraints
        if row < len(rows):
            return f"{rows.label(row)} = {rows.value[row]:g} (init)"
        row -= len(rows)
        _, blocks = initial_residual(self.init.flat, self.program.functions.value_map)
        for equation, size in blocks:
            if row < size:
                return f"{equation}  (initial, {equation.equation.source})"
            row -= size
        raise IndexError("there is no such row")


def start_equations(program: Program, rows: StartValues) -> Any:
    """g(z, t, arguments, init values): see the top of this file."""
    n, differential = program.functions.size, program.functions.differential_rows
    at_start, _ = initial_residual(rows.flat, program.functions.value_map)
    place, sign = rows.place, rows.sign.astype(float)

    def equations(z: Any, t: Any, arguments: Arguments, given: Any) -> Any:
        x, xdot = z[:n], z[n:]
        value, rate = jax.jvp(
            lambda t, x: program.problem.residual(t, x, xdot, arguments), (t, x), (jnp.ones_like(t), xdot)
        )
        w = program.values(t, x, xdot, arguments)
        vectors = {"time": t, "w": w, "p": arguments.p, "u": program.inputs(t, arguments)}
        return jnp.concatenate([value, rate[differential:], sign * w[place] - given, at_start(vectors)])

    return equations

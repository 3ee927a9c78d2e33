"""The initial problem of a model: its unknowns, equations, and what is given.

Unknowns are z = [x, xdot]. Equations are

    fd(t, x, xdot) = 0,  fc(t, x) = 0,  d/dt fc = 0        what index reduction has produced
    variable - init = 0,  initial equations = 0

The first three determine xdot from x, and leave x as many degrees of freedom as the model has states. Where
only elements of x are given, fc(t, x) = 0 is a problem of its own, and xdot follows afterwards.
"""

from __future__ import annotations

import sys
import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse

from ..arrays.index1 import Slot
from ..program.program import Arguments, Program
from ..program.remembered import digest_of
from ..program.row_names import row_name
from ..solvers.matrix.jacobian import value_and_rate
from ..solvers.roots.constraints import ConstraintSystem
from ..solvers.roots.nearest import NearestRoot, NearestSystem
from ..solvers.roots.nearest_problem import SMALL, Effort
from .initial_equations import initial_residual
from .values import StartValues

NUDGE = 0.1
REPORT_EVERY = 5.0
"""Seconds between two lines about a start that takes long."""


@dataclass(frozen=True, eq=False)
class StartPoint:
    """Consistent x and xdot, and what a user should know about them."""

    x: np.ndarray
    xdot: np.ndarray
    notes: tuple[str, ...] = ()
    event: BeforeEvent | None = None
    """If the event at the start has changed what the equations of the start give."""


@dataclass(frozen=True, eq=False)
class BeforeEvent:
    """What the equations of the start give, where the event there sets values anew: for derivatives."""

    x: np.ndarray
    xdot: np.ndarray
    arguments: Any
    """As the event has seen them"""
    first: Any
    """and as they are after its first pass;"""
    x_set: np.ndarray | None
    """x after that, if states were set."""


@dataclass(frozen=True, eq=False)
class StartSystem:
    """Equations of the start: rows of the model, some `init` values, initial equations."""

    start: StartProblem
    nearest: NearestSystem
    given: StartValues  # `init` values that are rows
    first: int  # the row of the first of them
    unknowns: int  # x, or x and xdot

    @property
    def rows(self) -> int:
        return int(self.nearest.pattern[2][0])

    def solve(
        self, z: np.ndarray, fixed: np.ndarray, *, equal: bool = False, **options: Any
    ) -> NearestRoot:
        """The nearest point; all unknowns cost the same to move if `equal`, else what follows is free."""
        cost = np.ones(self.unknowns) if equal else self.start.cost[: self.unknowns]
        known = np.zeros(self.rows)
        # What is zero may be given with rounding, also where no unknown is left to compare it with.
        known[self.first : self.first + len(self.given)] = np.maximum(np.abs(self.given.value), SMALL)
        fixed = fixed[: self.unknowns]
        return self.nearest.solve(z[: self.unknowns], cost=cost, fixed=fixed, known=known, **options)

    def form_row(self, row: int) -> int:
        """The row of the form that a row before those of given values is, or is the derivative of."""
        differential = self.start.program.functions.differential_rows
        if self.unknowns == self.start.n:
            return differential + row
        return row if row < self.start.n else differential + row - self.start.n

    def row_text(self, row: int) -> str:
        """What a row says."""
        start, given = self.start, self.given
        if row < self.first:
            is_rate = self.unknowns != start.n and row >= start.n
            return "d/dt of " * is_rate + row_name(start.program, self.form_row(row))
        row -= self.first
        if row < len(given):
            return f"{given.label(row)} = {given.value[row]:g} (init)"
        row -= len(given)
        _, blocks = initial_residual(start.init.flat, start.program.functions.value_map)
        for equation, size in blocks:
            if row < size:
                return f"{equation}  (initial, {equation.equation.source})"
            row -= size
        raise IndexError("there is no such row")


class StartProblem:
    """The initial problem of a program, with some `init` values as rows."""

    def __init__(
        self,
        program: Program,
        init: StartValues,
        guess: StartValues,
        arguments: Arguments,
        t: float,
        report: Callable[[str], None] | None = None,
        near: StartPoint | None = None,
    ):
        self.program, self.init, self.guess, self.t = program, init, guess, t
        self.arguments = arguments
        layout = program.layout
        self.n = program.functions.size
        self.in_x = layout.x_of_place[init.place]
        self.is_direct = (self.in_x >= 0) & ~np.append(layout.integrals, False)[self.in_x]
        self.near = near if near is not None and len(near.x) == self.n else None
        self.z_guess = self._guess()
        self.report = report

    def digest(self, how: str) -> bytes:
        """A number for all that the start depends on, besides the program."""
        near = b"" if self.near is None else digest_of(self.near.x, self.near.xdot)
        return start_digest(how, self.t, self.arguments, self.init, self.guess) + near

    def _guess(self) -> np.ndarray:
        """Guesses and `init` values where they stand in x or xdot; zero elsewhere. Of what follows from
        states, the values of a start that is near."""
        z = np.zeros(2 * self.n)
        layout = self.program.layout
        for known in (self.guess, self.init):
            if self.near is not None and known is self.init:
                follows = np.append(~self.states, np.ones(self.n, bool))
                z[follows] = np.append(self.near.x, self.near.xdot)[follows]
            for of_place, shift in ((layout.x_of_place, 0), (layout.xdot_of_place, self.n)):
                at = of_place[known.place]
                there = at >= 0
                z[shift + at[there]] = (known.sign * known.value)[there]
        z[: self.n][layout.integrals] = 0.0
        return z

    def nudged(self, chosen: np.ndarray | None = None) -> np.ndarray:
        """The guess, with what is free moved a little: at zero many equations cannot be solved for it.

        Only `init` values that are chosen count as given; all of them by default.
        """
        z = self.z_guess.copy()
        free = np.ones(2 * self.n, bool)
        layout = self.program.layout
        for given in (self.guess, self.init if chosen is None else self.init.chosen(chosen)):
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
    def states(self) -> np.ndarray:
        """Elements of x with a memory; algebraic unknowns have none."""
        return self.program.layout.kind == Slot.STATE

    @property
    def cost(self) -> np.ndarray:
        """States stay near their guess; algebraic unknowns and xdot follow from them."""
        return np.append(self.states.astype(float), np.zeros(self.n))

    @property
    def only_values(self) -> bool:
        """Whether all that is given are elements of x."""
        return bool(self.is_direct.all()) and not self.init.flat.initial_equations

    def effort(self, system: StartSystem) -> Effort:
        return Effort.for_entries(system.nearest.entries, self.report)

    def of_values(self, given: StartValues) -> StartSystem:
        """fc(t, x) = 0, with some `init` values of elements of x as rows."""
        elements = self.program.layout.x_of_place[given.place]
        system = ConstraintSystem(
            self.program.problem, self.t, self.arguments, elements, given.sign * given.value
        )
        constraints = self.n - self.program.functions.differential_rows
        return StartSystem(self, NearestSystem(system), given, constraints, self.n)

    def of_values_and_slopes(self, given: StartValues) -> StartSystem:
        """All equations, with some `init` values as rows, compiled once for each choice of them."""
        key = given.place.tobytes(), given.sign.tobytes()
        starts = self.program.cache.starts
        arguments = jnp.asarray(self.t, float), self.arguments, jnp.asarray(given.value)
        if key not in starts:
            equations, pattern = start_equations(self.program, given), self.pattern(given)
            starts[key] = NearestSystem.compiled(equations, self.z_guess, arguments, pattern)
        first = self.n + self.n - self.program.functions.differential_rows
        return StartSystem(self, starts[key].with_arguments(arguments), given, first, 2 * self.n)

    def pattern(self, rows: StartValues) -> tuple[np.ndarray, np.ndarray] | None:
        """The pattern of the system, if that of the program is known from its terms."""
        patterns = self.program.patterns
        if patterns is None or self.init.flat.initial_equations:
            return None
        residual, places = patterns
        of_x = residual[self.program.functions.differential_rows :, : self.n]
        rates = sparse.hstack([of_x, of_x])
        entries = sparse.vstack([residual, rates, places[rows.place]]).tocoo()
        return entries.row, entries.col


def start_equations(program: Program, rows: StartValues) -> Any:
    """g(z, t, arguments, init values): see the top of this file."""
    n, differential = program.functions.size, program.functions.differential_rows
    at_start, _ = initial_residual(rows.flat, program.functions.value_map)
    place, sign = rows.place, rows.sign.astype(float)

    def equations(z: Any, t: Any, arguments: Arguments, given: Any) -> Any:
        x, xdot = z[:n], z[n:]
        value, rate = value_and_rate(program.problem, t, x, xdot, arguments)
        w = program.values(t, x, xdot, arguments)
        vectors = program.vectors(t, w, arguments)
        return jnp.concatenate([value, rate[differential:], sign * w[place] - given, at_start(vectors)])

    return equations


def slow_start_report() -> Callable[[str], None]:
    """A line now and then for who waits for a start, with what is being tried."""
    last = clock.perf_counter()

    def report(text: str) -> None:
        nonlocal last
        if clock.perf_counter() - last > REPORT_EVERY:
            last = clock.perf_counter()
            print(f"looking for a consistent start: {text}", file=sys.stderr, flush=True)

    return report


def start_digest(how: str, t: float, arguments: Arguments, *values: StartValues) -> bytes:
    """A number for all that a start depends on, besides the program."""
    numbers = [(each.element, each.order, each.value) for each in values]
    return how.encode() + digest_of(t, arguments, numbers)

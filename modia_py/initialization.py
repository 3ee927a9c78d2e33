"""The start of a run: x and xdot from the equations, `init` values, initial equations and guesses.

Unknowns are z = [x, xdot]. Equations are

    fd(t, x, xdot) = 0,  fc(t, x) = 0,  d/dt fc = 0        what index reduction has produced
    variable - init = 0,  initial equations = 0

The first three determine xdot from x, and leave x as many degrees of freedom as the model has states.
`init` of an element of x fixes it; other `init` values are rows. What is still free stays near its guess.
Values that contradict each other or the equations are named: see `contradictions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse
from scipy.sparse.csgraph import maximum_bipartite_matching

from .errors import SimulationError
from .initial_equations import initial_residual
from .program import Arguments, Program
from .row_names import row_name, x_name
from .solvers import consistent_xdot
from .solvers.nearest import SATISFIED, NearestRoot, NearestSystem
from .start_values import StartValues

LISTED = 8


@dataclass(frozen=True, eq=False)
class StartPoint:
    """Consistent x and xdot, and what a user should know about them."""

    x: np.ndarray
    xdot: np.ndarray
    notes: tuple[str, ...] = ()


class StartProblem:
    """The initial problem of a program, with some `init` values as rows."""

    def __init__(self, program: Program, init: StartValues, guess: StartValues, arguments: Arguments, t: float):
        self.program, self.init, self.guess, self.t = program, init, guess, t
        self.arguments = arguments
        layout = program.layout
        self.n = program.functions.size
        self.in_x = layout.x_of_place[init.place]
        self.is_direct = (self.in_x >= 0) & ~layout.integrals[np.maximum(self.in_x, 0)]
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

    @property
    def fixed(self) -> np.ndarray:
        """Unknowns that are given, and integrals, which have no meaning themselves."""
        fixed = np.zeros(2 * self.n, bool)
        fixed[self.in_x[self.is_direct]] = True
        fixed[: self.n][self.program.layout.integrals] = True
        return fixed

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
            kept[key] = NearestSystem(equations, self.z_guess, self.system_arguments(rows))
        return kept[key]

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


def consistent_start(start: StartProblem) -> StartPoint:
    """x and xdot for `init` values that hold from the start on."""
    if len(start.init) == int(start.is_direct.sum()) and not start.init.flat.initial_equations:
        simple = _from_given_x(start)
        if simple is not None:
            return simple
    rows = start.init.chosen(~start.is_direct)
    system = start.system(rows)
    arguments = start.system_arguments(rows)
    found = system.solve(start.z_guess, arguments, cost=start.cost, fixed=start.fixed)
    if not found.finite:
        raise not_finite(start, found.z)
    if len(found.unsatisfied):
        from .contradictions import resolve_contradictions  # it builds on this module

        found = resolve_contradictions(start, found, rows)
        system, rows = start.system(start.init), start.init
    return StartPoint(found.z[: start.n], found.z[start.n :], tuple(_missing(start, system, rows)))


def _from_given_x(start: StartProblem) -> StartPoint | None:
    """Where all of x that matters is given, or free, and satisfies the constraints: only xdot is left."""
    program = start.program
    x = start.z_guess[: start.n]
    if (direct := start.in_x[start.is_direct]).size != np.unique(direct).size:
        return None  # given twice: is it the same?
    if "residual" not in program.kept:
        program.kept["residual"] = jax.jit(program.problem.residual)
    residual = np.asarray(program.kept["residual"](start.t, x, np.zeros(start.n), start.arguments))
    if program.functions.differential_rows < start.n:
        off = np.abs(residual[program.functions.differential_rows :])
        if not np.all(off <= SATISFIED * SATISFIED):
            return None
    guess = start.z_guess[start.n :]
    found = consistent_xdot(program.problem, start.t, x, start.arguments, guess)
    if found.status.failed:
        return None  # the general way says more
    return StartPoint(x, found.xdot, tuple(_missing_states(start)))


def _missing_states(start: StartProblem) -> list[str]:
    free = np.flatnonzero(~start.fixed[: start.n])
    return _missing_text(start, free)


def _missing(start: StartProblem, system: NearestSystem, rows: StartValues) -> list[str]:
    """Elements of x that neither `init` values nor equations determine."""
    row, column, shape = system.pattern
    free = ~start.fixed
    kept = free[column]
    entries = sparse.csr_array((np.ones(int(kept.sum())), (row[kept], column[kept])), shape=shape)
    matched = maximum_bipartite_matching(entries, perm_type="row")  # the row of each column
    undetermined = np.flatnonzero((matched < 0) & free)
    return _missing_text(start, undetermined[undetermined < start.n])


def _missing_text(start: StartProblem, elements: np.ndarray) -> list[str]:
    if not len(elements):
        return []
    texts = [
        f"{x_name(start.program, int(k))} = {start.z_guess[k]:g}" for k in elements[:LISTED]
    ]
    more = f" and {len(elements) - LISTED} more" if len(elements) > LISTED else ""
    return [f"no `init` determines the start of: {', '.join(texts)}{more} (guess)"]


def not_finite(start: StartProblem, z: np.ndarray) -> SimulationError:
    """What is infinite or not a number at the start, in the order of computation."""
    program = start.program
    x, xdot = z[: start.n], z[start.n :]
    w = np.asarray(program.values(jnp.asarray(start.t), x, xdot, start.arguments))
    form = program.result.form
    texts = []
    for equation, variable in zip(form.local_equations, form.local_variables, strict=True):
        places = program.functions.value_map.elements(np.array([variable]))
        if not np.all(np.isfinite(w[places])):
            structure = program.result.structure
            name = structure.variable_name(int(variable))
            texts.append(f"{name} is not finite in `{structure.equation_name(int(equation))}`")
            break
    residual = np.asarray(program.problem.residual(jnp.asarray(start.t), x, xdot, start.arguments))
    rows = np.flatnonzero(~np.isfinite(residual))
    texts += [row_name(program, int(row)) for row in rows[:LISTED]]
    listed = "\n".join(f"    {text}" for text in texts)
    guessed = _missing_states(start)
    hint = f"\nStarted with guesses: {guessed[0]}." if guessed else ""
    return SimulationError(
        f"The model cannot start at time {start.t:g}: equations are infinite or not a number there. Is "
        f"something divided by zero, or a root or logarithm of a negative number taken?\n{listed}{hint}\n"
        f"Give `guess` or `init` values at which the equations can be evaluated."
    )


def cannot_start(start: StartProblem, found: NearestRoot, rows: StartValues) -> SimulationError:
    """Newton's method did not find a start: the worst equations, and the variables in them."""
    worst = found.unsatisfied[:LISTED]
    lines = [f"    {start.row_text(int(r), rows)}: off by {abs(found.residual[r]):.3g}" for r in worst]
    row, column, _ = start.system(rows).pattern
    involved = np.unique(column[np.isin(row, worst)])
    names = dict.fromkeys(_unknown_name(start, int(k), found.z) for k in involved[: 2 * LISTED])
    return SimulationError(
        f"No consistent start was found at time {start.t:g}. The equations that hold least:\n"
        + "\n".join(lines)
        + f"\nVariables in them: {', '.join(names)}.\nBetter `guess` values may help; or there is no solution "
        f"with these parameters and `init` values."
    )


def _unknown_name(start: StartProblem, k: int, z: np.ndarray) -> str:
    name = x_name(start.program, k % start.n)
    is_value = k < start.n or start.program.layout.integrals[k % start.n]
    return f"{name if is_value else f'der({name})'} = {z[k]:.3g}"

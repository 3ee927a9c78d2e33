"""Rows of output made consistent: x on the constraints, and xdot as accurate as x.

Between two steps the interpolating polynomial keeps the constraints to the tolerance only, and its
derivative is less accurate by an order, while forces are part of xdot. Both are mended by Newton's method
at a fixed matrix, first x, then xdot from it:

    M(c) shift = [0; -fc(t, x)],                       x as a step of the integrator would move it,
    M(0) change = [-fd(t, x, xdot); -d/dt fc(t, x)],   xdot from the equations, and rates of constraints,

with M(c) = [dfd/dxdot + c dfd/dx; dfc/dx], and c of the size of the steps around. With M(0) x would move as
by an impulse, which leaves states alone. But where a fast state follows an algebraic unknown, as the
current of an inductor behind a diode that blocks, it is the state which is off: the unknown, moved instead,
would be wrong by hundreds of tolerances.

A row is left as it is where this does not settle, or where x would move by more than interpolation
explains: then its constraints are violated by more than the tolerance, and who checks the rows will see it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .choose_solver import choose_solver
from .compile_options import quick_jit
from .compiled import Room, Rooms
from .jacobian import C_ZERO, Gather, gather_tables, matrix_values, pattern_of
from .linear import SingularMatrix
from .problem import Problem, kinds

ITERATIONS = 2
LARGEST_SHIFT = 100.0
"""Of x, in units of the tolerance of the result."""
SETTLED = 0.01
"""The last correction, compared with the first or, for x, with the tolerance."""
EXACT, ROUNDING = 1e-15, 1e-12
"""What is left of an equation, compared with its terms: nothing is to be mended; a correction that does not
make it smaller has settled nevertheless."""
SOLVED = 1e-6
"""What is left of a row of a linear system, compared with its terms: more, and its matrix is singular."""
MOST_BYTES = 1e7
"""Rows of output are worked on together as long as their matrices stay below this."""
FEWEST_ROWS = 16
PART_OF_STEP = 0.5
"""c of a step, roughly: it is its size over the sum 1 + 1/2 + ... of as many terms as its order."""


@dataclass(frozen=True, eq=False)
class Polished:
    x: np.ndarray
    xdot: np.ndarray
    settled: np.ndarray
    """Which rows are consistent now; the others are as they were."""


class Rows(NamedTuple):
    """Times with their x and xdot."""

    t: Any
    x: Any
    xdot: Any

    def some(self, chosen: np.ndarray) -> Rows:
        return Rows(self.t[chosen], self.x[chosen], self.xdot[chosen])


class _Polisher:
    """Compiled once for a problem: its residual, rates and matrix at many times, and sparse solutions.

    Small systems are solved on the host: XLA's solver for many of them may never return (see
    `Problem.one_by_one`).
    """

    def __init__(self, problem: Problem, p: Any, linear_solver: str):
        pattern = pattern_of(problem, p)
        self.problem, self.pattern, self.gather = problem, pattern, gather_tables(pattern)
        self.columns, self.rows = np.asarray(pattern.columns), np.asarray(pattern.rows)
        self.first = np.flatnonzero(np.diff(self.rows, prepend=-1))  # entry of each equation
        self.solver = choose_solver(linear_solver, pattern).solver
        self.is_dense, self.rooms = self.solver.name == "dense", Rooms(self.solver)
        self.values = quick_jit(self._values, problem.size)
        self.residuals = quick_jit(self._residuals, problem.size)
        self.solutions = quick_jit(self._solutions, problem.size)

    def _each(self, function: Any, rows: Any) -> Any:
        """The function of each row: at once where vectors are short."""
        at_once = self.is_dense and not self.problem.one_by_one
        return jax.vmap(function)(rows) if at_once else jax.lax.map(function, rows)

    def _values(self, gather: Gather, rows: Rows, c: Any, p: Any) -> jax.Array:
        def one(row: tuple[Rows, Any]) -> jax.Array:
            at, c = row
            return matrix_values(self.problem, self.pattern.directions, gather, *at, p, c)

        return self._each(one, (rows, c))

    def _residuals(self, rows: Rows, p: Any) -> tuple[jax.Array, jax.Array]:
        def one(row: Rows) -> tuple[jax.Array, jax.Array]:
            t, x, xdot = row
            return jax.jvp(
                lambda t, x: self.problem.residual(t, x, xdot, p), (t, x), (jnp.ones_like(t), xdot)
            )

        return self._each(one, rows)

    def _solutions(self, tables: Any, factors: Any, values: Any, right: Any) -> jax.Array:
        def one(row: tuple[Any, Any]) -> jax.Array:
            return self.solver.solve(tables, self.solver.factor(tables, row[0], factors), row[1])

        return jax.lax.map(one, (values, right))

    def at_once(self, rows: int) -> int:
        """How many rows make a call: a power of two, so that other numbers of rows compile nothing new."""
        entries = self.problem.size**2 if self.is_dense else len(self.rows)
        most = max(FEWEST_ROWS, 1 << int(MOST_BYTES / (8 * entries)).bit_length() - 1)
        return int(min(1 << max(0, rows - 1).bit_length(), most))

    def solve(self, room: Room, values: np.ndarray, right: np.ndarray) -> np.ndarray:
        """One system for each row; NaN where there is no solution."""
        found = self._dense(values, right) if self.is_dense else self._sparse(room, values, right)
        left = np.abs(self._product(values, found) - right)
        size = self._product(np.abs(values), np.abs(found)) + np.abs(right)
        scale = np.maximum.reduceat(np.abs(values), self.first, axis=1)  # of the equations
        with np.errstate(divide="ignore", invalid="ignore"):
            left, size = (np.max(part[:, self.rows[self.first]] / scale, axis=1) for part in (left, size))
        return np.where((left <= SOLVED * size)[:, None], found, np.nan)

    def _dense(self, values: np.ndarray, right: np.ndarray) -> np.ndarray:
        n = self.problem.size
        matrices = np.zeros((len(values), n, n))
        matrices[:, self.rows, self.columns] = values
        # As `linear_dense`: pivots are chosen as if the largest entry of each row were one.
        scale = np.ldexp(1.0, -np.frexp(np.abs(matrices).max(axis=2))[1])
        matrices *= scale[:, :, None]
        usable = np.all(np.isfinite(matrices), axis=(1, 2)) & np.all(np.isfinite(right), axis=1)
        matrices[~usable] = np.eye(n)
        try:
            found = np.linalg.solve(matrices, (scale * right)[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:  # one of them is singular
            found = np.full_like(right, np.nan)
            for k in range(len(right)):
                if np.linalg.matrix_rank(matrices[k]) == n:
                    found[k] = np.linalg.solve(matrices[k], scale[k] * right[k])
        return np.where(usable[:, None], found, np.nan)

    def _sparse(self, room: Room, values: np.ndarray, right: np.ndarray) -> np.ndarray:
        finite = np.all(np.isfinite(values), axis=1)
        found = np.full_like(right, np.nan)
        if not finite.any():
            return found
        try:
            factors = room.solver.prepare(jnp.asarray(values[np.argmax(finite)]))
        except SingularMatrix:
            return found
        solve = room.wait_for(self.solutions)
        return np.asarray(solve(room.solver.tables, factors, np.where(finite[:, None], values, 0.0), right))

    def _product(self, values: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        """Matrix times vector, for each row of output. (Entries are in the order of the equations.)"""
        with np.errstate(invalid="ignore"):
            terms = values * vectors[:, self.columns]
        product = np.zeros_like(vectors)
        product[:, self.rows[self.first]] = np.add.reduceat(terms, self.first, axis=1)
        return product

    def relative(self, values: np.ndarray, left: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        """What is left of the equations of each row, compared with their terms; the largest."""
        terms = self._product(np.abs(values), np.abs(vectors))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(left == 0.0, 0.0, np.abs(left) / terms).max(axis=1)


class Tolerances(NamedTuple):
    """Of the result; and which elements of x are tested: others are not moved."""

    rtol: float
    atol: np.ndarray
    tested: np.ndarray


def polish(
    problem: Problem,
    t: np.ndarray,
    x: np.ndarray,
    xdot: np.ndarray,
    p: Any = None,
    *,
    rtol: float,
    atol: Any,
    step: np.ndarray | None = None,
    linear_solver: str = "auto",
) -> Polished:
    """Rows (t, x, xdot) of a solution, made consistent where they are nearly so.

    step    of the integrator around each of them; None, or zero: x moves as by an impulse
    """
    key = "polish", linear_solver, kinds(p)
    if key not in problem.kept:
        problem.kept[key] = _Polisher(problem, p, linear_solver)
    polisher: _Polisher = problem.kept[key]
    atol = np.broadcast_to(np.asarray(atol, float), problem.size)
    tolerances = Tolerances(float(rtol), atol, ~problem.flags("integrals"))
    steps = np.zeros(len(t)) if step is None else np.asarray(step)
    new = Polished(np.array(x), np.array(xdot), np.zeros(len(t), bool))
    count = polisher.at_once(len(t))
    with polisher.rooms.one() as room:
        for start in range(0, len(t), count):
            part = np.arange(start, min(start + count, len(t)))
            filled = np.append(part, np.repeat(part[-1:], count - len(part)))
            rows, c = Rows(np.asarray(t), x, xdot).some(filled), PART_OF_STEP * steps[filled]
            mended, settled = _mend(polisher, room, rows, np.maximum(c, C_ZERO), p, tolerances)
            chosen = part[settled[: len(part)]]
            new.x[chosen], new.xdot[chosen] = mended.x[chosen - start], mended.xdot[chosen - start]
            new.settled[chosen] = True
    return new


def _mend(
    polisher: _Polisher, room: Room, rows: Rows, c: np.ndarray, p: Any, tolerances: Tolerances
) -> tuple[Rows, np.ndarray]:
    """First x, then xdot; and which rows have settled."""
    is_fd, tested = polisher.problem.row_flags, tolerances.tested
    weights = tested / (tolerances.rtol * np.abs(rows.x) + tolerances.atol)
    values = np.asarray(polisher.values(polisher.gather, rows, c, p))
    x, settled = rows.x, np.zeros(len(c), bool)
    for _ in range(ITERATIONS):
        off = np.where(is_fd, 0.0, np.asarray(polisher.residuals(rows._replace(x=x), p)[0]))
        left = polisher.relative(values, off, x)
        if np.all(left <= EXACT):
            break
        change = np.where(tested, polisher.solve(room, values, -off), 0.0)
        x = x + change
        settled = (np.abs(change * weights).max(axis=1) <= SETTLED) | (left <= ROUNDING)
    settled = (settled | (left <= EXACT)) & (np.abs((x - rows.x) * weights).max(axis=1) <= LARGEST_SHIFT)
    rows = rows._replace(x=np.where(settled[:, None], x, rows.x))

    values = np.asarray(polisher.values(polisher.gather, rows, np.full(len(c), C_ZERO), p))
    xdot, sizes = rows.xdot, [np.zeros(len(c))]
    for _ in range(ITERATIONS):
        value, rate = (np.asarray(part) for part in polisher.residuals(rows._replace(xdot=xdot), p))
        off = np.where(is_fd, value, rate)
        left = polisher.relative(values, off, xdot)
        if np.all((left <= EXACT) | ~settled):
            break
        change = polisher.solve(room, values, -off)
        xdot = xdot + change
        sizes.append(np.abs(change).max(axis=1))
    settled &= (left <= ROUNDING) | (sizes[-1] <= SETTLED * sizes[min(1, len(sizes) - 1)])
    return rows._replace(xdot=xdot), settled & np.all(np.isfinite(xdot), axis=1)

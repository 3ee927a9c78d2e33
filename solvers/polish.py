"""Rows of output made consistent: x on the constraints, and xdot as accurate as x.

Between two steps the interpolating polynomial keeps the constraints to the tolerance only, and its
derivative is less accurate by an order, while forces are part of xdot. With the matrix of the special form,
M = [dfd/dxdot; dfc/dx], both are mended by Newton's method at a fixed matrix,

    M shift = [0; -fc(t, x)],                       x as it would move by an impulse,
    M change = [-fd(t, x, xdot); -d/dt fc(t, x)],   xdot from the equations and the rate of the constraints.

A row is left as it is where this does not settle, or where x would move by more than interpolation
explains: then its constraints are violated by more than the tolerance, and who checks the rows will see it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .choose_solver import choose_solver
from .compile_options import quick_jit
from .compiled import Room, Rooms
from .jacobian import C_ZERO, Gather, fd_rows, gather_tables, matrix_and_probe, matrix_values, pattern_of
from .linear import GOOD_ENOUGH, LinearSolver, SingularMatrix, probe_error
from .problem import Problem, kinds

ITERATIONS = 2
LARGEST_SHIFT = 100.0
"""Of x, in units of the tolerance of the result."""
SETTLED = 0.01
"""The last correction, compared with the first or, for x, with the tolerance."""
MOST_BYTES = 1e7
"""Rows are worked on together as long as their matrices stay below this, where these are dense."""
FEWEST_ROWS = 16
MOST_NEW_PIVOTS = 8


@dataclass(frozen=True, eq=False)
class Polished:
    x: np.ndarray
    xdot: np.ndarray
    settled: np.ndarray
    """Which rows are consistent now; the others are as they were."""


class _Polisher:
    """Compiled once for a problem, with factors of its own."""

    def __init__(self, problem: Problem, p: Any, linear_solver: str):
        pattern = pattern_of(problem, p)
        self.problem, self.pattern, self.gather = problem, pattern, gather_tables(pattern)
        self.solver = choose_solver(linear_solver, pattern).solver
        self.is_dense, self.rooms = self.solver.name == "dense", Rooms(self.solver)
        self.values = quick_jit(self._values, problem.size)
        self.rows = quick_jit(self._rows, problem.size)

    def _values(self, gather: Gather, t: Any, x: Any, xdot: Any, p: Any) -> jax.Array:
        c = jnp.asarray(C_ZERO)
        return matrix_values(self.problem, self.pattern.directions, gather, t, x, xdot, p, c)

    def _rows(
        self, gather: Gather, tables: Any, factors: Any, t: Any, x: Any, xdot: Any, p: Any, tolerances: Any
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        def one(row: tuple[Any, Any, Any]) -> tuple[jax.Array, jax.Array, jax.Array]:
            return _polish_row(
                self.problem,
                self.solver,
                self.pattern.directions,
                gather,
                tables,
                factors,
                row,
                p,
                tolerances,
            )

        return jax.vmap(one)((t, x, xdot)) if self.is_dense else jax.lax.map(one, (t, x, xdot))

    def at_once(self, rows: int) -> int:
        """How many rows make a call: a power of two, so that other numbers of rows compile nothing new."""
        most = MOST_BYTES / (8 * self.problem.size ** (2 if self.is_dense else 1))
        return int(
            min(1 << max(0, rows - 1).bit_length(), max(FEWEST_ROWS, 1 << int(most).bit_length() - 1))
        )


def _polish_row(
    problem: Problem,
    solver: LinearSolver,
    directions: int,
    gather: Gather,
    tables: Any,
    factors: Any,
    row: tuple[Any, Any, Any],
    p: Any,
    tolerances: Any,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """x, xdot, and whether they have settled."""
    t, x, xdot = row
    is_fd, tested = fd_rows(problem), tolerances[2]
    c = jnp.asarray(C_ZERO)
    values, probe = matrix_and_probe(problem, directions, gather, t, x, xdot, p, c)
    factors = solver.factor(tables, values, factors)
    usable = probe_error(solver, tables, factors, probe) <= GOOD_ENOUGH
    weights = tested / (tolerances[0] * jnp.abs(x) + tolerances[1])

    def constraints(x: Any) -> Any:
        return jnp.where(is_fd, 0.0, problem.residual(t, x, xdot, p))

    def rates(x: Any, xdot: Any) -> Any:
        value, rate = jax.jvp(
            lambda t, x: problem.residual(t, x, xdot, p), (t, x), (jnp.ones_like(t), xdot)
        )
        return jnp.where(is_fd, value, rate)

    def improve(_: Any, now: Any) -> Any:
        x, xdot, first, _, _ = now
        shift = jnp.where(tested > 0, -solver.solve(tables, factors, constraints(x)), 0.0)
        x = x + shift
        change = -solver.solve(tables, factors, rates(x, xdot))
        size = jnp.max(jnp.abs(change))
        return x, xdot + change, jnp.where(first < 0, size, first), size, jnp.max(jnp.abs(shift * weights))

    start = (x, xdot, -jnp.ones(()), jnp.zeros(()), jnp.zeros(()))
    new_x, new_xdot, first, last, last_shift = jax.lax.fori_loop(0, ITERATIONS, improve, start)
    moved = jnp.max(jnp.abs((new_x - x) * weights))
    rounding = 1e-12 * jnp.max(jnp.abs(new_xdot))
    settled = usable & (moved <= LARGEST_SHIFT) & (last_shift <= SETTLED)
    settled &= (last <= jnp.maximum(SETTLED * first, rounding)) & jnp.all(jnp.isfinite(new_xdot))
    return jnp.where(settled, new_x, x), jnp.where(settled, new_xdot, xdot), settled


def polish(
    problem: Problem,
    t: np.ndarray,
    x: np.ndarray,
    xdot: np.ndarray,
    p: Any = None,
    *,
    rtol: float,
    atol: Any,
    linear_solver: str = "auto",
) -> Polished:
    """Rows (t, x, xdot) of a solution, made consistent where they are nearly so."""
    key = "polish", linear_solver, kinds(p)
    if key not in problem.kept:
        problem.kept[key] = _Polisher(problem, p, linear_solver)
    polisher: _Polisher = problem.kept[key]
    tested = 1.0 - problem.flags("integrals")
    tolerances = np.asarray(rtol, float), np.broadcast_to(np.asarray(atol, float), problem.size), tested
    x, xdot, settled = np.array(x), np.array(xdot), np.zeros(len(t), bool)
    with polisher.rooms.one() as room:
        waiting, pivots = np.arange(len(t)), 0
        while len(waiting) and pivots < MOST_NEW_PIVOTS:
            done = _polish_some(polisher, room, t, x, xdot, p, tolerances, waiting)
            settled[waiting[done]] = True
            if not polisher.solver.keeps_pivots or not done.any():
                break  # other pivots are all that could make a difference
            waiting, pivots = waiting[~done], pivots + 1
    return Polished(x, xdot, settled)


def _polish_some(
    polisher: _Polisher, room: Room, t: Any, x: Any, xdot: Any, p: Any, tolerances: Any, chosen: np.ndarray
) -> np.ndarray:
    """Polish the chosen rows in place, with pivots for the first of them; which have settled."""
    at = chosen[0]
    try:
        factors = room.solver.prepare(polisher.values(polisher.gather, t[at], x[at], xdot[at], p))
    except SingularMatrix:
        return np.zeros(len(chosen), bool)
    done = np.zeros(len(chosen), bool)
    rows, polish_rows = polisher.at_once(len(chosen)), room.wait_for(polisher.rows)
    for start in range(0, len(chosen), rows):
        part = chosen[start : start + rows]
        filled = np.append(part, np.repeat(part[-1:], rows - len(part)))
        found = polish_rows(
            polisher.gather, room.solver.tables, factors, t[filled], x[filled], xdot[filled], p, tolerances
        )
        x[part], xdot[part], done[start : start + rows] = (np.asarray(new)[: len(part)] for new in found)
    return done

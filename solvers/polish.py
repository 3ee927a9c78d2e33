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
from .jacobian import C_ZERO, Gather, fd_rows, gather_tables, matrix_and_probe, matrix_values, pattern_of
from .linear import GOOD_ENOUGH, SingularMatrix, probe_error
from .problem import Problem, kinds

ITERATIONS = 2
LARGEST_SHIFT = 100.0
"""Of x, in units of the tolerance of the result."""
SETTLED = 0.01
"""The last correction, compared with the first or, for x, with the tolerance."""
ROUNDING = 1e-12
"""What is left of a row, compared with its terms, that no correction makes smaller."""
MOST_BYTES = 1e7
"""Rows are worked on together as long as their matrices stay below this, where these are dense."""
FEWEST_ROWS = 16
PART_OF_STEP = 0.5
"""c of a step, roughly: it is its size over the sum 1 + 1/2 + ... of as many terms as its order."""
MOST_NEW_PIVOTS = 8


@dataclass(frozen=True, eq=False)
class Polished:
    x: np.ndarray
    xdot: np.ndarray
    settled: np.ndarray
    """Which rows are consistent now; the others are as they were."""


class Row(NamedTuple):
    """A time with its x and xdot, or many of them; c of the matrix that mends it."""

    t: Any
    x: Any
    xdot: Any
    c: Any
    settled: Any


class Asked(NamedTuple):
    """What is mended, x or xdot, and the tolerances of x; those that are not tested are not moved."""

    x: Any
    rtol: Any
    atol: Any
    tested: Any


class _Polisher:
    """Compiled once for a problem, with factors of its own."""

    def __init__(self, problem: Problem, p: Any, linear_solver: str):
        pattern = pattern_of(problem, p)
        self.problem, self.pattern, self.gather = problem, pattern, gather_tables(pattern)
        self.solver = choose_solver(linear_solver, pattern).solver
        self.is_dense, self.rooms = self.solver.name == "dense", Rooms(self.solver)
        self.values = quick_jit(self._values, problem.size)
        self.rows = quick_jit(self._rows, problem.size)

    def _values(self, gather: Gather, t: Any, x: Any, xdot: Any, c: Any, p: Any) -> jax.Array:
        return matrix_values(self.problem, self.pattern.directions, gather, t, x, xdot, p, c)

    def _rows(self, gather: Gather, tables: Any, factors: Any, rows: Row, p: Any, asked: Asked) -> Row:
        def one(row: Row) -> Row:
            return _polish_row(self, gather, tables, factors, row, p, asked)

        return jax.vmap(one)(rows) if self.is_dense else jax.lax.map(one, rows)

    def at_once(self, rows: int) -> int:
        """How many rows make a call: a power of two, so that other numbers of rows compile nothing new."""
        most = MOST_BYTES / (8 * self.problem.size ** (2 if self.is_dense else 1))
        return int(
            min(1 << max(0, rows - 1).bit_length(), max(FEWEST_ROWS, 1 << int(most).bit_length() - 1))
        )


def _polish_row(
    polisher: _Polisher, gather: Gather, tables: Any, factors: Any, row: Row, p: Any, asked: Asked
) -> Row:
    """The row with x or xdot mended, and whether that has settled."""
    problem, solver, directions = polisher.problem, polisher.solver, polisher.pattern.directions
    t, x, xdot, c, _ = row
    is_fd = fd_rows(problem)
    values, probe = matrix_and_probe(problem, directions, gather, t, x, xdot, p, c)
    factors = solver.factor(tables, values, factors)
    usable = probe_error(solver, tables, factors, probe) <= GOOD_ENOUGH
    weights = asked.tested / (asked.rtol * jnp.abs(x) + asked.atol)

    def off(x: Any, xdot: Any) -> Any:
        """[0; fc], or [fd; d/dt fc]"""
        value, rate = jax.jvp(
            lambda t, x: problem.residual(t, x, xdot, p), (t, x), (jnp.ones_like(t), xdot)
        )
        return jnp.where(asked.x, jnp.where(is_fd, 0.0, value), jnp.where(is_fd, value, rate))

    def at_rounding(residual: Any, vector: Any) -> Any:
        """Whether what is left of each row is rounding of its terms: less cannot be had."""
        terms = jnp.abs(values) * jnp.abs(vector)[gather.columns]
        sizes = jax.ops.segment_sum(terms, gather.rows, problem.size, indices_are_sorted=True)
        return jnp.all(jnp.abs(residual) <= ROUNDING * sizes)

    def improve(_: Any, now: Any) -> Any:
        x, xdot, first, _ = now
        residual = off(x, xdot)
        change = -solver.solve(tables, factors, residual)
        change = jnp.where(asked.x & (asked.tested == 0), 0.0, change)
        size = jnp.where(asked.x, jnp.max(jnp.abs(change * weights)), jnp.max(jnp.abs(change)))
        first = jnp.where(first < 0, size, first)
        enough = jnp.where(asked.x, SETTLED, SETTLED * first)
        settled = (size <= enough) | at_rounding(residual, jnp.where(asked.x, x, xdot))
        return x + jnp.where(asked.x, change, 0.0), xdot + jnp.where(asked.x, 0.0, change), first, settled

    start = (x, xdot, -jnp.ones(()), jnp.zeros((), bool))
    new_x, new_xdot, _, settled = jax.lax.fori_loop(0, ITERATIONS, improve, start)
    settled &= usable & (jnp.max(jnp.abs((new_x - x) * weights)) <= LARGEST_SHIFT)
    settled &= jnp.all(jnp.isfinite(new_xdot)) & jnp.all(jnp.isfinite(new_x))
    return Row(t, jnp.where(settled, new_x, x), jnp.where(settled, new_xdot, xdot), c, settled)


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
    tested = 1.0 - problem.flags("integrals")
    tolerances = np.asarray(rtol, float), np.broadcast_to(np.asarray(atol, float), problem.size), tested
    count = len(t)
    no_step = np.full(count, C_ZERO)
    c = no_step if step is None else np.maximum(PART_OF_STEP * np.asarray(step), C_ZERO)
    row = Row(np.asarray(t), np.array(x), np.array(xdot), c, np.zeros(count, bool))
    with polisher.rooms.one() as room:
        of_x = _polish_all(polisher, room, row, p, Asked(np.asarray(True), *tolerances))
        row = of_x._replace(c=no_step, settled=np.zeros(count, bool))
        new = _polish_all(polisher, room, row, p, Asked(np.asarray(False), *tolerances))
    settled = of_x.settled & new.settled
    chosen = settled[:, None]
    return Polished(np.where(chosen, new.x, x), np.where(chosen, new.xdot, xdot), settled)


def _polish_all(polisher: _Polisher, room: Room, rows: Row, p: Any, asked: Asked) -> Row:
    """All rows, with new pivots where others could make a difference."""
    rows = Row(*(np.array(part) for part in rows))
    waiting, pivots = np.arange(len(rows.t)), 0
    while len(waiting) and pivots < MOST_NEW_PIVOTS:
        _polish_some(polisher, room, rows, p, asked, waiting)
        done = rows.settled[waiting]
        if not polisher.solver.keeps_pivots or not done.any():
            break
        waiting, pivots = waiting[~done], pivots + 1
    return rows


def _polish_some(
    polisher: _Polisher, room: Room, rows: Row, p: Any, asked: Asked, chosen: np.ndarray
) -> None:
    """Polish the chosen rows in place, with pivots for the first of them."""
    first = Row(*(part[chosen[0]] for part in rows))
    try:
        factors = room.solver.prepare(polisher.values(polisher.gather, *first[:4], p))
    except SingularMatrix:
        return
    count, polish_rows = polisher.at_once(len(chosen)), room.wait_for(polisher.rows)
    for start in range(0, len(chosen), count):
        part = chosen[start : start + count]
        filled = np.append(part, np.repeat(part[-1:], count - len(part)))
        given = Row(*(array[filled] for array in rows))
        found = polish_rows(polisher.gather, room.solver.tables, factors, given, p, asked)
        for array, new in zip(rows, found, strict=True):
            array[part] = np.asarray(new)[: len(part)]

"""Rows of output made consistent: x on the constraints, and xdot as accurate as x.

Between two steps the interpolating polynomial keeps the constraints to the tolerance only, and its
derivative is less accurate by an order, while forces are part of xdot. Both are mended by Newton's method
at a fixed matrix, first x, then xdot from it:

    minimize |W shift|  subject to  dfc/dx shift = -fc(t, x),   the smallest move in units of the tolerance,
    M change = [-fd(t, x, xdot); -d/dt fc(t, x)],   xdot from equations and rates of constraints,

with W = 1 / tolerance and the matrix of the special form, M = [dfd/dxdot; dfc/dx]. To leave all states
alone would not do: where a fast state follows an algebraic unknown, as the current of an inductor behind a
diode that blocks, it is the state which is off, and the unknown, moved instead, would be wrong by hundreds
of tolerances. Nor would it do to move x as a step does: what a large gain makes of the error of an unknown
would go into the states.

A row is left as it is where this does not settle, or where x would move by more than interpolation
explains: then its constraints are violated by more than the tolerance, and who checks the rows will see it.

The slope that the equations give is compared with that of the polynomial. They are not the same where
something happened within a step that no step has seen, a short pulse for example. How far x is off there,
the matrix of the step says, M(c) defect = [c fd(t, x, slope of the polynomial); 0].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from ..compile_options import quick_jit
from ..events.restart import rows_of_mode
from ..lanes import each
from ..linear.choice import choose_solver, choose_sparse_lu
from ..matrix.jacobian import (
    C_ZERO,
    Gather,
    Pattern,
    fd_rows,
    gather_tables,
    matrix_values,
    pattern_of,
    value_and_rate,
)
from ..problem import Problem, kinds
from .many_systems import ManySystems

ITERATIONS = 2
LARGEST_SHIFT = 100.0
"""Of x, in units of the tolerance of the result."""
SETTLED = 0.01
"""The last correction, compared with the first or, for x, with the tolerance."""
EXACT, ROUNDING = 1e-15, 1e-12
"""What is left of an equation, compared with its terms: nothing is to be mended; a correction that does not
make it smaller has settled nevertheless."""
MOST_BYTES = 1e7
"""Rows of output are worked on together as long as their matrices stay below this."""
FEWEST_ROWS = 16
PART_OF_STEP = 0.5
"""c of a step, roughly: it is its size over the sum 1 + 1/2 + ... of as many terms as its order."""
SUSPECT = 10.0
"""Tolerances that x would be off by a step later if the slope of the polynomial is wrong, nothing stiff."""


@dataclass(frozen=True, eq=False)
class Polished:
    """Rows of output, made consistent.

    Attributes
    ----------
    x, xdot : array
        The rows, shape (nt, size).
    settled : array
        Which rows are consistent now; the others are as they were.
    defect : array
        By how much states do not follow their equations between steps, in tolerances, at most.
    element : array
        Of which element of x that is.
    sign : array
        Of the determinant of M: it does not change along a solution. Zero where it is not known.
    """

    x: np.ndarray
    xdot: np.ndarray
    settled: np.ndarray
    defect: np.ndarray
    element: np.ndarray
    sign: np.ndarray


class Rows(NamedTuple):
    """Times with their x and xdot, and discrete values, if there are any."""

    t: Any
    x: Any
    xdot: Any
    d: Any

    def some(self, chosen: np.ndarray) -> Rows:
        return Rows(*(part[chosen] for part in self))


class Tolerances(NamedTuple):
    """Of the result; which elements of x are tested, and which of these are states."""

    rtol: float
    atol: np.ndarray
    tested: np.ndarray
    is_state: np.ndarray

    def of(self, x: np.ndarray) -> np.ndarray:
        return self.rtol * np.abs(x) + self.atol


class _Polisher:
    """Compiled once for a problem: its residuals, rates and matrices at many times."""

    def __init__(self, problem: Problem, p: Any, linear_solver: str):
        pattern = pattern_of(problem, p)
        self.problem, self.pattern, self.gather = problem, pattern, gather_tables(pattern)
        self.form = ManySystems(pattern, choose_solver(linear_solver, pattern).solver)
        self.nearest = _Nearest(problem, pattern, self.form.is_dense)
        self._compiled_values = quick_jit(self._values, problem.size)
        self._compiled_residuals = quick_jit(self._residuals, problem.size)
        self.flags = quick_jit(self._flags, problem.size)
        planned = problem.planned if problem.events is None else None  # each row has its discrete values
        self.native = planned if planned is not None and planned.at_many and self.form.is_dense else None

    def values(self, rows: Rows, c: np.ndarray, p: Any) -> np.ndarray:
        """The entries of M(c) at each row."""
        if self.native is not None:
            z = np.arange(self.pattern.directions)[:, None] == self.pattern.colours
            products = self.native.products(*rows[:3], p, c, z.astype(float))
            products = np.where(self.problem.row_flags, products, products / c[:, None, None])
            if np.isfinite(products).all():  # else a point aside is looked for
                return products.reshape(len(c), -1)[:, np.asarray(self.gather.positions)]
        return np.asarray(self._compiled_values(self.gather, rows, c, p))

    def residuals(self, rows: Rows, p: Any) -> np.ndarray:
        if self.native is not None:
            return self.native.values(*rows[:3], p)
        return np.asarray(self._compiled_residuals(rows, p)[0])

    def rates(self, rows: Rows, p: Any) -> np.ndarray:
        """[fd; d/dt fc] at each row."""
        if self.native is not None:
            value, rate = self.native.values(*rows[:3], p), self.native.rates(*rows[:3], p)
        else:
            value, rate = map(np.asarray, self._compiled_residuals(rows, p))
        return np.where(self.is_fd(rows, p), value, rate)

    def _each(self, function: Any, rows: Any) -> Any:
        """The function of each row: at once where vectors are short."""
        return each(function, rows, self.problem.one_by_one or not self.form.is_dense)

    def _values(self, gather: Gather, rows: Rows, c: Any, p: Any) -> jax.Array:
        def one(row: tuple[Rows, Any]) -> jax.Array:
            at, c = row
            return matrix_values(
                self.problem, self.pattern.directions, gather, *at[:3], self._own(at, p), c
            )

        return self._each(one, (rows, c))

    def _residuals(self, rows: Rows, p: Any) -> tuple[jax.Array, jax.Array]:
        def one(row: Rows) -> tuple[jax.Array, jax.Array]:
            return value_and_rate(self.problem, *row[:3], self._own(row, p))

        return self._each(one, rows)

    def _own(self, row: Rows, p: Any) -> Any:
        """The parameters of a row: with its discrete values, and in its mode."""
        events = self.problem.events
        if events is None:
            return p
        return rows_of_mode(self.problem, *row[:3], events.with_discretes(p, row.d))

    def _flags(self, rows: Rows, p: Any) -> jax.Array:
        return self._each(lambda row: fd_rows(self.problem, self._own(row, p)), rows)

    def is_fd(self, rows: Rows, p: Any) -> np.ndarray:
        """Flags of the rows of the residual that contain derivatives: for each row of output where there
        are events, else once."""
        if self.problem.events is None:
            return self.problem.row_flags
        return np.asarray(self.flags(rows, p))

    def at_once(self, rows: int) -> int:
        """How many rows make a call: a power of two, so that other numbers of rows compile nothing new."""
        n = self.problem.size
        entries = (2 * n) ** 2 if self.form.is_dense else 2 * self.pattern.entries + n
        most = max(FEWEST_ROWS, 1 << max(1, int(MOST_BYTES / (8 * entries))).bit_length() - 1)
        return int(min(1 << max(0, rows - 1).bit_length(), most))

    def relative(self, values: np.ndarray, left: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        """What is left of the equations of each row, compared with their terms; the largest."""
        terms = self.form.product(np.abs(values), np.abs(vectors))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(left == 0.0, 0.0, np.abs(left) / terms).max(axis=1)


class _Nearest:
    """The smallest shift onto the constraints: with J = dfc/dx and y = W shift,

    [I, (J/W)^T; J/W, 0] [y; nu] = [0; -fc].
    """

    def __init__(self, problem: Problem, pattern: Pattern, is_dense: bool):
        self.n = problem.size
        self.constraints = np.flatnonzero(~problem.row_flags)
        self.entries = np.flatnonzero(~problem.row_flags[pattern.rows])
        number = np.cumsum(~problem.row_flags) - 1
        of_row = pattern.rows[self.entries]
        self.first = np.flatnonzero(np.diff(of_row, prepend=-1))  # entry of each constraint
        self.lengths = np.diff(np.append(self.first, len(of_row)))
        row, self.column = self.n + number[pattern.rows[self.entries]], pattern.columns[self.entries]
        rows = np.concatenate([np.arange(self.n), row, self.column])
        columns = np.concatenate([np.arange(self.n), self.column, row])
        self.order = np.lexsort((columns, rows))
        size = self.n + len(self.constraints)
        rows, columns = rows[self.order].astype(np.int32), columns[self.order].astype(np.int32)
        whole = Pattern(size, rows, columns, np.zeros(size, np.int32))
        self.systems = None
        if len(self.constraints):
            chosen = choose_solver("dense", whole) if is_dense else choose_sparse_lu(whole)
            self.systems = ManySystems(whole, chosen.solver)

    def shift(self, values: np.ndarray, off: np.ndarray, tolerance: np.ndarray) -> np.ndarray:
        """The shift for each row; NaN where there is none."""
        if self.systems is None:
            return np.zeros_like(off)
        slopes = values[:, self.entries] * tolerance[:, self.column]
        # With slopes of about one, any order of elimination will do.
        scale = np.maximum.reduceat(np.abs(slopes), self.first, axis=1)
        scale = 1.0 / np.where(scale > 0.0, scale, 1.0)
        slopes = slopes * np.repeat(scale, self.lengths, axis=1)
        parts = [np.ones((len(values), self.n)), slopes, slopes]
        right = np.concatenate([np.zeros((len(values), self.n)), -scale * off[:, self.constraints]], axis=1)
        found = self.systems.solve(np.concatenate(parts, axis=1)[:, self.order], right)
        return tolerance * found[:, : self.n]


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
    discretes: np.ndarray | None = None,
    linear_solver: str = "auto",
) -> Polished:
    """Make rows (t, x, xdot) of a solution consistent where they are nearly so.

    Parameters
    ----------
    problem : Problem
        The residual, and which of its rows contain derivatives.
    t, x, xdot : array
        Times, shape (nt,), and values there, shape (nt, size).
    p : pytree of arrays, optional
        Parameters.
    rtol : float
        Relative tolerance of the result.
    atol : float or array
        Absolute tolerance: one number, or one for each element of x.
    step : array, optional
        The step of the integrator around each row; None, or zero: no defect is computed.
    discretes : array, optional
        For a problem with events, the discrete values at each time, shape (nt, number of them).
    linear_solver : {"auto", "dense", "band", "klu", "superlu", "cholmod"}
        What solves the systems of all rows, as for `solve`.

    Returns
    -------
    Polished
        New rows, and which of them are consistent.
    """
    key, polishers = (linear_solver, kinds(p)), problem.cache.polishers
    if key not in polishers:
        polishers[key] = _Polisher(problem, p, linear_solver)
    polisher: _Polisher = polishers[key]
    tested = ~problem.flags("integrals")
    limits = Tolerances(
        float(rtol), np.broadcast_to(np.asarray(atol, float), problem.size), tested,
        tested & ~problem.flags("algebraic"),
    )  # fmt: skip
    steps = np.zeros(len(t)) if step is None else np.asarray(step)
    # What passes zero is known no better there than elsewhere.
    largest = limits.of(np.max(np.where(np.isfinite(x), np.abs(x), 0.0), axis=0, keepdims=True))
    nothing = np.zeros(len(t))
    of_rows = np.zeros((len(t), 0)) if discretes is None else discretes
    new = Polished(
        np.array(x),
        np.array(xdot),
        nothing > 0,
        nothing.copy(),
        nothing.astype(int),
        nothing.copy(),
    )
    count = polisher.at_once(len(t))
    for start in range(0, len(t), count):
        part = np.arange(start, min(start + count, len(t)))
        filled = np.append(part, np.repeat(part[-1:], count - len(part)))
        rows = Rows(np.asarray(t), x, xdot, of_rows).some(filled)
        mended, settled, sign = _mend(polisher, rows, p, limits, largest)
        defect, element = _defect(polisher, mended, rows.xdot, settled, steps[filled], p, limits)
        chosen = np.flatnonzero(settled[: len(part)])
        new.x[part[chosen]], new.xdot[part[chosen]] = mended.x[chosen], mended.xdot[chosen]
        new.settled[part], new.sign[part] = settled[: len(part)], sign[: len(part)]
        new.defect[part], new.element[part] = defect[: len(part)], element[: len(part)]
    return new


def _mend(
    polisher: _Polisher, rows: Rows, p: Any, limits: Tolerances, largest: np.ndarray
) -> tuple[Rows, np.ndarray, np.ndarray]:
    """First x, then xdot; which rows have settled, and the signs of their matrices."""
    count = len(rows.t)
    constraints = ~polisher.problem.row_flags
    tolerance, zero = limits.of(rows.x), np.full(count, C_ZERO)
    values = polisher.values(rows, zero, p)
    x, settled = rows.x, np.zeros(count, bool)
    for _ in range(ITERATIONS):
        off = np.where(constraints, polisher.residuals(rows._replace(x=x), p), 0.0)
        left = polisher.relative(values, off, x)
        if np.all(left <= EXACT):
            break
        change = np.where(limits.tested, polisher.nearest.shift(values, off, tolerance), 0.0)
        x = x + change
        settled = np.all(np.abs(change) <= SETTLED * largest, axis=1) | (left <= ROUNDING)
    settled = (settled | (left <= EXACT)) & np.all(np.abs(x - rows.x) <= LARGEST_SHIFT * largest, axis=1)
    mended = rows._replace(x=np.where(settled[:, None], x, rows.x))

    if not np.array_equal(mended.x, rows.x):  # matrices are the larger part of the work
        values = polisher.values(mended, zero, p)
    rows = mended
    xdot, sizes = rows.xdot, [np.zeros(count)]
    for _ in range(ITERATIONS):
        off = polisher.rates(rows._replace(xdot=xdot), p)
        left = polisher.relative(values, off, xdot)
        if np.all((left <= EXACT) | ~settled):
            break
        change = polisher.form.solve(values, -off)
        xdot = xdot + change
        sizes.append(np.abs(change).max(axis=1))
    settled &= (left <= ROUNDING) | (sizes[-1] <= SETTLED * sizes[min(1, len(sizes) - 1)])
    settled &= np.all(np.isfinite(xdot), axis=1)
    return rows._replace(xdot=xdot), settled, polisher.form.signs(values)


def _defect(
    polisher: _Polisher,
    rows: Rows,
    slope: np.ndarray,
    settled: np.ndarray,
    step: np.ndarray,
    p: Any,
    limits: Tolerances,
) -> tuple[np.ndarray, np.ndarray]:
    """How far states are off at most, and which: see the top of this file."""
    weights, none = limits.is_state / limits.of(rows.x), np.zeros(len(step))
    with np.errstate(over="ignore", invalid="ignore"):
        later = np.abs((rows.xdot - slope) * weights).max(axis=1) * step
    suspect = settled & (step > 0) & (later > SUSPECT)
    if not suspect.any():
        return none, none.astype(int)
    c = np.maximum(PART_OF_STEP * step, C_ZERO)
    values = polisher.values(rows, c, p)
    off = polisher.residuals(rows._replace(xdot=slope), p)
    right = np.where(polisher.is_fd(rows, p), -c[:, None] * off, 0.0)
    found = np.abs(polisher.form.solve(values, right) * weights)
    return np.where(suspect, found.max(axis=1), 0.0), np.argmax(found, axis=1)

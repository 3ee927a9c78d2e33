"""The two matrices of an implicit Runge-Kutta method, a real and a complex one of one pattern, solved.

Where the real one is solved by dense elimination, so is the complex one. Other linear solvers know real
numbers only, and get

    (R + i J) (u + i v) = a + i b        as        [ R  -J ] [ u ]   [ a ]
                                                   [ J   R ] [ v ] = [ b ],

real and imaginary parts of each unknown beside each other, so that a band stays a band.

To the rest of the integrator a pair is a linear solver (`contract`) for the real matrix, whose factors
carry those of the complex one with them.
"""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..matrix.jacobian import Pattern
from .band import BandSolver
from .choice import choose_solver, choose_sparse_lu
from .contract import NEEDS_PIVOTS, LinearSolver, Offer
from .dense import DenseFactors, DenseSolver


class Pair(NamedTuple):
    """Of a real and a complex matrix: values, tables, ..."""

    real: Any
    complex: Any


class StageFactors(NamedTuple):
    real: Any
    complex: Any
    of_slopes: Any
    of_values: Any
    """Derivatives of the equations by xdot and by x, from which matrices for other steps are made: entries
    in the order of the pattern."""


class StageSolver:
    """A linear solver for the real matrix, with one for the complex matrix beside it."""

    solves_columns = False
    batches_factors = False

    def __init__(self, pattern: Pattern, real: Any, complex_: Any):
        self.real, self.complex, self._entries = real, complex_, pattern.entries
        self.name = real.name
        self.keeps_pivots = real.keeps_pivots or complex_.keeps_pivots

    @property
    def tables(self) -> Pair:
        return Pair(self.real.tables, self.complex.tables)

    @property
    def no_factors(self) -> Any:
        parts = self.real.no_factors, self.complex.no_factors
        if any(part is NEEDS_PIVOTS for part in parts):
            return NEEDS_PIVOTS
        nothing = np.zeros(self._entries)
        return StageFactors(*parts, nothing, nothing)

    def twin(self) -> StageSolver:
        other = copy(self)
        other.real, other.complex = self.real.twin(), self.complex.twin()
        return other

    def prepare(self, values: Pair) -> StageFactors:
        nothing = jnp.zeros(self._entries)
        return StageFactors(
            self.real.prepare(values.real), self.complex.prepare(values.complex), nothing, nothing
        )

    def factor(self, tables: Pair, values: jax.Array, old: StageFactors) -> StageFactors:
        """Factorize the real matrix; the complex one stays what it was."""
        return old._replace(real=self.real.factor(tables.real, values, old.real))

    def factor_both(self, tables: Pair, values: Pair, old: StageFactors) -> StageFactors:
        return old._replace(
            real=self.real.factor(tables.real, values.real, old.real),
            complex=self.complex.factor(tables.complex, values.complex, old.complex),
        )

    def solve(self, tables: Pair, factors: StageFactors, b: jax.Array) -> jax.Array:
        return self.real.solve(tables.real, factors.real, b)

    def solve_complex(self, tables: Pair, factors: StageFactors, b: jax.Array) -> jax.Array:
        return self.complex.solve(tables.complex, factors.complex, b)

    def solve_transposed(self, tables: Pair, factors: StageFactors, b: jax.Array) -> jax.Array:
        return self.real.solve_transposed(tables.real, factors.real, b)

    def release(self) -> None:
        self.real.release()
        self.complex.release()


class ComplexDense(DenseSolver):
    """Dense elimination, which takes complex numbers as they are."""

    def __init__(self, pattern: Pattern):
        super().__init__(pattern)
        n = pattern.size
        nothing: Any = np.eye(n, dtype=complex), np.ones(n), np.arange(n, dtype=np.int32)
        self.no_factors = DenseFactors(*nothing)


class ComplexByParts:
    """A complex matrix by a linear solver for real ones of twice the size."""

    def __init__(self, pattern: Pattern, solver: LinearSolver):
        self.solver, self.name, self.keeps_pivots = solver, solver.name, solver.keeps_pivots
        self.no_factors, self.solves_columns = solver.no_factors, False
        self.batches_factors = False
        self._order, _ = _doubled(pattern)

    @property
    def tables(self) -> Any:
        return self._order, self.solver.tables

    def twin(self) -> ComplexByParts:
        other = copy(self)
        other.solver = self.solver.twin()
        return other

    def prepare(self, values: jax.Array) -> Any:
        return self.solver.prepare(_by_parts(self._order, values))

    def factor(self, tables: Any, values: jax.Array, old: Any) -> Any:
        order, own = tables
        return self.solver.factor(own, _by_parts(order, values), old)

    def solve(self, tables: Any, factors: Any, b: jax.Array) -> jax.Array:
        _, own = tables
        found = self.solver.solve(own, factors, jnp.stack([b.real, b.imag], axis=1).ravel())
        return jax.lax.complex(found[::2], found[1::2])

    def solve_transposed(self, tables: Any, factors: Any, b: jax.Array) -> jax.Array:
        """The transpose of the doubled matrix is the doubled one of the conjugate transpose."""
        _, own = tables
        found = self.solver.solve_transposed(own, factors, jnp.stack([b.real, -b.imag], axis=1).ravel())
        return jax.lax.complex(found[::2], -found[1::2])

    def release(self) -> None:
        self.solver.release()


def choose_stage_solver(name: str, pattern: Pattern, values: jax.Array | None = None) -> Offer:
    """The pair of a name, or for "auto" the one that suits the real matrix; the complex matrix, which is
    not Hermitian, gets the same, or instead of Cholesky's the sparse elimination there is."""
    real = choose_solver(name, pattern, values)
    if isinstance(real.solver, DenseSolver):
        pair: Any = StageSolver(pattern, real.solver, ComplexDense(pattern))
        return Offer(pair, real.reason)
    _, doubled = _doubled(pattern)
    if real.solver.name == "cholmod":
        half = choose_sparse_lu(doubled)
    elif isinstance(real.solver, BandSolver):
        half = Offer(BandSolver(doubled, real.solver.order.repeated(2)), real.reason)
    else:
        half = choose_solver(real.solver.name, doubled)
    pair = StageSolver(pattern, real.solver, ComplexByParts(pattern, half.solver))
    own = "" if half.solver.name == real.solver.name else f" by {half.solver.name}"
    return Offer(
        pair, f"{real.reason}; the complex matrix of the stages{own} as a real one of twice the size"
    )


def _doubled(pattern: Pattern) -> tuple[jax.Array, Pattern]:
    """The pattern with two rows and columns for each; and which of [real, -imaginary, imaginary, real]
    entries comes where."""
    rows = np.concatenate([2 * pattern.rows + of_row for of_row in (0, 0, 1, 1)])
    columns = np.concatenate([2 * pattern.columns + of_column for of_column in (0, 1, 0, 1)])
    order = np.lexsort((columns, rows))
    # Colours are for derivatives, of which nobody takes any here.
    colours = np.zeros(2 * pattern.size, np.int32)
    return jnp.asarray(order), Pattern(2 * pattern.size, rows[order], columns[order], colours)


def _by_parts(order: jax.Array, values: jax.Array) -> jax.Array:
    real, imaginary = values.real, values.imag
    return jnp.concatenate([real, -imaginary, imaginary, real])[order]

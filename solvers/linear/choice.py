"""Which linear solver suits a matrix: from its size, its pattern, and its symmetry."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from ..matrix.jacobian import Pattern
from .contract import LinearSolver, SingularMatrix

DENSE_UP_TO = 40
"""Below this size dense elimination costs less than looking up indices."""
DENSE_FILL = 0.4
DENSE_FILL_UP_TO = 500
"""A matrix with so many entries gains nothing from sparsity, as long as it is not large."""

CHOLESKY_FROM = 5000
CHOLESKY_ENTRIES = 3.5
"""Cholesky is tried for large matrices with more entries a row than a chain has: a chain has no fill, and
KLU solves it without leaving the compiled loop."""

NAMES = ("auto", "dense", "band", "klu", "superlu", "cholmod")


@dataclass(frozen=True, eq=False)
class ChosenSolver:
    solver: LinearSolver
    reason: str

    def __str__(self) -> str:
        return f"{self.solver.name}: {self.reason}"


def choose_solver(name: str, pattern: Pattern, values: jax.Array | None = None) -> ChosenSolver:
    """The linear solver of a given name, or for "auto" the one that suits the matrix best."""
    if name not in NAMES:
        raise ValueError(f"There is no linear solver '{name}'; there are {', '.join(NAMES)}.")
    if name != "auto":
        return ChosenSolver(_make(name, pattern), "as asked for")
    n, fill = pattern.size, pattern.entries / pattern.size**2
    if n <= DENSE_UP_TO:
        return ChosenSolver(_make("dense", pattern), f"{n} unknowns are few")
    if fill >= DENSE_FILL and n <= DENSE_FILL_UP_TO:
        return ChosenSolver(_make("dense", pattern), f"{100 * fill:.0f} % of the entries are nonzero")
    if jax.default_backend() != "cpu":
        return ChosenSolver(_make("dense", pattern), "sparse solvers are there on a CPU only")
    chosen = _try_band(pattern)
    if chosen is None and values is not None and may_be_symmetric(pattern):
        chosen = _try_cholesky(pattern, np.asarray(values))
    if chosen is not None:
        return chosen
    return ChosenSolver(_make("klu", pattern), f"{n} unknowns, {entries_a_row(pattern):.1f} entries a row")


def may_be_symmetric(pattern: Pattern) -> bool:
    """Whether a look at the values is worth while: the pattern is one that Cholesky is good for."""
    return pattern.size >= CHOLESKY_FROM and entries_a_row(pattern) > CHOLESKY_ENTRIES


def entries_a_row(pattern: Pattern) -> float:
    return pattern.entries / pattern.size


def _try_band(pattern: Pattern) -> ChosenSolver | None:
    from .band import BandSolver, narrow_order, native_functions

    order = narrow_order(pattern)
    if order is None or native_functions() is None:
        return None
    reason = f"{pattern.size} unknowns, {order.lower} diagonals below the main one and {order.upper} above"
    return ChosenSolver(BandSolver(pattern, order), reason)


def _try_cholesky(pattern: Pattern, values: np.ndarray) -> ChosenSolver | None:
    from .cholmod import CholmodSolver, import_cholmod, is_symmetric

    if import_cholmod() is None or not is_symmetric(pattern, values):
        return None
    solver = CholmodSolver(pattern)
    try:
        solver.prepare(jnp.asarray(values))
    except SingularMatrix:
        return None
    return ChosenSolver(solver, f"{pattern.size} unknowns, symmetric positive definite")


def _make(name: str, pattern: Pattern) -> LinearSolver:
    # Imported when chosen: each brings a library with it.
    if name == "dense":
        from .dense import DenseSolver

        return DenseSolver(pattern)
    if name == "superlu":
        from .superlu import SuperLUSolver

        return SuperLUSolver(pattern)
    if name == "cholmod":
        from .cholmod import CholmodSolver

        return CholmodSolver(pattern)
    if name == "band":
        from .band import BandSolver

        return BandSolver(pattern)
    from .klu import KLUSolver

    return KLUSolver(pattern)

"""Which linear solver suits a matrix: from its size, its pattern, and its symmetry."""

from __future__ import annotations

from dataclasses import dataclass

import jax

from .jacobian import Pattern
from .linear import LinearSolver

DENSE_UP_TO = 40
"""Below this size dense elimination costs less than looking up indices."""
DENSE_FILL = 0.4
DENSE_FILL_UP_TO = 500
"""A matrix with so many entries gains nothing from sparsity, as long as it is not large."""

NAMES = ("auto", "dense", "klu", "superlu", "cholmod")


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
    return ChosenSolver(_make("klu", pattern), f"{n} unknowns, {pattern.entries / n:.1f} entries a row")


def _make(name: str, pattern: Pattern) -> LinearSolver:
    # Imported when chosen: each brings a library with it.
    if name == "dense":
        from .linear_dense import DenseSolver

        return DenseSolver(pattern)
    from .linear_klu import KLUSolver

    return KLUSolver(pattern)

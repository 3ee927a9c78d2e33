"""The linear solvers there are, and which of them suits a matrix.

To add one, write it in a file of this folder (`contract`) and name it in the table: "auto" asks all of them
in this order, and takes the first that offers itself.
"""

from __future__ import annotations

from importlib import import_module

import jax
import numpy as np

from ..matrix.jacobian import Pattern
from .contract import LinearSolver, Offer

SOLVERS = {
    "dense": "dense.DenseSolver",
    "band": "band.BandSolver",
    "cholmod": "cholmod.CholmodSolver",
    "klu": "klu.KLUSolver",
    "superlu": "superlu.SuperLUSolver",
}
"""Module and class of each. They are imported when asked: each brings a library with it."""
NAMES = ("auto", *SOLVERS)

LOOKED_AT_FROM = 5000
LOOKED_AT_ENTRIES = 3.5
"""Values are looked at, for Cholesky, of large matrices with more entries a row than a chain has: a chain
has no fill, and is solved without leaving the compiled loop."""


def choose_solver(name: str, pattern: Pattern, values: jax.Array | None = None) -> Offer:
    """The linear solver of a given name, or for "auto" the one that suits the matrix best."""
    if name not in NAMES:
        raise ValueError(f"There is no linear solver '{name}'; there are {', '.join(NAMES)}.")
    if name != "auto":
        return Offer(_class_of(name)(pattern), "as asked for")
    seen = np.asarray(values) if values is not None and may_be_symmetric(pattern) else None
    offers = (_class_of(known).offer(pattern, seen) for known in SOLVERS)
    return next(offer for offer in offers if offer is not None)


def choose_sparse_lu(pattern: Pattern) -> Offer:
    """One for any sparse matrix, which chooses its pivots."""
    offers = (_class_of(known).offer(pattern, None) for known in ("klu", "superlu"))
    return next(offer for offer in offers if offer is not None)


def may_be_symmetric(pattern: Pattern) -> bool:
    """Whether a look at the values is worth while: the pattern is one that Cholesky is good for."""
    return pattern.size >= LOOKED_AT_FROM and pattern.entries_a_row > LOOKED_AT_ENTRIES


def _class_of(name: str) -> type[LinearSolver]:
    module, _, solver = SOLVERS[name].partition(".")
    return getattr(import_module(f".{module}", __package__), solver)

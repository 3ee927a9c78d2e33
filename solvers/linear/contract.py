"""The contract of linear solvers, and how well a factorization does.

A linear solver is made for one pattern. `prepare` runs outside of compiled code and chooses pivots;
`factor`, `solve` and `solve_transposed` are traced into the loop. Factors are a pytree of arrays that
travels through the loop; whatever is large and constant is in `tables`, which the loop takes as an
argument. `release` frees what `prepare` has made.

XLA runs independent calls of one program on several threads at once. So `solve` and `solve_transposed`
change nothing that another call could see; where a library needs memory that belongs to its factors, one
call at a time gets it. Factors that live outside of JAX are overwritten by the next factorization: they
have a number, which the loop carries in their place and which puts the calls in order, and a solve with a
number that is past gives NaN.

A factorization with old pivots may be useless without anybody saying so. `probe_error` solves for a known
vector and says how far off the result is: small against one means good enough for Newton's iteration,
which corrects the rest. The vector is made of ones, which is cheap, but no fair question where an equation
has a coefficient of 1e-15 beside one of 1 (a capacitor of 1 fF, and its current): rounding of the one term
is as large as the other. Where the answer is wrong, it is asked again with a vector whose elements weigh
the same in the equations.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from ..matrix.jacobian import Gather, Pattern, Probe

Factors = Any

NEEDS_PIVOTS: Any = object()

GOOD_ENOUGH = 1e-2
"""Largest error of the probe: Newton then still gains two digits an iteration."""


class LinearSolver(Protocol):
    """Solves M x = b for many M of one pattern."""

    name: str
    keeps_pivots: bool
    """Whether `factor` uses the pivots of the old factors, which may have become bad ones."""
    no_factors: Any
    """What `factor` takes for old factors where there are none; NEEDS_PIVOTS where `prepare` has to come
    first."""
    solves_columns: bool
    """Whether `solve` takes a matrix, too, with a right-hand side in each column."""
    batches_factors: bool
    """Whether factors are arrays of JAX that may have another axis, one for each of many matrices."""
    tables: Any

    def __init__(self, pattern: Pattern): ...

    @classmethod
    def offer(cls, pattern: Pattern, values: np.ndarray | None) -> Offer | None:
        """A solver if it suits the matrix, and why; "auto" takes the first one (`choice`). Values of the
        matrix are given where `choice.may_be_symmetric`."""

    def twin(self) -> LinearSolver:
        """One for the same pattern with room for factors of its own, for a run beside this one's. What is
        compiled for the one does for the other, with the other's tables. Where nothing lives outside of
        JAX, it is the same."""

    def prepare(self, values: jax.Array) -> Factors:
        """Factorize with new pivots. Outside of compiled code. Raises `SingularMatrix`."""

    def factor(self, tables: Any, values: jax.Array, old: Factors) -> Factors:
        """Factorize other values, where useful with the pivots of the old factors."""

    def solve(self, tables: Any, factors: Factors, b: jax.Array) -> jax.Array:
        """x with M x = b."""

    def solve_transposed(self, tables: Any, factors: Factors, b: jax.Array) -> jax.Array:
        """x with M^T x = b."""

    def release(self) -> None:
        """Free what lives outside of JAX."""


class Offer(NamedTuple):
    """A solver for a pattern, and why it suits."""

    solver: LinearSolver
    reason: str

    def __str__(self) -> str:
        return f"{self.solver.name}: {self.reason}"


class SingularMatrix(ArithmeticError):
    """A pivot is exactly zero."""


def probe_error(solver: LinearSolver, tables: Any, factors: Factors, probe: Probe) -> jax.Array:
    """The largest relative error of an element of M^-1 (M w), for a known vector w."""
    return jnp.max(jnp.abs(solver.solve(tables, factors, probe.product) / probe.vector - 1.0))


def balanced_probe(gather: Gather, values: jax.Array, size: int) -> Probe:
    """A vector whose elements contribute terms of about the same size, compared with the largest
    coefficient of each equation; not finite where a row or a column vanishes."""
    entries = jnp.abs(values)
    of_rows = jax.ops.segment_max(entries, gather.rows, size, indices_are_sorted=True)
    of_columns = jax.ops.segment_max(entries / of_rows[gather.rows], gather.columns, size)
    vector = (1.0 - 2.0 * (gather.colours % 2)) / of_columns
    terms = values * vector[gather.columns]
    return Probe(vector, jax.ops.segment_sum(terms, gather.rows, size, indices_are_sorted=True))

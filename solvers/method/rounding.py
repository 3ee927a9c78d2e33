"""How exactly the equations determine x in finite precision.

Each term of a row is rounded, row i of the scaled equations by about eps * sum_j |M_ij| |x_j|. Terms of the
time alone, and those inside of a row that cancel (large voltages whose difference is what drives a diode),
are not in that sum: a look at the equations a few units of rounding aside shows what they do. What all this
does to x is the matrix's to say: M^-1 times such a vector. Rounding comes in two kinds:

- of constraint rows, and of x itself; and of time, for algebraic elements that move fast (where a diode
  begins to block behind an inductance, by volts within a unit of rounding of the time). No step is small
  enough for a tolerance below it. An element that is small beside those it is computed from, like the last
  concentration from "all of them add up to one", is known only to the rounding of those.
- of fd rows, which carry the factor c: smaller steps make it smaller, at the price of more of them.

Both are computed along with the matrix and kept as long as it is. The tolerance of the error test is not
let below `FLOOR` times the first kind, whatever was asked for (this is counted and told); because of the
second kind it is loosened to a part of what was asked for at most, and then steps have to be smaller.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..linear.contract import LinearSolver
from ..matrix.jacobian import Gather, fd_rows
from ..problem import Problem

FLOOR = 20.0
"""Smallest tolerance of an element in units of its rounding: the error test sees differences of up to seven
values, each of them rounded."""
LOOSEN = 0.2
"""Because of fd rows, the tolerance of a step is loosened to this part of the tolerance of the result."""
NEAR = 0.1
"""Rounding matters from this part of the tolerance of a step on, in units of FLOOR."""
FAR_AWAY, REST = 0.01 * NEAR, 8.0
"""Where rounding is below this part of the tolerance, it is looked at with every ninth matrix only: a look
takes longer than the matrix itself."""
ROUNDING_REACHED = 2.0
"""Changes of so many units of rounding end Newton's iteration."""
FORGET = 0.5
"""What is left of a former level when the matrix is renewed: one choice of signs may be a lucky one."""
GOLDEN = 0.6180339887498949
"""Fractions of its multiples are spread evenly: signs without a pattern, the same in every run."""


class Rounding(NamedTuple):
    """By how much rounding moves each element of x."""

    of_constraints: jax.Array
    of_slopes: jax.Array
    matters: jax.Array
    """Whether any of it comes near the tolerance. If not, large problems do not look at it in each step."""
    largest: jax.Array
    """Where it comes nearest, as a part of the tolerance of a step."""
    c: jax.Array
    """Where it was looked at,"""
    rest: jax.Array
    """and how many matrices from now on it need not be looked at, if it is far away."""


def no_rounding(x: jax.Array) -> Rounding:
    """Before the first look: near, so that one will be taken."""
    zero, one = jnp.zeros(()), jnp.ones(())
    return Rounding(jnp.zeros_like(x), jnp.zeros_like(x), jnp.zeros((), bool), one, zero, zero)


def is_far_away(former: Rounding, c: jax.Array, from_here: float = FAR_AWAY) -> jax.Array:
    """Whether rounding may be left alone for once. That of fd rows grows with c. (Where a look needs a
    matrix that is not needed for anything else, it is left alone until it is `NEAR`.)"""
    growth = jnp.maximum(1.0, c / former.c)
    return (former.rest > 0) & (growth * former.largest <= from_here)


def not_looked(former: Rounding) -> Rounding:
    return former._replace(rest=former.rest - 1)


def rounding_level(
    problem: Problem,
    solver: LinearSolver,
    tables: Any,
    factors: Any,
    gather: Gather,
    values: jax.Array,
    t: jax.Array,
    x: jax.Array,
    xdot: jax.Array,
    c: jax.Array,
    trial: jax.Array,
    p: Any,
) -> tuple[jax.Array, jax.Array]:
    """The levels of constraints and of slopes for a matrix with these values. Signs are others at each
    trial."""
    eps = jnp.finfo(x.dtype).eps
    size = jnp.abs(x)
    if problem.integrals is not None:  # F does not depend on them, only on their slopes
        size = jnp.where(jnp.asarray(problem.integrals), jnp.abs(c * xdot), size)
    terms = jnp.abs(values) * size[gather.columns]
    rows = eps * jax.ops.segment_sum(terms, gather.rows, problem.size, indices_are_sorted=True)
    spread = (jnp.arange(1, problem.size + 1) * (trial + 1.0) * GOLDEN) % 1.0
    is_fd, signs = fd_rows(problem, p), jnp.where(spread < 0.5, 1.0, -1.0)

    def aside(side: jax.Array) -> jax.Array:
        return problem.residual(t * (1.0 + side * eps), x * (1.0 + side * eps * signs), xdot, p)

    low, high = jax.lax.map(aside, jnp.array([-1.0, 1.0]))
    seen = 0.5 * jnp.abs(high - low) * jnp.where(is_fd, c, 1.0)
    rows = signs * jnp.maximum(rows, jnp.where(jnp.isfinite(seen), seen, 0.0))

    def moved(rows: jax.Array) -> jax.Array:
        level = jnp.abs(solver.solve(tables, factors, rows))
        return jnp.where(jnp.isfinite(level), level, 0.0)

    # One after the other: beside each other they would wait for each other, or for memory.
    both = jnp.stack([jnp.where(is_fd, 0.0, rows), jnp.where(is_fd, rows, 0.0)])
    of_constraints, of_slopes = jax.lax.map(moved, both)
    if problem.algebraic is not None:  # they move while time stands still
        blurred = jnp.where(jnp.asarray(problem.algebraic), eps * jnp.abs(t * xdot), 0.0)
        of_constraints = jnp.maximum(of_constraints, blurred)
    return jnp.maximum(of_constraints, eps * size), of_slopes


def keep_the_larger(
    former: Rounding, new: tuple[jax.Array, jax.Array], c: jax.Array, c_ratio: jax.Array, weights: jax.Array
) -> Rounding:
    """Former levels are forgotten by and by; those of fd rows go with c."""
    smaller = FORGET * jnp.minimum(1.0, c_ratio)
    of_constraints = jnp.maximum(new[0], FORGET * former.of_constraints)
    of_slopes = jnp.maximum(new[1], smaller * former.of_slopes)
    largest = FLOOR * jnp.max(jnp.maximum(of_constraints, of_slopes) * weights)
    return Rounding(of_constraints, of_slopes, largest > NEAR, largest, c, jnp.full((), REST))

"""One linear solve for all linear solvers, with the rules by which JAX transforms it.

    x = M^-1 b        dx = M^-1 (db - dM x)        and transposed with the same factors,

so that derivatives forward and backward, and any number of right-hand sides, cost solves and no
factorization. What a linear solver itself does is one solve, or one transposed solve (`contract`); loops
that nobody differentiates call that directly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..lanes import one_by_one_on_cpu
from .contract import Factors, LinearSolver


def linear_solve(
    solver: LinearSolver,
    factors: Factors,
    b: Any,
    *,
    tables: Any = None,
    product: Callable[[jax.Array], jax.Array] | None = None,
) -> jax.Array:
    """Solve M x = b with factors of M.

    Parameters
    ----------
    solver : LinearSolver
        What has made the factors.
    factors : pytree
        Those of M, by `solver.prepare` or `solver.factor`.
    b : array of shape (n,) or (n, k)
        One right-hand side, or one in each column.
    tables : pytree, optional
        The tables of the solver, where they are an argument of the compiled function around.
    product : callable, optional
        z -> M z, for one vector. With it, derivatives include those of M by whatever M depends on; without
        it, M is taken for a constant.

    Returns
    -------
    array of the shape of b

    Raises
    ------
    ValueError
        If b is neither a vector nor a matrix.

    Notes
    -----
    `jax.jvp`, `jax.vjp`, `jax.vmap` and `jax.jit` work for every solver. Many matrices at once (factors
    with an axis for `vmap`) are possible with the dense solver only: factors of the others live outside of
    JAX.
    """
    b = jnp.asarray(b, float)
    if b.ndim not in (1, 2):
        raise ValueError(f"A right-hand side has shape (n,) or (n, k), not {b.shape}.")
    tables = solver.tables if tables is None else tables
    forward, backward = _columns(solver, solver.solve), _columns(solver, solver.solve_transposed)

    def times_matrix(z: jax.Array) -> jax.Array:
        if product is None:
            return z  # never evaluated: it only says that nothing is known of dM
        return product(z) if z.ndim == 1 else jax.vmap(product, 1, 1)(z)

    return jax.lax.custom_linear_solve(
        times_matrix,
        b,
        lambda _, b: forward(tables, factors, b),
        lambda _, b: backward(tables, factors, b),
    )


def _columns(solver: LinearSolver, solve_one: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    """A solve for one right-hand side as one for many, with more of them under `vmap`."""

    def solve_all(tables: Any, factors: Factors, b: jax.Array) -> jax.Array:
        if b.ndim == 1 or solver.solves_columns:
            return solve_one(tables, factors, b)
        return jax.lax.map(lambda column: solve_one(tables, factors, column), b.T).T

    batched = jax.custom_batching.custom_vmap(solve_all)

    @batched.def_vmap
    def more_of_them(size: int, is_batched: Any, tables: Any, factors: Any, b: Any) -> Any:
        of_tables, of_factors, of_b = is_batched
        if not any(jax.tree.leaves((of_tables, of_factors))):
            # All right-hand sides become columns beside each other.
            columns = jnp.moveaxis(b, 0, -1)
            found = batched(tables, factors, columns.reshape(len(columns), -1))
            return jnp.moveaxis(found.reshape(columns.shape), -1, 0), True
        if not solver.batches_factors:
            raise NotImplementedError(
                f"The linear solver '{solver.name}' keeps its factors outside of JAX, one matrix at a "
                "time: `vmap` over matrices needs linear_solver='dense'."
            )
        axes = jax.tree.map(lambda has_axis: 0 if has_axis else None, (of_tables, of_factors, of_b))
        return jax.vmap(one_by_one_on_cpu(solve_all), axes)(tables, factors, b), True

    return batched

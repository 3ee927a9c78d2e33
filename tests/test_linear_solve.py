"""`linear_solve` under the transformations of JAX, for every linear solver."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sparse

from modia_py.solvers.linear.choice import choose_solver
from modia_py.solvers.linear.linear_solve import linear_solve
from modia_py.solvers.matrix.jacobian import Pattern

from .linear_solvers import INSTALLED

N = 12


class System:
    """A matrix with few entries, its factors, and right-hand sides."""

    def __init__(self, name):
        random = np.random.default_rng(7)
        # Three diagonals; not symmetric, except for Cholesky, and in an order that is not that of a band.
        below, above = random.normal(size=(2, N - 1))
        if name == "cholmod":
            above = below
        matrix = np.diag(np.full(N, 5.0)) + np.diag(below, -1) + np.diag(above, 1)
        shuffle = random.permutation(N)
        self.matrix = matrix[shuffle][:, shuffle] if name == "cholmod" else matrix[shuffle]
        rows, columns = np.nonzero(self.matrix)
        pattern = Pattern(N, rows.astype(np.int32), columns.astype(np.int32), np.arange(N, dtype=np.int32))
        self.rows, self.columns = rows, columns
        self.solver = choose_solver(name, pattern).solver
        self.values = jnp.asarray(self.matrix[rows, columns])
        self.factors = self.solver.prepare(self.values)
        self.inverse = np.linalg.inv(self.matrix)
        self.vectors = random.normal(size=(4, N))
        self.columns_of_b = random.normal(size=(N, 3))

    def __call__(self, b):
        return linear_solve(self.solver, self.factors, b)


@pytest.fixture(scope="module", params=INSTALLED)
def system(request):
    return System(request.param)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


def test_vectors_and_columns(system):
    close(system(system.vectors[0]), system.inverse @ system.vectors[0])
    close(system(system.columns_of_b), system.inverse @ system.columns_of_b)
    close(jax.jit(system)(system.columns_of_b), system.inverse @ system.columns_of_b)
    with pytest.raises(ValueError, match=r"shape \(n,\) or \(n, k\)"):
        system(np.zeros((2, N, 2)))


@pytest.mark.parametrize("shape", ["vector", "columns"])
@pytest.mark.parametrize("compiled", [False, True])
def test_jvp(system, shape, compiled):
    b, db = (system.vectors[:2]) if shape == "vector" else (system.columns_of_b, system.columns_of_b + 1.0)

    def along(b, db):
        return jax.jvp(system, (b,), (db,))

    x, dx = (jax.jit(along) if compiled else along)(b, db)
    close(x, system.inverse @ b)
    close(dx, system.inverse @ db)


@pytest.mark.parametrize("shape", ["vector", "columns"])
@pytest.mark.parametrize("compiled", [False, True])
def test_vjp(system, shape, compiled):
    b, y = (system.vectors[:2]) if shape == "vector" else (system.columns_of_b, system.columns_of_b + 1.0)

    def back(b, y):
        x, pull = jax.vjp(system, b)
        return x, *pull(y)

    x, db = (jax.jit(back) if compiled else back)(b, y)
    close(x, system.inverse @ b)
    close(db, system.inverse.T @ y)


def test_vmap_and_nested_vmap(system):
    expected = system.vectors @ system.inverse.T
    close(jax.vmap(system)(system.vectors), expected)
    close(jax.jit(jax.vmap(system, in_axes=1, out_axes=1))(system.vectors.T), expected.T)
    twice = np.stack([system.vectors, 2 * system.vectors])
    close(jax.vmap(jax.vmap(system))(twice), np.stack([expected, 2 * expected]))
    many = np.stack([system.columns_of_b, -system.columns_of_b])
    close(jax.vmap(system)(many), system.inverse @ many)


def test_transformations_of_transformations(system):
    def size(b):
        return 0.5 * jnp.sum(system(b) ** 2)

    gram = system.inverse.T @ system.inverse
    close(jax.vmap(jax.grad(size))(system.vectors), system.vectors @ gram)
    close(jax.jacfwd(system)(system.vectors[0]), system.inverse)
    close(jax.jacrev(system)(system.vectors[0]), system.inverse)
    close(jax.jit(jax.hessian(size))(system.vectors[0]), gram)
    _, along = jax.linearize(system, system.vectors[0])
    close(along(system.vectors[1]), system.inverse @ system.vectors[1])


def test_derivatives_by_the_matrix(system):
    """With `product`, those of M count: here M goes with s, and M^-1 b with 1 / s."""
    b = system.vectors[0]
    values, rows, columns = system.values, system.rows, system.columns

    def scaled(s):
        def product(z):
            return jax.ops.segment_sum(s * values * z[columns], rows, N)

        return linear_solve(system.solver, system.factors, b, product=product)

    x, dx = jax.jvp(scaled, (1.0,), (1.0,))
    close(dx, -x)
    close(jax.jacrev(scaled)(1.0), -x)


def test_solves_inside_of_a_loop_with_new_factors(system):
    """Factors that change in a compiled loop, and derivatives through all of it by b."""
    solver = system.solver

    @jax.jit
    def thrice(tables, values, factors, b):
        def body(k, carry):
            factors, x = carry
            factors = solver.factor(tables, values * (k + 1.0), factors)
            return factors, linear_solve(solver, factors, x, tables=tables)

        return jax.lax.fori_loop(0, 3, body, (factors, b))[1]

    def of_b(b):
        return thrice(solver.tables, system.values, system.factors, b)

    expected = np.linalg.matrix_power(system.inverse, 3) / 6.0
    b = jnp.asarray(system.vectors[0])
    close(of_b(b), expected @ b)
    system.factors = solver.prepare(system.values)
    close(jax.jvp(of_b, (b,), (b,))[1], expected @ b)
    system.factors = solver.prepare(system.values)


def test_many_matrices_are_for_the_dense_solver(system):
    values = jnp.stack([system.values, 2.0 * system.values])
    b = jnp.asarray(system.vectors[0])

    def of(values):
        factors = system.solver.factor(system.solver.tables, values, system.factors)
        return linear_solve(system.solver, factors, b)

    if system.solver.name == "dense":
        x = system.inverse @ b
        close(jax.vmap(of)(values), np.stack([x, x / 2]))
    else:
        with pytest.raises(NotImplementedError):
            jax.vmap(of)(values)


def test_a_matrix_that_is_its_own_pattern():
    """What the tests above take for granted."""
    system = System("dense")
    found = sparse.csr_matrix((np.asarray(system.values), (system.rows, system.columns)), shape=(N, N))
    np.testing.assert_array_equal(found.toarray(), system.matrix)

"""Sparse LU by KLU, inside the compiled loop: for circuit-like patterns.

KLU orders once for the pattern, chooses pivots once for the values at the start, and from then on only
renews the numbers (T. A. Davis, E. Palamadai Natarajan, Algorithm 907, ACM TOMS 37, 2010). klujax keeps
factors outside of JAX; a handle to them travels through the loop.

Importing klujax sets JAX to the CPU and to 64 bit for the whole process, so it is imported only here, when
this solver is chosen. Its `refactor` works in place and returns its argument, so that a compiler sees no
reason to call it; the foreign function underneath returns the handle anew, and the solves use that one.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from .jacobian import Pattern
from .linear import SingularMatrix


class KLUSolver:
    name = "klu"
    keeps_pivots = True
    keeps_factors = True

    def __init__(self, pattern: Pattern):
        import klujax

        self._klujax = klujax
        rows, columns = jnp.asarray(pattern.rows), jnp.asarray(pattern.columns)
        try:
            self._symbolic = klujax.analyze(rows, columns, pattern.size)
        except jax.errors.JaxRuntimeError as error:
            raise SingularMatrix("The pattern of the iteration matrix is structurally singular.") from error
        self._numeric: Any = None
        symbolic = jnp.asarray(self._symbolic.raw, dtype=jnp.uint64)
        self.tables = rows, columns, symbolic

    def prepare(self, values: jax.Array) -> jax.Array:
        rows, columns, _ = self.tables
        try:
            # The old factors are freed when the last reference goes.
            self._numeric = self._klujax.factor(rows, columns, values, self._symbolic)
        # JAX raises the one or the other, depending on whether the call has returned before it fails.
        except (jax.errors.JaxRuntimeError, ValueError) as error:
            raise SingularMatrix("The iteration matrix is singular.") from error
        return jnp.asarray(self._numeric.as_list(), dtype=jnp.uint64)

    def factor(self, tables: Any, values: jax.Array, old: jax.Array) -> jax.Array:
        rows, columns, symbolic = tables
        call = jax.ffi.ffi_call("refactor_f64", jax.ShapeDtypeStruct((1,), jnp.uint64))
        return call(rows, columns, values[None], symbolic, old)

    def solve(self, tables: Any, factors: jax.Array, b: jax.Array) -> jax.Array:
        return self._call("solve_with_numeric_f64", tables, factors, b)

    def solve_transposed(self, tables: Any, factors: jax.Array, b: jax.Array) -> jax.Array:
        return self._call("tsolve_with_numeric_f64", tables, factors, b)

    def _call(self, target: str, tables: Any, factors: jax.Array, b: jax.Array) -> jax.Array:
        call = jax.ffi.ffi_call(target, jax.ShapeDtypeStruct(b.shape, b.dtype))
        return call(tables[2], factors, b)

    def release(self) -> None:
        self._numeric = None

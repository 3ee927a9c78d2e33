"""Sparse LU by KLU, inside the compiled loop: for circuit-like patterns.

KLU orders once for the pattern, chooses pivots once for the values at the start, and from then on only
renews the numbers (T. A. Davis, E. Palamadai Natarajan, Algorithm 907, ACM TOMS 37, 2010). klujax keeps
factors outside of JAX; a handle to them travels through the loop.

Importing klujax sets JAX to the CPU and to 64 bit for the whole process, so it is imported only here, when
this solver is chosen. Its functions are called by those of `klu_kernels`, which let one thread at a time
use a workspace, and make NaN of a pivot that is zero.
"""

from __future__ import annotations

import ctypes
import weakref
from copy import copy
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..matrix.jacobian import Pattern
from ..xla.call import call
from ..xla.register import Handlers, why_not
from ..xla.structures import Call
from .contract import NEEDS_PIVOTS, Offer, SingularMatrix
from .klu_calls import FACTOR, FACTORS, SOLVE, SOLVE_TRANSPOSED, Layout


class Factors(NamedTuple):
    """klujax's handle, and the number of the factorization."""

    handle: jax.Array
    number: jax.Array


class KLUSolver:
    name = "klu"
    keeps_pivots = True
    no_factors: Any = NEEDS_PIVOTS
    solves_columns = False
    batches_factors = False

    def __init__(self, pattern: Pattern):
        reason = why_not_native()
        if reason:
            raise ValueError(f"The linear solver 'klu' needs native functions: {reason}.")
        import klujax

        self._klujax = klujax
        rows, columns = jnp.asarray(pattern.rows), jnp.asarray(pattern.columns)
        try:
            self._symbolic = klujax.analyze(rows, columns, pattern.size)
        except jax.errors.JaxRuntimeError as error:
            raise SingularMatrix("The pattern of the iteration matrix is structurally singular.") from error
        self._pattern = rows, columns, jnp.asarray(self._symbolic.raw, dtype=jnp.uint64)
        self._allocate()

    @classmethod
    def offer(cls, pattern: Pattern, values: np.ndarray | None) -> Offer | None:
        """For whatever is sparse."""
        if why_not_native():
            return None
        return Offer(cls(pattern), f"{pattern.size} unknowns, {pattern.entries_a_row:.1f} entries a row")

    def _allocate(self) -> None:
        """A lock, and what is known about factors that are not there yet."""
        python = ctypes.pythonapi
        lock = _allocate_lock()
        weakref.finalize(self, _free_lock, lock).atexit = False
        self._numeric: Any = None
        self._number_and_usable = np.zeros(len(FACTORS), np.int64)
        cpp = self._klujax.klujax_cpp
        layout = Layout(
            lock=lock,
            acquire=_address(python.PyThread_acquire_lock),
            release=_address(python.PyThread_release_lock),
            factors=self._number_and_usable.ctypes.data,
            refactor=_in_capsule(cpp.refactor_f64()),
            solve=_in_capsule(cpp.solve_with_numeric_f64()),
            solve_transposed=_in_capsule(cpp.tsolve_with_numeric_f64()),
        )
        self.tables = *self._pattern, jnp.asarray(np.array(layout, np.int64))

    def twin(self) -> KLUSolver:
        other = copy(self)
        other._allocate()
        return other

    def prepare(self, values: jax.Array) -> Factors:
        rows, columns, _, _ = self.tables
        try:
            # The old factors are freed when the last reference goes.
            self._numeric = self._klujax.factor(rows, columns, values, self._symbolic)
        # JAX raises the one or the other, depending on whether the call has returned before it fails.
        except (jax.errors.JaxRuntimeError, ValueError) as error:
            raise SingularMatrix("The iteration matrix is singular.") from error
        self._number_and_usable[FACTORS.usable] = 1
        self._number_and_usable[FACTORS.number] += 1
        number = jnp.asarray(self._number_and_usable[FACTORS.number], jnp.int64)
        return Factors(jnp.asarray(self._numeric.as_list(), dtype=jnp.uint64), number)

    def factor(self, tables: Any, values: jax.Array, old: Factors) -> Factors:
        rows, columns, symbolic, layout = tables
        made = {
            "new_handle": jax.ShapeDtypeStruct((1,), jnp.uint64),
            "new_number": jax.ShapeDtypeStruct((), jnp.int64),
        }
        found = call(
            FACTOR, made, rows=rows, columns=columns, values=values[None], symbolic=symbolic,
            handle=old.handle, layout=layout, number=old.number,
        )  # fmt: skip
        return Factors(found["new_handle"], found["new_number"])

    def solve(self, tables: Any, factors: Factors, b: jax.Array) -> jax.Array:
        return self._call(SOLVE, tables, factors, b)

    def solve_transposed(self, tables: Any, factors: Factors, b: jax.Array) -> jax.Array:
        return self._call(SOLVE_TRANSPOSED, tables, factors, b)

    def _call(self, function: Call, tables: Any, factors: Factors, b: jax.Array) -> jax.Array:
        _, _, symbolic, layout = tables
        return call(
            function, {"x": jax.ShapeDtypeStruct(b.shape, b.dtype)}, symbolic=symbolic,
            handle=factors.handle, b=b, number=factors.number, layout=layout,
        )["x"]  # fmt: skip

    def release(self) -> None:
        self._numeric = None


def why_not_native() -> str:
    """Why there are no native functions around klujax here; empty if there are."""
    return why_not(_handlers)


def _handlers() -> Handlers:
    from .klu_kernels import HANDLERS

    return HANDLERS


def _allocate_lock() -> int:
    allocate = ctypes.pythonapi.PyThread_allocate_lock
    allocate.restype = ctypes.c_void_p
    return allocate()


def _free_lock(lock: int) -> None:
    free = ctypes.pythonapi.PyThread_free_lock
    free.argtypes, free.restype = [ctypes.c_void_p], None
    free(lock)


def _address(function: Any) -> int:
    """Of a C function."""
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


def _in_capsule(capsule: Any) -> int:
    """The pointer a capsule holds."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.argtypes, get.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
    name = ctypes.pythonapi.PyCapsule_GetName
    name.argtypes, name.restype = [ctypes.py_object], ctypes.c_char_p
    return get(capsule, name(capsule))

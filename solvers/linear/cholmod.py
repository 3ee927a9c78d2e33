"""Sparse Cholesky by CHOLMOD, through scikit-sparse: for symmetric positive definite matrices.

Diffusion, elasticity and the like lead to such matrices, and in two and three dimensions supernodal
Cholesky with a fast BLAS is well ahead of LU (Y. Chen, T. A. Davis, W. W. Hager, S. Rajamanickam,
Algorithm 887, ACM TOMS 35, 2008). The ordering is computed once for the pattern. scikit-sparse is
optional: `import_cholmod` says whether it is there.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse

from ..matrix.jacobian import Pattern
from .contract import Offer, SingularMatrix
from .host import FactorStore, HostSolver


def import_cholmod() -> Any | None:
    """The module, or None where it is not installed."""
    try:
        from sksparse import cholmod
    except ImportError:
        return None
    return cholmod


class CholmodSolver(HostSolver):
    name = "cholmod"

    def __init__(self, pattern: Pattern):
        super().__init__(pattern)
        self._cholmod = import_cholmod()
        if self._cholmod is None:
            raise ValueError("The linear solver 'cholmod' needs scikit-sparse, which is not installed.")

    @classmethod
    def offer(cls, pattern: Pattern, values: np.ndarray | None) -> Offer | None:
        """For large matrices that turn out to be symmetric and positive definite."""
        if values is None or import_cholmod() is None or not is_symmetric(pattern, values):
            return None
        solver = cls(pattern)
        try:
            solver.prepare(jnp.asarray(values))
        except SingularMatrix:
            return None
        return Offer(solver, f"{pattern.size} unknowns, symmetric positive definite")

    def factorize(self, matrix: sparse.csc_matrix, store: FactorStore) -> Any:
        assert self._cholmod is not None
        try:
            with _one_thread():
                if store.ordered is None:
                    store.ordered = self._cholmod.analyze(matrix, mode="supernodal")
                store.ordered.cholesky_inplace(matrix)
        except self._cholmod.CholmodError as error:
            raise SingularMatrix("The iteration matrix is not positive definite.") from error
        return store.ordered

    def solve_with(self, factors: Any, b: np.ndarray, transposed: bool) -> np.ndarray:
        with _one_thread():
            return factors(b)


class _BlasUsers:
    """How many calls are at work, and how many threads BLAS had before the first of them."""

    lock = threading.Lock()
    count = 0
    threads = 1


@contextmanager
def _one_thread() -> Iterator[None]:
    """BLAS without threads of its own: how it shares out the work decides on the last digits, and the
    number of its threads is the process's, which anybody may change. Triangular solves in many small blocks
    take less than half the time so; the factorization gains nothing from threads. The number is put back by
    the last of several users at the same time, who do not wait for each other."""
    blas = _openblas()
    if blas is None:
        yield
        return
    with _BlasUsers.lock:
        if _BlasUsers.count == 0:
            _BlasUsers.threads = blas.openblas_get_num_threads()
        _BlasUsers.count += 1
        blas.openblas_set_num_threads(1)
    try:
        yield
    finally:
        with _BlasUsers.lock:
            _BlasUsers.count -= 1
            if _BlasUsers.count == 0:
                blas.openblas_set_num_threads(_BlasUsers.threads)


@cache
def _openblas() -> Any | None:
    """The OpenBLAS that CHOLMOD has loaded; None if it is another BLAS."""
    try:
        return ctypes.CDLL("libopenblas.so.0", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except (OSError, AttributeError):
        return None


def is_symmetric(pattern: Pattern, values: np.ndarray) -> bool:
    """Whether pattern and values are symmetric, up to rounding."""
    shape = (pattern.size, pattern.size)
    matrix = sparse.csr_matrix((values, (pattern.rows, pattern.columns)), shape=shape)
    difference = abs(matrix - matrix.T)
    return difference.nnz == 0 or difference.max() <= 1e-12 * abs(matrix).max()

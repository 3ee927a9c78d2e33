"""Null vectors of a matrix that is about to become singular, compared with what it usually is.

Where a root ends or a solution folds, an integrator stops a little before the point where the matrix is
singular: nothing in the matrix itself tells a small entry from one in other units. What it was earlier in
the run does: rows and columns are scaled as it was then, and a block of which a singular value has become
small since is what has failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.sparse.linalg import splu

from .null_space import NullSpace, equilibrating_scales, irreducible_blocks

COLLAPSED = 1e-3
"""A singular value that has fallen below this, from about one, belongs to what fails."""
ALIKE = 10.0
"""Blocks whose singular value is at most so much larger than the smallest are named with it."""
INVOLVED = 0.02
DENSE_UP_TO = 300
ITERATIONS = 6


def nearly_null_space(matrix: Any, earlier: Sequence[Any]) -> NullSpace:
    """Left and right singular vectors of what has become nearly singular; empty if nothing has."""
    now = sparse.csr_array(matrix)
    n = now.shape[0]
    nothing = NullSpace(np.zeros(n), np.zeros(n))
    usual = abs(now)
    for other in earlier:
        usual = usual.maximum(abs(sparse.csr_array(other)))
    usual.eliminate_zeros()
    row_of = maximum_bipartite_matching(sparse.csr_matrix(usual), perm_type="row")
    if np.any(row_of < 0):
        return nothing
    row_scale, column_scale = equilibrating_scales(usual)
    scaled = sparse.diags_array(row_scale) @ now @ sparse.diags_array(column_scale)
    scaled = sparse.csr_array(scaled)[row_of]  # the columns of a block are its rows, too
    block = irreducible_blocks(usual, row_of)
    found = [
        (*_smallest(sparse.csc_array(scaled[members][:, members])), members) for members in _members(block)
    ]
    least = min((size for size, *_ in found), default=1.0)
    if least > COLLAPSED:
        return nothing
    for size, left, right, members in found:
        if size <= min(ALIKE * least, COLLAPSED):
            nothing.rows[row_of[members]] = _cut(left)
            nothing.columns[members] = _cut(right)
    return nothing


def _members(block: np.ndarray) -> list[np.ndarray]:
    order = np.argsort(block, kind="stable")
    return np.split(order, np.cumsum(np.bincount(block))[:-1]) if len(block) else []


def _smallest(block: sparse.csc_array) -> tuple[float, np.ndarray, np.ndarray]:
    """The smallest singular value of a block, and its vectors."""
    n = block.shape[0]
    if n == 1:
        return float(abs(block[0, 0])), np.ones(1), np.ones(1)
    if n <= DENSE_UP_TO:
        left, values, right = np.linalg.svd(block.toarray())
        return float(values[-1]), left[:, -1], right[-1]
    noise = np.random.default_rng(0)
    block = block.copy()
    block.data = block.data * (1.0 + 1e-13 * noise.uniform(-1, 1, block.nnz))
    right = noise.uniform(0.5, 1.5, n)
    try:
        factors = splu(block)
        for _ in range(ITERATIONS):  # inverse iteration with A^T A
            left = factors.solve(right / np.linalg.norm(right), "T")
            right = factors.solve(left / np.linalg.norm(left))
    except RuntimeError:  # an exact zero of a pivot: another block may tell more
        return 1.0, np.zeros(n), np.zeros(n)
    return float(1.0 / np.linalg.norm(right)), left, right


def _cut(vector: np.ndarray) -> np.ndarray:
    vector = vector / max(np.abs(vector).max(), 1e-300)
    return np.where(np.abs(vector) > INVOLVED, vector, 0.0)

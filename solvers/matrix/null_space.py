"""Null vectors of a matrix that is singular to rounding: which rows are dependent, which columns are free.

The decision does not depend on units, nor on how long a recursion is. A matrix is taken apart into the
irreducible blocks of its block triangular form: it is singular if and only if one of these is, and what
stands beside them (a recursion x[k+1] == 2 x[k], with a condition number of 2^n) has no say. The blocks are
equilibrated, and then asked what becomes of the solution of a linear system if every entry changes by a
relative delta at random. If a block is regular, the solution hardly changes; if it is singular to rounding,
delta is all that determines the solution, and it grows as 1/delta. Two deltas tell one from the other, at
the price of two sparse factorizations; the solution that has grown is a null vector (inverse iteration).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching
from scipy.sparse.linalg import splu

DELTAS = 1e-10, 1e-13
"""Relative changes of the entries. The second is what a matrix that is singular to rounding may be off."""
GROWN = 300.0
"""Growth of a solution from the first delta to the second: 1000 if a block is singular, 1 if it is not."""
PLAIN = 1e7
"""A solution below this, of an equilibrated matrix, shows that the matrix is regular."""
INVOLVED = 1e-5
"""Elements of a null vector above this, compared with the largest, count."""
EQUILIBRATIONS = 2
PEELED_AT_MOST = 50
FEW = 40
"""Up to so many unknowns a dense inverse is the fastest way to see that a matrix is regular."""


@dataclass(frozen=True, eq=False)
class NullSpace:
    """Weights of rows in a left null vector and of columns in a right one; zero if they are not in it.

    If there is more than one null vector, these are of a combination that contains them all.
    """

    rows: np.ndarray
    columns: np.ndarray

    @property
    def is_empty(self) -> bool:
        return not (self.rows.any() or self.columns.any())

    def involved(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns that have weight."""
        return np.flatnonzero(self.rows), np.flatnonzero(self.columns)


def null_space(matrix: Any) -> NullSpace:
    """Null vectors of a square sparse matrix with finite entries; empty if it is regular."""
    entries = sparse.csr_array(matrix)
    n = entries.shape[0]
    rows, columns = np.zeros(n), np.zeros(n)
    if n <= FEW and _is_plainly_regular(entries.toarray()):
        return NullSpace(rows, columns)
    entries.sum_duplicates()
    entries.eliminate_zeros()
    own_rows, own_columns = _core(entries)
    core = sparse.csr_array(entries[own_rows][:, own_columns])
    row_of = maximum_bipartite_matching(sparse.csr_matrix(core), perm_type="row")
    if np.any(row_of < 0):
        rows[own_rows], columns[own_columns] = _structural(core, row_of)
        return NullSpace(rows, columns)
    block = irreducible_blocks(core, row_of)
    chosen = np.flatnonzero(np.bincount(block)[block] > 1) if len(block) else block
    if len(chosen):
        part = _Blocks.of(core, row_of, chosen, block)
        chosen = chosen[part.largest(part.solution(DELTAS[1])) > PLAIN]
    if len(chosen):
        part = _Blocks.of(core, row_of, chosen, block)
        small, large = (part.solution(delta) for delta in DELTAS)
        singular = part.largest(large) > GROWN * part.largest(small)
        columns[own_columns[chosen]] = np.where(singular, part.cut(large), 0.0)
        left = part.cut(part.solution(DELTAS[1], "T"))
        rows[own_rows[row_of[chosen]]] = np.where(singular, left, 0.0)
    return NullSpace(rows, columns)


def _is_plainly_regular(dense: np.ndarray) -> bool:
    """Whether a matrix is so far from singular that nothing else has to be asked."""
    for _ in range(EQUILIBRATIONS):
        for axis in (1, 0):
            largest = np.abs(dense).max(axis=axis, keepdims=True, initial=0.0)
            if not largest.all():
                return False
            dense = dense / largest
    try:
        return bool(np.abs(np.linalg.inv(dense)).max(initial=0.0) < PLAIN)
    except np.linalg.LinAlgError:
        return False


def _core(entries: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns that are left when those with one entry only are taken out, again and again.

    Most matrices of the special form have little else: der(x) == f(x) is one. Where two rows have their
    only entry in the same column, or two columns in the same row, nothing more is taken out.
    """
    found = sparse.coo_array(entries)
    n = entries.shape[0]
    row, column = found.row, found.col
    alive_rows, alive_columns = np.ones(n, bool), np.ones(n, bool)
    for _ in range(PEELED_AT_MOST):
        alone_in_row = np.bincount(row, minlength=n)[row] == 1
        alone_in_column = np.bincount(column, minlength=n)[column] == 1
        chosen = alone_in_row if alone_in_row.any() else alone_in_column
        taken_rows, taken_columns = row[chosen], column[chosen]
        if not len(taken_rows) or max(map(_most, (taken_rows, taken_columns))) > 1:
            break
        alive_rows[taken_rows] = alive_columns[taken_columns] = False
        kept = alive_rows[row] & alive_columns[column]
        row, column = row[kept], column[kept]
    return np.flatnonzero(alive_rows), np.flatnonzero(alive_columns)


def _most(numbers: np.ndarray) -> int:
    """How often the most frequent number occurs."""
    return int(np.bincount(numbers).max())


def irreducible_blocks(entries: sparse.csr_array, row_of: np.ndarray) -> np.ndarray:
    """The number of the irreducible block of each column, where row_of[c] is matched with column c."""
    permuted = entries[row_of]
    return connected_components(permuted, directed=True, connection="strong")[1]


def equilibrating_scales(entries: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Factors of rows and columns with which the largest entry of each is about one."""
    rows, columns = np.ones(entries.shape[0]), np.ones(entries.shape[1])
    size = abs(entries)
    for _ in range(EQUILIBRATIONS):
        for axis, total in ((1, rows), (0, columns)):
            largest = np.asarray(size.max(axis=axis).toarray()).ravel()
            factor = 1.0 / np.where(largest > 0, largest, 1.0)
            total *= factor
            scale = sparse.diags_array(factor)
            size = sparse.csr_array(scale @ size if axis == 1 else size @ scale)
    return rows, columns


def _equilibrated(entries: sparse.csr_array) -> sparse.csr_array:
    rows, columns = equilibrating_scales(entries)
    return sparse.csr_array(sparse.diags_array(rows) @ entries @ sparse.diags_array(columns))


@dataclass(frozen=True, eq=False)
class _Blocks:
    """Irreducible blocks on the diagonal of one matrix, equilibrated, and the block of each row."""

    entries: sparse.csc_array
    block: np.ndarray
    noise: np.ndarray  # of the entries, and of the right-hand side
    right: np.ndarray

    @classmethod
    def of(
        cls, entries: sparse.csr_array, row_of: np.ndarray, columns: np.ndarray, block: np.ndarray
    ) -> _Blocks:
        _, own = np.unique(block[columns], return_inverse=True)
        part = sparse.coo_array(entries[row_of[columns]][:, columns])
        inside = own[part.row] == own[part.col]
        shape = part.shape
        part = sparse.csr_array((part.data[inside], (part.row[inside], part.col[inside])), shape=shape)
        scaled = sparse.csc_array(_equilibrated(part))
        random = np.random.default_rng(0)
        return cls(scaled, own, random.uniform(-1, 1, scaled.nnz), random.uniform(0.5, 1.5, len(own)))

    def solution(self, delta: float, transposed: str = "N") -> np.ndarray:
        """Of a linear system, all entries of the matrix changed by a relative delta."""
        changed = self.entries.copy()
        changed.data = changed.data * (1.0 + delta * self.noise)
        try:
            found = splu(changed).solve(self.right, transposed)
        except RuntimeError:  # still singular: not by rounding, but as it is written
            changed.data = changed.data + delta * self.noise
            found = splu(changed).solve(self.right, transposed)
        return np.nan_to_num(found, nan=np.inf, posinf=1e300, neginf=-1e300)

    def largest(self, vector: np.ndarray) -> np.ndarray:
        """For each element of a vector the largest one of its block."""
        found = np.zeros(int(self.block.max(initial=-1)) + 1)
        np.maximum.at(found, self.block, np.abs(vector))
        return found[self.block]

    def cut(self, vector: np.ndarray) -> np.ndarray:
        """Compared with the largest of its block, and without what is only noise."""
        vector = vector / self.largest(vector)
        return np.where(np.abs(vector) > INVOLVED, vector, 0.0)


def _structural(entries: sparse.csr_array, row_of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Too many rows for some columns, too many columns for some rows, whatever the values are.

    The rows that share the columns of an unmatched one, and the columns that share the rows of an unmatched
    one (Dulmage and Mendelsohn); of these, those with weight in a null vector.
    """
    n = entries.shape[0]
    column_of = np.full(n, -1)
    matched = np.flatnonzero(row_of >= 0)
    column_of[row_of[matched]] = matched
    rows = _reached(entries, column_of, np.flatnonzero(column_of < 0))
    columns = _reached(sparse.csr_array(entries.T), row_of, np.flatnonzero(row_of < 0))
    below = entries[rows]
    used = np.unique(below.indices)
    left = _null_vector(sparse.csr_array(below[:, used].T))
    beside = entries[:, columns]
    right = _null_vector(sparse.csr_array(beside[np.unique(sparse.csc_array(beside).indices)]))
    weight_of_rows, weight_of_columns = np.zeros(n), np.zeros(n)
    weight_of_rows[rows], weight_of_columns[columns] = left, right
    return weight_of_rows, weight_of_columns


def _reached(entries: sparse.csr_array, column_of: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Rows reached from some: over their columns, on to the rows that these are matched with."""
    row_of = np.full(entries.shape[1], -1)
    known = np.flatnonzero(column_of >= 0)
    row_of[column_of[known]] = known
    seen = np.zeros(entries.shape[0], bool)
    seen[start] = True
    while len(start):
        there = row_of[np.unique(entries[start].indices)]
        there = np.unique(there[there >= 0])
        start = there[~seen[there]]
        seen[start] = True
    return np.flatnonzero(seen)


def _null_vector(wide: sparse.csr_array) -> np.ndarray:
    """A combination of null vectors of a matrix with more columns than rows, cut off at noise."""
    m, n = wide.shape
    if m == 0:
        return np.ones(n)
    scaled = _equilibrated(wide)
    random = np.random.default_rng(0).uniform(0.5, 1.5, n)
    # The part of a random vector that the rows do not see: minimize |v - random| with A v = 0.
    saddle = sparse.block_array(
        [[sparse.eye_array(n), scaled.T], [scaled, -1e-14 * sparse.eye_array(m)]], format="csc"
    )
    vector = splu(saddle).solve(np.concatenate([random, np.zeros(m)]))[:n]
    largest = np.abs(vector).max(initial=0.0)
    return np.where(np.abs(vector) > INVOLVED * largest, vector, 0.0)

"""Sparse linear equations with integer coefficients and no constant: rows ``sum_j c_ij v_j = 0``.

Connections and the sums of two-pin components are of this kind. Rows are held in compressed form
(CSR): row i has the variables ``variables[indptr[i]:indptr[i + 1]]`` and as many coefficients.

Exactness: coefficients are 64-bit integers as long as all of them fit, and Python integers (an array
of objects) otherwise. Every operation that adds coefficients bounds the sum first and changes over
before it could overflow; results that fit change back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .indices import Ints, offsets, ranges

Bools = NDArray[np.bool_]
Names = Sequence[str] | Callable[[int], str] | None

INT64_SAFE = 2**62  # a sum bounded by this, and its negative, fit into 64 bits


@dataclass(frozen=True)
class IntegerEquations:
    """Rows ``sum_j c_ij v_j = 0`` with integer coefficients, in compressed form.

    Parameters
    ----------
    indptr : array of int
        Row i has the entries from `indptr[i]` to `indptr[i + 1]`.
    variables : array of int
        The variable of each entry.
    coefficients : array
        The coefficient of each entry: int64, or object where Python integers are needed.
    n_variables : int
        The number of variables.

    Raises
    ------
    ValueError
        If lengths do not fit, or a variable is out of range.
    TypeError
        If coefficients are not integers.
    """

    indptr: Ints
    variables: Ints
    coefficients: NDArray
    n_variables: int

    def __post_init__(self) -> None:
        for field in ("indptr", "variables"):
            object.__setattr__(self, field, np.asarray(getattr(self, field), dtype=np.int64))
        object.__setattr__(self, "coefficients", exact_integers(self.coefficients))
        entries = len(self.variables)
        if len(self.indptr) == 0 or self.indptr[0] != 0 or self.indptr[-1] != entries:
            raise ValueError(f"indptr has to start with 0 and to end with the number of entries, {entries}")
        if np.any(np.diff(self.indptr) < 0):
            raise ValueError("indptr decreases")
        if len(self.coefficients) != entries:
            raise ValueError(f"{entries} variables but {len(self.coefficients)} coefficients")
        if entries and not 0 <= self.variables.min() <= self.variables.max() < self.n_variables:
            raise ValueError(f"a variable is not in 0 ... {self.n_variables - 1}")

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[int, int]], n_variables: int) -> IntegerEquations:
        """Make equations from mappings of variable to coefficient.

        Parameters
        ----------
        rows : iterable of mapping of int to int
            One for each equation.
        n_variables : int
            The number of variables.

        Returns
        -------
        IntegerEquations
            The same rows.

        Examples
        --------
        >>> from modia_py.arrays import IntegerEquations
        >>> print(IntegerEquations.from_rows([{0: 1, 2: -2}], 3))
        0:  v0 - 2 v2 = 0
        """
        rows = list(rows)
        variables = [variable for row in rows for variable in row]
        coefficients = [int(coefficient) for row in rows for coefficient in row.values()]
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        return cls(offsets(lengths), np.array(variables, np.int64), narrowest(coefficients), n_variables)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.indptr) - 1

    @property
    def lengths(self) -> Ints:
        """The number of entries of each row."""
        return np.diff(self.indptr)

    @property
    def row_of_entry(self) -> Ints:
        """The row of each entry."""
        return np.repeat(np.arange(self.n_rows), self.lengths)

    def row(self, number: int) -> tuple[Ints, NDArray]:
        """Give one row.

        Parameters
        ----------
        number : int
            Which.

        Returns
        -------
        variables, coefficients : array
            Of its entries.
        """
        entries = slice(self.indptr[number], self.indptr[number + 1])
        return self.variables[entries], self.coefficients[entries]

    def as_mappings(self) -> list[dict[int, int]]:
        """Give the rows as mappings of variable to Python integer.

        Repeated variables must be summed before.

        Returns
        -------
        list of dict of int to int
            One for each row.
        """
        variables, coefficients = self.variables.tolist(), self.coefficients.tolist()
        bounds = self.indptr.tolist()
        return [
            dict(zip(variables[start:stop], coefficients[start:stop], strict=True))
            for start, stop in pairwise(bounds)
        ]

    def select(self, rows: NDArray) -> IntegerEquations:
        """Choose rows.

        Parameters
        ----------
        rows : array
            Numbers in the order wanted, or a mask.

        Returns
        -------
        IntegerEquations
            Those rows.
        """
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        lengths = self.lengths[rows]
        entries = ranges(self.indptr[rows], lengths)
        return IntegerEquations(
            offsets(lengths), self.variables[entries], self.coefficients[entries], self.n_variables
        )

    def without_entries(self, drop: Bools) -> IntegerEquations:
        """Leave out entries.

        Parameters
        ----------
        drop : array of bool
            Which entries.

        Returns
        -------
        IntegerEquations
            As many rows, some of them shorter.
        """
        keep = ~drop
        before = offsets(keep)
        return IntegerEquations(
            before[self.indptr], self.variables[keep], self.coefficients[keep], self.n_variables
        )

    def normalized(self) -> IntegerEquations:
        """Sum repeated variables, drop zero coefficients, divide rows by their common divisor.

        Returns
        -------
        IntegerEquations
            Equivalent rows.
        """
        return self._summed()._divided()

    def _summed(self) -> IntegerEquations:
        row_of_entry = self.row_of_entry
        order = np.lexsort((self.variables, row_of_entry))
        variables, rows = self.variables[order], row_of_entry[order]
        first = np.ones(len(order), dtype=bool)
        first[1:] = (np.diff(variables) != 0) | (np.diff(rows) != 0)
        starts = np.flatnonzero(first)
        coefficients = self.coefficients[order]
        if len(starts) < len(order):
            coefficients = widened(coefficients, int(np.diff(starts, append=len(order)).max()))
            coefficients = narrowest(np.add.reduceat(coefficients, starts))
        indptr = offsets(np.bincount(rows[starts], minlength=self.n_rows))
        summed = IntegerEquations(indptr, variables[starts], coefficients, self.n_variables)
        return summed.without_entries(summed.coefficients == 0)

    def _divided(self) -> IntegerEquations:
        filled = self.lengths > 0
        if not filled.any():
            return self
        divisors = np.gcd.reduceat(self.coefficients, self.indptr[:-1][filled])
        coefficients = narrowest(self.coefficients // np.repeat(divisors, self.lengths[filled]))
        return IntegerEquations(self.indptr, self.variables, coefficients, self.n_variables)

    def text(self, number: int, names: Names = None) -> str:
        """Write one row as an equation a person can read.

        Parameters
        ----------
        number : int
            Which.
        names : sequence of str or callable, optional
            Of the variables; v0, v1, ... if not given.

        Returns
        -------
        str
            Such as "p.v - n.v - 2 u = 0".
        """
        return equation_text(*self.row(number), names)

    def __str__(self) -> str:
        return "\n".join(f"{number}:  {self.text(number)}" for number in range(self.n_rows))


def stacked(upper: IntegerEquations, lower: IntegerEquations) -> IntegerEquations:
    """The rows of both, one below the other."""
    return IntegerEquations(
        np.concatenate((upper.indptr, upper.indptr[-1] + lower.indptr[1:])),
        np.concatenate((upper.variables, lower.variables)),
        np.concatenate((upper.coefficients, lower.coefficients)),
        upper.n_variables,
    )


def exact_integers(values: NDArray) -> NDArray:
    """int64 or object. The one int64 without a negative becomes a Python integer, unsigned ones too."""
    values = np.asarray(values)
    if len(values) == 0:
        return values.astype(np.int64)
    if values.dtype == object:
        return values
    if not np.issubdtype(values.dtype, np.integer):
        raise TypeError(f"coefficients have to be integers, not {values.dtype}")
    limit = np.iinfo(np.int64).max
    if int(values.max()) > limit or int(values.min()) < -limit:
        return values.astype(object)
    return values.astype(np.int64, copy=False)


def widened(values: NDArray, terms: int) -> NDArray:
    """Python integers if a sum of so many of these values might not fit into 64 bits."""
    if values.dtype == object or int(np.abs(values).max(initial=0)) <= INT64_SAFE // terms:
        return values
    return values.astype(object)


def narrowest(values: NDArray | list[int]) -> NDArray:
    """int64 if all values fit, else Python integers."""
    if isinstance(values, np.ndarray) and values.dtype != object:
        return values
    if len(values) == 0 or max(abs(value) for value in values) <= INT64_SAFE:
        return np.array(values, dtype=np.int64)
    exact = np.empty(len(values), dtype=object)
    exact[:] = values
    return exact


def name_of(variable: int, names: Names) -> str:
    if names is None:
        return f"v{variable}"
    return names(variable) if callable(names) else names[variable]


def equation_text(variables: NDArray, coefficients: NDArray, names: Names = None) -> str:
    """``p.v - n.v - 2 u = 0``, and ``0 = 0`` for an empty row."""
    text = ""
    for variable, coefficient in zip(variables.tolist(), coefficients.tolist(), strict=True):
        factor = "" if abs(coefficient) == 1 else f"{abs(coefficient)} "
        if text:
            sign = " - " if coefficient < 0 else " + "
        else:
            sign = "-" if coefficient < 0 else ""
        text += f"{sign}{factor}{name_of(variable, names)}"
    return f"{text or 0} = 0"

"""Fraction-free elimination of sparse integer rows, pivots chosen so that little fills in.

A pivot (row r, variable v) takes row r out and removes v from every other row i by
``row_i := (c_rv row_i - c_iv row_r) / g`` with ``g = gcd(c_rv, c_iv)``: integers only, and the factor of
row i is never zero. Each row at the time it is taken out is therefore a multiple of the original row
plus a combination of rows taken out before: a triangular change of basis. So ANY of the original rows
may be replaced by its reduced form, and the others kept as they were, without changing the space of
solutions. That is what lets the caller keep its sparse rows and use only the few reduced rows that
say something new.

Bareiss (1968) divides by the previous pivot, which bounds the growth of dense rows. Here a row is
divided by the greatest common divisor of its coefficients after it was scaled: never larger, and local
to the row, so that a pivot costs no more than the rows it touches. Pivots are chosen as by Markowitz
(1957): a variable in one row only costs nothing; else the shortest row, and in it the variable in fewest
rows, preferring coefficients +-1, which scale nothing. Python integers throughout.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from math import gcd

import numpy as np

from .integer_equations import Bools, IntegerEquations, Ints

MANY = 20  # rows of a variable from which on it is not tried for making rows shorter
PEEL_AT_LEAST = 0.02  # share of the rows a vectorized round has to take out to be worth its cost

Row = dict[int, int]


class SparseRows:
    """Rows as mappings, and for each variable that may become a pivot the set of rows it is in."""

    def __init__(self, equations: IntegerEquations, numbers: Ints, pivotable: Bools) -> None:
        self.rows: dict[int, Row] = dict(zip(numbers.tolist(), equations.as_mappings(), strict=True))
        may_pivot = pivotable[equations.variables]
        self.columns: dict[int, set[int]] = {}
        in_row = numbers[equations.row_of_entry[may_pivot]]
        pairs = zip(equations.variables[may_pivot].tolist(), in_row.tolist(), strict=True)
        for variable, number in pairs:
            self.columns.setdefault(variable, set()).add(number)

    def take(self, number: int, variable: int) -> tuple[Row, set[int]]:
        """Use a row as pivot: its reduced form, and the numbers of the rows this changed."""
        pivot_row = self.rows.pop(number)
        for other_variable in pivot_row:
            if other_variable in self.columns:
                self.columns[other_variable].discard(number)
        changed = self.columns.pop(variable)
        for other in changed:
            self._cancel(other, variable, pivot_row)
        return pivot_row, changed

    def _cancel(self, number: int, variable: int, pivot_row: Row) -> None:
        row, pivot = self.rows[number], pivot_row[variable]
        entry = row.pop(variable)
        divisor = gcd(pivot, entry) if pivot > 0 else -gcd(pivot, entry)
        scale, factor = pivot // divisor, entry // divisor
        if scale != 1:
            for other in row:
                row[other] *= scale
        for other, coefficient in pivot_row.items():
            if other == variable:
                continue
            old = row.get(other, 0)
            new = old - factor * coefficient
            column = self.columns.get(other)
            if new:
                row[other] = new
                if not old and column is not None:
                    column.add(number)
            else:
                del row[other]  # was there: a coefficient of the pivot row is not zero
                if column is not None:
                    column.discard(number)
        if scale != 1 and row:  # dividing after every addition would cost the length of the row each time
            divisor = gcd(*row.values())
            if divisor != 1:
                for other in row:
                    row[other] //= divisor


@dataclass(frozen=True)
class Elimination:
    """What elimination found: the pivots, their rows as reduced when used, and the rows left over."""

    pivots: dict[int, int]  # row number -> variable
    reduced: dict[int, Row]  # row number -> its reduced form when it became a pivot
    rest: dict[int, Row]  # row number -> what is left: no variable in it may be a pivot


def eliminate(sparse: SparseRows) -> Elimination:
    """Eliminate until no row has a variable that may be a pivot. Consumes `sparse`."""
    rows, columns = sparse.rows, sparse.columns
    pivots: dict[int, int] = {}
    reduced: dict[int, Row] = {}
    rest: dict[int, Row] = {}
    queued = {number: len(row) for number, row in rows.items()}  # shortest length in the heap
    heap = [(length, number) for number, length in queued.items()]
    heapq.heapify(heap)
    alone = [variable for variable, column in columns.items() if len(column) == 1]

    def use(number: int, variable: int) -> None:
        pivots[number] = variable
        reduced[number], changed = sparse.take(number, variable)
        for other in changed:
            length = len(rows[other])
            if length < queued[other]:
                queued[other] = length
                heapq.heappush(heap, (length, other))
        alone.extend(v for v in reduced[number] if v in columns and len(columns[v]) == 1)

    while alone or heap:
        if alone:
            variable = alone.pop()
            column = columns.get(variable, ())
            if len(column) == 1:
                use(next(iter(column)), variable)
            continue
        length, number = heapq.heappop(heap)
        if number not in rows:
            continue
        row = rows[number]
        if len(row) > length:  # has grown since: its turn comes later
            queued[number] = len(row)
            heapq.heappush(heap, (len(row), number))
            continue
        choices = [(abs(c) != 1, len(columns[v]), v) for v, c in row.items() if v in columns]
        if choices:
            use(number, min(choices)[-1])
        else:
            rest[number] = rows.pop(number)
    return Elimination(pivots, reduced, rest)


def shorten(rows: dict[int, Row]) -> dict[int, Row]:
    """The same rows, with multiples of others subtracted as long as that makes one of them shorter."""
    rows = {number: dict(row) for number, row in rows.items()}
    columns: dict[int, set[int]] = {}
    for number, row in rows.items():
        for variable in row:
            columns.setdefault(variable, set()).add(number)
    waiting = sorted(rows, key=lambda number: (-len(rows[number]), number))  # the shortest is taken first
    while waiting:
        number = waiting.pop()
        row = rows[number]
        for variable in sorted(row):
            if len(columns[variable]) > MANY:
                continue
            for other in sorted(columns[variable] - {number}):
                shorter = _without(rows[other], variable, row) if variable in rows[other] else rows[other]
                if len(shorter) < len(rows[other]):
                    for gone in rows[other].keys() - shorter.keys():
                        columns[gone].discard(other)
                    for new in shorter.keys() - rows[other].keys():
                        columns[new].add(other)
                    rows[other] = shorter
                    waiting.append(other)
    return rows


def _without(row: Row, variable: int, pivot_row: Row) -> Row:
    """A multiple of the row minus one of the other, in which the variable has cancelled."""
    pivot, entry = pivot_row[variable], row[variable]
    combined = {
        v: pivot * row.get(v, 0) - entry * pivot_row.get(v, 0) for v in row.keys() | pivot_row.keys()
    }
    left = {v: combined[v] for v in sorted(combined) if combined[v]}
    divisor = gcd(*left.values()) if left else 1
    return {v: coefficient // divisor for v, coefficient in left.items()}


@dataclass(frozen=True)
class Peeling:
    """Rows taken out because a variable is in no other row, with that variable, and the rows left."""

    rows: Ints
    pivots: Ints
    left: Ints


def peel(equations: IntegerEquations, pivotable: Bools) -> Peeling:
    """Take out rows with a variable that is in no other row, again and again: pivots without work.

    Vectorized, a round at a time, as long as rounds take out enough; the long tail of a cascade is for
    `eliminate`, which takes such rows first as well, one by one.
    """
    left = np.arange(equations.n_rows)
    rows, pivots = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    entries = pivotable[equations.variables]
    variables, in_row = equations.variables[entries], equations.row_of_entry[entries]
    while len(left):
        occurrences = np.bincount(variables, minlength=equations.n_variables)
        alone = np.flatnonzero(occurrences[variables] == 1)
        peeled, first = np.unique(in_row[alone], return_index=True)
        rows.append(peeled)
        pivots.append(variables[alone[first]])
        out = np.zeros(equations.n_rows, dtype=bool)
        out[peeled] = True
        stays = ~out[in_row]
        variables, in_row = variables[stays], in_row[stays]
        enough = len(peeled) >= PEEL_AT_LEAST * len(left)
        left = left[~out[left]]
        if not len(peeled) or not enough:
            break
    return Peeling(np.concatenate(rows), np.concatenate(pivots), left)

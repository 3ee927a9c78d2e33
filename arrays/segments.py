"""Splitting arrays as far as equations distinguish their elements, and no further.

An equation that touches `x[0]`, or `x[1:]`, cuts x into intervals; each interval is a variable node. An
elementwise equation, whose row r contains element `first + r` of a variable and no other, is cut where
its variables are cut, and cuts its other variables in turn: `der(p) == v` with a constraint on `p[1]`
becomes three equations. That is given up for an equation where it would go on: a stencil, whose rows
contain several elements of one variable, or equations that shift cuts in a circle. Such an equation
stays one node that counts as containing, in every row, all it touches: the convention for arrays, which
is less precise than its elements would be.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .structure import Integers

# Cuts that an equation may take over from its variables, beyond twice as many as others have made in them.
MOST_CUTS = 16


@dataclass(frozen=True)
class Access:
    """What an equation touches of a variable.

    Row r touches element `first + r`, if `first` is given; else every row touches `start:stop`, or what
    lies between some of the `cuts`.
    """

    equation: int
    variable: int
    first: int | None = None
    start: int = 0
    stop: int = 0
    cuts: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Segments:
    """Variable v is cut at `variable_cuts[v]`, from 0 to its size; equation e at `equation_cuts[e]`."""

    variable_cuts: list[Integers]
    equation_cuts: list[Integers]

    def variable_segments(self, variable: int, start: int, stop: int) -> Integers:
        """The segments that cover start:stop, which has to end at cuts."""
        cuts = self.variable_cuts[variable]
        return np.arange(np.searchsorted(cuts, start), np.searchsorted(cuts, stop))

    def __str__(self) -> str:
        split = sum(len(cuts) > 2 for cuts in self.variable_cuts)
        rows = sum(len(cuts) > 2 for cuts in self.equation_cuts)
        return f"{split} variables and {rows} equations are split into segments"


def find_segments(
    variable_sizes: Iterable[int], equation_sizes: Iterable[int], accesses: list[Access]
) -> Segments:
    """The coarsest splitting in which every access covers whole segments."""
    sizes, rows = list(variable_sizes), list(equation_sizes)
    by_equation: list[list[Access]] = [[] for _ in rows]
    for access in accesses:
        by_equation[access.equation].append(access)
    whole = {e for e, own in enumerate(by_equation) if _has_several_elements_a_row(own)}
    given = [{0, size} for size in sizes]
    for access in accesses:
        given[access.variable] |= _own_cuts(access, rows[access.equation])
        assert max(given[access.variable]) <= sizes[access.variable], "a cut behind the end of a variable"
    while True:
        cuts = [set(own) for own in given]
        row_cuts, endless = _propagate(cuts, rows, by_equation, whole)
        if not endless:
            break
        whole |= endless
    return Segments([np.array(sorted(c)) for c in cuts], [np.array(sorted(c)) for c in row_cuts])


def _has_several_elements_a_row(accesses: list[Access]) -> bool:
    """Whether the rows of an equation contain two elements of one variable: splitting would not end."""
    linked = [access for access in accesses if access.first is not None]
    places = {(access.variable, access.first) for access in linked}
    return len({variable for variable, _ in places}) < len(places)


def _own_cuts(access: Access, rows: int) -> set[int]:
    if access.first is not None:
        return {access.first, access.first + rows}
    return set(access.cuts) or {access.start, access.stop}


def _propagate(
    cuts: list[set[int]], rows: list[int], by_equation: list[list[Access]], whole: set[int]
) -> tuple[list[set[int]], set[int]]:
    """Carry cuts from variables to elementwise equations and back until nothing changes.

    Returns the cuts of the equations, and the equations for which that does not end.
    """
    row_cuts = [{0, count} for count in rows]
    given = [len(own) for own in cuts]
    users: dict[int, set[int]] = {}
    for equation, accesses in enumerate(by_equation):
        for access in accesses:
            if access.first is not None and equation not in whole and rows[equation] > 1:
                users.setdefault(access.variable, set()).add(equation)
    waiting = {equation for equations in users.values() for equation in equations}
    while waiting:
        equation = waiting.pop()
        linked = [access for access in by_equation[equation] if access.first is not None]
        count = rows[equation]
        for access in linked:
            assert access.first is not None
            inside = {cut - access.first for cut in cuts[access.variable]}
            row_cuts[equation] |= {cut for cut in inside if 0 < cut < count}
        if len(row_cuts[equation]) > MOST_CUTS + 2 * max(given[access.variable] for access in linked):
            return row_cuts, {equation}
        for access in linked:
            assert access.first is not None
            carried = {cut + access.first for cut in row_cuts[equation]}
            if not carried <= cuts[access.variable]:
                cuts[access.variable] |= carried
                waiting |= users[access.variable] - {equation}
    return row_cuts, set()

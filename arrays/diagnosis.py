"""What is wrong with a structure that cannot be solved.

The Dulmage-Mendelsohn decomposition on arrays, of equations against unknowns (a variable and its
derivatives are one): what is reached from an unmatched equation has more equations than unknowns, what
is reached from an unmatched unknown has fewer.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from .matching import Matching, match, reached_from_columns, reached_from_rows
from .pantelides import potential_graph
from .structure import Integers, Structure

MOST_SETS = 20  # singular sets looked for one by one; a user reads the first few
MOST_NAMES = 8
MOST_SHOWN = 3  # sets of a kind that are printed
MOST_READ = 1000  # equations whose names are made, to find parts of one equation
PART = re.compile(r"^(.*\b)part (\d+)\)$", re.DOTALL)


@dataclass(frozen=True, eq=False)
class SingularSet:
    """Equations and the unknowns in them, which are not as many.

    Attributes
    ----------
    equations, unknowns : array of int
        Their numbers in the structure.
    surplus : int
        Scalar equations too many; negative: too few.
    """

    equations: Integers
    unknowns: Integers
    surplus: int


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What is wrong with a structure; printed, it says so in its names.

    Attributes
    ----------
    structure : Structure
        The structure.
    over, under : tuple of SingularSet
        The over-determined and the under-determined parts, smallest first.
    equation_total, unknown_total : int
        Scalar equations and unknowns.
    """

    structure: Structure
    over: tuple[SingularSet, ...]
    under: tuple[SingularSet, ...]
    equation_total: int
    unknown_total: int

    @property
    def is_regular(self) -> bool:
        """Whether nothing is wrong."""
        return not self.over and not self.under

    def __str__(self) -> str:
        if self.is_regular:
            return f"{self.equation_total} equations determine {self.unknown_total} unknowns."
        equations, unknowns = self.equation_total, self.unknown_total
        totals = f"{_count(equations, 'scalar equation')} for {_count(unknowns, 'unknown')}"
        lines = [f"{totals}{self._balance()}."]
        for part in self.over[:MOST_SHOWN]:
            lines.append(
                f"Over-determined by {part.surplus}: {self._equations(part)} for only "
                f"{self._unknowns(part) or 'constants'}:"
            )
            lines += self._names(part)
        lines += _more(len(self.over) - MOST_SHOWN, "such parts")
        for part in self.under[:MOST_SHOWN]:
            lines.append(
                f"Under-determined by {-part.surplus}: {self._unknowns(part)} "
                + (f"in only {self._equations(part)}:" if len(part.equations) else "in no equation.")
            )
            lines += self._names(part)
        lines += _more(len(self.under) - MOST_SHOWN, "such parts")
        return "\n".join(lines)

    def _names(self, part: SingularSet) -> list[str]:
        """Names of its equations, a line each; those that differ in a number only are one line."""
        texts = [self.structure.equation_name(int(e)) for e in part.equations[:MOST_READ]]
        lines = [f"    {text}" for text in _joined_parts(texts)]
        return lines[:MOST_NAMES] + _more(
            max(len(lines) - MOST_NAMES, 0) + len(part.equations) - len(texts)
        )

    def _equations(self, part: SingularSet) -> str:
        """How many equations, counted as scalars like everything else."""
        return _count(int(self.structure.equation_size[part.equations].sum()), "equation")

    def _balance(self) -> str:
        difference = self.equation_total - self.unknown_total
        if difference == 0:
            return ", as many as needed, but not independent"
        return f": {abs(difference)} too {'many' if difference > 0 else 'few'}"

    def _unknowns(self, part: SingularSet) -> str:
        names = [self.structure.variable_name(int(v)) for v in part.unknowns[:MOST_NAMES]]
        more = len(part.unknowns) - MOST_NAMES
        return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _joined_parts(texts: list[str]) -> Iterator[str]:
    """Parts of one equation that stand side by side, as one text."""
    for begin, group in itertools.groupby(texts, key=lambda text: PART.sub(r"\1", text)):
        same = list(group)
        numbers = [int(found[2]) for text in same if (found := PART.match(text))]
        if len(same) == 1:
            yield same[0]
        elif numbers[-1] - numbers[0] == len(numbers) - 1:
            yield f"{begin}parts {numbers[0]} to {numbers[-1]})"
        else:
            yield f"{begin}{len(numbers)} parts)"


def _more(number: int, of: str = "") -> list[str]:
    return [f"    ... and {number} more {of}".rstrip()] if number > 0 else []


def diagnose(structure: Structure) -> Diagnosis:
    """Find which equations are too many, and which unknowns are not determined.

    Parameters
    ----------
    structure : Structure
        Who occurs where, at which derivative order.

    Returns
    -------
    Diagnosis
        The parts that cannot be solved.

    Examples
    --------
    >>> from modia_py.arrays import diagnose, make_structure
    >>> print(diagnose(make_structure([[0], [0]], 2)))
    2 scalar equations for 2 unknowns, as many as needed, but not independent.
    Over-determined by 1: 2 equations for only v0:
        e0
        e1
    Under-determined by 1: v1 in no equation.
    """
    graph, equations, unknowns = potential_graph(structure)
    matching = match(graph)
    over = _sets(matching, matching.unmatched_rows(), equations, unknowns, from_rows=True)
    under = _sets(matching, matching.unmatched_columns(), equations, unknowns, from_rows=False)
    return Diagnosis(
        structure, over, under, int(graph.row_capacity.sum()), int(graph.column_capacity.sum())
    )


def _sets(
    matching: Matching, begin: Integers, equations: Integers, unknowns: Integers, from_rows: bool
) -> tuple[SingularSet, ...]:
    reach = reached_from_rows if from_rows else reached_from_columns
    found: dict[bytes, tuple[Integers, Integers]] = {}
    graph = matching.graph
    # One by one gives the smallest sets; when there are very many, all at once gives the rest.
    starts = [begin[k : k + 1] for k in range(min(len(begin), MOST_SETS))]
    if len(begin) > MOST_SETS:
        starts.append(begin[MOST_SETS:])
    for start in starts:
        rows, columns = reach(matching, start)
        # Two unknowns too many for the same equations are one thing that is wrong.
        key = rows.tobytes() if rows.any() and not from_rows else columns.tobytes() + b"|" + rows.tobytes()
        _, others = found.get(key, (rows, columns))
        found[key] = rows, others | columns
    sets = [
        SingularSet(
            equations[rows],
            unknowns[columns],
            int(graph.row_capacity[rows].sum() - graph.column_capacity[columns].sum()),
        )
        for rows, columns in found.values()
    ]
    return tuple(sorted(sets, key=lambda part: len(part.equations) + len(part.unknowns)))

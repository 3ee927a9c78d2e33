"""What the removal of singularities found, as a person wants to read it, and the check of its balance.

Notation and method: see `singularities`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .integer_equations import Bools, IntegerEquations, Ints, Names, name_of

LISTED = 8  # how many of a kind a report names
MISSING_GROUND = "is a ground missing?"


@dataclass(frozen=True)
class Singularities:
    """What was found in integer-linear equations, and the equivalent equations that remain.

    Every row is one of: redundant; used up to determine a zero or an alias; replaced by a hidden
    constraint; remaining. Every variable is at most one of: arbitrary, zero, alias.

    Attributes
    ----------
    n_rows, n_variables : int
        Of the given equations.
    ranks : tuple of int
        r1, r2, r3: see `singularities`.
    redundant : array of int
        Rows that follow from the others.
    arbitrary : array of int
        Variables that nothing determines: set to zero.
    zero : array of int
        Variables that are zero then.
    alias_of : array of int
        For each variable its representative, which is no alias and not zero; or -1.
    alias_sign : array of int
        variable = sign * representative.
    determined_by : array of int
        For each zero or alias the row that was used up for it; else -1.
    hidden_rows, hidden : array of int, IntegerEquations
        Rows that are replaced, and the constraints among potential states that replace them.
    remaining_rows, remaining : array of int, IntegerEquations
        The other rows, and what they are with zeros and aliases substituted.
    """

    n_rows: int
    n_variables: int
    ranks: tuple[int, int, int]
    redundant: Ints
    arbitrary: Ints
    zero: Ints
    alias_of: Ints
    alias_sign: Ints
    determined_by: Ints
    hidden_rows: Ints
    hidden: IntegerEquations
    remaining_rows: Ints
    remaining: IntegerEquations

    @property
    def aliases(self) -> Ints:
        """The variables that are aliases of others."""
        return np.flatnonzero(self.alias_of >= 0)

    @property
    def imbalance(self) -> int:
        """By how much (equations - unknowns) of the whole model has changed: arbitrary - redundant.

        Zero for a regular model, with or without a ground. Anything else says that the model itself has
        too few or too many equations somewhere, which the rows alone cannot mend.
        """
        return len(self.arbitrary) - len(self.redundant)

    def warnings(self, names: Names = None, question: Callable[[int], str] | None = None) -> list[str]:
        """Say what a user has to know.

        Parameters
        ----------
        names : sequence of str or callable, optional
            Of the variables; v0, v1, ... if not given.
        question : callable, optional
            What to ask of an arbitrary variable, by its number; of a potential if not given.

        Returns
        -------
        list of str
            One sentence for every arbitrary variable, and one if equations and variables do not balance.
        """
        texts = [
            f"{name_of(variable, names)} was set to zero: nothing determines it; "
            f"{question(variable) if question else MISSING_GROUND}"
            for variable in self.arbitrary.tolist()
        ]
        if self.imbalance:
            texts.append(self._imbalance_text())
        return texts

    def _imbalance_text(self) -> str:
        redundant, arbitrary = len(self.redundant), len(self.arbitrary)
        found = f"{_count(redundant, 'equation')} redundant but {_count(arbitrary, 'variable')} arbitrary"
        if self.imbalance < 0:
            return (
                f"{found}: the model has fewer independent equations than it seems, by {-self.imbalance}; "
                "is an equation written twice, or another one missing?"
            )
        return (
            f"{found}: more variables lack an equation than equations can be spared, by {self.imbalance}; "
            "is a variable declared that nothing uses?"
        )

    def report(self, names: Names = None) -> str:
        """Count everything, and name the first few of each kind.

        Parameters
        ----------
        names : sequence of str or callable, optional
            Of the variables; v0, v1, ... if not given.

        Returns
        -------
        str
            Several lines.
        """

        def listed(title: str, texts: list[str], total: int) -> list[str]:
            more = [f"    ... and {total - LISTED} more"] if total > LISTED else []
            return [f"  {title}: {total}", *(f"    {text}" for text in texts), *more]

        def rows(numbers: Ints, equations: IntegerEquations) -> list[str]:
            some = enumerate(numbers[:LISTED].tolist())
            return [f"row {number}:  {equations.text(at, names)}" for at, number in some]

        def variables(some: Ints) -> list[str]:
            return [name_of(variable, names) for variable in some[:LISTED].tolist()]

        aliases = [
            f"{name_of(v, names)} = {'-' if self.alias_sign[v] < 0 else ''}"
            f"{name_of(int(self.alias_of[v]), names)}"
            for v in self.aliases[:LISTED].tolist()
        ]
        redundant = [f"row {number}" for number in self.redundant[:LISTED].tolist()]
        hidden = rows(self.hidden_rows, self.hidden)
        return "\n".join(
            [
                f"{self.n_rows} integer-linear equations, ranks {', '.join(map(str, self.ranks))}",
                *listed("redundant equations", redundant, len(self.redundant)),
                *listed("arbitrary variables, set to zero", variables(self.arbitrary), len(self.arbitrary)),
                *listed("zero variables", variables(self.zero), len(self.zero)),
                *listed("aliases", aliases, len(self.aliases)),
                *listed("hidden constraints among potential states", hidden, len(self.hidden_rows)),
                f"  remaining equations: {len(self.remaining_rows)}",
                *([f"  {self._imbalance_text()}"] if self.imbalance else []),
            ]
        )

    def __str__(self) -> str:
        return self.report()


def _count(number: int, noun: str) -> str:
    return f"{number} {noun} is" if number == 1 else f"{number} {noun}s are"


def check_singularities(found: Singularities, states: Bools) -> None:
    """Check that the model stays balanced: no row or variable is lost or counted twice.

    Each row is redundant, or used up for exactly one zero or alias, or hidden, or remaining:

        rows = redundant + zeros + aliases + hidden + remaining

    so rows and unknowns disappear in pairs, except for redundant rows and arbitrary variables, and
    (equations - unknowns) of the whole model changes by exactly arbitrary - redundant (`imbalance`).

    Parameters
    ----------
    found : Singularities
        What `remove_singularities` has returned.
    states : array of bool
        Which variables are potential states.

    Raises
    ------
    AssertionError
        If something is wrong.
    """

    def claim(holds: bool | np.bool_, text: str) -> None:
        if not holds:
            raise AssertionError(f"removal of singularities is wrong: {text}")

    aliases, used = found.aliases, found.determined_by[found.determined_by >= 0]
    fates = np.concatenate((found.redundant, used, found.hidden_rows, found.remaining_rows))
    claim(len(fates) == found.n_rows, f"{found.n_rows} rows, but {len(fates)} accounted for")
    claim(np.all(np.bincount(fates, minlength=found.n_rows) == 1), "a row is accounted for twice")
    replaced = np.concatenate((found.zero, aliases))
    claim(len(used) == len(replaced), f"{len(used)} rows used up for {len(replaced)} variables")
    claim(np.all(found.determined_by[replaced] >= 0), "a zero or an alias has used up no row")
    gone = np.zeros(found.n_variables, dtype=np.int64)
    np.add.at(gone, np.concatenate((replaced, found.arbitrary)), 1)
    claim(gone.max(initial=0) <= 1, "a variable is removed twice")
    claim(not np.any(gone[states]), "a potential state is removed")
    claim(not np.any(gone[found.alias_of[aliases]]), "a representative is itself removed")
    claim(not np.any(gone[found.remaining.variables]), "a removed variable is in a remaining row")
    claim(np.all(states[found.hidden.variables]), "a hidden constraint is not about states only")
    claim(np.all(found.hidden.lengths > 0) and np.all(found.remaining.lengths > 0), "an empty row is kept")

"""The structure without what singularity removal has found: redundant equations, aliases, zeros.

Aliases are replaced by what they stand for in all other equations, zeros and arbitrary variables are left
out, and integer-linear equations take their reduced form: hidden constraints become structural. The
equations and variables that are used up are no longer in the structure; `equations` and `variables` say
which of the original ones the remaining ones are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .integer_equations import IntegerEquations
from .singularities import Singularities, remove_singularities
from .structure import NONE, Integers, Structure


@dataclass(frozen=True, eq=False)
class Simplified:
    """A smaller structure, and where its nodes come from.

    Attributes
    ----------
    structure : Structure
        Without redundant equations, aliases and zeros.
    equations, variables : array of int
        Which of the original ones the remaining ones are.
    found : Singularities
        What was found in the integer-linear equations.
    original : Structure
        As it was given.
    rows : array of int
        The equations of the integer-linear rows.
    hidden_count : int
        Constraints among potential states that no single equation showed.
    """

    structure: Structure
    equations: Integers
    variables: Integers
    found: Singularities
    original: Structure
    rows: Integers
    hidden_count: int

    @property
    def redundant_equations(self) -> Integers:
        """Equations of the original structure that follow from others."""
        return self.rows[self.found.redundant]

    def marks(self, mask: Integers) -> Integers:
        """Hand marks of original variables on to the remaining ones.

        An alias gives its mark to its representative.

        Parameters
        ----------
        mask : array of bool
            Marks of the original variables.

        Returns
        -------
        array of bool
            Marks of the remaining variables.
        """
        mask = mask.copy()
        aliases = self.found.aliases
        mask[self.found.alias_of[aliases[mask[aliases]]]] = True
        return mask[self.variables]

    def warnings(self, question: Callable[[int], str] | None = None) -> list[str]:
        """Say what a user has to know, in the user's names.

        Parameters
        ----------
        question : callable, optional
            What to ask of an arbitrary variable, by its number.

        Returns
        -------
        list of str
            Sentences.
        """
        return self.found.warnings(self.original.variable_name, question)

    def __str__(self) -> str:
        found = self.found
        return (
            f"{len(found.aliases)} aliases, {len(found.zero)} zeros, {len(found.redundant)} redundant "
            f"equations, {len(found.arbitrary)} arbitrary variables, {self.hidden_count} hidden "
            f"constraints; left: {self.structure}"
        )


def simplify_structure(structure: Structure, integers: IntegerEquations, rows: Integers) -> Simplified:
    """Remove singularities from a structure.

    Parameters
    ----------
    structure : Structure
        Who occurs where, at which derivative order.
    integers : IntegerEquations
        Those of its equations that are linear with integer coefficients.
    rows : array of int
        `rows[k]` is the equation that row k of `integers` belongs to.

    Returns
    -------
    Simplified
        The smaller structure, and what was found.
    """
    moving = structure.variable_derivative != NONE
    keeps_identity = moving | (structure.integral_of_variable() != NONE)
    is_integer = np.zeros(structure.equation_count, bool)
    is_integer[rows] = True
    elsewhere = keeps_identity.copy()
    elsewhere[structure.variables[~is_integer[structure.equation_of_entry()]]] = True
    found = remove_singularities(integers, differentiated=keeps_identity, elsewhere=elsewhere)
    row, column, solvable = _entries(structure, rows, is_integer, found)
    gone = np.zeros(structure.variable_count, bool)
    gone[np.concatenate([found.arbitrary, found.zero, found.aliases])] = True
    used_up = np.zeros(structure.equation_count, bool)
    used_up[rows] = True
    used_up[rows[np.concatenate([found.hidden_rows, found.remaining_rows])]] = False
    in_sight = np.ones(integers.n_rows, bool)
    in_sight[integers.row_of_entry[~keeps_identity[integers.variables]]] = False
    hidden_count = int((~in_sight[found.hidden_rows]).sum())
    return _renumbered(structure, row, column, solvable, ~used_up, ~gone, found, rows, hidden_count)


def _entries(
    structure: Structure, rows: Integers, is_integer: Integers, found: Singularities
) -> tuple[Integers, Integers, Integers]:
    """Entries of the other equations with aliases replaced, and those of the reduced rows."""
    alias = found.alias_of >= 0
    vanishes = np.zeros(structure.variable_count, bool)
    vanishes[np.concatenate([found.arbitrary, found.zero])] = True
    kept = ~is_integer[structure.equation_of_entry()] & ~vanishes[structure.variables]
    row, column = structure.equation_of_entry()[kept], structure.variables[kept]
    column = np.where(alias[column], found.alias_of[column], column)
    parts = [(row, column, structure.solvable[kept])]
    for numbers, equations in ((found.hidden_rows, found.hidden), (found.remaining_rows, found.remaining)):
        own = rows[numbers[equations.row_of_entry]]
        parts.append((own, equations.variables, np.ones(len(own), bool)))
    row, column, solvable = (np.concatenate([part[k] for part in parts]) for k in range(3))
    # A variable that an equation now contains twice has a coefficient nobody knows.
    _, first, times = np.unique(
        row * structure.variable_count + column, return_index=True, return_counts=True
    )
    order = np.lexsort((first, row[first]))
    first, times = first[order], times[order]
    return row[first], column[first], solvable[first] & (times == 1)


def _renumbered(
    structure: Structure,
    row: Integers,
    column: Integers,
    solvable: Integers,
    keep_equation: Integers,
    keep_variable: Integers,
    found: Singularities,
    rows: Integers,
    hidden_count: int,
) -> Simplified:
    equations, variables = np.flatnonzero(keep_equation), np.flatnonzero(keep_variable)
    new_row = np.cumsum(keep_equation) - 1
    new_column = np.append(np.cumsum(keep_variable) - 1, NONE)
    derivative = structure.variable_derivative[variables]
    smaller = Structure(
        structure.equation_size[equations],
        structure.variable_size[variables],
        np.searchsorted(new_row[row], np.arange(len(equations) + 1)),
        new_column[column],
        solvable,
        new_column[derivative],  # -1 stays -1: the last entry
        np.full(len(equations), NONE),
        lambda e: structure.equation_name(int(equations[e])),
        lambda v: structure.variable_name(int(variables[v])),
    )
    return Simplified(smaller, equations, variables, found, structure, rows, hidden_count)

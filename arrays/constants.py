"""Variables that equations without time make constant: `world.R == eye(3)`.

Such a variable is known beforehand, as a parameter is: where another equation is differentiated, its
derivative is zero and is in no equation. So its own equation is never differentiated, and it brings no
state and no multiplier. What follows from constants alone is constant, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .structure import NONE, Integers, Structure

MOST_PASSES = 100
"""Constants that follow from each other in longer chains stay variables."""


@dataclass(frozen=True, eq=False)
class Constants:
    """Which variables are constant, and which entry of the structure makes each of them so."""

    variables: Integers  # flags
    entries: Integers  # flags of entries

    def hidden(self, structure: Structure) -> Integers:
        """Flags of entries in which a variable is nothing but known, also in equations that were added."""
        constant = self.mask(structure)
        own = np.zeros(len(structure.variables), bool)
        own[: len(self.entries)] = self.entries
        return constant[structure.variables] & ~own

    def mask(self, structure: Structure) -> Integers:
        """Flags of the variables of a structure that was extended since."""
        constant = np.zeros(structure.variable_count, bool)
        constant[: len(self.variables)] = self.variables
        return constant


def find_constants(structure: Structure, timeless: Integers) -> Constants:
    """The constants of a structure, whose `timeless` equations contain variables and parameters only."""
    owner, variables = structure.equation_of_entry(), structure.variables
    undifferentiated = (structure.variable_derivative == NONE) & (structure.integral_of_variable() == NONE)
    fits = structure.solvable & undifferentiated[variables]
    fits &= structure.equation_size[owner] == structure.variable_size[variables]
    constant = np.zeros(structure.variable_count, bool)
    own = np.zeros(len(variables), bool)
    waiting = timeless & (structure.equation_derivative == NONE)
    for _ in range(MOST_PASSES):
        unknown = ~constant[variables]
        left = np.bincount(owner[unknown], minlength=structure.equation_count)
        found = np.flatnonzero(unknown & fits & (waiting & (left == 1))[owner])
        found = found[np.unique(variables[found], return_index=True)[1]]
        if not len(found):
            break
        own[found], constant[variables[found]], waiting[owner[found]] = True, True, False
    return Constants(constant, own)

"""Hints of the user to tearing (Elmqvist and Otter 1994), by the numbers of nodes.

A hint names a residue equation, or a tear variable, or both. Equations named so are not solved for
anything, variables named so are not assigned, and what is left of a loop is assigned in the one order that
there is. A hint is for loops: where there is none it changes nothing. What it names stays to be seen:
equations that are named are not used up as aliases, and are counted into the loop of what they vary.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from .blt import Blocks, blocks_of_nodes
from .distinct import without
from .integer_equations import IntegerEquations
from .simplify import Simplified, simplify_structure
from .structure import NONE, Integers, Structure
from .tearing import Tearing

LISTED = 8


class NotInALoop(ValueError):
    """A hint from outside that is about no loop: it says which."""


@dataclass(frozen=True, eq=False)
class Hints:
    """Hint k names equation `equations[k]` and variable `variables[k]`; NONE where it names only one.

    Attributes
    ----------
    equations, variables : array of int
        Residue equations, and tear variables.
    orders : array of int, optional
        How often the variable is to be differentiated; that need not be a variable before the index is
        reduced.
    """

    equations: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    variables: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    orders: Integers | None = None

    def __len__(self) -> int:
        return len(self.equations)

    def joined(self, other: Hints) -> Hints:
        """Join two sets of hints.

        Parameters
        ----------
        other : Hints
            For the same structure.

        Returns
        -------
        Hints
            All of them.
        """
        return Hints(
            np.concatenate([self.equations, other.equations]),
            np.concatenate([self.variables, other.variables]),
        )

    def residues(self, count: int) -> Integers:
        """Mark residue equations.

        Parameters
        ----------
        count : int
            The number of equations.

        Returns
        -------
        array of bool
            A flag for each equation.
        """
        return _marked(self.equations, count)

    def tears(self, count: int) -> Integers:
        """Mark tear variables.

        Parameters
        ----------
        count : int
            The number of variables.

        Returns
        -------
        array of bool
            A flag for each variable.
        """
        return _marked(self.variables, count)

    def pairs(self) -> tuple[Integers, Integers]:
        """Give the hints that name both.

        Returns
        -------
        tuple of arrays of int
            Equations, and their tear variables.
        """
        both = (self.equations != NONE) & (self.variables != NONE)
        return self.equations[both], self.variables[both]


def _marked(nodes: Integers, count: int) -> Integers:
    marks = np.zeros(count, bool)
    marks[nodes[nodes != NONE]] = True
    return marks


def simplify_with_hints(
    structure: Structure, integers: IntegerEquations, rows: Integers, hints: tuple[Hints, ...]
) -> tuple[Simplified, tuple[Hints, ...]]:
    """Remove singularities, but leave equations with hints what they are if that changes nothing else; and
    the hints in the numbers of what remains."""
    marks = [own.residues(structure.equation_count) for own in hints]
    named = np.logical_or.reduce(marks)[rows]
    simplified = simplify_structure(structure, integers, rows)
    if named.any():
        left = simplify_structure(structure, _rows_of(integers, ~named), rows[~named])
        if _singular_counts(left) == _singular_counts(simplified):
            simplified = left
    return simplified, tuple(_simplified(own, simplified) for own in hints)


def _rows_of(integers: IntegerEquations, chosen: Integers) -> IntegerEquations:
    entries = chosen[integers.row_of_entry]
    return IntegerEquations(
        np.append(0, np.cumsum(integers.lengths[chosen])),
        integers.variables[entries],
        integers.coefficients[entries],
        integers.n_variables,
    )


def _singular_counts(simplified: Simplified) -> tuple[int, int, int]:
    """What rows without the residue equations must show as well, or these are part of a singularity."""
    found = simplified.found
    return len(found.redundant), len(found.arbitrary), simplified.hidden_count


def _simplified(hints: Hints, simplified: Simplified) -> Hints:
    new_equation = np.full(simplified.original.equation_count + 1, NONE)
    new_equation[simplified.equations] = np.arange(len(simplified.equations))
    new_variable = np.full(simplified.original.variable_count + 1, NONE)
    new_variable[simplified.variables] = np.arange(len(simplified.variables))
    alias_of = np.append(simplified.found.alias_of, NONE)
    variables = hints.variables
    variables = new_variable[np.where(alias_of[variables] != NONE, alias_of[variables], variables)]
    return Hints(new_equation[hints.equations], variables, hints.orders)


def _not_empty(hints: Hints) -> Hints:
    says = (hints.equations != NONE) | (hints.variables != NONE)
    return Hints(hints.equations[says], hints.variables[says])


def differentiated_hints(hints: Hints, structure: Structure) -> Hints:
    """The derivative of a residue equation is one, too, for the derivative of its variable."""
    variables = hints.variables
    if hints.orders is not None:
        for order in range(int(hints.orders.max(initial=0))):
            higher = np.append(structure.variable_derivative, NONE)[variables]
            variables = np.where(hints.orders > order, higher, variables)
    found = level = _not_empty(Hints(hints.equations, variables))
    while True:
        equations = np.append(structure.equation_derivative, NONE)[level.equations]
        going_on = equations != NONE
        if not going_on.any():
            return found
        variables = np.append(structure.variable_derivative, NONE)[level.variables[going_on]]
        level = Hints(equations[going_on], variables)
        found = found.joined(level)


def within_loops(hints: Hints, structure: Structure, blocks: Blocks) -> tuple[Hints, Integers]:
    """The hints as far as they are about loops, and which blocks they are about.

    Blocks hand their numbers down to what their nodes are derivatives of: see `blt.blocks_of_nodes`.
    """
    is_loop = np.append((np.diff(blocks.equation_start) > 1) | (np.diff(blocks.variable_start) > 1), False)
    of_equation, of_variable = (np.append(own, NONE) for own in blocks_of_nodes(structure, blocks))
    equations = np.where(is_loop[of_equation[hints.equations]], hints.equations, NONE)
    variables = np.where(is_loop[of_variable[hints.variables]], hints.variables, NONE)
    found = _not_empty(Hints(equations, variables))
    about = np.union1d(of_equation[found.equations], of_variable[found.variables])
    return found, about[about != NONE]


def check_in_loops(hints: Hints, structure: Structure, blocks: Blocks) -> None:
    """Raise `NotInALoop` for a hint that would change nothing."""
    inside, _ = within_loops(hints, structure, blocks)
    for own, found, name in (
        (hints.equations, inside.equations, structure.equation_name),
        (hints.variables, inside.variables, structure.variable_name),
    ):
        unused = without(own, np.append(found, NONE))
        if len(unused):
            raise NotInALoop(f"{name(int(unused[0]))} is in no algebraic loop")


def without_hinted_solutions(structure: Structure, hints: Hints) -> Structure:
    """The structure in which residue equations are solved for nothing, and tear variables by nothing."""
    given = hints.residues(structure.equation_count)[structure.equation_of_entry()]
    given |= hints.tears(structure.variable_count)[structure.variables]
    return replace(structure, solvable=structure.solvable & ~given)


@dataclass(frozen=True, eq=False)
class HintedLoop:
    """A loop that hints are about, as it was torn on its highest level.

    Attributes
    ----------
    block : int
        Its number.
    size : int
        Scalar equations.
    tears, residues : array of int
        Variables that are iterated, and equations that are left as residuals.
    more_tears, more_residues : array of int
        Those of them that no hint names.
    """

    block: int
    size: int
    tears: Integers
    residues: Integers
    more_tears: Integers
    more_residues: Integers

    @property
    def is_complete(self) -> bool:
        """Whether the hints leave nothing to choose but what one side of a pair was left out for."""
        return not (len(self.more_tears) and len(self.more_residues))

    def left_over(self, structure: Structure) -> str:
        """Tell what no hint names and nothing determines, by name and line.

        Parameters
        ----------
        structure : Structure
            Whose nodes these are.

        Returns
        -------
        str
            A sentence, and lines with equations.
        """
        variables = ", ".join(map(structure.variable_name, self.more_tears[:LISTED].tolist()))
        more = len(self.more_tears) - LISTED
        variables += f" and {more} more" if more > 0 else ""
        equations = [f"    {structure.equation_name(e)}" for e in self.more_residues[:LISTED].tolist()]
        if len(self.more_residues) > LISTED:
            equations.append(f"    ... and {len(self.more_residues) - LISTED} more")
        head = (
            f"Tear variables and residue equations that are named leave a part of a loop of {self.size} "
            f"equations undetermined. Left over are {variables}, and as residuals:"
        )
        advice = (
            "Name more of them. An equation is solved for a variable only where that never divides by what "
            "may vanish: parameters that cannot be zero are declared `nonzero`."
        )
        return "\n".join([head, *equations, advice])


def hinted_loops(
    structure: Structure, blocks: Blocks, hints: Hints, torn: Tearing
) -> tuple[HintedLoop, ...]:
    """The loops that hints are about, from what tearing has left over on the highest level."""
    hints, about = within_loops(hints, structure, blocks)
    tears, residues = torn.tears, torn.residuals
    of_equation = blocks.block_of_equation(structure.equation_count)
    of_variable = blocks.block_of_variable(structure.variable_count)
    loops = []
    for block in about.tolist():
        own_tears, own_residues = (
            tears[of_variable[tears] == block],
            residues[of_equation[residues] == block],
        )
        loops.append(
            HintedLoop(
                block,
                int(structure.equation_size[blocks.equations_of(block)].sum()),
                own_tears,
                own_residues,
                without(own_tears, hints.variables),
                without(own_residues, hints.equations),
            )
        )
    return tuple(loops)

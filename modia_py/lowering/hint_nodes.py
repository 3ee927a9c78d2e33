"""The hints of a model's equations by the numbers of nodes, and names given from outside.

A hint stands in an equation of a component class, and holds in each copy of it, for the variables of that
copy. Elements that no equation tells apart are one node: a hint for some of them is one for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..arrays.distinct import distinct
from ..arrays.hints import Hints
from ..arrays.pantelides import IndexReduction
from ..arrays.simplify import Simplified
from ..arrays.structure import NONE, Integers, Structure
from ..errors import ModelError
from ..expressions.equation import Hint, HintKind
from ..expressions.expression import Leaf
from ..language.flat_model import FlatEquation
from .model_structure import ModelStructure
from .value_map import nodes_of_elements

TearPair = tuple[str | None, str | None]


def hinted_nodes(model: ModelStructure, kind: HintKind) -> Hints:
    """The hints of one kind that stand in equations."""
    none = np.zeros(0, np.int64)
    equations, variables, orders = [none], [none], [none]
    for number, flat in enumerate(model.flat.equations):
        own = [hint for hint in flat.equation.hints if hint.kind is kind]
        if not own:
            continue
        nodes = np.flatnonzero(model.equation_of == number)
        by_copy = [nodes[model.equation_copy[nodes] == copy] for copy in range(flat.owner.copies)]
        for hint in own:
            order = 0 if hint.piece is None else hint.piece.node.order
            touched = _variables_by_copy(model, flat, hint)
            for mine, theirs in zip(by_copy, touched, strict=True):
                equations.append(np.repeat(mine, len(theirs)))
                variables.append(np.tile(theirs, len(mine)))
                orders.append(np.full(len(mine) * len(theirs), order))
    return Hints(*(np.concatenate(column) for column in (equations, variables, orders)))


def _variables_by_copy(model: ModelStructure, flat: FlatEquation, hint: Hint) -> list[Integers]:
    """The nodes of the variable of a hint in each copy of its equation; NONE where it names none."""
    if hint.piece is None:
        return [np.array([NONE])] * flat.owner.copies
    leaf = hint.piece.node
    assert isinstance(leaf, Leaf)
    symbol = model.flat.resolve(leaf, flat.owner)
    starts = np.broadcast_to(symbol.copy_starts(leaf, flat.owner.lead), flat.owner.copies)
    elements = distinct(hint.piece.positions.to_array())
    return [nodes_of_elements(model, start + elements) for start in starts.tolist()]


def _derived(structure: Structure, nodes: Integers, order: int) -> Integers:
    derivative = np.append(structure.variable_derivative, NONE)
    for _ in range(order):
        nodes = derivative[nodes]
    return nodes


def outside_hints(
    model: ModelStructure, pairs: Sequence[TearPair], find: Callable[[str], tuple[Integers, int]]
) -> Callable[[Simplified, IndexReduction], Hints]:
    """What `tear=` names, when the structure with all derivatives is known.

    `find` gives the elements of the flat variables that a name stands for, and the order of derivative.
    """

    def found(simplified: Simplified, reduction: IndexReduction) -> Hints:
        names = _FinalNodes(model, simplified, reduction, find)
        equations, variables = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for variable, residue in pairs:
            tears = np.array([NONE]) if variable is None else names.variables(variable)
            residues = np.array([NONE]) if residue is None else names.equations(residue)
            if len(tears) == len(residues):
                variables.append(tears)
                equations.append(residues)
            else:  # not one for one: both sides, unpaired
                variables += [tears, np.full(len(residues), NONE)]
                equations += [np.full(len(tears), NONE), residues]
        return Hints(np.concatenate(equations), np.concatenate(variables))

    return found


class _FinalNodes:
    """Nodes of the structure with all derivatives, by names."""

    def __init__(
        self,
        model: ModelStructure,
        simplified: Simplified,
        reduction: IndexReduction,
        find: Callable[[str], tuple[Integers, int]],
    ):
        self.model, self.simplified, self.reduction, self.find = model, simplified, reduction, find

    def variables(self, name: str) -> Integers:
        """The nodes of a variable; an alias stands for what it is an alias of."""
        elements, order = self.find(name)
        own = nodes_of_elements(self.model, elements)
        found, structure = self.simplified.found, self.reduction.structure
        own = np.where(found.alias_of[own] != NONE, found.alias_of[own], own)
        new = np.full(self.model.structure.variable_count, NONE)
        new[self.simplified.variables] = np.arange(len(self.simplified.variables))
        nodes = distinct(_derived(structure, new[own], order))
        if (nodes == NONE).any() or (structure.variable_derivative[nodes] != NONE).any():
            raise ModelError(f"tear: {name} is no unknown: it is zero, or known when loops are solved.")
        return nodes

    def equations(self, name: str) -> Integers:
        """The equations with residue(x), by the name residue_x; or those matched with a variable."""
        if name.startswith("residue_"):
            return self._with_residue(name.removeprefix("residue_"), name)
        structure, flow = self.reduction.structure, self.reduction.flow
        mine = np.isin(structure.variables, self.variables(name)) & (flow > 0)
        return distinct(structure.equation_of_entry()[mine])

    def _with_residue(self, wanted: str, name: str) -> Integers:
        hints = hinted_nodes(self.model, HintKind.RESIDUE)
        elements, order = self.find(wanted)
        nodes = nodes_of_elements(self.model, elements)
        known = distinct(hints.equations[np.isin(hints.variables, nodes) & (hints.orders == order)])
        new = np.full(self.model.structure.equation_count, NONE)
        new[self.simplified.equations] = np.arange(len(self.simplified.equations))
        found = new[known]
        if not len(found) or (found == NONE).any():
            raise ModelError(
                f"tear: there is no equation {name!r}: residue({wanted}) stands in none"
                + (", or in one that only names an alias or a zero." if len(found) else ".")
            )
        derivative = np.append(self.reduction.structure.equation_derivative, NONE)
        while (derivative[found] != NONE).any():
            found = np.where(derivative[found] != NONE, derivative[found], found)
        return found

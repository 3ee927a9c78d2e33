"""Nodes of a structure in few words: copies of one variable or equation are one entry.

A model with 10^5 copies of a component has as many nodes of each kind, and a report that a person reads
has one line for them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays.indices import equal_columns
from ..arrays.structure import Integers
from ..arrays.transform import Transformation
from ..expressions.printing import der_text
from ..lowering.model_structure import ModelStructure
from ..lowering.value_map import base_and_order


class NodeNames:
    """Variables and equations of a transformed model, grouped by what the user declared."""

    def __init__(self, model: ModelStructure, transformed: Transformation):
        self.model, self.transformed = model, transformed
        self.base, self.order = base_and_order(model, transformed)

    def variables(self, nodes: Integers) -> list[str]:
        """Names of variable nodes of the final structure; one for all copies and segments."""
        return self._named(
            nodes, self.base[nodes], self.order[nodes], self.transformed.structure.variable_name
        )

    def original_variables(self, nodes: Integers) -> list[str]:
        """The same for nodes of the structure as the user wrote it."""
        integral = self.model.structure.integral_of_variable()
        base, order = nodes.copy(), np.zeros(len(nodes), np.int64)
        while (moving := integral[base] >= 0).any():
            order += moving
            base = np.where(moving, integral[base], base)
        return self._named(nodes, base, order, self.model.structure.variable_name)

    def _named(
        self, nodes: Integers, base: Integers, order: Integers, naming: Callable[[int], str]
    ) -> list[str]:
        everywhere = self._totals()

        def text(number: int, depth: int, members: Integers) -> str:
            whole = len(members) == everywhere[number]
            if whole or len(members) > 3:
                name = der_text(self.model.flat.variables[number].name, depth)
                return name if whole else f"{len(members)} of {name}"
            return ", ".join(naming(int(v)) for v in members)

        return _grouped(nodes, self.model.variable_of[base], order, text)

    def _totals(self) -> Integers:
        return np.bincount(self.model.variable_of, minlength=len(self.model.flat.variables))


def _grouped(
    nodes: Integers, of: Integers, order: Integers, text: Callable[[int, int, Integers], str]
) -> list[str]:
    return [
        text(int(of[members[0]]), int(order[members[0]]), nodes[members])
        for members in equal_columns(np.stack([order, of]))
    ]

"""The transformed system in the user's notation: what `CompiledModel.equations()` prints."""

from __future__ import annotations

import numpy as np

from ..arrays.index1 import Slot
from ..arrays.indices import equal_columns
from ..arrays.structure import NONE, Integers
from ..arrays.transform import Transformation
from ..expressions.calculus import differentiate
from ..expressions.expression import Expr
from ..expressions.printing import LONGEST_TEXT, equation_text, expression_text
from ..language.flat_model import FlatEquation
from ..lowering.model_structure import ModelStructure
from ..lowering.node_equations import NodeEquations
from ..lowering.value_map import ValueMap
from ..program.node_names import NodeNames

MOST_LINES = 200


def equations_text(model: ModelStructure, transformed: Transformation, values: ValueMap) -> str:
    """x, local assignments in their order, and the rows of the residual."""
    return _Writer(model, transformed, values).text()


class _Writer:
    def __init__(self, model: ModelStructure, transformed: Transformation, values: ValueMap):
        self.model, self.transformed, self.values = model, transformed, values
        self.equations = NodeEquations(model, transformed, values)
        self.names = NodeNames(model, transformed)

    def text(self) -> str:
        form = self.transformed.form
        lines = [f"x = [{', '.join(self.slots())}]", ""]
        if len(form.local_equations):
            lines += ["assigned, in this order:"]
            for chosen in self.values.stages:
                lines += self.assignments(form.local_equations[chosen], form.local_variables[chosen])
            lines.append("")
        lines += ["solved together, 0 = [chain; fd; fc]:"]
        if len(form.chain_slot):
            lines.append("  chain: a slope in x is the variable that is declared or differentiated for it")
            lines += self.chain()
        for title, nodes in (
            ("fd: with derivatives of x", form.fd),
            ("fc: without, constraints and algebraic equations", form.fc),
        ):
            if len(nodes):
                lines.append(f"  {title}")
                lines += [f"    {text}" for text in self.lines(nodes)]
        if len(lines) > MOST_LINES:
            lines = [*lines[:MOST_LINES], f"... and {len(lines) - MOST_LINES} more lines"]
        return "\n".join(lines)

    def slots(self) -> list[str]:
        form = self.transformed.form
        texts = []
        for kind in Slot:
            mine = np.flatnonzero(form.kind == kind)
            if kind is Slot.MU:
                texts += [f"integral of mu for `{text}`" for text in self.lines(form.residual[mine], False)]
            elif kind is Slot.LAMBDA:
                texts += [f"integral of {name}" for name in self.names.variables(form.derivative[mine])]
            else:
                texts += self.names.variables(form.value[mine])
        return texts

    def assignments(self, equations: Integers, variables: Integers) -> list[str]:
        """Assignments of one stage: copies of an equation that are solved for the same are one line."""
        of = self.model.variable_of[self.names.base[variables]]
        lines = []
        for members in equal_columns(np.stack([of, self.names.order[variables], *self._kind(equations)])):
            name = ", ".join(self.names.variables(variables[members]))
            (text,) = self.lines(equations[members])
            lines.append(f"  {name} from {text}")
        return lines

    def chain(self) -> list[str]:
        """Rows that tie xdot to a variable, corrected by multipliers if there are any."""
        form = self.transformed.form
        has_mu = (form.kind == Slot.MU).any()
        return [
            f"    d/dt {name} == {f'der({name})'}{' - (dg/dv)^T mu' if has_mu else ''}"
            for name in self.names.variables(form.value[form.chain_slot])
        ]

    def _kind(self, nodes: Integers) -> tuple[Integers, Integers]:
        origin = self.equations.origin[nodes]
        hidden = self.equations.hidden_row[origin] != NONE
        return np.where(hidden, -1 - nodes, self.model.equation_of[origin]), self.equations.order[nodes]

    def lines(self, nodes: Integers, with_line: bool = True) -> list[str]:
        """The text of equation nodes, one for all copies and segments of an equation."""
        texts = []
        for members in equal_columns(np.stack(self._kind(nodes))):
            node = int(nodes[members[0]])
            origin, order = int(self.equations.origin[node]), int(self.equations.order[node])
            if self.equations.hidden_row[origin] != NONE:
                found = self.transformed.simplified.found
                naming = self.model.structure.variable_name
                text = found.hidden.text(int(self.equations.hidden_row[origin]), naming)
                text = text.replace(" = ", " == ")
                texts.append(text if order == 0 else f"{'d/dt ' * order}({text})")
                continue
            flat = self.model.flat.equations[self.model.equation_of[origin]]
            own = np.count_nonzero(self.model.equation_of == self.model.equation_of[origin])
            count = "" if len(members) == own else f"{len(members)} of {own} parts; "
            where = f"  ({count}{flat.equation.source})" if with_line else ""
            texts.append(derived_text(flat, order) + where)
        return texts


def derived_text(flat: FlatEquation, order: int, longest: int = LONGEST_TEXT) -> str:
    """An equation, differentiated some times, as text."""
    if order == 0:
        return equation_text(flat.equation, flat.naming, longest)
    sides: list[Expr] = [flat.equation.lhs, flat.equation.rhs]
    for _ in range(order):
        sides = [differentiate(side) for side in sides]
    left, right = (expression_text(side, flat.naming, longest) for side in sides)
    label = flat.equation.source.label
    begin = "d/dt " * order + f"{label}: " if label else ""
    return f"{begin}{left} == {right}"

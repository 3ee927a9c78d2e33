"""Equations that depend on each other, and the variables they leave open, in the names of the model.

What is known are rows and columns: those with weight in a null vector of the matrix of the form. A row may
contain variables that are assigned locally, so that the equations these are assigned from take part, too:
all that lie on a way from the columns, through assignments, to the rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays.distinct import distinct
from ..arrays.index1 import Slot
from ..arrays.structure import NONE, Integers
from ..program.program import Program
from ..program.row_names import node_element_name, x_name
from .zero_parameters import zero_parameters

LISTED = 8


@dataclass(frozen=True)
class Dependency:
    """Equations as the user wrote them, with their lines, and names of variables."""

    equations: tuple[str, ...]
    variables: tuple[str, ...]
    zero_parameters: tuple[str, ...]
    is_one: bool  # a single scalar equation, which does not depend on its unknown

    def __str__(self) -> str:
        """Some lines that can follow a sentence about when and where."""
        first = "These depend on each other: a combination of them contains none of their unknowns."
        if self.is_one:
            first = "This one does not depend on its unknown there:"
        lines = [first, *(f"    {text}" for text in self.equations[:LISTED])]
        if len(self.equations) > LISTED:
            lines.append(f"    ... and {len(self.equations) - LISTED} more")
        more = len(self.variables) - LISTED
        names = ", ".join(self.variables[:LISTED]) + (f" and {more} more" if more > 0 else "")
        zeros = (
            f" In these equations {', '.join(self.zero_parameters)} is zero."
            if self.zero_parameters
            else ""
        )
        return "\n".join([*lines, f"Not determined: {names}.{zeros}"])


def dependency(program: Program, rows: Integers, columns: Integers, p: Any) -> Dependency:
    """Names for rows and columns of the matrix of the form; p are the values of the parameters."""
    form, structure = program.transformed.form, program.transformed.structure
    nodes, elements = equation_nodes(program, rows)
    slots = distinct(program.layout.slot_of[columns])
    fd, fc = (np.intersect1d(nodes, own) for own in (form.fd, form.fc))
    in_fd, in_fc = (form.derivative[slots], fd), (form.value[slots], fc)
    between = np.zeros(len(form.local_equations), bool)
    for start, end in (in_fd, in_fc):
        between |= _on_the_way(program, start[start != NONE], end)
    nodes = np.concatenate([nodes, form.local_equations[between]])
    equations = _equation_texts(program, nodes.tolist(), elements)
    names = [_unknown_name(program, int(column), bool(len(fd))) for column in columns]
    multiplier = program.layout.kind[columns] == Slot.MU
    if not multiplier.all():  # these are ours: they only follow
        names = [name for name, ours in zip(names, multiplier, strict=True) if not ours]
    names += [structure.variable_name(int(v)) for v in form.local_variables[between]]
    is_one = len(equations) == 1 and len(rows) == 1
    zeros = zero_parameters(program, nodes.tolist(), np.asarray(p))
    return Dependency(tuple(equations), tuple(dict.fromkeys(names)), tuple(zeros), is_one)


def equation_nodes(program: Program, rows: Integers) -> tuple[Integers, dict[int, list[int]]]:
    """The equation nodes of rows other than chain rows, and which of their elements these rows are."""
    form, structure = program.transformed.form, program.transformed.structure
    chain = int(structure.variable_size[form.chain_variable].sum())
    nodes = np.concatenate([form.fd, form.fc])
    ends = np.cumsum(structure.equation_size[nodes])
    inside = rows[rows >= chain] - chain
    which = np.searchsorted(ends, inside, side="right")
    elements: dict[int, list[int]] = {}
    for place, row in zip(which.tolist(), inside.tolist(), strict=True):
        node = int(nodes[place])
        first = int(ends[place] - structure.equation_size[node])
        elements.setdefault(_as_written(program, node), []).append(row - first)
    return distinct(nodes[which]), elements


def _as_written(program: Program, node: int) -> int:
    """The equation that a differentiated one is the derivative of."""
    integral = program.transformed.structure.integral_of_equation()
    while integral[node] != NONE:
        node = int(integral[node])
    return node


def _equation_texts(program: Program, nodes: Iterable[int], elements: dict[int, list[int]]) -> list[str]:
    """Each equation once, whatever was differentiated, in the order of the model."""
    structure = program.transformed.structure
    texts = []
    for node in sorted({_as_written(program, node) for node in nodes}):
        text, size = structure.equation_name(node), int(structure.equation_size[node])
        some = sorted(set(elements.get(node, ())))
        if some and len(some) < size:
            listed = ", ".join(map(str, some[:LISTED])) + (", ..." if len(some) > LISTED else "")
            text = f"row{'s' if len(some) > 1 else ''} {listed} of {text}"
        texts.append(text)
    return texts


def _on_the_way(program: Program, variables: Integers, equations: Integers) -> np.ndarray:
    """Marks of local assignments that carry some variables to some equations."""
    form, structure = program.transformed.form, program.transformed.structure
    touched = np.zeros(structure.variable_count, bool)
    touched[variables] = True
    forward = np.zeros(len(form.local_equations), bool)
    for place, (equation, variable) in enumerate(_assignments(program)):
        used = structure.variables_of(equation)
        forward[place] = touched[used[used != variable]].any()
        touched[variable] = forward[place]
    needed = np.zeros(structure.variable_count, bool)
    for equation in equations.tolist():
        needed[structure.variables_of(equation)] = True
    backward = np.zeros(len(form.local_equations), bool)
    for place, (equation, variable) in reversed(list(enumerate(_assignments(program)))):
        if needed[variable]:
            backward[place] = True
            needed[structure.variables_of(equation)] = True
    return forward & backward


def _assignments(program: Program) -> list[tuple[int, int]]:
    form = program.transformed.form
    return list(zip(form.local_equations.tolist(), form.local_variables.tolist(), strict=True))


def _unknown_name(program: Program, column: int, in_fd: bool) -> str:
    """What an element of x stands for: its derivative where equations determine that."""
    form, slot = program.transformed.form, int(program.layout.slot_of[column])
    if Slot(int(form.kind[slot])) is not Slot.STATE or not in_fd:
        return x_name(program, column)
    if form.derivative[slot] == NONE:
        return f"der({x_name(program, column)})"
    node = int(form.derivative[slot])
    own, size = int(program.layout.element_of[column]), int(form.slot_size()[slot])
    name = node_element_name(program, node, own)
    aliases = []
    for sign, alias in _aliases(program, node):  # a whole variable, or a part of one: v, v[3:7]
        index = "" if size == 1 else f"[{own}]" if alias.endswith("]") else name[name.rindex("[") :]
        aliases.append(f"{alias}{index} = {sign}{name}")
    return aliases[0] if aliases else name


def _aliases(program: Program, node: int) -> list[tuple[str, str]]:
    """Signs and names of the user's variables that stand for a derivative, as in `v == der(r)`."""
    simplified = program.transformed.simplified
    if node >= len(simplified.variables):
        return []
    found, original = simplified.found, simplified.original
    same = np.flatnonzero(found.alias_of == simplified.variables[node])
    return [("-" if found.alias_sign[v] < 0 else "", original.variable_name(int(v))) for v in same]

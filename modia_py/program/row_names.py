"""Names for the rows of the index-1 form and for the elements of x, for messages."""

from __future__ import annotations

import numpy as np

from ..arrays.index1 import Slot
from .program import Program


def row_name(program: Program, row: int) -> str:
    """The equation behind a row of the residual, as the user wrote it, with its line."""
    form, structure = program.transformed.form, program.transformed.structure
    chain = structure.variable_size[form.chain_variable]
    if row < chain.sum():
        which = int(np.searchsorted(np.cumsum(chain), row, side="right"))
        name = structure.variable_name(int(form.chain_variable[which]))
        return f"d/dt {form.slot_name(int(form.chain_slot[which]))} == {name}"
    row -= int(chain.sum())
    for nodes in (form.fd, form.fc):
        sizes = structure.equation_size[nodes]
        if row < sizes.sum():
            which = int(np.searchsorted(np.cumsum(sizes), row, side="right"))
            element = row - int(sizes[:which].sum())
            return _with_element(structure.equation_name(int(nodes[which])), element, int(sizes[which]))
        row -= int(sizes.sum())
    raise IndexError(f"there is no row {row}")


def _with_element(text: str, element: int, size: int) -> str:
    return text if size == 1 else f"row {element} of {text}"


def x_name(program: Program, element: int) -> str:
    """The variable in an element of x; for an integral, the variable it is the integral of."""
    layout, form = program.layout, program.transformed.form
    slot = int(layout.slot_of[element])
    kind = Slot(int(form.kind[slot]))
    if kind is Slot.LAMBDA:
        name = form.structure.variable_name(int(form.derivative[slot]))
    else:
        name = form.slot_name(slot)
    size = int(form.slot_size()[slot])
    return name if size == 1 else f"{name}[{int(layout.element_of[element])}]"


def place_name(program: Program, place: int) -> str:
    """The variable at a place of w."""
    values, structure = program.functions.value_map, program.transformed.structure
    node = int(np.searchsorted(values.offset, place, side="right")) - 1
    name = structure.variable_name(node)
    size = int(values.size[node])
    return name if size == 1 else f"{name}[{place - int(values.offset[node])}]"

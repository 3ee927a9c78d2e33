"""Names for the rows of the index-1 form and for the elements of x, for messages."""

from __future__ import annotations

import numpy as np

from ..arrays.index1 import Slot
from ..expressions.printing import der_text, index_text
from ..lowering.value_map import base_and_order, flat_starts
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
    slot, own = int(layout.slot_of[element]), int(layout.element_of[element])
    kind = Slot(int(form.kind[slot]))
    if kind is Slot.MU:
        size = int(form.slot_size()[slot])
        return form.slot_name(slot) if size == 1 else f"{form.slot_name(slot)}[{own}]"
    return node_element_name(
        program, int((form.derivative if kind is Slot.LAMBDA else form.value)[slot]), own
    )


def node_element_name(program: Program, node: int, element: int) -> str:
    """An element of a node of the transformed structure, with the indices it has in equations: N[0, 21]."""
    model = program.structure
    base, order = base_and_order(model, program.transformed)
    first = int(flat_starts(model)[base[node]])
    flat = model.flat.variables[int(model.variable_of[base[node]])]
    name = der_text(flat.name, int(order[node]))
    return f"{name}[{index_text(first + element - flat.offset, flat.shape)}]" if flat.shape else name

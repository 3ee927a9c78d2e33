"""Nominal values: the usual sizes of variables, and the absolute tolerances that follow from them.

A nominal value is data: it is no part of what is translated or compiled. An element of x may stand for
several variables, aliases of each other: the smallest of their nominal values counts, because its tolerance
serves the others as well. A derivative in x has no nominal value of its own; unless a variable that stands
for it has one, it takes that of what it is the derivative of, per second: multiplied by any number, a
linear model then takes the same steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..language.flat_model import FlatModel
from ..program.program import Program
from ..program.row_names import x_name
from ..start.values import StartValues
from .outputs import Span
from .request import ATOL
from .run import RunOptions

LISTED = 5
NOISE = 1e3 * float(np.finfo(float).eps)
"""What is smaller than this, compared with the largest number in x, may be rounding of something else."""


def nominal_of_x(flat: FlatModel, program: Program) -> np.ndarray:
    """The nominal value of each element of x; one where none is declared."""
    declared = np.full((2, program.functions.size), np.inf)  # by variables, by what is differentiated
    for variable in flat.variables:
        if variable.symbol.nominal is None:
            continue
        sizes = np.broadcast_to(variable.symbol.nominal, variable.shape).ravel()
        own = slice(variable.offset, variable.offset + variable.size)
        for order, in_x in enumerate(_elements_of_x(program, own)):
            there = in_x >= 0
            np.minimum.at(declared[min(order, 1)], in_x[there], sizes[there])
    nominal = np.where(np.isfinite(declared[0]), declared[0], declared[1])
    return np.where(np.isfinite(nominal), nominal, 1.0)


def _elements_of_x(program: Program, elements: slice) -> list[np.ndarray]:
    """The elements of x that hold elements of the variables, for each order of derivatives; -1 if none."""
    where = program.functions.value_map
    of_place = np.append(program.layout.x_of_place, -1)  # a place of -1 is none
    return [of_place[where.place[order][elements]] for order in range(where.orders)]


def below_tolerance(
    flat: FlatModel,
    program: Program,
    spans: Sequence[Span],
    options: RunOptions,
    init: Callable[[], StartValues],
) -> list[str]:
    """A sentence about variables that are not zero, and stayed below their absolute tolerance all the time.

    An array is one variable: where only parts of it are small, its tolerance is right. Elements of x that
    start from an `init` value other than zero are meant, however small; others may be rounding.
    """
    largest = np.zeros(program.functions.size)
    for span in spans:
        if len(span.t):
            largest = np.maximum(largest, np.maximum(span.x.max(axis=0), -span.x.min(axis=0)))
    tested = ~program.layout.integrals
    atol = np.broadcast_to(options.atol, largest.shape)
    small = tested & (largest < atol)
    if not (small & (largest > 0)).any():
        return []
    noise = NOISE * np.max(largest[tested], initial=0.0)
    meant = small & (largest > 0) & (_given(program, init()) | (largest > noise))
    variables = sorted(flat.variables, key=lambda variable: variable.offset)
    in_x = _elements_of_x(program, slice(None))[0]
    there = in_x >= 0
    owner = np.repeat(np.arange(len(variables)), [variable.size for variable in variables])[there]
    in_x = in_x[there]
    stays = np.bincount(owner[~small[in_x]], minlength=len(variables)) == 0
    named = np.flatnonzero((np.bincount(owner[meant[in_x]], minlength=len(variables)) > 0) & stays)
    found: dict[int, tuple[str, float, float]] = {}
    for k in named.tolist():
        own = in_x[slice(*np.searchsorted(owner, [k, k + 1]))]
        first, name = int(own[0]), variables[k].name
        if first not in found or x_name(program, first).startswith(name):  # aliases have one name
            found[first] = name, float(largest[own].max()), float(atol[own].max())
    return [_sentence(list(found.values()), options.rtol)] if found else []


def _given(program: Program, init: StartValues) -> np.ndarray:
    """Elements of x with an `init` value other than zero."""
    in_x = program.layout.x_of_place[init.place[init.value != 0]]
    given = np.zeros(program.functions.size, bool)
    given[in_x[in_x >= 0]] = True
    return given


def _sentence(found: list[tuple[str, float, float]], rtol: float) -> str:
    texts = [f"{name} (at most {size:.2g}, atol {atol:.2g})" for name, size, atol in found[:LISTED]]
    more = f" and {len(found) - LISTED} more" if len(found) > LISTED else ""
    name, size, _ = found[0]
    nominal = 10.0 ** np.floor(np.log10(size))
    return (
        f"not zero, but below the absolute tolerance all the time, so that errors as large as the values "
        f"go unnoticed: {', '.join(texts)}{more}. Declare the usual size, Var(nominal={nominal:g}), or "
        f"give simulate(atol={{{name!r}: {ATOL * rtol * nominal:.2g}}})"
    )

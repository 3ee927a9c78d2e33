"""Pictures of structures: incidence, and the blocks in the order in which they are solved."""

from __future__ import annotations

from typing import Any

import numpy as np

from .blt import Blocks
from .structure import NONE, Integers, Structure

MOST_LABELS = 40
COLOUR = "#2a6f97"
FRAME = "#c1121f"


def incidence_picture(
    structure: Structure,
    equations: Integers | None = None,
    variables: Integers | None = None,
    blocks: Blocks | None = None,
    axes: Any = None,
    title: str = "",
) -> Any:
    """Draw which variable occurs in which equation; filled where the equation can be solved for it.

    Parameters
    ----------
    structure : Structure
        Who occurs where, at which derivative order.
    equations, variables : array of int, optional
        Rows and columns in this order; all if not given.
    blocks : Blocks, optional
        Rows and columns are in their order instead, and each block is framed.
    axes : matplotlib.axes.Axes, optional
        Where to draw; made if not given.
    title : str
        Above the picture.

    Returns
    -------
    matplotlib.axes.Axes
        Those drawn on.
    """
    import matplotlib.pyplot as plt
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    if blocks is not None:
        equations, variables = blocks.equations, blocks.variables
    equations = np.arange(structure.equation_count) if equations is None else equations
    variables = np.arange(structure.variable_count) if variables is None else variables
    if axes is None:
        size = min(12.0, 2.0 + 0.25 * max(len(equations), len(variables)))
        axes = plt.subplots(figsize=(size, size), layout="constrained")[1]
    row_of = _places(equations, structure.equation_count)
    column_of = _places(variables, structure.variable_count)
    row, column = row_of[structure.equation_of_entry()], column_of[structure.variables]
    shown = (row != NONE) & (column != NONE)
    for solvable, face in ((True, COLOUR), (False, "none")):
        chosen = shown & (structure.solvable.astype(bool) == solvable)
        squares = [
            Rectangle((x - 0.4, y - 0.4), 0.8, 0.8)
            for x, y in zip(column[chosen], row[chosen], strict=True)
        ]
        axes.add_collection(PatchCollection(squares, facecolor=face, edgecolor=COLOUR, linewidth=0.8))
    if blocks is not None:
        for k in range(len(blocks)):
            corner = (blocks.variable_start[k] - 0.5, blocks.equation_start[k] - 0.5)
            extent = np.diff(blocks.variable_start)[k], np.diff(blocks.equation_start)[k]
            axes.add_patch(Rectangle(corner, *extent, fill=False, edgecolor=FRAME, linewidth=1.2))
    _label(axes, structure, equations, variables)
    axes.set(xlim=(-0.7, len(variables) - 0.3), ylim=(len(equations) - 0.3, -0.7), title=title)
    axes.set_aspect("equal")
    return axes


def _places(chosen: Integers, count: int) -> Integers:
    places = np.full(count, NONE)
    places[chosen] = np.arange(len(chosen))
    return places


def _label(axes: Any, structure: Structure, equations: Integers, variables: Integers) -> None:
    axes.xaxis.tick_top()
    if len(variables) <= MOST_LABELS:
        names = [structure.variable_name(int(v)) for v in variables]
        axes.set_xticks(range(len(names)), names, rotation=90, fontsize=8)
    if len(equations) <= MOST_LABELS:
        names = [structure.equation_name(int(e)) for e in equations]
        short = [name if len(name) <= 40 else name[:37] + "..." for name in names]
        axes.set_yticks(range(len(short)), short, fontsize=8)

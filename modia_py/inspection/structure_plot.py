"""Pictures of a translated model: who occurs where, and in which order it is solved."""

from __future__ import annotations

from typing import Any

from ..arrays.pictures import incidence_picture
from ..errors import ModelError
from ..optional_packages import require
from ..program.translation import Translation

MOST_NODES = 2000
LABELS = 6.0  # inches for the texts of equations beside both pictures


def structure_figure(translation: Translation, name: str, file: str | None = None) -> Any:
    """Incidence as written beside the blocks of the transformed equations, each framed."""
    original, final = translation.structure.structure, translation.transformed.structure
    blocks = translation.transformed.blocks
    nodes = max(original.equation_count, len(blocks.equations))
    if nodes > MOST_NODES:
        raise ModelError(f"A picture of {nodes} equations shows nothing; up to {MOST_NODES} can be drawn.")
    pyplot = require("matplotlib.pyplot", "plot", "A picture of the structure")
    sides = [2.5 + min(9.0, 0.25 * count) for count in (original.equation_count, len(blocks.equations))]
    figure, axes = pyplot.subplots(
        1, 2, figsize=(sum(sides) + LABELS, max(sides) + 0.5), width_ratios=sides, layout="constrained"
    )
    incidence_picture(original, axes=axes[0], title="as written")
    incidence_picture(final, blocks=blocks, axes=axes[1], title="transformed, in blocks")
    figure.suptitle(name)
    figure.supxlabel(
        "a square: the variable occurs in the equation; filled: it can be solved for", fontsize=9
    )
    if file is not None:
        figure.savefig(file, dpi=120)
    return figure

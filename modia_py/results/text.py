"""A result on one screen of text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .selections import ResultVariable
from .trajectories import Trajectories

ROWS_SHOWN = 20
ELEMENTS_SHOWN = 4  # of a vector; of longer ones, the least and the largest
LARGEST_READ = 10**7  # elements: looking at a result must not take longer than a moment
WIDEST_NAME = 40


@dataclass(frozen=True)
class Row:
    """A variable in the table."""

    name: str
    shape: str
    unit: str
    start: str
    end: str
    role: str = ""


def rows(result: Trajectories) -> list[Row]:
    """States, then the model's own variables, aliases last: as many as fit on a screen."""
    return [_row(result, result.variables[name]) for name in result.names_in_order[:ROWS_SHOWN]]


def more(result: Trajectories) -> str:
    """What the table leaves out."""
    hidden = result.names_in_order[ROWS_SHOWN:]
    aliases = sum(result.variables[name].role == "alias" for name in hidden)
    of_these = f" ({_count(aliases, 'alias', 'es')})" if aliases else ""
    parts = [f"{_count(len(hidden), 'more variable')}{of_these}"] if hidden else []
    if result.parameters:
        parts.append(_count(len(result.parameters), "parameter"))
    return f"... and {' and '.join(parts)}" if parts else ""


def head(result: Trajectories) -> list[str]:
    """How the run ended, and what it cost."""
    time = result.time
    covered = f"{len(time)} points from {time[0]:g} to {time[-1]:g} s" if len(time) else "no points"
    lines = [f"{result.model}: {result.status.name}, {covered}"]
    if result.message and result.status.name != "SUCCESS":
        lines.append(result.message)
    return [*lines, result.stats.line]


def text(result: Trajectories) -> str:
    table = [Row("variable", "shape", "unit", "start", "end", ""), *rows(result)]
    columns = [[getattr(row, field) for row in table] for field in Row.__dataclass_fields__]
    widths = [max(map(len, column)) for column in columns]
    lines = [*head(result), ""]
    for cells in zip(*columns, strict=True):
        lines.append("  " + "  ".join(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True)))
    if rest := more(result):
        lines.append(f"  {rest}")
    if result.notes:
        lines += ["", *(f"note: {note}" for note in result.notes)]
    return "\n".join(line.rstrip() for line in lines)


def _row(result: Trajectories, variable: ResultVariable) -> Row:
    start = end = ""
    if len(result.time) * variable.size > LARGEST_READ:
        start = end = "(large)"
    elif len(result.time):
        values = result.trajectory(variable.name)
        if values is not None:
            start, end = value_text(values[0]), value_text(values[-1])
    shape = " x ".join(map(str, variable.shape))
    return Row(shorten(variable.name), shape, variable.unit or "", start, end, variable.role)


def _count(number: int, word: str, ending: str = "s") -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}{ending}"


def value_text(value: np.ndarray) -> str:
    """Numbers at one time, short.

    >>> value_text(np.array(0.25)), value_text(np.array([1.0, 2.0])), value_text(np.arange(1000.0))
    ('0.25', '[1, 2]', '0 ... 999')
    """
    if value.dtype == bool:
        return _truth_text(value)
    value = value + 0.0  # no negative zeros
    if value.ndim == 0:
        return f"{value:.5g}"
    if value.ndim == 1 and value.size <= ELEMENTS_SHOWN:
        return f"[{', '.join(f'{number:.4g}' for number in value)}]"
    least, largest = value.min(), value.max()
    return f"{least:.5g}" if least == largest else f"{least:.5g} ... {largest:.5g}"


def _truth_text(value: np.ndarray) -> str:
    """
    >>> value_text(np.array(True)), value_text(np.array([True, False])), value_text(np.arange(9) < 3)
    ('true', '[true, false]', '3 of 9 true')
    """
    if value.ndim <= 1 and value.size <= ELEMENTS_SHOWN:
        words = [str(one).lower() for one in value.reshape(-1).tolist()]
        return words[0] if value.ndim == 0 else f"[{', '.join(words)}]"
    return f"{int(value.sum())} of {value.size} true"


def shorten(name: str) -> str:
    return name if len(name) <= WIDEST_NAME else "..." + name[3 - WIDEST_NAME :]

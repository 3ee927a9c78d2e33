"""A result in a notebook: the same content as its text, with a small curve beside each variable."""

from __future__ import annotations

from html import escape

import numpy as np

from .text import ELEMENTS_SHOWN, LARGEST_READ, Row, head, more, rows
from .trajectories import Trajectories

WIDTH, HEIGHT, MARGIN = 90, 18, 2  # of a curve, in pixels
POINTS = 60


def html(result: Trajectories) -> str:
    first, *lines = head(result)
    colour = "inherit" if result.success else "#b00020"
    parts = [f'<div><b style="color:{colour}">{escape(first)}</b>']
    parts += [f"<br>{escape(line)}" for line in lines]
    parts.append(
        "<table><thead><tr><th>variable</th><th>shape</th><th>unit</th><th>start</th><th>end</th><th></th>"
        "<th></th></tr></thead><tbody>"
    )
    for row, name in zip(rows(result), result.names_in_order, strict=False):
        parts.append(_table_row(row, _curves(result, name)))
    parts.append("</tbody></table>")
    if rest := more(result):
        parts.append(f"<i>{escape(rest)}</i>")
    parts += [f"<br>note: {escape(note)}" for note in result.notes]
    return "".join(parts) + "</div>"


def _table_row(row: Row, curves: str) -> str:
    cells = "".join(
        f'<td style="text-align:left">{escape(cell)}</td>'
        for cell in (row.name, row.shape, row.unit, row.start, row.end, row.role)
    )
    return f"<tr>{cells}<td>{curves}</td></tr>"


def _curves(result: Trajectories, name: str) -> str:
    """The trajectory as a picture of a few hundred bytes; of a long vector, the least and the largest."""
    size = len(result.time) * result.variables[name].size
    values = result.trajectory(name) if 1 < size <= LARGEST_READ else None
    if values is None or len(result.time) < 2:
        return ""
    chosen = np.linspace(0, len(values) - 1, min(POINTS, len(values))).round().astype(int)
    times, table = result.time[chosen], values[chosen].reshape(len(chosen), -1) * 1.0
    if table.shape[1] > ELEMENTS_SHOWN:
        table = np.stack([table.min(axis=1), table.max(axis=1)], axis=1)
    if not np.isfinite(table).all() or times[-1] == times[0]:
        return ""
    low, high = table.min(), table.max()
    x = MARGIN + (WIDTH - 2 * MARGIN) * (times - times[0]) / (times[-1] - times[0])
    y = (
        HEIGHT
        - MARGIN
        - (HEIGHT - 2 * MARGIN) * ((table - low) / (high - low) if high > low else 0.5 + 0 * table)
    )
    lines = "".join(
        f'<polyline points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, column, strict=True))}"/>'
        for column in y.T
    )
    pen = 'fill="none" stroke="#3a6ea5" stroke-width="1.2"'
    return f'<svg width="{WIDTH}" height="{HEIGHT}" {pen}>{lines}</svg>'

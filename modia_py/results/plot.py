"""Variables over time, in panels below each other that share the time axis."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from ..errors import ModelError
from ..optional_packages import require
from .trajectories import Selection, Trajectories

DEFAULT_NAMES = 6
CURVES_SHOWN = 8  # elements of a vector that are drawn one by one, each with its colour and name
BUNDLE_SHOWN = 40  # elements that are drawn one by one, from light to dark
SAMPLED = 2000  # elements that the quantiles of a band are taken of
LONGEST_LABEL = 28
TRUTH_LIMITS = (-0.15, 1.15)  # of an axis with truth values only
MARK: dict[str, Any] = {"color": "#9aa0a6", "linewidth": 0.6, "alpha": 0.7}
WIDTH, PANEL_HEIGHT, SINGLE_HEIGHT = 7.2, 1.9, 3.2  # inches
COLOURS = ("#2f6db3", "#d9722e", "#3d9a5f", "#b8474d", "#7d62b5", "#8a6d4f", "#c774b0", "#6b7480")
STYLE: dict[str, Any] = {
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#707070",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.xmargin": 0.0,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.5,
    "lines.solid_capstyle": "round",
    "xtick.color": "#404040",
    "ytick.color": "#404040",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.handlelength": 1.4,
    "savefig.dpi": 140,
}


def plot(
    result: Trajectories,
    names: Sequence[str | Sequence[str]],
    *,
    panels: tuple[int, int] | None = None,
    file: str | PathLike[str] | None = None,
    title: str | None = None,
    axes: Any = None,
    events: bool = False,
) -> Any:
    """Draw each of `names` in a panel; see `Result.plot`."""
    matplotlib = require("matplotlib", "plot", "Plotting")
    groups = [(group,) if isinstance(group, str) else tuple(group) for group in names]
    groups = groups or [(name,) for name in result.names[:DEFAULT_NAMES]]
    # Everything is read before anything is drawn: an unknown name leaves no empty figure behind.
    contents = [[result.select(name) for name in group] for group in groups]
    if not contents:
        raise ModelError(f"The result of {result.model} has no variables to plot.")
    style = {**STYLE, "axes.prop_cycle": matplotlib.rcsetup.cycler(color=COLOURS)}
    with matplotlib.rc_context(style):
        if axes is None:
            figure, grid = _new_figure(len(groups), panels, to_file=file is not None)
        else:
            grid = _given_axes(axes, len(groups))
            figure = grid[0, 0].figure
        drawn = grid.ravel()[: len(groups)]
        for axis, group, content in zip(drawn, groups, contents, strict=True):
            _draw_panel(axis, result.time, group, content)
            if events:
                _mark(axis, np.unique(result.events.time))
        _label_time(grid, len(groups))
        if title is not None and axes is None:
            figure.suptitle(title, fontsize=11)
        figure.align_ylabels(list(drawn))
        if file is not None:
            figure.savefig(file)
    return figure


def _new_figure(count: int, panels: tuple[int, int] | None, *, to_file: bool) -> tuple[Any, np.ndarray]:
    rows, columns = panels if panels is not None else (count, 1)
    if rows * columns < count:
        raise ModelError(f"{count} panels do not fit into panels=({rows}, {columns}).")
    height = SINGLE_HEIGHT if rows == 1 else PANEL_HEIGHT * rows + 0.5
    size = (WIDTH * (1 if columns == 1 else 0.75 * columns), height)
    if to_file:  # no window, no display, nothing that stays open
        figure = require("matplotlib.figure", "plot", "Plotting").Figure(figsize=size, layout="constrained")
    else:
        figure = require("matplotlib.pyplot", "plot", "Plotting").figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
    for axis in grid.ravel()[count:]:
        axis.set_visible(False)
    return figure, grid


def _given_axes(axes: Any, count: int) -> np.ndarray:
    given = np.array(axes, dtype=object).reshape(-1)
    if len(given) < count:
        raise ModelError(f"{count} panels need {count} axes; {len(given)} given.")
    return given[:count].reshape(-1, 1)


def _label_time(grid: np.ndarray, count: int) -> None:
    """The name of the time axis below the lowest panel of each column only."""
    rows, columns = grid.shape
    for column in range(columns):
        filled = [grid[row, column] for row in range(rows) if row * columns + column < count]
        if filled:
            filled[-1].set_xlabel("time in s")
            filled[-1].tick_params(labelbottom=True)


def _draw_panel(axis: Any, time: np.ndarray, names: Sequence[str], content: list[Selection]) -> None:
    units = {selection.unit for selection in content}
    for name, selection in zip(names, content, strict=True):
        unit = f" in {selection.unit}" if len(units) > 1 and selection.unit else ""
        values = _over_time(selection, len(time))
        if values.shape[1] > BUNDLE_SHOWN:
            _draw_band(axis, time, values, selection, f"{name} " if len(content) > 1 else "", unit)
            continue
        if values.shape[1] > CURVES_SHOWN:
            _draw_bundle(axis, time, values, selection, unit)
            continue
        for k in range(values.shape[1]):
            label = name if not selection.elements.ndim else selection.label(k)
            style = {"linestyle": "--"} if selection.constant else _steps(selection)
            axis.plot(time, values[:, k], label=label + unit, **style)
    label = ", ".join(names)
    if len(label) > LONGEST_LABEL:  # the legend has the names
        label = ""
    if len(units) == 1 and (common := content[0].unit):
        label = f"{label} in {common}" if label else f"in {common}"
    axis.set_ylabel(label)
    if all(selection.values.dtype == bool for selection in content):
        axis.set_yticks([0, 1], ["false", "true"])
        axis.set_ylim(*TRUTH_LIMITS)
    if len(content) > 1 or _over_time(content[0], len(time)).shape[1] > 1:
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def _steps(selection: Selection) -> dict[str, str]:
    """A discrete variable keeps its value until the next row."""
    return {"drawstyle": "steps-post"} if selection.variable.is_discrete else {}


def _mark(axis: Any, times: np.ndarray) -> None:
    """Vertical lines behind the curves, as one object whatever their number."""
    if len(times):
        # From bottom to top of the panel, whatever the values are.
        axis.vlines(times, 0, 1, transform=axis.get_xaxis_transform(), zorder=0.5, **MARK)


def _over_time(selection: Selection, points: int) -> np.ndarray:
    """Values as a table: a row for each time, a column for each element."""
    if selection.constant:
        return np.broadcast_to(selection.values.ravel(), (points, selection.values.size))
    values = selection.values.reshape(points, selection.elements.size)
    return values.astype(float) if values.dtype == bool else values


def _draw_bundle(axis: Any, time: np.ndarray, values: np.ndarray, selection: Selection, unit: str) -> None:
    """Too many elements for a colour each, too few for a band: thin lines, darker with their number."""
    count = values.shape[1]
    (first,) = axis.plot([], [])  # takes the next colour of the cycle
    colour = first.get_color()
    first.remove()
    for k in range(count):
        label = selection.label(k) + unit if k in (0, count - 1) else None
        axis.plot(
            time,
            values[:, k],
            color=colour,
            alpha=0.25 + 0.75 * k / (count - 1),
            linewidth=1,
            label=label,
            **_steps(selection),
        )


def _draw_band(
    axis: Any, time: np.ndarray, values: np.ndarray, selection: Selection, prefix: str, unit: str
) -> None:
    """Many elements: their range, their middle half, their median, the first and the last of them."""
    count = values.shape[1]
    sample = values[:, np.linspace(0, count - 1, min(count, SAMPLED)).round().astype(int)]
    low, median, high = np.quantile(sample, [0.25, 0.5, 0.75], axis=1)
    (line,) = axis.plot(time, median, label=f"{prefix}median{unit}", **_steps(selection))
    colour = line.get_color()
    fill = {"color": colour, "linewidth": 0, "step": "post" if selection.variable.is_discrete else None}
    axis.fill_between(
        time, values.min(axis=1), values.max(axis=1), alpha=0.14, label=f"all {count}", **fill
    )
    axis.fill_between(time, low, high, alpha=0.30, label="middle half", **fill)
    for position, dashes in ((0, (4, 2)), (count - 1, (1, 1.5))):
        axis.plot(
            time,
            values[:, position],
            color=colour,
            linewidth=0.9,
            dashes=dashes,
            label=selection.label(position),
            **_steps(selection),
        )

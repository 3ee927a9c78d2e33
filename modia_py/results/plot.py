"""Variables over time, or over another variable, in panels below each other that share that axis.

One result is drawn, or several into the same panels, each with its label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from ..errors import ModelError
from .figures import (
    MARK,
    given_axes,
    is_constant,
    limits,
    new_panels,
    our_style,
    save_figure,
    with_unit,
    without_unit,
)
from .selections import Selection
from .trajectories import Trajectories

DEFAULT_NAMES = 6
CURVES_SHOWN = 8  # elements of a vector that are drawn one by one, each with its colour and name
BUNDLE_SHOWN = 40  # elements that are drawn one by one, from light to dark
SAMPLED = 2000  # elements that the quantiles of a band are taken of
MOST_MATCHES = 32  # names that one pattern may stand for in a panel
MOST_POINTS_OF_EVENTS = 60  # events that are marked on the curves themselves
LONGEST_LABEL = 28
TRUTH_LIMITS = (-0.15, 1.15)  # of an axis with truth values only
SCALES = ("linear", "log")
TIME = "time"
MARGIN = 0.03  # beside curves over a variable; those over time reach from border to border


@dataclass(frozen=True)
class Curves:
    """What one name of one result is drawn as: a column for each element, over positions of its own."""

    label: str | None  # of the result, among several
    name: str
    selection: Selection
    values: np.ndarray
    positions: np.ndarray  # one row for each time, and one column, or as many as the values have
    events: np.ndarray  # numbers of rows


def plot(
    results: Sequence[tuple[str | None, Trajectories]],
    names: Sequence[str | Sequence[str]],
    *,
    over: str = TIME,
    x: str = "linear",
    y: str = "linear",
    panels: tuple[int, int] | None = None,
    file: str | PathLike[str] | None = None,
    title: str | None = None,
    axes: Any = None,
    events: bool = False,
) -> Any:
    """Draw each of `names` in a panel; see `Result.plot`."""
    for word, scale in (("x", x), ("y", y)):
        if scale not in SCALES:
            raise ModelError(
                f"{word}={scale!r} is none of 'linear', 'log'. To draw over a variable: over={scale!r}."
            )
    if not names:
        names = results[0][1].names_in_order[:DEFAULT_NAMES]
    for group in names:
        if not isinstance(group, (str, list, tuple)):
            raise ModelError(
                f"A panel is a name or a tuple of names, such as plot('x', ('v', 'w')), not {group!r}."
            )
    # Everything is read before anything is drawn: an unknown name leaves no empty figure behind.
    with our_style():
        contents = [_content(results, group, over, events) for group in names]
        if not contents:
            raise ModelError(f"The result of {results[0][1].model} has no variables to plot.")
        for content in contents:
            _check_scales(content, over, x, y)
        if axes is None:
            figure, grid = new_panels(len(names), panels, to_file=file is not None)
        else:
            grid = given_axes(axes, len(names))
            figure = grid[0, 0].figure
        drawn = grid.ravel()[: len(names)]
        for axis, content in zip(drawn, contents, strict=True):
            _draw_panel(axis, content, is_log=y == "log", over_time=over == TIME)
            if x == "log":
                axis.set_xscale("log", nonpositive="mask")
        unit = results[0][1].find(over).unit
        _label_horizontal(grid, len(names), with_unit(over, unit))
        if title is not None and axes is None:
            figure.suptitle(title, fontsize=11)
        figure.align_ylabels(list(drawn))
        if file is not None:
            save_figure(figure, file)
    return figure


def _content(
    results: Sequence[tuple[str | None, Trajectories]], group: str | Sequence[str], over: str, events: bool
) -> list[Curves]:
    """What a panel shows: each name of each result."""
    content: dict[tuple[str | None, str], Curves] = {}
    for name in (group,) if isinstance(group, str) else group:
        for label, result in results:
            matches = result.expand(name)
            if len(matches) > MOST_MATCHES:
                raise ModelError(
                    f"{name!r} stands for {len(matches)} variables of {result.model}: more than "
                    f"{MOST_MATCHES} in a panel show nothing. Name some of them, or several patterns."
                )
            for own in matches:
                if (label, own) not in content:
                    content[label, own] = _curves(label, result, own, over, events)
    return list(content.values())


def _curves(label: str | None, result: Trajectories, name: str, over: str, events: bool) -> Curves:
    selection, base = result.find(name), result.find(over)
    values, positions = (_over_time(part, len(result.time)) for part in (selection, base))
    if positions.shape[1] not in (1, values.shape[1]):
        raise ModelError(
            f"{name} has {values.shape[1]} elements and {over} has {positions.shape[1]}: one variable is "
            f"drawn over another if they have equally many, or if the other is a scalar."
        )
    if over != TIME and values.shape[1] > BUNDLE_SHOWN:
        raise ModelError(f"{name} has {values.shape[1]} elements: name some of them to draw over {over}.")
    rows = np.zeros(0, int)
    if events and len(result.time):
        rows = np.flatnonzero(np.isin(result.time, result.events.time))
    name = without_unit(name, selection.unit)  # axes and legends have it
    return Curves(label, name, selection, values, positions, rows)


def _check_scales(content: list[Curves], over: str, x: str, y: str) -> None:
    """A logarithm needs positive values: of these it draws what is there."""
    for curves in content:
        for scale, name, values in ((x, over, curves.positions), (y, curves.name, curves.values)):
            if scale == "log" and values.size and not (values > 0).any():
                raise ModelError(f"{name} has no positive values: there is nothing to draw in a log scale.")


def _label_horizontal(grid: np.ndarray, count: int, label: str) -> None:
    """The name of the shared axis below the lowest panel of each column only."""
    rows, columns = grid.shape
    for column in range(columns):
        filled = [grid[row, column] for row in range(rows) if row * columns + column < count]
        if filled:
            filled[-1].set_xlabel(label)
            filled[-1].tick_params(labelbottom=True)


def _draw_panel(axis: Any, content: list[Curves], *, is_log: bool, over_time: bool) -> None:
    names = list(dict.fromkeys(curves.name for curves in content))
    units = {curves.selection.unit for curves in content}
    if is_log:
        axis.set_yscale("log", nonpositive="mask")
    for curves in content:
        unit = f" in {curves.selection.unit}" if len(units) > 1 and curves.selection.unit else ""
        prefix = f"{curves.label}: " if curves.label is not None else ""
        count = curves.values.shape[1]
        if count > BUNDLE_SHOWN:
            _draw_band(axis, curves, f"{prefix}{curves.name} " if len(content) > 1 else prefix, unit)
        elif count > CURVES_SHOWN:
            _draw_bundle(axis, curves, prefix, unit)
        else:
            _draw_curves(axis, curves, prefix, unit, name_is_known=len(names) == 1)
        if len(curves.events):
            _mark(axis, curves, over_time)
    label = ", ".join(names)
    if len(label) > LONGEST_LABEL:  # the legend has the names
        label = ""
    if len(units) == 1 and (common := content[0].selection.unit):
        label = f"{label} in {common}" if label else f"in {common}"
    axis.set_ylabel(label)
    if not over_time:
        axis.margins(x=MARGIN)
    everything = np.concatenate([curves.values.ravel() for curves in content])
    if all(curves.selection.values.dtype == bool for curves in content):
        axis.set_yticks([0, 1], ["false", "true"])
        axis.set_ylim(*TRUTH_LIMITS)
    elif is_constant(everything) and (chosen := limits(everything)) is not None:
        axis.set_ylim(*chosen)  # and not from 1 - 1e-12 to 1 + 1e-12
    if len(content) > 1 or content[0].values.shape[1] > 1 or content[0].label is not None:
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def _draw_curves(axis: Any, curves: Curves, prefix: str, unit: str, *, name_is_known: bool) -> None:
    """Elements one by one. Of several results with the same scalar, the labels are those of the results."""
    selection, positions = curves.selection, curves.positions
    for k in range(curves.values.shape[1]):
        if selection.elements.ndim:
            label = prefix + selection.label(k)
        elif name_is_known and curves.label is not None:
            label = curves.label
        else:
            label = prefix + curves.name
        style = {"linestyle": "--"} if selection.constant else _steps(selection)
        axis.plot(
            positions[:, min(k, positions.shape[1] - 1)], curves.values[:, k], label=label + unit, **style
        )


def _steps(selection: Selection) -> dict[str, str]:
    """A discrete variable keeps its value until the next row."""
    return {"drawstyle": "steps-post"} if selection.variable.is_discrete else {}


def _mark(axis: Any, curves: Curves, over_time: bool) -> None:
    """Events: vertical lines behind curves over time, and points on the curves, just before and after."""
    rows = curves.events
    if over_time:
        # From bottom to top of the panel, whatever the values are; one object whatever their number.
        times = np.unique(curves.positions[rows, 0])
        axis.vlines(times, 0, 1, transform=axis.get_xaxis_transform(), zorder=0.5, **MARK)
    if len(rows) > 2 * MOST_POINTS_OF_EVENTS or curves.values.shape[1] > CURVES_SHOWN:
        return
    lines = axis.lines[-curves.values.shape[1] :]
    for k, line in enumerate(lines):
        place = curves.positions[rows, min(k, curves.positions.shape[1] - 1)]
        axis.plot(
            place, curves.values[rows, k], ".", markersize=4.5, color=line.get_color(), label="_events"
        )


def _over_time(selection: Selection, points: int) -> np.ndarray:
    """Values as a table: a row for each time, a column for each element."""
    if selection.constant:
        return np.broadcast_to(selection.values.ravel(), (points, selection.values.size))
    values = selection.values.reshape(points, selection.elements.size)
    return values.astype(float) if values.dtype == bool else values


def _draw_bundle(axis: Any, curves: Curves, prefix: str, unit: str) -> None:
    """Too many elements for a colour each, too few for a band: thin lines, darker with their number."""
    count, selection, positions = curves.values.shape[1], curves.selection, curves.positions
    (first,) = axis.plot([], [])  # takes the next colour of the cycle
    look = {"color": first.get_color(), "linestyle": first.get_linestyle(), "linewidth": 1}
    first.remove()
    for k in range(count):
        axis.plot(
            positions[:, min(k, positions.shape[1] - 1)],
            curves.values[:, k],
            alpha=0.25 + 0.75 * k / (count - 1),
            label=prefix + selection.label(k) + unit if k in (0, count - 1) else None,
            **look,
            **_steps(selection),
        )


def _draw_band(axis: Any, curves: Curves, prefix: str, unit: str) -> None:
    """Many elements: their range, their middle half, their median, the first and the last of them."""
    time, values, selection = curves.positions[:, 0], curves.values, curves.selection
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

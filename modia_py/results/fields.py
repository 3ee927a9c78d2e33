"""Array variables over space: profiles at some times, maps over time and space, maps at a time.

An array with one axis is a profile at one time. One with two axes is a map: its first index runs to the
right, its second one upwards, as x and y do. One with three axes is shown by three cuts through its middle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from ..errors import ModelError
from ..optional_packages import require
from .figures import (
    SINGLE_HEIGHT,
    WIDTH,
    is_constant,
    limits,
    new_figure,
    our_style,
    save_figure,
    with_unit,
)
from .selections import Selection
from .trajectories import Trajectories

PROFILES = 5  # times that are drawn if none are named
MOST_PICKED = 1000  # columns or rows of a map: more than a screen shows
MAP_SIZE = 3.0  # inches
MAPS_IN_A_ROW = 4
SEQUENTIAL, DIVERGING = "viridis", "RdBu_r"
BALANCED = 0.2  # from this ratio of the least to the largest value on, zero is in the middle of the colours
INDICES = ("i", "j", "k")
Positions = str | Sequence[float] | np.ndarray | None


@dataclass(frozen=True)
class Field:
    """An array variable as a field in space: its values, with time first, and where the elements are."""

    name: str
    selection: Selection
    time: np.ndarray
    values: np.ndarray
    positions: tuple[np.ndarray, ...]
    labels: tuple[str, ...]
    in_space: bool  # positions were given: lengths, and not numbers of elements

    @property
    def axes(self) -> int:
        """How many axes of space there are."""
        return self.values.ndim - 1

    @property
    def label(self) -> str:
        return with_unit(self.name, self.selection.unit)


def field(result: Trajectories, name: str, positions: Sequence[Positions], most_axes: int) -> Field:
    """Read a variable as a field, or say why it is none."""
    selection = result.find(name)
    if selection.constant:
        raise ModelError(f"{name} is a parameter: there is nothing to see over time. {_result_has(result)}")
    shape = selection.elements.shape
    if not 1 <= len(shape) <= most_axes:
        what = "is a scalar: `plot` draws it" if not shape else f"has {len(shape)} axes {shape}"
        hint = f" Select elements so that at most {most_axes} are left, such as {name}[0]." if shape else ""
        raise ModelError(f"{name} {what}; this picture needs an axis for space.{hint}")
    if not len(result.time):
        raise ModelError(f"The result of {result.model} has no point in time: there is nothing to draw.")
    given = [*positions, *[None] * len(shape)][: len(shape)]
    found = [_positions(result, name, own, k, shape) for k, own in enumerate(given)]
    values = selection.values.astype(float)
    return Field(
        name,
        selection,
        result.time,
        values,
        tuple(place for place, _ in found),
        tuple(label for _, label in found),
        all(own is not None for own in given),
    )


def _result_has(result: Trajectories) -> str:
    arrays = [name for name in result.names_in_order if result.variables[name].shape]
    return f"Array variables are {', '.join(arrays[:5])}." if arrays else "There are no array variables."


def _positions(
    result: Trajectories, name: str, given: Positions, axis: int, shape: tuple[int, ...]
) -> tuple[np.ndarray, str]:
    """Where the elements are along an axis, and its label."""
    count, word = shape[axis], "xyz"[axis]
    if given is None:
        return np.arange(count, dtype=float), f"{INDICES[axis]} of {_indexed(name, len(shape))}"
    label, values = word, given
    if isinstance(given, str):
        selection = result.find(given)
        values = selection.values
        if not selection.constant:
            if len(values) and not (values == values[0]).all():
                raise ModelError(f"{given} moves: positions of elements must be constant.")
            values = values[0]
        label = with_unit(given, selection.unit)
    place = np.asarray(values, float)
    if place.shape != (count,):
        raise ModelError(
            f"{word} has shape {place.shape}; {name} has {count} elements along its axis {axis}, and each "
            f"needs its position."
        )
    if count > 1 and not (np.diff(place) > 0).all():
        raise ModelError(f"{word} must increase: positions of elements along axis {axis} of {name}.")
    return place, label


def _indexed(name: str, axes: int) -> str:
    """A name with letters for the indices that run.

    >>> _indexed("T", 2), _indexed("T[:, 8]", 1), _indexed("c[2:].u", 1)
    ('T[i, j]', 'T[i, 8]', 'c[2:].u[i]')
    """
    before, bracket, index = name.rpartition("[")
    parts = [part.strip() for part in index.removesuffix("]").split(",")]
    if not bracket or not name.endswith("]") or parts.count(":") != axes:
        return f"{name}[{', '.join(INDICES[:axes])}]"
    letters = iter(INDICES)
    return f"{before}[{', '.join(next(letters) if part == ':' else part for part in parts)}]"


def _label(axis: Any, found: Field, horizontal: int | None, vertical: int | None) -> None:
    """Labels of the axes of space; numbers of elements are whole numbers."""
    for side, own, label in (
        (axis.xaxis, horizontal, axis.set_xlabel),
        (axis.yaxis, vertical, axis.set_ylabel),
    ):
        if own is not None:
            label(found.labels[own])
            if not found.in_space:
                side.get_major_locator().set_params(integer=True)


def checked_times(found: Field, wanted: Any) -> np.ndarray:
    """Times that the result covers, increasing or not; those beyond it by rounding are its ends."""
    times = np.atleast_1d(np.asarray(wanted, float))
    first, last = float(found.time[0]), float(found.time[-1])
    slack = 1e-9 * max(abs(first), abs(last))
    for late in times[~((times >= first - slack) & (times <= last + slack))]:
        raise ModelError(f"Time {late:g} is not in the result, which goes from {first:g} to {last:g} s.")
    return np.clip(times, first, last)


def values_at(found: Field, time: float) -> np.ndarray:
    """The values at a time: at an event those after it, between points of output on the line between them.

    Just as curves over time are drawn; discrete variables keep their values until the next point.
    """
    before = int(np.searchsorted(found.time, time, side="right")) - 1
    here: np.ndarray = found.values[before]
    if before + 1 == len(found.time) or found.time[before] == time or found.selection.variable.is_discrete:
        return here
    share = (time - found.time[before]) / (found.time[before + 1] - found.time[before])
    return here + share * (found.values[before + 1] - here)


def plot_profile(
    result: Trajectories,
    name: str,
    times: Any,
    x: Positions,
    file: str | PathLike[str] | None,
    title: str | None,
    axes: Any,
) -> Any:
    """See `Result.plot_profile`."""
    found = field(result, name, [x], 1)
    wanted = np.linspace(found.time[0], found.time[-1], PROFILES) if times is None else times
    chosen = np.unique(checked_times(found, wanted))
    shown = [values_at(found, time) for time in chosen.tolist()]
    matplotlib = require("matplotlib", "plot", "Plotting")
    with our_style():
        if axes is None:
            figure = new_figure((WIDTH, SINGLE_HEIGHT), without_window=file is not None)
            axis = figure.subplots()
        else:
            axis = np.array(axes, dtype=object).reshape(-1)[0]
            figure = axis.figure
        colours = matplotlib.colormaps[SEQUENTIAL](np.linspace(0.85, 0.05, len(chosen)))
        for time, values, colour in zip(chosen, shown, colours, strict=True):
            draw_profile(axis, found, values, color=colour, label=f"{time:.4g} s")
        _label_profile(axis, found, np.stack(shown))
        if len(chosen) > 1:
            axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), title="time", alignment="left")
        else:
            axis.set_title(f"at {chosen[0]:.4g} s", fontsize=9.5)
        return _finished(figure, file, title if axes is None else None)


def draw_profile(axis: Any, found: Field, values: np.ndarray, **look: Any) -> Any:
    """One profile; few elements have their points shown."""
    marker = "." if len(values) <= 30 else None
    (line,) = axis.plot(found.positions[0], values, marker=marker, **look)
    return line


def _label_profile(axis: Any, found: Field, shown: np.ndarray) -> None:
    _label(axis, found, 0, None)
    axis.set_ylabel(found.label)
    if is_constant(shown) and (chosen := limits(shown)) is not None:
        axis.set_ylim(*chosen)


def empty_profile(axis: Any, found: Field) -> Any:
    """Axes for all profiles of a run, and the line that will show one of them."""
    _label_profile(axis, found, found.values)
    chosen = limits(found.values)
    if chosen is not None:
        low, high = chosen
        axis.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    return draw_profile(axis, found, found.values[0])


def plot_map(
    result: Trajectories,
    name: str,
    times: Any,
    x: Positions,
    y: Positions,
    z: Positions,
    file: str | PathLike[str] | None,
    title: str | None,
) -> Any:
    """See `Result.plot_map`."""
    found = field(result, name, [x, y, z], 3)
    with our_style(**{"axes.grid": False}):
        if found.axes == 1:
            if times is not None:
                raise ModelError(
                    f"{name} has one axis: at a time it is a profile, plot_profile({name!r}, times=...); "
                    f"plot_map({name!r}) shows it over time and space."
                )
            figure = new_figure((WIDTH, SINGLE_HEIGHT), without_window=file is not None)
            _draw_over_time(figure.subplots(), found)
            return _finished(figure, file, title)
        chosen = checked_times(found, found.time[-1] if times is None else times)
        shown = [values_at(found, time) for time in chosen.tolist()]
        shape = (len(chosen), 3)
        if found.axes == 2:
            columns = min(len(chosen), MAPS_IN_A_ROW)
            shape = (-(-len(chosen) // columns), columns)
        figure, grid = map_grid(found, shape, to_file=file is not None)
        colours = colours_of(np.stack(shown))
        image = None
        for number, (time, values) in enumerate(zip(chosen, shown, strict=True)):
            axes = [grid.ravel()[number]] if found.axes == 2 else list(grid[number])
            (image, *_) = draw_maps(axes, found, values, colours, f"{time:.4g} s")
        if found.axes == 2:
            for axis in grid.ravel()[len(chosen) :]:
                axis.set_visible(False)
            for axis in grid[:, 1:].ravel():
                axis.set_ylabel("")
        figure.colorbar(image, ax=list(grid.ravel()), label=found.label)
        return _finished(figure, file, title)


def map_grid(found: Field, shape: tuple[int, int], *, to_file: bool) -> tuple[Any, np.ndarray]:
    """A figure with axes for maps in rows and columns, as large as the ratio of their sides asks for."""
    rows, columns = shape
    height = float(np.clip(MAP_SIZE * _ratio(found), 1.2, 5.0)) if found.axes == 2 else MAP_SIZE
    figure = new_figure((MAP_SIZE * columns + 1.4, height * rows + 0.7), without_window=to_file)
    return figure, figure.subplots(rows, columns, squeeze=False)


def _ratio(found: Field) -> float:
    widths = [float(borders(place)[-1] - borders(place)[0]) for place in found.positions[:2]]
    return widths[1] / widths[0]


def colours_of(values: np.ndarray) -> dict[str, Any]:
    """Limits and colours; with zero in the middle where values of both signs are as large."""
    low, high = limits(values) or (0.0, 1.0)
    if low < 0 < high and min(-low, high) >= BALANCED * max(-low, high):
        most = max(-low, high)
        return {"cmap": DIVERGING, "vmin": -most, "vmax": most}
    return {"cmap": SEQUENTIAL, "vmin": low, "vmax": high}


def cuts(found: Field, values: np.ndarray) -> list[tuple[np.ndarray, tuple[int, int], str]]:
    """What is drawn of a field at one time: values, the axes they have, and which cut that is."""
    if found.axes == 2:
        return [(values, (0, 1), "")]
    middle = [count // 2 for count in values.shape]
    shown = []
    for across in (2, 1, 0):
        index = [":"] * 3
        index[across] = str(middle[across])
        left, right = (axis for axis in range(3) if axis != across)
        shown.append((values.take(middle[across], across), (left, right), f"[{', '.join(index)}]"))
    return shown


def draw_maps(
    axes: Sequence[Any], found: Field, values: np.ndarray, colours: dict[str, Any], when: str
) -> list[Any]:
    """A field at one time: one map, or three cuts."""
    images = []
    for axis, (part, (left, right), cut) in zip(axes, cuts(found, values), strict=True):
        places = [borders(found.positions[k]) for k in (left, right)]
        images.append(axis.pcolormesh(*places, part.T, rasterized=True, **colours))
        _label(axis, found, left, right)
        axis.set_title(f"{found.name}{cut} at {when}" if cut else when, fontsize=9.5)
        axis.set_aspect("equal")
    return images


def _draw_over_time(axis: Any, found: Field) -> None:
    """Time to the right, space upwards."""
    time, last = np.unique(found.time[::-1], return_index=True)  # at an event the row after it
    rows = len(found.time) - 1 - last
    across, along = _picked(len(rows)), _picked(len(found.positions[0]))
    places = borders(time[across]), borders(found.positions[0][along])
    shown = found.values[rows[across]][:, along]
    image = axis.pcolormesh(*places, shown.T, rasterized=True, **colours_of(found.values))
    _label(axis, found, None, 0)
    axis.set(xlabel="time in s", xlim=(time[0], max(time[-1], places[0][-1])))
    axis.figure.colorbar(image, ax=axis, label=found.label)


def _picked(count: int) -> np.ndarray:
    """Not more rows or columns than can be seen."""
    return np.linspace(0, count - 1, min(count, MOST_PICKED)).round().astype(int)


def borders(centres: np.ndarray) -> np.ndarray:
    """Borders of cells around some positions.

    >>> borders(np.array([0.0, 1.0, 3.0])).tolist()
    [-0.5, 0.5, 2.0, 4.0]
    """
    if len(centres) < 2:
        return np.array([centres[0] - 0.5, centres[0] + 0.5])
    between = (centres[1:] + centres[:-1]) / 2
    return np.concatenate([[2 * centres[0] - between[0]], between, [2 * centres[-1] - between[-1]]])


def _finished(figure: Any, file: str | PathLike[str] | None, title: str | None) -> Any:
    if title is not None:
        figure.suptitle(title, fontsize=11)
    if file is not None:
        save_figure(figure, file)
    return figure

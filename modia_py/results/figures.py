"""What all pictures of results share: their style, figures with and without a window, limits of axes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelError, ResultFileError
from ..optional_packages import require

WIDTH, PANEL_HEIGHT, SINGLE_HEIGHT = 7.2, 1.9, 3.2  # inches
SIDE_BY_SIDE = 0.75  # width of one of several columns, compared with a single one
COLOURS = ("#2f6db3", "#d9722e", "#3d9a5f", "#b8474d", "#7d62b5", "#8a6d4f", "#c774b0", "#6b7480")
DASHES = ("-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)))
"""When all colours are used, they come again with other dashes."""
MARK: dict[str, Any] = {"color": "#9aa0a6", "linewidth": 0.6, "alpha": 0.7}
NOISE = 1e-9
"""Changes that are smaller than this, compared with the values, are those of rounding and tolerances."""
AROUND_A_CONSTANT = 0.05  # of its value, above and below
STYLE: dict[str, Any] = {
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#707070",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.xmargin": 0.0,
    "axes.formatter.useoffset": False,
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


@contextmanager
def our_style(**changes: Any) -> Iterator[None]:
    """The style of these pictures, for figures made inside; that of the user is left alone."""
    matplotlib = require("matplotlib", "plot", "Plotting")
    cycler = matplotlib.rcsetup.cycler
    cycle = cycler(linestyle=DASHES) * cycler(color=COLOURS)
    with matplotlib.rc_context({**STYLE, "axes.prop_cycle": cycle, **changes}):
        yield


def save_figure(figure: Any, file: str | PathLike[str]) -> None:
    """Write a figure to a file, or say why that is impossible."""
    target = Path(file)
    known = figure.canvas.get_supported_filetypes()
    suffix = target.suffix.lower().removeprefix(".")
    if suffix and suffix not in known:
        raise ModelError(f"{target}: a picture is a file that ends with .png, .svg, .pdf; not .{suffix}.")
    with file_errors(target):
        figure.savefig(target)


@contextmanager
def file_errors(target: Path) -> Iterator[None]:
    """What the system says of a file that cannot be written becomes a sentence."""
    if not target.parent.is_dir():
        raise ResultFileError(f"{target} cannot be written: there is no folder {target.parent}.")
    try:
        yield
    except OSError as error:
        raise ResultFileError(f"{target} cannot be written: {error.strerror or error}.") from error


def new_figure(size: tuple[float, float], *, without_window: bool) -> Any:
    """An empty figure; one for a file has no display, and nothing of it stays open."""
    if without_window:
        return require("matplotlib.figure", "plot", "Plotting").Figure(figsize=size, layout="constrained")
    return require("matplotlib.pyplot", "plot", "Plotting").figure(figsize=size, layout="constrained")


def new_panels(count: int, panels: tuple[int, int] | None, *, to_file: bool) -> tuple[Any, np.ndarray]:
    """A figure with panels in rows and columns that share their horizontal axis."""
    rows, columns = panels if panels is not None else (count, 1)
    if rows * columns < count:
        raise ModelError(f"{count} panels do not fit into panels=({rows}, {columns}).")
    height = SINGLE_HEIGHT if rows == 1 else PANEL_HEIGHT * rows + 0.5
    size = (WIDTH * (1 if columns == 1 else SIDE_BY_SIDE * columns), height)
    figure = new_figure(size, without_window=to_file)
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
    for axis in grid.ravel()[count:]:
        axis.set_visible(False)
    return figure, grid


def given_axes(axes: Any, count: int) -> np.ndarray:
    """Axes of the user, as a column of panels."""
    given = np.array(axes, dtype=object).reshape(-1)
    if len(given) < count:
        raise ModelError(f"{count} panels need {count} axes; {len(given)} given.")
    return given[:count].reshape(-1, 1)


def limits(values: np.ndarray) -> tuple[float, float] | None:
    """From the least to the largest value; around it where it is one, but for rounding. None without any.

    >>> limits(np.array([1.0, 3.0])), limits(np.array([2.0, 2.0]))
    ((1.0, 3.0), (1.9, 2.1))
    """
    finite = values[np.isfinite(values)]
    if not finite.size:
        return None
    low, high = float(finite.min()), float(finite.max())
    if high - low > NOISE * max(abs(low), abs(high)):
        return low, high
    middle = (low + high) / 2
    around = AROUND_A_CONSTANT * abs(middle) or 1.0
    return middle - around, middle + around


def is_constant(values: np.ndarray) -> bool:
    """Whether all values are one number but for rounding."""
    finite = values[np.isfinite(values)]
    return bool(finite.size) and float(np.ptp(finite)) <= NOISE * float(np.abs(finite).max())


def with_unit(name: str, unit: str | None) -> str:
    """The label of an axis."""
    return f"{without_unit(name, unit)} in {unit}" if unit else name


def without_unit(name: str, unit: str | None) -> str:
    """A name that was asked for in another unit, "T in degC", without it."""
    return name.removesuffix(f" in {unit}")

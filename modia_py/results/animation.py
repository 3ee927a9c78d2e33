"""Array variables that move: profiles, maps and cuts over time, as GIF, as MP4, in notebooks."""

from __future__ import annotations

import base64
import tempfile
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelError
from ..optional_packages import require
from .fields import (
    SINGLE_HEIGHT,
    WIDTH,
    Field,
    Positions,
    checked_times,
    colours_of,
    cuts,
    draw_maps,
    empty_profile,
    field,
    map_grid,
    values_at,
)
from .figures import file_errors, new_figure, our_style

MOST_FRAMES = 2000
DPI = 80
IN_NOTEBOOKS = ".gif"
MOVIES = (".mp4", ".mov", ".webm")


class Animation:
    """A picture of an array variable that moves; a notebook shows it.

    `result.animate("T")` makes it.

    Parameters
    ----------
    found : Field
        What moves.
    times : array
        When: a frame for each.
    fps : float
        How many of them in a second.
    title : str, optional
        Above the picture.

    Examples
    --------
    >>> from modia_py import simulate
    >>> from modia_py.models.examples import HeatRod
    >>> animation = simulate(HeatRod(5), 10.0).animate("T", frames=3)
    >>> animation
    <Animation of T: 3 frames>
    """

    def __init__(self, found: Field, times: np.ndarray, fps: float, title: str | None = None):
        self.found, self.times, self.fps, self.title = found, times, fps, title

    def save(self, path: str | PathLike[str]) -> None:
        """Write a file.

        Parameters
        ----------
        path : path
            Its ending decides the format: `.gif` needs matplotlib only, `.mp4`, `.mov` and `.webm` need
            ffmpeg, as a program or as the package imageio-ffmpeg.

        Raises
        ------
        ModelError
            If the ending is another one.
        MissingPackageError
            If ffmpeg is needed and missing.
        """
        animation = require("matplotlib.animation", "plot", "An animation")
        matplotlib = require("matplotlib", "plot", "An animation")
        ending = Path(path).suffix.lower()
        if ending == ".gif":
            writer, changes = animation.PillowWriter(fps=self.fps), {}
        elif ending in MOVIES:
            changes = {"animation.ffmpeg_path": _ffmpeg(animation)}
            writer = animation.FFMpegWriter(fps=self.fps)
        else:
            raise ModelError(f"{path}: an animation is a file that ends with .gif, {', '.join(MOVIES)}.")
        with our_style(**{"axes.grid": self.found.axes == 1, **changes}), matplotlib.rc_context(changes):
            figure, show = self._drawn()
            # Borders of the picture are found once; then they stand still.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            with file_errors(Path(path)), writer.saving(figure, str(path), DPI):
                for time in self.times.tolist():
                    show(time)
                    writer.grab_frame()

    def _drawn(self) -> tuple[Any, Any]:
        """The figure with its first frame, and a function that shows another time."""
        found = self.found
        if found.axes == 1:
            figure = new_figure((WIDTH, SINGLE_HEIGHT), without_window=True)
            axis = figure.subplots()
            line = empty_profile(axis, found)
        else:
            figure, grid = map_grid(found, (1, 1 if found.axes == 2 else 3), to_file=True)
            colours = colours_of(found.values)
            images = draw_maps(list(grid[0]), found, found.values[0], colours, "")
            figure.colorbar(images[0], ax=list(grid[0]), label=found.label)
            for axis, (_, _, cut) in zip(grid[0], cuts(found, found.values[0]), strict=True):
                axis.set_title(f"{found.name}{cut}" if cut else "", fontsize=9.5)
        heading = figure.suptitle(" ", fontsize=10)
        digits = max(0, 3 - int(np.floor(np.log10(max(1e-9, np.ptp(found.time))))) - 1)

        def show(time: float) -> None:
            values = values_at(found, time)
            when = f"time {time:.{digits}f} s"
            heading.set_text(f"{self.title}, {when}" if self.title else when)
            if found.axes == 1:
                line.set_ydata(values)
                return
            for image, (part, _, _) in zip(images, cuts(found, values), strict=True):
                image.set_array(part.T)

        show(float(self.times[0]))
        return figure, show

    def __repr__(self) -> str:
        return f"<Animation of {self.found.name}: {len(self.times)} frames>"

    def _repr_html_(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"animation{IN_NOTEBOOKS}"
            self.save(file)
            data = base64.b64encode(file.read_bytes()).decode()
        return f'<img src="data:image/gif;base64,{data}">'


def animate(
    result: Any,
    name: str,
    file: str | PathLike[str] | None,
    times: Any,
    frames: int,
    fps: float,
    positions: tuple[Positions, Positions, Positions],
    title: str | None,
) -> Animation:
    """See `Result.animate`."""
    require("matplotlib", "plot", "An animation")
    if not (isinstance(frames, (int, np.integer)) and 1 <= frames <= MOST_FRAMES):
        raise ModelError(f"frames={frames!r} is not a number from 1 to {MOST_FRAMES}.")
    if not fps > 0:
        raise ModelError(f"fps={fps!r}: frames in a second must be positive.")
    found = field(result, name, positions, 3)
    wanted = np.linspace(found.time[0], found.time[-1], frames) if times is None else times
    made = Animation(found, checked_times(found, wanted), fps, title)
    if file is not None:
        made.save(file)
    return made


def _ffmpeg(animation: Any) -> str:
    """The program: on the path, or that of a package."""
    if animation.FFMpegWriter.isAvailable():
        return "ffmpeg"
    program: str = require("imageio_ffmpeg", "movie", "A movie without ffmpeg").get_ffmpeg_exe()
    return program

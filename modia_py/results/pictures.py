"""The pictures of a result: what a user calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from . import animation, fields, plot
from .animation import Animation
from .fields import Positions
from .trajectories import Trajectories


class Pictures(Trajectories):
    """Trajectories that can be drawn."""

    def plot(
        self,
        *names: str | Sequence[str],
        over: str = plot.TIME,
        x: str = "linear",
        y: str = "linear",
        panels: tuple[int, int] | None = None,
        file: str | PathLike[str] | None = None,
        title: str | None = None,
        axes: Any = None,
        events: bool = False,
        label: str | None = None,
    ) -> Any:
        """Draw variables over time: a panel for each argument, with several curves if it is a tuple.

        A pattern, such as `"arm.*.tau"`, is one panel with a curve for each name that it stands for.

        Vectors and component arrays of up to eight elements are drawn curve by curve, up to forty as thin
        lines that become darker with their number. Longer ones are a band: from least to largest, darker
        the middle half, with the median and the first and the last element as lines; single elements have
        names such as `c[0].u`. Discrete variables are steps; truth values have "true" and "false" on
        their axis, unless they share it with numbers. Where a variable jumps at an event, the curve does.
        The axis of what is constant but for rounding shows its value, not the rounding.

        Parameters
        ----------
        *names : str or tuple of str
            What to draw, one panel for each; the first six variables, states first, if nothing is named.
        over : str
            What to draw it over: the time, or a variable for phase plots, `plot("v", over="s")`. One with
            as many elements belongs to the curves element by element: `plot("r[:, 1]", over="r[:, 0]")`.
        x, y : {"linear", "log"}
            The scales of the axes. A logarithmic one shows positive values only.
        panels : tuple of int, optional
            Rows and columns of panels; one column by default.
        file : path, optional
            Where to save the picture; its ending decides the format. Nothing is shown then.
        title : str, optional
            Above all panels.
        axes : sequence of matplotlib.axes.Axes, optional
            Axes to draw into, one for each panel, instead of a new figure.
        events : bool
            Whether to mark events: by thin vertical lines, and by points on curves, just before and just
            after each.
        label : str, optional
            The name of this result in legends, where several are drawn into the same axes; see
            `plot_results`.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        UnknownNameError
            If the result has no such name; near names are proposed.
        ModelError
            If panels or axes are too few, if a scale is unknown, if nothing can be drawn in it.
        MissingPackageError
            If matplotlib is not installed: `pip install modia_py[plot]`.

        Examples
        --------
        >>> from modia_py import simulate
        >>> from modia_py.models.examples import Decay
        >>> result = simulate(Decay(), 1.0, times=3)
        >>> figure = result.plot("x", ("x", "der(x)"))
        >>> len(figure.axes)
        2
        >>> figure = result.plot("der(x)", over="x", x="log")
        >>> figure.axes[0].get_xlabel()
        'x'
        """
        return plot.plot(
            [(label, self)],
            names,
            over=over,
            x=x,
            y=y,
            panels=panels,
            file=file,
            title=title,
            axes=axes,
            events=events,
        )

    def plot_profile(
        self,
        name: str,
        times: Any = None,
        *,
        x: Positions = None,
        file: str | PathLike[str] | None = None,
        title: str | None = None,
        axes: Any = None,
    ) -> Any:
        """Draw an array variable over space, a curve for each of some times.

        Parameters
        ----------
        name : str
            A variable with one axis, or a selection that leaves one: `"T"`, `"c.u"`, `"field[3, :]"`.
        times : array, optional
            When, in seconds; between points of output, values lie on the line between them, as in other
            pictures. Five times, from the start to the end, by default.
        x : str or array, optional
            Where the elements are: a name in the result, or numbers; numbers of elements by default.
        file : path, optional
            Where to save the picture; its ending decides the format. Nothing is shown then.
        title : str, optional
            Above the picture.
        axes : matplotlib.axes.Axes, optional
            Axes to draw into, instead of a new figure.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        UnknownNameError
            If the result has no such name.
        ModelError
            If the variable has no axis or several, if a time is not in the result, if positions do not fit.
        MissingPackageError
            If matplotlib is not installed: `pip install modia_py[plot]`.

        Examples
        --------
        >>> from modia_py import simulate
        >>> from modia_py.models.examples import HeatRod
        >>> result = simulate(HeatRod(5), 10.0)
        >>> axis = result.plot_profile("T", times=[0, 5, 10]).axes[0]
        >>> len(axis.lines), axis.get_ylabel(), axis.get_xlabel()
        (3, 'T in K', 'i of T[i]')
        """
        return fields.plot_profile(self, name, times, x, file, title, axes)

    def plot_map(
        self,
        name: str,
        times: Any = None,
        *,
        x: Positions = None,
        y: Positions = None,
        z: Positions = None,
        file: str | PathLike[str] | None = None,
        title: str | None = None,
    ) -> Any:
        """Draw an array variable in colours: over time and space, or over two directions in space.

        An array with one axis is drawn over time and space. One with two axes is a map for each of some
        times: the first index runs to the right, the second one upwards. One with three axes is shown by
        three cuts through its middle; other cuts are maps of selections, `plot_map("T[:, :, 3]")`. Where
        values of both signs are as large, zero is white.

        Parameters
        ----------
        name : str
            A variable with one to three axes, or a selection that leaves as many.
        times : number or array, optional
            When, in seconds, for two and three axes; the end by default.
        x, y, z : str or array, optional
            Where the elements are along the first, second and third axis: names in the result, or numbers.
            The numbers of the elements by default.
        file : path, optional
            Where to save the picture; its ending decides the format. Nothing is shown then.
        title : str, optional
            Above the picture.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        UnknownNameError
            If the result has no such name.
        ModelError
            If the variable has no axis or too many, if a time is not in the result, if positions do not
            fit.
        MissingPackageError
            If matplotlib is not installed: `pip install modia_py[plot]`.

        Examples
        --------
        >>> from modia_py import simulate
        >>> from modia_py.models.examples import HeatRod
        >>> figure = simulate(HeatRod(5), 10.0).plot_map("T")
        >>> [axis.get_ylabel() for axis in figure.axes]  # the second one is the scale of colours
        ['i of T[i]', 'T in K']
        """
        return fields.plot_map(self, name, times, x, y, z, file, title)

    def animate(
        self,
        name: str,
        *,
        file: str | PathLike[str] | None = None,
        times: Any = None,
        frames: int = 100,
        fps: float = 20.0,
        x: Positions = None,
        y: Positions = None,
        z: Positions = None,
        title: str | None = None,
    ) -> Animation:
        """Let an array variable move: a profile, a map, or three cuts through a body.

        Parameters
        ----------
        name : str
            A variable with one to three axes, or a selection that leaves as many.
        file : path, optional
            Where to save it: `.gif`, or `.mp4`, `.mov`, `.webm` where ffmpeg is.
        times : array, optional
            The times to show, in seconds; `frames` from the start to the end by default.
        frames : int
            How many.
        fps : float
            How many in a second.
        x, y, z : str or array, optional
            Where the elements are, as for `plot_map`.
        title : str, optional
            Above the picture, before the time.

        Returns
        -------
        Animation
            A notebook shows it; `save(path)` writes it.

        Raises
        ------
        UnknownNameError
            If the result has no such name.
        ModelError
            If the variable has no axis or too many, if a time is not in the result, if positions do not
            fit.
        MissingPackageError
            If matplotlib, or for a movie ffmpeg, is not installed.

        Examples
        --------
        >>> import tempfile
        >>> from modia_py import simulate
        >>> from modia_py.models.examples import HeatRod
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     simulate(HeatRod(5), 10.0).animate("T", file=f"{folder}/rod.gif", frames=3)
        <Animation of T: 3 frames>
        """
        return animation.animate(self, name, file, times, frames, fps, (x, y, z), title)


def plot_results(
    results: Mapping[str, Pictures],
    *names: str | Sequence[str],
    over: str = plot.TIME,
    x: str = "linear",
    y: str = "linear",
    panels: tuple[int, int] | None = None,
    file: str | PathLike[str] | None = None,
    title: str | None = None,
    axes: Any = None,
    events: bool = False,
) -> Any:
    """Draw the same variables of several results in one figure, each result with its label.

    Parameters
    ----------
    results : mapping of str to Result
        The results, by their labels.
    *names : str or tuple of str
        What to draw, one panel for each, as in `Result.plot`.
    over, x, y, panels, file, title, axes, events
        As in `Result.plot`.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    UnknownNameError
        If one of the results has no such name.
    ModelError
        If there are no results, or as in `Result.plot`.
    MissingPackageError
        If matplotlib is not installed: `pip install modia_py[plot]`.

    Examples
    --------
    >>> from modia_py import plot_results, translate
    >>> from modia_py.models.examples import Decay
    >>> sim = translate(Decay())
    >>> runs = {f"k = {k:g}": sim.simulate(1.0, params={"k": k}) for k in (1.0, 2.0)}
    >>> figure = plot_results(runs, "x", y="log")
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['k = 1', 'k = 2']
    """
    if not isinstance(results, Mapping) or not results:
        raise plot.ModelError("plot_results needs results by their labels: {'soft': a, 'stiff': b}.")
    return plot.plot(
        list(results.items()),
        names,
        over=over,
        x=x,
        y=y,
        panels=panels,
        file=file,
        title=title,
        axes=axes,
        events=events,
    )

"""What `simulate` returns: named trajectories, and how to look at them and keep them."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from . import files, html, plot, text
from .events import Change, Event, EventTable
from .statistics import RunStatistics
from .trajectories import ResultVariable, Trajectories

__all__ = ["Change", "Event", "EventTable", "Result", "ResultVariable", "RunStatistics"]


class Result(Trajectories):
    """The result of a simulation: trajectories by name, how the run ended, and what it cost.

    `result["s"]` is the trajectory of any variable, with time as its first axis; `result["der(s)"]` a
    derivative that occurs in the equations; `result["c[3].u"]`, `result["c[::10].r[:, 2]"]` elements, with
    the same meaning as in equations; `result["T in degC"]` the same in another unit; `result["time"]` the
    time, `result["r.R"]` a parameter, without an axis of time. The arrays cannot be written to. `name in
    result` asks whether there is such a name. Variables are computed when asked for, and then kept.

    A run that failed keeps everything it computed before.

    Parameters
    ----------
    model : str
        The name of the model.
    time : array
        The times of output, shape (nt,).
    variables : mapping of str to ResultVariable
        What is known of each variable besides its values: shape, unit, doc.
    read : callable
        `read(name, order)`: the values of a variable, differentiated `order` times, or None.
    parameters : mapping of str to array
        Values of the parameters.
    stats : RunStatistics, optional
        Steps, matrices, seconds, method, and the certificate that the equations hold.
    status : Status
        How the run ended.
    message : str
        The same as a sentence, with advice if it failed.
    notes : tuple of str
        What else a reader should know: stops, guesses, small variables.
    events : EventTable, or callable that gives one
        What happened when: `result.events` is a table of time, condition, component, line and what was
        changed.
    output_rows : array of int, optional
        The rows at the times that were asked for, one for each: `result["s"][result.output_rows]`. At an
        event there are two rows, just before and just after it, whether or not its time was asked for;
        where it was, the row after the event is the one. All rows by default.

    Examples
    --------
    >>> import numpy as np
    >>> from modia_py import Result
    >>> from modia_py.results.result import ResultVariable
    >>> t = np.linspace(0, 1, 11)
    >>> values = {("s", 0): t**2, ("s", 1): 2 * t}
    >>> result = Result("Fall", t, {"s": ResultVariable("s", (), unit="m")}, lambda *key: values.get(key))
    >>> float(result.final("s")), float(result.final("der(s)"))
    (1.0, 2.0)
    """

    def plot(
        self,
        *names: str | Sequence[str],
        panels: tuple[int, int] | None = None,
        file: str | PathLike[str] | None = None,
        title: str | None = None,
        axes: Any = None,
        events: bool = False,
    ) -> Any:
        """Draw variables over time: a panel for each argument, with several curves if it is a tuple.

        Vectors and component arrays of up to eight elements are drawn curve by curve, up to forty as thin
        lines that become darker with their number. Longer ones are a band: from least to largest, darker
        the middle half, with the median and the first and the last element as lines; single elements have
        names such as `c[0].u`. Discrete variables are steps; truth values have "true" and "false" on
        their axis, unless they share it with numbers. Where a variable jumps at an event, the curve does.

        Parameters
        ----------
        *names : str or tuple of str
            What to draw, one panel for each; the first six variables if nothing is named.
        panels : tuple of int, optional
            Rows and columns of panels; one column by default.
        file : path, optional
            Where to save the picture; its ending decides the format. Nothing is shown then.
        title : str, optional
            Above all panels.
        axes : sequence of matplotlib.axes.Axes, optional
            Axes to draw into, one for each panel, instead of a new figure.
        events : bool
            Whether to mark the times of events by thin vertical lines.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        UnknownNameError
            If the result has no such name; near names are proposed.
        ModelError
            If panels or axes are too few.
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
        """
        return plot.plot(self, names, panels=panels, file=file, title=title, axes=axes, events=events)

    def to_xarray(self) -> Any:
        """Convert to xarray.

        Returns
        -------
        xarray.Dataset
            All variables and known derivatives over time, the parameters, units and docs as attributes.

        Raises
        ------
        MissingPackageError
            If xarray is not installed: `pip install modia_py[io]`.

        Examples
        --------
        >>> from modia_py import simulate
        >>> from modia_py.models.examples import Decay
        >>> result = simulate(Decay(), 1.0, times=3)
        >>> result.to_xarray()["x"].dims
        ('time',)
        """
        return files.to_xarray(self)

    def to_pandas(self, *names: str) -> Any:
        """Convert to pandas.

        Parameters
        ----------
        *names : str
            Which variables, derivatives or elements; all variables if nothing is named.

        Returns
        -------
        pandas.DataFrame
            Over time, with a column for each element.

        Raises
        ------
        UnknownNameError
            If the result has no such name; near names are proposed.
        ModelError
            If there would be more than 100 000 columns.
        MissingPackageError
            If pandas is not installed: `pip install modia_py[io]`.

        Examples
        --------
        >>> from modia_py import simulate
        >>> from modia_py.models.examples import Decay
        >>> result = simulate(Decay(), 1.0, times=3)
        >>> result.to_pandas("x", "der(x)").shape
        (3, 2)
        """
        return files.to_pandas(self, names)

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a NetCDF file, which any program for NetCDF or HDF5 can read.

        Parameters
        ----------
        path : path
            The file. One that is there is replaced once the new one is complete.

        Raises
        ------
        ResultFileError
            If it cannot be written.
        MissingPackageError
            If h5netcdf is not installed: `pip install modia_py[io]`.

        Examples
        --------
        >>> from modia_py import simulate
        >>> from modia_py.models.examples import Decay
        >>> result = simulate(Decay(), 1.0, times=3)
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.save(f"{folder}/decay.nc")
        ...     again = Result.load(f"{folder}/decay.nc")
        ...     bool((again["x"] == result["x"]).all())
        True
        """
        files.save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Result:
        """Read a result that was saved; see `save` for an example.

        Parameters
        ----------
        path : path
            The file. Variables are read from it when they are asked for.

        Returns
        -------
        Result
            As it was saved.

        Raises
        ------
        ResultFileError
            If the file is missing, damaged, or no result.
        MissingPackageError
            If h5netcdf is not installed: `pip install modia_py[io]`.
        """
        return cls(**files.load(path))

    def __repr__(self) -> str:
        return text.text(self)

    def _repr_html_(self) -> str:
        return html.html(self)

    def _ipython_key_completions_(self) -> list[str]:
        return [*self.names, *self.parameters, "time"]

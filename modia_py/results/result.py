"""What `simulate` returns: named trajectories, and how to look at them and keep them."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

from ..errors import UnknownAttributeError, UnknownNameError, did_you_mean
from . import files, html, text
from .events import Change, Event, EventTable
from .name_patterns import is_pattern, matching
from .pictures import Pictures
from .selections import ResultVariable
from .statistics import RunStatistics

__all__ = ["Change", "Event", "EventTable", "Result", "ResultVariable", "RunStatistics"]


class Result(Pictures):
    """The result of a simulation: trajectories by name, how the run ended, and what it cost.

    `result["s"]` is the trajectory of any variable, with time as its first axis; `result["der(s)"]` a
    derivative that occurs in the equations; `result["c[3].u"]`, `result["c[::10].r[:, 2]"]` elements, with
    the same meaning as in equations; `result["T in degC"]` the same in another unit; `result["time"]` the
    time, `result["r.R"]` a parameter, without an axis of time. The arrays cannot be written to.
    `name in result` asks whether there is such a name. Variables are computed when they are asked for, and
    then kept.

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

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What Python asks for when there is no such attribute: a variable is asked for by []."""
            known = {} if name.startswith("_") else {**self.variables, **self.parameters}
            hint = f" It is a name of the model: write result[{name!r}]." if name in known else ""
            raise UnknownAttributeError(f"A result has no attribute {name!r}.{hint}")

    def select(self, *patterns: str) -> Result:
        """Choose variables, by names or patterns.

        Parameters
        ----------
        *patterns : str
            Names of variables or parameters, or patterns: a star stands for letters of one segment of a
            dotted name, `"arm.*.tau"`; two stars alone for any number of segments, `"**.tau"`.

        Returns
        -------
        Result
            The same run with these variables and parameters only: `select("arm.*.tau").to_pandas()`.

        Raises
        ------
        UnknownNameError
            If one of them matches nothing.

        Examples
        --------
        >>> from modia_py import simulate
        >>> from modia_py.models.examples import Ladder
        >>> result = simulate(Ladder(3), 1.0, times=3)
        >>> result.select("c.?").names
        ('c.u', 'c.v', 'c.i')
        """
        chosen: dict[str, None] = {}
        everything = (*self.variables, *self.parameters)
        for pattern in patterns:
            found = matching(pattern, everything) if is_pattern(pattern) else [pattern]
            if unknown := [name for name in found if name not in everything] or ([pattern] * (not found)):
                raise UnknownNameError(
                    f"No variable and no parameter of {self.model} is {unknown[0]!r}: `select` takes whole "
                    f"ones and patterns. {did_you_mean(unknown[0], everything)}"
                )
            chosen.update(dict.fromkeys(found))
        return Result(
            self.model,
            self.time,
            {name: self.variables[name] for name in chosen if name in self.variables},
            self.trajectory,
            parameters={name: self.parameters[name] for name in chosen if name in self.parameters},
            stats=self.stats,
            status=self.status,
            message=self.message,
            notes=self.notes,
            events=lambda: self.events,
            output_rows=self.output_rows,
        )

    def to_xarray(self, *names: str) -> Any:
        """Convert to xarray.

        Parameters
        ----------
        *names : str
            Which variables and parameters, by names or patterns such as `"arm.*.tau"`; all if nothing is
            named.

        Returns
        -------
        xarray.Dataset
            All variables and known derivatives over time, the parameters, units and docs as attributes.

        Raises
        ------
        UnknownNameError
            If the result has no such name.
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
        return files.to_xarray(self.select(*names) if names else self)

    def to_pandas(self, *names: str) -> Any:
        """Convert to pandas.

        Parameters
        ----------
        *names : str
            Which variables, derivatives or elements, by names or patterns; all variables if nothing is
            named.

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

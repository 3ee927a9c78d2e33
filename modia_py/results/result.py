"""What `simulate` returns: named trajectories, and how to look at them and keep them."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from . import files, html, plot, text
from .statistics import RunStatistics
from .trajectories import ResultVariable, Trajectories

__all__ = ["Result", "ResultVariable", "RunStatistics"]


class Result(Trajectories):
    """The result of a simulation.

    `result["s"]` is the trajectory of any variable, with time as its first axis; `result["der(s)"]` a
    derivative that occurs in the equations; `result["c[3].u"]`, `result["c[::10].r[:, 2]"]` elements, with
    the same meaning as in equations; `result["time"]` the time, `result["r.R"]` a parameter, without an
    axis of time. The arrays cannot be written to.

    `status`, `message` and `success` tell how the run ended, `notes` what else a reader should know,
    and `stats` what it cost. A run that failed keeps everything it computed before.

    >>> import numpy as np
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
    ) -> Any:
        """Draw variables over time: a panel for each argument, with several curves if it is a tuple.

        Vectors and component arrays of up to eight elements are drawn curve by curve, up to forty as thin
        lines that become darker with their number. Longer ones are a band: from least to largest, darker
        the middle half, with the median and the first and the last element as lines; single elements
        have names such as `c[0].u`. Without names, the first six variables are drawn.

        Parameters
        ----------
        panels
            Rows and columns of panels; one column by default.
        file
            Where to save the picture; its ending decides the format. Nothing is shown then.
        axes
            Axes of matplotlib to draw into, one for each panel, instead of a new figure.

        Returns
        -------
        The figure of matplotlib.
        """
        return plot.plot(self, names, panels=panels, file=file, title=title, axes=axes)

    def to_xarray(self) -> Any:
        """An `xarray.Dataset` of all variables, the derivatives that are known, and the parameters."""
        return files.to_xarray(self)

    def to_pandas(self, *names: str) -> Any:
        """A `pandas.DataFrame` over time with a column for each element; all variables without names."""
        return files.to_pandas(self, names)

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a NetCDF file, which any program for NetCDF or HDF5 can read."""
        files.save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Result:
        """A result that was saved. Variables are read from the file when they are asked for."""
        return cls(**files.load(path))

    def __repr__(self) -> str:
        return text.text(self)

    def _repr_html_(self) -> str:
        return html.html(self)

    def _ipython_key_completions_(self) -> list[str]:
        return [*self.names, *self.parameters, "time"]

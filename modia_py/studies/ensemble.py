"""What many runs have given: one labelled data set, statistics over the lanes, a picture, files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import ModelError, UnknownNameError, did_you_mean
from ..optional_packages import require
from .ensemble_store import EnsembleStore
from .fan_plot import BANDS, fan_plot
from .lane_runs import NOT_RUN, SUCCESSFUL, Output

MOST_CURVES = 4
"""Elements of a vector of which a fan is drawn each."""


class Ensemble:
    """Many runs of one model with other values: `CompiledModel.ensemble` makes it.

    `ensemble["x"]` is an array with the axes (lane, time, ...) of an output, NaN in lanes that failed.
    `ensemble.parameters["k"]` are the values of the lanes, `["init(x)"]` their start values. Statistics
    leave lanes that failed out.

    Parameters
    ----------
    model : str
        The name of the model.
    time : array
        The times of output.
    outputs : sequence of Output
        What was kept of each lane: names, shapes, units.
    read : callable
        `read(name)`: the values of an output, (lane, time, ...).
    parameters : mapping of str to array
        Values of parameters and start values, with an axis of lanes first.
    status : array of str
        How each lane ended: "SUCCESS", "TERMINATED", or what went wrong ("MAX_STEPS", "NO_START",
        "WRONG_VALUE", ...), or "NOT_RUN".
    message : array of str
        The same as a sentence.
    steps : array of int
        Steps of the integrator in each lane.

    Examples
    --------
    >>> from modia_py import translate
    >>> from modia_py.models.examples import Decay
    >>> sim = translate(Decay())
    >>> ensemble = sim.ensemble(1.0, params={"k": [1.0, 2.0, 3.0]}, times=3, outputs=["x"])
    >>> ensemble["x"][:, -1].round(3)
    array([0.368, 0.135, 0.05 ])
    >>> ensemble
    Ensemble(Decay: 3 lanes, 3 times, outputs x; all successful)
    """

    def __init__(
        self,
        model: str,
        time: np.ndarray,
        outputs: Sequence[Output],
        read: Callable[[str], np.ndarray],
        *,
        parameters: Mapping[str, np.ndarray],
        status: np.ndarray,
        message: np.ndarray,
        steps: np.ndarray,
    ):
        self.model, self.time = model, np.asarray(time)
        self.outputs = {out.name: out for out in outputs}
        self.parameters = MappingProxyType(dict(parameters))
        self.status, self.message = np.asarray(status, str), np.asarray(message, str)
        self.steps = np.asarray(steps)
        self._read = read
        self._known: dict[str, np.ndarray] = {}

    # A view of a dictionary cannot be pickled, and travels as the dictionary.

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "parameters": dict(self.parameters)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.parameters = MappingProxyType(dict(self.parameters))

    @property
    def lanes(self) -> int:
        """How many there are."""
        return len(self.status)

    @property
    def success(self) -> np.ndarray:
        """Flags of lanes that have reached their end, with equations that hold."""
        return np.isin(self.status, SUCCESSFUL)

    @property
    def failures(self) -> dict[int, str]:
        """What went wrong, by the numbers of the lanes that failed: status and message."""
        failed = np.flatnonzero(~self.success)
        return {int(k): f"{self.status[k]}: {self.message[k]}" for k in failed}

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self.parameters:
            return self.parameters[name]
        if name not in self.outputs:
            known = [*self.outputs, *self.parameters]
            raise UnknownNameError(
                f"The ensemble of {self.model} has no {name!r}. {did_you_mean(name, known)}"
            )
        if name not in self._known:
            values = np.asarray(self._read(name)).view()
            values.setflags(write=False)
            self._known[name] = values
        return self._known[name]

    def __len__(self) -> int:
        return self.lanes

    def mean(self, name: str) -> np.ndarray:
        """Average an output over the lanes.

        Parameters
        ----------
        name : str
            An output.

        Returns
        -------
        array
            With time as its first axis; NaN where no lane has a value.

        Examples
        --------
        >>> from modia_py import translate
        >>> from modia_py.models.examples import Decay
        >>> ensemble = translate(Decay()).ensemble(1.0, init={"x": [1.0, 3.0]}, times=2, outputs=["x"])
        >>> ensemble.mean("x").round(3), ensemble.std("x").round(3)
        (array([2.   , 0.736]), array([1.414, 0.52 ]))
        """
        return np.asarray(np.mean(self._successful(name), axis=0))

    def std(self, name: str) -> np.ndarray:
        """Give the standard deviation of an output over the lanes, with n - 1 in its denominator.

        Parameters
        ----------
        name : str
            An output.

        Returns
        -------
        array
            With time as its first axis; NaN for a single lane.
        """
        values = self._successful(name)
        if len(values) < 2:
            return np.full(values.shape[1:], np.nan)
        return np.asarray(np.std(values, axis=0, ddof=1))

    def quantile(self, name: str, q: Any) -> np.ndarray:
        """Give quantiles of an output over the lanes.

        Parameters
        ----------
        name : str
            An output.
        q : float or sequence of float
            Between 0 and 1.

        Returns
        -------
        array
            With an axis for `q` first, if it is a sequence, then time.
        """
        return np.asarray(np.quantile(self._successful(name), q, axis=0))

    def _successful(self, name: str) -> np.ndarray:
        values = self[name][self.success]
        if not len(values):
            raise ModelError(
                f"No lane of the ensemble of {self.model} was successful. {self._first_failure()}"
            )
        return values

    def _first_failure(self) -> str:
        return next((f"Lane {lane}: {text}" for lane, text in self.failures.items()), "")

    def plot(
        self,
        *names: str,
        bands: Sequence[tuple[float, float]] = BANDS,
        file: str | PathLike[str] | None = None,
        title: str | None = None,
    ) -> Any:
        """Draw outputs over time as fans: the median over the lanes, and bands between quantiles.

        Parameters
        ----------
        *names : str
            Outputs, one panel for each; all of them if nothing is named.
        bands : sequence of (low, high)
            Quantiles between which a band is drawn.
        file : path, optional
            Where to save the picture; its ending decides the format.
        title : str, optional
            Above all panels.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        UnknownNameError
            If there is no such output.
        MissingPackageError
            If matplotlib is not installed: `pip install modia_py[plot]`.

        Examples
        --------
        >>> from modia_py import translate
        >>> from modia_py.models.examples import Decay
        >>> ensemble = translate(Decay()).ensemble(1.0, params={"k": [1.0, 2.0, 3.0]}, times=5)
        >>> len(ensemble.plot("x").axes)
        1
        """
        panels = []
        for name in names or self.outputs:
            values = self._successful(name)
            flat = values.reshape(*values.shape[:2], -1)
            several = flat.shape[2] > 1
            curves = [
                (f"{name}, element {k}" if several else "median", flat[:, :, k])
                for k in range(min(flat.shape[2], MOST_CURVES))
            ]
            panels.append((name, self.outputs[name].unit, curves))
        return fan_plot(self.time, panels, file, bands, title)

    def to_xarray(self) -> Any:
        """Convert to xarray.

        Returns
        -------
        xarray.Dataset
            Outputs with the axes lane and time, then those of their elements; values of the lanes as
            coordinates; `lane_status`, `lane_message` and `lane_steps`.

        Raises
        ------
        MissingPackageError
            If xarray is not installed: `pip install modia_py[io]`.

        Examples
        --------
        >>> from modia_py import translate
        >>> from modia_py.models.examples import Decay
        >>> ensemble = translate(Decay()).ensemble(1.0, params={"k": [1.0, 2.0]}, times=3)
        >>> ensemble.to_xarray()["x"].dims
        ('lane', 'time')
        """
        xarray = require("xarray", "io", "to_xarray")
        data: dict[str, Any] = {}
        for name, out in self.outputs.items():
            dims = ("lane", "time", *(f"{name}_axis{k}" for k in range(len(out.shape))))
            data[name] = (dims, self[name], {"units": out.unit} if out.unit else {})
        data["lane_status"] = ("lane", self.status)
        data["lane_message"] = ("lane", self.message)
        data["lane_steps"] = ("lane", self.steps)
        coords: dict[str, Any] = {
            "lane": np.arange(self.lanes),
            "time": ("time", self.time, {"units": "s"}),
        }
        for name, column in self.parameters.items():
            coords[name] = (("lane", *(f"{name}_of_lane{k}" for k in range(column.ndim - 1))), column)
        return xarray.Dataset(data, coords=coords, attrs={"model": self.model})

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one NetCDF file, with checksums.

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
        >>> import tempfile
        >>> from modia_py import Ensemble, translate
        >>> from modia_py.models.examples import Decay
        >>> ensemble = translate(Decay()).ensemble(1.0, params={"k": [1.0, 2.0]}, times=3)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ensemble.save(f"{folder}/many.nc")
        ...     again = Ensemble.load(f"{folder}/many.nc")
        >>> bool((again["x"] == ensemble["x"]).all())
        True
        """
        from .ensemble_file import save

        save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Ensemble:
        """Read what `save` has written, or the store of an ensemble, which may be unfinished.

        Parameters
        ----------
        path : path
            A file, or the folder that was given as `store`.

        Returns
        -------
        Ensemble
            Of a store, outputs are read when they are asked for; lanes that were not run are NaN.

        Raises
        ------
        ResultFileError
            If it is missing, damaged, or no ensemble.
        MissingPackageError
            If h5netcdf is not installed: `pip install modia_py[io]`.
        """
        if Path(path).is_dir():
            store = EnsembleStore.opened(path)
            return cls.of_store(store, store.stored_columns())
        from .ensemble_file import load

        return cls(**load(path))

    @classmethod
    def of_store(cls, store: EnsembleStore, parameters: Mapping[str, np.ndarray]) -> Ensemble:
        """Look at a store.

        Parameters
        ----------
        store : EnsembleStore
            A folder with blocks of lanes.
        parameters : mapping of str to array
            Values of the lanes.

        Returns
        -------
        Ensemble
            Outputs are read when they are asked for.
        """
        own = store.description
        status, message, steps = (store.read(f"lane_{word}") for word in ("status", "message", "steps"))
        return cls(
            own.model, own.times, own.outputs, store.read,
            parameters=parameters, status=status, message=message, steps=steps,
        )  # fmt: skip

    def __repr__(self) -> str:
        failed, missing = int((~self.success).sum()), int((self.status == NOT_RUN).sum())
        ends = "all successful" if not failed else f"{failed - missing} failed"
        ends += f", {missing} not run" if missing else ""
        names = ", ".join([*self.outputs][:4]) + (", ..." if len(self.outputs) > 4 else "")
        return (
            f"Ensemble({self.model}: {self.lanes} lanes, {len(self.time)} times, outputs {names}; {ends})"
        )

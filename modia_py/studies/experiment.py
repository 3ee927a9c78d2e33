"""What was measured, as a user gives it and as a fit sees it: signals with times of their own.

Data are a mapping with a column "time" and one for each signal, a table of pandas, or a data set of xarray;
a signal may also be `(times, values)`. Times need no order, and may come twice. What is NaN was not
measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ModelError
from ..expressions.printing import der_text
from ..results.result import Result


@dataclass(frozen=True, eq=False)
class Experiment:
    """Measurements, and the circumstances under which they were made.

    Parameters
    ----------
    data : mapping, pandas.DataFrame or xarray.Dataset
        Signals by name (`"s"`, `"der(s)"`, `"c[3].u"`), and "time", or the index of the table.
    params : mapping of str to number or array
        Parameters that have other values in this experiment.
    init : mapping of str to number or array
        Start values of this experiment.
    inputs : mapping of str to function, tuple, number or array
        What drives the model, as for `simulate`.
    own : sequence of str, or mapping of str to number or array
        Parameters, and variables that stand for their start values, which are estimated for this experiment
        alone; with guesses, if it is a mapping.
    noise : mapping of str to number or array
        Standard deviations of measurements where they are known, as for `estimate`.
    start_time : float
        Where the run starts.

    Examples
    --------
    >>> from modia_py import Experiment
    >>> Experiment({"time": [0.0, 1.0], "x": [1.0, 0.4]}, params={"k": 2.0}).params
    {'k': 2.0}
    """

    data: Any
    params: Mapping[str, Any] = field(default_factory=dict)
    init: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    own: Sequence[str] | Mapping[str, Any] = ()
    noise: Mapping[str, Any] = field(default_factory=dict)
    start_time: float = 0.0


@dataclass(frozen=True, eq=False)
class Signal:
    """The measurements of one quantity: `values[k]` at `times[k]`, and where they stand in the model.

    `rows` are the places of the times among all times of the experiment; `variable` and `elements` say what
    was measured. `flags` are False where a value is missing.
    """

    name: str
    unit: str | None
    times: np.ndarray
    values: np.ndarray
    flags: np.ndarray
    rows: np.ndarray
    variable: str
    elements: np.ndarray
    noise: np.ndarray | None

    @property
    def count(self) -> int:
        return int(self.flags.sum())

    @property
    def size(self) -> float:
        """A usual size of the measurements: their spread, or where they do not change, their value."""
        found = self.values[self.flags]
        spread = float(np.std(found))
        largest = float(np.abs(found).max())
        return spread if spread > 1e-9 * largest else largest or 1.0


def make_signals(
    name: str, own: Experiment, noise: Mapping[str, Any], known: Result
) -> tuple[tuple[Signal, ...], np.ndarray]:
    """The signals of an experiment, and all times at which something was measured, checked."""
    where = f"the data of the experiment {name!r}" if name else "the data"
    given = _columns(own.data, where)
    if not given:
        raise ModelError(f"There is no signal in {where}: give {{'time': times, 'x': values}}.")
    columns = {signal: _column(signal, *pair, where) for signal, pair in given.items()}
    for signal, (times, _) in columns.items():
        early = times[times < own.start_time]
        if len(early):
            raise ModelError(
                f"{signal} was measured at time {early.min():g} in {where}, before start_time = "
                f"{own.start_time:g}."
            )
    all_times = np.unique(np.concatenate([times for times, _ in columns.values()]))
    for signal in {*own.noise} - {*columns}:
        raise ModelError(f"There is a noise of {signal!r}, which is not in {where}.")
    sigma = {**noise, **own.noise}
    signals = tuple(
        _signal(signal, times, values, all_times, sigma.get(signal), known, where)
        for signal, (times, values) in columns.items()
    )
    return signals, all_times


def _columns(data: Any, where: str) -> dict[str, tuple[Any, Any]]:
    """Times and values by name."""
    if hasattr(data, "data_vars"):
        if "time" not in data.coords:
            raise ModelError(f"{where} have no coordinate 'time'.".capitalize())
        ordered = {str(name): data[name].transpose("time", ...) for name in data.data_vars}
        return {name: (data["time"].to_numpy(), part.to_numpy()) for name, part in ordered.items()}
    if hasattr(data, "columns") and hasattr(data, "to_numpy"):
        times = data["time"].to_numpy() if "time" in data.columns else data.index.to_numpy()
        return {str(name): (times, data[name].to_numpy()) for name in data.columns if str(name) != "time"}
    if not isinstance(data, Mapping):
        raise ModelError(
            f"{where[0].upper()}{where[1:]} are signals by name, {{'time': times, 'x': values}}, a "
            f"DataFrame or a data set of xarray, not {type(data).__name__}."
        )
    found = {}
    for name, values in data.items():
        if name == "time":
            continue
        if isinstance(values, tuple) and len(values) == 2 and np.ndim(values[0]) == 1:
            found[str(name)] = values
        elif "time" in data:
            found[str(name)] = data["time"], values
        else:
            raise ModelError(
                f"There are no times for {name} in {where}: give them as 'time', or give (times, values)."
            )
    return found


def _column(name: str, times: Any, values: Any, where: str) -> tuple[np.ndarray, np.ndarray]:
    for word, given in (("times", times), ("values", values)):
        if np.asarray(given).dtype.kind in "mM":
            raise ModelError(
                f"The {word} of {name} in {where} are dates: give seconds since the start of the run."
            )
    try:
        times, values = np.asarray(times, float), np.asarray(values, float)
    except (TypeError, ValueError):
        raise ModelError(f"The times and values of {name} in {where} are not all numbers.") from None
    if times.ndim != 1 or values.ndim == 0 or len(values) != len(times):
        raise ModelError(
            f"{name} in {where} has times of shape {times.shape} and values of shape {values.shape}: there "
            f"is a value for each time."
        )
    if not np.all(np.isfinite(times)):
        raise ModelError(f"The times of {name} in {where} are not all finite.")
    if np.isinf(values).any():
        raise ModelError(f"{name} in {where} is infinite. What was not measured is NaN.")
    if not np.isfinite(values).any():
        raise ModelError(f"{name} has no value in {where}: leave it out.")
    return times, values


def _signal(
    name: str, times: np.ndarray, values: np.ndarray, all_times: np.ndarray, noise: Any, known: Result,
    where: str,
) -> Signal:  # fmt: skip
    selection = known.find(name)
    if selection.constant or name == "time":
        raise ModelError(f"{name!r} in {where} does not depend on time: it cannot be measured over time.")
    if selection.variable.is_discrete:
        raise ModelError(
            f"{name!r} in {where} is discrete: it has no derivative by parameters, and cannot be fitted."
        )
    shape = selection.elements.shape
    if values.shape != (len(times), *shape):
        raise ModelError(
            f"{name} in {where} has values of shape {values.shape}, expected {(len(times), *shape)}."
        )
    sigma = None
    if noise is not None:
        try:
            sigma = np.broadcast_to(np.asarray(noise, float), values.shape).reshape(len(times), -1)
        except (TypeError, ValueError):
            raise ModelError(
                f"The noise of {name} is a number, or an array of the shape {values.shape} of its values."
            ) from None
        if not np.all(sigma[np.isfinite(values).reshape(sigma.shape)] > 0):
            raise ModelError(f"The noise of {name} is a standard deviation: positive, not {noise!r}.")
    values = values.reshape(len(times), -1)
    return Signal(
        name, selection.unit, times, values, np.isfinite(values), np.searchsorted(all_times, times),
        der_text(selection.variable.name, selection.order), selection.elements.ravel(), sigma,
    )  # fmt: skip

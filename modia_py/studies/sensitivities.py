"""Sensitivities by name: how much each output changes with each parameter, along a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError, SimulationError, did_you_mean
from ..language.flat_names import find_elements
from ..optional_packages import require
from ..start.values import resolve_variable
from .function import make_function

MOST_BARS = 20


@dataclass(frozen=True, eq=False)
class Sensitivities:
    """Derivatives of outputs by parameters and start values, at some times.

    `found["s", "c"]` has the axes of time, of the output, and of the parameter.

    Attributes
    ----------
    times : array
        When.
    outputs : dict
        The outputs themselves, by name.
    values : dict
        What they are differentiated by: the values at which.
    slopes : dict
        The derivatives, by (output, parameter).
    """

    times: np.ndarray
    outputs: dict[str, np.ndarray]
    values: dict[str, np.ndarray]
    slopes: dict[tuple[str, str], np.ndarray]

    def __getitem__(self, names: tuple[str, str]) -> np.ndarray:
        if names not in self.slopes:
            known = [f"{output}, {name}" for output, name in self.slopes]
            raise ModelError(
                f"There is no sensitivity {names!r}. {did_you_mean(', '.join(map(str, names)), known)}"
            )
        return self.slopes[names]

    def relative(self, output: str, name: str) -> np.ndarray:
        """The change of an output, for a change of a parameter by all of its value.

        Parameters
        ----------
        output, name : str
            Which sensitivity.

        Returns
        -------
        array
            The derivative times the value of the parameter, over the largest value of the output.
        """
        largest = np.abs(self.outputs[output]).max()
        return self[output, name] * self.values[name] / (largest if largest > 0 else 1.0)

    def to_xarray(self) -> Any:
        """All of them as one data set: variables `d(output)/d(parameter)` over time.

        Returns
        -------
        xarray.Dataset
            With the outputs and the values of the parameters.
        """
        xarray = require("xarray", "io", "A data set")
        found = {}
        for (output, name), slopes in self.slopes.items():
            axes = [f"{output}_{k}" for k in range(self.outputs[output].ndim - 1)]
            axes += [f"{name}_{k}" for k in range(self.values[name].ndim)]
            found[f"d({output})/d({name})"] = (["time", *axes], slopes)
        for output, rows in self.outputs.items():
            found[output] = (["time", *(f"{output}_{k}" for k in range(rows.ndim - 1))], rows)
        for name, value in self.values.items():
            found[name] = ([f"{name}_{k}" for k in range(value.ndim)], value)
        return xarray.Dataset(found, coords={"time": self.times})

    def plot(self, output: str, time: float | None = None, file: str | None = None) -> Any:
        """Draw a tornado: the relative sensitivities of an output at a time, the largest on top.

        Parameters
        ----------
        output : str
            A scalar output, or one of which the norm over its elements is drawn.
        time : float, optional
            When; the last time if it is not given.
        file : str, optional
            Where to save the picture.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        require("matplotlib", "plot", "A plot")
        from matplotlib.figure import Figure

        row = len(self.times) - 1 if time is None else int(np.abs(self.times - time).argmin())
        bars: list[tuple[str, float]] = []
        for own, name in self.slopes:
            if own != output:
                continue
            found = self.relative(output, name)[row]
            shape = self.values[name].shape
            columns = found.reshape(-1, int(np.prod(shape, dtype=int)))
            for k, column in enumerate(columns.T):
                index = ", ".join(str(int(i)) for i in np.unravel_index(k, shape)) if shape else ""
                size = float(column[0]) if len(column) == 1 else float(np.linalg.norm(column))
                bars.append((f"{name}[{index}]" if shape else name, size))
        if not bars:
            raise ModelError(f"There are no sensitivities of '{output}'.")
        bars = sorted(bars, key=lambda bar: abs(bar[1]))[-MOST_BARS:]
        figure = Figure(figsize=(6.4, 1.2 + 0.3 * len(bars)), layout="constrained")
        axes = figure.subplots()
        colours = ["tab:blue" if size >= 0 else "tab:red" for _, size in bars]
        axes.barh([name for name, _ in bars], [size for _, size in bars], color=colours)
        axes.axvline(0.0, color="0.3", linewidth=0.8)
        axes.set_xlabel(f"relative sensitivity of {output} at time {self.times[row]:g}")
        if file is not None:
            figure.savefig(file)
        return figure


def find_sensitivities(
    sim: Any,
    of: Sequence[str],
    wrt: Sequence[str],
    times: np.ndarray,
    params: Mapping[str, Any] | None,
    init: Mapping[str, Any] | None,
    inputs: Mapping[str, Any] | None,
    options: dict[str, Any],
) -> Sensitivities:
    """See `CompiledModel.sensitivities`."""
    if isinstance(wrt, str) or not wrt:
        raise ModelError(f"wrt is a list of names of parameters and variables, not {wrt!r}.")
    known = {parameter.name: parameter for parameter in sim.flat.parameters}
    is_parameter = {name: find_elements(name, known) is not None for name in wrt}
    given, started = dict(params or {}), dict(init or {})
    of_params = [name for name in wrt if is_parameter[name]]
    of_init = [name for name in wrt if not is_parameter[name]]
    names = list(dict.fromkeys([*of_params, *given])), list(dict.fromkeys([*of_init, *started]))
    f = make_function(sim, of, times, *names, inputs or (), "forward", options)
    vector = np.asarray(sim._values.vector(given, started))
    starts = sim._values.start(vector, "init")
    theta: dict[str, np.ndarray] = {}
    for name in names[0]:
        found = sim._values.find(name)
        theta[name] = np.asarray(vector[found.places].reshape(found.shape), float)
    for name in names[1]:
        own = find_elements(name, sim._values.discretes) or resolve_variable(sim.flat, name)
        value = started.get(name)
        if value is None and not own.order and own.symbol.name in starts:
            declared = np.broadcast_to(np.asarray(starts[own.symbol.name]), own.symbol.shape)
            value = declared.ravel()[own.elements]
        if value is None or not np.all(np.isfinite(value)):
            raise ModelError(f"{name} has no start value to differentiate by: give one with init={{...}}.")
        theta[name] = np.array(np.broadcast_to(np.asarray(value), own.shape), float)
    sizes = {name: theta[name].size for name in wrt}
    total, first = sum(sizes.values()), 0
    tangents = {name: np.zeros((total, *value.shape)) for name, value in theta.items()}
    for name, size in sizes.items():
        tangents[name].reshape(total, -1)[first : first + size] = np.eye(size)
        first += size
    f.result(theta)  # or the error that says why there is none
    outputs, found = f._values(theta), f._push(theta, tangents)
    slopes, first = {}, 0
    for name, size in sizes.items():
        for output in of:
            rows = np.moveaxis(np.asarray(found[output][first : first + size]), 0, -1)
            slopes[output, name] = rows.reshape(*rows.shape[:-1], *theta[name].shape)
        first += size
    if not all(np.all(np.isfinite(slope)) for slope in slopes.values()):
        raise SimulationError(f"{sim.name}: there are no derivatives; a warning says why.")
    return Sensitivities(f.times, outputs, {name: theta[name] for name in wrt}, slopes)

"""Sensitivities by name: how much each output changes with each parameter, along a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np

from ..errors import ModelError, SimulationError, did_you_mean
from ..language.flat_names import find_elements
from ..optional_packages import require
from ..results.figures import COLOURS, WIDTH, new_figure, our_style
from ..start.values import resolve_variable
from .function import make_function

MOST_BARS = 20
FIRST_RTOL, FINER, FINEST = 1e-6, 10.0, 1e-13
"""Tolerances that are tried for sensitivities of a wanted accuracy: the first one, how many times finer
each of the next ones is, and where that ends."""


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
    errors : dict
        With `accuracy`, by how much each has changed, compared with its largest value, when the tolerance
        was made finer the last time.
    """

    times: np.ndarray
    outputs: dict[str, np.ndarray]
    values: dict[str, np.ndarray]
    slopes: dict[tuple[str, str], np.ndarray]
    errors: dict[tuple[str, str], float] = field(default_factory=dict)

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
            axes += self._axes(name)
            found[f"d({output})/d({name})"] = (["time", *axes], slopes)
        for output, rows in self.outputs.items():
            found[output] = (["time", *(f"{output}_{k}" for k in range(rows.ndim - 1))], rows)
        for name, value in self.values.items():
            found[f"start({name})" if name in self.outputs else name] = (self._axes(name), value)
        return xarray.Dataset(found, coords={"time": self.times})

    def _axes(self, name: str) -> list[str]:
        """Of what is differentiated by; a variable and its start value have axes of their own."""
        own = f"start({name})" if name in self.outputs else name
        return [f"{own}_{k}" for k in range(self.values[name].ndim)]

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
        with our_style():
            figure = new_figure((WIDTH, 1.2 + 0.3 * len(bars)), without_window=file is not None)
            axes = figure.subplots()
            colours = [COLOURS[0] if size >= 0 else COLOURS[3] for _, size in bars]
            axes.barh([name for name, _ in bars], [size for _, size in bars], height=0.6, color=colours)
            axes.grid(visible=False, axis="y")
            axes.margins(x=0.05)
            axes.axvline(0.0, color="#404040", linewidth=0.8)
            axes.set_xlabel(f"relative sensitivity of {output} at {self.times[row]:g} s")
            if file is not None:
                figure.savefig(file)
        return figure


@dataclass(frozen=True, eq=False)
class Point:
    """What is differentiated by, where, and under which names for `CompiledModel.function`."""

    params: tuple[str, ...]
    init: tuple[str, ...]
    inputs: Mapping[str, Any]
    fixed: Mapping[str, Any]
    theta: dict[str, np.ndarray]


def find_sensitivities(
    sim: Any,
    of: Sequence[str],
    wrt: Sequence[str],
    times: np.ndarray,
    params: Mapping[str, Any] | None,
    init: Mapping[str, Any] | None,
    inputs: Mapping[str, Any] | None,
    accuracy: float | None,
    options: dict[str, Any],
) -> Sensitivities:
    """See `CompiledModel.sensitivities`."""
    if isinstance(wrt, str) or not wrt:
        raise ModelError(f"wrt is a list of names of parameters, variables and inputs, not {wrt!r}.")
    point = _point(sim, wrt, params or {}, init or {}, inputs or {})
    found = _at(sim, of, wrt, times, point, options)
    if accuracy is None:
        return found
    rtol = float(options.get("rtol", FIRST_RTOL))
    while True:
        rtol = rtol / FINER
        if rtol < FINEST:
            worst = max(found.errors, key=lambda names: found.errors[names], default=("", ""))
            raise SimulationError(
                f"{sim.name}: sensitivities were not found as accurately as {accuracy:g}. With the finest "
                f"tolerance, that of {worst[0]} to {worst[1]} still changes by "
                f"{found.errors.get(worst, np.nan):.1e} of its largest value."
            )
        finer = _at(sim, of, wrt, times, point, {**options, "rtol": rtol})
        errors = {
            names: float(
                np.abs(slope - finer.slopes[names]).max(initial=0.0)
                / max(np.abs(finer.slopes[names]).max(initial=0.0), np.finfo(float).tiny)
            )
            for names, slope in found.slopes.items()
        }
        found = replace(finer, errors=errors)
        if all(error <= accuracy for error in errors.values()):
            return found


def _point(
    sim: Any, wrt: Sequence[str], params: Mapping[str, Any], init: Mapping[str, Any], inputs: Any
) -> Point:
    """Sort names, and find the values at which derivatives are taken."""
    known = {parameter.name: parameter for parameter in sim.flat.parameters}
    of_inputs = [name for name in wrt if name in inputs]
    is_parameter = {name: find_elements(name, known) is not None for name in wrt}
    of_params = [name for name in wrt if is_parameter[name]]
    of_init = [name for name in wrt if not is_parameter[name] and name not in inputs]
    of_params, of_init = (
        list(dict.fromkeys([*own, *given])) for own, given in ((of_params, params), (of_init, init))
    )
    vector = np.asarray(sim._values.vector(dict(params), dict(init)))
    starts = sim._values.start(vector, "init")
    theta: dict[str, np.ndarray] = {}
    for name in of_params:
        found = sim._values.find(name)
        theta[name] = np.asarray(vector[found.places].reshape(found.shape), float)
    for name in of_init:
        own = find_elements(name, sim._values.discretes) or resolve_variable(sim.flat, name)
        value = init.get(name)
        if value is None and not own.order and own.symbol.name in starts:
            declared = np.broadcast_to(np.asarray(starts[own.symbol.name]), own.symbol.shape)
            value = declared.ravel()[own.elements]
        if value is None or not np.all(np.isfinite(value)):
            raise ModelError(f"{name} has no start value to differentiate by: give one with init={{...}}.")
        theta[name] = np.array(np.broadcast_to(np.asarray(value), own.shape), float)
    for name in of_inputs:
        given = inputs[name]
        theta[name] = np.asarray(given[1] if isinstance(given, (tuple, list)) else given, float)
    driven = {name: inputs[name] for name in of_inputs}
    fixed = {name: value for name, value in inputs.items() if name not in driven}
    return Point(tuple(of_params), tuple(of_init), driven, fixed, theta)


def _at(
    sim: Any, of: Sequence[str], wrt: Sequence[str], times: np.ndarray, point: Point, options: Any
) -> Sensitivities:
    own = {**options, "fixed_inputs": point.fixed}
    f = make_function(sim, of, times, point.params, point.init, point.inputs, "forward", own)
    theta = point.theta
    f.result(theta)  # or the error that says why there is none
    chosen = {name: theta[name] for name in wrt}

    def outputs_of(chosen: Any) -> Any:
        return f({**theta, **chosen})

    outputs, slopes = f(theta), jax.jacfwd(outputs_of)(chosen)
    found = {(output, name): np.asarray(slopes[output][name]) for name in wrt for output in of}
    if not all(np.all(np.isfinite(slope)) for slope in found.values()):
        raise SimulationError(f"{sim.name}: there are no derivatives; a warning says why.")
    values = {name: np.asarray(outputs[name]) for name in of}
    return Sensitivities(f.times, values, {name: theta[name] for name in wrt}, found)

"""What a fit has found: values with their uncertainty, what the data do not determine, residuals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from ..errors import UnknownNameError, did_you_mean
from ..results.result import Result
from .fit_plot import fit_figure
from .identifiability import Combination
from .measured import Measured

MOST_NOTED = 6
HARDLY = 0.5
"""Combinations that are more uncertain than this are told in the report."""
CORRELATED = 0.95


@dataclass(frozen=True)
class Start:
    """One search: where it began, and how it ended.

    Attributes
    ----------
    guesses : dict
        Values at the beginning, by name.
    measure : float
        Minus twice the logarithm of the likelihood, but for a constant; infinite if the search failed.
    message : str
        How it ended.
    """

    guesses: Mapping[str, Any]
    measure: float
    message: str


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """Parameters and start values that were estimated: `estimate` makes it.

    `fit["k"]` is a value; `print(fit)` a report. Names of what was estimated for one experiment alone end
    with its name: `x (experiment 1)`.

    Attributes
    ----------
    model : str
        The name of the model.
    values, standard_errors : dict
        By name. An error is infinite if the data do not determine the parameter, NaN if it is at a bound.
    intervals : dict
        Confidence intervals by name, (low, high) on the last axis. They hold as far as the model is linear
        within them.
    names : tuple of str
        Of all elements, in the order of the matrices.
    covariance, correlation : array
        Of all elements.
    combinations : tuple of Combination
        Common changes of parameters, those least determined by the data first.
    undetermined, at_bounds : tuple of str
        Elements of which the data say nothing, alone or in a combination; and those that ended at a bound.
    noise : dict
        Standard deviations that were estimated, by signal.
    chi_squared : float
        The sum of squares of the residuals, in units of the noise.
    degrees_of_freedom : int
        Measured values minus parameters that these determine.
    confidence : float
        The probability of the intervals.
    measured : dict
        For each experiment its signals, measured and simulated; the name of a single one is "".
    results : dict
        For each experiment the `Result` of the run with the estimated values.
    starts : tuple of Start
        The searches.
    success : bool
        Whether the search has come to an end.
    message : str
        How it ended.
    notes : tuple of str
        What else a reader should know: failed runs, a poor fit.
    evaluations, failed_runs : int
        How often all experiments were run, and how often that failed.

    Examples
    --------
    >>> import numpy as np
    >>> from modia_py import estimate, translate
    >>> from modia_py.models.examples import Decay
    >>> t = np.linspace(0.0, 1.0, 11)
    >>> fit = estimate(translate(Decay()), {"time": t, "x": np.exp(-2 * t) + 0.01 * np.cos(50 * t)}, ["k"])
    >>> fit.names, fit.undetermined, fit.results[""].model
    (('k',), (), 'Decay')
    """

    model: str
    values: dict[str, Any]
    standard_errors: dict[str, Any]
    intervals: dict[str, np.ndarray]
    names: tuple[str, ...]
    covariance: np.ndarray
    correlation: np.ndarray
    combinations: tuple[Combination, ...]
    undetermined: tuple[str, ...]
    at_bounds: tuple[str, ...]
    noise: dict[str, float]
    chi_squared: float
    degrees_of_freedom: int
    confidence: float
    measured: dict[str, tuple[Measured, ...]]
    results: dict[str, Result]
    starts: tuple[Start, ...]
    success: bool
    message: str
    notes: tuple[str, ...]
    evaluations: int
    failed_runs: int

    def __getitem__(self, name: str) -> Any:
        if name not in self.values:
            raise UnknownNameError(f"{name!r} was not estimated. {did_you_mean(name, self.values)}")
        return self.values[name]

    def residuals(self, signal: str, experiment: str | None = None) -> np.ndarray:
        """Measured minus simulated values of a signal.

        Parameters
        ----------
        signal : str
            Its name in the data.
        experiment : str, optional
            Which one; the first by default.

        Returns
        -------
        array
            With the axes of time and of elements; NaN where nothing was measured.

        Raises
        ------
        UnknownNameError
            If there is no such experiment or signal.
        """
        if experiment is None:
            experiment = next(iter(self.measured))
        if experiment not in self.measured:
            raise UnknownNameError(
                f"There is no experiment {experiment!r}. {did_you_mean(experiment, self.measured)}"
            )
        own = {measured.name: measured for measured in self.measured[experiment]}
        if signal not in own:
            raise UnknownNameError(f"{signal!r} was not measured. {did_you_mean(signal, own)}")
        return own[signal].residuals

    def plot(self, file: str | PathLike[str] | None = None) -> Any:
        """Draw what was measured over what is simulated, and the residuals beside it.

        Parameters
        ----------
        file : path, optional
            Where to save the picture; its ending decides the format.

        Returns
        -------
        matplotlib.figure.Figure
            A row for each signal of each experiment. Residuals are in units of the noise; the grey band is
            where 95 % of them are expected.

        Raises
        ------
        MissingPackageError
            If matplotlib is not installed: `pip install modia_py[plot]`.
        """
        return fit_figure(self.measured, self.results, file)

    def report(self) -> str:
        """Tell the values, their uncertainty, what is not determined, and how the search went.

        Returns
        -------
        str
            What `print(fit)` shows.
        """
        return "\n".join([*self._head(), *self._table(), *self._warnings(), *self._foot()])

    def __str__(self) -> str:
        return self.report()

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:.6g}" for name, value, *_ in self._rows())
        return f"Estimate({self.model}: {values})"

    def _rows(self) -> list[tuple[str, float, float, float, float]]:
        values, errors = (
            np.concatenate([np.ravel(value) for value in own.values()])
            for own in (self.values, self.standard_errors)
        )
        ends = np.concatenate([np.reshape(own, (-1, 2)) for own in self.intervals.values()])
        return list(zip(self.names, values, errors, ends[:, 0], ends[:, 1], strict=True))

    def _head(self) -> list[str]:
        signals = [own for of_experiment in self.measured.values() for own in of_experiment]
        count = sum(int(np.isfinite(own.values).sum()) for own in signals)
        experiments = f", {len(self.measured)} experiments" if len(self.measured) > 1 else ""
        return [f"Fit of {self.model}: {len(self.names)} parameters, {count} measured values{experiments}"]

    def _table(self) -> list[str]:
        width = max(9, *(len(name) for name in self.names))
        heading = f"{100 * self.confidence:g} % confidence interval"
        lines = [f"{'':{width}}  {'value':>12}  {'std. error':>10}  {heading}"]
        for name, value, error, low, high in self._rows():
            if name in self.undetermined:
                text = f"{'':>10}  not determined by the data"
            elif name in self.at_bounds:
                text = f"{'':>10}  at its bound: no interval"
            else:
                text = f"{error:10.2g}  {low:.6g} to {high:.6g}"
            lines.append(f"{name:{width}}  {value:12.6g}  {text}")
        return lines

    def _warnings(self) -> list[str]:
        lines = [
            f"not determined: {own}" for own in self.combinations[:MOST_NOTED] if np.isinf(own.uncertainty)
        ]
        lines += [
            f"hardly determined: {own}"
            for own in self.combinations[:MOST_NOTED]
            if HARDLY < own.uncertainty < np.inf
        ]
        upper = np.argwhere(np.triu(np.nan_to_num(np.abs(self.correlation)), 1) > CORRELATED)
        for i, j in upper[:MOST_NOTED].tolist():
            lines.append(f"correlated: {self.names[i]} with {self.names[j]}: {self.correlation[i, j]:.3f}")
        return lines

    def _foot(self) -> list[str]:
        lines = [f"noise of {name}: {value:.3g} (estimated)" for name, value in self.noise.items()]
        if not self.noise and self.degrees_of_freedom > 0:
            ratio = np.sqrt(self.chi_squared / self.degrees_of_freedom)
            lines.append(f"residuals: {ratio:.3g} times the noise that was given")
        lines += [f"note: {note}" for note in self.notes]
        return [*lines, f"{self.evaluations} evaluations. {self.message}"]

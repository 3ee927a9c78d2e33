"""Residuals of experiments and their Jacobian, as functions of the unknowns of a fit.

Each experiment is a `SimulationFunction`; the Jacobian is exact, all directions in one sweep along each
run. A run that fails makes residuals NaN, at which `scipy.optimize.least_squares` refuses the step.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from ..errors import ModelError, ModelWarning, SimulationError
from ..results.result import Result
from ..solvers import Status
from .experiment import Experiment, Signal
from .function import SimulationFunction
from .unknowns import Unknowns

DIFFERENCE = 1e-5
"""Of an unknown, where a run has no derivative: differences take its place."""


@dataclass(eq=False)
class Failures:
    """Runs that failed within a search, and Jacobians by differences: how many, and why first."""

    runs: int = 0
    reason: str = ""
    without_derivative: int = 0
    evaluations: int = 0
    jacobians: int = 0


@dataclass(frozen=True, eq=False)
class FitPart:
    """An experiment as a fit sees it."""

    name: str
    experiment: Experiment
    signals: tuple[Signal, ...]
    times: np.ndarray
    function: SimulationFunction
    fixed: dict[str, Any]
    """Values that are not estimated."""

    def parts(self, outputs: Mapping[str, Any]) -> list[np.ndarray]:
        """Of each signal, the simulated values in place of the measured ones."""
        found = []
        for signal in self.signals:
            rows = np.asarray(outputs[signal.variable])
            found.append(rows.reshape(len(self.times), -1)[signal.rows][:, signal.elements])
        return found


@dataclass(frozen=True, eq=False)
class FitProblem:
    """All experiments, and what is estimated from them."""

    model: str
    unknowns: Unknowns
    parts: tuple[FitPart, ...]
    rtol: float
    """Of the runs."""
    failures: Failures = field(default_factory=Failures)

    @property
    def count(self) -> int:
        """How many values were measured."""
        return sum(signal.count for part in self.parts for signal in part.signals)

    def theta(self, part: FitPart, q: Any) -> dict[str, Any]:
        return {**part.fixed, **self.unknowns.theta(q, part.name)}

    def result(self, part: FitPart, q: np.ndarray) -> Result:
        """The run of an experiment; the error with which it has failed."""
        return part.function.result(self.theta(part, q))

    def deviations(self, q: np.ndarray) -> list[list[np.ndarray]] | None:
        """Simulated minus measured, for each signal of each experiment; None if a run fails."""
        found = []
        self.failures.evaluations += 1
        for part in self.parts:
            try:
                self.result(part, q)
            except (ModelError, SimulationError) as error:
                _check_interrupt(error)
                self.failures.runs += 1
                self.failures.reason = self.failures.reason or str(error)
                return None
            outputs = part.function(self.theta(part, q))
            simulated = part.parts(outputs)
            found.append([own - s.values for own, s in zip(simulated, part.signals, strict=True)])
        return found

    def residuals(self, q: np.ndarray, weights: list[list[np.ndarray]]) -> np.ndarray:
        """Weighted, one behind the other; NaN if a run fails."""
        found = self.deviations(q)
        if found is None:
            return np.full(self.count, np.nan)
        rows = [
            (own * weight)[signal.flags]
            for part, of_part, of_weights in zip(self.parts, found, weights, strict=True)
            for signal, own, weight in zip(part.signals, of_part, of_weights, strict=True)
        ]
        return np.concatenate(rows)

    def jacobian(self, q: np.ndarray, weights: list[list[np.ndarray]]) -> np.ndarray:
        """Of the weighted residuals by q."""
        self.failures.jacobians += 1
        rows = []
        for part, of_weights in zip(self.parts, weights, strict=True):
            slopes = self._slopes(part, q)
            for signal, weight, own in zip(part.signals, of_weights, slopes, strict=True):
                rows.append((own * weight[..., None])[signal.flags])
        found = np.concatenate(rows)
        if not np.all(np.isfinite(found)):
            self.failures.without_derivative += 1
            return self._differences(q, weights)
        return found

    def _slopes(self, part: FitPart, q: np.ndarray) -> list[np.ndarray]:
        """Of each signal, with an axis of all unknowns last."""
        own = np.concatenate([entry.places for entry in self.unknowns.of(part.name)])

        def outputs(some: Any) -> Any:
            return part.function(self.theta(part, jax.numpy.asarray(q).at[own].set(some)))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            found = jax.jacfwd(outputs)(jax.numpy.asarray(q)[own])
        slopes = []
        for signal in part.signals:
            of_all = np.asarray(found[signal.variable]).reshape(len(part.times), -1, len(own))
            wide = np.zeros((len(signal.times), len(signal.elements), len(q)))
            wide[..., own] = of_all[signal.rows][:, signal.elements]
            slopes.append(wide)
        return slopes

    def _differences(self, q: np.ndarray, weights: list[list[np.ndarray]]) -> np.ndarray:
        columns = []
        for k in range(len(q)):
            move = np.zeros(len(q))
            move[k] = DIFFERENCE * max(1.0, abs(q[k]))
            there, back = (self.residuals(q + sign * move, weights) for sign in (1, -1))
            columns.append((there - back) / (2 * move[k]))
        found = np.stack(columns, axis=1)
        if not np.all(np.isfinite(found)):
            raise SimulationError(
                f"{self.model}: the fit cannot go on, because there is no derivative at "
                f"{self.unknowns.by_label(np.asarray(self.unknowns.values(q)))}."
            )
        return found


def _check_interrupt(error: Exception) -> None:
    result = getattr(error, "result", None)
    if result is not None and result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt from error

"""From the end of a search to what a user is told: uncertainties, what data do not determine, runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import stats

from ..results.result import Result
from .estimate_result import Estimate, Start
from .fit_problem import FitProblem
from .fit_search import Search
from .identifiability import Information, information
from .measured import Measured
from .unknowns import Unknowns

AT_BOUND = 1e-4
"""Unknowns so near to a bound, in their units, are at it."""
SMALL_VALUE = 1e-2
"""Values smaller than this, in units of their scale, count as so large where changes are relative."""
SAME = 1e-3
"""Searches end in the same minimum if minus twice the logarithms of their likelihoods agree so well."""
POOR_FIT = 1e-4
"""Probability of residuals as large as they are, below which the fit is called poor."""
CURVE_POINTS = 401


def summary(
    sim: Any,
    problem: FitProblem,
    best: Search,
    made: tuple[Start, ...],
    confidence: float,
    options: Mapping[str, Any],
) -> Estimate:
    """All about a fit."""
    unknowns, q = problem.unknowns, best.found.x
    values = np.asarray(unknowns.values(q))
    jacobian = problem.jacobian(q, best.weights)
    residuals = problem.residuals(q, best.weights)
    at_bound = _at_bound(unknowns, q)
    found = information(jacobian, _sizes(unknowns, values), unknowns.labels, problem.rtol, at_bound)
    freedom = problem.count - found.rank
    slopes = unknowns.slopes(values)
    errors = np.sqrt(np.diag(found.covariance))
    wide = _quantile(confidence, freedom if best.noise else None)
    with np.errstate(invalid="ignore", over="ignore"):
        ends = np.stack([np.asarray(unknowns.values(q + sign * wide * errors)) for sign in (-1, 1)], -1)
    chi2 = float(residuals @ residuals)
    return Estimate(
        model=sim.name,
        values=unknowns.by_label(values),
        standard_errors=unknowns.by_label(errors * slopes),
        intervals={entry.label: ends[entry.places].reshape(*entry.shape, 2) for entry in unknowns.entries},
        names=unknowns.labels,
        covariance=found.covariance * np.outer(slopes, slopes),
        correlation=_correlation(found.covariance),
        combinations=found.combinations,
        undetermined=tuple(np.array(unknowns.labels)[found.undetermined].tolist()),
        at_bounds=tuple(np.array(unknowns.labels)[at_bound].tolist()),
        noise=dict(best.noise),
        chi_squared=chi2,
        degrees_of_freedom=freedom,
        confidence=confidence,
        measured=_measured(problem, best),
        results={part.name: _curves(sim, problem, part, q, options) for part in problem.parts},
        starts=made,
        success=bool(best.found.status > 0),
        message=str(best.found.message),
        notes=_notes(problem, best, made, found, chi2, freedom),
        evaluations=problem.failures.evaluations,
        failed_runs=problem.failures.runs,
    )


def _at_bound(unknowns: Unknowns, q: np.ndarray) -> np.ndarray:
    low, high = (unknowns.to_units(ends) for ends in (unknowns.low, unknowns.high))
    width = np.where(np.isfinite(high - low), high - low, 1.0 + np.abs(q))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.minimum(q - low, high - q) <= AT_BOUND * width)


def _sizes(unknowns: Unknowns, values: np.ndarray) -> np.ndarray:
    """The size of each unknown, in units of q: a change by that much doubles the value."""
    own = np.maximum(np.abs(values) / unknowns.scale, SMALL_VALUE)
    return np.where(unknowns.is_log, 1.0, own)


def _quantile(confidence: float, freedom: int | None) -> float:
    """Of the normal distribution where the noise is known, else of Student's."""
    upper = 0.5 + confidence / 2
    if freedom is None:
        return float(stats.norm.ppf(upper))
    return float(stats.t.ppf(upper, freedom)) if freedom > 0 else np.inf


def _correlation(covariance: np.ndarray) -> np.ndarray:
    size = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = covariance / np.outer(size, size)
    np.fill_diagonal(found, 1.0)
    return found


def _measured(problem: FitProblem, best: Search) -> dict[str, tuple[Measured, ...]]:
    deviations = problem.deviations(best.found.x)
    assert deviations is not None
    return {
        part.name: tuple(
            Measured(s.name, s.unit, s.times, s.values, s.values + own, 1.0 / weight)
            for s, own, weight in zip(part.signals, of_part, weights, strict=True)
        )
        for part, of_part, weights in zip(problem.parts, deviations, best.weights, strict=True)
    }


def _curves(sim: Any, problem: FitProblem, part: Any, q: np.ndarray, options: Mapping[str, Any]) -> Result:
    """The run of an experiment with the estimated values, with points enough for a picture."""
    theta = problem.theta(part, q)
    names = {entry.name: entry.is_start for entry in problem.unknowns.of(part.name)}
    own = part.experiment
    params, init = dict(own.params), dict(own.init)
    for name, is_start in names.items():
        (init if is_start else params)[name] = np.asarray(theta[name])
    start, stop = own.start_time, max(float(part.times[-1]), np.nextafter(own.start_time, np.inf))
    times = np.unique(np.concatenate([np.linspace(start, stop, CURVE_POINTS), part.times]))
    found: Result = sim.simulate(
        stop, start_time=start, params=params, init=init, inputs=own.inputs or None, times=times,
        progress=False, **options,
    )  # fmt: skip
    return found


def _notes(
    problem: FitProblem, best: Search, made: tuple[Start, ...], found: Information, chi2: float,
    freedom: int,
) -> tuple[str, ...]:  # fmt: skip
    notes, failures = [], problem.failures
    if best.found.status <= 0:
        notes.append("The search was ended by max_evaluations: this may be no minimum.")
    if failures.runs:
        notes.append(
            f"{failures.runs} of {failures.evaluations} evaluations failed, and their steps were refused. "
            f"The first: {failures.reason}"
        )
    if failures.without_derivative:
        notes.append(
            f"{failures.without_derivative} of {failures.jacobians} times a run had no derivative: "
            f"differences were taken."
        )
    if len(made) > 1:
        measures = np.array([start.measure for start in made])
        ended, least = np.isfinite(measures), measures.min()
        same = int((measures[ended] - least <= SAME * max(1.0, abs(least))).sum())
        notes.append(f"{len(made)} searches: {same} ended in this minimum, {int(ended.sum()) - same} in "
                     f"worse ones, {int((~ended).sum())} failed.")  # fmt: skip
    if not best.noise and freedom > 0 and stats.chi2.sf(chi2, freedom) < POOR_FIT:
        notes.append(
            f"The residuals are {np.sqrt(chi2 / freedom):.3g} times as large as the noise that was given: "
            f"the model does not describe the data, or the noise is larger. The intervals are too narrow."
        )
    return tuple(notes)

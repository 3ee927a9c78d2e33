"""The search of a fit: least squares by a trust region, the noise that is not known, several starts.

A noise that is not known is estimated, one standard deviation for each signal: fits and estimates of the
noise take turns until both are settled. That is maximum likelihood for normal errors, with the degrees of
freedom of the parameters taken off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult, least_squares
from scipy.stats import qmc

from ..errors import ModelError, SimulationError
from .estimate_result import Start
from .experiment import Signal
from .fit_problem import FitProblem
from .unknowns import Unknowns

SETTLED, MOST_TURNS = 0.01, 10
"""Change of the noise at which turns end, and how many there are at most."""
TOLERANCE = 1e-8
"""Of the search, in the sum of squares, the unknowns and the gradient."""


@dataclass(frozen=True, eq=False)
class Search:
    """Where a search ended: scipy's result, weights of all values, and the noise of each signal by name."""

    found: OptimizeResult
    weights: list[list[np.ndarray]]
    noise: dict[str, float]


def search_all(
    problem: FitProblem, starts: int, rng: np.random.Generator, most: int
) -> tuple[Search, tuple[Start, ...]]:
    """The best of several searches, and how each ended."""
    made, best = [], None
    for number, q in enumerate(_start_points(problem.unknowns, starts, rng)):
        values = np.asarray(problem.unknowns.values(q))
        try:
            search = _search(problem, q, most)
        except SimulationError as error:
            if starts == 1:
                raise SimulationError(
                    f"{problem.model} cannot be fitted from these guesses: {error} Give other guesses or "
                    f"bounds, or try several starts=.",
                    error.result,
                ) from error
            made.append(Start(problem.unknowns.by_label(values), np.inf, str(error)))
            continue
        likelihood = _measure(problem, search)
        made.append(Start(problem.unknowns.by_label(values), likelihood, str(search.found.message)))
        if best is None or likelihood < made[best[0]].measure:
            best = number, search
    if best is None:
        raise SimulationError(f"{problem.model}: none of {starts} searches has ended. {made[0].message}")
    return best[1], tuple(made)


def _start_points(unknowns: Unknowns, starts: int, rng: np.random.Generator) -> list[np.ndarray]:
    """The guess, and points spread within the bounds."""
    low, high = (unknowns.to_units(ends) for ends in (unknowns.low, unknowns.high))
    points = [unknowns.to_units(unknowns.guess)]
    if starts > 1:
        for k in np.flatnonzero(~np.isfinite(high - low)):
            raise ModelError(
                f"Several starts are spread within bounds: give bounds={{...}} of {unknowns.labels[k]}, "
                f"finite ones (and positive, if it is logarithmic)."
            )
        spread = qmc.LatinHypercube(unknowns.size, rng=rng).random(starts - 1)
        points += list(low + (high - low) * spread)
    return points


def _search(problem: FitProblem, q: np.ndarray, most: int) -> Search:
    """Fits and estimates of the noise in turns."""
    signals = [signal for part in problem.parts for signal in part.signals]
    unknown = {signal.name for signal in signals if signal.noise is None}
    sigma = {name: max(s.size for s in signals if s.name == name) for name in unknown}
    for part in problem.parts:
        problem.result(part, q)  # or the error that says why the guesses are none
    turns = 1 if len(unknown) == 1 and all(s.noise is None for s in signals) else MOST_TURNS
    for _ in range(turns if unknown else 1):
        weights = _weights(problem, sigma)
        found = _least_squares(problem, q, weights, most)
        q, before = found.x, sigma
        if unknown:
            sigma = _noise(problem, found.x, before)
        if all(abs(sigma[name] - before[name]) <= SETTLED * sigma[name] for name in unknown):
            break
    return Search(found, _weights(problem, sigma), sigma)


def _least_squares(
    problem: FitProblem, q: np.ndarray, weights: list[list[np.ndarray]], most: int
) -> OptimizeResult:
    unknowns = problem.unknowns
    return least_squares(
        lambda q: problem.residuals(q, weights),
        q,
        lambda q: problem.jacobian(q, weights),
        bounds=(unknowns.to_units(unknowns.low), unknowns.to_units(unknowns.high)),
        method="trf",
        x_scale="jac",
        ftol=TOLERANCE,
        xtol=TOLERANCE,
        gtol=TOLERANCE,
        max_nfev=most,
    )


def _weights(problem: FitProblem, sigma: Mapping[str, float]) -> list[list[np.ndarray]]:
    """1 / noise of each value."""

    def of(signal: Signal) -> np.ndarray:
        if signal.noise is not None:
            return np.asarray(1.0 / signal.noise)
        return np.full(signal.values.shape, 1.0 / sigma[signal.name])

    return [[of(signal) for signal in part.signals] for part in problem.parts]


def _noise(problem: FitProblem, q: np.ndarray, before: Mapping[str, float]) -> dict[str, float]:
    """The standard deviation of the residuals of each signal; not less than runs are wrong."""
    deviations = problem.deviations(q)
    assert deviations is not None
    squares, counts, sizes = (dict.fromkeys(before, 0.0) for _ in range(3))
    for part, of_part in zip(problem.parts, deviations, strict=True):
        for signal, own in zip(part.signals, of_part, strict=True):
            if signal.noise is None:
                squares[signal.name] += float(np.sum(own[signal.flags] ** 2))
                counts[signal.name] += signal.count
                largest = float(np.abs(signal.values[signal.flags]).max())
                sizes[signal.name] = max(sizes[signal.name], largest, signal.size)
    left = 1.0 - min(problem.unknowns.size, problem.count - 1) / problem.count
    floors = {name: problem.rtol * sizes[name] for name in before}
    return {
        name: max(float(np.sqrt(squares[name] / (counts[name] * left))), floors[name]) for name in before
    }


def _measure(problem: FitProblem, search: Search) -> float:
    """What searches are compared by: minus twice the logarithm of the likelihood, but for a constant."""
    residuals = problem.residuals(search.found.x, search.weights)
    logs = sum(
        float(np.sum(np.log(weight[signal.flags])))
        for part, of_part in zip(problem.parts, search.weights, strict=True)
        for signal, weight in zip(part.signals, of_part, strict=True)
    )
    return float(residuals @ residuals) - 2 * logs

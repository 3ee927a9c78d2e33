"""Parameters and start values from measurements, by weighted least squares with exact Jacobians.

    minimize  sum ((simulated - measured) / noise)^2      within bounds

by `scipy.optimize.least_squares` (trust region reflective). What is given is checked here; the search is in
`fit_search`, what its end says about the parameters in `fit_summary`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from ..interruptions import Interruptible, check_process
from ..simulation.request import RunRequest
from .estimate_result import Estimate
from .experiment import Experiment, make_signals
from .fit_problem import FitPart, FitProblem
from .fit_search import search_all
from .fit_summary import summary
from .function import make_function
from .lane_runs import names_and_shapes
from .unknowns import Unknowns, make_unknowns

MAX_STEPS = 100_000
"""Of a run within the search, if nothing else is asked for: values on the way may be absurd."""


def estimate(
    sim: Any,
    data: Any,
    parameters: Sequence[str] | Mapping[str, Any],
    *,
    params: Mapping[str, Any] | None = None,
    init: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    noise: Mapping[str, Any] | None = None,
    bounds: Mapping[str, Any] | None = None,
    scales: Mapping[str, Any] | None = None,
    logarithmic: Sequence[str] = (),
    starts: int = 1,
    seed: Any = 0,
    confidence: float = 0.95,
    max_evaluations: int = 200,
    rtol: float = 1e-8,
    **options: Any,
) -> Estimate:
    """Estimate parameters and start values from measurements.

    Parameters
    ----------
    sim : CompiledModel
        A translated model.
    data : mapping, pandas.DataFrame, xarray.Dataset, Experiment, or several of them
        Signals by name, with their "time": see `Experiment`. Several experiments are a list, or a mapping
        of names to `Experiment`. Values that are NaN are missing.
    parameters : sequence of str, or mapping of str to number or array
        What is estimated: parameters, and variables that stand for their start values; with guesses, if it
        is a mapping. The declared values are the guesses else.
    params, init, inputs : mapping, optional
        Values that hold in all experiments, as for `simulate`; an experiment may have others.
    noise : mapping of str to number or array, optional
        Standard deviations of the measurements, by signal, where they are known: a number, or one for each
        value. That of other signals is estimated.
    bounds : mapping of str to tuple, optional
        (low, high), between which a parameter is looked for.
    scales : mapping of str to number or array, optional
        The usual size of parameters; that of the guess by default.
    logarithmic : sequence of str
        Positive parameters of which the logarithm is looked for: those of unknown order of magnitude.
    starts : int
        How many searches are made: the first from the guesses, others from points within the bounds.
    seed : int or numpy.random.Generator
        Where random numbers come from.
    confidence : float
        The probability of the confidence intervals.
    max_evaluations : int
        Of a search: how often all experiments are run at most.
    rtol : float
        Relative tolerance of the runs.
    **options
        Of `simulate`: atol, linear_solver, max_steps (100 000 by default).

    Returns
    -------
    Estimate
        Values, confidence intervals, what the data do not determine, residuals, a report, pictures.

    Raises
    ------
    ModelError
        If a name, a shape, the data or an option is wrong.
    SimulationError
        If the model cannot be run with the guesses, or no search comes to an end.
    SimulationInterrupted
        If the user interrupts (Ctrl-C).

    Examples
    --------
    >>> import numpy as np
    >>> from modia_py import estimate, translate
    >>> from modia_py.models.examples import Decay
    >>> t = np.linspace(0.0, 2.0, 21)
    >>> measured = 3.0 * np.exp(-1.5 * t) + 0.01 * np.sin(40 * t)
    >>> fit = estimate(translate(Decay()), {"time": t, "x": measured}, ["k", "x"])
    >>> round(float(fit["k"]), 1), round(float(fit["x"]), 1)
    (1.5, 3.0)
    >>> low, high = fit.intervals["k"]
    >>> bool(low < 1.5 < high)
    True
    """
    check_process()
    _check_numbers(confidence, starts, max_evaluations)
    experiments = _experiments(data, params, init, inputs)
    options = {"max_steps": MAX_STEPS, **options, "rtol": rtol}
    own = {name: e.own for name, e in experiments.items() if e.own}
    unknowns = make_unknowns(sim, parameters, own, bounds or {}, scales or {}, logarithmic, init or {})
    parts = tuple(
        _part(sim, name, experiment, unknowns, noise or {}, options)
        for name, experiment in experiments.items()
    )
    for name in {*(noise or {})} - {signal.name for part in parts for signal in part.signals}:
        raise ModelError(f"There is a noise of {name!r}, which is not in the data.")
    problem = FitProblem(sim.name, unknowns, parts, rtol)
    _check_count(problem)
    with Interruptible(f"The fit of {sim.name}"):
        best, made = search_all(problem, starts, np.random.default_rng(seed), max_evaluations)
        return summary(sim, problem, best, made, confidence, options)


# What is given --------------------------------------------------------------------------------------------


def _check_numbers(confidence: float, starts: int, max_evaluations: int) -> None:
    if not 0.0 < confidence < 1.0:
        raise ModelError(f"confidence = {confidence!r} is no probability between 0 and 1.")
    for word, value in (("starts", starts), ("max_evaluations", max_evaluations)):
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
            raise ModelError(f"{word} must be a positive integer, not {value!r}.")


def _experiments(data: Any, params: Any, init: Any, inputs: Any) -> dict[str, Experiment]:
    """All of them by name, each with the values that hold for all."""
    if isinstance(data, Mapping) and data and all(isinstance(own, Experiment) for own in data.values()):
        named = {str(name): own for name, own in data.items()}
    elif isinstance(data, (list, tuple)):
        named = {f"experiment {k}": _experiment(own) for k, own in enumerate(data)}
    else:
        named = {"": _experiment(data)}
    if not named:
        raise ModelError("There are no data: the list of experiments is empty.")

    def joined(common: Any, own: Any) -> dict[str, Any]:
        return {**(common or {}), **own}

    return {
        name: Experiment(
            e.data, joined(params, e.params), joined(init, e.init), joined(inputs, e.inputs),
            e.own, e.noise, e.start_time,
        )
        for name, e in named.items()
    }  # fmt: skip


def _experiment(given: Any) -> Experiment:
    return given if isinstance(given, Experiment) else Experiment(given)


def _part(
    sim: Any, name: str, own: Experiment, unknowns: Unknowns, noise: Mapping[str, Any], options: dict
) -> FitPart:
    last = 1.0 + own.start_time
    asked = RunRequest(last, own.start_time, inputs=own.inputs or None, **options)
    signals, times = make_signals(name, own, noise, names_and_shapes(sim, asked))
    free = unknowns.of(name)
    found: dict[str, list[str]] = {"params": [], "init": []}
    for entry in free:
        found["init" if entry.is_start else "params"].append(entry.name)
    fixed = {}
    for word, given in (("params", own.params), ("init", own.init)):
        for key, value in given.items():
            if key not in found[word]:
                found[word].append(key)
                fixed[key] = value
    variables = list(dict.fromkeys(signal.variable for signal in signals))
    function = make_function(
        sim, variables, times, found["params"], found["init"], own.inputs, "forward",
        {**options, "start_time": own.start_time},
    )  # fmt: skip
    return FitPart(name, own, signals, times, function, fixed)


def _check_count(problem: FitProblem) -> None:
    unknown = any(signal.noise is None for part in problem.parts for signal in part.signals)
    if unknown and problem.count <= problem.unknowns.size:
        raise ModelError(
            f"{problem.count} measured values cannot tell {problem.unknowns.size} unknown(s) and a noise: "
            f"estimate fewer, or give the noise={{...}}."
        )

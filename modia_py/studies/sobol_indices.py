"""Which parameters the spread of a quantity comes from: Sobol indices of first and total order.

I. M. Sobol', Global sensitivity indices for nonlinear mathematical models (2001), with the estimators of
A. Saltelli and others (2010), as `scipy.stats.sobol_indices` has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from ..errors import ModelError, SimulationError
from .ensemble import Ensemble


@dataclass(frozen=True, eq=False)
class SobolIndices:
    """Shares of the variance of a scalar, by parameter.

    Attributes
    ----------
    parameters : tuple of str
        Names, in the order of the indices.
    first_order : array
        What each parameter contributes alone.
    total_order : array
        What it contributes with all its interactions.
    runs : int
        How many simulations were made.

    Examples
    --------
    >>> from modia_py import SobolIndices
    >>> print(SobolIndices(("k",), [0.9], [1.0], 96))
    parameter   first  total
    k           0.900  1.000
    """

    parameters: tuple[str, ...]
    first_order: Any
    total_order: Any
    runs: int

    def __str__(self) -> str:
        width = max(10, *(len(name) for name in self.parameters))
        rows = zip(self.parameters, self.first_order, self.total_order, strict=True)
        lines = [f"{name:{width}}  {first:5.3f}  {total:5.3f}" for name, first, total in rows]
        return "\n".join([f"{'parameter':{width}}  first  total", *lines])


def sobol_indices(
    sim: Any,
    stop_time: float,
    parameters: Mapping[str, Any],
    of: str | Callable[[Ensemble], Any],
    *,
    n: int = 256,
    seed: Any = 0,
    **options: Any,
) -> SobolIndices:
    """Find out which parameters the spread of a scalar comes from.

    Parameters
    ----------
    sim : CompiledModel
        A translated model.
    stop_time : float
        Where all runs end.
    parameters : mapping of str to tuple or distribution
        For each scalar parameter `(low, high)`, between which it is uniform, or a distribution of
        `scipy.stats`; independent of each other.
    of : str or callable
        The scalar: an output, at its last time; or a function of an `Ensemble` that gives a number for each
        lane.
    n : int
        A power of two; there are n * (number of parameters + 2) runs.
    seed : int or numpy.random.Generator
        Where random numbers come from.
    **options
        Of `CompiledModel.ensemble`: outputs, times, init, inputs, rtol, executor, ...

    Returns
    -------
    SobolIndices
        First and total order.

    Raises
    ------
    ModelError
        If a name, a range or an option is wrong, or the function gives something else.
    SimulationError
        If a lane fails: its shares are not known then.

    Examples
    --------
    >>> from modia_py import sobol_indices, translate
    >>> from modia_py.models.examples import SlidingMass
    >>> ranges = {"c": (900.0, 1100.0), "d": (4.99, 5.01)}
    >>> found = sobol_indices(translate(SlidingMass()), 0.1, ranges, "s", n=16, times=2)
    >>> bool(found.total_order[0] > found.total_order[1])
    True
    """
    if len(parameters) < 2:
        raise ModelError("Sobol indices share a variance between two parameters at least.")
    if n < 2 or n & (n - 1):
        raise ModelError(f"n = {n} is no power of two.")
    if isinstance(of, str):
        options.setdefault("outputs", [of])
    runs = 0

    def scalar(x: np.ndarray) -> np.ndarray:
        nonlocal runs
        ensemble = sim.ensemble(stop_time, dict(zip(parameters, x, strict=True)), **options)
        runs += ensemble.lanes
        if ensemble.failures:
            lane, text = next(iter(ensemble.failures.items()))
            raise SimulationError(
                f"{len(ensemble.failures)} of {ensemble.lanes} lanes have failed, and shares of the "
                f"variance are not known without them. Lane {lane}: {text}"
            )
        values = np.array(ensemble[of][:, -1] if isinstance(of, str) else of(ensemble), float)
        if values.shape != (ensemble.lanes,):
            raise ModelError(
                f"`of` gives an array of shape {values.shape}: a number for each of the {ensemble.lanes} "
                f"lanes is wanted."
            )
        return values

    found = stats.sobol_indices(
        func=scalar, n=n, dists=[_distribution(*each) for each in parameters.items()],
        rng=np.random.default_rng(seed),
    )  # fmt: skip
    return SobolIndices(
        tuple(parameters), np.asarray(found.first_order), np.asarray(found.total_order), runs
    )


def _distribution(name: str, given: Any) -> Any:
    if hasattr(given, "ppf"):
        return given
    try:
        low, high = (float(end) for end in given)
    except (TypeError, ValueError):
        raise ModelError(
            f"The range of {name} is (low, high) or a distribution of scipy.stats, not {given!r}."
        ) from None
    return stats.uniform(low, high - low)

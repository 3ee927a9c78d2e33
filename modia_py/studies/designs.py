"""Values of parameters for many runs: grids, Latin hypercubes, Sobol sequences, samplers, tables.

A design is a dictionary of columns, `{"r.R": values}`, one value for each lane: what
`CompiledModel.ensemble` takes as `params` or `init`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.stats import qmc

from ..errors import ModelError

Columns = dict[str, np.ndarray]


def grid_design(values: Mapping[str, Any]) -> Columns:
    """Combine all values of some parameters with each other.

    Parameters
    ----------
    values : mapping of str to sequence
        For each parameter the values it takes.

    Returns
    -------
    dict of str to array
        A column for each parameter; the last one changes fastest.

    Raises
    ------
    ModelError
        If nothing is named, or a parameter has no values.

    Examples
    --------
    >>> from modia_py import grid_design
    >>> grid_design({"k": [1.0, 2.0], "m": [5.0, 6.0]})["m"]
    array([5., 6., 5., 6.])
    """
    lists = {name: [np.asarray(value, float) for value in given] for name, given in _some(values).items()}
    for name, given in lists.items():
        if not given:
            raise ModelError(f"The grid has no values for {name}.")
    rows = list(itertools.product(*lists.values()))
    return {name: np.stack([row[k] for row in rows]) for k, name in enumerate(lists)}


def latin_hypercube_design(lanes: int, ranges: Mapping[str, Any], *, seed: Any = 0) -> Columns:
    """Sample ranges or distributions so that each parameter is spread evenly.

    Parameters
    ----------
    lanes : int
        How many.
    ranges : mapping of str to tuple or distribution
        For each parameter `(low, high)`, between which it is uniform, or a distribution of `scipy.stats`
        (anything with `ppf`).
    seed : int or numpy.random.Generator
        Where random numbers come from; the same one gives the same design.

    Returns
    -------
    dict of str to array
        A column for each parameter.

    Raises
    ------
    ModelError
        If there are no lanes, or a range is none.

    Examples
    --------
    >>> from modia_py import latin_hypercube_design
    >>> columns = latin_hypercube_design(4, {"k": (0.0, 4.0)})
    >>> sorted(int(value) for value in columns["k"])
    [0, 1, 2, 3]
    """
    sampler = qmc.LatinHypercube(len(_some(ranges)), rng=np.random.default_rng(seed))
    return _spread(sampler.random(_count(lanes)), ranges)


def sobol_design(lanes: int, ranges: Mapping[str, Any], *, seed: Any = 0) -> Columns:
    """Sample ranges or distributions by a scrambled Sobol sequence.

    Parameters
    ----------
    lanes : int
        How many: a power of two, for which the sequence is balanced.
    ranges : mapping of str to tuple or distribution
        As for `latin_hypercube_design`.
    seed : int or numpy.random.Generator
        Where random numbers come from; the same one gives the same design.

    Returns
    -------
    dict of str to array
        A column for each parameter.

    Raises
    ------
    ModelError
        If the number of lanes is no power of two, or a range is none.

    Examples
    --------
    >>> from modia_py import sobol_design
    >>> sobol_design(8, {"k": (1.0, 2.0), "m": (0.0, 1.0)})["k"].shape
    (8,)
    """
    exponent = _count(lanes).bit_length() - 1
    if lanes != 2**exponent:
        raise ModelError(
            f"A Sobol sequence is balanced for a power of two: {2**exponent} or {2 ** (exponent + 1)} "
            f"lanes, not {lanes}."
        )
    sampler = qmc.Sobol(len(_some(ranges)), rng=np.random.default_rng(seed))
    return _spread(sampler.random_base2(exponent), ranges)


def sampled_design(
    lanes: int, sampler: Callable[[np.random.Generator], Mapping[str, Any]], *, seed: Any = 0
) -> Columns:
    """Call a function of your own for the values of each lane.

    Parameters
    ----------
    lanes : int
        How many.
    sampler : callable
        `sampler(rng)` gives the values of one lane by name; `rng` is a generator of random numbers, one for
        each lane, so that lane 7 is the same however many there are.
    seed : int
        Where random numbers come from; the same one gives the same design.

    Returns
    -------
    dict of str to array
        A column for each parameter.

    Raises
    ------
    ModelError
        If there are no lanes, or lanes name different parameters.

    Examples
    --------
    >>> from modia_py import sampled_design
    >>> columns = sampled_design(3, lambda rng: {"k": rng.normal(2.0, 0.1)})
    >>> bool((abs(columns["k"] - 2.0) < 1.0).all())
    True
    """
    seeds = np.random.SeedSequence(seed).spawn(_count(lanes))
    rows = [dict(sampler(np.random.default_rng(own))) for own in seeds]
    for lane, row in enumerate(rows):
        if row.keys() != rows[0].keys():
            raise ModelError(
                f"The sampler gives {', '.join(row)} in lane {lane}, and {', '.join(rows[0])} in lane 0."
            )
    return {name: np.stack([np.asarray(row[name], float) for row in rows]) for name in _some(rows[0])}


def _spread(unit: np.ndarray, ranges: Mapping[str, Any]) -> Columns:
    """Numbers between 0 and 1 as values of the parameters."""
    found = {}
    for k, (name, given) in enumerate(ranges.items()):
        if hasattr(given, "ppf"):
            found[name] = np.asarray(given.ppf(unit[:, k]), float)
            continue
        try:
            low, high = (float(end) for end in given)
        except (TypeError, ValueError):
            raise ModelError(
                f"The range of {name} is (low, high) or a distribution of scipy.stats, not {given!r}."
            ) from None
        if not (np.isfinite([low, high]).all() and low <= high):
            raise ModelError(f"The range of {name} goes from {low:g} to {high:g}.")
        found[name] = low + (high - low) * unit[:, k]
    return found


def _some(named: Mapping[str, Any]) -> Mapping[str, Any]:
    if not named:
        raise ModelError("A design needs a parameter at least: {'r.R': ...}.")
    return named


def _count(lanes: int) -> int:
    if not isinstance(lanes, (int, np.integer)) or isinstance(lanes, bool) or lanes < 1:
        raise ModelError(f"A design has a positive number of lanes, not {lanes!r}.")
    return int(lanes)

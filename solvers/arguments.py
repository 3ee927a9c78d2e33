"""Arguments of a run, checked: what is wrong is said before anything is compiled."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .method.coefficients import MAX_ORDER
from .problem import Problem

SMALLEST_RTOL = 1e-14
"""Rounding makes less impossible to reach."""

FEW = 1000
"""Elements up to which a parameter stays on the host until it is used: the way to JAX takes longer than to
carry it along with a call."""


@dataclass(frozen=True, eq=False)
class RunArguments:
    """What `solve` was asked for."""

    t0: float
    t1: float
    x0: np.ndarray
    xdot0: np.ndarray | None
    p: Any
    rtol: float
    atol: np.ndarray
    """One number, or one for each element of x."""
    times: np.ndarray | None
    max_steps: int
    initial_step: float | None
    max_step: float
    max_order: int


def check_arguments(
    problem: Problem,
    t0: float,
    t1: float,
    x0: Any,
    xdot0: Any,
    p: Any,
    rtol: float,
    atol: Any,
    times: Any,
    max_steps: int,
    initial_step: float | None,
    max_step: float,
    max_order: int,
) -> RunArguments:
    """The arguments, or ValueError with a sentence about what is wrong."""
    if jax.dtypes.canonicalize_dtype(np.float64) != np.float64:
        raise ValueError(
            "Numbers of 64 bits are switched off. Integration needs them: "
            'jax.config.update("jax_enable_x64", True).'
        )
    t0, t1 = float(t0), float(t1)
    if not (isfinite(t0) and isfinite(t1)):
        raise ValueError(f"The interval from {t0} to {t1} is not finite.")
    if t1 <= t0:
        raise ValueError(f"t1 = {t1} is not after t0 = {t0}; integration goes forward only.")
    x, xdot = checked_vector("x0", x0), None if xdot0 is None else checked_vector("xdot0", xdot0)
    p = _checked_parameters(p)
    problem.check_shapes(x, x if xdot is None else xdot, p)
    if not (isfinite(rtol) and rtol >= SMALLEST_RTOL):
        raise ValueError(f"rtol = {rtol} is not possible; it must be at least {SMALLEST_RTOL}.")
    tolerance = np.asarray(atol, float)
    if tolerance.shape not in ((), (problem.size,)):
        raise ValueError(
            f"atol has shape {tolerance.shape}; it must be a number or have shape ({problem.size},)."
        )
    if not (tolerance > 0).all():
        raise ValueError(
            "atol must be positive: a variable that passes through zero has no relative error."
        )
    if not isfinite(max_steps):
        raise ValueError(f"max_steps = {max_steps} is not possible; give a large number instead.")
    if max_steps < 1:
        raise ValueError(f"max_steps = {max_steps} allows no step; it must be at least 1.")
    if not max_step > 0:
        raise ValueError(f"max_step = {max_step} must be positive.")
    if initial_step is not None and not (isfinite(initial_step) and initial_step > 0):
        raise ValueError(f"initial_step = {initial_step} must be positive.")
    if not 1 <= max_order <= MAX_ORDER:
        raise ValueError(f"max_order = {max_order} is not between 1 and {MAX_ORDER}.")
    return RunArguments(
        t0,
        t1,
        x,
        xdot,
        p,
        float(rtol),
        tolerance,
        _checked_times(times, t0, t1),
        min(int(max_steps), 2**31 - 2),
        None if initial_step is None else min(float(initial_step), float(max_step)),
        float(max_step),
        int(max_order),
    )


def checked_vector(name: str, values: Any) -> np.ndarray:
    """The values as a vector of finite numbers, or ValueError."""
    vector = np.atleast_1d(np.asarray(values, float))
    finite = np.isfinite(vector)
    if not finite.all():
        bad = np.flatnonzero(~finite)
        raise ValueError(f"{name} is not finite at index {bad[:10].tolist()}.")
    return vector


def _checked_parameters(p: Any) -> Any:
    leaves, structure = jax.tree.flatten(p)
    if not all(np.isfinite(np.asarray(leaf, float)).all() for leaf in leaves):
        raise ValueError(_not_finite(p))
    arrays = [jnp.asarray(leaf) if np.size(leaf) > FEW else np.asarray(leaf) for leaf in leaves]
    return jax.tree.unflatten(structure, arrays)


def _not_finite(p: Any) -> str:
    path, leaf = next(
        (path, leaf)
        for path, leaf in jax.tree_util.tree_leaves_with_path(p)
        if not np.isfinite(np.asarray(leaf, float)).all()
    )
    return f"The parameter p{jax.tree_util.keystr(path)} is not finite: {leaf}."


def _checked_times(times: Any, t0: float, t1: float) -> np.ndarray | None:
    if times is None:
        return None
    wanted = np.atleast_1d(np.asarray(times, float))
    if wanted.ndim != 1 or not (wanted[1:] >= wanted[:-1]).all():
        raise ValueError("times must be one-dimensional and increasing.")
    if len(wanted) and not (wanted[0] >= t0 and wanted[-1] <= t1):
        raise ValueError(
            f"times go from {wanted[0]} to {wanted[-1]}, outside of the interval from {t0} to {t1}."
        )
    return wanted

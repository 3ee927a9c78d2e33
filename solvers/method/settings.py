"""What a run is asked for: tolerances and limits, as arrays that compiled functions take as arguments."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..problem import Problem
from .controller import LARGE, SMALLEST_RATE, SMALLEST_RATE_IF_LARGE, StepLimits
from .formula import Formula
from .numbers import INTEGERS, LIMIT_AT, LIMITS


class Settings(NamedTuple):
    """Numbers of one run; changing them compiles nothing anew."""

    limits: Any
    """A vector: see `numbers.LIMITS`. rtol is that of a step, `strictness` times that of the result."""
    atol: Any
    """One for each element of x, of a step; infinite where an element is not tested."""
    tightness: Any
    """Part of the strictness that an element is tested with; empty if it is one for all of them."""
    slope_atol: Any
    """One for each unknown that is the derivative of an element of x; that of the result."""

    def limit(self, name: str) -> jax.Array:
        return self.limits[getattr(LIMIT_AT, name)]

    @property
    def step_limits(self) -> StepLimits:
        values = (self.limit(name) for name in StepLimits._fields)
        return StepLimits(
            *(
                value.astype(jnp.int32) if name in INTEGERS else value
                for name, value in zip(StepLimits._fields, values, strict=True)
            )
        )

    def until(self, t_end: jax.Array) -> Settings:
        """The same with another end, inside of a compiled function."""
        return self._replace(limits=jnp.asarray(self.limits).at[LIMIT_AT.t_end].set(t_end))


def make_settings(
    problem: Problem,
    formula: Formula,
    keeps_pivots: bool,
    *,
    t_end: float,
    rtol: float,
    atol: Any,
    max_step: float = np.inf,
    max_steps: int,
    max_order: int,
) -> Settings:
    """The settings of a run from the tolerances of its result, on the host."""
    strictness = formula.strictness * max(1.0, 1e-6 / rtol) ** formula.strictness_exponent
    algebraic = problem.flags("algebraic") if problem.algebraic is not None else np.zeros(0, bool)
    numbers = {
        "t_end": t_end,
        "max_step": max_step,
        "max_steps": max_steps,
        "max_order": max_order,
        "rtol": rtol / strictness,
        "strictness": strictness,
        "smallest_rate": smallest_rate(problem.size),
        "is_large": problem.size >= LARGE,
        "keeps_pivots": keeps_pivots,
        "first_step_factor": (rtol / strictness) ** -formula.first_step_exponent,
        **{f"leading_{k}": value for k, value in enumerate(formula.leading)},
        **{f"error_constant_{k}": value for k, value in enumerate(formula.error_constants)},
    }
    tolerances = np.asarray(atol) / strictness
    return Settings(
        limits=np.array([numbers[name] for name in LIMITS], float),
        atol=np.where(problem.flags("integrals"), _of_integrals(problem, tolerances), tolerances),
        tightness=np.where(algebraic, 1.0 / strictness, 1.0),
        slope_atol=np.broadcast_to(np.asarray(atol, float), problem.size)[problem.slope_places],
    )


def _of_integrals(problem: Problem, tolerances: np.ndarray) -> Any:
    """Their error is not tested, but where events are watched that may depend on what they are integrals
    of."""
    if problem.events is None:
        return np.inf
    slopes = np.ones(problem.size, bool) if problem.events.slopes is None else problem.events.slopes
    return np.where(slopes & ~problem.flags("multipliers"), tolerances, np.inf)


def smallest_rate(size: int) -> float:
    """Remembered rates of convergence are not believed to be better than this."""
    return SMALLEST_RATE if size < LARGE else SMALLEST_RATE_IF_LARGE

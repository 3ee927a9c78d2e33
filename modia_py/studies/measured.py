"""What was measured beside what was simulated, for one signal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Measured:
    """A signal of an experiment: measured, simulated with the estimated parameters, and its noise.

    Attributes
    ----------
    name : str
        The variable.
    unit : str, optional
        Its unit.
    times : array
        When it was measured.
    values, simulated, noise : array
        With the axes of time and of elements; `values` is NaN where it was not measured.
    """

    name: str
    unit: str | None
    times: np.ndarray
    values: np.ndarray
    simulated: np.ndarray
    noise: np.ndarray

    @property
    def residuals(self) -> np.ndarray:
        """Measured minus simulated."""
        return np.asarray(self.values - self.simulated)

"""Zero crossings of a model: what stops a run that nobody knows the time of, and what is done there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..lowering.node_equations import Evaluate
from ..solvers import Crossing

CrossingAction = Callable[[Crossing, np.ndarray, np.ndarray, Any], tuple[Any, Any] | None]
"""action(crossing, x, xdot, arguments): x and xdot to go on with, xdot None where it is to be computed; or
None: the run ends."""


@dataclass(frozen=True, eq=False)
class Crossings:
    """Functions of the values of a model, at whose zeros a run stops."""

    values: Evaluate
    """From the vectors w, p, u and the time, as equations are evaluated."""
    action: CrossingAction | None = None
    """None: a run ends at its first crossing."""
    directions: Sequence[int] | None = None
    """For each function: +1 rising only, -1 falling only, 0 both; None: both for all of them."""

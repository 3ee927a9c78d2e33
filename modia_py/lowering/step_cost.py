"""What a step of the integrator takes for a form whose equations are a plan: estimated, not measured.

Two forms of one model, with and without assignments, have about the same operations. They differ in the
matrix: a torn form has few unknowns, but each of them goes through all assignments, so that every direction
of the matrix passes over the whole plan; the plain form has many unknowns, and a few directions. Seconds of
a clock would make the choice, and with it the last digits of results, depend on what else the machine does;
so both are counted. The weights were fitted to steps of arms of 6, 12 and 24 joints
(`benchmarks/spatial_arm.py`), torn and plain, which they give roughly: within a half.
"""

from __future__ import annotations

import numpy as np

from ..plan.planned_function import PlannedFunction
from .index1_functions import Index1Functions
from .planned import WITH_X_AND_XDOT

_OPERATION = 3e-9
"""Three evaluations a step."""
_MATRIX = 0.2e-9
"""For each direction and each factor of the chain rule: a new matrix in two steps of three."""
_UNKNOWN = 0.2e-6
"""Of a sparse system: solved three times a step, and factorized with each matrix."""
_ENTRY = 0.5e-9
"""Of a dense system; it is taken up to so many unknowns:"""
_MOST_DENSE = 100


def step_cost(functions: Index1Functions) -> float | None:
    """Seconds, about; None where some of the equations are left to XLA."""
    plans, n = functions.plans, functions.size
    if plans is None or not isinstance(plans.residual, PlannedFunction):
        return None
    linear, _ = plans.residual.linearization(WITH_X_AND_XDOT)
    pattern = plans.residual.pattern(WITH_X_AND_XDOT)
    both = pattern[:, :n] + pattern[:, n:]
    directions = int(np.diff(both.indptr).max(initial=0))  # columns that meet in a row need one each
    system = _ENTRY * n**2 if n <= _MOST_DENSE else _UNKNOWN * n
    operations = len(plans.residual.plan.operands)
    return _OPERATION * operations + _MATRIX * directions * len(linear.source) + system

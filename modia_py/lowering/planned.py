"""Which functions of a model become plans, and which are left to XLA.

XLA compiles each structurally different equation for itself; a plan needs no compiler, and runs many small
operations faster. For long vectors XLA's loops are faster, and one template is one piece of program however
many copies it has. So equations become a plan where they are few, or where there are few rows of each kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import scipy.sparse as sparse

from ..plan.graph_array import CannotPlan
from ..plan.planned_function import MixedFunction, PlannedFunction, is_native, planned
from .index1_functions import Index1Functions, Pivots
from .model_structure import ModelStructure

FEW_ROWS = 300
"""So few rows are always a plan."""
ROWS_OF_A_KIND = 50
MOST_ROWS = 20_000
"""More rows are a plan if there are at most so many of a kind, and so many in all."""

WITH_X_AND_XDOT = (False, True, True, False, False)


@dataclass(frozen=True, eq=False)
class Plans:
    """The rows [chain; fd; fc] and all values (`value_map`) as functions of [t], x, xdot, p, u."""

    residual: PlannedFunction | MixedFunction
    values: PlannedFunction | MixedFunction
    compute: Callable[..., Any]
    """All values as they were before they became a plan: for other plans that need some of them."""

    def patterns(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Where rows, and values, depend on [x, xdot]."""
        return self.residual.pattern(WITH_X_AND_XDOT), self.values.pattern(WITH_X_AND_XDOT)

    def __str__(self) -> str:
        whole = sorted({piece.name for piece in self.residual.pieces})
        rest = f"; left to XLA: {', '.join(whole)}" if whole else ""
        return f"a plan of {self.residual.plan}{rest}"


def with_plans(model: ModelStructure, functions: Index1Functions, needed: bool = False) -> Index1Functions:
    """The functions with plans in place of programs for XLA, where that is better, or where nothing else
    can evaluate them; or with the reason why not."""
    kinds = len({id(equation.equation) for equation in model.flat.equations})
    rows = functions.value_map.zero - functions.size  # of the form, and assigned
    if not is_native() and not needed:
        return replace(functions, why_not_planned="there is no native code here")
    if not needed and rows > FEW_ROWS and (rows > MOST_ROWS or rows > ROWS_OF_A_KIND * kinds):
        return replace(functions, why_not_planned=f"{rows} rows of {kinds} kinds are long vectors")
    inputs = functions.input_size * (functions.input_order + 1)
    sizes = (1, functions.size, functions.size, model.flat.data_size, inputs)
    try:
        plans = Plans(
            planned(lambda t, x, xdot, p, u: functions.residual(t[0], x, xdot, p, u), sizes),
            planned(lambda t, x, xdot, p, u: functions.values(t[0], x, xdot, p, u), sizes),
            functions.values,
        )
    except CannotPlan as reason:
        return replace(functions, why_not_planned=str(reason))

    pivots = functions.pivots
    if pivots is not None:
        pivots = replace(pivots, values=_called(_pivot_plan(pivots, sizes), inputs))
    return replace(
        functions,
        residual=_called(plans.residual, inputs),
        values=_called(plans.values, inputs),
        pivots=pivots,
        plans=plans,
        why_not_planned="",
    )


def _pivot_plan(pivots: Pivots, sizes: tuple[int, ...]) -> PlannedFunction | MixedFunction:
    return planned(lambda t, x, xdot, p, u: pivots.values(t[0], x, xdot, p, u), sizes)


def without_native_code(functions: Index1Functions) -> Index1Functions:
    """The same functions evaluated by JAX alone, for derivatives that go backward."""
    if functions.plans is None:
        return functions
    inputs = functions.input_size * (functions.input_order + 1)
    return replace(
        functions,
        residual=_called(functions.plans.residual.in_jax, inputs),
        values=_called(functions.plans.values.in_jax, inputs),
        plans=None,
        why_not_planned="they are differentiated backward",
    )


def _called(function: Callable[..., Any], inputs: int) -> Callable[..., Any]:
    def evaluate(t: Any, x: Any, xdot: Any, p: Any, u: Any = ()) -> Any:
        time = jnp.reshape(jnp.asarray(t, float), (1,))
        return function(time, x, xdot, p, jnp.zeros(inputs) if isinstance(u, tuple) else u)

    return evaluate

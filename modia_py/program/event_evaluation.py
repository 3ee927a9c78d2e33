"""Functions of events as functions of (t, x, xdot, arguments): plans where the equations are, else programs
for XLA.

A plan computes no more of the variables than it needs: what is watched at every step costs little.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..arrays.distinct import distinct
from ..expressions.indexing import from_array
from ..lowering.event_functions import EventFunctions
from ..lowering.gathering import take
from ..lowering.index1_functions import Index1Functions
from ..plan.graph_array import CannotPlan, concatenate
from ..plan.planned_function import MixedFunction, PlannedFunction, planned
from .signals import Signals, held_time

OfValues = Callable[[Any, Any, Any, Any], Any]
"""f(t, x, xdot, arguments)"""
OfVectors = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True, eq=False)
class EventEvaluation:
    """What events are decided from; `assign` and `reinit` take values from (x, xdot) and data from p."""

    watched: OfValues
    """z of the relations that are watched."""
    relations: OfValues
    """z of all relations, then their scales."""
    left: OfValues
    levels: tuple[tuple[OfValues, np.ndarray], ...]
    """New values of what is set at the same time, and its places in d."""
    reinit: OfValues
    """Values, then what fires, then what the variables are now."""
    parameter_size: int
    watched_plan: PlannedFunction | None
    """What is watched as a function of (t, x, xdot, p, u), if it is a plan."""
    watched_slopes: np.ndarray | None
    """Flags of the elements of x whose slopes what is watched may depend on; None: not known."""

    def assign(self, t: Any, x: Any, xdot: Any, arguments: Any) -> Any:
        """Arguments after all conditions and assignments of one pass."""
        for values, places in self.levels:
            new = values(t, x, xdot, arguments)
            arguments = arguments._replace(p=arguments.p.at[self.parameter_size + places].set(new))
        return arguments


def evaluation(
    ef: EventFunctions, functions: Index1Functions, signals: Signals, watched: np.ndarray
) -> EventEvaluation:
    """Prepare all functions of a model's events."""
    lower = _planned if functions.plans is not None else _direct

    def lowered(function: OfVectors) -> OfValues:
        try:
            return lower(ef, function, functions, signals)
        except CannotPlan:
            return _direct(ef, function, functions, signals)

    def both(first: OfVectors, second: OfVectors) -> OfVectors:
        return lambda vectors: concatenate([first(vectors), second(vectors)], like=vectors["p"])

    places_watched = from_array(watched)
    order, element = ef.reinits.order, ef.reinits.place
    places = np.array([functions.value_map.place[o][e] for o, e in zip(order, element, strict=True)], int)
    signs = np.array([functions.value_map.sign[o][e] for o, e in zip(order, element, strict=True)], float)

    def now(vectors: dict[str, Any]) -> Any:
        return signs * vectors["w"][places]

    known = lowered(lambda vectors: take(ef.z(vectors), places_watched))
    plan = known.plan if isinstance(known, _Planned) else None
    return EventEvaluation(
        known,
        lowered(both(ef.z, ef.scale)),
        lowered(ef.left),
        tuple((lowered(level.values), level.places) for level in ef.levels),
        lowered(both(both(ef.reinit_values, ef.reinit_fires), now)),
        ef.parameter_size,
        plan if isinstance(plan, PlannedFunction) else None,
        None if plan is None else _slopes(plan, functions.size),
    )


def _slopes(plan: PlannedFunction | MixedFunction, size: int) -> np.ndarray:
    flags = np.zeros(max(1, size), bool)  # as many as the problem has unknowns, which has one at least
    flags[distinct(plan.pattern((False, False, True, False, False)).tocoo().col)] = True
    return flags


def _direct(
    ef: EventFunctions, function: OfVectors, functions: Index1Functions, signals: Signals
) -> OfValues:
    n = functions.size

    def evaluate(t: Any, x: Any, xdot: Any, a: Any) -> Any:
        t = held_time(t, a.signals)
        u = signals.values(t, a.signals, functions.input_order)
        w = functions.values(t, x[:n], xdot[:n], a.p, u)
        return function({"time": t, "w": w, "p": a.p, "u": u})

    return evaluate


def _planned(
    ef: EventFunctions, function: OfVectors, functions: Index1Functions, signals: Signals
) -> OfValues:
    n, inputs = functions.size, functions.input_size * (functions.input_order + 1)
    compute = functions.plans.compute

    def on_nodes(t: Any, x: Any, xdot: Any, p: Any, u: Any) -> Any:
        w = compute(t[0], x, xdot, p, u)
        return function({"time": t[0], "w": w, "p": p, "u": u})

    plan = planned(on_nodes, (1, n, n, ef.parameter_size + 2 * ef.discrete_size, inputs))
    return _Planned(plan, n, inputs, functions.input_order, signals)


@dataclass(frozen=True, eq=False)
class _Planned:
    """A plan as a function of (t, x, xdot, arguments)."""

    plan: PlannedFunction | MixedFunction
    size: int
    inputs: int
    input_order: int
    signals: Signals

    def __call__(self, t: Any, x: Any, xdot: Any, a: Any) -> Any:
        t, n = held_time(t, a.signals), self.size
        u = self.signals.values(t, a.signals, self.input_order)
        u = jnp.zeros(self.inputs) if isinstance(u, tuple) else u
        return self.plan(jnp.reshape(t, (1,)), x[:n], xdot[:n], a.p, u)

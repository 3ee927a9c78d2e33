"""The residual of a program as data for native code, which evaluates it without XLA."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..lowering.index1_functions import Index1Functions
from ..lowering.planned import WITH_X_AND_XDOT
from ..plan.planned_function import PlannedFunction, makes_steps, own_numbers
from .signals import Signals, held_time

WITH_TIME_AND_X = (True, True, False, False, False)


@dataclass(frozen=True, eq=False)
class PlannedCrossings:
    """Functions in which crossings are looked for: signs * plan + slack."""

    plan: PlannedFunction
    signs_and_slack: Callable[[Any], tuple[Any, Any]]
    """Of the data of a run."""

    def arguments(self, p: Any) -> dict[str, Any]:
        program, constants = self.plan.encoded
        signs, slack = self.signs_and_slack(p)
        return _watch_arguments(program, constants, signs, slack)


def _watch_arguments(program: Any, constants: Any, signs: Any, slack: Any) -> dict[str, Any]:
    """By the names of `native.calls.STEP`."""
    return {
        "watch_program": jnp.asarray(program, int),
        "watch_constants": jnp.asarray(constants, float),
        "watch_signs": jnp.asarray(signs, float),
        "watch_slack": jnp.asarray(slack, float),
    }


class PlannedResidual:
    """See `solvers.problem.Planned`. Parameters are `program.Arguments`."""

    def __init__(
        self,
        plan: PlannedFunction,
        signals: Signals,
        input_order: int,
        crossings: PlannedCrossings | None = None,
    ):
        self.plan, self.signals, self.input_order = plan, signals, input_order
        # Inputs are known at one time only.
        self.crossings = None if signals.each else crossings
        self.watches = self.crossings is not None
        self.size = plan.sizes[1]
        self.at_many = not signals.each

    def arguments(self, t: Any, p: Any) -> dict[str, Any]:
        """What native code makes steps from."""
        t = held_time(t, p.signals)
        program, constants = self.plan.encoded
        nothing = _watch_arguments([], [], [], [])
        return {
            **(nothing if self.crossings is None else self.crossings.arguments(p)),
            "program": jnp.asarray(program),
            "constants": jnp.asarray(constants),
            "held": jnp.stack([jnp.asarray(p.signals.first, float), p.signals.last]),
            "parameters": jnp.asarray(p.p, float),
            "inputs": self.signals.values(t, p.signals, self.input_order),
        }

    def values(self, t: np.ndarray, x: np.ndarray, xdot: np.ndarray, p: Any) -> np.ndarray:
        """The residual at many times."""
        from ..plan.many_points import evaluate_points

        points, shared = self._points(t, x, xdot, p)
        out = np.empty((len(points), self.plan.rows))
        evaluate_points(*self.plan.encoded, points, shared, out)
        return out

    def rates(self, t: np.ndarray, x: np.ndarray, xdot: np.ndarray, p: Any) -> np.ndarray:
        """Its derivative by time along (x, xdot)."""
        from ..plan.many_points import push_points

        points, shared = self._points(t, x, xdot, p)
        directions = np.concatenate([np.ones((len(t), 1)), xdot], axis=1)[:, None, :]
        out = np.empty((len(points), 1, self.plan.rows))
        push_points(*self._by_time, points, shared, directions, np.ones(len(t)), 0, out)
        return out[:, 0]

    def products(
        self, t: np.ndarray, x: np.ndarray, xdot: np.ndarray, p: Any, c: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """(c dF/dx + dF/dxdot) times the rows of z, at many times."""
        from ..plan.many_points import push_points

        points, shared = self._points(t, x, xdot, p)
        directions = own_numbers(np.concatenate([z, z], axis=1)[None])
        out = np.empty((len(points), len(z), self.plan.rows))
        push_points(*self._by_x, points, shared, directions, own_numbers(c), self.size, out)
        return out

    def _points(self, t: Any, x: Any, xdot: Any, p: Any) -> tuple[np.ndarray, np.ndarray]:
        held = np.clip(t, np.asarray(p.signals.first), np.asarray(p.signals.last))
        return np.concatenate([held[:, None], x, xdot], axis=1), np.array(p.p, float)

    @cached_property
    def _by_time(self) -> tuple[np.ndarray, np.ndarray]:
        return self.plan.encoded_linearization(WITH_TIME_AND_X)

    @cached_property
    def _by_x(self) -> tuple[np.ndarray, np.ndarray]:
        return self.plan.encoded_linearization(WITH_X_AND_XDOT)


def planned_residual(
    functions: Index1Functions, signals: Signals, crossings: PlannedCrossings | None = None
) -> PlannedResidual | None:
    """None where some of the residual is left to XLA, or there is no native code; and where nothing is
    in x: the problem has an unknown that the plans do not know."""
    plans = functions.plans
    if (
        not functions.size
        or plans is None
        or not isinstance(plans.residual, PlannedFunction)
        or not makes_steps()
    ):
        return None
    return PlannedResidual(plans.residual, signals, functions.input_order, crossings)

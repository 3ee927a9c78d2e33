"""Where a run stops and starts anew: a stop has a time, a reason and an action.

A time that is known before (an input jumps, a table has a kink) and a zero crossing that is found on the
way are the same to the loop over stops: it stops there, lets the action say how to go on, and starts again
at order one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arguments import checked_vector
from .problem import Problem
from .solution import Crossing
from .status import Status

RESTART_FACTOR = 0.1
"""The first step after an event, compared with the one that would have been chosen at a start."""


@dataclass(frozen=True, eq=False)
class Restart:
    """How to go on after a stop.

    Parameters
    ----------
    x : array
        x from here on.
    xdot : array, optional
        xdot to it; None: computed from the equations.
    t : float, optional
        From where on, if that is behind the time of the stop: nothing is said of what is between.
    p : pytree of arrays, optional
        Parameters from here on; None: as before.
    max_step : float, optional
        The longest step from here on; None: as before.
    step_factor : float
        The first step, as a part of the one that would have been chosen at a start.
    """

    x: Any
    xdot: Any = None
    t: float | None = None
    p: Any = None
    max_step: float | None = None
    step_factor: float = RESTART_FACTOR


@dataclass(frozen=True)
class Refusal:
    """A run that cannot go on after a stop.

    Parameters
    ----------
    status : Status
        With which the run ends.
    message : str
        Why.
    """

    status: Status
    message: str


Action = Callable[[float, np.ndarray, np.ndarray, Any], Restart | Refusal | None]
"""action(t, x, xdot, p): how to go on; None: the run ends here."""


@dataclass(frozen=True, eq=False)
class Stop:
    """A time at which a run stops, why, and what is done there.

    Parameters
    ----------
    time : float
        When.
    reason : str or Crossing
        Why.
    action : callable
        `action(t, x, xdot, p)` with the values there gives a `Restart`, a `Refusal`, or None: the run ends.

    Examples
    --------
    Half of what is left is taken away at t = 1.

    >>> import numpy as np
    >>> from modia_py.solvers import Problem, Restart, Stop, solve
    >>> decay = Problem(lambda t, x, xdot, p: xdot + p * x, size=1, differential_rows=1)
    >>> half = Stop(1.0, "half is taken away", lambda t, x, xdot, p: Restart(x / 2))
    >>> found = solve(decay, 0.0, 2.0, [1.0], p=1.0, stops=[half])
    >>> bool(np.isclose(found.x[-1, 0], np.exp(-2.0) / 2, rtol=1e-4))
    True
    """

    time: float
    reason: str | Crossing
    action: Action


OnCrossing = Callable[[Crossing, np.ndarray, np.ndarray], tuple[Any, Any] | None]


def stop_at_crossing(problem: Problem, found: Crossing, on_crossing: OnCrossing) -> Stop:
    """A crossing as a stop, whose action is the user's."""

    def action(t: float, x: np.ndarray, xdot: np.ndarray, p: Any) -> Restart | None:
        changed = on_crossing(found, x.copy(), xdot.copy())
        return None if changed is None else _restart(problem, changed)

    return Stop(found.time, found, action)


def _restart(problem: Problem, changed: Any) -> Restart:
    """x and xdot that `on_crossing` has returned, or ValueError."""
    if not (isinstance(changed, tuple) and len(changed) == 2):
        raise ValueError(
            "on_crossing must return None or a pair (x, xdot), xdot None where it is to be computed; it "
            f"returned {type(changed).__name__}."
        )
    x = checked_vector("x from on_crossing", changed[0])
    xdot = None if changed[1] is None else checked_vector("xdot from on_crossing", changed[1])
    for vector in (x, x if xdot is None else xdot):
        if vector.shape != (problem.size,):
            raise ValueError(
                f"on_crossing returned a vector of shape {vector.shape}; "
                f"the problem has size {problem.size}."
            )
    return Restart(x, xdot)

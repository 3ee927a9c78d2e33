"""`reinit`: new values of states, put into x.

A state that stands in x is set there. One that was eliminated is a function of x: x is moved by as little
as gives it its new value, and the restart after it moves the rest onto the constraints.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..arrays.index1 import Slot
from ..arrays.structure import NONE
from ..errors import ModelError
from ..lowering.event_functions import EventFunctions
from ..lowering.index1_functions import Index1Functions
from .event_evaluation import EventEvaluation
from .signals import NO_LIMIT, Signals, held_time

SWEEPS = 8
"""Over all eliminated states that are set: each one moves x a little for the others."""

Reinit = Callable[[Any, Any, Any, Any], tuple[Any, Any, Any]]
KEPT = 100.0
"""Tolerances by which constraints may move a value that was set."""


def make_reinits(
    ef: EventFunctions,
    known: EventEvaluation,
    functions: Index1Functions,
    signals: Signals,
    kind: np.ndarray,
) -> Reinit:
    """reinit(t, x, xdot, arguments) -> (whether any fires, x, arguments): these note values that were set
    in the pass before, and not kept."""
    table = ef.reinits
    if not len(table):
        return lambda t, x, xdot, arguments: (jnp.zeros((), bool), x, arguments)
    where, n = functions.value_map, functions.size
    place = np.array([where.place[o][e] for o, e in zip(table.order, table.place, strict=True)])
    sign = np.array([where.sign[o][e] for o, e in zip(table.order, table.place, strict=True)], float)
    is_state = np.isin(kind, (Slot.LAMBDA, Slot.MU, Slot.ALGEBRAIC), invert=True)
    in_x = (place >= 0) & (place < n)
    direct = in_x & is_state[np.where(in_x, place, 0)] if n else np.zeros(len(place), bool)
    for row in np.flatnonzero(~direct).tolist():
        _check_state(ef, functions, row)
    indirect = np.flatnonzero(~direct)
    layers = _layers(np.flatnonzero(direct), place)

    def reinit(t: Any, x: Any, xdot: Any, a: Any) -> tuple[Any, Any]:
        found = known.reinit(t, x, xdot, a)
        values, fires, now = found.reshape(3, len(table))
        fires = fires != 0
        data = a.events
        allowed = KEPT * (data.tolerance[0] * jnp.abs(data.wanted) + data.tolerance[1])
        lost = (jnp.abs(now - data.wanted) > allowed) & (data.wanted < NO_LIMIT)
        a = a._replace(
            events=data._replace(
                lost=jnp.maximum(data.lost, jnp.where(lost, 1.0, 0.0)),
                wanted=jnp.where(fires, values, NO_LIMIT),
            )
        )
        new = x
        for rows in layers:
            target = jnp.where(fires[rows], place[rows], len(x))  # beyond the end: nothing is set
            new = new.at[target].set(sign[rows] * values[rows], mode="drop")
        if len(indirect):
            new = _moved(t, new, xdot, a, values, fires)
        return jnp.any(fires), new, a

    def _moved(t: Any, x: Any, xdot: Any, a: Any, values: Any, fires: Any) -> Any:
        t = held_time(t, a.signals)
        u = signals.values(t, a.signals, functions.input_order)
        may_move = jnp.concatenate([jnp.asarray(is_state, float), jnp.zeros(len(x) - n)])

        def sweep(_: int, x: Any) -> Any:
            for row in indirect.tolist():

                def value(x: Any, at: int = int(place[row])) -> Any:
                    return functions.values(t, x[:n], xdot[:n], a.p, u)[at]

                now, gradient = _with_gradient(value, x)
                gradient = may_move * gradient
                shift = gradient * (sign[row] * values[row] - now) / jnp.sum(gradient**2)
                x = jnp.where(fires[row], x + shift, x)
            return x

        return jax.lax.fori_loop(0, SWEEPS, sweep, x)

    return reinit


def _layers(rows: np.ndarray, place: np.ndarray) -> list[np.ndarray]:
    """Rows of which no two set the same element, one layer after the other: the later row counts."""
    seen: dict[int, int] = {}
    layer = np.zeros(len(rows), int)
    for k, at in enumerate(place[rows].tolist()):
        layer[k] = seen[at] = seen.get(at, -1) + 1
    return [rows[layer == k] for k in range(int(layer.max(initial=-1)) + 1)]


def _with_gradient(function: Callable[[Any], Any], x: Any) -> tuple[Any, Any]:
    """A number and its gradient, forward: plans have no other derivative."""
    return function(x), jax.jacfwd(function)(x)


def _check_state(ef: EventFunctions, functions: Index1Functions, row: int) -> None:
    """What has no derivative keeps nothing: a new value would be lost at once."""
    where, table = functions.value_map, ef.reinits
    order, element = int(table.order[row]) + 1, int(table.place[row])
    if order < where.orders and where.place[order][element] != NONE:
        return
    path = table.path(row)
    raise ModelError(
        f"`{table.text(row)}`{f' in {path}' if path else ''} ({table.source(row)}) sets a variable that is "
        f"no state: the equations do not contain its derivative, and give it a value at every time. Set a "
        f"state that it depends on, or assign a Discrete that its equation contains."
    )

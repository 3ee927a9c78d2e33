"""Inputs of a simulation: functions of time, tables, or constants, as one vector u(t).

Functions become part of the compiled program, so another function means another compilation. Tables and
constants are data: other values in them compile nothing.

A table is kept as polynomials between its points, computed by scipy, and so can be differentiated: index
reduction may need derivatives of inputs. Where a table jumps or has a kink the integration has to stop
and begin anew, because a step would smear it or leap over it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.interpolate import Akima1DInterpolator, CubicSpline

from .errors import ModelError, did_you_mean
from .expressions import Expr, as_expr
from .flat_model import FlatModel, FlatSymbol
from .symbols import time
from .templates import evaluate, make_template

INTERPOLATIONS = ("linear", "previous", "cubic", "akima")
NO_STOP = 1e300
MOST_KINKS = 100
"""With more kinks than this, steps no longer than the shortest piece are better than many new starts."""

Function = Callable[[Any], Any]


class Data(NamedTuple):
    """Tables and constants of all inputs, and the time of the next stop."""

    stop: Any
    each: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Signals:
    """`values(t, data, order)` are all inputs, then their derivatives up to an order.

    `key` tells programs apart; `data` are the tables and constants. Integration starts anew at `jumps` and
    `kinks`, and takes steps no longer than `longest_step`. Up to such a stop, tables are read as if they
    went on: at the stop itself the value before it counts, or after it, depending on where one comes from.
    """

    values: Callable[[Any, Data, int], Any]
    data: Data
    key: tuple[Any, ...]
    jumps: np.ndarray
    kinks: np.ndarray
    longest_step: float


@dataclass(frozen=True, eq=False)
class _Signal:
    """One input: a function of time and its data."""

    function: Callable[[Any, Any, Any], Any]
    data: Any
    key: Any
    jumps: tuple[float, ...] = ()
    kinks: tuple[float, ...] = ()
    longest_step: float = np.inf


def make_signals(flat: FlatModel, given: Mapping[str, Any] | None, start: float, stop: float) -> Signals:
    """The inputs of a flat model from what the user gave for each name."""
    given = dict(given or {})
    names = {entry.name: entry for entry in flat.inputs}
    for name in given:
        if name not in names:
            hint = did_you_mean(name, names) if names else "It has no inputs."
            raise ModelError(f"{flat.name} has no input '{name}'. {hint}")
    missing = [name for name in names if name not in given]
    if missing:
        raise ModelError(
            f"{flat.name} has the input{'s' * (len(missing) > 1)} {', '.join(missing)}, for which nothing "
            f"is given. Write simulate(..., inputs={{{missing[0]!r}: ...}}) with a function of time, a "
            f"table (times, values) or a constant."
        )
    signals = [_signal(entry, given[name], start, stop) for name, entry in names.items()]

    def at(t: Any, data: Data) -> Any:
        parts = [
            signal.function(t, own, data.stop).reshape(-1)
            for signal, own in zip(signals, data.each, strict=True)
        ]
        return jnp.concatenate([jnp.zeros(0), *parts])

    def values(t: Any, data: Data, order: int) -> Any:
        def derived(lower: Function) -> Function:
            return lambda t: jax.jvp(lower, (t,), (jnp.ones_like(t),))[1]

        levels: list[Function] = [lambda t: at(t, data)]
        for _ in range(order):
            levels.append(derived(levels[-1]))
        t = jnp.asarray(t, float)
        return jnp.concatenate([level(t) for level in levels])

    def within(times: list[tuple[float, ...]]) -> np.ndarray:
        joined = np.unique(np.concatenate([np.zeros(0), *times]))
        return joined[(joined > start) & (joined < stop)]

    jumps = within([signal.jumps for signal in signals])
    kinks = np.setdiff1d(within([signal.kinks for signal in signals]), jumps)
    return Signals(
        values,
        Data(NO_STOP, tuple(signal.data for signal in signals)),
        tuple(signal.key for signal in signals),
        jumps,
        kinks,
        min((signal.longest_step for signal in signals), default=np.inf),
    )


def _signal(entry: FlatSymbol, given: Any, start: float, stop: float) -> _Signal:
    if callable(given) and not isinstance(given, Expr):
        return _from_function(entry, given)
    if isinstance(given, Expr):
        return _from_expression(entry, given, given)
    if isinstance(given, (tuple, list)) and len(given) in (2, 3) and np.ndim(given[0]) == 1:
        return _from_table(entry, given, start, stop)
    return _Signal(lambda t, value, _: value, _spread(entry, given), "constant")


def _spread(entry: FlatSymbol, value: Any) -> np.ndarray:
    try:
        array = np.asarray(value, float)
        if not np.all(np.isfinite(array)):
            raise ModelError(f"The input {entry.name} is not finite: {value!r}.")
        return np.broadcast_to(array, entry.shape).copy()
    except (TypeError, ValueError):
        raise ModelError(
            f"The input {entry.name} of shape {entry.shape} cannot be {value!r}: give a function of time, "
            f"a table (times, values) or (times, values, interpolation), or a constant."
        ) from None


def _from_function(entry: FlatSymbol, function: Function) -> _Signal:
    """A function of JAX arrays; or one of numpy functions, which is then called with the time as symbol."""
    try:
        shape = jax.eval_shape(
            lambda t: jnp.asarray(function(t), float), jax.ShapeDtypeStruct((), np.float64)
        )
    except Exception as first:
        try:
            return _from_expression(entry, as_expr(function(time)), function)
        except ModelError:
            raise
        except Exception:
            raise ModelError(
                f"The function given for the input {entry.name} cannot be compiled "
                f"({type(first).__name__}). It is called with the time as a symbol: use functions of numpy "
                f"or jax.numpy, np.where instead of `if`, or a table (times, values)."
            ) from first
    _check_shape(entry, shape.shape)
    return _Signal(
        lambda t, *_: jnp.broadcast_to(jnp.asarray(function(t), float), entry.shape), (), function
    )


def _from_expression(entry: FlatSymbol, expr: Expr, key: Any) -> _Signal:
    template = make_template(expr)
    wrong = [slot for slot in template.slots if slot.kind not in ("time", "constant")]
    if wrong:
        raise ModelError(f"The input {entry.name} may depend on the time only, not on `{expr}`.")
    _check_shape(entry, expr.shape)

    def function(t: Any, *_: Any) -> Any:
        constants = [
            t if slot.kind == "time" else _constant(template.picks[slot.place]) for slot in template.slots
        ]
        return jnp.broadcast_to(evaluate(template.root, template.slots, constants), entry.shape)

    return _Signal(function, (), key)


def _constant(pick: Any) -> Any:
    values = [piece.node.value for piece in pick.pieces]
    return np.stack(values) if pick.stacked else values[0]


def _check_shape(entry: FlatSymbol, shape: tuple[int, ...]) -> None:
    if shape not in ((), entry.shape):
        raise ModelError(
            f"The function given for the input {entry.name} returns shape {shape}, expected {entry.shape}."
        )


def _from_table(entry: FlatSymbol, given: Any, start: float, stop: float) -> _Signal:
    interpolation = given[2] if len(given) == 3 else "linear"
    if interpolation not in INTERPOLATIONS:
        raise ModelError(
            f"The table of the input {entry.name} has the interpolation {interpolation!r}. "
            f"There are: {', '.join(INTERPOLATIONS)}."
        )
    try:
        knots, values = np.asarray(given[0], float), np.asarray(given[1], float)
    except (TypeError, ValueError):
        raise ModelError(f"The table of the input {entry.name} is not made of numbers.") from None
    if not (np.all(np.isfinite(knots)) and np.all(np.isfinite(values))):
        raise ModelError(f"The table of the input {entry.name} contains a value that is not finite.")
    if len(knots) < 2 or np.any(np.diff(knots) <= 0):
        raise ModelError(
            f"The times in the table of the input {entry.name} must increase, and be two at least."
        )
    if values.shape not in ((len(knots),), (len(knots), *entry.shape)):
        raise ModelError(
            f"The table of the input {entry.name} has {len(knots)} times and values of shape "
            f"{values.shape}, expected {(len(knots), *entry.shape)}."
        )
    if knots[0] > start or (knots[-1] < stop and interpolation != "previous"):
        raise ModelError(
            f"The table of the input {entry.name} goes from {knots[0]:g} to {knots[-1]:g}, the simulation "
            f"from {start:g} to {stop:g}. Nothing is extrapolated."
        )
    values = values.reshape(len(knots), *(1,) * (len(entry.shape) + 1 - values.ndim), *values.shape[1:])
    polynomials = _polynomials(knots, values, interpolation)
    jumps = kinks = np.zeros(0)
    longest = np.inf
    changes = np.abs(np.diff(polynomials, axis=0)).reshape(len(knots) - 1, -1)
    if interpolation == "previous":
        jumps = knots[1:][changes.any(axis=1)]
    else:
        if interpolation == "linear":
            slopes = np.diff(polynomials[:-1, 0], axis=0).reshape(len(knots) - 2, -1)
            kinks = knots[1:-1][slopes.any(axis=1)] if len(knots) > 2 else kinks
        if len(kinks) > MOST_KINKS or interpolation != "linear":
            kinks, longest = np.zeros(0), float(np.diff(knots).min())

    def function(t: Any, data: Any, stop: Any) -> Any:
        knots, polynomials = map(jnp.asarray, data)
        last = jnp.searchsorted(knots, stop, side="left") - 1  # the piece that ends at the stop
        piece = jnp.clip(jnp.searchsorted(knots, t, side="right") - 1, 0, last)
        return jnp.broadcast_to(_horner(polynomials[piece], t - knots[piece]), entry.shape)

    return _Signal(
        function, (knots, polynomials), ("table", interpolation), tuple(jumps), tuple(kinks), longest
    )


def _polynomials(knots: np.ndarray, values: np.ndarray, interpolation: str) -> np.ndarray:
    """Coefficients of each piece, highest power first; the last piece begins at the last point."""
    if interpolation == "previous":
        return values[:, None]
    if interpolation == "linear":
        slopes = np.diff(values, axis=0) / np.diff(knots).reshape(-1, *(1,) * (values.ndim - 1))
        pieces = np.stack([slopes, values[:-1]], axis=1)
    else:
        kind = CubicSpline if interpolation == "cubic" else Akima1DInterpolator
        pieces = np.moveaxis(kind(knots, values, axis=0).c, 1, 0)
    last = pieces[-1:].copy()  # goes on as the piece before it: the end of the table is no kink
    for power in range(last.shape[1]):
        last[0, -1 - power] = _shifted(pieces[-1], knots[-1] - knots[-2], power)
    return np.concatenate([pieces, last])


def _shifted(piece: np.ndarray, by: float, power: int) -> np.ndarray:
    """A coefficient of p(x + by): its derivative of that order at `by`, over the factorial."""
    total = np.zeros_like(piece[0])
    degree = len(piece) - 1
    for k in range(power, degree + 1):
        choose = float(np.prod([(k - j) / (j + 1) for j in range(power)]))
        total = total + choose * piece[degree - k] * by ** (k - power)
    return total


def _horner(coefficients: Any, x: Any) -> Any:
    value = coefficients[0]
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value

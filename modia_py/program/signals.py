"""Inputs of a simulation: functions of time, tables, or constants, as one vector u(t).

A function is traced for each run: what it does then becomes part of the compiled program, so another
function, or one that reads a variable that has changed, means another compilation, and an equal one does
not. Tables and constants are data: other values in them compile nothing.

Where an input jumps or has a kink the integration has to stop and begin anew, because a step would smear it
or leap over it. Tables know where that is; functions are searched (`breaks`), or say it themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import ModelError, did_you_mean
from ..expressions.expression import Expr, as_expr
from ..expressions.symbol_kinds import SymbolKind
from ..expressions.templates import evaluate, make_template
from ..expressions.traces import Trace, trace
from ..language.flat_model import FlatModel, FlatSymbol
from ..language.symbols import holds_text, time
from .breaks import time_derivative
from .tables import as_table, make_table, table_value

Function = Callable[[Any], Any]
NO_LIMIT = 1e300
"""A time that is never reached; the integrator takes finite numbers only."""


class Data(NamedTuple):
    """Tables and constants of all inputs, and the times between which equations are evaluated.

    Up to a stop of the integration, and from it on, the equations hold that hold there: the time they see
    stays between `first` and `last`, a little inside of the ends.
    """

    first: Any
    last: Any
    each: tuple[Any, ...]


def held_time(t: Any, data: Data) -> Any:
    """The time that equations see; its derivative with respect to t is one."""
    t = jnp.asarray(t, float)
    return t + jax.lax.stop_gradient(jnp.clip(t, data.first, data.last) - t)


@dataclass(frozen=True, eq=False)
class Signal:
    """One input: a function of time and of its data.

    It breaks at `breaks`, where its derivative of the given `order` jumps (0: itself), and has to be
    searched for more if it `is_unknown`; `hints` are times to look at.
    """

    entry: FlatSymbol
    function: Callable[[Any, Any], Any]
    data: Any
    key: Any
    breaks: np.ndarray
    order: Any = 0  # or one for each break
    longest_step: float = np.inf
    is_unknown: bool = False
    hints: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Signals:
    """`values(t, data, order)` are all inputs, then their derivatives up to an order.

    `key` tells programs apart; `data` are the tables and constants.
    """

    each: tuple[Signal, ...]
    data: Data
    key: tuple[Any, ...]

    def values(self, t: Any, data: Data, order: int) -> Any:
        def at(t: Any) -> Any:
            parts = [
                jnp.broadcast_to(signal.function(t, own), signal.entry.shape).reshape(-1)
                for signal, own in zip(self.each, data.each, strict=True)
            ]
            return jnp.concatenate([jnp.zeros(0), *parts])

        levels: list[Function] = [at]
        for _ in range(order):
            levels.append(time_derivative(levels[-1]))
        t = jnp.asarray(t, float)
        return jnp.concatenate([level(t) for level in levels])

    @property
    def call_python(self) -> bool:
        return any(isinstance(signal.key, Trace) and signal.key.calls_python for signal in self.each)

    @property
    def longest_step(self) -> float:
        return min((signal.longest_step for signal in self.each), default=np.inf)


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
    signals = tuple(_signal(entry, given[name], start, stop) for name, entry in names.items())
    data = Data(np.float64(-NO_LIMIT), np.float64(NO_LIMIT), tuple(signal.data for signal in signals))
    return Signals(signals, data, tuple(signal.key for signal in signals))


def _signal(entry: FlatSymbol, given: Any, start: float, stop: float) -> Signal:
    given = as_table(given)
    if _is_function(given):
        return _from_function(entry, given, None)
    if isinstance(given, (tuple, list)) and len(given) == 2 and _is_function(given[0]):
        return _from_function(entry, given[0], _times(entry, given[1]))
    if isinstance(given, (tuple, list)) and len(given) in (2, 3) and np.ndim(given[0]) == 1:
        table = make_table(entry, given, start, stop)
        return Signal(
            entry,
            lambda t, data: table_value(t, *data),
            (table.knots, table.polynomials),
            ("table", table.interpolation),
            table.breaks,
            table.order,
            table.longest_step,
        )
    return Signal(entry, lambda t, value: value, _spread(entry, given), "constant", np.zeros(0))


def _is_function(given: Any) -> bool:
    return callable(given) or isinstance(given, Expr)


def _times(entry: FlatSymbol, given: Any) -> np.ndarray:
    try:
        times = np.atleast_1d(np.asarray(given, float))
        if times.ndim != 1 or not np.all(np.isfinite(times)):
            raise ValueError
    except (TypeError, ValueError):
        raise ModelError(
            f"The breaks of the input {entry.name} are the times at which the function or its derivatives "
            f"jump: (function, [t1, t2, ...]), not {given!r}."
        ) from None
    return np.unique(times)


def _spread(entry: FlatSymbol, value: Any) -> np.ndarray:
    if holds_text(value):
        raise ModelError(f"The input {entry.name} is the text {value!r}: write numbers without quotes.")
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


def _from_function(entry: FlatSymbol, given: Any, breaks: np.ndarray | None) -> Signal:
    """A function of JAX arrays; or one of numpy functions, which is then called with the time as symbol."""
    scalar = jax.ShapeDtypeStruct((), np.float64)
    if isinstance(given, Expr):
        found = trace(_of_expression(entry, given), scalar)
    else:
        try:
            found = trace(lambda t: jnp.asarray(given(t), float), scalar)
        except Exception as first:
            try:
                found = trace(_of_expression(entry, as_expr(given(time))), scalar)
            except ModelError:
                raise
            except Exception:
                raise ModelError(
                    f"The function given for the input {entry.name} cannot be compiled "
                    f"({type(first).__name__}: {_first_line(first)}). It is called with the time as a "
                    f"symbol: use functions of "
                    f"numpy or jax.numpy, np.where instead of `if`, or a table (times, values)."
                ) from first
    _check_differentiable(entry, found)
    shape = found.program.out_avals[0].shape
    if shape not in ((), entry.shape):
        raise ModelError(
            f"The function given for the input {entry.name} returns shape {shape}, expected {entry.shape}."
        )
    none = np.zeros(0)
    return Signal(
        entry,
        lambda t, _: found(t),
        (),
        found,
        none if breaks is None else breaks,
        is_unknown=True,
        hints=breaks,
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [""])[0].rstrip(".")


def _check_differentiable(entry: FlatSymbol, function: Function) -> None:
    """A function is evaluated at many times at once, and differentiated with respect to time."""
    try:
        jax.eval_shape(
            jax.vmap(lambda t: jax.jvp(function, (t,), (t,))), jax.ShapeDtypeStruct((2,), np.float64)
        )
    except Exception as error:
        reason = _first_line(error)
        raise ModelError(
            f"The function given for the input {entry.name} cannot be evaluated at many times at once, "
            f"with its derivative: {reason} A table (times, values) can, or a function of numpy or "
            f"jax.numpy."
        ) from error


def _of_expression(entry: FlatSymbol, expr: Expr) -> Function:
    template = make_template(expr)
    if any(each.kind not in (SymbolKind.TIME, None) for each in template.placeholders):
        raise ModelError(f"The input {entry.name} may depend on the time only, not on `{expr}`.")

    def function(t: Any) -> Any:
        pairs = zip(template.placeholders, template.picks, strict=True)
        values = [t if each.kind is SymbolKind.TIME else pick.constant for each, pick in pairs]
        return jnp.asarray(evaluate(template.root, template.placeholders, values), float)

    return function

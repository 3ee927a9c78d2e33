"""Clocks, for digital controllers: `clock`, `sampled`, `hold`, `previous`.

A clock ticks at known instants. `when(clk, assign(u, ...))` is a section of a program that runs at each
tick; `sampled(x, clk)` is x as it was at the last tick. They are made of `sample`, discrete variables and
`pre`: nothing here is new to a solver.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ModelError
from ..source import user_source
from .event_primitives import CLOCK, HOLD, PREVIOUS, SAMPLED
from .event_terms import check_instants, checked_condition, continuous_leaf, is_discrete
from .expression import Constant, Expr, apply, as_expr, as_operand, call
from .primitives import positional


class Clock:
    """Instants offset + delay + k*period, k = 0, 1, 2, ...; `clock` makes it.

    Attributes
    ----------
    period, offset, delay : Expr
        In seconds: constants, or expressions of parameters.

    Examples
    --------
    >>> from modia_py import clock
    >>> fast = clock(0.05)
    >>> fast.sub(4), fast.delayed(0.01)
    (clock(0.2), clock(0.05, 0, 0.01))
    """

    def __init__(self, period: Any, offset: Any, delay: Any):
        self.period, self.offset, self.delay = as_expr(period), as_expr(offset), as_expr(delay)
        check_instants("clock", {"period": self.period, "offset": self.offset, "delay": self.delay})
        if isinstance(self.delay, Constant) and isinstance(self.period, Constant):
            fits = (self.delay.value >= 0) & (self.delay.value < self.period.value)
            if not fits.all():
                raise ModelError(
                    f"A clock with the period {self.period} cannot be delayed by {self.delay} "
                    f"({user_source()}): a result must be there before the next tick, so that the delay is "
                    f"shorter than the period."
                )

    @property
    def tick(self) -> Expr:
        """The condition that is true at each tick, for `when` and in combinations."""
        args = [self.period, self.offset, self.delay]
        while len(args) > 1 and isinstance(args[-1], Constant) and not args[-1].value.any():
            args.pop()
        return apply(CLOCK, positional(len(args)), tuple(args))

    def sub(self, factor: int) -> Clock:
        """Make a clock that ticks at every `factor`-th tick only.

        Parameters
        ----------
        factor : int
            A whole number, at least one.

        Returns
        -------
        Clock
            The slower one; their common ticks are one event.

        Raises
        ------
        ModelError
            If the factor is no whole number.
        """
        return Clock(_combined(np.multiply, self.period, _whole(factor)), self.offset, self.delay)

    def super(self, factor: int) -> Clock:
        """Make a clock that ticks `factor` times as often.

        Parameters
        ----------
        factor : int
            A whole number, at least one.

        Returns
        -------
        Clock
            The faster one; their common ticks are one event.

        Raises
        ------
        ModelError
            If the factor is no whole number, or the clock is delayed by more than the new period.
        """
        return Clock(_combined(np.divide, self.period, _whole(factor)), self.offset, self.delay)

    def delayed(self, seconds: Any) -> Clock:
        """Make a clock that ticks a time after this one: when a computation is finished.

        Parameters
        ----------
        seconds : number or expression of parameters
            Shorter than the period.

        Returns
        -------
        Clock
            With the same period. `sampled(u, clk.delayed(s))` is u, handed on so much later.

        Raises
        ------
        ModelError
            If the delay is negative, or not shorter than the period.
        """
        return Clock(self.period, self.offset, _combined(np.add, self.delay, seconds))

    def __repr__(self) -> str:
        return str(self.tick)


def _combined(operation: Any, a: Expr, b: Any) -> Expr:
    """A number where both are numbers; and nothing is added to zero."""
    b = as_expr(b)
    if isinstance(a, Constant) and isinstance(b, Constant):
        return as_expr(operation(a.value, b.value))
    if operation is np.add and isinstance(a, Constant) and not a.value.any():
        return b
    return operation(a, b)


def _whole(factor: Any) -> int:
    if isinstance(factor, bool) or not isinstance(factor, (int, np.integer)) or factor < 1:
        raise ModelError(
            f"A clock is made slower or faster by a whole factor, not {factor!r} ({user_source()})."
        )
    return int(factor)


def clock(period: Any, offset: Any = 0.0) -> Clock:
    """Make a clock that ticks at offset, offset + period, offset + 2*period, ...

    Parameters
    ----------
    period : number or expression of parameters
        Positive, in seconds.
    offset : number or expression of parameters
        The first tick.

    Returns
    -------
    Clock
        For `when(clk, ...)` and `sampled(x, clk)`; `clk.sub(n)`, `clk.super(n)` and `clk.delayed(seconds)`
        are clocks that go with it.

    Raises
    ------
    ModelError
        If the period is not positive, or not known before a run.

    Examples
    --------
    A sampled controller in one line:

    >>> from modia_py import Model, Par, Var, clock, der, hold, sampled
    >>> class Drive(Model):
    ...     v = Var(init=5.0)
    ...     f = Var()
    ...     K = Par(5.0)
    ...     def equations(self):
    ...         clk = clock(0.1)
    ...         return [
    ...             der(self.v) == self.f - 0.1 * self.v,
    ...             self.f == hold(self.K * (100.0 - sampled(self.v, clk))),
    ...         ]
    >>> Drive().equations()[1]
    f == hold(K*(100 - sampled(v, clock(0.1))))
    """
    return Clock(period, offset, 0.0)


def sampled(x: Any, clk: Clock, *, start: Any = 0.0) -> Expr:
    """Give the value that an expression had at the last tick of a clock.

    Parameters
    ----------
    x : expression
        Continuous variables count with their values just before the tick, discrete ones with their values
        at the tick: a faster clock hands over what it has just computed.
    clk : Clock
        When to look.
    start : number or array
        The value before the first tick.

    Returns
    -------
    Expr
        Constant between ticks, of the shape of x.

    Raises
    ------
    ModelError
        If clk is no clock, or x is no number.

    Examples
    --------
    >>> from modia_py import Model, Var, clock, sampled
    >>> class Lag(Model):
    ...     x = Var()
    >>> sampled(Lag().x, clock(0.5).sub(2))
    sampled(x, clock(1))
    """
    if not isinstance(clk, Clock):
        raise ModelError(
            f"sampled(x, clk) takes a clock, clk = clock(period), not {clk!r} ({user_source()})."
        )
    expr, first = as_operand(x), as_expr(start)
    if expr.dtype == "bool":
        expr = checked_condition(expr, "What is sampled")
    if not isinstance(first, Constant) or first.shape not in ((), expr.shape):
        raise ModelError(
            f"The start of sampled({expr}, ...) is `{first}` of shape {first.shape} ({user_source()}): "
            f"give a number, or an array of shape {expr.shape}."
        )
    args = (expr, clk.tick) if not first.value.any() else (expr, clk.tick, first)
    return apply(SAMPLED, positional(len(args)), args)


def hold(u: Any) -> Expr:
    """Hand a clocked value over to continuous equations: it stays as it is until the next tick.

    Parameters
    ----------
    u : expression
        Of discrete variables and sampled values.

    Returns
    -------
    Expr
        The same; what `hold` adds is the promise that it is constant between ticks, which is checked.

    Raises
    ------
    ModelError
        If u changes between ticks.

    Examples
    --------
    >>> from modia_py import Discrete, Model, hold
    >>> class Controller(Model):
    ...     u = Discrete(0.0)
    >>> hold(2 * Controller().u)
    hold(2*u)
    """
    expr = as_expr(u)
    if not is_discrete(expr):
        raise ModelError(
            f"hold({expr}) ({user_source()}): `{continuous_leaf(expr)}` changes between ticks. Use "
            f"sampled({continuous_leaf(expr)}, clk) for its value at the last tick of a clock."
        )
    return expr if isinstance(expr, Constant) else call(HOLD, expr)


def previous(d: Any) -> Expr:
    """Give the value of the tick before, in a clocked section: the memory of a digital controller.

    Parameters
    ----------
    d : expression
        Of discrete variables and sampled values.

    Returns
    -------
    Expr
        For the actions of `when(clk, ...)`; at the first tick the value with which d was declared.

    Raises
    ------
    ModelError
        If d changes continuously, or, when the model is elaborated, if it stands in an equation.

    Examples
    --------
    >>> from modia_py import Discrete, Model, assign, clock, previous, when
    >>> class Integrator(Model):
    ...     s = Discrete(0.0)
    ...     def equations(self):
    ...         return [when(clock(0.1), assign(self.s, previous(self.s) + 0.1))]
    >>> Integrator().equations()
    [when(clock(0.1), assign(s, previous(s) + 0.1))]
    """
    expr = as_expr(d)
    if not is_discrete(expr):
        raise ModelError(
            f"previous({expr}) ({user_source()}): `{continuous_leaf(expr)}` changes between ticks. Only a "
            f"discrete variable or a sampled value has one of the tick before."
        )
    return call(PREVIOUS, expr)

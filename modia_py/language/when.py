"""`when` and `always`, as a user types them in the list of equations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from ..expressions.clocked_terms import Clock
from ..expressions.equation import Equation
from ..expressions.event_terms import checked_condition, continuous_leaf
from ..expressions.expression import Expr
from ..expressions.printing import Naming, expression_text, symbol_segments
from ..source import Source, user_source
from .actions import Assign, Terminate, WhenAction, fits


@dataclass(frozen=True, eq=False)
class When:
    """Actions that are taken at the instants at which one of the conditions becomes true."""

    conditions: tuple[Expr, ...]
    actions: tuple[WhenAction, ...]
    source: Source

    def expressions(self) -> tuple[Expr, ...]:
        """All that is read or set."""
        own = [expr for a in self.actions if not isinstance(a, Terminate) for expr in (a.target, a.value)]
        return (*self.conditions, *own)

    def text(self, naming: Naming = symbol_segments) -> str:
        conditions = ", ".join(expression_text(condition, naming) for condition in self.conditions)
        listed = f"[{conditions}]" if len(self.conditions) > 1 else conditions
        return f"when({', '.join([listed, *(action.text(naming) for action in self.actions)])})"

    def __repr__(self) -> str:
        return self.text()

    def __bool__(self) -> bool:
        raise ModelError(
            f"`{self}` ({self.source}) is used as a truth value: a `when` belongs into the list that "
            f"`equations` returns."
        )


@dataclass(frozen=True, eq=False)
class Always:
    """Assignments that are made in every pass of every event."""

    actions: tuple[Assign, ...]
    source: Source

    def expressions(self) -> tuple[Expr, ...]:
        """All that is read or set."""
        return tuple(expr for action in self.actions for expr in (action.target, action.value))

    def text(self, naming: Naming = symbol_segments) -> str:
        return f"always({', '.join(action.text(naming) for action in self.actions)})"

    def __repr__(self) -> str:
        return self.text()


def always(*actions: Any) -> Always:
    """Let discrete variables follow conditions: after every event they are what is said here.

    An item of the list of equations. `when` acts where something becomes true; this holds whatever has
    happened, at the start as well. In every pass of an event the values are computed anew, with `pre(d)`
    for the value of the pass before, until nothing changes: state machines and hystereses are written so.

    Parameters
    ----------
    *actions
        `assign(d, value)`. Values are made of conditions, discrete variables and parameters: they are
        constant between events.

    Returns
    -------
    Always
        To be returned by `equations`.

    Raises
    ------
    ModelError
        If there is no assignment, or a value changes between events.

    Examples
    --------
    >>> from modia_py import Discrete, Model, Var, always, assign, pre
    >>> class Relay(Model):
    ...     x = Var()
    ...     on = Discrete(False)
    ...     def equations(self):
    ...         return [always(assign(self.on, (self.x < 19) | (pre(self.on) & (self.x < 21))))]
    >>> Relay().equations()
    [always(assign(on, (x < 19) | (pre(on) & (x < 21))))]
    """
    source = user_source()
    flat: list[Any] = []
    for action in actions:
        flat += action if isinstance(action, (list, tuple)) else [action]
    if not flat:
        raise ModelError(f"always() is empty ({source}): give it assignments, always(assign(d, value)).")
    for action in flat:
        if not isinstance(action, Assign):
            raise ModelError(
                f"{action!r} in an always ({source}): only assign(d, value) can hold after every event. "
                f"when(condition, ...) says at which instants something is done."
            )
        if action.value.dtype != "bool" and (moving := continuous_leaf(action.value)) is not None:
            raise ModelError(
                f"always({action}) ({source}): `{moving}` changes between events, and a discrete variable "
                f"does not. Declare a Var for it and write an equation, or say with `when` at which "
                f"instants its value is taken."
            )
    return Always(tuple(flat), source)


def when(condition: Any, *actions: Any) -> When:
    """Act at the instants at which a condition becomes true; an item of the list of equations.

    Parameters
    ----------
    condition : expression, or list of expressions
        A relation, a discrete variable, a clock, `sample(...)`, `initial()`, ..., or a combination of these
        by `&`, `|`, `~`. It acts where it changes from false to true. With a list, whenever one of
        the conditions does so. With a condition of some shape each element acts on the same element of the
        targets.
    *actions
        `assign(d, value)`, `reinit(x, value)`, `terminate(reason)`.

    Returns
    -------
    When
        To be returned by `equations`.

    Raises
    ------
    ModelError
        If the condition is none, an action is missing or is no action, or the shapes do not fit.

    Examples
    --------
    >>> from modia_py import Model, Par, Var, der, reinit, when
    >>> class Ball(Model):
    ...     e = Par(0.7)
    ...     h = Var(init=1.0)
    ...     v = Var(init=0.0)
    ...     def equations(self):
    ...         return [
    ...             der(self.h) == self.v,
    ...             der(self.v) == -9.81,
    ...             when(self.h < 0, reinit(self.v, -self.e * self.v)),
    ...         ]
    >>> Ball().equations()[2]
    when(h < 0, reinit(v, -e*v))
    """
    source = user_source()
    given = list(condition) if isinstance(condition, (list, tuple)) else [condition]
    if not given:
        raise ModelError(f"A when has an empty list of conditions ({source}).")
    conditions = tuple(_condition(each, source) for each in given)
    flat: list[WhenAction] = []
    for action in actions:
        flat += action if isinstance(action, (list, tuple)) else [action]
    for action in flat:
        if not isinstance(action, WhenAction):
            raise ModelError(_no_action(action, source))
    if not flat:
        raise ModelError(
            f"when({conditions[0]}) does nothing ({source}): give it actions, when(condition, assign(d, "
            f"value), reinit(x, value), terminate(reason))."
        )
    statement = When(conditions, tuple(flat), source)
    _check_shapes(statement)
    return statement


def _condition(value: Any, source: Source) -> Expr:
    if isinstance(value, (bool, np.bool_)):
        raise ModelError(
            f"The condition of a when is the plain Python value {bool(value)} ({source}): it never becomes "
            f"true. Use self.x > 0 and the like; initial() acts at the start."
        )
    if isinstance(value, Clock):
        return value.tick
    return checked_condition(value, "The condition of a when")


def _no_action(action: Any, source: Source) -> str:
    if isinstance(action, Equation):
        return (
            f"`{action}` in a when ({source}) is an equation: equations hold always. Write "
            f"assign({action.lhs}, {action.rhs}) for a discrete variable, and reinit({action.lhs}, "
            f"{action.rhs}) for a continuous one; where an equation changes at an event, use `where` in it."
        )
    return (
        f"{action!r} in a when ({source}) is no action: assign(d, value), reinit(x, value) and "
        f"terminate(reason) are."
    )


def _check_shapes(statement: When) -> None:
    for action in statement.actions:
        if isinstance(action, Terminate):
            continue
        for condition in statement.conditions:
            if not fits(condition.shape, action.target.shape):
                raise ModelError(
                    f"The condition `{condition}` has shape {condition.shape}, and does not fit {action} "
                    f"({statement.source}), whose target has shape {action.target.shape}: a condition is "
                    f"one for all elements, or has one element for each. np.any(...) makes one of many."
                )

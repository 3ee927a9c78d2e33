"""`when` and its actions, as a user types them in the list of equations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from ..expressions.clocked_terms import Clock
from ..expressions.equation import Equation
from ..expressions.event_terms import checked_condition
from ..expressions.expression import Expr, Leaf, as_expr, as_operand
from ..expressions.indexing import Shape
from ..expressions.printing import Naming, expression_text, symbol_segments
from ..expressions.symbol_kinds import SymbolKind
from ..expressions.templates import Piece, as_piece
from ..source import Source, user_source


@dataclass(frozen=True, eq=False)
class Assign:
    """`assign(d, value)`."""

    target: Expr
    piece: Piece
    value: Expr
    source: Source

    def text(self, naming: Naming = symbol_segments) -> str:
        return f"assign({expression_text(self.target, naming)}, {expression_text(self.value, naming)})"

    def __repr__(self) -> str:
        return self.text()


@dataclass(frozen=True, eq=False)
class Reinit:
    """`reinit(x, value)`."""

    target: Expr
    piece: Piece
    value: Expr
    source: Source

    def text(self, naming: Naming = symbol_segments) -> str:
        return f"reinit({expression_text(self.target, naming)}, {expression_text(self.value, naming)})"

    def __repr__(self) -> str:
        return self.text()


@dataclass(frozen=True, eq=False)
class Terminate:
    """`terminate(reason)`."""

    reason: str
    source: Source

    def text(self, naming: Naming = symbol_segments) -> str:
        return f"terminate({self.reason!r})"

    def __repr__(self) -> str:
        return self.text()


WhenAction = Assign | Reinit | Terminate


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


def fits(shape: Shape, target: Shape) -> bool:
    """Whether a shape is one for all elements, or has an element (or a length of one) along each axis."""
    if not shape:
        return True
    return len(shape) == len(target) and all(
        own in (1, length) for own, length in zip(shape, target, strict=True)
    )


def assign(d: Any, value: Any) -> Assign:
    """Give a discrete variable a new value; an action of `when`.

    Parameters
    ----------
    d : expression
        A `Discrete` of the model or of one of its components, or elements of one.
    value : number, array or expression
        Its new value, from the values at the event; `pre(d)` is the old one.

    Returns
    -------
    Assign
        For `when`.

    Raises
    ------
    ModelError
        If d is not a discrete variable, or the shapes do not fit.

    Examples
    --------
    >>> from modia_py import Discrete, Model, assign, pre
    >>> class Counter(Model):
    ...     count = Discrete(0)
    >>> counter = Counter()
    >>> assign(counter.count, pre(counter.count) + 1)
    assign(count, pre(count) + 1)
    """
    source = user_source()
    target, piece = _target("assign", d, source)
    if piece is None or piece.node.kind is not SymbolKind.DISCRETE:
        raise ModelError(
            f"assign({target}, ...) ({source}): {_what(target, piece)}. Only a Discrete can be assigned "
            f"to; `reinit(x, value)` sets a continuous variable at an event."
        )
    return Assign(target, piece, _value("assign", target, value, source), source)


def reinit(x: Any, value: Any) -> Reinit:
    """Let a continuous variable go on from a new value; an action of `when`.

    Parameters
    ----------
    x : expression
        A variable that is a state of the transformed model, or elements of one.
    value : number, array or expression
        Its new value, from the values before the event.

    Returns
    -------
    Reinit
        For `when`.

    Raises
    ------
    ModelError
        If x is not a variable, or the shapes do not fit.

    Examples
    --------
    >>> from modia_py import Model, Var, reinit
    >>> class Ball(Model):
    ...     v = Var()
    >>> ball = Ball()
    >>> reinit(ball.v, -0.7 * ball.v)
    reinit(v, -0.7*v)
    """
    source = user_source()
    target, piece = _target("reinit", x, source)
    if piece is None or piece.node.kind is not SymbolKind.VARIABLE:
        raise ModelError(
            f"reinit({target}, ...) ({source}): {_what(target, piece)}. Only a Var can be set anew; "
            f"`assign(d, value)` sets a Discrete."
        )
    return Reinit(target, piece, _value("reinit", target, value, source), source)


def terminate(reason: str) -> Terminate:
    """End the run; an action of `when`.

    Parameters
    ----------
    reason : str
        Why, for the result.

    Returns
    -------
    Terminate
        For `when`.

    Raises
    ------
    ModelError
        If the reason is no text.

    Examples
    --------
    >>> from modia_py import terminate
    >>> terminate("the tank is empty")
    terminate('the tank is empty')
    """
    source = user_source()
    if not isinstance(reason, str) or not reason:
        raise ModelError(f"terminate takes the reason as a text, not {reason!r} ({source}).")
    return Terminate(reason, source)


def _target(word: str, value: Any, source: Source) -> tuple[Expr, Any]:
    if isinstance(value, (int, float, str, bool, type(None))):
        raise ModelError(f"{word}({value!r}, ...) ({source}): the first argument is a variable, self.name.")
    target = as_expr(value)
    piece = as_piece(target)
    return target, piece if piece is not None and isinstance(piece.node, Leaf) else None


def _what(target: Expr, piece: Piece | None) -> str:
    if piece is None:
        return f"`{target}` is an expression, and no variable"
    assert isinstance(piece.node, Leaf)
    words = {
        SymbolKind.VARIABLE: "a continuous variable",
        SymbolKind.PARAMETER: "a parameter, which does not change during a run",
        SymbolKind.INPUT: "an input, which is given with the simulation",
        SymbolKind.DISCRETE: "a discrete variable",
        SymbolKind.TIME: "the time",
    }
    return f"{piece.node} is {words[piece.node.kind]}"


def _value(word: str, target: Expr, value: Any, source: Source) -> Expr:
    expr = as_operand(value)
    if expr.dtype == "bool":
        expr = checked_condition(expr, f"The value of {word}")
    elif expr.dtype not in ("float64", "int64"):
        raise ModelError(f"{word}({target}, {expr}) ({source}): the value is not real.")
    if not fits(expr.shape, target.shape):
        raise ModelError(
            f"{word}({target}, {expr}) ({source}): the value has shape {expr.shape}, the target "
            f"{target.shape}. The value is one for all elements, or has one for each."
        )
    return expr

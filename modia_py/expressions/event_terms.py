"""What a user types for events inside of expressions: `where`, `pre`, `edge`, `change`, `sample`, ...

A condition is made of relations, of discrete values and of the functions here, combined by `&`, `|` and
`~`. What cannot be one is refused where it is written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ModelError
from ..source import user_source
from .array_interface import holds_expression
from .equation import Equation
from .event_primitives import (
    CHANGE,
    EDGE,
    EVENT_WHERE,
    HOLDING,
    INITIAL,
    PRE,
    RELATIONS,
    SAMPLE,
    TERMINAL,
)
from .expression import Application, Call, Constant, Expr, Leaf, apply, as_expr, as_operand, call
from .nodes import Node, topological
from .primitives import named, positional
from .symbol_kinds import SymbolKind

CONTINUOUS = (SymbolKind.VARIABLE, SymbolKind.INPUT, SymbolKind.TIME)
_RELATIONS = frozenset(map(named, RELATIONS))
_EQUALITIES = frozenset({named("equal"), named("not_equal")})


def where(condition: Any, a: Any, b: Any, *, event: bool = True) -> Any:
    """Choose between two values, elementwise; the run stops where the choice changes.

    Between events the choice is constant: the integrator sees smooth equations, and a change of the
    condition is located to the tolerance. Relations of time and parameters only are met exactly.

    Parameters
    ----------
    condition : expression
        A relation (`<`, `<=`, `>`, `>=`), a discrete variable (true if it is not zero), an equality of
        discrete values, or a combination of these by `&`, `|`, `~`.
    a, b : number, array or expression
        The value where the condition holds, and where it does not.
    event : bool
        False: without events, as `np.where`.

    Returns
    -------
    Expr
        Of the common shape of the three.

    Raises
    ------
    ModelError
        If the shapes do not fit, or the condition is none.

    Examples
    --------
    >>> from modia_py import Model, Var, der, where
    >>> class Relay(Model):
    ...     x = Var(init=1.0)
    ...     def equations(self):
    ...         return [der(self.x) == where(self.x > 0, -1.0, 2.0)]
    >>> Relay().equations()
    [der(x) == where(x > 0, -1, 2)]
    """
    if isinstance(condition, Equation):
        condition = condition.relation()
    if not event or not holds_expression([condition]):
        return np.where(condition, a, b)
    chosen = checked_condition(condition, "The condition of where")
    args = (chosen, as_expr(a), as_expr(b))
    for branch in args[1:]:
        if branch.dtype not in ("float64", "int64", "bool"):
            raise ModelError(f"`{branch}` in a where is not real ({user_source()}).")
    try:
        np.broadcast_shapes(*(arg.shape for arg in args))
    except ValueError:
        raise ModelError(
            f"The shapes in where(`{chosen}`, `{args[1]}`, `{args[2]}`) do not fit ({user_source()}): the "
            f"condition has shape {chosen.shape}, the branches have {args[1].shape} and {args[2].shape}. "
            f"All three are taken element by element, or are one number for all."
        ) from None
    return apply(EVENT_WHERE, positional(3), args)


def pre(x: Any) -> Any:
    """Give the value before the event: of a discrete variable, a condition, or a continuous variable.

    Parameters
    ----------
    x : expression
        A discrete variable: its value before the present pass of the event. A continuous variable or
        expression: its left limit. Between events `pre(d)` is `d`.

    Returns
    -------
    Expr
        Of the shape of x.

    Raises
    ------
    ModelError
        If x contains a derivative.

    Examples
    --------
    >>> from modia_py import Discrete, Model, assign, pre, sample, when
    >>> class Clock(Model):
    ...     ticks = Discrete(0)
    ...     def equations(self):
    ...         return [when(sample(0.1), assign(self.ticks, pre(self.ticks) + 1))]
    >>> Clock().equations()
    [when(sample(0.1), assign(ticks, pre(ticks) + 1))]
    """
    expr = as_operand(x)
    if isinstance(expr, Constant):
        return expr
    for node in topological([expr]):
        if isinstance(node, Leaf) and node.order > 0:
            raise ModelError(
                f"pre({expr}) contains the derivative {node} ({user_source()}), of which no left limit is "
                f"kept. Declare a Var for it: v == der(x), and pre(v)."
            )
    if expr.dtype == "bool":
        expr = checked_condition(expr, "pre of a condition")
    return call(PRE, expr)


def edge(condition: Any) -> Expr:
    """Tell whether a condition becomes true at this event: `b & ~pre(b)`.

    Parameters
    ----------
    condition : expression
        As for `where`.

    Returns
    -------
    Expr
        A condition, for `when` and `where`.

    Raises
    ------
    ModelError
        If it is no condition.

    Examples
    --------
    >>> from modia_py import Discrete, Model, edge
    >>> class Door(Model):
    ...     open = Discrete(False)
    >>> edge(Door().open)
    edge(open)
    """
    return call(EDGE, checked_condition(condition, "The argument of edge"))


def change(d: Any) -> Expr:
    """Tell whether a discrete value changes at this event: `d != pre(d)`.

    Parameters
    ----------
    d : expression
        A discrete variable, an expression of discrete variables, or a condition.

    Returns
    -------
    Expr
        A condition, for `when` and `where`.

    Raises
    ------
    ModelError
        If it changes continuously.

    Examples
    --------
    >>> from modia_py import Discrete, Model, change
    >>> class Gear(Model):
    ...     gear = Discrete(1)
    >>> change(Gear().gear)
    change(gear)
    """
    expr = as_operand(d)
    if expr.dtype == "bool":
        return call(CHANGE, checked_condition(expr, "The argument of change"))
    if not is_discrete(expr):
        raise ModelError(
            f"change({expr}) ({user_source()}): `{continuous_leaf(expr)}` changes all the time. `change` "
            f"asks for the change of a discrete variable or of a condition."
        )
    return call(CHANGE, expr)


def sample(period: Any, offset: Any = 0.0) -> Expr:
    """Be true at the instants offset, offset + period, offset + 2*period, ... that lie in the run.

    Parameters
    ----------
    period : number, array or expression of parameters
        Positive, in seconds.
    offset : number, array or expression of parameters
        The first instant. Instants before the start of the run do not count.

    Returns
    -------
    Expr
        A condition, for `when`. The instants are met exactly.

    Raises
    ------
    ModelError
        If the period is not positive, or is no number and no expression of parameters. Where it is computed
        from parameters that is found when a run begins.

    Examples
    --------
    >>> from modia_py import sample
    >>> sample(0.1)
    sample(0.1)
    """
    args = [as_expr(period), as_expr(offset)]
    check_instants("sample", dict(zip(("period", "offset"), args, strict=True)))
    if isinstance(args[1], Constant) and not args[1].value.any() and not args[1].shape:
        args = args[:1]
    return apply(SAMPLE, positional(len(args)), tuple(args))


def check_instants(name: str, arguments: dict[str, Expr]) -> None:
    """Complain about instants that are not known before a run, and about a period that is not positive."""
    for word, arg in arguments.items():
        for node in topological([arg]):
            is_event = isinstance(node, Application) and node.primitive in HOLDING
            if is_event or (isinstance(node, Leaf) and node.kind is not SymbolKind.PARAMETER):
                raise ModelError(
                    f"The {word} of a {name} is `{arg}` ({user_source()}), in which `{node}` is no "
                    f"parameter: the instants are known when a run begins. Use `when(time >= next, ...)` "
                    f"with a Discrete `next` for instants that are computed during the run."
                )
    period = arguments["period"]
    if isinstance(period, Constant) and not (np.isfinite(period.value) & (period.value > 0)).all():
        raise ModelError(
            f"A {name} with the period {period} ({user_source()}) has no next instant: the period is a "
            f"positive number of seconds."
        )


def initial() -> Expr:
    """Be true during the event at the start of a run.

    Returns
    -------
    Expr
        A condition: `when(initial(), ...)` acts once, at the start.

    Examples
    --------
    >>> from modia_py import initial
    >>> initial()
    initial()
    """
    return apply(INITIAL, positional(0), ())


def terminal() -> Expr:
    """Be true during the event at the end of a run.

    Returns
    -------
    Expr
        A condition: `when(terminal(), ...)` acts once, at the end.

    Examples
    --------
    >>> from modia_py import terminal
    >>> terminal()
    terminal()
    """
    return apply(TERMINAL, positional(0), ())


def is_discrete(expr: Expr) -> bool:
    """Whether an expression is constant between events."""
    return continuous_leaf(expr) is None


def continuous_leaf(expr: Expr) -> Leaf | None:
    """A leaf that makes an expression change between events; None if it does not.

    Conditions do not: what they choose changes at events only.
    """
    waiting: list[Node] = [expr]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Leaf) and node.kind in CONTINUOUS:
            return node
        primitive = node.primitive if isinstance(node, Application) else None
        if primitive not in HOLDING:
            waiting += node.args[1:] if primitive is EVENT_WHERE else node.args
    return None


def checked_condition(value: Any, word: str) -> Expr:
    """A condition as an expression; or an error that says what is none."""
    if isinstance(value, (list, tuple)):
        raise ModelError(f"{word} is a list ({user_source()}): combine relations by &, | and ~.")
    root = as_operand(value)
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.dtype != "bool":
            if (moving := continuous_leaf(node)) is not None:
                raise ModelError(_no_condition(word, root, node, moving))
        elif isinstance(node, Call) and node.primitive in _EQUALITIES:
            _check_equality(node, word)
        elif isinstance(node, Call) and node.primitive not in _RELATIONS and node.primitive not in HOLDING:
            waiting += [arg for arg in node.args if isinstance(arg, Expr)]
    return root


def _no_condition(word: str, root: Expr, node: Expr, moving: Leaf) -> str:
    inside = f"`{root}`" if node is root else f"`{node}` in `{root}`"
    return (
        f"{word} is {inside} ({user_source()}), a number that changes continuously with `{moving}` and no "
        f"relation: write `{node} > 0`, or whatever makes it true. Relations are combined by &, | and ~, "
        f"each in parentheses: (a > 0) & (b > 0)."
    )


def _check_equality(node: Call, word: str) -> None:
    for side in node.args:
        assert isinstance(side, Expr)
        if (moving := continuous_leaf(side)) is not None:
            raise ModelError(
                f"{word} contains `{node}` ({user_source()}), but `{moving}` changes continuously: whether "
                f"it equals something is a matter of rounding. Use <, <=, > or >=; equalities are for "
                f"discrete variables."
            )


def is_relation(node: Node) -> bool:
    return isinstance(node, Call) and node.primitive in _RELATIONS

"""Time derivatives of expressions and equations.

Linear functions commute with `der`, products follow Leibniz, and any other function becomes one
`jax.jvp` over its arguments (design: no table of derivative rules). The result is an expression like
any other, so it can be differentiated again.
"""

from __future__ import annotations

import warnings
from typing import Any, assert_never

import numpy as np

from ..errors import ModelError, ModelWarning
from ..source import user_source
from .abrupt_parts import jumps_with_variables, remember_derivative
from .equation import Equation
from .event_primitives import HOLDING
from .expression import (
    Bundle,
    Call,
    Constant,
    Expr,
    Item,
    Leaf,
    apply_node,
    as_expr,
    call,
    constant,
    item_of,
    leaf,
    leaves_of,
    rebuild,
    zeros,
)
from .nodes import Node, topological
from .primitives import EACH, JOINT, jvp_of, named, positional
from .symbol_kinds import CONSTANT_BETWEEN_EVENTS, SymbolKind


def der(x: Any) -> Expr:
    """Differentiate with respect to time.

    Parameters
    ----------
    x : expression
        A variable, a slice, an expression, or another derivative: `der(der(s))`.

    Returns
    -------
    Expr
        The derivative, of the shape of x. Linear functions and products are differentiated by rule, any
        other function by `jax.jvp`.

    Raises
    ------
    ModelError
        If the expression jumps: its derivative would be an impulse that is not computed.

    Warns
    -----
    ModelWarning
        For the derivative of a parameter, and where a part of the expression jumps.

    Examples
    --------
    >>> from modia_py import Model, Var, der
    >>> class Point(Model):
    ...     s = Var()
    ...     r = Var(3)
    >>> point = Point()
    >>> der(point.s * point.r)
    der(s)*r + s*der(r)
    >>> der(point.r[1:]).shape
    (2,)
    """
    expr = as_expr(x)
    if isinstance(expr, Leaf) and expr.kind in CONSTANT_BETWEEN_EVENTS:
        word = "a parameter" if expr.kind is SymbolKind.PARAMETER else "constant between events"
        warnings.warn(
            f"der({expr}) is zero ({user_source()}): {expr} is {word}. Declare it as a Var if it "
            f"changes with time.",
            ModelWarning,
            stacklevel=2,
        )
    if jumps := jumps_with_variables([expr]):
        warnings.warn(
            f"der({expr}) has no impulse where `{jumps[0]}` jumps ({user_source()}): if that makes the "
            f"whole expression jump, the result is wrong. Write a ramp in place of the jump.",
            ModelWarning,
            stacklevel=2,
        )
    derivative = moves_with_time(expr)
    if derivative is None:
        if any(node.kind not in CONSTANT_BETWEEN_EVENTS for node in leaves_of(expr)):
            raise ModelError(
                f"der({expr}) is infinite where `{expr}` jumps, and zero elsewhere ({user_source()}): an "
                f"impulse that is not computed. Write a ramp in place of the jump, or do without the "
                f"derivative."
            )
        return zeros(expr.shape)
    assert isinstance(derivative, Expr)
    remember_derivative(derivative, expr)
    return derivative


def differentiate(expr: Expr) -> Expr:
    """d(expr)/dt as an expression."""
    derivative = moves_with_time(expr)
    if derivative is None:
        return zeros(expr.shape)
    assert isinstance(derivative, Expr)
    return derivative


def moves_with_time(node: Node) -> Node | None:
    """The time derivative of a node, None where it is zero."""
    return _derivatives([node])[id(node)]


def differentiate_equation(equation: Equation) -> Equation:
    """The equation whose sides are the derivatives of the sides."""
    table = _derivatives([equation.lhs, equation.rhs])
    lhs, rhs = (
        zeros(side.shape) if table[id(side)] is None else table[id(side)]
        for side in (equation.lhs, equation.rhs)
    )
    return Equation(lhs, rhs, equation.source)


def _derivatives(roots: list[Any]) -> dict[int, Any]:
    """The derivative of every node below the roots; None where it is zero."""
    table: dict[int, Any] = {}
    for node in topological(roots):
        if isinstance(node, Leaf):
            table[id(node)] = _of_leaf(node)
        elif isinstance(node, Constant):
            table[id(node)] = None
        elif isinstance(node, Item):
            bundle = table[id(node.args[0])]
            table[id(node)] = None if bundle is None else item_of(bundle, node.place)
        elif isinstance(node, (Call, Bundle)):
            moving = [table[id(arg)] for arg in node.args]
            is_smooth = isinstance(node, Bundle) or node.dtype in ("float64", "complex128")
            is_smooth = is_smooth and node.primitive not in HOLDING  # constant between events
            table[id(node)] = _of_call(node, moving) if is_smooth and any_moves(moving) else None
    return table


def any_moves(derivatives: list[Any]) -> bool:
    return any(derivative is not None for derivative in derivatives)


def _of_leaf(node: Leaf) -> Expr | None:
    match node.kind:
        case SymbolKind.PARAMETER | SymbolKind.DISCRETE:
            return None
        case SymbolKind.TIME:
            return constant(1.0) if node.order == 0 else None
        case SymbolKind.VARIABLE | SymbolKind.INPUT:
            return leaf(node.symbol, node.lead, node.order + 1)
        case _:
            assert_never(node.kind)


def _of_call(node: Call | Bundle, moving: list[Any]) -> Node:
    """The derivative of a call; derivatives have the shapes of what they are derivatives of."""
    active = {place for place, derivative in enumerate(moving) if derivative is not None}
    linear = node.linear
    if linear == EACH:
        return _sum([_product(node, place, moving[place]) for place in sorted(active)])
    if linear == JOINT:
        if isinstance(node, Call) and node.primitive is named("add"):
            return _broadcast(_sum([moving[place] for place in sorted(active)]), node)
        if isinstance(node, Call) and node.primitive is named("subtract") and len(active) == 1:
            derivative = moving[0] if 0 in active else -moving[1]
            return _broadcast(derivative, node)
        return rebuild(node, tuple(map(_or_zeros, moving, node.args)))
    if isinstance(linear, frozenset) and active <= linear:
        args = (
            _or_zeros(moving[place], arg) if place in linear else arg for place, arg in enumerate(node.args)
        )
        return rebuild(node, tuple(args))
    primitive = jvp_of(
        node.primitive, node.signature, tuple(derivative is not None for derivative in moving)
    )
    tangents = [derivative for derivative in moving if derivative is not None]
    arguments = (*node.args, *tangents)
    return apply_node(primitive, positional(len(arguments)), arguments)[0]


def _product(node: Call | Bundle, place: int, derivative: Any) -> Any:
    """A product with one factor replaced by its derivative."""
    if node.primitive is named("multiply") and derivative is constant(1.0):  # d(time)/dt
        other = node.args[1 - place]
        if isinstance(other, Constant):
            other = constant(other.value.astype(np.float64))
        if isinstance(other, Expr) and isinstance(node, Call) and other.shape == node.shape:
            return other if other.dtype == "float64" else other * 1.0
    return rebuild(node, (*node.args[:place], derivative, *node.args[place + 1 :]))


def _or_zeros(derivative: Any, arg: Any) -> Any:
    return zeros(arg.shape) if derivative is None else derivative


def _sum(terms: list[Any]) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _broadcast(derivative: Expr, node: Call) -> Expr:
    if derivative.shape == node.shape:
        return derivative
    return call(named("broadcast_to"), derivative, node.shape)

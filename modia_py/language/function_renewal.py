"""A flat model with the functions of its user as they are now.

Equations contain traces of these functions, made when the equations were written. A run asks whether the
functions still do the same; where one does not, the equations that call it are made again, and everything
that follows from them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..errors import ModelError
from ..expressions.equation import Equation
from ..expressions.expression import Bundle, Call, Expr, apply_node, rebuild
from ..expressions.nodes import Node, topological
from ..expressions.primitives import Primitive, renewed
from .flat_model import Binding, FlatEquation, FlatModel, Placed


def functions_of(flat: FlatModel) -> tuple[Primitive, ...]:
    """The primitives in the equations and bindings of a model that are traces of a user's functions."""
    found: dict[int, Primitive] = {}
    for node in topological(_roots(flat)):
        if isinstance(node, (Call, Bundle)) and is_trace(node.primitive):
            found[id(node.primitive)] = node.primitive
    return tuple(found.values())


def is_trace(primitive: Primitive) -> bool:
    """Whether a primitive is a function of the user, or a derivative of one."""
    while primitive.derivative_of is not None:
        primitive = primitive.derivative_of[0]
    return primitive.use is not None


def with_current_functions(flat: FlatModel, functions: tuple[Primitive, ...]) -> FlatModel:
    """The model with its functions traced now; the same one if all of them do what they did."""
    now = {id(primitive): renewed(primitive) for primitive in functions}
    if all(now[id(primitive)] is primitive for primitive in functions):
        return flat
    table: dict[int, Node] = {}
    roots = _roots(flat)
    for node in topological(roots):
        table[id(node)] = _in_new_terms(node, table, now)
    equations: dict[int, Equation] = {}

    def of_equation(entry: FlatEquation) -> FlatEquation:
        old = entry.equation
        if id(old) not in equations:
            lhs, rhs = table[id(old.lhs)], table[id(old.rhs)]
            same = lhs is old.lhs and rhs is old.rhs
            equations[id(old)] = old if same else Equation(lhs, rhs, old.source, old.hints)
        return replace(entry, equation=equations[id(old)])

    parts: dict[int, Any] = {}

    def of_part(entry: Placed) -> Placed:
        old = entry.part
        if id(old) not in parts:
            new = [table[id(expr)] for expr in old.expressions()]
            parts[id(old)] = old.with_expressions(new)
        return replace(entry, part=parts[id(old)])

    def of_binding(binding: Binding) -> Binding:
        value = table[id(binding.value)]
        assert isinstance(value, Expr)
        return replace(binding, value=value)

    return replace(
        flat,
        equations=tuple(map(of_equation, flat.equations)),
        initial_equations=tuple(map(of_equation, flat.initial_equations)),
        relations=tuple(map(of_part, flat.relations)),
        samples=tuple(map(of_part, flat.samples)),
        left_limits=tuple(map(of_part, flat.left_limits)),
        actions=tuple(map(of_part, flat.actions)),
        bindings=tuple(map(of_binding, flat.bindings)),
        discrete_bindings=tuple(map(of_binding, flat.discrete_bindings)),
        init_bindings=tuple(map(of_binding, flat.init_bindings)),
        guess_bindings=tuple(map(of_binding, flat.guess_bindings)),
    )


def _in_new_terms(node: Node, table: dict[int, Node], now: dict[int, Primitive]) -> Node:
    args = tuple(table[id(arg)] for arg in node.args)
    if not node.args:
        return node
    primitive = now.get(id(node.primitive)) if isinstance(node, (Call, Bundle)) else None
    if isinstance(node, (Call, Bundle)) and primitive is not None and primitive is not node.primitive:
        made, _ = apply_node(primitive, node.signature, args)
        if _results(made) != _results(node):
            raise ModelError(
                f"The function {primitive.name} returned {_results(node)} (shape and type) when its "
                f"equations were written, and now returns {_results(made)}. Translate the model again."
            )
        return made
    return node if all(a is b for a, b in zip(args, node.args, strict=True)) else rebuild(node, args)


def _results(node: Any) -> Any:
    return node.results if isinstance(node, Bundle) else (node.shape, node.dtype)


def _roots(flat: FlatModel) -> list[Node]:
    equations: Iterable[FlatEquation] = (*flat.equations, *flat.initial_equations)
    unique = {id(entry.equation): entry.equation for entry in equations}.values()
    bindings = (*flat.bindings, *flat.discrete_bindings, *flat.init_bindings, *flat.guess_bindings)
    placed = (*flat.relations, *flat.samples, *flat.left_limits, *flat.actions)
    parts = {id(entry.part): entry.part for entry in placed}.values()
    return [
        *(side for e in unique for side in (e.lhs, e.rhs)),
        *(b.value for b in bindings),
        *(expr for part in parts for expr in part.expressions()),
    ]

"""Whether the units on both sides of an equation, and of a sum in it, are the same.

What has no unit is unknown, and so is all that it is multiplied with: nothing is said of it. Small numbers
(1/2, 4 pi) are numbers without a unit, which go with everything; other ones (9.81, 1e-3) may have a unit
that nobody wrote, and are unknown. So is the time, and what functions other than arithmetic return.
Equations of one component class are looked at once.
"""

from __future__ import annotations

import math
from typing import Any

from ..expressions.equation import Equation
from ..expressions.expression import Call, Constant, Leaf
from ..expressions.nodes import Node, topological
from ..expressions.printing import clip_text, expression_text
from ..expressions.symbol_kinds import SymbolKind
from ..units import KELVIN, ONE, SECOND, Unit, near_unit, parse_unit
from .flat_model import FlatEquation, FlatModel

NUMBER = "number"
Known = Unit | str | None  # of a unit, a plain number, or unknown

MOST = 8
SIMPLE, DENOMINATORS = 12, (1, 2, 3, 4, 6, 8, 12)
"""Largest numerator, and the denominators, of numbers that have no unit: 0.1 and 0.2 are coefficients."""
SUMS = frozenset("add subtract maximum minimum less less_equal greater greater_equal equal hypot".split())
RELATIONS = frozenset("less less_equal greater greater_equal equal not_equal".split())
PRODUCTS = frozenset("multiply matmul dot cross outer inner".split())
SAME = frozenset(
    "negative positive absolute abs sum mean max min reshape transpose ravel broadcast_to diff flip roll "
    "diagonal trace squeeze cumsum real".split()
)
JOINS = frozenset("stack concatenate where".split())
ANGLES = frozenset("sin cos tan exp log arctan arctan2 tanh sinh cosh sign".split())


class Conflict(Exception):
    """Two operands whose units differ."""

    def __init__(self, left: Node, right: Node, units: tuple[Unit, Unit]):
        self.left, self.right, self.units = left, right, units


def unit_conflicts(flat: FlatModel) -> list[str]:
    """A sentence for each equation whose units do not fit."""
    if not any(symbol.symbol.unit for symbol in flat.by_name.values()):
        return []
    found: list[str] = _unknown_units(flat)
    seen: set[int] = set()
    table: dict[int, Known] = {}
    for entry in (*flat.equations, *flat.initial_equations):
        if id(entry.equation) in seen:
            continue
        seen.add(id(entry.equation))
        try:
            _check(entry.equation, table)
        except Conflict as conflict:
            found.append(_text(entry, conflict))
    if len(found) > MOST:
        found = [*found[:MOST], f"... and {len(found) - MOST} more equations whose units differ."]
    return found


def _unknown_units(flat: FlatModel) -> list[str]:
    """A sentence about units that are none, or that the table lacks."""
    named = {}
    for symbol in flat.by_name.values():
        unit = symbol.symbol.unit
        if unit and unit not in named and parse_unit(unit) is None:
            named[unit] = symbol.name
    texts = [f"'{unit}' (of {name})" for unit, name in named.items()]
    if not texts:
        return []
    near = [f"'{found}'" for unit in named if (found := near_unit(unit)) is not None]
    more = f" and {len(texts) - MOST} more" if len(texts) > MOST else ""
    return [
        f"Unknown unit {', '.join(texts[:MOST])}{more}: what has it is not compared."
        + (f" Did you mean {', '.join(near[:MOST])}?" if near else "")
        + " What is counted stands in braces: unit='{people}'."
    ]


def _text(entry: FlatEquation, conflict: Conflict) -> str:
    left, right = (
        clip_text(expression_text(side, entry.owner.naming), 60) for side in (conflict.left, conflict.right)
    )
    equation = entry.equation
    is_whole = {id(conflict.left), id(conflict.right)} == {id(equation.lhs), id(equation.rhs)}
    what = "sides" if is_whole else f"terms `{left}` and `{right}`"
    units = conflict.units
    shown = [_unit_text(*each) for each in zip((conflict.left, conflict.right), units, strict=True)]
    text = (
        f"The {what} of `{entry}` ({equation.source}) have different units: `{left}` is in {shown[0]}, "
        f"`{right}` in {shown[1]}."
    )
    if units[0].converts_to(units[1]):
        text += " Both measure the same; numbers are not converted."
    return text


def _unit_text(node: Node, unit: Unit) -> str:
    """As it was declared, for a variable."""
    is_declared = isinstance(node, Leaf) and node.order == 0
    return node.symbol.unit if is_declared else str(unit)  # type: ignore[attr-defined]


def _check(equation: Equation, table: dict[int, Known]) -> None:
    for node in topological([equation.lhs, equation.rhs]):
        if id(node) not in table:
            table[id(node)] = None  # where a conflict is found, it is said once
            table[id(node)] = _of(node, table)
    _joined(equation.lhs, equation.rhs, table)


def _joined(left: Node, right: Node, table: dict[int, Known]) -> Known:
    """The unit of two operands that have to have the same."""
    a, b = table.get(id(left)), table.get(id(right))
    if isinstance(a, Unit) and isinstance(b, Unit) and not a.equals(b):
        raise Conflict(left, right, (a, b))
    if a is None or b is None:
        return None
    return a if isinstance(a, Unit) else b


def _of(node: Node, table: dict[int, Known]) -> Known:
    if isinstance(node, Constant):
        return NUMBER if _is_simple(node) else None
    if isinstance(node, Leaf):
        return _of_leaf(node)
    if not isinstance(node, Call):
        return None
    name, args = node.primitive.known_name, node.args
    own = [table.get(id(arg)) for arg in args]
    if name in SUMS and len(args) == 2:
        if name in ("add", "subtract") and (found := _of_temperatures(name, own)) is not None:
            return found
        found = _joined(args[0], args[1], table)
        return NUMBER if name in RELATIONS else found
    if name in JOINS:
        values = own[1:] if name == "where" else own  # where(engaged, w_rel, tau) == 0 is meant
        return values[0] if all(each == values[0] for each in values) else None
    if name in SAME or name == "getitem":
        return own[0] if own else None
    if name in PRODUCTS and len(args) == 2:
        return _product(own[0], own[1], 1)
    if name == "divide" and len(args) == 2:
        return _product(own[0], own[1], -1)
    if name in ("square", "sqrt") and isinstance(own[0], Unit):
        return None if own[0].offset else own[0] ** (2 if name == "square" else 0.5)
    if name == "power":
        return _power(node, own)
    return NUMBER if name in ANGLES else None


def _of_leaf(node: Leaf) -> Known:
    if node.kind is SymbolKind.TIME or node.symbol.unit is None:
        return None
    unit = parse_unit(node.symbol.unit)
    if unit is None or node.order <= 0:
        return unit
    return Unit(unit.dimension, unit.factor) / SECOND**node.order


def _of_temperatures(name: str, own: list[Known]) -> Known:
    """Sums with temperatures that do not begin at absolute zero: differences of them are kelvins."""
    a, b = own
    if not isinstance(a, Unit) or not isinstance(b, Unit) or not (a.offset or b.offset):
        return None
    if a.offset and a.equals(b):
        return Unit(KELVIN.dimension, a.factor) if name == "subtract" else None
    if a.offset and b.equals(Unit(a.dimension, a.factor)):
        return a
    if b.offset and name == "add" and a.equals(Unit(b.dimension, b.factor)):
        return b
    return None


def _product(a: Known, b: Known, sign: int) -> Known:
    if a is None or b is None:
        return None
    if isinstance(a, str) and isinstance(b, str):
        return NUMBER
    first, second = (ONE if isinstance(each, str) else each for each in (a, b))
    assert isinstance(first, Unit)
    assert isinstance(second, Unit)
    if first.offset or second.offset:
        return None
    return first * second**sign


def _power(node: Call, own: list[Known]) -> Known:
    arguments, _ = node.signature.bind(node.args)
    exponent: Any = arguments[1] if len(arguments) == 2 else None
    if isinstance(exponent, Constant) and exponent.size == 1:
        exponent = exponent.value.item()
    if not isinstance(exponent, (int, float)) or own[0] is None:
        return None
    if isinstance(own[0], str):
        return NUMBER
    assert isinstance(own[0], Unit)
    return None if own[0].offset else own[0] ** float(exponent)


def _is_simple(node: Constant) -> bool:
    if node.size > 36:
        return False
    return all(_is_simple_number(abs(float(value))) for value in node.value.ravel())


def _is_simple_number(value: float) -> bool:
    for unit in (1.0, math.pi):
        for denominator in DENOMINATORS:
            numerator = value / unit * denominator
            if numerator <= SIMPLE and abs(numerator - round(numerator)) < 1e-12:
                return True
    return False

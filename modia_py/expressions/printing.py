"""Expressions and equations as text that a person reads: `m*der(v) == f + m*g + u`.

The text is emitted from an explicit stack, so depth does not matter, and it stops at a length that
nobody would read past: a shared graph can be exponentially longer as text than it is as a graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .calculus import moves_with_time
from .equation import Equation
from .expression import Bundle, Call, Constant, Item, Leaf, index_of
from .indexing import Index
from .nodes import Node
from .primitives import DYNAMIC, Primitive, Signature

# A segment of a dotted name, and whether it is a component array whose axis the leaf shows.
Segments = list[tuple[str, bool]]
Naming = Callable[[Leaf], Segments]
Part = str | tuple[Node, int]

LONGEST_TEXT = 2000
MOST_IN_LINE = 6
"""Larger arrays whose elements are equal are printed as such."""
MOST_NUMBERS = 9
"""Larger arrays of numbers are printed by their shape: this is a rotation matrix."""
LONGEST_IN_LISTS = 160

# How tightly an operator binds. An operand on the right of its operator needs one more.
RELATION, SUM, PRODUCT, SIGN, POWER, ATOM = range(2, 14, 2)
MAY_BEGIN_WITH_A_SIGN = (0, RELATION, SUM, PRODUCT)
INFIX = {
    "add": (" + ", SUM),
    "subtract": (" - ", SUM),
    "multiply": ("*", PRODUCT),
    "divide": ("/", PRODUCT),
    "matmul": (" @ ", PRODUCT),
    "floor_divide": ("//", PRODUCT),
    "remainder": (" % ", PRODUCT),
    "power": ("**", POWER),
    "less": (" < ", RELATION),
    "less_equal": (" <= ", RELATION),
    "greater": (" > ", RELATION),
    "greater_equal": (" >= ", RELATION),
    "not_equal": (" != ", RELATION),
    "equal": (" == ", RELATION),
    "logical_and": (" & ", RELATION),
    "logical_or": (" | ", RELATION),
}
PREFIX = {"negative": "-", "logical_not": "~"}


def symbol_segments(leaf: Leaf) -> Segments:
    """The name of a leaf from the root of the model it belongs to."""
    segments: Segments = leaf.symbol.segments()
    hidden = sum(is_array for _, is_array in segments) - len(leaf.lead)
    shown: Segments = []
    for name, is_array in segments:
        shown.append((name, is_array and hidden <= 0))
        hidden -= is_array
    return shown


def expression_text(expr: Node, naming: Naming = symbol_segments, longest: int = LONGEST_TEXT) -> str:
    return _emit([(expr, 0)], naming, longest)


def equation_text(equation: Equation, naming: Naming = symbol_segments, longest: int = LONGEST_TEXT) -> str:
    label = f"{equation.source.label}: " if equation.source.label else ""
    lhs, rhs = equation.written or (equation.lhs, equation.rhs)
    return label + _emit([(lhs, SUM), " == ", (rhs, SUM)], naming, longest)


def der_text(name: str, order: int) -> str:
    """`x`, `der(x)`, `der2(x)`, ...; -1 is the value before an event, `pre(x)`."""
    if order <= 0:
        return name if order == 0 else f"pre({name})"
    return f"der({name})" if order == 1 else f"der{order}({name})"


def index_text(position: int, shape: tuple[int, ...]) -> str:
    """An element of an array as it is indexed in equations.

    >>> index_text(20, (3, 7)), index_text(2, (3,))
    ('2, 6', '2')
    """
    return ", ".join(str(int(k)) for k in np.unravel_index(position, shape))


def _emit(parts: list[Part], naming: Naming, longest: int) -> str:
    stack = list(reversed(parts))
    pieces: list[str] = []
    length = 0
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            pieces.append(part)
            length += len(part)
            if length > longest:
                return "".join(pieces) + " ..."
        else:
            stack.extend(reversed(_parts(*part, naming)))
    return "".join(pieces)


def _parts(node: Node, precedence: int, naming: Naming) -> list[Part]:
    if isinstance(node, Constant):
        text = _constant_text(node.value)
        bare = not text.startswith("-") or precedence in MAY_BEGIN_WITH_A_SIGN
        return [text if bare else f"({text})"]
    if isinstance(node, Leaf):
        if (written := node.symbol.written) is not None:
            return ["pre(", (written, 0), ")"] if node.order else [(written, precedence)]
        return [_leaf_text(node, None, naming)]
    if isinstance(node, Item):
        return [(node.args[0], ATOM), f"[{node.place}]"]
    assert isinstance(node, (Call, Bundle))
    if isinstance(node, Call) and (index := index_of(node)) is not None:
        array = node.args[0]
        if isinstance(array, Leaf) and array.symbol.written is None:
            return [_leaf_text(array, index, naming)]
        return [(array, ATOM), f"[{index}]"]
    return _call_parts(node.primitive, node.signature, node.args, precedence)


def _call_parts(
    primitive: Primitive, signature: Signature, args: tuple[Node, ...], precedence: int
) -> list[Part]:
    if primitive.derivative_of is not None:
        return _derivative_parts(primitive, args)
    arguments, keywords = signature.bind(args)
    if primitive.known_name in PREFIX and len(args) == 1:
        parts: list[Part] = [PREFIX[primitive.name], (args[0], SIGN)]
        return parts if precedence in MAY_BEGIN_WITH_A_SIGN else ["(", *parts, ")"]
    if primitive.known_name in INFIX and len(arguments) == 2:
        symbol, own = INFIX[primitive.name]
        # Left to right, except that powers group to the right.
        left, right = (own + 1, own) if own == POWER else (own, own + 1)
        if own == RELATION:  # Python chains relations, and binds & and | tighter
            left = right = SUM
        parts = [*_argument(arguments[0], left), symbol, *_argument(arguments[1], right)]
        return ["(", *parts, ")"] if precedence > own else parts
    listed: list[Part] = []
    for value in arguments:
        listed += [", ", *_argument(value, 0)]
    for name, value in keywords.items():
        if value is not None and (name, value) != ("keepdims", False):
            listed += [f", {name}=", *_argument(value, 0)]
    return [f"{primitive.name}(", *listed[1:], ")"]


def _derivative_parts(primitive: Primitive, args: tuple[Node, ...]) -> list[Part]:
    """A directional derivative: `der(...)` of what was differentiated, if the direction is time's."""
    assert primitive.derivative_of is not None
    base, signature = primitive.derivative_of
    count = sum(value is DYNAMIC for value in signature.leaves)
    primals, tangents = args[:count], args[count:]
    moving = [d for arg in primals if (d := moves_with_time(arg)) is not None]
    if len(moving) == len(tangents) and all(d is t for d, t in zip(moving, tangents, strict=True)):
        inner = _call_parts(base, signature, primals, 0)
        if base.derivative_of is not None:  # der(der(f)) reads der2(f)
            return _higher_order(inner)
        return ["der(", *inner, ")"]
    listed: list[Part] = []
    for mark, members in (("", primals), ("; ", tangents)):
        for k, member in enumerate(members):
            listed += [", " if k else mark, (member, 0)]
    return [f"{base.name}'(", *listed, ")"]


def _higher_order(inner: list[Part]) -> list[Part]:
    head = inner[0]
    if not isinstance(head, str) or not head.startswith("der"):
        return ["der(", *inner, ")"]
    order = int(head[3:-1] or "1") + 1
    return [f"der{order}(", *inner[1:]]


def _argument(value: Any, precedence: int) -> list[Part]:
    if isinstance(value, Node):
        return [(value, precedence)]
    if isinstance(value, (list, tuple)):  # as deep as the user nested brackets: a few levels
        members: list[Part] = []
        for member in value:
            members += [", ", *_argument(member, 0)]
        opening, closing = "[]" if isinstance(value, list) else "()"
        comma = "," if isinstance(value, tuple) and len(value) == 1 else ""
        return [opening, *members[1:], comma + closing]
    return [repr(value)]


def _leaf_text(leaf: Leaf, index: Index | None, naming: Naming) -> str:
    """A leaf with an index, whose leading items go to the component arrays on the path."""
    segments = naming(leaf)
    items = list(index.items) if index is not None else []
    shown = sum(is_array for _, is_array in segments)
    on_path, on_leaf = items[:shown], items[shown:]
    zipped = sum(isinstance(item, np.ndarray) for item in items) > 1
    if zipped or all(_is_all(item) for item in on_path) or not all(map(_fits_one_axis, on_path)):
        on_path, on_leaf = [], items
    elif on_leaf:  # the axes that are left of the arrays on the path come first
        on_leaf = [slice(None) for item in on_path if not isinstance(item, int)] + on_leaf
    text: list[str] = []
    for name, is_array in segments:
        item = on_path.pop(0) if is_array and on_path else slice(None)
        text.append(name if _is_all(item) else f"{name}[{Index((item,))}]")
    brackets = f"[{Index(tuple(on_leaf))}]" if on_leaf else ""
    return der_text(".".join(text) + brackets, leaf.order)


def _fits_one_axis(item: Any) -> bool:
    return isinstance(item, (int, slice)) or (isinstance(item, np.ndarray) and item.ndim == 1)


def _is_all(item: Any) -> bool:
    return isinstance(item, slice) and item == slice(None)


def _constant_text(value: np.ndarray) -> str:
    if value.ndim == 0:
        return f"{value.item():.10g}" if value.dtype.kind == "f" else str(value.item())
    if value.ndim == 2 and len(value) > 1 and np.array_equal(value, np.eye(*value.shape)):
        return f"eye({len(value)})" if value.shape == (len(value),) * 2 else f"eye{value.shape}"
    if value.size > MOST_IN_LINE and value.min() == value.max():
        return f"full({value.shape}, {value.flat[0]:.10g})"
    if value.size <= MOST_NUMBERS:
        return str([_rounded(member) for member in value.tolist()])
    return f"array{value.shape}".replace(",)", ")")


def _rounded(member: Any) -> Any:
    if isinstance(member, list):
        return [_rounded(inner) for inner in member]
    return float(f"{member:.10g}") if isinstance(member, float) else member


def clip_text(expr: object, longest: int = 120) -> str:
    """A short form for messages."""
    text = str(expr)
    return text if len(text) <= longest else text[: longest - 4] + " ..."

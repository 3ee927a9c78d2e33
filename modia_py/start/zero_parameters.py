"""Parameters whose value zero explains why equations cannot be evaluated or solved.

A parameter that may be zero is never divided by in the transformation; but a user's own equation may do so,
`i == u/R`, or may lose its unknown, `L*der(i) == u`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..arrays.structure import NONE
from ..expressions.expression import Call, Expr, Leaf, leaves_of
from ..expressions.nodes import topological
from ..expressions.primitives import named
from ..expressions.printing import expression_text
from ..expressions.symbol_kinds import SymbolKind
from ..language.flat_model import FlatEquation
from ..lowering.batches import Location, Use, make_batches
from ..program.program import Program

LISTED = 6
PRODUCTS = ("multiply", "matmul", "dot")


def zero_divisors(program: Program, nodes: Iterable[int], p: np.ndarray) -> list[str]:
    """Texts about what equations divide by that is zero, made of parameters and numbers only."""
    texts = []
    for flat in _written(program, nodes):
        for divisor in _divisors(flat.equation.residual()):
            leaves = leaves_of(divisor)
            if not leaves or any(leaf.kind is not SymbolKind.PARAMETER for leaf in leaves):
                continue
            (batch,) = make_batches([_use(program, flat, divisor)])
            zero = np.asarray(batch({"p": p, "time": 0.0})) == 0.0
            if zero.any():
                text = expression_text(divisor, flat.naming)
                of_copies = zero.reshape(flat.owner.copies, -1).any(axis=1)
                copies = np.flatnonzero(of_copies) if flat.owner.lead else np.zeros(0, int)
                where = f", copy {', '.join(map(str, copies[:LISTED]))}" if len(copies) else ""
                texts.append(
                    f"{text} is zero, and is divided by in `{flat}` ({flat.equation.source}{where})"
                )
    return list(dict.fromkeys(texts))[:LISTED]


def zero_parameters(
    program: Program, nodes: Iterable[int], p: np.ndarray, *, factors: bool = False
) -> list[str]:
    """Names of parameters in equations whose values are all zero; perhaps only `factors` of variables."""
    model = program.structure.flat
    names: dict[str, None] = {}
    for flat in _written(program, nodes):
        for leaf in _factors(flat.equation.residual()) if factors else flat.equation.leaves:
            if leaf.kind is not SymbolKind.PARAMETER:
                continue
            symbol = model.resolve(leaf, flat.owner)
            if not np.any(p[symbol.offset : symbol.offset + symbol.size]):
                names[symbol.name] = None
    return list(names)[:LISTED]


def _factors(expr: Expr) -> list[Leaf]:
    """Parameters that something with a variable in it is multiplied with."""
    found = []
    for node in topological([expr]):
        if isinstance(node, Call) and node.primitive.known_name in PRODUCTS and len(node.args) == 2:
            for own, other in (node.args, node.args[::-1]):
                moves = any(leaf.kind is SymbolKind.VARIABLE for leaf in leaves_of(other))
                if isinstance(own, Leaf) and moves:
                    found.append(own)
    return found


def _written(program: Program, nodes: Iterable[int]) -> list[FlatEquation]:
    """The equations as the user wrote them, of nodes of the final structure."""
    model, transformed = program.structure, program.transformed
    integral = transformed.structure.integral_of_equation()
    numbers: dict[int, None] = {}
    for node in nodes:
        while integral[node] != NONE:
            node = int(integral[node])
        numbers[int(model.equation_of[transformed.simplified.equations[node]])] = None
    return [model.flat.equations[number] for number in numbers]


def _divisors(expr: Expr) -> list[Expr]:
    """What an expression divides by, as `a/b`, `b**-1` or a reciprocal."""
    found = []
    for node in topological([expr]):
        if not isinstance(node, Call):
            continue
        if node.primitive is named("divide"):
            found.append(node.args[1])
        elif node.primitive is named("reciprocal") or _is_negative_power(node):
            found.append(node.args[0])
    return [node for node in found if isinstance(node, Expr)]


def _is_negative_power(node: Call) -> bool:
    if node.primitive is not named("power"):
        return False
    arguments, _ = node.signature.bind(node.args)
    exponent = arguments[1] if len(arguments) > 1 else None
    value = getattr(exponent, "value", exponent)
    return isinstance(value, (int, float, np.ndarray)) and bool(np.any(np.asarray(value) < 0))


def _use(program: Program, flat: FlatEquation, divisor: Expr) -> Use:
    lead = flat.owner.lead

    def locate(leaf: Leaf) -> Location:
        symbol = program.structure.flat.resolve(leaf, flat.owner)
        return Location("p", symbol.offset, symbol.copy_strides(leaf, lead))

    return Use(divisor, lead, locate)

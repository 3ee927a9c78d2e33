"""Where an equation cannot be evaluated: the first operation in it that makes infinity or NaN of numbers.

The equations as written are evaluated node by node, for all copies at once, with the values of all
variables. An operation is to blame whose operands are finite and whose value is not.
"""

from __future__ import annotations

from typing import Any, assert_never

import jax.numpy as jnp
import numpy as np

from ..arrays.structure import NONE
from ..expressions.expression import Bundle, Call, Constant, Expr, Leaf
from ..expressions.lanes import calls_lapack, lanes
from ..expressions.nodes import Node, topological
from ..expressions.printing import expression_text
from ..expressions.symbol_kinds import CONSTANT_BETWEEN_EVENTS, SymbolKind
from ..expressions.templates import node_value
from ..language.flat_model import FlatEquation, FlatModel
from ..program.program import Arguments, Program

MOST_NODES = 3000
"""Of one equation; longer ones are left out."""


def undefined_operations(
    program: Program, t: float, w: np.ndarray, arguments: Arguments, most: int
) -> list[str]:
    """Sentences about operations that are not defined, at most so many."""
    flat, values = program.structure.flat, program.functions.value_map
    place = np.where(values.place == NONE, values.zero, values.place).reshape(-1)
    u = np.asarray(program.inputs(jnp.asarray(t, float), arguments))
    vectors = {
        SymbolKind.VARIABLE: values.sign.reshape(-1) * w[place],
        SymbolKind.PARAMETER: np.asarray(arguments.p),
        SymbolKind.DISCRETE: np.asarray(arguments.p),
        SymbolKind.INPUT: u,
        SymbolKind.TIME: np.array([t]),
    }
    found: dict[str, None] = {}
    for equation in flat.equations:
        for text in _of_equation(flat, equation, vectors):
            found[text] = None
        if len(found) >= most:
            break
    return list(found)[:most]


def _of_equation(
    flat: FlatModel, equation: FlatEquation, vectors: dict[SymbolKind, np.ndarray]
) -> list[str]:
    nodes = list(topological([equation.equation.lhs, equation.equation.rhs]))
    if len(nodes) > MOST_NODES or all(isinstance(node, (Leaf, Constant)) for node in nodes):
        return []
    copies = equation.owner.copies
    leaves = [node for node in nodes if isinstance(node, Leaf)]
    values = [_leaf_values(flat, equation, leaf, vectors) for leaf in leaves]
    if copies and leaves:
        axes = (0,) * len(values)
        results = lanes(lambda *own: _all_values(nodes, leaves, own), axes, calls_lapack(nodes))(*values)
    else:
        results = [value[None] for value in _all_values(nodes, [], ())]
    by_id = {id(node): np.asarray(value) for node, value in zip(nodes, results, strict=True)}
    sides = [_finite(by_id[id(side)]) for side in (equation.equation.lhs, equation.equation.rhs)]
    undefined = ~(sides[0] & sides[1])
    texts = []
    for node in nodes:
        if isinstance(node, Call):
            bad = np.flatnonzero(_bad_copies(node, by_id) & undefined)
            texts += [_text(equation, node, by_id, copy) for copy in bad[:1].tolist()]
    return texts


def _leaf_values(
    flat: FlatModel, equation: FlatEquation, leaf: Leaf, vectors: dict[SymbolKind, np.ndarray]
) -> np.ndarray:
    """The values of a leaf for all copies of its equation, copy after copy."""
    copies, kind = equation.owner.copies, leaf.kind
    vector = vectors[kind]
    match kind:  # how far the next derivatives are in its vector
        case SymbolKind.TIME:
            return np.broadcast_to(vector[0], (copies,))
        case SymbolKind.VARIABLE:
            count = flat.unknowns
        case SymbolKind.INPUT:
            count = sum(entry.size for entry in flat.inputs)
        case SymbolKind.PARAMETER | SymbolKind.DISCRETE:
            count = 0
        case _:
            assert_never(kind)
    first = flat.resolve(leaf, equation.owner).copy_starts(leaf, equation.owner.lead)
    shift = flat.shift_in_p(kind, leaf.order) if kind in CONSTANT_BETWEEN_EVENTS else leaf.order * count
    elements = first[:, None] + np.arange(leaf.size) + shift
    known = np.where(elements < len(vector), vector[np.minimum(elements, len(vector) - 1)], 0.0)
    return known.reshape(copies, *leaf.shape)


def _all_values(nodes: list[Node], leaves: list[Leaf], own: tuple[Any, ...]) -> list[Any]:
    results: dict[int, Any] = {id(leaf): value for leaf, value in zip(leaves, own, strict=True)}
    for node in nodes:
        if isinstance(node, Constant):
            results[id(node)] = jnp.asarray(node.value)
        elif not isinstance(node, Leaf):
            results[id(node)] = node_value(node, results)
    return [jnp.zeros(()) if isinstance(node, Bundle) else jnp.asarray(results[id(node)]) for node in nodes]


def _finite(values: np.ndarray) -> np.ndarray:
    """Of each copy."""
    return np.isfinite(values).reshape(len(values), -1).all(axis=1)


def _bad_copies(node: Call, by_id: dict[int, np.ndarray]) -> np.ndarray:
    bad = ~_finite(by_id[id(node)])
    for argument in node.args:
        known = _finite(by_id[id(argument)])
        bad = bad & (known if len(known) == len(bad) else known.all())
    return bad


def _text(equation: FlatEquation, node: Call, by_id: dict[int, np.ndarray], copy: int) -> str:
    name = node.primitive.known_name or node.primitive.name + "()"
    operand = node.args[1] if name == "divide" else node.args[0]
    assert isinstance(operand, Expr)
    value = by_id[id(operand)][min(copy, len(by_id[id(operand)]) - 1)]
    where = f"`{equation}  ({equation.equation.source}{_copy_text(equation, copy)})`"
    written = f"`{expression_text(operand, equation.naming)}`"
    if name == "divide" and not np.all(value):
        of_parameters = _only_parameters(operand)
        kind = "The parameter " if isinstance(operand, Leaf) and of_parameters else ""
        text = f"{kind}{written} is zero, and {where} divides by it"
        if of_parameters:
            text += "; multiply by it on the other side, or give it another value"
        return text
    bad = ~np.isfinite(by_id[id(node)][copy])
    shown = value[bad][0] if value.shape == bad.shape and value.shape else value
    number = f"{float(shown):g}" if np.size(shown) == 1 else "..."
    return f"{name} of {written} = {number} is not finite, in {where}"


def _copy_text(equation: FlatEquation, copy: int) -> str:
    if not equation.owner.lead:
        return ""
    return f", copy {copy} of {equation.owner.name}"


def _only_parameters(expr: Expr) -> bool:
    leaves = [node for node in topological([expr]) if isinstance(node, Leaf)]
    return bool(leaves) and all(leaf.kind is SymbolKind.PARAMETER for leaf in leaves)

"""A number for all that a model says: equal in every process for the same model, another for any other.

Text would not do: it rounds constants, leaves out long arrays and stops where nobody reads on. So graphs of
expressions are digested node by node, constants with all their bits, functions of the user as they were
traced.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..expressions.expression import Application, Constant, Expr, Item, Leaf
from ..expressions.indexing import Index
from ..expressions.nodes import Node, topological
from ..expressions.primitives import Primitive, Signature
from ..expressions.symbol_kinds import SymbolKind
from ..language.event_parts import Action, Relation
from ..language.flat_model import FlatModel

Name = Callable[[Leaf], str]
VALUES = ("init", "guess", "nominal", "value", "nonzero")


def model_digest(flat: FlatModel) -> str:
    """A number for all that was declared: equations, events, names, shapes, values."""
    found = hashlib.blake2b(digest_size=16)
    known: dict[tuple[int, int], str] = {}

    def add(*words: Any) -> None:
        found.update("\n".join(map(str, words)).encode() + b"\0")

    def of_scope(expr: Expr, scope: Any) -> str:
        """Components of one class share their expressions: each is looked at once."""
        key = id(expr), id(scope)
        if key not in known:
            known[key] = expression_digest(
                expr, lambda leaf: "time" if leaf.kind is SymbolKind.TIME else scope.names[id(leaf.symbol)]
            )
        return known[key]

    add(flat.name)
    for group in (flat.variables, flat.parameters, flat.inputs, flat.discretes):
        for own in group:
            add(own.name, own.shape, own.lead)
            add(*(_value_word(getattr(own.symbol, word, None)) for word in VALUES))
    for entry in (*flat.equations, *flat.initial_equations):
        sides = (of_scope(side, entry.owner.scope) for side in (entry.equation.lhs, entry.equation.rhs))
        add(entry.owner.name, entry.owner.lead, *sides)
    for placed in (*flat.relations, *flat.samples, *flat.left_limits, *flat.actions):
        part, scope = placed.part, placed.owner.scope
        add(placed.owner.name, placed.owner.lead, type(part).__name__, *_part_words(part))
        add(*(of_scope(expr, scope) for expr in part.expressions()))
        if isinstance(part, Action):
            add(of_scope(part.target, scope))
    for bindings in (flat.bindings, flat.discrete_bindings, flat.init_bindings, flat.guess_bindings):
        for binding in bindings:
            add(binding.target.name, binding.lead, expression_digest(binding.value, _path))
    return found.hexdigest()


def expression_digest(root: Node, name: Name) -> str:
    """A number for an expression whose leaves have these names."""
    digests: dict[int, str] = {}
    for node in topological([root]):
        words = [*_words(node, name), *(digests[id(arg)] for arg in node.args)]
        digests[id(node)] = hashlib.blake2b("\n".join(words).encode(), digest_size=16).hexdigest()
    return digests[id(root)]


def array_word(value: Any) -> str:
    """An array with all its bits."""
    array = np.asarray(value)
    return f"{array.dtype}{array.shape}{hashlib.blake2b(array.tobytes(), digest_size=16).hexdigest()}"


def _words(node: Node, name: Name) -> Iterable[str]:
    """What a node is, but for its arguments."""
    if isinstance(node, Constant):
        return "constant", array_word(node.value)
    if isinstance(node, Leaf):
        return "leaf", name(node), str(node.order), str(node.lead)
    if isinstance(node, Item):
        return "item", str(node.place)
    assert isinstance(node, Application)
    return "call", *_primitive_words(node.primitive), *_signature_words(node.signature)


def _primitive_words(primitive: Primitive) -> list[str]:
    words: list[str] = []
    while primitive.derivative_of is not None:
        words += ["derivative", str(primitive.active), *_signature_words(primitive.derivative_of[1])]
        primitive = primitive.derivative_of[0]
    return [*words, primitive.name, primitive.trace.lasting_digest if primitive.trace is not None else ""]


def _signature_words(signature: Signature) -> list[str]:
    leaves = (leaf.key if isinstance(leaf, Index) else leaf for leaf in signature.leaves)
    return [str(signature.tree), *(f"{type(leaf).__name__} {leaf!r}" for leaf in leaves)]


def _part_words(part: Any) -> list[str]:
    """What is not an expression in a part of the events."""
    if isinstance(part, Action):
        return [part.kind.name, str(getattr(part.written, "reason", ""))]
    return [part.symbol.name, *([str(part.negated)] if isinstance(part, Relation) else [])]


def _value_word(value: Any) -> str:
    """Of a declared value; one that is an expression is among the bindings."""
    if value is None or isinstance(value, Expr):
        return type(value).__name__
    return array_word(getattr(value, "array", value))


def _path(leaf: Leaf) -> str:
    return ".".join(name for name, _ in leaf.symbol.segments())

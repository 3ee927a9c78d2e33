"""Templates: what remains of an expression when its leaves are only numbered places.

Two equations that differ in which variables, elements and constants they mention, and in nothing else,
have the same template; a compiled program evaluates each template once, on all their values at a time.
A static selection of a leaf (`x[1:]`, `r.i[3]`) is a place by itself, so that equations written in a
Python loop over elements have one template too.

Long sums are rolled up as well: where many terms of a sum share a template, they become one evaluation
of it on stacked values, summed. A sum of 100 000 terms is a program of a few operations.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .expression import Bundle, Call, Constant, Expr, Item, Leaf, index_of, rebuild
from .indexing import Positions, contiguous
from .lanes import calls_lapack, calls_python, lanes
from .nodes import Node, WhileAlive, intern_node, topological
from .primitives import GETITEM, Primitive, named, positional
from .symbol_kinds import SymbolKind

FEWEST_ROLLED_TERMS = 8
LARGEST_ROLLED_TERM = 32  # nodes; larger terms may share parts that rolling would evaluate again


class Placeholder(Expr):
    """A numbered place in a template, for a constant (`kind` is None) or a leaf of a kind and order."""

    __slots__ = ("kind", "order", "place")
    kind: SymbolKind | None
    order: int
    place: int


@dataclass(frozen=True)
class Piece:
    """A constant, or a static selection of a leaf: which elements, within the leaf."""

    node: Leaf | Constant
    positions: Positions

    def key(self) -> tuple:
        where = self.positions
        regular = (where.shape, where.offset, where.strides)
        return (id(self.node), regular if where.explicit is None else where.explicit.tobytes())


@dataclass(frozen=True)
class Pick:
    """What stands in a placeholder: one piece, or several of equal shape stacked on a new first axis."""

    pieces: tuple[Piece, ...]
    stacked: bool = False

    def key(self) -> tuple:
        return (self.stacked, *(piece.key() for piece in self.pieces))

    @property
    def constant(self) -> np.ndarray:
        """The value of a pick of constants."""
        values = [piece.node.value for piece in self.pieces if isinstance(piece.node, Constant)]
        assert len(values) == len(self.pieces), "a leaf among constants"
        return np.stack(values) if self.stacked else values[0]


@dataclass(frozen=True)
class Template:
    """An expression over placeholders, and what one use of it puts into them."""

    root: Expr
    placeholders: tuple[Placeholder, ...]
    picks: tuple[Pick, ...]


_templates: WhileAlive[Template] = WhileAlive()


def make_template(expr: Expr) -> Template:
    """The template of an expression."""
    found = _templates.get(expr)
    if found is None:
        found = _template(expr, roll=True)
        # A template holds the leaves that it is filled with: where the expression is one, it would stay.
        if found.root is not expr and as_piece(expr) is None:
            _templates.put(expr, found)
    return found


def _template(expr: Expr, roll: bool) -> Template:
    placeholders: dict[tuple, Placeholder] = {}
    picks: list[Pick] = []

    def placeholder(pick: Pick) -> Placeholder:
        key = pick.key()
        if key not in placeholders:
            placeholders[key] = _placeholder(len(placeholders), pick)
            picks.append(pick)
        return placeholders[key]

    table: dict[int, Node] = {}
    sums: dict[int, _LongSum] = {}
    uses = _uses(expr) if roll else {}
    stack: list[tuple[Node, bool]] = [(expr, False)]
    while stack:
        node, arguments_done = stack.pop()
        if id(node) in table:
            continue
        if arguments_done:
            if id(node) in sums:
                table[id(node)] = sums[id(node)].rolled(table, placeholder)
            else:
                table[id(node)] = rebuild(node, tuple(table[id(arg)] for arg in node.args))
        elif (piece := as_piece(node)) is not None:
            table[id(node)] = placeholder(Pick((piece,)))
        else:
            needed: list[Any] = list(node.args)
            if roll and (long_sum := _long_sum(node, uses)) is not None:
                sums[id(node)] = long_sum
                needed = [term for _, term in long_sum.rest]
            stack.append((node, True))
            stack.extend((arg, False) for arg in reversed(needed))
    root = table[id(expr)]
    assert isinstance(root, Expr)
    return Template(root, tuple(placeholders.values()), tuple(picks))


def _placeholder(place: int, pick: Pick) -> Placeholder:
    node = pick.pieces[0].node
    kind, order = (None, 0) if isinstance(node, Constant) else (node.kind, node.order)
    shape = pick.pieces[0].positions.shape
    if pick.stacked:
        shape = (len(pick.pieces), *shape)
    return intern_node(
        Placeholder,
        (place, kind, order, shape, node.dtype),
        args=(),
        place=place,
        kind=kind,
        order=order,
        shape=shape,
        dtype=node.dtype,
    )


_RESHAPE = named("reshape")


def as_piece(node: Node) -> Piece | None:
    """A constant, or a leaf under indices and reshapes; None for anything else."""
    steps: list[Any] = []
    while isinstance(node, Call):
        if node.primitive is GETITEM:
            steps.append(index_of(node))
        elif node.primitive is _RESHAPE and _is_row_by_row(node):
            steps.append(node.shape)
        else:
            return None
        node = node.args[0]
    if isinstance(node, Leaf):
        positions = contiguous(node.shape)
        for step in reversed(steps):
            positions = positions.reshape(step) if isinstance(step, tuple) else positions.select(step)
        return Piece(node, positions)
    return Piece(node, contiguous(node.shape)) if isinstance(node, Constant) and not steps else None


def _is_row_by_row(node: Call) -> bool:
    args, kwargs = node.signature.bind(node.args)
    return len(args) <= 2 and "order" not in kwargs


# Long sums.


@dataclass(frozen=True)
class _LongSum:
    """A sum taken apart: terms that share a template, by sign, and the rest."""

    groups: list[tuple[int, list[Template]]]
    rest: list[tuple[int, Expr]]

    def rolled(self, table: dict[int, Node], placeholder: Any) -> Expr:
        total: Any = None
        for sign, templates in self.groups:
            total = _signed_sum(total, sign, _rolled_group(templates, placeholder))
        for sign, term in self.rest:
            total = _signed_sum(total, sign, table[id(term)])
        return total


def _signed_sum(total: Any, sign: int, term: Any) -> Any:
    if total is None:
        return term if sign > 0 else -term
    return total + term if sign > 0 else total - term


def _uses(expr: Expr) -> dict[int, int]:
    """How many calls use each node."""
    uses: dict[int, int] = {}
    for node in topological([expr]):
        for arg in node.args:
            uses[id(arg)] = uses.get(id(arg), 0) + 1
    return uses


def _long_sum(node: Node, uses: dict[int, int]) -> _LongSum | None:
    terms = _terms(node, uses)
    if len(terms) < FEWEST_ROLLED_TERMS:
        return None
    groups: dict[tuple, tuple[int, list[Template]]] = {}
    members: dict[tuple, list[tuple[int, Expr]]] = {}
    rest: list[tuple[int, Expr]] = []
    for sign, term in terms:
        if not _is_small(term):
            rest.append((sign, term))
            continue
        template = _template(term, roll=False)
        key = (sign, id(template.root))
        groups.setdefault(key, (sign, []))[1].append(template)
        members.setdefault(key, []).append((sign, term))
    for key in [key for key in groups if len(groups[key][1]) < FEWEST_ROLLED_TERMS]:
        del groups[key]
        rest.extend(members[key])
    return _LongSum(list(groups.values()), rest)


def _terms(node: Node, uses: dict[int, int]) -> list[tuple[int, Expr]]:
    """The signed terms of a tree of sums and differences, from left to right.

    A sum that is used elsewhere too is one term: it is evaluated once. So is a sum of relations, which
    is a logical or.
    """
    add, subtract, negative = named("add"), named("subtract"), named("negative")
    terms: list[tuple[int, Expr]] = []
    stack: list[tuple[int, Any]] = [(1, node)]
    while stack:
        sign, term = stack.pop()
        is_own = term is node or uses.get(id(term), 0) == 1
        primitive = (
            term.primitive if isinstance(term, Call) and is_own and term.dtype == "float64" else None
        )
        if primitive is negative:
            stack.append((-sign, term.args[0]))
        elif primitive is add or primitive is subtract:
            right = -sign if primitive is subtract else sign
            stack += [(right, term.args[1]), (sign, term.args[0])]
        else:
            terms.append((sign, term))
    return terms


def _is_small(term: Expr) -> bool:
    return all(count < LARGEST_ROLLED_TERM for count, _ in enumerate(topological([term])))


def _rolled_group(templates: list[Template], placeholder: Any) -> Expr:
    first = templates[0]
    args, batched = [], []
    for place in range(len(first.placeholders)):
        picks = [template.picks[place] for template in templates]
        same = all(pick.key() == picks[0].key() for pick in picks)
        batched.append(not same)
        pick = picks[0] if same else Pick(tuple(p.pieces[0] for p in picks), stacked=True)
        args.append(placeholder(pick))
    primitive = _rolled_primitive(first.root, first.placeholders, tuple(batched), len(templates))
    return intern_node(
        Call,
        (primitive, positional(len(args)), *map(id, args)),
        primitive=primitive,
        signature=positional(len(args)),
        args=tuple(args),
        shape=first.root.shape,
        dtype=first.root.dtype,
    )


@functools.cache
def _rolled_primitive(
    root: Expr, placeholders: tuple[Placeholder, ...], batched: tuple[bool, ...], count: int
) -> Primitive:
    one_by_one = calls_lapack([root])

    def one(*values: Any) -> Any:
        return evaluate(root, placeholders, values)

    def evaluate_all(*values: Any) -> Any:
        if not any(batched):
            return count * one(*values)
        axes = tuple(0 if b else None for b in batched)
        return lanes(one, axes, one_by_one)(*values).sum(axis=0)

    return Primitive(
        f"sum_of_{count}", evaluate_all, calls_lapack=one_by_one, calls_python=calls_python([root])
    )


# Evaluation.


def evaluate(root: Expr, placeholders: tuple[Placeholder, ...], values: Any) -> Any:
    """The value of a template with JAX arrays in its placeholders."""
    results: dict[int, Any] = dict(zip(map(id, placeholders), values, strict=True))
    for node in topological([root]):
        if id(node) not in results:
            results[id(node)] = node_value(node, results)
    return jnp.asarray(results[id(root)])


def node_value(node: Node, values: dict[int, Any]) -> Any:
    """The value of a node that is computed from others, with their values, by id."""
    if isinstance(node, Item):
        return jax.tree_util.tree_leaves(values[id(node.args[0])])[node.place]
    if isinstance(node, (Call, Bundle)):
        args, kwargs = node.signature.bind([values[id(arg)] for arg in node.args])
        return node.primitive.evaluate(*args, **kwargs)
    raise AssertionError(f"{node!r} has no operands")

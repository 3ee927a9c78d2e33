"""In which variables an equation is linear, and with what coefficients.

The residual is `sum of terms + the rest`, each term a coefficient times a variable (or a static
selection of one, such as `x[1:]`). What may be done with a term depends on its coefficient: exact
integers can be eliminated exactly, constants and nonzero parameters can be divided by, and what may
vanish at run time must not be.

Coefficients flow from the root of the residual down to the variables: a sum hands its coefficient on, a
product multiplies it by the other factor, and any function that is not linear ends it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from .equation import Equation
from .expression import Call, Constant, Expr, Item, Leaf, apply_node, constant
from .indexing import Positions, meet_in_a_row, share_elements
from .nodes import Node, topological
from .primitives import EACH, JOINT, named
from .printing import clip_text
from .symbol_kinds import SymbolKind
from .templates import Piece, as_piece

LARGEST_EXACT = 2.0**53  # integers up to this are exact as floating point numbers


class CoefficientKind(Enum):
    """What is known about a coefficient, the more useful the earlier."""

    INTEGER = "a constant integer"
    CONSTANT = "a constant"
    NONZERO = "made of nonzero parameters"
    MAY_VANISH = "may vanish"
    NONLINEAR = "not linear"


class Dependence(Enum):
    """Which elements of the variable an element of the equation depends on."""

    ELEMENTWISE = "the same element"
    BROADCAST = "the one element, or row, that all share"
    SUM = "all elements along the summed axes"
    GENERAL = "any element"


@dataclass(frozen=True)
class LinearTerm:
    """How a variable, or a selection of its elements, occurs in an equation.

    `coefficient` is None where the dependence is general or the occurrence is not linear. `axes` are the
    axes of the selection that the dependence SUM sums over.
    """

    node: Expr
    leaf: Leaf
    positions: Positions
    kind: CoefficientKind
    dependence: Dependence
    coefficient: Expr | None = None
    axes: tuple[int, ...] = ()

    def __str__(self) -> str:
        coefficient = "" if self.coefficient is None else f"{clip_text(self.coefficient)} * "
        return f"{coefficient}{self.node}: {self.kind.value}, {self.dependence.value}"


@dataclass(frozen=True)
class _Weight:
    """The coefficient on the way down: None for general ones, whose factors are in `involved`."""

    coefficient: Expr | None
    dependence: Dependence
    involved: tuple[Expr, ...] = ()
    axes: tuple[int, ...] = ()
    linear: bool = True


_NONLINEAR = _Weight(None, Dependence.GENERAL, linear=False)
_NONLINEAR_BY_ELEMENT = _Weight(None, Dependence.ELEMENTWISE, linear=False)


def linear_terms(equation: Equation) -> list[LinearTerm]:
    """One term for each variable, or selection of a variable, in an equation; zero terms left out."""
    root = equation.residual()
    pieces: dict[int, Piece | None] = {}

    def is_piece(node: Node) -> bool:
        piece = pieces[id(node)] = as_piece(node)
        return piece is not None

    nodes = list(topological([root], is_piece))
    unknown = _contains_unknown(nodes, pieces)
    weights: dict[int, _Weight] = {id(root): _Weight(constant(1), Dependence.ELEMENTWISE)}
    terms = []
    for node in reversed(nodes):
        if not unknown[id(node)]:
            continue
        weight = weights[id(node)]
        piece = pieces[id(node)]
        if piece is not None and isinstance(piece.node, Leaf):
            assert isinstance(node, Expr)
            term = _term(node, piece.node, piece.positions, weight)
            if term is not None:
                terms.append(term)
            continue
        for arg, handed in zip(node.args, _hand_down(node, weight), strict=True):
            if unknown.get(id(arg)):
                known = weights.get(id(arg))
                weights[id(arg)] = handed if known is None else _add(known, handed)
    return _demote_shared(_added_up(terms[::-1]))


def _added_up(terms: list[LinearTerm]) -> list[LinearTerm]:
    """Selections of the same elements written differently, `x[1]` and `x[1:2][0]`, are one term."""
    merged: dict[tuple, LinearTerm] = {}
    for place, term in enumerate(terms):
        key = (*Piece(term.leaf, term.positions).key(), term.positions.shape, term.dependence, term.axes)
        known = merged.get(key)
        if term.coefficient is None or term.kind is CoefficientKind.NONLINEAR:
            merged[(place,)] = term
        elif known is None or known.coefficient is None:
            merged[key] = term
        else:
            total = _plus(known.coefficient, term.coefficient)
            merged[key] = replace(known, coefficient=total, kind=_kind(total))
    return [term for term in merged.values() if not _vanishes(term.coefficient)]


def _vanishes(coefficient: Expr | None) -> bool:
    return isinstance(coefficient, Constant) and not coefficient.value.any()


def _demote_shared(terms: list[LinearTerm]) -> list[LinearTerm]:
    """Terms that meet in one element of the equation do not tell its coefficient one by one."""
    by_leaf: dict[int, list[int]] = {}
    for place, term in enumerate(terms):
        by_leaf.setdefault(id(term.leaf), []).append(place)
    for places in by_leaf.values():
        for a, b in itertools.combinations(places, 2):
            if not _meet(terms[a], terms[b]):
                continue
            nonlinear = CoefficientKind.NONLINEAR in (terms[a].kind, terms[b].kind)
            kind = CoefficientKind.NONLINEAR if nonlinear else CoefficientKind.MAY_VANISH
            for place in (a, b):
                weaker = max(kind, terms[place].kind, key=list(CoefficientKind).index)
                terms[place] = replace(
                    terms[place], kind=weaker, dependence=Dependence.GENERAL, coefficient=None, axes=()
                )
    return terms


def _meet(a: LinearTerm, b: LinearTerm) -> bool:
    if a.dependence is b.dependence is Dependence.ELEMENTWISE:
        return meet_in_a_row(a.positions, b.positions)
    return share_elements(a.positions, b.positions)


def _contains_unknown(nodes: list[Node], pieces: dict[int, Piece | None]) -> dict[int, bool]:
    unknown: dict[int, bool] = {}
    for node in nodes:
        piece = pieces[id(node)]
        if piece is not None:
            unknown[id(node)] = isinstance(piece.node, Leaf) and piece.node.kind is SymbolKind.VARIABLE
        else:
            unknown[id(node)] = any(unknown[id(arg)] for arg in node.args)
    return unknown


def _hand_down(node: Any, weight: _Weight) -> list[_Weight]:
    """What each argument of a call gets of the weight of its result."""
    args = node.args
    if isinstance(node, Item):
        return [_general(weight) if weight.linear else _NONLINEAR]
    linear = node.linear if weight.linear else None
    if linear is None:
        by_element = weight.dependence is Dependence.ELEMENTWISE and node.primitive.elementwise
        return [
            _NONLINEAR_BY_ELEMENT if by_element and arg.shape == node.shape else _NONLINEAR for arg in args
        ]
    if isinstance(node, Call) and node.primitive.elementwise and linear is not None:
        return [_elementwise(node, place, weight) for place in range(len(args))]
    if isinstance(node, Call) and node.primitive is named("sum"):
        return [_summed(node, weight)]
    if linear == JOINT:
        return [_general(weight)] * len(args)
    if linear == EACH:
        return [_general(weight, _others(args, place)) for place in range(len(args))]
    if isinstance(linear, frozenset):
        held = tuple(arg for place, arg in enumerate(args) if place not in linear)
        return [_general(weight, held) if place in linear else _NONLINEAR for place in range(len(args))]
    raise AssertionError(f"{node.primitive} is linear in {linear!r}")


def _others(args: tuple, place: int) -> tuple:
    return args[:place] + args[place + 1 :]


def _general(weight: _Weight, factors: tuple = ()) -> _Weight:
    own = () if weight.coefficient is None else (weight.coefficient,)
    return _Weight(None, Dependence.GENERAL, (*weight.involved, *own, *factors))


def _elementwise(node: Call, place: int, weight: _Weight) -> _Weight:
    """The weight of one argument of an elementwise function that is linear in some arguments."""
    linear = node.linear
    arg = node.args[place]
    if isinstance(linear, frozenset) and place not in linear:
        by_element = weight.dependence is Dependence.ELEMENTWISE and arg.shape == node.shape  # type: ignore[attr-defined]
        return _NONLINEAR_BY_ELEMENT if by_element else _NONLINEAR
    held = _others(node.args, place) if linear != JOINT else ()
    if weight.coefficient is None or weight.dependence is Dependence.SUM:
        return _general(weight, held)
    partial = _partial(node, place)
    if arg.shape != node.shape:  # type: ignore[attr-defined]
        coefficient = _times(weight.coefficient, partial)
        if weight.dependence is Dependence.ELEMENTWISE and coefficient.size == 1:
            return _Weight(coefficient, Dependence.BROADCAST, weight.involved)
        return _general(weight, held)
    return _Weight(_times(weight.coefficient, partial), weight.dependence, weight.involved)


def _partial(node: Call, place: int) -> Expr:
    """The derivative of an elementwise function by one of the arguments it is linear in."""
    if node.primitive is named("multiply"):
        other = node.args[1 - place]
        assert isinstance(other, Expr)
        return other
    if node.primitive is named("divide"):
        denominator = node.args[1]
        assert isinstance(denominator, Expr)
        return constant(1 / denominator.value) if isinstance(denominator, Constant) else 1 / denominator
    if node.primitive is named("subtract") or node.primitive is named("negative"):
        return constant(-1) if place == len(node.args) - 1 else constant(1)
    if node.linear == JOINT:
        return constant(1)
    linear = node.linear
    assert isinstance(linear, frozenset)
    moving = [
        (np.ones if k == place else np.zeros)(arg.shape) if k in linear else None  # type: ignore[attr-defined]
        for k, arg in enumerate(node.args)
    ]
    args = tuple(
        arg if value is None else constant(value) for arg, value in zip(node.args, moving, strict=True)
    )
    partial = apply_node(node.primitive, node.signature, args)[0]
    assert isinstance(partial, Expr)
    return partial


def _summed(node: Call, weight: _Weight) -> _Weight:
    """The weight of what is summed: the same number for all elements along the axes."""
    arguments, keywords = node.signature.bind(node.args)
    axis = keywords.get("axis", arguments[1] if len(arguments) > 1 else None)
    summed = arguments[0]
    axes = tuple(range(summed.ndim)) if axis is None else tuple(np.atleast_1d(axis))
    elementwise = weight.dependence is Dependence.ELEMENTWISE and weight.coefficient is not None
    if node.linear is None or keywords.get("keepdims") or not elementwise:
        return _general(weight)
    assert weight.coefficient is not None
    if weight.coefficient.size != 1:
        return _general(weight)
    return _Weight(
        weight.coefficient,
        Dependence.SUM,
        weight.involved,
        tuple(sorted(int(k) % summed.ndim for k in axes)),
    )


def _add(a: _Weight, b: _Weight) -> _Weight:
    """The weight of a variable that is reached on two ways."""
    if not (a.linear and b.linear):
        by_element = a.dependence is b.dependence is Dependence.ELEMENTWISE
        return _NONLINEAR_BY_ELEMENT if by_element else _NONLINEAR
    same = a.dependence is b.dependence and a.axes == b.axes
    if same and a.coefficient is not None and b.coefficient is not None:
        return _Weight(
            _plus(a.coefficient, b.coefficient), a.dependence, (*a.involved, *b.involved), a.axes
        )
    return _Weight(None, Dependence.GENERAL, _general(a).involved + _general(b).involved)


def _term(node: Expr, leaf: Leaf, positions: Positions, weight: _Weight) -> LinearTerm | None:
    involved = [*weight.involved, *([weight.coefficient] if weight.coefficient is not None else [])]
    if not weight.linear or _overlaps(involved, leaf, positions):
        dependence = (
            weight.dependence if weight.dependence is Dependence.ELEMENTWISE else Dependence.GENERAL
        )
        return LinearTerm(node, leaf, positions, CoefficientKind.NONLINEAR, dependence)
    if weight.coefficient is None:
        return LinearTerm(node, leaf, positions, CoefficientKind.MAY_VANISH, Dependence.GENERAL)
    value = weight.coefficient
    if _vanishes(value):
        return None
    return LinearTerm(node, leaf, positions, _kind(value), weight.dependence, value, weight.axes)


def _overlaps(factors: list[Expr], leaf: Leaf, positions: Positions) -> bool:
    """Whether a coefficient contains the very elements it multiplies."""
    for node in topological(factors, lambda node: not node.args or as_piece(node) is not None):
        piece = as_piece(node)
        if piece is not None and piece.node is leaf and share_elements(piece.positions, positions):
            return True
    return False


def _kind(coefficient: Expr) -> CoefficientKind:
    if isinstance(coefficient, Constant):
        value = coefficient.value
        if not value.all() or not np.isfinite(value).all():
            return CoefficientKind.MAY_VANISH
        is_integer = np.array_equal(value, np.rint(value)) and np.abs(value).max() < LARGEST_EXACT
        return CoefficientKind.INTEGER if is_integer else CoefficientKind.CONSTANT
    return CoefficientKind.NONZERO if _is_nonzero(coefficient) else CoefficientKind.MAY_VANISH


def _is_nonzero(coefficient: Expr) -> bool:
    """Whether a coefficient is a product, quotient or power of what is never zero."""
    factors = {named(name) for name in ("multiply", "divide", "negative", "positive", "power")}

    def is_safe(node: Node) -> bool:
        piece = as_piece(node)
        if piece is not None and isinstance(piece.node, Leaf):
            return piece.node.kind is SymbolKind.PARAMETER and piece.node.symbol.nonzero
        if isinstance(node, Constant):
            return bool(node.value.all())
        return isinstance(node, Call) and node.primitive in factors

    return all(
        is_safe(node)
        for node in topological([coefficient], lambda n: not n.args or as_piece(n) is not None)
    )


def _times(a: Expr, b: Expr) -> Expr:
    if isinstance(a, Constant) and isinstance(b, Constant):
        return constant(a.value * b.value)
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Constant) and one.shape == () and one.value == 1:
            return other
        if isinstance(one, Constant) and one.shape == () and one.value == -1:
            return -other
    return a * b


def _plus(a: Expr, b: Expr) -> Expr:
    if isinstance(a, Constant) and isinstance(b, Constant):
        return constant(a.value + b.value)
    return a + b


__all__ = ["CoefficientKind", "Dependence", "LinearTerm", "linear_terms"]

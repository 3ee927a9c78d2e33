"""Hints to the solution of algebraic loops, inside of equations: `residue(x)` and `relax(x)`.

`residue(x)` is zero, a term of a sum or a side: the equation stays a residual, and x is what is varied to
make it hold (Elmqvist and Otter 1994). `relax(x)` is x, hidden from the sorting of this one equation
(Otter, Elmqvist and Cellier 1996). Both are taken out of equations before anything else is done with them;
what they said stays with the equation, as its `hints`. Their derivatives are hints again: they are linear.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from ..errors import ModelError
from ..source import user_source
from .equation import Equation, Hint, HintKind
from .expression import Call, Constant, Expr, as_expr, call, constant, index_of, rebuild, zeros
from .nodes import Node, topological
from .primitives import GETITEM, JOINT, Primitive, named
from .symbol_kinds import SymbolKind
from .templates import as_piece

RESIDUE = Primitive("residue", jnp.zeros_like, linear=JOINT, operands=1, elementwise=True)
RELAX = Primitive("relax", lambda x: x, linear=JOINT, operands=1, elementwise=True)
_HINTS = {RESIDUE: HintKind.RESIDUE, RELAX: HintKind.RELAX}
_TERMS = frozenset(
    {named(name) for name in ("add", "subtract", "negative", "positive", "broadcast_to")} | {GETITEM}
)
"""A residue may stand below these."""


def residue(x: Any) -> Expr:
    """Name an equation a residual, and x what is varied to make it hold. The value is zero.

    A hint: where the equation, or x, is in no algebraic loop, it changes nothing. Results are the same with
    and without it; how much has to be computed for them is not.

    Parameters
    ----------
    x : expression
        A variable, elements of one, or a derivative. A parameter or a number names only the equation; a
        dummy variable on the other side, `dummy == residue(x)`, names only x.

    Returns
    -------
    Expr
        Zero, of the shape of x: a term of an equation.

    Raises
    ------
    ModelError
        If x is none of these.

    Examples
    --------
    The current that makes the voltage across a cut vanish:

    >>> from modia_py import Model, Var, residue, translate
    >>> class Loop(Model):
    ...     i, u = Var(), Var()
    ...     def equations(self):
    ...         return [self.u + self.i**3 == 2 + residue(self.i), self.u == 3 * self.i]
    >>> translate(Loop()).structure.slot_names()
    ['i']
    """
    expr = as_expr(x)
    if as_piece(expr) is None:
        raise ModelError(
            f"residue({expr}) ({user_source()}): a residue is named by a variable, by elements of one, or "
            f"by a derivative; by a parameter or a number if there is nothing to vary."
        )
    found = call(RESIDUE, expr)
    assert isinstance(found, Expr)
    return found


def relax(x: Any) -> Expr:
    """Hide x from the sorting of this one equation. The value is x.

    The loops that are left without relaxed variables say in which sequence the unknowns are eliminated, by
    Gauss's algorithm without pivoting. A hint: where the equation is in no loop, it changes nothing.

    Parameters
    ----------
    x : expression
        A variable, elements of one, or a derivative.

    Returns
    -------
    Expr
        x.

    Raises
    ------
    ModelError
        If x is none of these.

    Examples
    --------
    >>> from modia_py import Model, Var, relax
    >>> class Resistor(Model):
    ...     i, a, b = Var(), Var(), Var()
    ...     def equations(self):
    ...         return [100 * self.i == relax(self.a) - relax(self.b)]
    >>> Resistor().equations()
    [100*i == relax(a) - relax(b)]
    """
    expr = as_expr(x)
    piece = as_piece(expr)
    if piece is None or isinstance(piece.node, Constant) or piece.node.kind is not SymbolKind.VARIABLE:
        raise ModelError(
            f"relax({expr}) ({user_source()}): what is relaxed is a variable, elements of one, or a "
            f"derivative."
        )
    found = call(RELAX, expr)
    assert isinstance(found, Expr)
    return found


def has_hints(*roots: Expr) -> bool:
    """Whether a hint stands in some expressions."""
    return any(isinstance(node, Call) and node.primitive in _HINTS for node in topological(roots))


def without_hints(equation: Equation) -> Equation:
    """The equation as it is to be solved, with what its hints said; the same one if it has none."""
    sides = equation.lhs, equation.rhs
    found = [n for n in topological(sides) if isinstance(n, Call) and n.primitive in _HINTS]
    if not found:
        return equation
    _check_terms(equation, found)
    hints = []
    for node in found:
        piece = as_piece(node.args[0])
        if piece is None:
            raise ModelError(
                f"`{node}` in `{equation}` ({equation.source}): a hint is for a variable, elements of "
                f"one, or a derivative."
            )
        is_unknown = not isinstance(piece.node, Constant) and piece.node.kind is SymbolKind.VARIABLE
        hints.append(Hint(_HINTS[node.primitive], piece if is_unknown else None))
    table: dict[int, Node] = {}
    for each in topological(sides):
        table[id(each)] = _plain(each, table)
    lhs, rhs = (table[id(side)] for side in sides)
    return Equation(lhs, rhs, equation.source, tuple(hints), sides)


def _plain(node: Node, table: dict[int, Node]) -> Node:
    args = tuple(table[id(arg)] for arg in node.args)
    if isinstance(node, Call) and node.primitive is RESIDUE:
        return zeros(node.shape)
    if isinstance(node, Call) and node.primitive is RELAX:
        return args[0]
    if all(new is old for new, old in zip(args, node.args, strict=True)):
        return node
    index = index_of(node)
    if index is not None and isinstance(args[0], Constant):
        return constant(args[0].value[index.items])
    return rebuild(node, args)


def _check_terms(equation: Equation, found: list[Call]) -> None:
    """A residue is a term of a sum, so that it is clear which equation it is a residue of."""
    stack: list[Node] = [equation.lhs, equation.rhs]
    reached: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node) not in reached and isinstance(node, Call):
            reached.add(id(node))
            stack += node.args if node.primitive in _TERMS else ()
    for node in found:
        if node.primitive is RESIDUE and id(node) not in reached:
            raise ModelError(
                f"`{node}` in `{equation}` ({equation.source}) has to be a term of a sum, or a side: its "
                f"value is zero."
            )

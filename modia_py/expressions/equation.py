"""Equations: two expressions that are equal, and the line where that was written."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from ..errors import ModelError
from ..source import Source, user_source
from .array_interface import LogicalOperators
from .expression import Constant, Expr, Leaf, as_expr, call, leaves_of
from .indexing import Shape
from .primitives import named


class HintKind(Enum):
    """What a hint says of its equation and variable: see `hint_terms`."""

    RESIDUE = "residue"
    RELAX = "relax"


@dataclass(frozen=True)
class Hint:
    """A hint of an equation, and the elements it is for: a `templates.Piece`, None for no variable."""

    kind: HintKind
    piece: Any


class Equation(LogicalOperators):
    """`lhs == rhs`, and the line where it was written; in a condition, the relation that they are equal.

    `hints` were taken out of it, and `written` are its sides with them.
    """

    __slots__ = ("_leaves", "_residual", "hints", "lhs", "rhs", "shape", "source", "written")
    __hash__ = object.__hash__
    _leaves: tuple[Leaf, ...] | None
    _residual: Expr | None

    def __init__(
        self,
        lhs: Any,
        rhs: Any,
        source: Source | None = None,
        hints: tuple[Hint, ...] = (),
        written: tuple[Expr, Expr] | None = None,
    ):
        self.hints, self.written = hints, written
        self.source = source if source is not None else user_source()
        self.lhs = as_expr(lhs)
        self.rhs = as_expr(rhs)
        self._leaves = self._residual = None
        try:
            self.shape: Shape = np.broadcast_shapes(self.lhs.shape, self.rhs.shape)
        except ValueError:
            raise ModelError(
                f"The sides of `{self}` do not fit ({self.source}): `{self.lhs}` has shape "
                f"{self.lhs.shape}, `{self.rhs}` has shape {self.rhs.shape}."
            ) from None
        for side in (self.lhs, self.rhs):
            if side.dtype not in ("float64", "int64"):
                values = "a relation" if side.dtype == "bool" else "complex numbers"
                raise ModelError(
                    f"`{self}` ({self.source}) equates {values}: an equation is between real numbers."
                )

    def relation(self) -> Expr:
        """The relation that the sides are equal, for conditions."""
        return call(named("equal"), self.lhs, self.rhs)

    def _apply(self, operator: str, *operands: Any) -> Any:
        return self.relation()._apply(operator, *operands)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves of both sides, in order of first occurrence."""
        if self._leaves is None:
            self._leaves = tuple(leaves_of(self.lhs, self.rhs))
        return self._leaves

    def residual(self) -> Expr:
        """`lhs - rhs` without zero terms, and the side that is not zero where the other one is."""
        if self._residual is None:
            self._residual = self._difference()
        return self._residual

    def _difference(self) -> Expr:
        from .zero_terms import without_zero_terms  # asked for when needed

        for side, other in ((self.lhs, self.rhs), (self.rhs, self.lhs)):
            if isinstance(other, Constant) and not other.value.any() and side.shape == self.shape:
                return without_zero_terms(side if side is self.lhs else -side)
        return without_zero_terms(self.lhs - self.rhs)

    def __bool__(self) -> bool:
        raise ModelError(
            f"The equation `{self}` ({self.source}) is used as a truth value. An equation belongs into "
            f"the list that `equations` returns; write chains such as a == b == c as two equations, "
            f"`if` on structure with plain Python numbers, `where` for a choice by value, and "
            f"np.stack([...]) where an np.array([...]) or a list of expressions is equated."
        )

    def __str__(self) -> str:
        from .printing import equation_text

        return equation_text(self)

    __repr__ = __str__

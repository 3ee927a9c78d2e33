"""What a `when` does: `assign`, `reinit`, `terminate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import ModelError
from ..expressions.event_terms import checked_condition
from ..expressions.expression import Expr, Leaf, as_expr, as_operand
from ..expressions.indexing import Shape
from ..expressions.printing import Naming, expression_text, symbol_segments
from ..expressions.symbol_kinds import SymbolKind
from ..expressions.templates import Piece, as_piece
from ..expressions.value_types import TYPES, value_type
from ..source import Source, user_source


@dataclass(frozen=True, eq=False)
class _Setting:
    """A target, and its new value."""

    word: ClassVar[str]
    target: Expr
    piece: Piece
    value: Expr
    source: Source

    def text(self, naming: Naming = symbol_segments) -> str:
        target, value = (expression_text(expr, naming) for expr in (self.target, self.value))
        return f"{self.word}({target}, {value})"

    def __repr__(self) -> str:
        return self.text()


class Assign(_Setting):
    """`assign(d, value)`."""

    word = "assign"


class Reinit(_Setting):
    """`reinit(x, value)`."""

    word = "reinit"


@dataclass(frozen=True, eq=False)
class Terminate:
    """`terminate(reason)`."""

    reason: str
    source: Source

    def text(self, naming: Naming = symbol_segments) -> str:
        return f"terminate({self.reason!r})"

    def __repr__(self) -> str:
        return self.text()


WhenAction = Assign | Reinit | Terminate


def fits(shape: Shape, target: Shape) -> bool:
    """Whether a shape is one for all elements, or has an element (or a length of one) along each axis."""
    if not shape:
        return True
    return len(shape) == len(target) and all(
        own in (1, length) for own, length in zip(shape, target, strict=True)
    )


def assign(d: Any, value: Any) -> Assign:
    """Give a discrete variable a new value; an action of `when`.

    Parameters
    ----------
    d : expression
        A `Discrete` of the model or of one of its components, or elements of one.
    value : number, array or expression
        Its new value, from the values at the event; `pre(d)` is the old one.

    Returns
    -------
    Assign
        For `when`.

    Raises
    ------
    ModelError
        If d is not a discrete variable, or the shapes do not fit.

    Examples
    --------
    >>> from modia_py import Discrete, Model, assign, pre
    >>> class Counter(Model):
    ...     count = Discrete(0)
    >>> counter = Counter()
    >>> assign(counter.count, pre(counter.count) + 1)
    assign(count, pre(count) + 1)
    """
    source = user_source()
    target, piece = _target("assign", d, source)
    if piece is None or piece.node.kind is not SymbolKind.DISCRETE:
        raise ModelError(
            f"assign({target}, ...) ({source}): {_what(target, piece)}. Only a Discrete can be assigned "
            f"to; `reinit(x, value)` sets a continuous variable at an event."
        )
    new = _value("assign", target, value, source)
    _check_type(target, piece.node.symbol.dtype, new, source)
    return Assign(target, piece, new, source)


def reinit(x: Any, value: Any) -> Reinit:
    """Let a continuous variable go on from a new value; an action of `when`.

    Parameters
    ----------
    x : expression
        A variable that is a state of the transformed model, or elements of one.
    value : number, array or expression
        Its new value, from the values before the event.

    Returns
    -------
    Reinit
        For `when`.

    Raises
    ------
    ModelError
        If x is not a variable, or the shapes do not fit.

    Examples
    --------
    >>> from modia_py import Model, Var, reinit
    >>> class Ball(Model):
    ...     v = Var()
    >>> ball = Ball()
    >>> reinit(ball.v, -0.7 * ball.v)
    reinit(v, -0.7*v)
    """
    source = user_source()
    target, piece = _target("reinit", x, source)
    if piece is None or piece.node.kind is not SymbolKind.VARIABLE:
        raise ModelError(
            f"reinit({target}, ...) ({source}): {_what(target, piece)}. Only a Var can be set anew; "
            f"`assign(d, value)` sets a Discrete."
        )
    return Reinit(target, piece, _value("reinit", target, value, source), source)


def terminate(reason: str) -> Terminate:
    """End the run; an action of `when`.

    Parameters
    ----------
    reason : str
        Why, for the result.

    Returns
    -------
    Terminate
        For `when`.

    Raises
    ------
    ModelError
        If the reason is no text.

    Examples
    --------
    >>> from modia_py import terminate
    >>> terminate("the tank is empty")
    terminate('the tank is empty')
    """
    source = user_source()
    if not isinstance(reason, str) or not reason:
        raise ModelError(f"terminate takes the reason as a text, not {reason!r} ({source}).")
    return Terminate(reason, source)


def _check_type(target: Expr, dtype: str, value: Expr, source: Source) -> None:
    """Whole numbers and truth values are given out as such: nothing else may get into them."""
    found = value_type(value)
    if TYPES.index(found) <= TYPES.index(dtype):
        return
    if dtype == "bool":
        advice = "Assign a condition, such as x > 0 or ~pre(on); or declare it with Discrete(0)."
        words = "True or False"
    else:
        advice = (
            "Declare it with Discrete(0.0) if it is real; or round the value, np.floor(...), np.rint(...)."
        )
        words = "an integer"
    raise ModelError(
        f"assign({target}, {value}) ({source}): {target} is {words}, as its value at the start says, and "
        f"`{value}` may be something else. {advice}"
    )


def _target(word: str, value: Any, source: Source) -> tuple[Expr, Any]:
    if isinstance(value, (int, float, str, bool, type(None))):
        raise ModelError(f"{word}({value!r}, ...) ({source}): the first argument is a variable, self.name.")
    target = as_expr(value)
    piece = as_piece(target)
    return target, piece if piece is not None and isinstance(piece.node, Leaf) else None


def _what(target: Expr, piece: Piece | None) -> str:
    if piece is None:
        return f"`{target}` is an expression, and no variable"
    assert isinstance(piece.node, Leaf)
    words = {
        SymbolKind.VARIABLE: "a continuous variable",
        SymbolKind.PARAMETER: "a parameter, which does not change during a run",
        SymbolKind.INPUT: "an input, which is given with the simulation",
        SymbolKind.DISCRETE: "a discrete variable",
        SymbolKind.TIME: "the time",
    }
    return f"{piece.node} is {words[piece.node.kind]}"


def _value(word: str, target: Expr, value: Any, source: Source) -> Expr:
    expr = as_operand(value)
    if expr.dtype == "bool":
        expr = checked_condition(expr, f"The value of {word}")
    elif expr.dtype not in ("float64", "int64"):
        raise ModelError(f"{word}({target}, {expr}) ({source}): the value is not real.")
    if not fits(expr.shape, target.shape):
        raise ModelError(
            f"{word}({target}, {expr}) ({source}): the value has shape {expr.shape}, the target "
            f"{target.shape}. The value is one for all elements, or has one for each."
        )
    return expr

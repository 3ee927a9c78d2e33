"""Symbols: what a declaration becomes in one component of one model.

Leaves of expressions refer to a symbol by its identity; it carries the values.
"""

from __future__ import annotations

from typing import Any, NamedTuple, assert_never

import jax
import numpy as np

from ..errors import ModelError
from ..expressions.array_interface import ArrayInterface
from ..expressions.expression import Expr, Leaf, leaf, leaves_of
from ..expressions.indexing import Shape
from ..expressions.symbol_kinds import DiscreteRole, SymbolKind
from ..source import Source, user_source


class Symbol:
    """A declared name in one component; leaves of expressions refer to it by identity."""

    written: Expr | None = None
    """What a leaf of it prints as, where it has no name."""
    reason = ""

    def __init__(self, declaration: Any, name: str, component: Any):
        self.declaration = declaration
        self.name = name
        self.component = component
        self.kind = declaration.kind
        self.shape = declaration.shape
        self.unit = declaration.unit
        self.doc = declaration.doc
        self.is_flow = getattr(declaration, "is_flow", False)
        self.nonzero = getattr(declaration, "nonzero", False)
        self.value: Any = None
        self.init: Any = None
        self.guess: Any = None
        self.nominal: np.ndarray | None = None
        self.role = DiscreteRole.DECLARED if self.kind is SymbolKind.DISCRETE else None
        self.dtype = getattr(declaration, "dtype", "float64")
        if self.kind in (SymbolKind.PARAMETER, SymbolKind.DISCRETE):
            self.set_value(declaration.value)
        elif self.kind is SymbolKind.VARIABLE:
            self.init = self._start_value(declaration.init, "init", ())
            self.guess = self._start_value(declaration.guess, "guess", ())
            self.set_nominal(declaration.nominal, ())

    def segments(self) -> list[tuple[str, bool]]:
        """The path from the root of the model, and which parts of it are component arrays."""
        return [*self.component._segments(), (self.name, False)]

    def __str__(self) -> str:
        """The name for messages: `Resistor.R`, or the path where there is one."""
        path = ".".join(name for name, _ in self.segments())
        return path if "." in path else f"{type(self.component).__name__}.{path}"

    def leaf(self) -> Leaf:
        return leaf(self)

    def change(self, value: Any, lead: Shape) -> None:
        """Override the value of a parameter, or the start value of a variable or a discrete variable."""
        match self.kind:
            case SymbolKind.PARAMETER | SymbolKind.DISCRETE:
                self.set_value(value, lead)
            case SymbolKind.VARIABLE:
                self.init = self._start_value(value, "init", lead)
            case SymbolKind.INPUT:
                raise ModelError(
                    f"{self} is an input ({user_source()}): its values are given with the simulation."
                )
            case SymbolKind.TIME:
                raise AssertionError("nobody declares the time")
            case _:
                assert_never(self.kind)

    def current_value(self) -> Any:
        """What `change` would override."""
        return self.init if self.kind is SymbolKind.VARIABLE else self.value

    def set_guess(self, value: Any, lead: Shape) -> None:
        """Override where to look for the start of a variable."""
        if self.kind is not SymbolKind.VARIABLE:
            raise ModelError(f"{self} is no variable ({user_source()}): only variables have a guess.")
        self.guess = self._start_value(value, "guess", lead)

    def free_init(self, lead: Shape, elements: np.ndarray | None) -> None:
        """Drop the `init` of some elements (all: None), which are guessed instead."""
        if elements is None or self.init is None:
            self.init = None
            return
        if isinstance(self.init, Expr):
            raise ModelError(
                f"The init of {self} is the expression `{self.init}` ({user_source()}): give a guess for "
                f"the whole of it."
            )
        init = np.array(np.broadcast_to(self.init, lead + self.shape))
        init.reshape(-1)[elements] = np.nan
        self.init = None if np.isnan(init).all() else init

    def set_nominal(self, value: Any, lead: Shape) -> None:
        """Set the usual size of a variable, for all elements and copies or for each."""
        if self.kind is not SymbolKind.VARIABLE:
            raise ModelError(
                f"{self} is no variable ({user_source()}): only variables have a nominal value."
            )
        if isinstance(value, Expr):
            raise ModelError(
                f"The nominal value of {self} is the expression `{value}` ({user_source()}): give a number."
            )
        value = self._start_value(value, "nominal value", lead)
        if value is not None and not np.all(value > 0):
            raise ModelError(
                f"The nominal value of {self} is {value.tolist()} ({user_source()}): it is the usual size "
                f"of the variable, a positive number."
            )
        self.nominal = value

    def set_value(self, value: Any, lead: Shape = ()) -> None:
        """Set a parameter, or the start of a discrete variable, for all copies or for each of them."""
        self.value = self.checked_value(value, lead)

    def checked_value(
        self, value: Any, lead: Shape, name: str | None = None, selected: Shape | None = None
    ) -> Any:
        """A parameter value as an array (an expression or a JAX tracer as it is), or an error.

        With `selected` it is a value for elements in that shape, not for the whole.
        """
        name, where = name or str(self), user_source()
        if isinstance(value, Expr):
            self._check_parametric(value, "value", where)
        elif not isinstance(value, jax.core.Tracer):
            value = real_array(value, f"The value of {name}", where)
            if np.isnan(value).any():
                word = "Parameter" if self.kind is SymbolKind.PARAMETER else "The start value of"
                raise ModelError(f"{word} {name} is NaN ({where}).")
            self._check_dtype(value, name, where)
            if self.nonzero and not np.all(value):
                raise ModelError(
                    f"Parameter {name} is zero ({where}), but it is declared nonzero: equations may be "
                    f"divided by it."
                )
        if selected is None:
            self._check_shape(value.shape, lead, f"value of {name}", where)
        elif not broadcasts(value.shape, selected):
            raise ModelError(f"The value of {name} has shape {value.shape} ({where}), expected {selected}.")
        return value

    def _check_dtype(self, value: np.ndarray, name: str, where: Source) -> None:
        if self.dtype == "int64" and not np.array_equal(value, np.rint(value)):
            raise ModelError(f"{name} is an integer ({where}), and cannot be {value.tolist()}.")
        if self.dtype == "bool" and not np.isin(value, (0.0, 1.0)).all():
            raise ModelError(f"{name} is True or False ({where}), and cannot be {value.tolist()}.")

    def _start_value(self, value: Any, word: str, lead: Shape) -> Any:
        if value is None:
            return None
        where = user_source()
        if isinstance(value, Expr):
            self._check_parametric(value, word, where)
        else:
            some = isinstance(value, PartialValue)
            value = real_array(value.array if some else value, f"The {word} of {self}", where)
            if not np.isfinite(value).all() and not some:
                raise ModelError(f"The {word} of {self} is not finite ({where}).")
        if value.shape != ():  # one number serves all elements of a vector
            self._check_shape(value.shape, lead, f"{word} of {self}", where)
        return value

    def _check_parametric(self, value: Expr, word: str, where: Source) -> None:
        for node in leaves_of(value):
            if node.kind is not SymbolKind.PARAMETER:
                raise ModelError(
                    f"The {word} of {self} is the expression `{value}` ({where}), in which {node} is not "
                    f"a parameter. Relations between variables belong into `equations`."
                )

    def _check_shape(self, shape: Shape, lead: Shape, name: str, where: Source) -> None:
        """Own axes must agree; axes before them must fit the component arrays around the symbol."""
        own = shape[len(shape) - len(self.shape) :]
        copies = shape[: len(shape) - len(self.shape)]
        fits = len(shape) >= len(self.shape) and own == self.shape and len(copies) <= len(lead)
        if fits and copies:
            around = lead[len(lead) - len(copies) :]
            fits = all(given in (1, length) for given, length in zip(copies, around, strict=True))
        if not fits:
            per_copy = f", or {lead + self.shape} with one for each copy" if lead else ""
            raise ModelError(f"The {name} has shape {shape} ({where}), expected {self.shape}{per_copy}.")


class PartialValue(NamedTuple):
    """A start value of some elements: NaN stands for those without one."""

    array: np.ndarray


class _Time:
    """The symbol of the independent variable."""

    kind = SymbolKind.TIME
    name, shape, unit, doc = "time", (), "s", "the time"
    written: Expr | None = None

    def segments(self) -> list[tuple[str, bool]]:
        return [("time", False)]


time = leaf(_Time())


def broadcasts(shape: Shape, to: Shape) -> bool:
    """Whether values of a shape serve another one, by numpy's rules."""
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False


def holds_text(value: Any) -> bool:
    """Whether there are strings where numbers should be: numpy would read them."""
    if isinstance(value, (list, tuple)):
        return any(map(holds_text, value))
    return isinstance(value, (str, bytes)) or (isinstance(value, np.ndarray) and value.dtype.kind in "US")


def real_array(value: Any, name: str, where: Source) -> np.ndarray:
    if isinstance(value, ArrayInterface):
        return value._apply("add", value, 0)  # a declaration says what is wrong with it
    if holds_text(value):
        raise ModelError(f"{name} must be real numbers, not {value!r} ({where}): no quotes.")
    try:
        if value is None or np.iscomplexobj(value):
            raise TypeError
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{name} must be real numbers, not {value!r} ({where}).") from None
    array.setflags(write=False)
    return array

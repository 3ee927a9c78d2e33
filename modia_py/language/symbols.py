"""Declarations, as a user types them in a class body, and the symbols they become in an instance.

A declaration belongs to a class: it says what kind of thing a name is. A symbol belongs to one
component of one model: it is what the leaves of expressions refer to, and carries the values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, assert_never

import jax
import numpy as np

from ..errors import ModelError
from ..expressions.array_interface import ArrayInterface
from ..expressions.expression import Expr, Leaf, leaf, leaves_of
from ..expressions.indexing import Shape
from ..expressions.symbol_kinds import SymbolKind
from ..source import Source, user_source


def as_shape(shape: Any) -> Shape:
    """A shape from an integer or a sequence of integers."""
    lengths = shape if isinstance(shape, (tuple, list)) else (shape,)
    for length in lengths:
        is_integer = isinstance(length, (int, np.integer)) and not isinstance(length, bool)
        if not is_integer or length < 1:
            raise ModelError(
                f"{shape!r} is not a shape ({user_source()}): give positive integers, such as 3 or "
                f"(2, 3). The start value of a variable is its `init`: Var(init=...)."
            )
    return tuple(int(length) for length in lengths)


class Declaration(ArrayInterface):
    """What a name in a class body stands for. Only `self.name` is an expression."""

    kind: ClassVar[SymbolKind]

    def __init__(self, shape: Any, unit: str | None, doc: str | None):
        self.name = "?"
        self.owner = "?"
        self.shape = as_shape(shape)
        self.unit = _text(unit, "unit")
        self.doc = _text(doc, "doc")
        self.source: Source = user_source()

    def __set_name__(self, owner: type, name: str) -> None:
        self.name, self.owner = name, owner.__name__

    if TYPE_CHECKING:  # in an instance, the name is an expression

        def __get__(self, instance: Any, owner: type) -> Any: ...

    def symbol(self, name: str, component: Any) -> Symbol:
        """Make the symbol of this declaration in one component; called when an instance is made.

        Parameters
        ----------
        name, component
            The name of the attribute, and the instance it belongs to.

        Returns
        -------
        Symbol
            What the leaves of expressions refer to.
        """
        return Symbol(self, name, component)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def _outside(self, *_: Any) -> Any:
        name = self.name if self.owner == "?" else f"{self.owner}.{self.name}"
        raise ModelError(
            f"`{name}` is a {type(self).__name__} declaration, used outside its model ({user_source()}). "
            f"Write self.{self.name if self.name != '?' else 'name'} inside `equations` or `__init__`."
        )

    _apply = _apply_numpy = _refuse = _outside  # type: ignore[assignment]


class Var(Declaration):
    """An unknown of the model.

    Declared in a class body, or in `__init__`; in an instance, its name is an expression.

    Parameters
    ----------
    shape : int or tuple of int
        () for a scalar, 3 for a vector, (2, 3) for a matrix.
    init : number, array or expression of parameters, optional
        The value at the start, fixed: one for all elements, or of the shape of the variable.
    guess : number, array or expression of parameters, optional
        Only where to look for the value at the start; 0 if nothing is given.
    nominal : number or array, optional
        Its usual size, positive, for all elements or each. Errors are measured against it where the
        variable itself is near zero: its default absolute tolerance is `rtol` / 1000 times this. 1 if not
        given.
    unit, doc : str, optional
        Its unit, such as "m/s2", and what it is in a few words: for reports, plots and files.

    Raises
    ------
    ModelError
        If a shape, a value or a text is wrong; values are checked when an instance is made.

    Examples
    --------
    >>> from modia_py import Model, Var, der
    >>> class Fall(Model):
    ...     r = Var(3, init=[0.0, 10.0, 0.0], unit="m", doc="position")
    ...     def equations(self):
    ...         return [der(der(self.r)) == [0.0, -9.81, 0.0]]
    >>> Fall().r.shape
    (3,)
    """

    kind = SymbolKind.VARIABLE
    is_flow = False

    def __init__(
        self,
        shape: Any = (),
        *,
        init: Any = None,
        guess: Any = None,
        nominal: Any = None,
        unit: str | None = None,
        doc: str | None = None,
    ):
        super().__init__(shape, unit, doc)
        self.init, self.guess, self.nominal = init, guess, nominal


class Flow(Var):
    """A variable of a connector that sums to zero in a connection.

    It counts positive into the component. A flow of a connector that is not connected is zero.

    Parameters
    ----------
    shape, init, guess, nominal, unit, doc
        As for `Var`.

    Raises
    ------
    ModelError
        If it is declared in a model instead of a connector, or if a value is wrong.

    Examples
    --------
    >>> from modia_py import Connector, Flow, Var
    >>> class Flange(Connector):
    ...     phi = Var(unit="rad")
    ...     tau = Flow(unit="N.m")
    >>> Flange().tau
    tau
    """

    is_flow = True


class Par(Declaration):
    """Data of the model: changing it never compiles anything again.

    Parameters
    ----------
    value : number, array or expression of parameters
        Its value, which also gives its shape. An expression of other parameters (`Par(2 * self.R)` in
        `__init__`) follows them.
    nonzero : bool
        A promise that no element is ever zero, so that equations may be divided by it (a mass, a
        capacitance). The promise is checked.
    unit, doc : str, optional
        Its unit, such as "m/s2", and what it is in a few words: for reports, plots and files.

    Raises
    ------
    ModelError
        If the value is not real, is NaN, or is zero against the promise.

    Examples
    --------
    >>> from modia_py import Model, Par
    >>> class Body(Model):
    ...     m = Par(2.0, nonzero=True, unit="kg")
    ...     n = Par([0.6, 0.8, 0.0], doc="direction")
    >>> Body(m=3.0).n.shape
    (3,)
    """

    kind = SymbolKind.PARAMETER

    def __init__(
        self, value: Any, *, nonzero: bool = False, unit: str | None = None, doc: str | None = None
    ):
        if isinstance(value, Expr):
            super().__init__(value.shape, unit, doc)
            self.value: Any = value
        else:
            array = _real_array(value, "The value of a parameter", user_source())
            super().__init__(array.shape, unit, doc)
            self.value = array
        self.nonzero = bool(nonzero)


class Input(Declaration):
    """A known function of time, given with the simulation.

    Parameters
    ----------
    shape : int or tuple of int
        () for a scalar, 3 for a vector, (2, 3) for a matrix.
    unit, doc : str, optional
        Its unit, such as "m/s2", and what it is in a few words: for reports, plots and files.

    Raises
    ------
    ModelError
        If the shape or a text is wrong.

    Examples
    --------
    >>> from modia_py import Input, Model, Var, der, elaborate
    >>> class Lag(Model):
    ...     u = Input(unit="V")
    ...     x = Var(init=0.0)
    ...     def equations(self):
    ...         return [der(self.x) == self.u - self.x]
    >>> [str(entry) for entry in elaborate(Lag()).inputs]  # simulate(Lag(), 1.0, inputs={"u": np.sin})
    ['u V']
    """

    kind = SymbolKind.INPUT

    def __init__(self, shape: Any = (), *, unit: str | None = None, doc: str | None = None):
        super().__init__(shape, unit, doc)


class Symbol:
    """A declared name in one component; leaves of expressions refer to it by identity."""

    def __init__(self, declaration: Declaration, name: str, component: Any):
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
        if isinstance(declaration, Par):
            self.set_value(declaration.value)
        elif isinstance(declaration, Var):
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
        """Override the value of a parameter or the start value of a variable."""
        match self.kind:
            case SymbolKind.PARAMETER:
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
        """Set a parameter, for all copies or, with leading axes, for each copy."""
        self.value = self.checked_value(value, lead)

    def checked_value(self, value: Any, lead: Shape, name: str | None = None) -> Any:
        """A parameter value as an array (an expression or a JAX tracer as it is), or an error."""
        name, where = name or str(self), user_source()
        if isinstance(value, Expr):
            self._check_parametric(value, "value", where)
        elif not isinstance(value, jax.core.Tracer):
            value = _real_array(value, f"The value of {name}", where)
            if np.isnan(value).any():
                raise ModelError(f"Parameter {name} is NaN ({where}).")
            if self.nonzero and not np.all(value):
                raise ModelError(
                    f"Parameter {name} is zero ({where}), but it is declared nonzero: equations may be "
                    f"divided by it."
                )
        self._check_shape(value.shape, lead, f"value of {name}", where)
        return value

    def _start_value(self, value: Any, word: str, lead: Shape) -> Any:
        if value is None:
            return None
        where = user_source()
        if isinstance(value, Expr):
            self._check_parametric(value, word, where)
        else:
            value = _real_array(value, f"The {word} of {self}", where)
            if not np.isfinite(value).all():
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


class _Time:
    """The symbol of the independent variable."""

    kind = SymbolKind.TIME
    name, shape, unit, doc = "time", (), "s", "the time"

    def segments(self) -> list[tuple[str, bool]]:
        return [("time", False)]


time = leaf(_Time())


def _real_array(value: Any, name: str, where: Source) -> np.ndarray:
    if isinstance(value, ArrayInterface):
        return value._apply("add", value, 0)  # a declaration says what is wrong with it
    try:
        if value is None or np.iscomplexobj(value):
            raise TypeError
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{name} must be real numbers, not {value!r} ({where}).") from None
    array.setflags(write=False)
    return array


def _text(value: Any, word: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ModelError(f"{word} must be text, not {value!r} ({user_source()}).")
    return value

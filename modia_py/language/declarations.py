"""Declarations, as a user types them in a class body.

A declaration belongs to a class: it says what kind of thing a name is. What it becomes in one component of
one model is a symbol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import ModelError, WrongArgumentError, wrong_argument_text
from ..expressions.array_interface import ArrayInterface
from ..expressions.expression import Expr
from ..expressions.indexing import Shape
from ..expressions.symbol_kinds import SymbolKind
from ..source import Source, user_source
from .symbols import Symbol, real_array


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


class _DeclarationClass(type):
    """Makes of wrong arguments a sentence with a line."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except TypeError as error:
            trace = error.__traceback__
            if trace is None or trace.tb_next is not None:
                raise
            failure = error
        text = wrong_argument_text(cls, kwargs, failure)
        raise WrongArgumentError(f"{text} ({user_source()})")


class Declaration(ArrayInterface, metaclass=_DeclarationClass):
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
        if self.name == "?":
            kind = type(self).__name__
            raise ModelError(
                f"A {kind} that has no name is used ({user_source()}). Declare it in the class body, or as "
                f"self.name = {kind}(...) in `__init__`, and write self.name. What depends on others is "
                f"made in `__init__`: self.tau = Par(self.R * self.C)."
            )
        name = self.name if self.owner == "?" else f"{self.owner}.{self.name}"
        raise ModelError(
            f"`{name}` is a {type(self).__name__} declaration, used outside its model ({user_source()}). "
            f"Write self.{self.name} inside `equations` or `__init__`."
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
            array = real_array(value, "The value of a parameter", user_source())
            super().__init__(array.shape, unit, doc)
            self.value = array
        self.nonzero = bool(nonzero)


class Discrete(Declaration):
    """A variable that changes at events only: `when(condition, assign(d, value))` says when and to what.

    Equations see it as they see a parameter.

    Parameters
    ----------
    value : number, bool, array or expression of parameters
        Its value at the start, which also gives its shape. Whether it is real, an integer or a truth value
        is seen from it: `Discrete(0.0)`, `Discrete(0)`, `Discrete(False)`. Members of an `enum.IntEnum` are
        integers.
    unit, doc : str, optional
        Its unit, such as "m/s2", and what it is in a few words: for reports, plots and files.

    Raises
    ------
    ModelError
        If the value is not real or is NaN.

    Examples
    --------
    >>> from modia_py import Discrete, Model, Var, assign, der, elaborate, pre, when
    >>> class Counter(Model):
    ...     x = Var(init=0.0)
    ...     count = Discrete(0, doc="how often x has passed one")
    ...     def equations(self):
    ...         return [
    ...             der(self.x) == 1.0,
    ...             when(self.x > 1.0, assign(self.count, pre(self.count) + 1)),
    ...         ]
    >>> [str(entry) for entry in elaborate(Counter()).declared_discretes]
    ['count']
    """

    kind = SymbolKind.DISCRETE

    def __init__(self, value: Any, *, unit: str | None = None, doc: str | None = None):
        if isinstance(value, Expr):
            super().__init__(value.shape, unit, doc)
            self.value: Any = value
            self.dtype = "float64"
        else:
            array = real_array(value, "The value of a discrete variable", user_source())
            super().__init__(array.shape, unit, doc)
            self.value = array
            self.dtype = {"b": "bool", "i": "int64", "u": "int64"}.get(
                np.asarray(value).dtype.kind, "float64"
            )


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


def _text(value: Any, word: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ModelError(f"{word} must be text, not {value!r} ({user_source()}).")
    return value

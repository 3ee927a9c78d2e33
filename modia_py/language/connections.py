"""`connect`: the statement, and what may be connected with what."""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from ..errors import ModelError
from ..expressions.expression import Expr, leaves_of
from ..expressions.indexing import Shape
from ..expressions.symbol_kinds import SymbolKind
from ..source import Source, user_source
from .component_arrays import ComponentArray
from .components import Component
from .model import Connector
from .symbols import Symbol

made: ContextVar[list[Connection] | None] = ContextVar("made", default=None)
"""Connections made while `equations` of a component is evaluated: each of them has to be returned."""


@dataclass(frozen=True, eq=False)
class Connection:
    """The statement `connect(a, b, ...)`."""

    connectors: tuple[Any, ...]
    source: Source

    def __str__(self) -> str:
        return f"connect({', '.join(map(connector_text, self.connectors))})"


def connect(*connectors: Any) -> Connection:
    """Connect two or more connectors, or arrays of them.

    In a connection all variables are equal, and flows sum to zero. Arrays of equal shape are connected
    element by element. A single connector joins all elements of the arrays it is connected with in one set.

    Parameters
    ----------
    *connectors : Connector or array of them
        Two at least, of one class, such as `self.r.p` or `self.r[:-1].n`.

    Returns
    -------
    Connection
        A statement for the list that `equations` returns.

    Raises
    ------
    ModelError
        If something is no connector, if classes or variables differ, or if lengths of arrays do.

    Examples
    --------
    >>> from modia_py import Model, connect
    >>> from modia_py.models.electrical import Capacitor, Ground, Resistor
    >>> class Discharge(Model):
    ...     r = Resistor(R=10.0)
    ...     c = Capacitor(C=1e-3, u=5.0)
    ...     ground = Ground()
    ...     def equations(self):
    ...         return [connect(self.r.p, self.c.p), connect(self.r.n, self.c.n, self.ground.p)]
    >>> print(Discharge().equations()[1])
    connect(r.n, c.n, ground.p)
    """
    connection = Connection(connectors, user_source())
    where = connection.source
    for connector in connectors:
        if isinstance(connector, type) and issubclass(connector, Component):
            raise ModelError(
                f"connect takes connectors of components ({where}), such as self.a.p, not the class "
                f"{connector.__name__}."
            )
        if not isinstance(component_of(connector), Connector):
            kind = "the variable" if isinstance(connector, Expr) else type(component_of(connector)).__name__
            hint = _instead_of(connectors, connector) if isinstance(connector, Expr) else ""
            if isinstance(component_of(connector), Component):
                kind, hint = f"the {kind}", _connectors_of(component_of(connector))
            if isinstance(connector, (list, tuple)):
                kind, hint = type(connector).__name__, " The members of a list: connect(a, *others)."
            name = repr(connector) if not isinstance(connector, Component) else connector_text(connector)
            raise ModelError(f"connect takes connectors ({where}), not {kind} {name}.{hint}")
    if len(connectors) < 2:
        raise ModelError(f"connect takes two connectors or more ({where}).")
    first = connectors[0]
    for other in connectors[1:]:
        _check_same_kind(first, other, where)
    shapes = {shape_of(connector) for connector in connectors} - {()}
    if len(shapes) > 1:
        sizes = ", ".join(f"{connector_text(c)} has {shape_of(c)}" for c in connectors)
        raise ModelError(
            f"{connection} joins arrays of different length ({where}): {sizes}. Slice them to equal "
            f"length, or connect an array with a single connector."
        )
    if (waiting := made.get()) is not None:
        waiting.append(connection)
    return connection


def connector_text(connector: Any) -> str:
    if isinstance(connector, ComponentArray):
        return str(connector)
    if isinstance(connector, Component):
        return ".".join(name for name, _ in connector._segments()) or str(connector)
    return str(connector)


def component_of(connector: Any) -> Any:
    return connector._component if isinstance(connector, ComponentArray) else connector


def shape_of(connector: Any) -> Shape:
    return connector._shape if isinstance(connector, ComponentArray) else ()


def _check_same_kind(first: Any, other: Any, where: Source) -> None:
    a, b = component_of(first), component_of(other)
    related = [base for base in type(a).__mro__ if base in type(b).__mro__ and issubclass(base, Connector)]
    if related[0] is Connector:
        raise ModelError(
            f"connect joins connectors of different classes ({where}): {connector_text(first)} is a "
            f"{type(a).__name__}, {connector_text(other)} is a {type(b).__name__}."
        )
    plain: tuple[tuple, dict] = ((), {})
    if type(a) is type(b) and a._arguments == plain == b._arguments:
        return
    described = [
        {path: (symbol.shape, symbol.is_flow) for path, symbol in _variables(component)}
        for component in (a, b)
    ]
    if described[0] != described[1]:
        different = sorted(set(described[0].items()) ^ set(described[1].items()))
        raise ModelError(
            f"connect joins connectors whose variables differ in '{different[0][0]}' ({where}): "
            f"{connector_text(first)} and {connector_text(other)}."
        )


def _instead_of(connectors: tuple[Any, ...], given: Expr) -> str:
    """What to write where an expression stands in a connection."""
    owners = [leaf.symbol.component for leaf in leaves_of(given) if hasattr(leaf.symbol, "component")]
    if any(isinstance(owner, Connector) for owner in owners):
        return " Connect the connector it belongs to."
    if len(connectors) == 2 and all(isinstance(each, Expr) for each in connectors):
        return f" Signals are joined by an equation: self.{connectors[0]} == self.{connectors[1]}."
    return " Signals are joined by equations, such as self.b.u == self.a.y."


def _connectors_of(component: Component) -> str:
    """Which connectors of a component may be meant where it stands itself."""
    name = component._name or "a"
    own = [f"{name}.{child}" for child, part in component._children() if isinstance(part, Connector)]
    return f" Its connectors: {', '.join(own)}." if own else ""


def _variables(connector: Component) -> Iterator[tuple[str, Symbol]]:
    for path, part in primitive_connectors(connector):
        for name, child in part._children():
            if isinstance(child, Symbol) and child.kind is SymbolKind.VARIABLE:
                yield f"{path}{name}", child


def primitive_connectors(connector: Component) -> Iterator[tuple[str, Component]]:
    """A connector and the connectors inside it, with their relative paths."""
    stack = [("", connector)]
    while stack:
        path, part = stack.pop()
        yield path, part
        for name, child in part._children():
            if isinstance(child, ComponentArray):
                raise ModelError(
                    f"{type(part).__name__}.{name} is an array of connectors inside a connector: give "
                    f"its variables a shape instead."
                )
            if isinstance(child, Component):
                stack.append((f"{path}{name}.", child))

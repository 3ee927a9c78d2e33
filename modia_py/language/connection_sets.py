"""Connection sets as array equations.

Connections belong to the component whose `equations` state them, and never reach across levels: seen
from there a connector is *inside* if it belongs to one of its components, *outside* if it is its own.
In each set the potentials are equal, and the flows of the inside connectors sum to those of the
outside ones (Modelica language specification, "Generation of Connection Equations").

All elements of all connectors of a component are numbered; `connect` makes edges between numbers, the
sets are the connected components of that graph, and sets of the same make-up become one array
equation. Nothing is done element by element in Python.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from ..arrays.distinct import distinct
from ..errors import ModelError, ModelWarning
from ..expressions.equation import Equation
from ..expressions.expression import Expr, leaf
from ..expressions.indexing import Shape, from_array
from ..expressions.symbol_kinds import SymbolKind
from ..source import Source
from .component_arrays import ComponentArray
from .components import Component
from .connections import Connection, component_of, connector_text, primitive_connectors, shape_of
from .model import Connector
from .symbols import Symbol


@dataclass(frozen=True)
class Port:
    """One primitive connector, or array of them, as seen from the component that connects."""

    potentials: dict[str, Symbol]
    flows: dict[str, Symbol]
    lead: Shape
    outside: bool
    first: int  # number of its first element

    @property
    def size(self) -> int:
        return math.prod(self.lead)


class Ports:
    """Every connector that one component may connect: its own, and those of its components."""

    def __init__(self, root: Component):
        self.root = root
        self.all: list[Port] = []
        self.size = 0
        self._by_component: dict[int, Port] = {}
        for _, child in root._children():
            part, lead = _unwrap(child)
            if isinstance(part, Connector):
                self._add(part, lead, outside=True)
            elif isinstance(part, Component):
                for _, grandchild in part._children():
                    connector, inner = _unwrap(grandchild)
                    if isinstance(connector, Connector):
                        self._add(connector, lead + inner, outside=False)

    def _add(self, connector: Component, lead: Shape, outside: bool) -> None:
        for _, part in primitive_connectors(connector):
            variables = [
                child
                for _, child in part._children()
                if isinstance(child, Symbol) and child.kind is SymbolKind.VARIABLE
            ]
            port = Port(
                {variable.name: variable for variable in variables if not variable.is_flow},
                {variable.name: variable for variable in variables if variable.is_flow},
                lead,
                outside,
                self.size,
            )
            self.all.append(port)
            self._by_component[id(part)] = port
            self.size += port.size

    def numbers(self, connector: Any, path: str, connection: Connection) -> np.ndarray:
        """The numbers of the elements of (a part of) a connector in a connection."""
        part: Any = component_of(connector)
        for name in path.split(".")[:-1]:
            part = dict(part._children())[name]
        port = self._by_component.get(id(part))
        lead = connector._lead if isinstance(connector, ComponentArray) else ()
        if port is None or port.lead != lead:
            raise ModelError(
                f"{connection} ({connection.source}) in {type(self.root).__name__}: "
                f"{connector_text(connector)} is not a connector of {type(self.root).__name__} or of one "
                f"of its components. Connect level by level, through connectors of the components between."
                + (" Is a class named without ()?" if component_of(connector)._parent is None else "")
            )
        elements = port.first + np.arange(port.size).reshape(port.lead)
        if isinstance(connector, ComponentArray):
            elements = elements[np.ix_(*(np.array(axis, np.int64, ndmin=1) for axis in connector._index))]
        return elements.reshape(shape_of(connector))


def _unwrap(child: Any) -> tuple[Any, Shape]:
    if isinstance(child, ComponentArray):
        return child._component, child._lead
    return child, ()


def connection_equations(root: Component, connections: list[Connection]) -> list[Equation]:
    """The equations of all connections that one component states, unconnected flows included."""
    ports = Ports(root)
    edges, statement = _edges(ports, connections)
    connected = np.zeros(ports.size, bool)
    connected[edges.ravel()] = True
    equations = []
    if connections:
        sets = _Sets(ports, edges, statement, [connection.source for connection in connections])
        equations = [equation for group in sets.groups() for equation in group]
    for port in ports.all:
        if not port.outside:
            loose = np.flatnonzero(~connected[port.first : port.first + port.size])
            equations += zero_flows(port, loose)
    return equations


def zero_flows(port: Port, elements: np.ndarray | None = None) -> list[Equation]:
    """An unconnected flow is zero."""
    if elements is None:
        elements = np.arange(port.size)
    if not len(elements):
        return []
    return [
        Equation(_pick(port, flow, elements), 0, flow.declaration.source) for flow in port.flows.values()
    ]


def _edges(ports: Ports, connections: list[Connection]) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of element numbers, and which statement made each."""
    pairs, statement = [np.zeros((0, 2), np.int64)], [np.zeros(0, np.int64)]
    for place, connection in enumerate(connections):
        first = component_of(connection.connectors[0])
        for path, _ in primitive_connectors(first):
            members = [ports.numbers(c, path, connection) for c in connection.connectors]
            hub = next((m for m in members if m.shape == ()), members[0])
            for member in members:
                if member is not hub:
                    ends = np.broadcast_arrays(hub, member)
                    pairs.append(np.stack([end.ravel() for end in ends], axis=1))
                    statement.append(np.full(len(pairs[-1]), place))
    edges, made_by = np.concatenate(pairs), np.concatenate(statement)
    _check_edges(edges, made_by, connections)
    return edges, made_by


def _check_edges(edges: np.ndarray, statement: np.ndarray, connections: list[Connection]) -> None:
    loops = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if len(loops):
        connection = connections[statement[loops[0]]]
        raise ModelError(f"{connection} ({connection.source}) connects a connector with itself.")
    ordered = np.sort(edges, axis=1)
    _, first, counts = np.unique(ordered, axis=0, return_index=True, return_counts=True)
    twice = first[counts > 1]
    if len(twice):
        again = np.flatnonzero((ordered == ordered[twice[0]]).all(axis=1))
        places = list(dict.fromkeys(connections[statement[k]] for k in again))
        warnings.warn(
            f"{places[-1]} ({places[-1].source}) repeats the connection of line {places[0].source}; it has "
            f"no further effect.",
            ModelWarning,
            stacklevel=2,
        )


class _Sets:
    """The connection sets, sorted so that sets of the same make-up lie together."""

    def __init__(self, ports: Ports, edges: np.ndarray, statement: np.ndarray, sources: list[Source]):
        self.ports = ports.all
        graph = coo_matrix((np.ones(len(edges), bool), (edges[:, 0], edges[:, 1])), (ports.size,) * 2)
        labels = connected_components(graph, directed=False)[1]
        members = distinct(edges)
        self.members = members[np.argsort(labels[members], kind="stable")]
        first_of_set = np.flatnonzero(np.diff(labels[self.members], prepend=-1))
        self.starts = first_of_set
        self.sizes = np.diff(np.append(first_of_set, len(self.members)))
        firsts = np.array([port.first for port in self.ports])
        self.port_of = np.searchsorted(firsts, self.members, side="right") - 1
        self.element_of = self.members - firsts[self.port_of]
        self.sources = sources
        self.statement_of = np.full(ports.size, len(sources))
        np.minimum.at(self.statement_of, edges.ravel(), np.repeat(statement, 2))

    def groups(self) -> Iterator[list[Equation]]:
        """The equations of each group of sets that join the same connectors, each as often."""
        for size in distinct(self.sizes):
            starts = self.starts[self.sizes == size]
            table = starts[:, None] + np.arange(size)
            ports, elements = self.port_of[table], self.element_of[table]
            _, first, which = np.unique(ports, axis=0, return_index=True, return_inverse=True)
            which = which.reshape(-1)
            order = np.argsort(which, kind="stable")
            bounds = np.searchsorted(which[order], np.arange(len(first) + 1))
            for k, sample in enumerate(first):
                rows = order[bounds[k] : bounds[k + 1]]
                statement = self.statement_of[self.members[table[rows[0], 0]]]
                yield self._equations(ports[sample], elements[rows], self.sources[statement])

    def _equations(self, ports: np.ndarray, elements: np.ndarray, source: Source) -> list[Equation]:
        """One group: column j of `elements` belongs to connector `ports[j]`; a row is a set."""
        columns = np.split(np.arange(len(ports)), np.flatnonzero(np.diff(ports)) + 1)
        runs = [(self.ports[ports[run[0]]], elements[:, run]) for run in columns]
        runs.sort(key=lambda run: run[1].shape[1] > 1)  # a single connector is the reference of its set
        equations = []
        for name, potential in runs[0][0].potentials.items():
            equations += _equal(runs, name, potential.shape, source)
        for name, flow in runs[0][0].flows.items():
            equations.append(_balance(runs, name, flow.shape, source))
        return equations


def _equal(runs: list, name: str, shape: Shape, source: Source) -> list[Equation]:
    """All potentials of a set equal that of its first connector."""
    reference_port, reference = runs[0]
    symbol = reference_port.potentials[name]
    sets = len(reference)
    equations = []
    for port, elements in runs:
        others = elements[:, 1:] if port is reference_port else elements
        if not others.shape[1]:
            continue
        own = port.potentials[name]
        if others.shape[1] == 1:
            equations.append(_same_shape(port, own, others, reference_port, symbol, reference, source))
        else:  # many elements of one array: broadcast against one of each set
            one = _pick(reference_port, symbol, reference[:, 0])
            if sets > 1:
                one = one.reshape((sets, 1, *shape))
                many = _pick(port, own, others.ravel()).reshape((sets, -1, *shape))
            else:
                many = _pick(port, own, others.ravel())
            equations.append(Equation(many, one, source))
    return equations


def _same_shape(
    port: Port,
    own: Symbol,
    elements: np.ndarray,
    reference_port: Port,
    symbol: Symbol,
    reference: np.ndarray,
    source: Source,
) -> Equation:
    left = _pick(port, own, elements[:, 0])
    right = _pick(reference_port, symbol, reference[:, 0])
    flat = (len(elements), *own.shape)
    if left.shape != right.shape:
        left, right = left.reshape(flat), right.reshape(flat)
    return Equation(left, right, source)


def _balance(runs: list, name: str, shape: Shape, source: Source) -> Equation:
    """The flows into a set sum to zero; those of outside connectors count negative."""
    sets = len(runs[0][1])
    terms = []
    for port, elements in runs:
        symbol = port.flows[name]
        term = _pick(port, symbol, elements.ravel() if elements.shape[1] > 1 else elements[:, 0])
        if elements.shape[1] > 1:
            if sets > 1:
                term = term.reshape((sets, elements.shape[1], *shape)).sum(axis=1)
            else:
                axes = tuple(range(term.ndim - len(shape)))
                term = term.sum(axis=None if not shape else axes if len(axes) > 1 else 0)
        terms.append((port.outside, term))
    if len({term.shape for _, term in terms}) > 1:
        terms = [(outside, term.reshape((sets, *shape))) for outside, term in terms]
    terms.sort(key=lambda item: item[0])
    total: Expr | None = None
    for outside, term in terms:
        if total is None:
            total = term  # if all are outside, the sign of the whole does not matter
        elif outside and not terms[0][0]:
            total = total - term
        else:
            total = total + term
    return Equation(total, 0, source)


def _pick(port: Port, symbol: Symbol, elements: np.ndarray) -> Expr:
    """Elements of an array of connectors, as the shortest index there is."""
    whole = leaf(symbol, port.lead)
    if len(elements) == 1:
        place = tuple(int(k) for k in np.unravel_index(elements[0], port.lead))
        return whole[place] if place else whole
    if len(port.lead) > 1:
        axes = np.unravel_index(elements, port.lead)
        chosen = [np.unique(axis) for axis in axes]
        grid = np.ravel_multi_index(np.ix_(*chosen), port.lead).ravel()
        if np.array_equal(grid, elements):
            items = tuple(_short(c, length) for c, length in zip(chosen, port.lead, strict=True))
            irregular = sum(isinstance(item, np.ndarray) for item in items)
            if not irregular:
                return whole if items == (slice(None),) * len(items) else whole[items]
        whole = whole.reshape((port.size, *symbol.shape))
        if np.array_equal(elements, np.arange(port.size)):
            return whole
    item = _short(elements, port.size)
    is_all = isinstance(item, slice) and item == slice(None)
    return whole if is_all else whole[item]


def _short(elements: np.ndarray, length: int) -> Any:
    """A slice for a regular sequence of numbers, else the numbers."""
    places = from_array(elements)
    if not places.is_affine or (len(elements) > 1 and places.strides[0] == 0):
        return elements
    first, step = int(elements[0]), places.strides[0] or 1
    last = int(elements[-1])
    if (first, step, last) == (0, 1, length - 1):
        return slice(None)
    stop: int | None = last + (1 if step > 0 else -1)
    if stop == length or stop == -1:
        stop = None
    return slice(first or None if step > 0 else first, stop, None if step == 1 else step)

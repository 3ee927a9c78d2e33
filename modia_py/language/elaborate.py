"""From a tree of components to a flat model.

Components of the same class and structure are elaborated once: their `equations` are evaluated for
the first of them, and hold for the others under other names. Their variables lie together, copy after
copy, so that a thousand separate resistors look like an array of a thousand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import ModelError
from ..expressions.equation import Equation
from ..expressions.expression import Expr, Leaf, leaves_of
from ..expressions.hint_terms import has_hints, without_hints
from ..expressions.indexing import Shape
from ..expressions.printing import Segments, clip_text
from ..expressions.symbol_kinds import SymbolKind
from .bindings import make_bindings
from .component_arrays import ComponentArray
from .components import Component
from .connection_sets import Ports, connection_equations, zero_flows
from .connections import Connection
from .event_order import event_levels
from .event_parts import ScopeEvents
from .event_scope import EventScope
from .flat_model import FlatEquation, FlatModel, FlatSymbol, Occurrence, Placed, Scope
from .model import Connector, Model
from .splitting import split_equation
from .statements import not_an_equation, statements_of
from .surroundings import bind_surroundings
from .symbols import Symbol
from .when import Always, When


def elaborate(model: Model) -> FlatModel:
    """Flatten a model: every variable and equation of the hierarchy, arrays kept as arrays.

    Parameters
    ----------
    model : Model
        An instance that is no component of another one.

    Returns
    -------
    FlatModel
        Variables, parameters, inputs and equations by dotted name; printed, it is a listing.

    Raises
    ------
    ModelError
        If the model is wrong: a name, a shape, a value, a connection, an equation.

    Examples
    --------
    >>> from modia_py import elaborate
    >>> from modia_py.models.examples import Ladder
    >>> flat = elaborate(Ladder(1000))
    >>> flat.unknowns, len(flat.equations) < 50
    (14009, True)
    """
    if isinstance(model, ComponentArray):
        raise ModelError(f"{model} is an array of models; simulate a model that contains it.")
    if not isinstance(model, Model):
        hint = " Make an instance: write its name with ()." if isinstance(model, type) else ""
        raise ModelError(f"{model!r} is not a model.{hint}")
    if model._parent is not None:
        raise ModelError(f"{model!r} is a component of another model; elaborate that one.")
    components = list(_walk(model))
    given = bind_surroundings(components)
    keys = _structure_keys(components)
    scopes: dict[int, Scope] = {}
    occurrences = []
    for path, lead, component in components:
        key = keys[id(component)]
        if key not in scopes:
            scopes[key] = _scope(component, given.get(id(component), []), is_root=component is model)
        occurrences.append(Occurrence(path, lead, component, scopes[key]))
    symbols = _place_symbols(occurrences, list(scopes.values()))
    by_symbol = {id(flat.symbol): flat for flat in symbols}
    of_kind: dict[SymbolKind, tuple[FlatSymbol, ...]] = {
        kind: tuple(flat for flat in symbols if flat.kind is kind) for kind in SymbolKind
    }
    variables, parameters = of_kind[SymbolKind.VARIABLE], of_kind[SymbolKind.PARAMETER]
    flat = FlatModel(
        name=type(model).__name__,
        variables=variables,
        parameters=parameters,
        inputs=of_kind[SymbolKind.INPUT],
        discretes=of_kind[SymbolKind.DISCRETE],
        equations=tuple(FlatEquation(e, owner) for owner in occurrences for e in owner.scope.equations),
        initial_equations=tuple(
            FlatEquation(e, owner) for owner in occurrences for e in owner.scope.initial_equations
        ),
        relations=_placed(occurrences, "relations"),
        samples=_placed(occurrences, "samples"),
        left_limits=_placed(occurrences, "left_limits"),
        actions=_placed(occurrences, "actions"),
        whens=_placed(occurrences, "whens"),
        bindings=make_bindings(parameters, "value", by_symbol),
        discrete_bindings=make_bindings(of_kind[SymbolKind.DISCRETE], "value", by_symbol),
        init_bindings=make_bindings(variables, "init", by_symbol),
        guess_bindings=make_bindings(variables, "guess", by_symbol),
        by_name={flat.name: flat for flat in symbols},
        by_symbol=by_symbol,
    )
    event_levels(flat)  # complains about discrete variables that are assigned twice, or from each other
    return flat


def _placed(occurrences: list[Occurrence], part: str) -> tuple[Placed, ...]:
    """Parts of the events of component classes, wherever these occur."""
    return tuple(Placed(each, owner) for owner in occurrences for each in getattr(owner.scope.events, part))


def _walk(root: Component) -> Iterator[tuple[Segments, Shape, Component]]:
    """Every component below the root, parents first, with its path and the arrays around it."""
    stack: list[tuple[Segments, Shape, Component]] = [([], (), root)]
    while stack:
        path, lead, component = stack.pop()
        yield path, lead, component
        below: list[tuple[Segments, Shape, Component]] = []
        for name, child in component._children():
            if isinstance(child, ComponentArray):
                below.append(([*path, (name, True)], lead + child._lead, child._component))
            elif isinstance(child, Component):
                below.append(([*path, (name, False)], lead, child))
        stack.extend(reversed(below))


# Structure keys: two components with equal keys have the same equations, up to names.


def _structure_keys(components: list[tuple[Segments, Shape, Component]]) -> dict[int, int]:
    keys: dict[int, int] = {}
    numbers: dict[Any, int] = {}
    for _, _, component in reversed(components):  # children come after parents in the walk
        parts = tuple((name, _part_key(value, component, keys)) for name, value in vars(component).items())
        key = (type(component), component._parent is None, component._outer is not None, parts)
        keys[id(component)] = numbers.setdefault(key, len(numbers))
    return keys


def _part_key(value: Any, component: Component, keys: dict[int, int]) -> Any:
    if isinstance(value, Leaf) and component._is_own(value):
        symbol = value.symbol
        return (type(symbol.declaration), symbol.shape, symbol.nonzero)
    if isinstance(value, ComponentArray) and id(value._component) in keys:
        return ("array", value._lead, keys[id(value._component)])
    if isinstance(value, Component) and id(value) in keys:
        return ("component", keys[id(value)])
    if isinstance(value, (list, tuple)):
        return (type(value), tuple(_part_key(member, component, keys) for member in value))
    if isinstance(value, float):
        return (float, repr(value))  # 0.0 and -0.0 are not the same
    if value is None or isinstance(value, (bool, int, str, type)):
        return (type(value), value)
    if isinstance(value, np.ndarray) and value.dtype != object:
        return ("ndarray", value.shape, value.dtype.str, value.tobytes())
    return ("object", id(value))  # nothing is known about it: equal only to itself


# One scope for each structure: names and equations.


def _scope(component: Component, given: list[Equation], is_root: bool) -> Scope:
    paths: dict[int, Segments] = {}
    leads: dict[int, Shape] = {}
    for path, lead, part in _walk(component):
        for name, child in part._children():
            if isinstance(child, Symbol):
                paths[id(child)] = [*path, (name, False)]
                leads[id(child)] = lead
    names = {key: ".".join(name for name, _ in path) for key, path in paths.items()}
    if component._outer:
        return Scope(component, paths, names, leads)
    if isinstance(component, Connector):
        if hasattr(type(component), "equations"):
            raise ModelError(
                f"The connector {type(component).__name__} has `equations`: they belong into a Model."
            )
        return Scope(component, paths, names, leads)
    assert isinstance(component, Model)
    equations, connections, whens = _statements(component, "equations", paths, leads)
    equations += connection_equations(component, connections) + given
    if is_root:  # nothing can be connected to the connectors of the whole model from outside
        for port in Ports(component).all:
            if port.outside:
                equations += zero_flows(port)
    initial, misplaced, actions = _statements(component, "initial_equations", paths, leads)
    wrong: list[Connection | When | Always] = [*misplaced, *actions]
    for statement in wrong:
        word = "connections belong" if isinstance(statement, Connection) else "events belong"
        hint = "" if isinstance(statement, Connection) else " when(initial(), ...) acts at the start."
        raise ModelError(
            f"{statement} ({statement.source}) stands in {type(component).__name__}."
            f"initial_equations: {word} into `equations`.{hint}"
        )
    for equation in initial:
        if equation.hints:
            raise ModelError(
                f"`{equation}` ({equation.source}) holds at the start only: hints belong into `equations`."
            )
    equations, initial, events = _with_events(component, equations, initial, whens)
    for symbol in events.symbols:
        paths[id(symbol)], names[id(symbol)], leads[id(symbol)] = [(symbol.name, False)], symbol.name, ()
    return Scope(component, paths, names, leads, tuple(equations), tuple(initial), events)


def _with_events(
    component: Model, equations: list[Equation], initial: list[Equation], whens: list[When | Always]
) -> tuple[list[Equation], list[Equation], ScopeEvents]:
    """Statements without functions of events, and the discrete symbols that stand for these."""
    scope = EventScope(component)
    equations = [scope.equation(equation) for equation in equations]
    initial = [scope.equation(equation) for equation in initial]
    for statement in whens:
        if isinstance(statement, Always):
            scope.always(statement)
    conditions = [(each, scope.conditions(each)) for each in whens if isinstance(each, When)]
    for own in conditions:
        scope.act(*own)
    return equations, initial, scope.finished()


def _statements(
    component: Model, method: str, paths: dict[int, Segments], leads: dict[int, Shape]
) -> tuple[list[Equation], list[Connection], list[When | Always]]:
    equations: list[Equation] = []
    connections: list[Connection] = []
    whens: list[When | Always] = []
    for place, statement in enumerate(statements_of(component, method), start=1):
        if isinstance(statement, Connection):
            connections.append(statement)
        elif isinstance(statement, Equation):
            _check_scope(statement, (statement.lhs, statement.rhs), component, paths, leads)
            if statement.size:  # x[1:] of one element is empty, and so is its equation
                equations += map(without_hints, split_equation(statement))
        elif isinstance(statement, (When, Always)):
            _check_scope(statement, statement.expressions(), component, paths, leads)
            if has_hints(*statement.expressions()):
                raise ModelError(f"`{statement}` ({statement.source}): a hint belongs into an equation.")
            whens.append(statement)
        else:
            raise ModelError(not_an_equation(statement, place, f"{type(component).__name__}.{method}"))
    return equations, connections, whens


def _detached(owner: Any) -> str:
    """A hint where something belongs to a component that is part of no model."""
    return "" if owner._parent is not None else f" Is a {type(owner).__name__} named without ()?"


def _check_scope(
    statement: Equation | When | Always,
    expressions: tuple[Expr, ...],
    component: Model,
    paths: dict[int, Segments],
    leads: dict[int, Shape],
) -> None:
    for node in leaves_of(*expressions):
        symbol = node.symbol
        if symbol.kind is SymbolKind.TIME or (id(symbol) in paths and leads[id(symbol)] == node.lead):
            continue
        if symbol.component is component:
            raise ModelError(
                f"`{node}` is declared while {type(component).__name__}.equations is evaluated "
                f"({statement.source}): that is too late. Declare it in the class body or in `__init__`."
            )
        raise ModelError(
            f"`{node}` is used outside its model: in `{clip_text(statement)}` ({statement.source}) of "
            f"{type(component).__name__}, but it belongs to {symbol.component!r}, which is not one of the "
            f"components of {type(component).__name__}. Declare a variable here and equate it, or connect "
            f"it, where both are known.{_detached(symbol.component)}"
        )


# Places in the flat vectors.


def _place_symbols(occurrences: list[Occurrence], scopes: list[Scope]) -> list[FlatSymbol]:
    """Flat symbols in the order of the model; offsets in the order of scopes, copy after copy."""
    users: dict[int, list[int]] = {id(scope): [] for scope in scopes}
    own: list[list[tuple[str, Any]]] = []  # declared symbols, then hidden ones
    for place, occurrence in enumerate(occurrences):
        users[id(occurrence.scope)].append(place)
        children = occurrence.component._children()
        own.append([(name, child) for name, child in children if isinstance(child, Symbol)])
        own[-1] += [(symbol.name, symbol) for symbol in occurrence.scope.events.symbols]
    placed: dict[tuple[int, int], FlatSymbol] = {}
    used = dict.fromkeys(SymbolKind, 0)
    group = 0
    for scope in scopes:
        places = users[id(scope)]
        for row in range(len(own[places[0]])):
            group += 1
            for place in places:
                occurrence = occurrences[place]
                name, symbol = own[place][row]
                full = f"{occurrence.name}.{name}" if occurrence.path else name
                flat = FlatSymbol(full, occurrence.lead, used[symbol.kind], symbol, group)
                placed[place, row] = flat
                used[symbol.kind] += flat.size
    return [placed[place, row] for place in range(len(occurrences)) for row in range(len(own[place]))]

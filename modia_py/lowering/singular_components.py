"""What a singular structure means for components and arrays: where an equation is missing, or too many.

The parts of a diagnosis name equations and unknowns. A component that states fewer equations than it has
variables and flows of its own is where a reader should look first, and so are elements of an array that are
differentiated nowhere, and equations for what is no unknown.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..arrays.diagnosis import SingularSet
from ..arrays.structure import NONE
from ..arrays.transform import SingularStructure
from ..expressions.expression import leaves_of
from ..expressions.symbol_kinds import SymbolKind
from ..language.flat_model import FlatEquation, FlatSymbol
from ..language.model import Connector, Model
from ..language.symbols import Symbol
from ..source import Source
from .model_structure import ModelStructure

LISTED = 6


def component_hints(model: ModelStructure, singular: SingularStructure) -> str:
    """Sentences about components, elements and data in the parts that cannot be solved, or nothing."""
    texts = list(_equations_of_data(model, singular.diagnosis.over))
    texts += _elements_at_rest(model, singular.diagnosis.under)
    texts += _unbalanced(model, singular)
    texts += _replaced_equations(model, singular)
    texts += _dependent_potentials(model, singular.diagnosis.over)
    texts += _broadcast(model, singular.diagnosis.over)
    return "".join(f"\n{text}" for text in dict.fromkeys(texts))


# Equations between parameters, discrete variables and inputs.


def _equations_of_data(model: ModelStructure, parts: tuple[SingularSet, ...]) -> Iterator[str]:
    for part in parts:
        if len(part.unknowns) == 0:
            for number in dict.fromkeys(model.equation_of[part.equations].tolist()):
                yield from _of_data(model, model.flat.equations[number])


def _of_data(model: ModelStructure, equation: FlatEquation) -> Iterator[str]:
    known = (SymbolKind.DISCRETE, SymbolKind.INPUT, SymbolKind.PARAMETER)
    leaves = [leaf for leaf in equation.equation.leaves if leaf.kind in known]
    symbols = {leaf.kind: model.flat.resolve(leaf, equation.owner) for leaf in reversed(leaves)}
    hidden = {id(symbol) for symbol in model.flat.discretes} - {
        id(symbol) for symbol in model.flat.declared_discretes
    }
    names = {kind: symbol.name for kind, symbol in symbols.items() if id(symbol) not in hidden}
    where = equation.equation.source
    if name := names.get(SymbolKind.DISCRETE):
        yield (
            f"{name} is a Discrete, which equations do not determine ({where}): write "
            f"assign({name}, value) in a `when`, or always(assign({name}, value))."
        )
    elif name := names.get(SymbolKind.INPUT):
        yield (
            f"{name} is an Input, known from outside ({where}): its values are given to `simulate` as "
            f"inputs={{'{name}': ...}}. Declare it as a Var if an equation determines it."
        )
    elif name := names.get(SymbolKind.PARAMETER):
        yield (
            f"{name} is a parameter, known from outside ({where}): its value is that of Par(...), or "
            f"{model.flat.name}({name}=...). Declare it as a Var if an equation determines it."
        )


# Elements of arrays of which others are differentiated.


def _elements_at_rest(model: ModelStructure, parts: tuple[SingularSet, ...]) -> Iterator[str]:
    derivative = model.structure.variable_derivative[: model.base_count]
    for part in parts:
        resting = defaultdict(list)
        for node in part.unknowns[part.unknowns < model.base_count].tolist():
            resting[int(model.variable_of[node])].append(node)
        for number, nodes in resting.items():
            variable = model.flat.variables[number]
            nodes = [node for node in nodes if derivative[node] == NONE]
            moves = derivative[model.variable_of == number] != NONE
            if nodes and moves.any():
                names = _listed([model.structure.variable_name(node) for node in nodes])
                yield (
                    f"Equations contain the derivative of other elements of {variable.name}, and not that "
                    f"of {names}: an equation for each of them (a boundary condition?) is probably missing."
                )


# Connectors with more potentials than flows.


def _dependent_potentials(model: ModelStructure, parts: tuple[SingularSet, ...]) -> Iterator[str]:
    """Of orientations, of which all elements are in a connector: they depend on each other."""
    kinds: dict[type, Connector] = {}
    for part in parts:
        for node in part.unknowns[part.unknowns < model.base_count].tolist():
            component = getattr(
                model.flat.variables[int(model.variable_of[node])].symbol, "component", None
            )
            if isinstance(component, Connector):
                kinds.setdefault(type(component), component)
    for kind, connector in kinds.items():
        symbols = [child for _, child in connector._children() if isinstance(child, Symbol)]
        flows, potentials = ([s for s in symbols if s.is_flow is which] for which in (True, False))
        equal, summed = (sum(math.prod(s.shape) for s in own) for own in (potentials, flows))
        largest = max(potentials, key=lambda s: math.prod(s.shape), default=None)
        if flows and largest is not None and len(largest.shape) > 1 and equal > summed:
            yield (
                f"The connector {kind.__name__} has {equal} elements that are equal where it is connected, "
                f"and {summed} flows. If those of {largest.name} depend on each other, as "
                f"those of an orientation do, only one of the components that meet may state them."
            )


# Equations that have more elements than either side.


def _broadcast(model: ModelStructure, parts: tuple[SingularSet, ...]) -> Iterator[str]:
    for part in parts:
        for number in dict.fromkeys(model.equation_of[part.equations].tolist()):
            flat = model.flat.equations[number]
            left, right = flat.equation.lhs.shape, flat.equation.rhs.shape
            smaller = [
                side for side in (flat.equation.lhs, flat.equation.rhs) if side.shape != flat.equation.shape
            ]
            # A number that every element is equal to is meant; an unknown that every element is, rarely.
            if any(leaf.kind is SymbolKind.VARIABLE for leaf in leaves_of(*smaller)):
                yield (
                    f"The sides of `{flat}` ({flat.equation.source}) have the shapes {left} and {right}, "
                    f"which broadcast to {flat.equation.shape}: more equations than were meant?"
                )


# Components that state fewer or more equations than they have unknowns.


@dataclass
class _Account:
    """Unknowns and equations of a component."""

    unknowns: list[FlatSymbol] = field(default_factory=list)
    flows: int = 0
    own: int = 0
    outside: int = 0
    equations: list[FlatEquation] = field(default_factory=list)
    is_simple: bool = True

    @property
    def surplus(self) -> int:
        return self.own - sum(symbol.size for symbol in self.unknowns)


def _unbalanced(model: ModelStructure, singular: SingularStructure) -> Iterator[str]:
    diagnosis = singular.diagnosis
    missing = diagnosis.equation_total < diagnosis.unknown_total
    if diagnosis.equation_total == diagnosis.unknown_total:
        return
    components, accounts = _accounts(model)
    concerned = _concerned(model, diagnosis.under if missing else diagnosis.over)
    for key, account in accounts.items():
        if not account.is_simple or key not in concerned:
            continue
        name = _path(components[key])
        kind = type(components[key]).__name__
        stated = f"{account.own} equation{'s' * (account.own != 1)}"
        if account.equations:
            stated += f" ({account.equations[0].equation.source})"
        own = _listed([symbol.name for symbol in account.unknowns])
        count = sum(symbol.size for symbol in account.unknowns)
        if missing and account.surplus + account.outside < 0:
            yield (
                f"{name} ({kind}) states {stated} for {count} unknowns of its own, {own}, and no equation "
                f"outside of it determines one of them. {_what_is_missing(account)}"
            )
        elif not missing and account.surplus > 0:
            yield f"{name} ({kind}) states {stated} for only {count} unknowns of its own, {own}."


def _replaced_equations(model: ModelStructure, singular: SingularStructure) -> Iterator[str]:
    """Classes whose `equations` replace those of the class that they are derived from."""
    diagnosis = singular.diagnosis
    if diagnosis.equation_total >= diagnosis.unknown_total:
        return
    components = (getattr(variable.symbol, "component", None) for variable in model.flat.variables)
    owners = {id(owner): owner for owner in map(_owner, components) if owner is not None}
    concerned = _concerned(model, diagnosis.under)
    for kind in dict.fromkeys(type(owner) for key, owner in owners.items() if key in concerned):
        levels = [base for base in kind.__mro__ if base is not Model and "equations" in vars(base)]
        for own, replaced in itertools.pairwise(levels):
            if not _asks_for_equations(own) and not own.__module__.startswith("modia_py.models."):
                yield (
                    f"{own.__name__}.equations ({_first_line(own)}) takes the place of "
                    f"{replaced.__name__}.equations ({_first_line(replaced)}), whose equations are "
                    f"left out: return [*super().equations(), ...] has both."
                )


def _asks_for_equations(kind: type) -> bool:
    """Whether the method uses a name `equations`, as `super().equations()` does."""
    return "equations" in vars(kind)["equations"].__code__.co_names


def _first_line(kind: type) -> Source:
    code = vars(kind)["equations"].__code__
    return Source(code.co_filename, code.co_firstlineno)


def _what_is_missing(account: _Account) -> str:
    signals = [symbol.name for symbol in account.unknowns if _is_signal(symbol)]
    if signals:
        return f"Is an equation for {' or '.join(signals)} missing?"
    return f"Is an equation missing{', such as a balance of its flows' * (account.flows > 1)}?"


def _is_signal(symbol: FlatSymbol) -> bool:
    """Whether its description says that it is given from outside, as those of the libraries do."""
    return "signal" in (getattr(symbol.symbol, "doc", None) or "")


def _accounts(model: ModelStructure) -> tuple[dict[int, Any], dict[int, _Account]]:
    """Of each component that is not the model itself, by its id."""
    components: dict[int, Any] = {}
    accounts: dict[int, _Account] = defaultdict(_Account)
    potentials: dict[int, int] = defaultdict(int)
    for variable in model.flat.variables:
        component = getattr(variable.symbol, "component", None)
        is_flow = getattr(variable.symbol, "is_flow", False)
        owner = _owner(component)
        if owner is None:
            continue
        components[id(owner)] = owner
        account = accounts[id(owner)]
        if isinstance(component, Connector):
            potentials[id(component)] += variable.size if not is_flow else -variable.size
        if is_flow or not isinstance(component, Connector):
            account.unknowns.append(variable)
            account.flows += is_flow
        parent = getattr(owner, "_parent", None)
        while parent is not None:  # what contains components is judged by them
            accounts[id(parent)].is_simple = False
            parent = getattr(parent, "_parent", None)
        if getattr(owner, "_parent", None) is None:
            account.is_simple = False
    for variable in model.flat.variables:
        component = getattr(variable.symbol, "component", None)
        if isinstance(component, Connector) and potentials[id(component)] != 0:
            accounts[id(_owner(component))].is_simple = False  # signals: who gives them is not known here
    for equation in model.flat.equations:
        account = accounts[id(equation.owner.component)]
        account.own += equation.size
        account.equations.append(equation)
        variables = [leaf for leaf in equation.equation.leaves if leaf.kind is SymbolKind.VARIABLE]
        symbols = [model.flat.resolve(leaf, equation.owner).symbol for leaf in variables]
        inner = [getattr(symbol, "component", None) for symbol in symbols]
        owners = {id(_owner(each)) for each in inner if not isinstance(each, Connector)}
        for owner in owners - {id(equation.owner.component)}:
            accounts[owner].outside += equation.size
    return components, accounts


def _concerned(model: ModelStructure, parts: tuple[SingularSet, ...]) -> set[int]:
    """Components that have an unknown, or an equation, in one of the parts."""
    found = set()
    for part in parts:
        for node in part.unknowns[part.unknowns < model.base_count].tolist():
            symbol = model.flat.variables[int(model.variable_of[node])].symbol
            found.add(id(_owner(getattr(symbol, "component", None))))
        for number in set(model.equation_of[part.equations].tolist()):
            found.add(id(model.flat.equations[number].owner.component))
    return found


def _owner(component: Any) -> Any:
    while isinstance(component, Connector):
        component = component._parent
    return component


def _listed(names: list[str]) -> str:
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")


def _path(component: Any) -> str:
    return ".".join(name for name, _ in component._segments())

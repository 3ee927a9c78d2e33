"""The flat model: array variables, parameters and equations, each with its place and its name."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..expressions.equation import Equation
from ..expressions.expression import Expr, Leaf
from ..expressions.indexing import Shape, affine_array, c_strides
from ..expressions.printing import LONGEST_IN_LISTS, Segments, equation_text
from ..expressions.symbol_kinds import DiscreteRole, SymbolKind
from .event_parts import NO_EVENTS, ActionKind, ScopeEvents


@dataclass(frozen=True)
class FlatSymbol:
    """A variable, parameter or input of the whole model, with an axis for each array around it."""

    name: str
    lead: Shape  # lengths of the component arrays around it
    offset: int  # of its first element, among all symbols of its kind
    symbol: Any  # a Symbol, or a HiddenSymbol
    group: int  # the same for the same symbol of equal components

    @property
    def kind(self) -> SymbolKind:
        return self.symbol.kind

    @property
    def shape(self) -> Shape:
        return self.lead + self.symbol.shape

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def copy_strides(self, leaf: Leaf, lead: Shape) -> Shape:
        """How far a leaf of this symbol moves with each axis of copies of the equation around it.

        Axes inside the leaf do not count, and on axes it does not have it stands still.
        """
        if not lead:
            return ()
        around = self.lead[: len(self.lead) - len(leaf.lead)]
        unit = math.prod(leaf.shape)
        return tuple(unit * stride for stride in c_strides(around)) + (0,) * (len(lead) - len(around))

    def copy_starts(self, leaf: Leaf, lead: Shape) -> np.ndarray:
        """The first element of a leaf of this symbol for each copy of the equation around it."""
        return affine_array(self.offset, lead, self.copy_strides(leaf, lead)).reshape(-1)

    def __str__(self) -> str:
        shape = f"[{', '.join(map(str, self.shape))}]" if self.shape else ""
        unit = f" {self.symbol.unit}" if self.symbol.unit else ""
        return f"{self.name}{shape}{unit}"


@dataclass(frozen=True, eq=False)
class Scope:
    """What names mean in the equations of one component class: equal components share one scope.

    `paths` and `names` give the path of each symbol, relative to the component, by the symbol's id.
    """

    component: Any
    paths: dict[int, Segments]
    names: dict[int, str]
    lead: dict[int, Shape]
    equations: tuple[Equation, ...] = ()
    initial_equations: tuple[Equation, ...] = ()
    events: ScopeEvents = NO_EVENTS


@dataclass(frozen=True, eq=False)
class Occurrence:
    """One component of the model, or one component array: where a scope is used."""

    path: Segments
    lead: Shape
    component: Any
    scope: Scope

    @property
    def copies(self) -> int:
        return math.prod(self.lead)

    @functools.cached_property
    def name(self) -> str:
        return ".".join(name for name, _ in self.path)

    def naming(self, leaf: Leaf) -> Segments:
        """The name of a leaf of the scope's statements, for their text."""
        if leaf.kind is SymbolKind.TIME:
            return leaf.symbol.segments()
        return [(name, False) for name, _ in self.path] + self.scope.paths[id(leaf.symbol)]

    def local_naming(self, leaf: Leaf) -> Segments:
        """The name of a leaf within the component."""
        return leaf.symbol.segments() if leaf.kind is SymbolKind.TIME else self.scope.paths[id(leaf.symbol)]

    def full_name(self, leaf: Leaf) -> str:
        """The name, in the whole model, of a leaf of the scope's equations."""
        relative = self.scope.names[id(leaf.symbol)]
        return f"{self.name}.{relative}" if self.path else relative


@dataclass(frozen=True, eq=False)
class FlatEquation:
    """An equation of a component class where it occurs: once for each copy of the component."""

    equation: Equation
    owner: Occurrence

    @property
    def shape(self) -> Shape:
        return self.owner.lead + self.equation.shape

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def naming(self, leaf: Leaf) -> Segments:
        return self.owner.naming(leaf)

    def __str__(self) -> str:
        return equation_text(self.equation, self.naming, LONGEST_IN_LISTS)


@dataclass(frozen=True, eq=False)
class Placed:
    """A part of the events of a component class where it occurs: once for each copy of the component."""

    part: Any  # a Relation, a Sample, a LeftLimit, an Action, or a When
    owner: Occurrence


@dataclass(frozen=True, eq=False)
class Binding:
    """A value that is computed from parameters, for each copy of the component it is written in."""

    target: FlatSymbol
    value: Expr
    lead: Shape  # the arrays around that component: a prefix of the target's
    level: int


@dataclass(frozen=True, eq=False)
class FlatModel:
    """A model without hierarchy. Arrays, of variables and of components, are still arrays.

    `elaborate` makes it.

    Attributes
    ----------
    name : str
        The class of the model.
    variables, parameters, inputs : tuple of FlatSymbol
        What is declared, in the order of the vectors that hold their values.
    discretes : tuple of FlatSymbol
        What is constant between events: declared discrete variables, and hidden ones for relations,
        conditions and the like (`symbol.role` says which).
    equations, initial_equations : tuple of FlatEquation
        Array equations with the component they are written in. Connections have become equations.
    relations, samples, left_limits, actions : tuple of Placed
        What decides on the hidden discrete variables, and what a `when` does: see `event_parts`.
    whens : tuple of Placed
        The `when` statements as they were written.
    bindings, discrete_bindings, init_bindings, guess_bindings : tuple of Binding
        Values of parameters, and start values, that are expressions of parameters.
    by_name : dict of str to FlatSymbol
        All symbols by dotted name.
    by_symbol : dict of int to FlatSymbol
        The same by the id of the declared symbol.

    Examples
    --------
    >>> from modia_py import elaborate
    >>> from modia_py.models.examples import Decay
    >>> flat = elaborate(Decay())
    >>> [str(equation) for equation in flat.equations]
    ['der(x) == -k*x']
    """

    name: str
    variables: tuple[FlatSymbol, ...]
    parameters: tuple[FlatSymbol, ...]
    inputs: tuple[FlatSymbol, ...]
    discretes: tuple[FlatSymbol, ...]
    equations: tuple[FlatEquation, ...]
    initial_equations: tuple[FlatEquation, ...]
    relations: tuple[Placed, ...]
    samples: tuple[Placed, ...]
    left_limits: tuple[Placed, ...]
    actions: tuple[Placed, ...]
    whens: tuple[Placed, ...]
    bindings: tuple[Binding, ...]
    discrete_bindings: tuple[Binding, ...]
    init_bindings: tuple[Binding, ...]
    guess_bindings: tuple[Binding, ...]
    by_name: dict[str, FlatSymbol] = field(repr=False)
    by_symbol: dict[int, FlatSymbol] = field(repr=False)

    @property
    def unknowns(self) -> int:
        """Number of scalar unknowns."""
        return sum(variable.size for variable in self.variables)

    @functools.cached_property
    def parameter_size(self) -> int:
        """Number of scalar parameters."""
        return sum(parameter.size for parameter in self.parameters)

    @functools.cached_property
    def discrete_size(self) -> int:
        """Number of scalar discrete variables, hidden ones included."""
        return sum(discrete.size for discrete in self.discretes)

    @property
    def data_size(self) -> int:
        """Length of the vector p: parameters, discrete variables, their values before the event."""
        return self.parameter_size + 2 * self.discrete_size

    @property
    def declared_discretes(self) -> tuple[FlatSymbol, ...]:
        """Discrete variables of the user."""
        return tuple(d for d in self.discretes if d.symbol.role is DiscreteRole.DECLARED)

    def shift_in_p(self, kind: SymbolKind | None, order: int) -> int:
        """Tell where symbols of a kind begin in the vector p.

        Parameters
        ----------
        kind : SymbolKind
            Parameters or discrete variables.
        order : int
            0, or -1 for the values of discrete variables before the event.

        Returns
        -------
        int
            To be added to the offset of a symbol.
        """
        if kind is SymbolKind.PARAMETER:
            return 0
        assert kind is SymbolKind.DISCRETE, f"a {kind} is not in p"
        return self.parameter_size + (self.discrete_size if order < 0 else 0)

    @property
    def size(self) -> int:
        """Number of scalar equations."""
        return sum(equation.size for equation in self.equations)

    def resolve(self, leaf: Leaf, owner: Occurrence | None) -> FlatSymbol:
        """Find the symbol of the whole model behind a leaf.

        Parameters
        ----------
        leaf : Leaf
            A variable, parameter or input in an expression.
        owner : Occurrence, optional
            The component in whose equations it stands; None: it stands in a binding.

        Returns
        -------
        FlatSymbol
            With its name, shape and offset.
        """
        if owner is None:
            return self.by_symbol[id(leaf.symbol)]
        return self.by_name[owner.full_name(leaf)]

    def __str__(self) -> str:
        return flat_text(self)


ROWS_SHOWN = 60


def flat_text(flat: FlatModel) -> str:
    """The model on a screen: counts, variables with start values, parameters, equations with lines."""
    lines = [
        f"{flat.name}: {flat.unknowns} unknowns in {len(flat.variables)} variables, {flat.size} "
        f"equations in {len(flat.equations)} array equations, {len(flat.parameters)} parameters"
    ]
    bound = {binding.target.name: binding for binding in (*flat.bindings, *flat.discrete_bindings)}
    lines += _section("variables", [_variable_row(variable) for variable in flat.variables])
    lines += _section("parameters", [_parameter_row(p, bound.get(p.name)) for p in flat.parameters])
    lines += _section(
        "discrete variables", [_parameter_row(d, bound.get(d.name)) for d in flat.declared_discretes]
    )
    lines += _section("inputs", [(str(entry), "", entry.symbol.doc or "") for entry in flat.inputs])
    lines += _section("equations", [_equation_row(equation) for equation in flat.equations])
    lines += _section("initial equations", [_equation_row(e) for e in flat.initial_equations])
    lines += _section("relations that make events", [_relation_row(entry) for entry in flat.relations])
    sampled = [entry for entry in flat.actions if entry.part.kind is ActionKind.SAMPLED]
    lines += _section("events", [_when_row(entry) for entry in (*flat.whens, *sampled)])
    return "\n".join(lines)


Row = tuple[str, str, str]


def _section(title: str, rows: list[Row]) -> list[str]:
    if not rows:
        return []
    shown = rows[:ROWS_SHOWN]
    widths = [min(60, max(len(row[column]) for row in shown)) for column in (0, 1)]
    lines = ["", title]
    for row in shown:
        lines.append(f"  {row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}".rstrip())
    if len(rows) > len(shown):
        lines.append(f"  ... and {len(rows) - len(shown)} more")
    return lines


def value_text(value: Any) -> str:
    """A start value or a parameter value, short."""
    if value is None:
        return ""
    if isinstance(value, Expr):
        return str(value)
    if np.isnan(value).any():
        return f"for {np.count_nonzero(~np.isnan(value))} of {value.size} elements"
    if value.size == 1:
        return f"{value.item():g}"
    if value.size <= 6:
        return str(value.tolist())
    return f"{value.min():g} ... {value.max():g}"


def _variable_row(variable: FlatSymbol) -> Row:
    symbol = variable.symbol
    start = f"init {value_text(symbol.init)}" if symbol.init is not None else ""
    if symbol.guess is not None:
        start = (start + f" guess {value_text(symbol.guess)}").strip()
    return str(variable), start, symbol.doc or ""


def _parameter_row(parameter: FlatSymbol, binding: Binding | None) -> Row:
    value = str(binding.value) if binding is not None else value_text(parameter.symbol.value)
    return str(parameter), f"= {value}", parameter.symbol.doc or ""


def _equation_row(equation: FlatEquation) -> Row:
    return str(equation), _copies(equation.owner), str(equation.equation.source)


def _relation_row(entry: Placed) -> Row:
    relation = entry.part
    text = relation.text(entry.owner.naming)
    return text, _copies(entry.owner), f"{relation.source}: {relation.kind.value}"


def _when_row(entry: Placed) -> Row:
    return entry.part.text(entry.owner.naming), _copies(entry.owner), str(entry.part.source)


def _copies(owner: Occurrence) -> str:
    return f"for each of {owner.copies} {owner.name}" if owner.lead else ""

"""From functions of events to discrete symbols, in the statements of one component class.

`where(x > 1, a, b)` becomes `np.where(h, a, b)` with a hidden discrete symbol h for the relation, `pre(d)`
a leaf of d of order -1, `edge(b)` becomes `b & ~pre(b)`, and so on. Equal relations of a component class
are one symbol. What is constant between events anyhow (a relation of discrete variables) stays as it is.

In the actions of a `when`, relations are asked for their values at that instant and make no events of their
own; one that makes events elsewhere in the component has the same truth here.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..expressions.equation import Equation
from ..expressions.event_primitives import (
    CHANGE,
    CLOCK,
    EDGE,
    EVENT_PRIMITIVES,
    EVENT_WHERE,
    HOLD,
    INITIAL,
    PRE,
    PREVIOUS,
    SAMPLE,
    SAMPLED,
    TERMINAL,
)
from ..expressions.event_terms import is_discrete, is_relation
from ..expressions.expression import (
    Application,
    Bundle,
    Expr,
    Item,
    Leaf,
    apply,
    apply_node,
    call,
    constant,
    item_of,
    leaf,
    rebuild,
)
from ..expressions.indexing import Shape, contiguous
from ..expressions.nodes import Node, topological
from ..expressions.primitives import named, positional
from ..expressions.symbol_kinds import DiscreteRole, SymbolKind
from ..expressions.templates import Piece
from .actions import Assign, Terminate
from .event_parts import (
    Action,
    ActionKind,
    HiddenSymbol,
    LeftLimit,
    Relation,
    Sample,
    ScopeEvents,
)
from .relation_kinds import relation_kind
from .when import Always, When


class _Mode(NamedTuple):
    """How a node is meant: as a condition or a number; in an action, where relations make no events."""

    condition: bool
    in_action: bool


class EventScope:
    """Collects the events of one component class, statement after statement."""

    def __init__(self, component: Any):
        self.component = component
        self.symbols: list[HiddenSymbol] = []
        self.relations: dict[tuple[int, bool], Relation] = {}
        self.samples: list[Sample] = []
        self.left_limits: dict[int, LeftLimit] = {}
        self.actions: list[Action] = []
        self.whens: list[When | Always] = []
        self._of_node: dict[int, HiddenSymbol] = {}  # samples and the like, one for each equal node
        self._table: dict[tuple[int, _Mode], Node] = {}
        self._alive: list[Node] = []  # nodes in the table are known by their ids
        self._source: Any = None
        self._count: Counter[DiscreteRole] = Counter()

    def finished(self) -> ScopeEvents:
        return ScopeEvents(
            tuple(self.symbols),
            tuple(self.relations.values()),
            tuple(self.samples),
            tuple(self.left_limits.values()),
            tuple(self.actions),
            tuple(self.whens),
        )

    def equation(self, equation: Equation) -> Equation:
        """An equation without functions of events; the same one if it has none."""
        if not has_events(equation.lhs, equation.rhs):
            return equation
        self._source = equation.source
        lhs, rhs = (self._resolved(side, _Mode(False, False)) for side in (equation.lhs, equation.rhs))
        return Equation(lhs, rhs, equation.source, equation.hints, equation.written)

    def always(self, statement: Always) -> None:
        """Assignments that are made in every pass; relations in them make events."""
        self.whens.append(statement)
        for action in statement.actions:
            self._source = action.source
            value = self._resolved(action.value, _Mode(action.value.dtype == "bool", False))
            value = _broadcast(_real(value), action.target.shape)
            self.actions.append(
                Action(ActionKind.ASSIGN, action.target, action.piece, value, None, action, action.source)
            )

    def conditions(self, statement: When) -> list[HiddenSymbol]:
        """The conditions of a `when`, which come before all actions: these use the relations in them."""
        self._source = statement.source
        self.whens.append(statement)
        found = []
        for condition in statement.conditions:
            value = _real(self._resolved(condition, _Mode(True, False)))
            symbol = self._hidden(DiscreteRole.CONDITION, condition.shape, condition)
            target = leaf(symbol)
            piece = Piece(target, contiguous(symbol.shape))
            self.actions.append(
                Action(ActionKind.CONDITION, target, piece, value, None, None, statement.source)
            )
            found.append(symbol)
        return found

    def act(self, statement: When, conditions: list[HiddenSymbol]) -> None:
        """The actions of a `when` whose conditions are known."""
        for action in statement.actions:
            self._source = action.source
            target: Expr
            value: Expr
            if isinstance(action, Terminate):
                shape = np.broadcast_shapes(*(symbol.shape for symbol in conditions))
                symbol = self._hidden(DiscreteRole.TERMINATE, shape, None, action.reason)
                kind, target, value = ActionKind.TERMINATE, leaf(symbol), constant(1.0)
                piece = Piece(target, contiguous(shape))
            else:
                target, piece, shape = action.target, action.piece, action.target.shape
                value = self._resolved(action.value, _Mode(action.value.dtype == "bool", True))
                kind = ActionKind.ASSIGN if isinstance(action, Assign) else ActionKind.REINIT
            fires = _real(_broadcast(_becomes_true(conditions), shape))
            value = _broadcast(_real(value), shape)
            self.actions.append(Action(kind, target, piece, value, fires, action, action.source))

    # One node after the other, arguments first.

    def _resolved(self, root: Expr, mode: _Mode) -> Expr:
        table = self._table
        self._alive.append(root)
        stack: list[tuple[Node, _Mode]] = [(root, mode)]
        while stack:
            node, mode = stack[-1]
            needed = _needed(node, mode)
            missing = [each for each in needed if (id(each[0]), each[1]) not in table]
            if missing:
                stack += reversed(missing)
                continue
            stack.pop()
            if (id(node), mode) not in table:
                table[id(node), mode] = self._made(node, mode, [table[id(a), m] for a, m in needed])
        found = table[id(root), mode]
        assert isinstance(found, Expr)
        return found

    def _made(self, node: Node, mode: _Mode, args: list[Any]) -> Node:
        primitive = node.primitive if isinstance(node, Application) else None
        if primitive is EVENT_WHERE:
            return apply(named("where"), positional(3), tuple(args))
        if primitive is PRE or primitive is PREVIOUS:
            if primitive is PREVIOUS and not mode.in_action:
                raise ModelError(
                    f"`{node}` ({self._source}) stands outside of a clocked section: between ticks there "
                    f"is no tick before. Assign it in one: when(clk, assign(d, {node}))."
                )
            return self._pre(args[0], node)
        if primitive is HOLD:
            return args[0]
        if primitive is EDGE:
            return call(named("logical_and"), args[0], call(named("logical_not"), self._pre(args[0], node)))
        if primitive is CHANGE:
            return call(named("not_equal"), args[0], self._pre(args[0], node))
        if primitive is SAMPLE or primitive is CLOCK:
            return leaf(self._sample(node, args))
        if primitive is SAMPLED:
            return leaf(self._sampled(node, args))
        if primitive is INITIAL or primitive is TERMINAL:
            role = DiscreteRole.INITIAL if primitive is INITIAL else DiscreteRole.TERMINAL
            return leaf(self._one_for(node, role))
        if mode.condition and is_relation(node):
            return self._relation(node, args, mode)
        return _again(node, args)

    def _relation(self, node: Any, args: list[Expr], mode: _Mode) -> Node:
        a, b = args
        if is_discrete(a) and is_discrete(b):
            return _again(node, args)
        name = node.primitive.name
        negated = name in ("greater_equal", "less_equal")
        z = _real(a - b if name in ("greater", "less_equal") else b - a)
        key = (id(z), negated)
        if key not in self.relations:
            if mode.in_action:
                return _again(node, args)
            symbol = self._hidden(DiscreteRole.RELATION, node.shape, node)
            scale = _broadcast(abs(_real(a)) + abs(_real(b)), z.shape)
            kind = relation_kind(z)
            self.relations[key] = Relation(symbol, z, scale, negated, kind, self._source)
        return leaf(self.relations[key].symbol)

    def _sample(self, node: Any, args: list[Expr]) -> HiddenSymbol:
        if id(node) not in self._of_node:
            symbol = self._one_for(node, DiscreteRole.SAMPLE)
            period = _broadcast(_real(args[0]), node.shape)
            offset, delay = (
                _broadcast(_real(args[k]) if len(args) > k else constant(0.0), node.shape) for k in (1, 2)
            )
            if len(args) > 2:
                offset = offset + delay
            self.samples.append(Sample(symbol, period, offset, delay, self._source))
        return self._of_node[id(node)]

    def _sampled(self, node: Any, args: list[Expr]) -> HiddenSymbol:
        """What is set at each tick. A tick is true in the first pass of an event only: values before it."""
        if id(node) not in self._of_node:
            symbol = self._one_for(node, DiscreteRole.SAMPLED)
            if len(args) > 2:
                symbol.value = np.broadcast_to(args[2].value, symbol.shape)  # type: ignore[attr-defined]
            target, value = leaf(symbol), _broadcast(_real(args[0]), symbol.shape)
            fires = _broadcast(_real(args[1]), symbol.shape)
            piece = Piece(target, contiguous(symbol.shape))
            self.actions.append(Action(ActionKind.SAMPLED, target, piece, value, fires, None, self._source))
        return self._of_node[id(node)]

    def _pre(self, value: Expr, node: Any) -> Expr:
        """The value before the event: discrete leaves at order -1, or a left limit."""
        if is_discrete(value):
            return _before(value)
        if id(value) not in self.left_limits:
            symbol = self._hidden(DiscreteRole.LEFT, value.shape, node)
            self.left_limits[id(value)] = LeftLimit(symbol, _real(value), self._source)
            self._alive.append(value)
        return leaf(self.left_limits[id(value)].symbol)

    def _one_for(self, node: Any, role: DiscreteRole) -> HiddenSymbol:
        if id(node) not in self._of_node:
            self._of_node[id(node)] = self._hidden(role, node.shape, node)
            self._alive.append(node)
        return self._of_node[id(node)]

    def _hidden(self, role: DiscreteRole, shape: Shape, written: Any, reason: str = "") -> HiddenSymbol:
        self._count[role] += 1
        symbol = HiddenSymbol(
            role, f"({role.value} {self._count[role]})", self.component, shape, written, reason
        )
        self.symbols.append(symbol)
        return symbol


def has_events(*roots: Expr) -> bool:
    """Whether there is a function of events in expressions."""
    return any(
        isinstance(node, Application) and node.primitive in EVENT_PRIMITIVES for node in topological(roots)
    )


def _needed(node: Node, mode: _Mode) -> list[tuple[Node, _Mode]]:
    """The arguments of a node, and how they are meant."""
    primitive = node.primitive if isinstance(node, Application) else None
    number, truth = mode._replace(condition=False), mode._replace(condition=True)
    if primitive is SAMPLED:  # looked at when the clock ticks, as in an action
        return [(arg, _Mode(_is_bool(arg), True)) for arg in node.args]
    if primitive is PREVIOUS:
        return [(arg, number) for arg in node.args]
    if primitive in (PRE, EDGE, CHANGE):  # the truth before the event is known of symbols only
        return [(arg, _Mode(primitive is EDGE or _is_bool(arg), False)) for arg in node.args]
    if primitive is EVENT_WHERE:
        first, *branches = node.args
        return [
            (first, truth),
            *((arg, truth if mode.condition and _is_bool(arg) else number) for arg in branches),
        ]
    if mode.condition and not is_relation(node):
        return [(arg, truth if _is_bool(arg) else number) for arg in node.args]
    return [(arg, number) for arg in node.args]


def _is_bool(node: Node) -> bool:
    return isinstance(node, Expr) and node.dtype == "bool"


def _again(node: Node, args: list[Any]) -> Node:
    """The same call on arguments that may be others, and numbers in place of truth values."""
    if all(new is old for new, old in zip(args, node.args, strict=True)):
        return node
    if isinstance(node, Item):
        bundle = args[0]
        assert isinstance(bundle, Bundle)
        return item_of(bundle, node.place)
    assert isinstance(node, Application)
    return apply_node(node.primitive, node.signature, tuple(args))[0]


def _before(value: Expr) -> Expr:
    """An expression of discrete variables with their values before the event."""
    table: dict[int, Node] = {}
    for node in topological([value]):
        if isinstance(node, Leaf) and node.kind is SymbolKind.DISCRETE:
            table[id(node)] = leaf(node.symbol, node.lead, -1)
        elif not node.args:
            table[id(node)] = node
        else:
            table[id(node)] = rebuild(node, tuple(table[id(arg)] for arg in node.args))
    found = table[id(value)]
    assert isinstance(found, Expr)
    return found


def _becomes_true(conditions: list[HiddenSymbol]) -> Expr:
    found: Any = None
    for symbol in conditions:
        rises = leaf(symbol) & ~leaf(symbol, order=-1)
        found = rises if found is None else found | rises
    return found


def _real(value: Expr) -> Expr:
    """Truth values and integers as real numbers."""
    if value.dtype == "bool":
        return call(named("where"), value, 1.0, 0.0)
    return value if value.dtype == "float64" else value * 1.0


def _broadcast(value: Expr, shape: Shape) -> Expr:
    return value if value.shape == shape else call(named("broadcast_to"), value, shape)

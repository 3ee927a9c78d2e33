"""Which parts of an expression are functions of time that may change abruptly.

Such a part depends on the time, inputs, parameters and constants only, and is more than sums, products,
sines and exponentials of the time: it chooses, compares, rounds, divides, or calls a function of the user.

The derivative of such a part may have lost its jumps: that of `np.where(time > 1, time, 0)` is one or zero.
What was differentiated is remembered, so that a jump of it can be told from none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from .event_primitives import EVENT_WHERE
from .expression import Application, Call, Constant, Expr, Item, Leaf
from .nodes import Node, WhileAlive, topological
from .primitives import EACH, JOINT, Primitive, named
from .symbol_kinds import SymbolKind

SMOOTH = ("sin", "cos", "square")
SMOOTH_OF_LINEAR = ("exp", "sinh", "cosh", "tanh")
"""Smooth, and without pulses where their argument is linear in time."""
MOVING = (SymbolKind.TIME, SymbolKind.INPUT)


@dataclass(frozen=True, eq=False)
class _Facts:
    """Of a node: does it depend on time and data only, on the time at all, linearly, smoothly?"""

    known: bool
    moves: bool
    linear: bool
    smooth: bool

    @property
    def is_abrupt(self) -> bool:
        return self.known and self.moves and not self.smooth


@dataclass(frozen=True, eq=False)
class AbruptPart:
    """A function of time in an expression, and the core that decides when it breaks.

    The core is what is left without factors and terms that do not move with time.
    """

    whole: Expr
    core: Expr
    differentiated: int = 0


def abrupt_parts(roots: list[Expr]) -> list[AbruptPart]:
    """The largest subexpressions of time, inputs, parameters and constants that may change abruptly."""
    largest, facts = _largest_known(roots)
    abrupt = [node for node in largest if facts[id(node)].is_abrupt]
    return [AbruptPart(node, core) for node in abrupt for core in _cores(node, facts)]


def smooth_parts(roots: list[Expr]) -> list[AbruptPart]:
    """The largest subexpressions of time, parameters and constants that are smooth, and not just linear."""
    largest, facts = _largest_known(roots)
    curved = [node for node in largest if facts[id(node)].smooth and not facts[id(node)].linear]
    return [AbruptPart(node, node) for node in curved if not _has_inputs(node)]


def _has_inputs(root: Expr) -> bool:
    return any(isinstance(node, Leaf) and node.kind is SymbolKind.INPUT for node in topological([root]))


JUMPS = frozenset("sign floor ceil rint round trunc fix heaviside floor_divide".split())


def jumps_with_variables(roots: list[Expr]) -> list[Expr]:
    """Functions that jump where a variable has some value, which their derivative says nothing of."""
    nodes = list(topological(roots))
    moves: dict[int, bool] = {}
    for node in nodes:
        is_variable = isinstance(node, Leaf) and node.kind is SymbolKind.VARIABLE
        moves[id(node)] = is_variable or any(moves[id(arg)] for arg in node.args)

    def jumps(node: Node) -> bool:
        if not isinstance(node, Call):
            return False
        if node.primitive in (named("where"), EVENT_WHERE) and len(node.args) == 3:
            condition, *branches = (moves[id(arg)] for arg in node.args)
            return condition and not any(branches) and node.args[1] is not node.args[2]
        return node.primitive.known_name in JUMPS and moves[id(node)]

    return [node for node in nodes if isinstance(node, Expr) and jumps(node)]


def _largest_known(roots: list[Expr]) -> tuple[list[Expr], dict[int, _Facts]]:
    """The largest subexpressions that move with time and not with variables; what is known of all nodes."""
    facts: dict[int, _Facts] = {}
    nodes = list(topological(roots))
    if not any(isinstance(node, Leaf) and node.kind in MOVING for node in nodes):
        return [], facts
    for node in nodes:
        facts[id(node)] = _facts(node, [facts[id(arg)] for arg in node.args])
    used_outside = {id(arg) for node in nodes if not facts[id(node)].known for arg in node.args}
    used_outside |= {id(root) for root in roots}
    found = [node for node in nodes if isinstance(node, Expr) and id(node) in used_outside]
    return [node for node in found if facts[id(node)].known and facts[id(node)].moves], facts


def _cores(part: Expr, facts: dict[int, _Facts]) -> list[Expr]:
    """What is abrupt below functions that are linear in it, and the conditions of choices of constants.

    Copies that differ in an amplitude only have the same core.
    """
    found: dict[int, Expr] = {}
    waiting: list[Node] = [part]
    while waiting:
        node = waiting.pop()
        below = [facts[id(arg)] for arg in node.args]
        moving = [arg for arg, f in zip(node.args, below, strict=True) if f.moves]
        abrupt = [arg for arg in moving if facts[id(arg)].is_abrupt]
        is_choice = isinstance(node, Call) and node.primitive is named("where")
        chooses = is_choice and len(moving) == 1 and moving[0] is node.args[0]
        if isinstance(node, Call) and (chooses or _is_linear(node, below)) and abrupt:
            waiting += abrupt
        elif isinstance(node, Expr):
            found[id(node)] = node
    return list(found.values())


def _facts(node: Node, below: list[_Facts]) -> _Facts:
    if isinstance(node, Leaf):
        return _leaf_facts(node.kind)
    if isinstance(node, Constant):
        return _Facts(True, False, True, True)
    known, moves = all(f.known for f in below), any(f.moves for f in below)
    if not moves or isinstance(node, Item):
        return _Facts(known, moves, not moves or below[0].linear, not moves or below[0].smooth)
    assert isinstance(node, Application)
    linear = _is_linear(node, below)
    smooth = all(f.smooth for f in below) and (linear or _is_smooth(node, below))
    return _Facts(known, moves, linear and all(f.linear for f in below), smooth)


def _leaf_facts(kind: SymbolKind) -> _Facts:
    match kind:
        case SymbolKind.VARIABLE | SymbolKind.DISCRETE:  # nobody knows beforehand when it changes
            return _Facts(known=False, moves=False, linear=True, smooth=True)
        case SymbolKind.PARAMETER:
            return _Facts(known=True, moves=False, linear=True, smooth=True)
        case SymbolKind.INPUT:
            return _Facts(known=True, moves=True, linear=False, smooth=True)
        case SymbolKind.TIME:
            return _Facts(known=True, moves=True, linear=True, smooth=True)
        case _:
            assert_never(kind)


def _is_linear(node: Application, below: list[_Facts]) -> bool:
    """Whether a call is linear in all that moves."""
    moving = {place for place, f in enumerate(below) if f.moves}
    if node.linear == JOINT:
        return True
    if node.linear == EACH:
        return len(moving) == 1
    return isinstance(node.linear, frozenset) and moving <= node.linear


def _is_smooth(node: Application, below: list[_Facts]) -> bool:
    primitive: Primitive = node.primitive
    while primitive.derivative_of is not None:
        primitive = primitive.derivative_of[0]
    if primitive.known_name in SMOOTH or node.linear == EACH:
        return True
    if primitive.known_name in SMOOTH_OF_LINEAR:
        return all(f.linear for f in below)
    exponent = node.signature.leaves[-1] if primitive is named("power") else None
    return isinstance(exponent, int) and exponent >= 0


# What was differentiated.

_origins: WhileAlive[list[AbruptPart]] = WhileAlive()


def remember_derivative(derivative: Expr, of: Expr) -> None:
    """Note that an expression is the time derivative of another one, if that has abrupt parts."""
    below = [*abrupt_parts([of]), *differentiated_parts([of])]
    if below and not isinstance(derivative, (Constant, Leaf)):
        parts = [replace(part, differentiated=part.differentiated + 1) for part in below]
        _origins.put(derivative, _unique([*(_origins.get(derivative) or []), *parts]))


def differentiated_parts(roots: list[Expr]) -> list[AbruptPart]:
    """Abrupt parts of which the expressions contain derivatives."""
    if not _origins:
        return []
    found = [_origins.get(node) for node in topological(roots)]
    return _unique([part for parts in found if parts is not None for part in parts])


def _unique(parts: list[AbruptPart]) -> list[AbruptPart]:
    return list({(id(part.core), part.differentiated): part for part in parts}.values())

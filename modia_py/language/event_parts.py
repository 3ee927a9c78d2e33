"""What elaboration makes of the events of a component class: hidden symbols, and what decides on them.

Everything that is constant between events is data. A relation that makes events, the condition of a `when`,
a `sample`, a left limit become hidden discrete symbols, which equations see as they see parameters; here is
what each of them means, in expressions that contain no function of events any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from ..expressions.expression import Expr
from ..expressions.indexing import Shape
from ..expressions.printing import Naming, expression_text
from ..expressions.symbol_kinds import DiscreteRole, SymbolKind
from ..expressions.templates import Piece
from ..source import Source


class HiddenSymbol:
    """A discrete symbol that nobody declared. Its leaves print as what was written in its place."""

    kind = SymbolKind.DISCRETE
    unit = doc = init = guess = nominal = None
    is_flow = nonzero = False

    def __init__(
        self, role: DiscreteRole, name: str, component: Any, shape: Shape, written: Any, reason: str = ""
    ):
        self.role, self.name, self.component, self.shape = role, name, component, shape
        self.written: Expr | None = written
        self.reason = reason  # of a `terminate`
        is_number = role in (DiscreteRole.LEFT, DiscreteRole.SAMPLED)
        self.dtype = "float64" if is_number else "bool"
        self.value = np.zeros(shape)

    def segments(self) -> list[tuple[str, bool]]:
        return [*self.component._segments(), (self.name, False)]

    def __str__(self) -> str:
        return self.name


class _Written:
    """A part that prints as what was written in place of its symbol."""

    symbol: HiddenSymbol

    def text(self, naming: Naming) -> str:
        assert self.symbol.written is not None
        return expression_text(self.symbol.written, naming)


class RelationKind(Enum):
    """How the instants are found at which a relation changes."""

    TIME_AFFINE = "affine in time, with parameters and discrete variables"
    TIME = "a function of time and parameters"
    STATE = "anything else: a zero crossing to be watched"


@dataclass(frozen=True, eq=False)
class Relation(_Written):
    """A relation that makes events: it holds where z > 0, or, `negated`, where not z > 0.

    `scale` is the size of what is compared, against which differences are rounding.
    """

    symbol: HiddenSymbol
    z: Expr
    scale: Expr
    negated: bool
    kind: RelationKind
    source: Source

    def expressions(self) -> tuple[Expr, ...]:
        return self.z, self.scale

    def with_expressions(self, new: Iterable[Expr]) -> Relation:
        z, scale = new
        return replace(self, z=z, scale=scale)


@dataclass(frozen=True, eq=False)
class Sample(_Written):
    """Instants offset + k*period; with a delay, those of a clock so much before."""

    symbol: HiddenSymbol
    period: Expr
    offset: Expr
    delay: Expr
    source: Source

    def expressions(self) -> tuple[Expr, ...]:
        return self.period, self.offset, self.delay

    def with_expressions(self, new: Iterable[Expr]) -> Sample:
        period, offset, delay = new
        return replace(self, period=period, offset=offset, delay=delay)


@dataclass(frozen=True, eq=False)
class LeftLimit(_Written):
    """The value of a continuous expression just before an event."""

    symbol: HiddenSymbol
    value: Expr
    source: Source

    def expressions(self) -> tuple[Expr, ...]:
        return (self.value,)

    def with_expressions(self, new: Iterable[Expr]) -> LeftLimit:
        (value,) = new
        return replace(self, value=value)


class ActionKind(Enum):
    CONDITION = "the condition of a when"
    ASSIGN = "assign"
    REINIT = "reinit"
    TERMINATE = "terminate"
    SAMPLED = "sampled"


@dataclass(frozen=True, eq=False)
class Action:
    """`target := value` where `fires`, elementwise; without `fires` in every pass of an event.

    Both have the shape of the target, and are real: conditions are one or zero. `target` is also the
    expression of what is set, `piece` its symbol and elements.
    """

    kind: ActionKind
    target: Expr
    piece: Piece
    value: Expr
    fires: Expr | None
    written: Any  # an Assign, a Reinit or a Terminate; None where the target says it
    source: Source

    def text(self, naming: Naming) -> str:
        """The action as it was written."""
        if self.kind is ActionKind.CONDITION:
            return f"when({expression_text(self.target, naming)}, ...)"
        if self.kind is ActionKind.SAMPLED:
            return expression_text(self.target, naming)
        return self.written.text(naming)

    def expressions(self) -> tuple[Expr, ...]:
        return (self.value,) if self.fires is None else (self.value, self.fires)

    def with_expressions(self, new: Iterable[Expr]) -> Action:
        value, *fires = new
        return replace(self, value=value, fires=fires[0] if fires else None)


@dataclass(frozen=True, eq=False)
class ScopeEvents:
    """The events of one component class: symbols and what decides on them; actions in the order written."""

    symbols: tuple[HiddenSymbol, ...] = ()
    relations: tuple[Relation, ...] = ()
    samples: tuple[Sample, ...] = ()
    left_limits: tuple[LeftLimit, ...] = ()
    actions: tuple[Action, ...] = ()
    whens: tuple[Any, ...] = ()  # as written, for listings


NO_EVENTS = ScopeEvents()

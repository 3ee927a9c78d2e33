"""What a symbol of a model can be."""

from __future__ import annotations

from enum import Enum


class SymbolKind(Enum):
    """The kind of a symbol, and so of a leaf of expressions."""

    VARIABLE = "variable"  # an unknown
    PARAMETER = "parameter"  # data: constant during a run
    DISCRETE = "discrete"  # constant between events
    INPUT = "input"  # a known function of time, given with a run
    TIME = "time"  # the independent variable

    # Members are keys of many dictionaries, and there is one object for each of them.
    __hash__ = object.__hash__


CONSTANT_BETWEEN_EVENTS = (SymbolKind.PARAMETER, SymbolKind.DISCRETE)


class DiscreteRole(Enum):
    """What a discrete symbol holds. All but the declared ones are made by elaboration, and hidden."""

    DECLARED = "declared"  # a `Discrete` of the user
    RELATION = "relation"  # whether a relation that makes events holds
    CONDITION = "condition"  # whether the condition of a `when` holds
    SAMPLE = "sample"  # one at the instants of a `sample`
    SAMPLED = "sampled"  # the value of an expression at the last tick of a clock
    LEFT = "left limit"  # the value of a continuous expression just before the event
    INITIAL = "initial"  # one during the event at the start
    TERMINAL = "terminal"  # one during the event at the end
    TERMINATE = "terminate"  # one where a `terminate` was reached

    __hash__ = object.__hash__

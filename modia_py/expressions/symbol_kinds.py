"""What a symbol of a model can be."""

from __future__ import annotations

from enum import Enum


class SymbolKind(Enum):
    """The kind of a symbol, and so of a leaf of expressions."""

    VARIABLE = "variable"  # an unknown
    PARAMETER = "parameter"  # data: constant during a run
    INPUT = "input"  # a known function of time, given with a run
    TIME = "time"  # the independent variable

    # Members are keys of many dictionaries, and there is one object for each of them.
    __hash__ = object.__hash__

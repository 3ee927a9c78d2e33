"""What attempts at steps work with and do not change: the method, its tables, the settings, the
parameters."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..linear.contract import LinearSolver
from ..matrix.jacobian import Gather
from ..problem import Problem
from .formula import Formula
from .settings import Settings


class Method(NamedTuple):
    """What is fixed when the loop is compiled."""

    problem: Problem
    solver: LinearSolver
    directions: int
    formula: Formula
    inlined: Any = None
    """The stages of the corrector (`inlined_contract.Inlined`), if it goes by them."""


class Tables(NamedTuple):
    """Large constant arrays, arguments of the compiled loop."""

    gather: Gather
    solver: Any
    slope_places: Any
    """Of the problem: see there."""


class Context(NamedTuple):
    """All that does not change while a compiled loop runs."""

    method: Method
    tables: Tables
    settings: Settings
    p: Any

    @property
    def problem(self) -> Problem:
        return self.method.problem

    @property
    def formula(self) -> Formula:
        return self.method.formula

    def solve(self, factors: Any, b: Any) -> Any:
        """M^-1 b, in a loop that nobody differentiates."""
        return self.method.solver.solve(self.tables.solver, factors, b)

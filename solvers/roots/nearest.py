"""The nearest point at which equations hold: rectangular systems, once, with care. Sparse.

g(z) = 0 has fewer equations than unknowns, or more that agree. Each Newton step moves as little as
possible, in units of the size of each unknown:

    minimize |C delta|  subject to  J delta = -g:      [ C   J^T ] [delta]   [ 0]
                                                       [ J  -E   ] [ nu  ] = [-g].

Unknowns with cost C = 0 are free to move: they follow from the others. Rows are hard (E tiny) or soft: if
soft rows contradict the hard ones or each other, they are violated as little as possible.

Rows and unknowns fall into parts that have nothing to do with each other. They share evaluations and
factorizations, and nothing else: each part has its own norms, step lengths and end (`nearest_newton`), so
that it does what it would do alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sparse

from .nearest_newton import SATISFIED, search
from .nearest_problem import HARD, SOFT, Effort, NearestProblem
from .nonlinear import SparseSystem


@dataclass(frozen=True, eq=False)
class NearestRoot:
    """z, what is left of each row, that compared with its terms, and whether all is finite.

    `steep` rows have an infinite slope at z.
    """

    z: np.ndarray
    residual: np.ndarray
    relative: np.ndarray
    finite: bool
    steep: np.ndarray
    problem: NearestProblem

    @property
    def unsatisfied(self) -> np.ndarray:
        """The rows that do not hold, the worst first."""
        rows = np.flatnonzero(~(self.relative <= SATISFIED))
        return rows[np.argsort(-self.relative[rows], kind="stable")]

    @property
    def satisfied(self) -> bool:
        return self.finite and not np.any(~(self.relative <= SATISFIED))

    @cached_property
    def multipliers(self) -> np.ndarray:
        """Which rows hold z back from being nearer, and through which soft rows contradict."""
        found = np.zeros(self.problem.system.m)
        if self.finite:
            active = self.problem.active
            found[active] = self.problem.step(self.problem.slopes(self.z), -self.residual[active])[1]
        return found


class NearestSystem:
    """Equations g(z, *arguments), compiled once for all values of the arguments."""

    def __init__(self, system: Any):
        self.system = system

    @staticmethod
    def compiled(
        equations: Callable[..., Any],
        z: np.ndarray,
        arguments: tuple[Any, ...],
        pattern: tuple[Any, Any] | None = None,
    ) -> NearestSystem:
        return NearestSystem(SparseSystem(equations, np.asarray(z, float), arguments, pattern))

    def with_arguments(self, arguments: tuple[Any, ...]) -> NearestSystem:
        return NearestSystem(self.system.with_arguments(arguments))

    @property
    def pattern(self) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
        """Rows and columns of what may be nonzero in the Jacobian, and its shape."""
        return self.system.rows, self.system.columns, (self.system.m, self.system.n)

    @property
    def entries(self) -> int:
        return len(self.system.rows) + self.system.n

    def solve(
        self,
        z: np.ndarray,
        *,
        cost: np.ndarray,
        fixed: np.ndarray,
        soft: np.ndarray | None = None,
        active: np.ndarray | None = None,
        known: np.ndarray | None = None,
        effort: Effort | None = None,
        homotopy: bool = True,
    ) -> NearestRoot:
        """The root nearest to z.

        `fixed` unknowns keep their values; rows that are not `active` are left out; `known` is the size
        of what in a row does not depend on z.
        """
        system, z = self.system, np.asarray(z, float)
        effort = Effort.for_entries(self.entries) if effort is None else effort
        problem = NearestProblem(
            system,
            unit=1.0 + np.abs(z),
            cost=np.asarray(cost, float),
            free=np.flatnonzero(~np.asarray(fixed, bool)),
            softness=np.where(np.zeros(system.m, bool) if soft is None else soft, SOFT, HARD),
            active=np.arange(system.m) if active is None else np.flatnonzero(active),
            known=np.zeros(system.m) if known is None else known,
        )
        return _result(problem, search(problem, z, effort, homotopy))


def _result(problem: NearestProblem, z: np.ndarray) -> NearestRoot:
    active, m = problem.active, problem.system.m
    residual, relative, steep = np.zeros(m), np.zeros(m), np.zeros(m, bool)
    residual[active] = g = problem.value(z)
    jacobian = sparse.csr_array(problem.system.jacobian(z))[active]
    of_free = sparse.csr_array(jacobian[:, problem.free])
    row = np.repeat(np.arange(len(g)), np.diff(of_free.indptr))
    steep[active[row[~np.isfinite(of_free.data)]]] = True
    relative[active] = np.abs(g) / problem.sizes(jacobian, z)
    # A row may hold only because unknowns near zero are compared with SMALL. That needs slopes which are
    # as steep so far away: a root at zero has none, and 1 + sqrt(y) == 0 would hold at y = 1e-30.
    doubtful = relative[active] <= SATISFIED
    doubtful &= ~(np.abs(g) <= SATISFIED * problem.sizes(jacobian, z, small=0.0))
    if doubtful.any():
        own = np.abs(g) / problem.sizes(problem.gentle_slopes(z, jacobian), z)
        steep[active[doubtful & ~(own <= SATISFIED)]] = True
        relative[active] = np.where(doubtful, own, relative[active])
    return NearestRoot(z, residual, relative, bool(np.all(np.isfinite(g))), steep, problem)

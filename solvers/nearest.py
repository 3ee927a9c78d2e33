"""The nearest point at which equations hold: rectangular systems, once, with care. Sparse.

g(z) = 0 has fewer equations than unknowns, or more that agree. Each Newton step moves as little as
possible, in units of the size of each unknown:

    minimize |C delta|  subject to  J delta = -g:      [ C   J^T ] [delta]   [ 0]
                                                       [ J  -E   ] [ nu  ] = [-g].

Unknowns with cost C = 0 are free to move: they follow from the others. Rows are hard (E tiny) or soft: if
soft rows contradict the hard ones or each other, they are violated as little as possible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import splu

from .nonlinear import SparseSystem, follow_homotopy

MAX_ITERATIONS = 300
"""Exponentials far from their solution come down by a factor of e in each iteration, and that is well."""
SHORTEST_STEP = 2.0**-20
SMALLEST_MOVE, SMALLEST_MOVE_WITH_SOFT_ROWS = 1e-13, 1e-10
TINY = 1e-12
SMALL = 1e-3
"""Unknowns smaller than this are compared with this."""
HARD, SOFT = 1e-14, 1e-9
SATISFIED = 1e-9
"""A row holds if its residual is below this, compared with the size of its terms."""


@dataclass(frozen=True, eq=False)
class NearestRoot:
    """z, what is left of each row, that compared with its terms, and whether all is finite.

    `multipliers` say which rows hold z back from being nearer, and through which soft rows contradict.
    """

    z: np.ndarray
    residual: np.ndarray
    relative: np.ndarray
    multipliers: np.ndarray
    finite: bool

    @property
    def unsatisfied(self) -> np.ndarray:
        """The rows that do not hold, the worst first."""
        rows = np.flatnonzero(~(self.relative <= SATISFIED))
        return rows[np.argsort(-self.relative[rows], kind="stable")]


class NearestSystem:
    """Equations g(z, *arguments), compiled once for all values of the arguments."""

    def __init__(
        self,
        equations: Callable[..., Any],
        z: Any,
        arguments: tuple[Any, ...],
        pattern: tuple[Any, Any] | None = None,
    ):
        self.system = SparseSystem(equations, np.asarray(z, float), arguments, pattern)

    @property
    def pattern(self) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
        """Rows and columns of what may be nonzero in the Jacobian, and its shape."""
        return self.system.rows, self.system.columns, (self.system.m, self.system.n)

    def solve(
        self,
        z: np.ndarray,
        arguments: tuple[Any, ...],
        *,
        cost: np.ndarray,
        fixed: np.ndarray,
        soft: np.ndarray | None = None,
        active: np.ndarray | None = None,
    ) -> NearestRoot:
        """The root nearest to z. `fixed` unknowns keep their values; rows that are not `active` are left
        out."""
        system = self.system.with_arguments(arguments)
        z = np.asarray(z, float)
        problem = _Problem(
            system,
            unit=1.0 + np.abs(z),
            cost=np.asarray(cost, float),
            free=np.flatnonzero(~np.asarray(fixed, bool)),
            softness=np.where(np.zeros(system.m, bool) if soft is None else soft, SOFT, HARD),
            active=np.arange(system.m) if active is None else np.flatnonzero(active),
        )
        g = system.value(z)[problem.active]
        if not np.all(np.isfinite(g)):
            return problem.result(z)
        found, settled = problem.newton(z, np.zeros_like(g))
        if not settled:
            followed = follow_homotopy(problem.newton, z, g)
            found = found if followed is None else followed
        return problem.result(found)


@dataclass(frozen=True, eq=False)
class _Problem:
    system: SparseSystem
    unit: np.ndarray
    cost: np.ndarray
    free: np.ndarray
    softness: np.ndarray
    active: np.ndarray

    def jacobian(self, z: np.ndarray) -> sparse.csr_array:
        return sparse.csr_array(self.system.jacobian(z))[self.active]

    def newton(self, z: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, bool]:
        """Newton with line search for g(z) = target; settled if hard rows hold and nothing moves any more.

        Hard rows come first: as long as they do not hold, soft ones may get worse.
        """
        hard = self.softness[self.active] == HARD
        smallest = SMALLEST_MOVE if hard.all() else SMALLEST_MOVE_WITH_SOFT_ROWS
        g = self.system.value(z)[self.active] - target
        for _ in range(MAX_ITERATIONS):
            jacobian = self.jacobian(z)
            delta, scale, _ = self.step(jacobian, -g)
            if delta is None:
                return z, False
            size = np.abs(jacobian) @ (np.abs(z) + SMALL) + np.abs(target)
            holds = np.abs(g[hard]) <= SATISFIED * size[hard]
            if np.max(np.abs(delta) / self.unit, initial=0.0) <= smallest:
                return z + delta, bool(np.all(holds))
            before = np.linalg.norm((g / scale)[hard])
            before_soft = np.linalg.norm((g / scale)[~hard])
            tiny = TINY * np.sqrt(len(g))
            length = 1.0
            while length >= SHORTEST_STEP:
                g_new = self.system.value(z + length * delta)[self.active] - target
                after = np.linalg.norm((g_new / scale)[hard])
                after_soft = np.linalg.norm((g_new / scale)[~hard])
                better = after <= max((1 - 1e-4 * length) * before, tiny)
                if np.all(np.isfinite(g_new)) and better and (before > tiny or after_soft <= before_soft):
                    break
                length *= 0.5
            else:
                # At rounding nothing gets better; or soft rows pull along a curve that hard ones prescribe.
                if hard.all() or np.all(holds):
                    return z, bool(np.all(holds))
                return self._on_hard_rows(hard).newton(z, target[hard])
            z, g = z + length * delta, g_new
        return z, bool(np.all(np.abs(g[hard]) <= SATISFIED * size[hard]))

    def _on_hard_rows(self, hard: np.ndarray) -> _Problem:
        return replace(self, active=self.active[hard])

    def step(
        self, jacobian: sparse.csr_array, right: np.ndarray
    ) -> tuple[np.ndarray | None, np.ndarray, np.ndarray]:
        """The move, the size of each row, and the multipliers."""
        part = jacobian[:, self.free] @ sparse.diags_array(self.unit[self.free])
        scale = np.maximum(abs(part).max(axis=1).toarray().ravel(), 1e-300) if part.shape[1] else None
        if scale is None:
            return np.zeros(self.system.n), np.ones(len(right)), np.zeros(len(right))
        scale = np.where(scale > 1e-290, scale, 1.0)
        part = sparse.diags_array(1.0 / scale) @ part
        delta = np.zeros(self.system.n)
        k = len(self.free)
        for least_cost in (0.0, 1e-12):
            block = sparse.block_array(
                [
                    [sparse.diags_array(np.maximum(self.cost[self.free], least_cost)), part.T],
                    [part, sparse.diags_array(-self.softness[self.active])],
                ],
                format="csc",
            )
            try:
                solution = splu(block).solve(np.concatenate([np.zeros(k), right / scale]))
            except (RuntimeError, ValueError):
                continue
            if np.all(np.isfinite(solution)):
                delta[self.free] = self.unit[self.free] * solution[:k]
                return delta, scale, solution[k:]
        return None, scale, np.zeros(len(right))

    def result(self, z: np.ndarray) -> NearestRoot:
        residual = np.zeros(self.system.m)
        relative = np.zeros(self.system.m)
        g = self.system.value(z)
        finite = bool(np.all(np.isfinite(g[self.active])))
        jacobian = np.abs(self.system.jacobian(z))
        size = np.nan_to_num(jacobian @ (np.abs(z) + SMALL))
        residual[self.active] = g[self.active]
        multipliers = np.zeros(self.system.m)
        if finite:
            multipliers[self.active] = self.step(self.jacobian(z), -g[self.active])[2]
        with np.errstate(invalid="ignore", divide="ignore"):
            relative[self.active] = np.abs(g[self.active]) / np.maximum(size[self.active], 1e-12)
        return NearestRoot(z, residual, relative, multipliers, finite)

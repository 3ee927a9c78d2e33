"""Newton's method for the nearest point, part by part: line search, then homotopy. See `nearest`.

A part ends when its rows are at rounding of their terms, when it no longer moves, or when neither its
residual nor its step gets smaller although its rows hold: iterating on would only follow rounding. It is
given up when its residual hardly decreases over many iterations. Everything is counted (`Effort`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse

from .homotopy import follow_homotopy
from .nearest_problem import HARD, IGNORED, Effort, NearestProblem

MAX_ITERATIONS = 300
"""Exponentials far from their solution come down by a factor of e in each iteration, and that is well."""
SHORTEST_STEP = 2.0**-20
SMALLEST_MOVE, SMALLEST_MOVE_WITH_SOFT_ROWS = 1e-13, 1e-10
SATISFIED = 1e-9
"""A row holds if its residual is below this, compared with the size of its terms."""
TINY = 1e-12
"""Scaled residuals below this need not get smaller in a step."""
ROUNDING = 1e-15
"""Residuals below this, compared with the terms of their row, are zero."""
STAGNATES, STAGNATES_WITH_SOFT_ROWS = 0.5, 0.9
PATIENCE = 20
"""So many iterations may pass until a residual has halved."""
HOMOTOPY_STEPS, HOMOTOPY_ITERATIONS = 60, 10
SHORTEST_HOMOTOPY_STEP = 1e-4
MOST_HOMOTOPIES = 10
"""Parts that are tried again, one by one."""


def search(problem: NearestProblem, z: np.ndarray, effort: Effort, homotopy: bool = True) -> np.ndarray:
    """Newton's method for all parts; the homotopy g(z) = (1 - s) g(z_start) for those that fail."""
    g = problem.value(z)
    before = effort.used
    found, settled = newton(problem, z, np.zeros_like(g), effort, MAX_ITERATIONS)
    effort.tried.append(f"Newton's method ({_count(effort.used - before)})")
    parts = problem.parts
    can_move = np.zeros(parts.count, bool)
    can_move[parts.of_unknown[parts.of_unknown >= 0]] = True
    failed = np.flatnonzero(~settled & can_move & parts.all(np.isfinite(g)))
    for part in failed[: MOST_HOMOTOPIES if homotopy else 0].tolist():
        unknowns = parts.of_unknown == part
        rows = np.flatnonzero(parts.of_row == part)
        if not len(rows):
            continue
        before = effort.used
        followed, reached = _follow(problem.only(rows, unknowns), z, g[rows], effort)
        effort.tried.append(
            f"a homotopy from the guess, followed to {100 * reached:.3g} % ({_count(effort.used - before)})"
        )
        if followed is not None:
            found = np.where(unknowns, followed, found)
    return found


def _count(iterations: int) -> str:
    return f"{iterations} iteration{'' if iterations == 1 else 's'}"


def _follow(
    problem: NearestProblem, z: np.ndarray, g: np.ndarray, effort: Effort
) -> tuple[np.ndarray | None, float]:
    """Follow g(z) = (1 - s) g from s = 0 to s = 1, all parts together; and how far s came."""

    def settle(z: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, bool]:
        found, settled = newton(problem, z, target, effort, HOMOTOPY_ITERATIONS)
        return found, bool(settled.all())

    return follow_homotopy(
        settle, z, g, steps=HOMOTOPY_STEPS, shortest=SHORTEST_HOMOTOPY_STEP,
        may_go_on=lambda: effort.left > 0,
    )  # fmt: skip


@dataclass
class _Progress:
    """How each part has got on: its smallest residual and move, and when its residual has last halved."""

    residual: np.ndarray
    move: np.ndarray
    halved: np.ndarray
    halved_at: np.ndarray

    @staticmethod
    def of(count: int) -> _Progress:
        infinite = np.full(count, np.inf)
        return _Progress(infinite, infinite.copy(), infinite.copy(), np.zeros(count, int))

    def note(
        self, iteration: int, residual: np.ndarray, move: np.ndarray, factor: np.ndarray
    ) -> np.ndarray:
        """Which parts have got better, in their residual or in how far they move."""
        better = (residual < factor * self.residual) | (move < factor * self.move)
        self.residual, self.move = np.minimum(self.residual, residual), np.minimum(self.move, move)
        halved = residual < 0.5 * self.halved
        self.halved = np.where(halved, residual, self.halved)
        self.halved_at = np.where(halved, iteration, self.halved_at)
        return better

    def hopeless(self, iteration: int) -> np.ndarray:
        return iteration - self.halved_at >= PATIENCE


def newton(
    problem: NearestProblem, z: np.ndarray, target: np.ndarray, effort: Effort, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Newton with line search for g(z) = target; which parts settled: hard rows hold, nothing moves.

    Hard rows come first: as long as they do not hold, soft ones may get worse.
    """
    parts = problem.parts
    softness = problem.softness[problem.active]
    hard = softness == HARD
    only_hard = parts.all(hard)
    smallest = np.where(only_hard, SMALLEST_MOVE, SMALLEST_MOVE_WITH_SOFT_ROWS)
    stagnates = np.where(only_hard, STAGNATES, STAGNATES_WITH_SOFT_ROWS)
    g = problem.value(z) - target
    moving, settled = parts.all(np.isfinite(g)), np.zeros(parts.count, bool)
    progress = _Progress.of(parts.count)
    for iteration in range(most + 1):
        slopes = problem.slopes(z)
        scale, size = problem.scales(slopes), problem.sizes(slopes, z) + np.abs(target)
        holds = parts.all(~hard | (np.abs(g) <= SATISFIED * size))

        def norms(g: np.ndarray, scale: np.ndarray = scale, size: np.ndarray = size) -> np.ndarray:
            """Of hard rows beyond rounding, and of soft rows."""
            excess = np.where(np.abs(g) <= ROUNDING * size, 0.0, g / scale)
            return np.stack(
                [parts.norm(np.where(hard, excess, 0.0)), parts.norm(np.where(hard, 0.0, excess))]
            )

        before = norms(g)
        at_rounding = moving & (before[0] == 0.0) & only_hard
        settled |= at_rounding
        moving &= ~at_rounding
        if not moving.any() or iteration == most or not effort.spend():
            settled |= moving & holds & only_hard
            break
        if moving.all():
            delta, _ = problem.step(slopes, -g, softness)
        else:
            rows = np.flatnonzero(moving[parts.of_row])
            inner = problem.only(rows, parts.spread(moving, False))
            delta, _ = inner.step(slopes[rows], -g[rows], softness[rows])
        if delta is None:
            delta, singular = _part_by_part(problem, slopes, g, softness, moving)
            moving &= ~singular
        move = parts.most_of_unknowns(np.abs(delta) / (problem.unit + np.abs(z)))
        better = progress.note(iteration, before.sum(axis=0), move, stagnates)
        arrived = moving & (move <= smallest)
        z = np.where(parts.spread(arrived, False), z + delta, z)
        ended = arrived | (moving & holds & ~better)
        settled |= ended & holds
        moving &= ~ended & ~(progress.hopeless(iteration) & ~holds)
        length, g_new = _line_search(problem, z, target, delta, moving, before, norms)
        stuck = moving & (length == 0.0)
        # At rounding nothing gets better; or soft rows pull along a curve that hard ones prescribe.
        settled |= stuck & holds
        without_soft = stuck & ~holds & ~only_hard
        softness = np.where(without_soft[parts.of_row] & ~hard, IGNORED, softness)
        only_hard |= without_soft
        moving &= ~(stuck & ~without_soft)
        z = z + parts.spread(np.where(moving, length, 0.0), 0.0) * delta
        g = np.where(moving[parts.of_row] & (length > 0.0)[parts.of_row], g_new, g)
    return z, settled


def _line_search(
    problem: NearestProblem,
    z: np.ndarray,
    target: np.ndarray,
    delta: np.ndarray,
    moving: np.ndarray,
    before: np.ndarray,
    norms: Callable[[np.ndarray], np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """The length of the step of each part, zero if there is none; and g at its end."""
    parts = problem.parts
    length, accepted = np.where(moving, 1.0, 0.0), ~moving
    g = np.zeros(len(target))
    tiny = TINY * np.sqrt(np.bincount(parts.of_row, minlength=parts.count))
    while not accepted.all():
        trial = problem.value(z + parts.spread(length, 0.0) * delta) - target
        with np.errstate(invalid="ignore"):
            after = norms(trial)
        better = after[0] <= np.maximum((1 - 1e-4 * length) * before[0], tiny)
        good = np.isfinite(after).all(axis=0) & better & ((before[0] > tiny) | (after[1] <= before[1]))
        now = good & ~accepted
        g = np.where(now[parts.of_row], trial, g)
        accepted |= now
        length = np.where(accepted, length, 0.5 * length)
        given_up = ~accepted & (length < SHORTEST_STEP)
        length[given_up] = 0.0
        accepted |= given_up
    return length, g


def _part_by_part(
    problem: NearestProblem,
    slopes: sparse.csr_array,
    g: np.ndarray,
    softness: np.ndarray,
    moving: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Steps of the parts one after the other, where one that is singular spoils the common solve."""
    parts = problem.parts
    delta, singular = np.zeros(problem.system.n), np.zeros(parts.count, bool)
    for part in np.flatnonzero(moving).tolist():
        rows = np.flatnonzero(parts.of_row == part)
        inner = problem.only(rows, parts.of_unknown == part)
        own, _ = inner.step(slopes[rows], -g[rows], softness[rows])
        singular[part] = own is None
        if own is not None:
            delta += own
    return delta, singular

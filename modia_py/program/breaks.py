"""Where functions of time jump or bend: found on a grid, located to the rounding of time.

The functions, with some derivatives, and their switches (`switches`) are evaluated on a fine grid. Between
two neighbours something breaks if a switch has changed, or if the function, or a derivative of it, has
changed by much more than its slope at both ends allows. Such intervals are divided again and again. What is
smooth, however fast, follows its slope sooner or later and is dropped; a jump stays until its ends are
neighbouring numbers. One-sided values there say which derivative it is that jumps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..solvers.compile_options import quick_jit
from ..solvers.problem import kinds
from .switches import switches

GRID = 2**14
"""Intervals of the grid; fewer where there are very many functions."""
FEWEST_INTERVALS = 1000
BLOCK = 4096
"""Times that are evaluated by one call."""
MOST_VALUES = 2**19
"""Values of functions in one call, and 8 times as many on the whole grid."""
MOST_BRACKETS = 2**16
GUARD = 32 * float(np.finfo(float).eps)
"""One-sided values are taken so far from a break, in units of the largest time: programs that are compiled
differently round differently."""
RESOLUTION = 1e-25
"""Nearer than this, in units of the largest time, two times are one: numbers close to zero have neighbours
that are nearer than anything that matters."""
LEAST_SEEN = 1e-6
"""A change on the grid, compared with the largest value: smaller ones are taken for rounding."""
LEAST_BROKEN = 1e-11
"""The same where a switch has changed."""
BENT, JUMPED, SWITCHED = 1, 2, 4
"""What is suspect between two times: a derivative, a function, a switch."""
NOISY = 8
"""More breaks than this within one small interval, all of derivatives, and no switch: rounding of a slope
that is hard to compute, around one kink."""
LARGE_CHANGE = 0.25
"""A slope that changes by this part of itself within the guard has a break, whatever its own slope."""


@dataclass(frozen=True)
class Break:
    """Between the neighbouring times `before` and `after` a derivative of an order jumps, of some function.

    Order 0 is the function itself. `component` says which one it is.
    """

    before: float
    after: float
    order: int
    component: int


@dataclass(frozen=True, eq=False)
class Search:
    """What a search has found: nothing if it is not `complete`, because there were too many breaks."""

    breaks: tuple[Break, ...]
    times: np.ndarray  # the grid
    values: np.ndarray  # of the functions there
    complete: bool


class Watch:
    """Functions of time, to be searched for breaks: `function(t, data)` returns a vector."""

    def __init__(self, function: Callable[[Any, Any], Any], size: int, orders: int):
        """`orders`: breaks of the functions and of so many derivatives, less one, are looked for."""
        self.function, self.size, self.orders = function, size, orders
        self.compare = quick_jit(self._compare, 0)
        self._differentiable: set[Any] = set()
        self.block = int(np.clip(MOST_VALUES // max(1, size), 64, BLOCK))

    def search(self, start: float, stop: float, data: Any, given: np.ndarray) -> Search:
        """All breaks from start to stop; near the `given` times it is looked more closely."""
        self._with_derivatives_there_are(data)
        guard = guard_at(start, stop)
        times = self._grid(start, stop, given, guard)
        unlimited = np.full((self.orders + 1, self.size), np.inf)
        _, _, values, sizes = self._over(times, data, unlimited, LEAST_SEEN, False)
        suspect, _, _, _ = self._over(times, data, sizes, LEAST_SEEN, False)
        before, after, complete = self._located(times, suspect, data, sizes)
        if not complete:
            return Search((), times, values, False)
        breaks = self._classified(before, after, start, stop, guard, data, sizes)
        return Search(breaks, times, values, True)

    def _with_derivatives_there_are(self, data: Any) -> None:
        """A callback to Python may have no derivatives of higher order."""
        shapes = kinds(data)
        if shapes in self._differentiable:
            return
        self._differentiable.add(shapes)
        while self.orders > 1:
            try:
                jax.eval_shape(self._levels(data), jax.ShapeDtypeStruct((), np.float64))
                return
            except ValueError:
                self.orders -= 1

    def _levels(self, data: Any) -> Callable[[Any], Any]:
        """The functions and their derivatives."""

        def levels(t: Any) -> Any:
            found: list[Any] = [lambda t: self.function(t, data)]
            for _ in range(self.orders):
                found.append(time_derivative(found[-1]))
            return jnp.stack([level(t) for level in found])

        return levels

    def _grid(self, start: float, stop: float, given: np.ndarray, guard: float) -> np.ndarray:
        """Not quite equidistant: what is periodic could otherwise hide behind the grid."""
        count = int(np.clip(8 * MOST_VALUES // max(1, self.size), FEWEST_INTERVALS, GRID))
        number = np.arange(1, count)
        jitter = 0.4 * ((number * 0.6180339887498949) % 1.0 - 0.5)
        inner = start + (stop - start) * ((number + jitter) / count)
        near = (given[:, None] + guard * np.array([-8.0, -1.0, 0.0, 1.0, 8.0])).ravel()
        times = np.unique(np.concatenate([[start, stop], inner, near]))
        return times[(times >= start) & (times <= stop)]

    def _over(
        self, times: np.ndarray, data: Any, sizes: np.ndarray, least: float, strict: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """For each pair of neighbours whether something breaks, and what; values; largest values."""
        suspect, broken, values = [], [], []
        largest = np.zeros((self.orders + 1, self.size))
        for first in range(0, max(1, len(times) - 1), self.block):
            chosen = times[first : first + self.block + 1]
            padded = np.append(chosen, np.full(self.block + 1 - len(chosen), chosen[-1]))
            out = self.compare(padded, data, sizes, np.float64(least), np.bool_(strict))
            changed, here, found, maxima = map(np.asarray, out)
            pairs = len(chosen) - 1
            by_level = np.asarray(here[:pairs].any(axis=2))
            bent = BENT * by_level[:, 1:].any(axis=1)
            suspect.append(bent + JUMPED * by_level[:, 0] + SWITCHED * changed[:pairs])
            if strict:
                broken.append(here[:pairs])
            values.append(found[: len(chosen) if first + self.block + 1 >= len(times) else self.block])
            largest = np.maximum(largest, maxima)
        everything = np.concatenate(broken) if broken else np.zeros((0, self.orders, self.size), bool)
        return np.concatenate(suspect), everything, np.concatenate(values), largest

    def _compare(self, times: Any, data: Any, sizes: Any, least: Any, strict: Any) -> Any:
        values = jax.vmap(self._levels(data))(times)
        decisions = jax.vmap(lambda t: switches(lambda t: self.function(t, data), t))(times)
        changed = jnp.any(decisions[1:] != decisions[:-1], axis=1)
        change = jnp.abs(values[1:, :-1] - values[:-1, :-1])
        steepest = jnp.maximum(jnp.abs(values[1:, 1:]), jnp.abs(values[:-1, 1:]))
        bound = 2.0 * (times[1:] - times[:-1])[:, None, None] * steepest
        # An unknown slope explains everything on the grid, and nothing close to a break.
        bound = jnp.where(jnp.isnan(bound), jnp.where(strict, 0.0, jnp.inf), bound)
        own = jnp.maximum(jnp.abs(values[1:, :-1]), jnp.abs(values[:-1, :-1]))
        is_slope = (jnp.arange(self.orders) > 0)[:, None]
        bound = jnp.where(strict & is_slope, jnp.minimum(bound, LARGE_CHANGE * own), bound)
        bound = bound + least * sizes[:-1]
        broken = jnp.where(strict, ~(change <= bound), change > bound)
        maxima = jnp.max(jnp.where(jnp.isfinite(values), jnp.abs(values), 0.0), axis=0)
        return changed, broken, values[:, 0], maxima

    def _located(
        self, times: np.ndarray, suspect: np.ndarray, data: Any, sizes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Numbers, as near to each other as times can be, between which something breaks."""
        low, high, grid = times[:-1][suspect > 0], times[1:][suspect > 0], np.flatnonzero(suspect)
        nearest = RESOLUTION * np.abs(times).max()
        done: list[np.ndarray] = [np.zeros((0, 2))]
        settled = np.zeros(len(times), bool)  # intervals of the grid whose noise is one kink
        while len(low):
            if len(low) > MOST_BRACKETS:
                return np.zeros(0), np.zeros(0), False
            parts = int(np.clip(self.block // len(low), 2, 1024))
            inner = low[:, None] + (high - low)[:, None] * (np.arange(parts + 1) / parts)
            points = np.clip(inner, low[:, None], high[:, None])
            points[:, -1] = high
            found, _, _, _ = self._over(points.ravel(), data, sizes, LEAST_SEEN, False)
            within = np.append(found, 0).reshape(points.shape)[:, :-1]
            noisy = (within == BENT).sum(axis=1) > NOISY
            done.append(_middles(points, within == BENT, grid, noisy & ~settled[grid]))
            settled[grid[noisy]] = True
            within[(within == BENT) & settled[grid][:, None]] = 0
            row, column = np.nonzero(within)
            low, high, grid = points[row, column], points[row, column + 1], grid[row]
            adjacent = (np.nextafter(low, np.inf) >= high) | (high - low <= nearest)
            done.append(np.stack([low[adjacent], high[adjacent]], axis=1))
            low, high, grid = low[~adjacent], high[~adjacent], grid[~adjacent]
        located = np.concatenate(done)
        located = located[np.argsort(located[:, 0], kind="stable")]
        return located[:, 0], located[:, 1], True

    def _classified(
        self,
        before: np.ndarray,
        after: np.ndarray,
        start: float,
        stop: float,
        guard: float,
        data: Any,
        sizes: np.ndarray,
    ) -> tuple[Break, ...]:
        """Which derivative of which functions jumps: one-sided values, a guard away from each break."""
        before, after = merged(before, after, 2 * guard)
        sides = np.stack([np.maximum(before - guard, start), np.minimum(after + guard, stop)], axis=1)
        if not len(before):
            return ()
        _, broken, _, _ = self._over(sides.ravel(), data, sizes, LEAST_BROKEN, True)
        at = broken[::2]  # between the sides of a break, and not from one break to the next
        lowest = np.where(at.any(axis=1), at.argmax(axis=1), self.orders)
        where, component = np.nonzero(lowest < self.orders)
        return tuple(
            Break(float(before[k]), float(after[k]), int(lowest[k, c]), int(c))
            for k, c in zip(where, component, strict=True)
        )


def _middles(points: np.ndarray, bent: np.ndarray, grid: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The middle of the bent intervals in the chosen rows, as two neighbours; one in each of the grid."""
    _, first = np.unique(grid[chosen], return_index=True)
    row = np.flatnonzero(chosen)[first]
    last = bent.shape[1] - bent[row, ::-1].argmax(axis=1)
    middle = 0.5 * (points[row, bent[row].argmax(axis=1)] + points[row, last])
    return np.stack([middle, np.nextafter(middle, np.inf)], axis=1)


def time_derivative(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The derivative of a function of time."""
    return lambda t: jax.jvp(function, (t,), (jnp.ones_like(t),))[1]


def guard_at(start: float, stop: float) -> float:
    return GUARD * max(abs(start), abs(stop))


def merged(before: np.ndarray, after: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
    """Breaks that are nearer to each other than this, as one."""
    if not len(before):
        return before, after
    order = np.argsort(before, kind="stable")
    before, after = before[order], np.maximum.accumulate(after[order])
    first = np.append(True, before[1:] - after[:-1] >= least)
    return before[first], after[np.append(np.flatnonzero(first)[1:] - 1, len(after) - 1)]

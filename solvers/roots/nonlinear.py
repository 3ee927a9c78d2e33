"""Roots of nonlinear systems, once, with care: Newton with line search, then homotopy. Sparse.

For square regular systems g(x) = 0 the Newton step solves J delta = -g. Where fewer equations than
unknowns are wanted to hold ("nearest"), the step is the smallest one that does it,

    minimize |delta|  subject to  J delta = -g:      [ I  J^T ] [delta]   [ 0]
                                                     [ J  0   ] [ nu  ] = [-g],

with a tiny regularization in place of the zero block, so that redundant equations that agree are welcome.

If the line search fails, the homotopy g(x) - (1 - s) g(x_start) = 0 is followed from s = 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import splu

from ..compile_options import quick_jit
from ..forks import use_jax
from ..matrix.jacobian import colours_of, products_by_colour
from ..problem import Problem, kinds
from ..status import Status
from .homotopy import follow_homotopy

MAX_ITERATIONS = 300
"""Exponentials far from their solution come down by a factor of e in each iteration, and that is well."""
SHORTEST_STEP = 2.0**-20
RELATIVE_ACCURACY = 1e-12
ROUNDING = 16 * float(np.finfo(float).eps)
"""Of a row, as a part of the sizes of its terms."""
SATISFIED, AT_ROUNDING = 1e-8, 1e-11
"""What may be left of a row, as a part of its terms: if nothing moves any more; if nothing gets better."""
HOMOTOPY_STEPS, HOMOTOPY_ITERATIONS, SHORTEST_HOMOTOPY_STEP = 100, 25, 1e-6
"""Limits of a homotopy: steps, and iterations of each, which begins near its solution."""
REGULARIZATION = 1e-14
DIRECTIONS_AT_ONCE = 16


@dataclass(frozen=True, eq=False)
class Root:
    x: np.ndarray
    status: Status
    message: str
    unsatisfied: tuple[int, ...] = ()


class SparseSystem:
    """g and its sparse Jacobian at points on the host; compiled once, for other arguments again used."""

    def __init__(
        self,
        equations: Callable[..., Any],
        x: np.ndarray,
        arguments: tuple[Any, ...],
        pattern: tuple[Any, Any] | None = None,
    ):
        self.n = x.shape[0]
        leaves, tree = jax.tree.flatten(arguments)

        def flat(x: Any, *leaves: Any) -> Any:
            return equations(x, *jax.tree.unflatten(tree, leaves))

        self.m: int = jax.eval_shape(flat, x, *leaves).shape[0]

        entries = _pattern(flat, x, leaves, self.m) if pattern is None else pattern
        self.rows, self.columns = np.asarray(entries[0]), np.asarray(entries[1])
        self.colours = colours_of(self.rows, self.columns, self.n, self.m)
        directions = int(self.colours.max(initial=0)) + 1
        colours = jax.device_put(self.colours)

        def compressed(colours: Any, x: Any, *leaves: Any) -> Any:
            def product(z: Any) -> Any:
                return jax.jvp(lambda x: flat(x, *leaves), (x,), (z,))[1]

            return products_by_colour(product, colours, directions, DIRECTIONS_AT_ONCE)

        # For a start, a few calls: however long the vectors are, compiling takes longer.
        self._value = quick_jit(flat, 0)
        self._compressed = partial(quick_jit(compressed, 0), colours)
        self.leaves = leaves

    def with_arguments(self, arguments: tuple[Any, ...]) -> SparseSystem:
        """The same equations at other arguments. This one stays as it is: another thread may use it."""
        other = copy(self)
        other.leaves = jax.tree.leaves(arguments)
        return other

    def value(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self._value(x, *self.leaves))

    def entries(self, x: np.ndarray) -> np.ndarray:
        """Values of the Jacobian at `rows` and `columns`."""
        products = np.asarray(self._compressed(x, *self.leaves))
        return products[self.colours[self.columns], self.rows]

    def jacobian(self, x: np.ndarray) -> sparse.csc_array:
        return sparse.csc_array((self.entries(x), (self.rows, self.columns)), shape=(self.m, self.n))


def _pattern(function: Any, x: np.ndarray, leaves: list[Any], m: int) -> tuple[np.ndarray, np.ndarray]:
    try:
        import asdex  # takes long to import

        found = asdex.jacobian_sparsity(function, x, *leaves)
    except Exception:  # a dense pattern is always right
        rows, columns = (index.ravel() for index in np.indices((m, x.shape[0])))
        return rows, columns
    return np.asarray(found.rows), np.asarray(found.cols)


def cached_system(
    problem: Problem,
    name: str,
    equations: Callable[..., Any],
    x: np.ndarray,
    arguments: tuple[Any, ...],
    pattern: tuple[np.ndarray, np.ndarray] | None = None,
) -> SparseSystem:
    """The equations of this name, compiled once for a problem."""
    key, systems = (name, kinds(arguments)), problem.cache.systems
    if key in systems:
        return systems[key].with_arguments(arguments)
    system = systems[key] = SparseSystem(equations, x, arguments, pattern)
    return system


def find_root(
    problem: Problem,
    name: str,
    equations: Callable[..., Any],
    start: np.ndarray,
    arguments: tuple[Any, ...],
    *,
    free: np.ndarray | None = None,
    nearest: bool = False,
    pattern: tuple[np.ndarray, np.ndarray] | None = None,
) -> Root:
    """x with equations(x, *arguments) = 0, near to start. `free` elements may change; all if None.

    The name tells the equations of a problem apart: under it they are kept compiled.
    """
    use_jax()
    system = cached_system(problem, name, equations, start, arguments, pattern)
    free = np.ones(problem.size, bool) if free is None else free
    x0 = np.asarray(start, float)
    finite = np.isfinite(system.value(x0))
    if not finite.all():
        bad = np.flatnonzero(~finite)
        return Root(
            x0,
            Status.NON_FINITE,
            f"Rows {bad[:10].tolist()} are not finite at the start.",
            tuple(bad.tolist()),
        )
    target = np.zeros(problem.size)
    x, reached = _newton(system, x0, target, free, nearest)
    if not reached:
        followed, _ = follow_homotopy(
            lambda x, target: _newton(system, x, target, free, nearest, HOMOTOPY_ITERATIONS),
            x0,
            system.value(x0),
            steps=HOMOTOPY_STEPS,
            shortest=SHORTEST_HOMOTOPY_STEP,
        )
        if followed is not None:
            x, reached = followed, True
    if reached:
        return Root(x, Status.SUCCESS, Status.SUCCESS.advice)
    left = np.abs(system.value(x))
    rows = np.flatnonzero(left > 1e-3 * left.max())
    return Root(
        x,
        Status.INCONSISTENT,
        f"Rows {rows[:10].tolist()} could not be satisfied, neither by Newton's iteration nor by "
        f"a homotopy; the largest residual is {left.max():.3g}.",
        tuple(rows.tolist()),
    )


def _newton(
    system: SparseSystem,
    x: np.ndarray,
    target: np.ndarray,
    free: np.ndarray,
    nearest: bool,
    iterations: int = MAX_ITERATIONS,
) -> tuple[np.ndarray, bool]:
    """Newton with line search for g(x) = target.

    It ends where every row holds to the rounding of its own terms, or every element moves by nothing
    against its own size: large elements say nothing about small ones. Rounding does not count in the line
    search.
    """
    g = system.value(x) - target
    for _ in range(iterations):
        if not np.any(g):
            return x, True
        jacobian = system.jacobian(x)
        if not np.all(np.isfinite(jacobian.data)):
            return x, _holds(g, np.abs(target), AT_ROUNDING)  # an infinite slope says nothing of rounding
        size = np.abs(jacobian) @ np.abs(x) + np.abs(target)
        weight = 1.0 / np.maximum(abs(jacobian).max(axis=1).toarray().ravel(), 1e-300)

        def merit(g: np.ndarray, size: np.ndarray = size, weight: np.ndarray = weight) -> float:
            excess = weight * np.maximum(np.abs(g) - ROUNDING * size, 0.0)
            largest = excess.max()
            return largest * float(np.linalg.norm(excess / largest)) if largest > 0.0 else 0.0

        before = merit(g)
        if before == 0.0:
            return x, True
        delta = _newton_step(jacobian, -g, free, nearest)
        if delta is None or not np.all(np.isfinite(delta)):
            return x, False
        if np.all(np.abs(delta) <= RELATIVE_ACCURACY * np.abs(x + delta)):
            x = x + delta
            return x, _holds(system.value(x) - target, size, SATISFIED)
        step, after = 1.0, np.inf
        while step >= SHORTEST_STEP:
            g_new = system.value(x + step * delta) - target
            after = merit(g_new) if np.all(np.isfinite(g_new)) else np.inf
            if after <= (1 - 1e-4 * step) * before:
                break
            step *= 0.5
        else:
            # At rounding nothing decreases any more.
            return x, _holds(g, size, AT_ROUNDING)
        x, g = x + step * delta, g_new
        if after > 0.5 * before and _holds(g, size, AT_ROUNDING):
            # Far away, a step gains more than that: rows whose rounding is larger than it looks, or an
            # element that is zero and gets what the solve has rounded in others.
            return x, True
    return x, False


def _holds(g: np.ndarray, size: np.ndarray, part: float) -> bool:
    """Whether what is left of each row is a small part of its terms."""
    return bool(np.all(np.abs(g) <= part * np.maximum(size, part)))


def _newton_step(
    jacobian: sparse.csc_array, right: np.ndarray, free: np.ndarray, nearest: bool
) -> np.ndarray | None:
    n = jacobian.shape[0]
    delta = np.zeros(n)
    try:
        if nearest:
            rows = np.flatnonzero(np.diff(sparse.csr_array(jacobian).indptr))
            part = sparse.csr_array(jacobian)[rows][:, np.flatnonzero(free)]
            scale = np.maximum(abs(part).max(axis=1).toarray().ravel(), 1e-300)
            part = sparse.diags_array(1.0 / scale) @ part
            m, k = part.shape
            if m == 0:
                return delta
            block = sparse.block_array(
                [[sparse.eye_array(k), part.T], [part, -REGULARIZATION * sparse.eye_array(m)]], format="csc"
            )
            solution = splu(block).solve(np.concatenate([np.zeros(k), right[rows] / scale]))
            delta[free] = solution[:k]
        else:
            delta = splu(sparse.csc_array(jacobian)).solve(right)
    except (RuntimeError, ValueError):
        return None
    return delta

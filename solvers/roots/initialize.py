"""Consistent start values.

- `consistent_xdot`: xdot for given x, from fd(t, x, xdot) = 0 and the derivative of the constraints,
  dfc/dx xdot + dfc/dt = 0: a system with the regular matrix of the special form.
- `consistent_start`: the x nearest to the given one, with some elements fixed, that satisfies fc(t, x) =
  0; then xdot.
- `impulse_start`: the given x is a left limit x-. The impulse equations decide what jumps,
  Md(x+) (x+ - x-) = 0, fc(x+) = 0 with Md = dfd/dxdot: momentum is conserved, constraints hold. Then xdot.

All are small nonlinear systems for `nonlinear.find_root`, with exact Jacobians.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse

from ..matrix.jacobian import fd_rows, pattern_of, value_and_rate
from ..problem import Problem
from ..status import Status
from .nonlinear import SparseSystem, cached_system, find_root


@dataclass(frozen=True, eq=False)
class Start:
    """Start values, how their computation ended, and which rows were not satisfied if it failed."""

    x: np.ndarray
    xdot: np.ndarray
    status: Status
    message: str
    unsatisfied: tuple[int, ...] = ()

    @property
    def success(self) -> bool:
        return not self.status.failed


def consistent_xdot(problem: Problem, t: float, x: Any, p: Any = None, guess: Any = None) -> Start:
    """xdot for given x, on the constraints."""
    x = np.asarray(x, float)
    start = np.zeros_like(x) if guess is None else np.asarray(guess, float)
    p = jax.tree.map(np.asarray, p)
    arguments = np.asarray(t, float), x, p
    equations = _slope_equations(problem)
    found = find_root(problem, "xdot", equations, start, arguments, pattern=_pattern(problem, p))
    return _start(x, found, of_x=False)


def form_matrix(problem: Problem, t: float, x: Any, xdot: Any, p: Any = None) -> sparse.csr_array:
    """The matrix of the special form, [dfd/dxdot; dfc/dx], at a point: that of the equations for xdot."""
    return sparse.csr_array(slope_system(problem, t, x, p).jacobian(np.asarray(xdot, float)))


def slope_system(problem: Problem, t: float, x: Any, p: Any = None) -> SparseSystem:
    """The equations of xdot for given x; their Jacobian is [dfd/dxdot; dfc/dx], the matrix of the form."""
    x, p = np.asarray(x, float), jax.tree.map(np.asarray, p)
    arguments = np.asarray(t, float), x, p
    return cached_system(problem, "xdot", _slope_equations(problem), x, arguments, _pattern(problem, p))


def _slope_equations(problem: Problem) -> Any:
    def equations(xdot: jax.Array, t: jax.Array, x: jax.Array, p: Any) -> jax.Array:
        value, rate = value_and_rate(problem, t, x, xdot, p)
        return jnp.where(fd_rows(problem), value, rate)

    return equations


def consistent_start(
    problem: Problem, t: float, x: Any, p: Any = None, *, fixed: Any = None, xdot_guess: Any = None
) -> Start:
    """The x nearest to the given one with fc(t, x) = 0, its `fixed` elements unchanged, and xdot to it."""
    x = np.asarray(x, float)
    free = np.ones(problem.size, bool) if fixed is None else ~np.asarray(fixed, bool)

    def equations(x: jax.Array, t: jax.Array, p: Any) -> jax.Array:
        return jnp.where(fd_rows(problem), 0.0, problem.residual(t, x, jnp.zeros_like(x), p))

    p = jax.tree.map(np.asarray, p)
    found = find_root(
        problem, "constraints", equations, x, (np.asarray(t, float), p), free=free, nearest=True
    )
    if found.status.failed:
        return _start(x, found, of_x=True)
    return consistent_xdot(problem, t, found.x, p, xdot_guess)


def impulse_start(problem: Problem, t: float, x_left: Any, p: Any = None, xdot_guess: Any = None) -> Start:
    """x after the impulses that an inconsistent left limit causes, and xdot to it."""
    x_left = np.asarray(x_left, float)
    slope = np.zeros_like(x_left) if xdot_guess is None else np.asarray(xdot_guess, float)

    def equations(x: jax.Array, t: jax.Array, x_left: jax.Array, slope: jax.Array, p: Any) -> jax.Array:
        value, impulse = jax.jvp(lambda xdot: problem.residual(t, x, xdot, p), (slope,), (x - x_left,))
        return jnp.where(fd_rows(problem), impulse, value)

    p = jax.tree.map(np.asarray, p)
    arguments = np.asarray(t, float), x_left, slope, p
    found = find_root(problem, "impulse", equations, x_left, arguments, pattern=_pattern(problem, p))
    if found.status.failed:
        return _start(x_left, found, of_x=True)
    return consistent_xdot(problem, t, found.x, p, xdot_guess)


def _pattern(problem: Problem, p: Any) -> tuple[np.ndarray, np.ndarray]:
    """Entries of the iteration matrix: those of the systems here are among them."""
    found = pattern_of(problem, p)
    return found.rows, found.columns


def _start(x: np.ndarray, found: Any, of_x: bool) -> Start:
    unknown = np.full(len(x), np.nan)
    return Start(
        x=np.asarray(found.x if of_x else x),
        xdot=unknown if of_x else np.asarray(found.x),
        status=found.status,
        message=found.message,
        unsatisfied=found.unsatisfied,
    )

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
    """Start values, and how their computation ended.

    Attributes
    ----------
    x, xdot : array
        The values; NaN for xdot if x was not found.
    status : Status
        SUCCESS, or why not.
    message : str
        The same as a sentence.
    unsatisfied : tuple of int
        Rows that were not satisfied, if it failed.
    """

    x: np.ndarray
    xdot: np.ndarray
    status: Status
    message: str
    unsatisfied: tuple[int, ...] = ()

    @property
    def success(self) -> bool:
        """Whether values were found."""
        return not self.status.failed


def consistent_xdot(problem: Problem, t: float, x: Any, p: Any = None, guess: Any = None) -> Start:
    """Compute xdot for given x, on the constraints: from fd = 0 and the derivative of fc = 0.

    Parameters
    ----------
    problem : Problem
        The residual, and which of its rows contain derivatives.
    t : float
        The time.
    x : array
        x, which has to satisfy the constraints.
    p : pytree of arrays, optional
        Parameters.
    guess : array, optional
        Where to look for xdot; zero if it is not given.

    Returns
    -------
    Start
        x as given, xdot, and how it went: a failure is a status, no exception.

    Examples
    --------
    >>> from modia_py.solvers import Problem, consistent_xdot
    >>> decay = Problem(lambda t, x, xdot, p: xdot + p * x, size=1, differential_rows=1)
    >>> float(consistent_xdot(decay, 0.0, [3.0], 2.0).xdot[0])
    -6.0
    """
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
        return jnp.where(fd_rows(problem, p), value, rate)

    return equations


def consistent_start(
    problem: Problem, t: float, x: Any, p: Any = None, *, fixed: Any = None, xdot_guess: Any = None
) -> Start:
    """Find the x nearest to the given one that satisfies the constraints, and xdot to it.

    Parameters
    ----------
    problem : Problem
        The residual, and which of its rows contain derivatives.
    t : float
        The time.
    x : array
        Where to look.
    p : pytree of arrays, optional
        Parameters.
    fixed : sequence of bool, optional
        Flags of elements of x that keep their values; None: all may move.
    xdot_guess : array, optional
        Where to look for xdot; zero if it is not given.

    Returns
    -------
    Start
        x, xdot, and how it went: a failure is a status, no exception.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from modia_py.solvers import Problem, consistent_start
    >>> def on_parabola(t, x, xdot, p):
    ...     return jnp.stack([xdot[0] - 1.0, x[1] - x[0] ** 2])
    >>> problem = Problem(on_parabola, size=2, differential_rows=1)
    >>> consistent_start(problem, 0.0, [2.0, 0.0], fixed=[True, False]).x.round(6)
    array([2., 4.])
    """
    x = np.asarray(x, float)
    free = np.ones(problem.size, bool) if fixed is None else ~np.asarray(fixed, bool)

    def equations(x: jax.Array, t: jax.Array, p: Any) -> jax.Array:
        return jnp.where(fd_rows(problem, p), 0.0, problem.residual(t, x, jnp.zeros_like(x), p))

    p = jax.tree.map(np.asarray, p)
    found = find_root(
        problem, "constraints", equations, x, (np.asarray(t, float), p), free=free, nearest=True
    )
    if found.status.failed:
        return _start(x, found, of_x=True)
    return consistent_xdot(problem, t, found.x, p, xdot_guess)


def impulse_start(problem: Problem, t: float, x_left: Any, p: Any = None, xdot_guess: Any = None) -> Start:
    """Find x after the impulses that an inconsistent left limit causes, and xdot to it.

    Parameters
    ----------
    problem : Problem
        The residual, and which of its rows contain derivatives.
    t : float
        The time.
    x_left : array
        x just before.
    p : pytree of arrays, optional
        Parameters.
    xdot_guess : array, optional
        Where to look for xdot, and where its coefficients are taken; zero if it is not given.

    Returns
    -------
    Start
        x, xdot, and how it went: a failure is a status, no exception.

    Examples
    --------
    Two capacitors with 1 V and 0 V are put in parallel: charge is conserved, 0.5 V remain.

    >>> import jax.numpy as jnp
    >>> from modia_py.solvers import Problem, impulse_start
    >>> def parallel(t, x, xdot, p):
    ...     return jnp.stack([xdot[0] + xdot[1], x[0] - x[1]])
    >>> problem = Problem(parallel, size=2, differential_rows=1)
    >>> impulse_start(problem, 0.0, [1.0, 0.0]).x.round(6)
    array([0.5, 0.5])
    """
    x_left = np.asarray(x_left, float)
    slope = np.zeros_like(x_left) if xdot_guess is None else np.asarray(xdot_guess, float)

    def equations(x: jax.Array, t: jax.Array, x_left: jax.Array, slope: jax.Array, p: Any) -> jax.Array:
        value, impulse = jax.jvp(lambda xdot: problem.residual(t, x, xdot, p), (slope,), (x - x_left,))
        return jnp.where(fd_rows(problem, p), impulse, value)

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

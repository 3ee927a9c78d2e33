"""The derivative of a consistent start, by the implicit function theorem.

The equations of the start, E(z, p, init) = 0 with z = [x, xdot], may leave some states free: these stay as
near to their guesses as they can. So the tangent dz is the one with

    minimal |W (dz - dguess)|   subject to   E_z dz = -E_p dp - E_init dinit,

where W counts states only; what else there is follows from them. One symmetric sparse matrix serves forward
and backward. Equations that say the same twice are welcome: the matrix is regularized a little, and the
solve corrected until nothing of that is left.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import splu

from ..program.program import Arguments, Program
from ..solvers.compile_options import quick_jit
from ..solvers.roots.nonlinear import SparseSystem
from ..solvers.sensitivity.leaves import Leaves
from ..solvers.sensitivity.lifted import Jets
from ..start.problem import StartProblem, start_equations
from .linear_maps import NoDerivative

SOFT, HARD = 1e-8, 1e-12
"""Regularization: of unknowns that cost nothing to move, and of equations."""
CORRECTIONS, SETTLED, WRONG = 12, 1e-13, 1e-8
"""Corrections of a solve; where they end; and what may be left."""
MOVED = 1e-6
"""By how much a state is off its guess, compared with its size, or takes part in a direction."""
NAMED = 4
SATISFIED = 1e-5
"""By how much equations of the start may be violated, where derivatives are taken."""


class StartMaps:
    """The equations of the start of a program, with the same `init` values given: compiled once."""

    def __init__(self, problem: StartProblem, program: Program, leaves: Leaves, arguments: Arguments):
        rows = start_equations(program, problem.init)
        data = jnp.asarray(problem.t, float), arguments, jnp.asarray(problem.init.value)
        self.system = SparseSystem(rows, problem.z_guess, data, problem.pattern(problem.init))

        def equations(known: Any, z: Any, moving: Any, given: Any) -> Any:
            t, others = known
            return rows(z, t, leaves.join(moving, others), given)

        self.jets = Jets(equations, partial(quick_jit, size=problem.n))
        self.residual = quick_jit(equations, problem.n)


class StartDerivative:
    """Of one start: `push` of tangents, `pull` of gradients, the first axis counts them; and their
    derivatives in a direction, `push2` and `pull2`."""

    def __init__(
        self, maps: StartMaps, problem: StartProblem, leaves: Leaves, arguments: Arguments, z: np.ndarray
    ):
        self.jets, self.problem, self.n = maps.jets, problem, problem.n
        t, value = jnp.asarray(problem.t, float), jnp.asarray(problem.init.value)
        moving = tuple(jnp.asarray(leaf, float) for leaf in leaves.moving)
        self.known, self.at = (t, leaves.others), (jnp.asarray(z), moving, value)
        jacobian = sparse.csr_array(maps.system.with_arguments((t, arguments, value)).jacobian(z))
        m, k = jacobian.shape
        largest = abs(jacobian).max(axis=1).toarray().ravel() if jacobian.nnz else np.zeros(m)
        self.scale = 1.0 / np.where(largest > 0, largest, 1.0)
        left = np.abs(np.asarray(maps.residual(self.known, *self.at))) * self.scale
        if not np.all(left <= SATISFIED * (1.0 + np.abs(z).max(initial=0.0))):
            raise NoDerivative(
                "The start does not keep its `init` values, because of an impulse (start='impulse', or a "
                "condition that couples them): it has no derivatives. Give values that fit each other."
            )
        scaled = sparse.csr_array(sparse.diags_array(self.scale) @ jacobian)
        self.cost, self.k = problem.cost, k
        self.exact = sparse.block_array(
            [[sparse.diags_array(self.cost), scaled.T], [scaled, None]], format="csc"
        )
        softness = np.concatenate([np.full(k, SOFT), np.full(m, -HARD)])
        self.factors = splu(sparse.csc_array(self.exact + sparse.diags_array(softness)))
        self.guess_places = _places_of_guess(problem)
        self.drawn = self._drawn(z)

    def _drawn(self, z: np.ndarray) -> np.ndarray:
        """Flags of states that nothing determines but guesses, from which equations have moved them. Where
        they are then is where Newton's iteration has ended, step by step from there, and no formula at that
        point says how that moves."""
        off = off_guess(self.problem, z)
        if not off.any():
            return off
        probe = 1.0 + 0.5 * np.cos(np.arange(self.k))
        along = self._solve((self.cost * probe)[None], np.zeros((1, len(self.scale))))[0, : self.k]
        return off & (np.abs(along) > MOVED)

    def _check_drawn(self, dz: np.ndarray) -> None:
        """Complain about tangents of states whose derivative is not known; the first axis counts."""
        largest = np.abs(dz).max(axis=0, initial=0.0)
        wrong = self.drawn & (largest > MOVED * largest.max(initial=0.0))
        if wrong.any():
            of_guess, places, _ = self.guess_places
            labels = [self.problem.guess.label(k) for k in of_guess[wrong[places]][:NAMED].tolist()]
            raise NoDerivative(
                f"Nothing determines the start of {', '.join(labels)} but guesses, and equations have "
                f"moved them off these: the start has no derivative by what moves them. Give `init` "
                f"values, or guesses that fit the equations."
            )

    # Forward ---------------------------------------------------------------------------------------------

    def push(self, dp: Any, dgiven: Any, dguess: Any) -> tuple[Any, Any]:
        """Tangents of x and xdot."""
        return self._x_of(self._pushed(dp, dgiven, dguess))

    def push2(self, first: Any, second: Any, trace: Any) -> tuple[Any, Any]:
        """The same, and their tangents; `trace.data` says how z, p and `init` values move."""
        found = self._pushed(*first)
        dp, dgiven, _ = first
        own = jnp.asarray(found[:, : self.k]), dp, jnp.asarray(dgiven)
        more = jnp.zeros_like(own[0]), second[0], jnp.asarray(second[1])
        _, rows = self.jets.forward(self.known, (self.at, own), (trace.data, more))
        upper = self._near(second[2]) * self.cost - self._bent(found, trace)
        other = self._solve(upper, -np.asarray(rows) * self.scale)
        return self._x_of(found), self._x_of(other)

    def _pushed(self, dp: Any, dgiven: Any, dguess: Any) -> np.ndarray:
        still = jnp.zeros((len(dgiven), self.k))
        rows, _ = self.jets.forward(self.known, (self.at, (still, dp, jnp.asarray(dgiven))))
        found = self._solve(self._near(dguess) * self.cost, -np.asarray(rows) * self.scale)
        self._check_drawn(found[:, : self.k])
        return found

    def _near(self, dguess: Any) -> np.ndarray:
        """Tangents of where unknowns want to stay."""
        near = np.zeros((len(dguess), self.k))
        of_guess, places, signs = self.guess_places
        near[:, places] = signs * np.asarray(dguess)[:, of_guess]
        return near

    # Backward --------------------------------------------------------------------------------------------

    def pull(self, of_x: Any, of_xdot: Any) -> tuple[Any, Any, Any]:
        """Gradients by p, `init` values and guesses."""
        found = self._pulled(of_x, of_xdot)
        (_, of_p, of_given), _ = self.jets.backward(self.known, (self.at, self._multipliers(found)))
        return of_p, of_given, self._of_guess(found)

    def pull2(self, first: Any, second: Any, trace: Any) -> Any:
        """The same, and their tangents."""
        found = self._pulled(*first)
        own = jnp.asarray(found[:, : self.k])
        still = jax.tree.map(lambda part: jnp.zeros((len(own), *part.shape)), self.at[1:])
        tangents = trace.data, (jnp.zeros_like(own), *still)
        _, rows = self.jets.forward(self.known, (self.at, (own, *still)), tangents)
        upper = self._wide(*second) - self._bent(found, trace)
        other = self._solve(upper, -np.asarray(rows) * self.scale)
        tangents = trace.data, self._multipliers(other)
        of, more = self.jets.backward(self.known, (self.at, self._multipliers(found)), tangents)
        return (*of[1:], self._of_guess(found)), (*more[1:], self._of_guess(other))

    def _pulled(self, of_x: Any, of_xdot: Any) -> np.ndarray:
        return self._solve(self._wide(of_x, of_xdot), np.zeros((len(of_x), len(self.scale))))

    def _multipliers(self, found: np.ndarray) -> Any:
        return jnp.asarray(-found[:, self.k :] * self.scale)

    def _of_guess(self, found: np.ndarray) -> Any:
        of_guess, places, signs = self.guess_places
        near = np.zeros((len(found), len(self.problem.guess)))
        near[:, of_guess] = signs * (self.cost * found[:, : self.k])[:, places]
        return jnp.asarray(near)

    # Both ------------------------------------------------------------------------------------------------

    def _bent(self, found: np.ndarray, trace: Any) -> np.ndarray:
        """The derivative of the matrix in the direction of a trace, transposed, times multipliers."""
        multipliers = -self._multipliers(found)
        tangents = trace.data, jnp.zeros_like(multipliers)
        _, (of_z, _, _) = self.jets.backward(self.known, (self.at, multipliers), tangents)
        return np.asarray(of_z)

    def _x_of(self, found: np.ndarray) -> tuple[Any, Any]:
        return jnp.asarray(found[:, : self.n]), jnp.asarray(found[:, self.n : self.k])

    def _wide(self, of_x: Any, of_xdot: Any) -> np.ndarray:
        return np.concatenate([np.asarray(of_x), np.asarray(of_xdot)], axis=1)

    def _solve(self, upper: np.ndarray, lower: np.ndarray) -> np.ndarray:
        """Unknowns and multipliers for right-hand sides, of which the first axis counts."""
        right = np.concatenate([upper, lower], axis=1).T
        size = np.abs(right).max(axis=0, initial=0.0)
        found = self.factors.solve(right)
        for _ in range(CORRECTIONS):
            left = right - self.exact @ found
            if np.all(np.abs(left).max(axis=0, initial=0.0) <= SETTLED * size):
                break
            found = found + self.factors.solve(left)
        if not np.all(np.abs(right - self.exact @ found).max(axis=0, initial=0.0) <= WRONG * size):
            raise NoDerivative(
                "The start has no derivative by the parameters: its equations are singular there, or "
                "contradict each other for other values."
            )
        return found.T


def off_guess(problem: StartProblem, z: np.ndarray) -> np.ndarray:
    """Flags of states that the start has moved off where they were looked for."""
    return (np.abs(z - problem.z_guess) > MOVED * (1.0 + np.abs(z))) & (problem.cost > 0)


def _places_of_guess(problem: StartProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which guesses are elements of x, where, and with which sign."""
    places = problem.program.layout.x_of_place[problem.guess.place]
    chosen = np.flatnonzero((places >= 0) & np.append(problem.states, False)[places])
    return chosen, places[chosen], problem.guess.sign[chosen].astype(float)

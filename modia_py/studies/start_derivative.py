"""The derivative of a consistent start, by the implicit function theorem.

The equations of the start, E(z, p, init) = 0 with z = [x, xdot], may leave some states free: these stay as
near to their guesses as they can. So the tangent dz is the one with

    minimal |W (dz - dguess)|   subject to   E_z dz = -E_p dp - E_init dinit,

where W counts states only; what else there is follows from them. One symmetric sparse matrix serves forward
and backward. Equations that say the same twice are welcome: the matrix is regularized a little, and the
solve corrected until nothing of that is left.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import splu

from ..errors import SimulationError
from ..program.program import Arguments, Program
from ..solvers.compile_options import quick_jit
from ..solvers.roots.nonlinear import SparseSystem
from ..solvers.sensitivity.leaves import Leaves
from ..start.problem import StartProblem, start_equations

SOFT, HARD = 1e-8, 1e-12
"""Regularization: of unknowns that cost nothing to move, and of equations."""
CORRECTIONS, SETTLED, WRONG = 12, 1e-13, 1e-8
"""Corrections of a solve; where they end; and what may be left."""


class StartMaps:
    """The equations of the start of a program, with the same `init` values given: compiled once."""

    def __init__(self, problem: StartProblem, program: Program, leaves: Leaves, arguments: Arguments):
        rows = start_equations(program, problem.init)
        data = jnp.asarray(problem.t, float), arguments, jnp.asarray(problem.init.value)
        self.system = SparseSystem(rows, problem.z_guess, data, problem.pattern(problem.init))

        def equations(t: Any, z: Any, others: Any, moving: Any, given: Any) -> Any:
            return rows(z, t, leaves.join(moving, others), given)

        def push(t: Any, z: Any, others: Any, moving: Any, given: Any, dp: Any, dgiven: Any) -> Any:
            def own(moving: Any, given: Any) -> Any:
                return equations(t, z, others, moving, given)

            return jax.vmap(lambda *tangents: jax.jvp(own, (moving, given), tangents)[1])(dp, dgiven)

        def pull(t: Any, z: Any, others: Any, moving: Any, given: Any, gradient: Any) -> Any:
            def own(moving: Any, given: Any) -> Any:
                return equations(t, z, others, moving, given)

            return jax.vjp(own, moving, given)[1](gradient)

        self.push, self.pull = quick_jit(push, problem.n), quick_jit(pull, problem.n)


class StartDerivative:
    """Of one start: `push` of tangents, `pull` of gradients."""

    def __init__(
        self, maps: StartMaps, problem: StartProblem, leaves: Leaves, arguments: Arguments, z: np.ndarray
    ):
        self.maps, self.problem, self.n = maps, problem, problem.n
        t, value = jnp.asarray(problem.t, float), jnp.asarray(problem.init.value)
        moving = tuple(jnp.asarray(leaf, float) for leaf in leaves.moving)
        self.data = t, jnp.asarray(z), leaves.others, moving, value
        jacobian = sparse.csr_array(maps.system.with_arguments((t, arguments, value)).jacobian(z))
        m, k = jacobian.shape
        largest = abs(jacobian).max(axis=1).toarray().ravel() if jacobian.nnz else np.zeros(m)
        self.scale = 1.0 / np.where(largest > 0, largest, 1.0)
        scaled = sparse.csr_array(sparse.diags_array(self.scale) @ jacobian)
        self.cost, self.k = problem.cost, k
        self.exact = sparse.block_array(
            [[sparse.diags_array(self.cost), scaled.T], [scaled, None]], format="csc"
        )
        softness = np.concatenate([np.full(k, SOFT), np.full(m, -HARD)])
        self.factors = splu(sparse.csc_array(self.exact + sparse.diags_array(softness)))
        self.guess_places = _places_of_guess(problem)

    def push(self, dp: Any, dgiven: Any, dguess: Any) -> tuple[np.ndarray, np.ndarray]:
        """Tangents of x and xdot; the first axis counts directions."""
        right = -np.asarray(self.maps.push(*self.data, dp, dgiven)) * self.scale
        near = np.zeros((len(right), self.k))
        of_guess, places, signs = self.guess_places
        near[:, places] = signs * np.asarray(dguess)[:, of_guess]
        found = self._solve(np.concatenate([near * self.cost, right], axis=1).T).T
        return found[:, : self.n], found[:, self.n : self.k]

    def pull(self, gradient_x: Any, gradient_xdot: Any) -> tuple[Any, Any, Any]:
        """Gradients by p, `init` values and guesses."""
        right = np.zeros(self.exact.shape[0])
        right[: self.n], right[self.n : self.k] = gradient_x, gradient_xdot
        found = self._solve(right)
        of_p, of_given = self.maps.pull(*self.data, jnp.asarray(-found[self.k :] * self.scale))
        of_guess, places, signs = self.guess_places
        near = np.zeros(len(self.problem.guess))
        near[of_guess] = signs * (self.cost * found[: self.k])[places]
        return of_p, of_given, near

    def _solve(self, right: np.ndarray) -> np.ndarray:
        found = self.factors.solve(right)
        size = np.abs(right).max(initial=0.0)
        for _ in range(CORRECTIONS):
            left = right - self.exact @ found
            if np.abs(left).max(initial=0.0) <= SETTLED * size:
                break
            found = found + self.factors.solve(left)
        if not np.abs(right - self.exact @ found).max(initial=0.0) <= WRONG * size:
            raise SimulationError(
                "The start has no derivative by the parameters: its equations are singular there, or "
                "contradict each other for other values."
            )
        return found


def _places_of_guess(problem: StartProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which guesses are elements of x, where, and with which sign."""
    places = problem.program.layout.x_of_place[problem.guess.place]
    chosen = np.flatnonzero((places >= 0) & np.append(problem.states, False)[places])
    return chosen, places[chosen], problem.guess.sign[chosen].astype(float)

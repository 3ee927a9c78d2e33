"""The linear model around a point of a simulation.

    der(s) = A s + B u,    y = C s + D u

s are independent elements of x. With G(z, u) = [fd; fc; d/dt fc] and z = [x, xdot] the other unknowns
follow from them by the regular matrix of the index-1 form, so derivatives come from one linear system.
Which states are independent is decided by elimination with pivots on the constraints.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import qr

from ..errors import ModelError, SimulationError
from ..expressions.printing import index_text
from ..program.program import Arguments, Program
from ..program.row_names import x_name

MOST_UNKNOWNS = 5000


@dataclass(frozen=True, eq=False)
class Linearization:
    """A linear model, `der(s) = A s + B u, y = C s + D u`; it can be unpacked into A, B, C, D.

    Attributes
    ----------
    A, B, C, D : array
        The matrices.
    states, inputs, outputs : tuple of str
        Names of the elements of s, u and y.
    time : float
        The time of the simulation at which it holds.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    time: float

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((self.A, self.B, self.C, self.D))

    def eigenvalues(self) -> np.ndarray:
        """Compute the eigenvalues of A.

        Returns
        -------
        array
            Complex or real, the largest real part, which is the slowest decay, first.
        """
        values = np.linalg.eigvals(self.A)
        return values[np.argsort(-values.real, kind="stable")]

    def __str__(self) -> str:
        values = ", ".join(f"{value:.4g}" for value in self.eigenvalues()[:8])
        return (
            f"linear model at time {self.time:g}: {len(self.states)} states ({_some(self.states)}), "
            f"{len(self.inputs)} inputs ({_some(self.inputs)}), {len(self.outputs)} outputs "
            f"({_some(self.outputs)})\neigenvalues {values}"
        )


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:6]) + (" ..." if len(names) > 6 else "") if names else "none"


def linear_model(
    program: Program,
    t: float,
    x: np.ndarray,
    xdot: np.ndarray,
    arguments: Arguments,
    inputs: dict[str, np.ndarray],
    outputs: dict[str, tuple[np.ndarray, np.ndarray]],
) -> Linearization:
    """Derivatives at a consistent point.

    `inputs` are elements of the inputs by name, `outputs` places and signs in w, in their shapes.
    """
    n, differential = program.functions.size, program.functions.differential_rows
    if n > MOST_UNKNOWNS:
        raise ModelError(
            f"The model has {n} unknowns in x: linearize makes dense matrices up to {MOST_UNKNOWNS}."
        )
    u0 = program.inputs(t, arguments)
    functions, p = program.functions, arguments.p

    def equations(z: jax.Array, u: jax.Array) -> jax.Array:
        own, slope = z[:n], z[n:]

        def residual(t: jax.Array, own: jax.Array, u: jax.Array) -> jax.Array:
            return functions.residual(t, own, slope, p, u)

        u_rate = jnp.concatenate([u[functions.input_size :], jnp.zeros(functions.input_size)])
        value, rate = jax.jvp(residual, (jnp.asarray(t), own, u), (jnp.ones(()), slope, u_rate))
        return jnp.concatenate([value, rate[differential:]])

    def values(z: jax.Array, u: jax.Array) -> jax.Array:
        return functions.values(t, z[:n], z[n:], p, u)

    z = jnp.asarray(np.concatenate([x, xdot]))
    by_z, by_u = (np.asarray(part) for part in jax.jacfwd(equations, (0, 1))(z, u0))
    w_z, w_u = (np.asarray(part) for part in jax.jacfwd(values, (0, 1))(z, u0))
    independent = _independent_states(program, by_z[differential:n, :n])
    dependent = np.setdiff1d(np.arange(2 * n), independent)
    dependent = dependent[~np.append(program.layout.integrals, np.zeros(n, bool))[dependent]]
    matrix = by_z[:, dependent]
    if matrix.shape[0] != matrix.shape[1] or np.linalg.matrix_rank(matrix) < len(matrix):
        raise SimulationError(
            f"The model cannot be linearized at time {t:g}: its matrix is singular there."
        )
    s_of_z = np.zeros((2 * n, len(independent)))
    s_of_z[independent, np.arange(len(independent))] = 1.0
    s_of_z[dependent] = -np.linalg.solve(matrix, by_z[:, independent])
    u_of_z = np.zeros((2 * n, by_u.shape[1]))
    u_of_z[dependent] = -np.linalg.solve(matrix, by_u)
    columns = np.concatenate([np.zeros(0, int), *(part.ravel() for part in inputs.values())])
    places = np.concatenate([np.zeros(0, int), *(place.ravel() for place, _ in outputs.values())])
    signs = np.concatenate([np.zeros(0), *(sign.ravel() for _, sign in outputs.values())])[:, None]
    rates = n + independent
    of_u = signs * (w_z @ u_of_z + w_u)[places]
    higher = np.setdiff1d(np.arange(by_u.shape[1]), np.arange(functions.input_size))
    _refuse_derivatives(u_of_z[rates][:, higher], of_u[:, higher])
    return Linearization(
        s_of_z[rates],
        u_of_z[rates][:, columns],
        signs * (w_z @ s_of_z)[places],
        of_u[:, columns],
        tuple(x_name(program, int(k)) for k in independent),
        tuple(_names({name: part.shape for name, part in inputs.items()})),
        tuple(_names({name: part[0].shape for name, part in outputs.items()})),
        float(t),
    )


def _refuse_derivatives(*parts: np.ndarray) -> None:
    if any(np.abs(part).max(initial=0.0) > 1e-9 for part in parts):
        raise ModelError(
            "The model depends on derivatives of its inputs, so it has no linear model of the form "
            "der(s) = A s + B u, y = C s + D u. Let the input drive an integrator, or choose other outputs."
        )


def _independent_states(program: Program, constraints: np.ndarray) -> np.ndarray:
    """As many elements of x as there are degrees of freedom; the constraints are solved for the others."""
    candidates = np.flatnonzero(~program.layout.integrals)
    if not len(constraints):
        return candidates
    _, factor, order = qr(constraints[:, candidates], mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(factor))
    rank = int((diagonal > 1e-10 * diagonal.max(initial=0.0)).sum())
    if rank < len(constraints):
        raise SimulationError(
            "The model cannot be linearized here: its constraints are dependent at this point."
        )
    return np.sort(candidates[order[rank:]])


def _names(shapes: Mapping[str, tuple[int, ...]]) -> list[str]:
    return [
        f"{name}[{index_text(k, shape)}]" if shape else name
        for name, shape in shapes.items()
        for k in range(math.prod(shape))
    ]

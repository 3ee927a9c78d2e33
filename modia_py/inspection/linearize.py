"""The linear model around a point of a simulation.

    der(s) = A s + B u,    y = C s + D u

s are independent elements of x. With G(z, u) = [fd; fc; d/dt fc] and z = [x, xdot] the other unknowns
follow from them by the regular matrix of the index-1 form, so derivatives come from one linear system.
Which states are independent is decided by elimination with pivots on the constraints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import qr

from ..errors import ModelError, SimulationError
from ..expressions.printing import index_text
from ..program.program import Arguments, Program
from ..program.row_names import x_name

MOST_UNKNOWNS = 5000
HIGHER = 1e-9
"""Dependency on derivatives of inputs that is taken for rounding."""
Matrices = tuple[Any, Any, Any, Any]


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


def check_size(program: Program, most: int = MOST_UNKNOWNS) -> None:
    """Complain about a model for which dense matrices are too large."""
    n = program.functions.size
    if n > most:
        raise ModelError(f"The model has {n} unknowns in x: linearize makes dense matrices up to {most}.")


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
    check_size(program)
    p, u = arguments.p, program.inputs(t, arguments)
    z = np.concatenate([x, xdot])
    form = make_linear_form(program, t, z, p, u, inputs, outputs)
    (A, B, C, D), higher = (
        jax.tree.map(np.asarray, part) for part in form.matrices(program, t, jnp.asarray(z), p, u)
    )
    refuse_derivatives(higher)
    return Linearization(A, B, C, D, form.states, form.inputs, form.outputs, float(t))


@dataclass(frozen=True, eq=False)
class LinearForm:
    """Which elements of z = [x, xdot] are the states of a linear model, and which follow from them; the
    columns and rows of its matrices."""

    independent: np.ndarray
    dependent: np.ndarray
    columns: np.ndarray
    """Elements of the inputs."""
    places: np.ndarray
    signs: np.ndarray
    """Of the outputs in w."""
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def matrices(self, program: Program, t: Any, z: Any, p: Any, u: Any) -> tuple[Matrices, Any]:
        """A, B, C, D as functions of a consistent point, for JAX; and the largest dependency on derivatives
        of inputs, which these matrices say nothing of."""
        by_z, by_u = jax.jacfwd(equations_of(program, t, p), (0, 1))(z, u)
        n = len(z) // 2

        def values(z: Any, u: Any) -> Any:
            return program.functions.values(t, z[:n], z[n:], p, u)

        w_z, w_u = jax.jacfwd(values, (0, 1))(z, u)
        matrix = by_z[:, self.dependent]
        right = jnp.concatenate([by_z[:, self.independent], by_u], axis=1)
        found = -jnp.linalg.solve(matrix, right)
        count = len(self.independent)
        s_of_z = jnp.zeros((len(z), count)).at[self.independent, np.arange(count)].set(1.0)
        s_of_z = s_of_z.at[self.dependent].set(found[:, :count])
        u_of_z = jnp.zeros((len(z), by_u.shape[1])).at[self.dependent].set(found[:, count:])
        signs, rates = self.signs[:, None], n + self.independent
        of_s = signs * (w_z[self.places] @ s_of_z)
        of_u = signs * (w_z[self.places] @ u_of_z + w_u[self.places])
        higher = np.arange(program.functions.input_size, by_u.shape[1])
        largest = jnp.max(
            jnp.abs(jnp.concatenate([u_of_z[rates][:, higher], of_u[:, higher]])), initial=0.0
        )
        return (s_of_z[rates], u_of_z[rates][:, self.columns], of_s, of_u[:, self.columns]), largest


def equations_of(program: Program, t: Any, p: Any) -> Callable[[Any, Any], Any]:
    """G(z, u)."""
    functions = program.functions
    n, differential = functions.size, functions.differential_rows

    def equations(z: Any, u: Any) -> Any:
        own, slope = z[:n], z[n:]

        def residual(t: Any, own: Any, u: Any) -> Any:
            return functions.residual(t, own, slope, p, u)

        u_rate = jnp.concatenate([u[functions.input_size :], jnp.zeros(functions.input_size)])
        value, rate = jax.jvp(residual, (jnp.asarray(t, float), own, u), (jnp.ones(()), slope, u_rate))
        return jnp.concatenate([value, rate[differential:]])

    return equations


def make_linear_form(
    program: Program,
    t: float,
    z: np.ndarray,
    p: Any,
    u: Any,
    inputs: dict[str, np.ndarray],
    outputs: dict[str, tuple[np.ndarray, np.ndarray]],
) -> LinearForm:
    """Choose the states at a consistent point."""
    n, differential = program.functions.size, program.functions.differential_rows
    by_z = np.asarray(jax.jacfwd(equations_of(program, t, p))(jnp.asarray(z), u))
    independent = _independent_states(program, by_z[differential:n, :n])
    dependent = np.setdiff1d(np.arange(2 * n), independent)
    dependent = dependent[~np.append(program.layout.integrals, np.zeros(n, bool))[dependent]]
    matrix = by_z[:, dependent]
    if matrix.shape[0] != matrix.shape[1] or np.linalg.matrix_rank(matrix) < len(matrix):
        raise SimulationError(
            f"The model cannot be linearized at time {t:g}: its matrix is singular there."
        )
    return LinearForm(
        independent,
        dependent,
        np.concatenate([np.zeros(0, int), *(part.ravel() for part in inputs.values())]),
        np.concatenate([np.zeros(0, int), *(place.ravel() for place, _ in outputs.values())]),
        np.concatenate([np.zeros(0), *(sign.ravel() for _, sign in outputs.values())]),
        tuple(x_name(program, int(k)) for k in independent),
        tuple(_names({name: part.shape for name, part in inputs.items()})),
        tuple(_names({name: part[0].shape for name, part in outputs.items()})),
    )


def refuse_derivatives(higher: Any) -> None:
    """Complain about a model that depends on derivatives of its inputs."""
    if higher > HIGHER:
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

"""The equations of a steady state: those of the index-1 form with all derivatives zero.

    [fd; fc](t, x, xdot) = 0        xdot = 0 but for unknowns of which x holds the integral

So there is one unknown for each row: an element of x, or of xdot where x itself has no meaning (constraint
forces, multipliers). Inputs are held, and so is the time that equations see. Variables that are fixed are
rows more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import ModelError
from ..program.program import Arguments, Program
from ..program.row_names import row_name, x_name
from ..solvers.matrix.jacobian import pattern_of
from ..solvers.matrix.null_space import null_space
from ..solvers.roots.nearest import NearestRoot, NearestSystem
from ..solvers.roots.nonlinear import SparseSystem

STILL = 1e-6
"""A derivative above this, compared with its variable (1 at least), is not zero."""


@dataclass(frozen=True, eq=False)
class SteadySystem:
    """g(z) = 0 for a program; `places` and `signs` of what is fixed, in w."""

    program: Program
    places: np.ndarray
    signs: np.ndarray

    def split(self, z: Any) -> tuple[Any, Any]:
        """z -> x, xdot."""
        integrals = self.program.layout.integrals
        return jnp.where(integrals, 0.0, z), jnp.where(integrals, z, 0.0)

    def joined(self, x: np.ndarray, xdot: np.ndarray) -> np.ndarray:
        """x, xdot -> z."""
        return np.where(self.program.layout.integrals, xdot, x)

    def equations(self, z: Any, t: Any, arguments: Arguments, fixed: Any) -> Any:
        """What has to be zero: a function for JAX."""
        x, xdot = self.split(z)
        rows = self.program.problem.residual(t, x, xdot, arguments)
        if not len(self.places):
            return rows
        w = self.program.values(t, x, xdot, arguments)
        return jnp.concatenate([rows, self.signs * w[self.places] - fixed])

    def nearest(self, z: np.ndarray, t: float, arguments: Arguments, fixed: np.ndarray) -> NearestSystem:
        """The system at these arguments, compiled once for a program and a choice of what is fixed."""
        starts = self.program.cache.starts
        key = b"steady" + self.places.tobytes(), self.signs.tobytes()
        data = jnp.asarray(t, float), arguments, jnp.asarray(fixed)
        if key not in starts:
            pattern = None
            if not len(self.places):
                entries = pattern_of(self.program.problem, jax.tree.map(np.asarray, arguments))
                pattern = entries.rows, entries.columns
            starts[key] = NearestSystem(SparseSystem(self.equations, z, data, pattern))
        return starts[key].with_arguments(data)

    def solve(self, z: np.ndarray, t: float, arguments: Arguments, fixed: np.ndarray) -> NearestRoot:
        """The root nearest to z."""
        system = self.nearest(z, t, arguments, fixed)
        n = len(z)
        known = np.append(np.zeros(n), np.maximum(np.abs(fixed), 1e-3))
        return system.solve(z, cost=np.ones(n), fixed=np.zeros(n, bool), known=known)

    def free(self, root: NearestRoot) -> tuple[list[str], list[str]]:
        """Names of unknowns that the equations do not determine at a root, and equations that depend on
        each other there."""
        matrix = root.problem.system.jacobian(root.z)
        program = self.program
        if len(self.places):
            _, s, vt = np.linalg.svd(np.asarray(matrix.toarray()) * (1.0 + np.abs(root.z)))
            lost = np.abs(vt[s < 1e-11 * s.max(initial=1.0)]).max(axis=0, initial=0.0) > 1e-5
            return [x_name(program, int(k)) for k in np.flatnonzero(lost)], []
        rows, columns = null_space(matrix).involved()
        return (
            [x_name(program, int(k)) for k in columns],
            [row_name(program, int(k)) for k in rows],
        )

    def moving(self, w: np.ndarray) -> list[tuple[int, int]]:
        """Derivatives in w that are not zero: orders, and elements of the variables."""
        where, found = self.program.functions.value_map, []
        for order in range(1, where.orders):
            element = np.flatnonzero((where.place[order] >= 0) & (where.place[0] >= 0))
            size = np.maximum(1.0, np.abs(w[where.place[0][element]]))
            still = np.abs(w[where.place[order][element]]) <= STILL * size
            found += [(order, int(k)) for k in element[~still]]
        return found


def make_system(sim: Any, program: Program, fixed: Mapping[str, Any]) -> tuple[SteadySystem, np.ndarray]:
    """The system of a program, and the values of what is fixed."""
    places, signs, values = [np.zeros(0, np.int64)], [np.zeros(0)], [np.zeros(0)]
    for name, value in fixed.items():
        place, sign = sim._places(program, name)
        try:
            values.append(np.broadcast_to(np.asarray(value, float), place.shape).ravel())
        except (TypeError, ValueError):
            raise ModelError(
                f"The value at which {name} is fixed has shape {np.shape(value)}: it has {place.size} "
                f"elements."
            ) from None
        places.append(place.ravel())
        signs.append(sign.ravel())
    system = SteadySystem(program, np.concatenate(places), np.concatenate(signs))
    return system, np.concatenate(values)

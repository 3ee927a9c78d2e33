"""The linear model around a point of a simulation as a function for JAX, with derivatives.

The point is one of a run, with the derivatives of that run. The matrices are functions of the point, of the
parameters with discrete values, and of the inputs there, which JAX differentiates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import ModelError
from ..inspection.linearize import HIGHER, check_size, make_linear_form, refuse_derivatives
from .function import FunctionOfRun, make_simulations
from .jax_rules import call
from .theta import Names
from .wanted import WholePoint, whole_point

Theta = dict[str, Any]
MOST_UNKNOWNS = 500
"""The matrices are dense, and so are their derivatives."""


class LinearMatrices(NamedTuple):
    """`der(s) = A s + B u, y = C s + D u`"""

    A: Any
    B: Any
    C: Any
    D: Any


class LinearizationFunction(FunctionOfRun):
    """A pure function of a dictionary: `CompiledModel.linearization_function` makes it.

    Attributes
    ----------
    names : tuple of str
        What the dictionary may contain.
    states, inputs, outputs : tuple of str
        Names of the elements of s, u and y. The states are chosen for the declared values.
    time : float
        The time of the simulation at which it holds.
    """

    def __init__(self, sim: Any, names: Names, time: float, outputs: Sequence[str], options: Theta):
        if isinstance(outputs, str):
            raise ModelError(f"outputs is a list of names of variables, not {outputs!r}.")
        self.time = time
        times = np.array([time])
        simulations = make_simulations(sim, names, times, WholePoint((0, 0, 0, 0)), options)
        found = simulations.run({})
        if isinstance(found, Exception):
            raise found
        n = found.program.functions.size
        if not n:
            raise ModelError(f"{sim.name} has no states: there is nothing to linearize.")
        check_size(found.program, MOST_UNKNOWNS)
        program = sim.translation.program_without_native_code(found.signals)
        arguments = found.legs[-1].arguments
        p, u = arguments.p, program.inputs(time, arguments)
        simulations.wanted = whole = WholePoint((n, n, len(p), len(u)))
        super().__init__(names, simulations)
        row = whole_point(program)(time, found.output.x[0], found.output.xdot[0], arguments)
        named = {own.name: own.offset + np.arange(own.size).reshape(own.shape) for own in sim.flat.inputs}
        chosen = {name: sim._shaped_places(program, name) for name in outputs}
        form = make_linear_form(program, time, np.asarray(row[: 2 * n]), p, u, named, chosen)
        self.states, self.inputs, self.outputs = form.states, form.inputs, form.outputs

        def matrices(row: Any) -> tuple[LinearMatrices, Any]:
            x, xdot, p, u = whole.parts(row)
            found, higher = form.matrices(program, time, jnp.concatenate([x, xdot]), p, u)
            kept = (jnp.where(higher <= HIGHER, part, jnp.nan) for part in found)
            return LinearMatrices(*kept), higher

        self._matrices = jax.jit(matrices)
        refuse_derivatives(self._matrices(row)[1])

    def __call__(self, theta: Mapping[str, Any] | None = None) -> LinearMatrices:
        """A, B, C and D; NaN if the run has failed, or the model depends on derivatives of its inputs."""
        host, x = self._host(theta or {})
        found: LinearMatrices = self._matrices(call(host, x)[0])[0]
        return found

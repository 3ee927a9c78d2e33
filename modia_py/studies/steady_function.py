"""A steady state as a function for JAX, with derivatives by the implicit function theorem.

The root z of g(z, theta) = 0 is found on the host. Then two Newton steps follow, z - J^-1 g with J = dg/dz,
which change nothing at a root, and whose derivative is -J^-1 dg/dtheta; the second one makes second
derivatives right, too. They are a function that JAX differentiates, compiles and maps by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import ModelError, SimulationError, did_you_mean
from ..program.program import Arguments, Program
from ..simulation.request import RunRequest
from ..start.values import resolve_variable
from .steady_search import Found, find_steady, held_inputs
from .steady_state import SteadyState, steady_state
from .steady_system import SteadySystem
from .theta import Names, make_names

NEWTON_STEPS = 2
MOST_UNKNOWNS = 2000
"""The matrix is dense."""


class SteadyStateFunction:
    """A pure function of a dictionary: `CompiledModel.steady_state_function` makes it.

    Attributes
    ----------
    names : tuple of str
        What the dictionary may contain.
    outputs : tuple of str
        What is returned.
    """

    def __init__(
        self, sim: Any, outputs: Sequence[str], names: Names, asked: RunRequest, fixed: dict[str, Any],
        how: tuple[float | None, bool],
    ):  # fmt: skip
        self._sim, self._names, self._asked, self._fixed, self._how = sim, names, asked, fixed, how
        self.names, self.outputs = names.all, tuple(outputs)
        self._example: tuple[Found, Any] | None = None

    def __call__(self, theta: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The outputs by name; NaN if no steady state was found."""
        given = {}
        for name, value in (theta or {}).items():
            if name not in self.names:
                raise ModelError(
                    f"'{name}' is not among the names of this function. {did_you_mean(name, self.names)}"
                )
            given[name] = jnp.asarray(value, float)
        return self._values(given)

    def state(self, theta: Mapping[str, Any] | None = None) -> SteadyState:
        """The steady state behind the values: stability, certificate, all variables.

        Parameters
        ----------
        theta : mapping of str to number or array
            As for the function itself.

        Returns
        -------
        SteadyState
            What `CompiledModel.steady_state` gives for these values.

        Raises
        ------
        SimulationError
            If there is none: the function returns NaN then.
        """
        return steady_state(self._sim, self._request(theta or {}), self._fixed, *self._how)

    def _request(self, theta: Mapping[str, Any]) -> RunRequest:
        given = self._names.request({name: np.asarray(value) for name, value in theta.items()})
        own = {"params": given["params"], "inputs": given["inputs"]}
        return RunRequest(**{**self._asked.__dict__, **own})

    def _found(self, theta: Mapping[str, Any]) -> Found:
        return find_steady(self._sim, self._request(theta), self._fixed, *self._how)

    def _made(self, theta: Mapping[str, Any]) -> tuple[Found, Any]:
        """A state that was found, for the program and the shapes in it; and the compiled Newton steps."""
        if self._example is None:
            known = all(not isinstance(value, jax.core.Tracer) for value in theta.values())
            found = self._found(theta if known else {})
            size = found.system.program.functions.size
            if size > MOST_UNKNOWNS:
                raise ModelError(
                    f"{self._sim.name} has {size} unknowns: the function of a steady state has a dense "
                    f"matrix, up to {MOST_UNKNOWNS}."
                )
            self._example = found, jax.jit(self._polished)
        return self._example

    def _values(self, theta: dict[str, Any]) -> dict[str, Any]:
        try:
            example, polished = self._made(theta)
        except SimulationError as error:
            if any(isinstance(value, jax.core.Tracer) for value in theta.values()):
                raise error from None
            shapes = {name: resolve_variable(self._sim.flat, name).shape for name in self.outputs}
            return {name: jnp.full(shape, jnp.nan) for name, shape in shapes.items()}
        like = (example.z, jax.tree.map(np.asarray, example.arguments))
        shapes = jax.tree.map(lambda part: jax.ShapeDtypeStruct(np.shape(part), part.dtype), like)

        def root(theta: Any) -> Any:
            try:
                found = self._found({name: np.asarray(value) for name, value in theta.items()})
            except (ModelError, SimulationError):
                return np.full_like(like[0], np.nan), like[1]
            return jax.tree.map(
                lambda part, own: np.asarray(part, own.dtype), (found.z, found.arguments), like
            )

        still = jax.lax.stop_gradient(theta)
        z, arguments = jax.pure_callback(root, shapes, still, vmap_method="sequential")
        found: dict[str, Any] = polished(z, arguments, theta)
        return found

    def _polished(self, z: Any, arguments: Arguments, theta: dict[str, Any]) -> dict[str, Any]:
        assert self._example is not None
        example = self._example[0]
        # Code of JAX only, which can be differentiated; x is the same.
        program = self._sim.translation.program_without_native_code(example.signals)
        system = replace(example.system, program=program)
        arguments = self._with_theta(program, example, arguments, theta)
        t, fixed = jnp.asarray(example.t), self._fixed_values(system)

        def g(z: Any) -> Any:
            return system.equations(z, t, arguments, fixed)

        for _ in range(NEWTON_STEPS):
            matrix, value = jax.jacfwd(g)(z), g(z)
            if matrix.shape[0] > matrix.shape[1]:  # rows of what is fixed: consistent ones
                matrix, value = matrix.T @ matrix, matrix.T @ value
            z = z - jnp.linalg.solve(matrix, value)
        w = program.values(t, *system.split(z), arguments)
        outputs = {}
        for name in self.outputs:
            place, sign = self._sim._places(program, name)
            shape = resolve_variable(self._sim.flat, name).shape
            outputs[name] = (sign * w[place]).reshape(shape)
        return outputs

    def _with_theta(
        self, program: Program, example: Found, arguments: Arguments, theta: dict[str, Any]
    ) -> Arguments:
        """Arguments that follow from theta; discrete values are those that were found."""
        data = self._names.data(self._sim, example.signals, theta)
        p = data.p
        if program.events is not None:
            p = program.events.with_discretes(p, program.events.discretes(arguments.p))
        return arguments._replace(p=p, signals=arguments.signals._replace(each=data.inputs))

    def _fixed_values(self, system: SteadySystem) -> Any:
        parts = [
            np.broadcast_to(value, self._sim._places(system.program, name)[0].shape).ravel()
            for name, value in self._fixed.items()
        ]
        return jnp.concatenate([jnp.zeros(0), *map(jnp.asarray, parts)])


def make_steady_function(
    sim: Any, outputs: Sequence[str], params: Any, inputs: Any, init: Any, fixed: Any, time: float,
    settle: float | None, prefer_stable: bool,
) -> SteadyStateFunction:  # fmt: skip
    """See `CompiledModel.steady_state_function`."""
    if isinstance(outputs, str) or not outputs:
        raise ModelError(f"outputs is a list of names of variables, not {outputs!r}.")
    for name in outputs:
        resolve_variable(sim.flat, name)
    held = held_inputs(sim, dict(inputs) if isinstance(inputs, Mapping) else None, time)
    names = make_names(sim, params, (), held, None)
    asked = RunRequest(time + 1.0, time, None, held or None, init, 2, progress=False)
    asked.checked()
    return SteadyStateFunction(sim, outputs, names, asked, dict(fixed or {}), (settle, prefer_stable))

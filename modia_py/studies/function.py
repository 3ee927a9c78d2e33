"""A simulation as a function for JAX: names in, arrays out, with derivatives.

Called with numbers, it simulates. Under `jit` or `vmap` the simulation is a call back to Python, one lane
after the other. Derivatives are those of the recorded steps (`run_derivative`); rules: `jax_rules`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import ModelError, did_you_mean
from ..language.flat_names import find_elements
from ..results.result import Result
from ..simulation.request import RunRequest
from ..start.values import resolve_variable
from .host_simulation import HostSimulation, Simulations
from .jax_rules import call, call_on_host
from .recording import check_method
from .theta import Names, make_names
from .wanted import Variables, Wanted

DERIVATIVES = ("reverse", "forward")
MEMORY = 500e6
"""Bytes."""
AT_LEAST = 1e-9
"""How long a run is whose only time is its start."""

Theta = dict[str, Any]


class FunctionOfRun:
    """A function of a dictionary whose values are those of a run."""

    def __init__(self, names: Names, simulations: Simulations):
        self.names = names.all
        self._named, self._simulations = names, simulations
        self._hosts: dict[Any, HostSimulation] = {}

    def status(self, theta: Mapping[str, Any] | None = None) -> Any:
        """How the run ended, also inside of `jax.jit` and `jax.vmap`.

        Parameters
        ----------
        theta : mapping of str to number or array
            As for the function itself.

        Returns
        -------
        array of int
            The number of a `modia_py.solvers.Status`: 1 is success. Where it is a failure, the function
            returns NaN.
        """
        host, x = self._host(theta or {})
        return call_on_host(host.status, (), np.int32, jax.lax.stop_gradient(x))

    def result(self, theta: Mapping[str, Any] | None = None) -> Result:
        """The simulation behind the values, with its statistics, events and notes.

        Parameters
        ----------
        theta : mapping of str to number or array
            As for the function itself.

        Returns
        -------
        Result
            What `CompiledModel.simulate` gives for these values.

        Raises
        ------
        SimulationError
            If the run fails: the function returns NaN then.
        """
        host, x = self._host(theta or {})
        found = self._simulations.run(host.theta(np.asarray(x)))
        if isinstance(found, Exception):
            raise found
        return found.result

    def _host(self, theta: Mapping[str, Any]) -> tuple[HostSimulation, Any]:
        """What simulates for these names, and their values side by side."""
        for name in theta:
            if name not in self.names:
                raise ModelError(
                    f"'{name}' is not among the names of this function. {did_you_mean(name, self.names)}"
                )
        values = {name: jnp.asarray(theta[name], float) for name in self.names if name in theta}
        key = tuple((name, value.shape) for name, value in values.items())
        if key not in self._hosts:
            for name, value in values.items():
                self._named.check_shape(self._simulations.sim, name, value.shape)
            self._hosts[key] = HostSimulation(
                self._simulations, tuple(values), tuple(value.shape for value in values.values())
            )
        parts = [value.reshape(-1) for value in values.values()]
        return self._hosts[key], jnp.concatenate([jnp.zeros(0), *parts])


class SimulationFunction(FunctionOfRun):
    """A pure function of a dictionary: `CompiledModel.function` makes it.

    Attributes
    ----------
    names : tuple of str
        What the dictionary may contain.
    outputs : tuple of str
        What is returned.
    times : array
        The leading axis of what is returned.
    """

    def __init__(
        self, sim: Any, outputs: Sequence[str], times: Any, names: Names, derivative: str, options: Theta
    ):
        if derivative not in DERIVATIVES:
            raise ModelError(f"There is no derivative {derivative!r}; there are 'reverse' and 'forward'.")
        self._shapes = _output_shapes(sim, outputs)
        self.outputs = tuple(outputs)
        self.times = np.atleast_1d(np.asarray(times, float))
        if not self.times.size:
            raise ModelError("times is empty: the function needs times at which to return the outputs.")
        super().__init__(names, make_simulations(sim, names, self.times, Variables(self._shapes), options))

    def __call__(self, theta: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The outputs, each with a leading axis of time; NaN if the run has failed."""
        host, x = self._host(theta or {})
        rows = call(host, x)
        found, first = {}, 0
        for name, shape in self._shapes.items():
            size = int(np.prod(shape, dtype=int))
            found[name] = rows[:, first : first + size].reshape(len(self.times), *shape)
            first += size
        return found


def make_simulations(
    sim: Any, names: Names, times: np.ndarray, wanted: Wanted, options: Theta
) -> Simulations:
    """Runs up to the last of these times."""
    memory = float(options.pop("memory", MEMORY))
    if not memory > 0:
        raise ModelError(f"memory = {memory:g}: so many bytes are allowed for the steps of a run.")
    accuracy = options.pop("accuracy", None)
    if accuracy is not None and not accuracy > 0:
        raise ModelError(
            f"accuracy = {accuracy:g}: a part of the largest value of a derivative, above zero."
        )
    start = float(options.get("start_time", 0.0))
    asked = RunRequest(
        stop_time=float(max(times[-1], start + AT_LEAST * (1.0 + abs(start)))),
        times=times,
        **{"progress": False, **options},
    )
    asked.checked()
    check_method(asked)
    return Simulations(sim, names, asked, wanted, memory, accuracy)


def _output_shapes(sim: Any, outputs: Sequence[str]) -> dict[str, tuple[int, ...]]:
    if isinstance(outputs, str) or not outputs:
        raise ModelError(f"outputs is a list of names of variables, not {outputs!r}.")
    shapes = {}
    for name in outputs:
        if find_elements(name, sim._values.discretes) is not None:
            raise ModelError(
                f"'{name}' is discrete: it jumps, and is not an output with derivatives. Give a variable "
                f"an equation with it, or read it from `f.result(...)`."
            )
        shapes[name] = tuple(resolve_variable(sim.flat, name).shape)
    return shapes


def make_function(
    sim: Any,
    outputs: Sequence[str],
    times: Any,
    params: Any,
    init: Any,
    inputs: Any,
    derivative: str,
    options: Theta,
) -> SimulationFunction:
    """See `CompiledModel.function`."""
    names = make_names(sim, params, init, inputs, options.pop("fixed_inputs", None))
    return SimulationFunction(sim, outputs, times, names, derivative, options)

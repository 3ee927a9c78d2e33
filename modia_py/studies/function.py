"""A simulation as a function for JAX: names in, arrays out, with derivatives.

Called with numbers, it simulates. Under `jit` or `vmap` the simulation is a call back to Python, one lane
after the other. Derivatives are those of the recorded steps (`run_derivative`).

    derivative="reverse"    a custom rule for gradients: grad, jacrev, vjp
    derivative="forward"    one for tangents, all directions at once: jvp, jacfwd
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import ModelError, ModelWarning, SimulationError, did_you_mean
from ..program.remembered import digest_of
from ..results.result import Result
from ..simulation.request import RunRequest
from ..start.values import resolve_variable
from .linear_maps import NoDerivative
from .recording import Recording, check_method, record
from .run_derivative import RunDerivatives
from .theta import Names, make_names

DERIVATIVES = ("reverse", "forward")
REMEMBERED = 4
"""Runs of which the last derivatives may still be asked for."""

MOST_DERIVATIVES = 16
"""Choices of outputs for which compiled derivatives of a model are kept."""

Theta = dict[str, Any]


class SimulationFunction:
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
        self._sim, self._names, self._options = sim, names, dict(options)
        self._shapes = _output_shapes(sim, outputs)
        self.names, self.outputs = names.all, tuple(outputs)
        start = float(options.get("start_time", 0.0))
        self.times = np.atleast_1d(np.asarray(times, float))
        self._asked = RunRequest(
            stop_time=float(max(self.times[-1], np.nextafter(start, np.inf))),
            times=self.times,
            **{"progress": False, **self._options},
        )
        self._asked.checked()
        check_method(self._asked)
        self._runs: OrderedDict[bytes, Any] = OrderedDict()
        self._lock = Lock()
        self._call = self._reverse() if derivative == "reverse" else self._forward()

    def __call__(self, theta: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The outputs, each with a leading axis of time; NaN if the run has failed."""
        return self._call(self._checked(theta or {}))

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
        found = self._recorded(_concrete(self._checked(theta or {})))
        if isinstance(found, Exception):
            raise found
        return found.result

    # Values ----------------------------------------------------------------------------------------------

    def _checked(self, theta: Mapping[str, Any]) -> Theta:
        for name in theta:
            if name not in self.names:
                raise ModelError(
                    f"'{name}' is not among the names of this function. {did_you_mean(name, self.names)}"
                )
        return {name: jnp.asarray(value, float) for name, value in theta.items()}

    def _recorded(self, theta: Theta) -> Recording | Exception:
        """The run for these values: made now, or remembered. A failure is a value."""
        key = digest_of(sorted(theta), [theta[name] for name in sorted(theta)])
        with self._lock:
            if key in self._runs:
                return self._runs[key]
        asked = RunRequest(**{**self._asked.__dict__, **self._names.request(theta)})
        try:
            found: Any = record(self._sim, asked)
        except SimulationError as error:
            found = error
        with self._lock:
            self._runs[key] = found
            while len(self._runs) > REMEMBERED:
                self._runs.popitem(last=False)
        return found

    def _values(self, theta: Theta) -> dict[str, np.ndarray]:
        found = self._recorded(theta)
        if isinstance(found, Exception):
            return {
                name: np.full((len(self.times), *shape), np.nan) for name, shape in self._shapes.items()
            }
        rows = found.result.output_rows
        return {name: np.asarray(found.result[name], float)[rows] for name in self.outputs}

    # Derivatives -----------------------------------------------------------------------------------------

    def _derivatives_of(self, found: Recording) -> tuple[RunDerivatives, Any]:
        """What is compiled for derivatives of these outputs: shared by all functions that have them."""
        sim, solver = self._sim, self._asked.linear_solver
        known = sim.translation.cache.derivatives
        key = found.signals.key, self.outputs, solver
        with self._lock:
            if key not in known:
                program = sim.translation.program(found.signals)
                places = [sim._places(program, name) for name in self.outputs]
                place, sign = (np.concatenate([part[k] for part in places]) for k in (0, 1))
                known[key] = RunDerivatives(sim, found, (place, sign), solver)
                while len(known) > MOST_DERIVATIVES:
                    del known[next(iter(known))]
            return known[key], found.signals

    def _split(self, rows: Any) -> dict[str, Any]:
        """Values side by side -> by name."""
        found, first = {}, 0
        for name, shape in self._shapes.items():
            size = int(np.prod(shape, dtype=int))
            found[name] = rows[..., first : first + size].reshape(*rows.shape[:-1], *shape)
            first += size
        return found

    def _push(self, theta: Theta, tangents: Theta) -> dict[str, np.ndarray]:
        """Tangents of the outputs, for tangents with an axis of directions in front."""
        count = len(next(iter(tangents.values())))
        width = sum(int(np.prod(shape, dtype=int)) for shape in self._shapes.values())
        rows = np.full((count, len(self.times), width), np.nan)
        found = self._recorded(theta)
        if not isinstance(found, Exception):
            try:
                derivatives, signals = self._derivatives_of(found)

                def data(theta: Theta) -> Any:
                    return self._names.data(self._sim, signals, theta, self._asked.guess)

                tangent = jax.vmap(lambda dtheta: jax.jvp(data, (theta,), (dtheta,))[1])(tangents)
                rows = derivatives.push(found, tangent)
            except NoDerivative as reason:
                warnings.warn(str(reason), ModelWarning, stacklevel=2)
        return self._split(rows)

    def _pull(self, theta: Theta, gradients: dict[str, Any]) -> dict[str, np.ndarray]:
        nothing = {name: np.full(np.shape(value), np.nan) for name, value in theta.items()}
        found = self._recorded(theta)
        if isinstance(found, Exception):
            return nothing
        parts = [np.asarray(gradients[name]).reshape(len(self.times), -1) for name in self.outputs]
        try:
            derivatives, signals = self._derivatives_of(found)

            def data_of(theta: Theta) -> Any:
                return self._names.data(self._sim, signals, theta, self._asked.guess)

            data, back = jax.vjp(data_of, theta)
            moves = self._moving_parameters(signals, theta)
            gradient = derivatives.pull(found, np.concatenate(parts, axis=1), moves)
        except NoDerivative as reason:
            warnings.warn(str(reason), ModelWarning, stacklevel=2)
            return nothing
        filled = jax.tree.map(
            lambda own, like: jnp.zeros_like(like) if own is None else jnp.asarray(own, like.dtype),
            gradient, data, is_leaf=lambda leaf: leaf is None,
        )  # fmt: skip
        return {name: np.asarray(value) for name, value in back(filled)[0].items()}

    def _moving_parameters(self, signals: Any, theta: Theta) -> np.ndarray:
        """Flags of the elements of p that follow what the derivative is taken by."""

        def p(theta: Theta) -> Any:
            return self._names.data(self._sim, signals, theta, self._asked.guess).p

        # A direction in which no two contributions cancel.
        along = {
            name: np.sqrt(2.0 + np.arange(np.size(value))).reshape(np.shape(value))
            for name, value in theta.items()
        }
        return np.asarray(jax.jvp(p, (theta,), (along,))[1]) != 0

    # Rules for JAX ---------------------------------------------------------------------------------------

    def _value(self, theta: Theta) -> dict[str, Any]:
        shapes = {
            name: jax.ShapeDtypeStruct((len(self.times), *shape), np.float64)
            for name, shape in self._shapes.items()
        }
        return _on_host(self._values, shapes, theta)

    def _reverse(self) -> Any:
        function = jax.custom_vjp(self._value)

        def forward(theta: Theta) -> tuple[Any, Theta]:
            return self._value(theta), theta

        def backward(theta: Theta, gradients: Any) -> tuple[Theta]:
            shapes = {
                name: jax.ShapeDtypeStruct(np.shape(value), np.float64) for name, value in theta.items()
            }
            return (_on_host(self._pull, shapes, theta, gradients),)

        function.defvjp(forward, backward)
        return function

    def _forward(self) -> Any:
        function = jax.custom_jvp(self._value)

        @jax.custom_batching.custom_vmap
        def push(theta: Theta, tangents: Theta) -> Any:
            many = jax.tree.map(lambda part: part[None], tangents)
            return jax.tree.map(lambda part: part[0], self._push_many(theta, many))

        @push.def_vmap
        def push_all(size: int, is_batched: Any, theta: Theta, tangents: Theta) -> Any:
            of_theta, of_tangents = is_batched
            tangents = jax.tree.map(
                lambda part, has_axis: part if has_axis else jnp.broadcast_to(part, (size, *part.shape)),
                tangents, of_tangents,
            )  # fmt: skip
            batched = jax.tree.map(lambda _: True, dict.fromkeys(self._shapes, 0))
            if not any(jax.tree.leaves(of_theta)):
                return self._push_many(theta, tangents), batched
            theta = jax.tree.map(
                lambda part, has_axis: part if has_axis else jnp.broadcast_to(part, (size, *part.shape)),
                theta, of_theta,
            )  # fmt: skip
            return jax.lax.map(lambda both: push(*both), (theta, tangents)), batched

        @function.defjvp
        def rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
            (theta,), (dtheta,) = primals, tangents
            return self._value(theta), push(theta, dtheta)

        return function

    def _push_many(self, theta: Theta, tangents: Theta) -> Any:
        count = len(next(iter(tangents.values())))
        shapes = {
            name: jax.ShapeDtypeStruct((count, len(self.times), *shape), np.float64)
            for name, shape in self._shapes.items()
        }
        return _on_host(self._push, shapes, theta, tangents)


def _on_host(function: Any, shapes: Any, *arguments: Any) -> Any:
    """A call of a function of numpy arrays: at once where all is known, else when it is."""
    if not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(arguments)):
        found = function(*_concrete(arguments))
        return jax.tree.map(jnp.asarray, found)

    def call(*given: Any) -> Any:
        found = function(*_concrete(given))
        return jax.tree.map(lambda part, like: np.asarray(part, like.dtype), found, shapes)

    return jax.pure_callback(call, shapes, *arguments, vmap_method="sequential")


def _concrete(tree: Any) -> Any:
    return jax.tree.map(np.asarray, tree)


def _output_shapes(sim: Any, outputs: Sequence[str]) -> dict[str, tuple[int, ...]]:
    if isinstance(outputs, str) or not outputs:
        raise ModelError(f"outputs is a list of names of variables, not {outputs!r}.")
    shapes = {}
    for name in outputs:
        shapes[name] = resolve_variable(sim.flat, name).shape
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

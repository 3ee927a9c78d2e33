"""Simulations and their derivatives as functions of numpy arrays: what the rules for JAX call.

A vector of numbers goes in: the values of some names side by side. An array of outputs comes out, or NaN
where a run has failed or has no derivative.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import ModelWarning, SimulationError
from ..program.remembered import digest_of
from ..simulation.request import RunRequest
from ..solvers.compile_options import quick_jit
from ..solvers.status import Status
from .linear_maps import NoDerivative
from .recording import Recording, record
from .resolution import Resolution
from .run_derivative import RunDerivatives
from .theta import Names, RunData
from .wanted import Wanted

REMEMBERED, REMEMBERED_BYTES = 64, 64e6
"""Runs of which derivatives may still be asked for, and what they may take together."""
MOST_DERIVATIVES = 16
"""Choices of outputs for which compiled derivatives of a model are kept."""
SWEEP_BYTES = 2e8
"""Directions or gradients in one sweep take so much memory together."""
TABLE = 8
"""Vectors of the size of x that travel with each of them."""

Theta = dict[str, Any]


class Simulations:
    """Runs of one model of which the same is wanted; the last ones are remembered."""

    def __init__(
        self, sim: Any, names: Names, asked: RunRequest, wanted: Wanted, memory: float,
        accuracy: float | None = None,
    ):  # fmt: skip
        self.sim, self.names, self.asked, self.memory = sim, names, asked, memory
        self.wanted, self.resolution = wanted, Resolution(asked.rtol, accuracy)
        self._runs: OrderedDict[bytes, Any] = OrderedDict()
        self._data: dict[Any, Any] = {}
        self._lock = Lock()

    def run(self, theta: Theta) -> Recording | Exception:
        """The run for these values: made now, or remembered. A failure is a value."""
        key = digest_of(sorted(theta), [theta[name] for name in sorted(theta)])
        with self._lock:
            if key in self._runs:
                self._runs.move_to_end(key)
                return self._runs[key]
        asked = RunRequest(**{**self.asked.__dict__, **self.names.request(theta)})
        try:
            found: Any = record(self.sim, asked, self.memory, self.names.inputs)
        except SimulationError as error:
            found = error
        with self._lock:
            self._runs[key] = found
            while len(self._runs) > 1 and (
                len(self._runs) > REMEMBERED or sum(map(_bytes_of, self._runs.values())) > REMEMBERED_BYTES
            ):
                self._runs.popitem(last=False)
        return found

    def derivatives_of(self, found: Recording) -> RunDerivatives:
        """What is compiled for derivatives of these outputs: shared by all functions that have them."""
        sim, solver = self.sim, self.asked.linear_solver
        known = sim.translation.cache.derivatives
        key = found.signals.key, self.wanted.key, solver, self.asked.method
        legs = found.legs  # made outside of the lock
        assert legs
        with self._lock:
            if key not in known:
                known[key] = RunDerivatives(sim, found, self.wanted, solver, self.asked.method)
                while len(known) > MOST_DERIVATIVES:
                    del known[next(iter(known))]
            return known[key]


def _bytes_of(found: Any) -> float:
    return 0.0 if isinstance(found, Exception) else found.bytes


@dataclass(frozen=True, eq=False)
class HostSimulation:
    """Simulations as functions of a vector: the values of these names, of these shapes, side by side."""

    simulations: Simulations
    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        return sum(int(np.prod(shape, dtype=int)) for shape in self.shapes)

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self.simulations.asked.times), self.simulations.wanted.width

    def theta(self, x: Any) -> Theta:
        """A vector by name."""
        found, first = {}, 0
        for name, shape in zip(self.names, self.shapes, strict=True):
            size = int(np.prod(shape, dtype=int))
            found[name] = x[first : first + size].reshape(shape)
            first += size
        return found

    def status(self, x: np.ndarray) -> int:
        """How the run ended, as the number of a `Status`."""
        found = self.simulations.run(self.theta(x))
        if not isinstance(found, Exception):
            return int(found.result.status)
        result = getattr(found, "result", None)
        status = Status.INCONSISTENT if result is None else Status(int(result.status))
        return int(status if status.failed else Status.TERMINATED)

    def value(self, x: np.ndarray) -> np.ndarray:
        found = self.simulations.run(self.theta(x))
        if isinstance(found, Exception):
            return np.full(self.shape, np.nan)
        return self.simulations.wanted.read(found)

    def push(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        def push(found: Recording, derivatives: RunDerivatives, u: np.ndarray) -> np.ndarray:
            data = self._data(found)
            tangent = data.push(x, u)
            derivatives.check_times(found, np.any(np.asarray(tangent.p) != 0, axis=0))
            return derivatives.push(found, tangent)[0]

        return self._of_run(x, (len(u), *self.shape), push, u)

    def pull(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        def pull(found: Recording, derivatives: RunDerivatives, w: np.ndarray) -> np.ndarray:
            data = self._data(found)
            self._check(found, derivatives, data, x, w)
            return np.asarray(data.pull(x, data.filled(derivatives.pull(found, w)[0])))

        return self._of_run(x, (len(w), self.size), pull, w)

    def bend(self, x: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        def bend(found: Recording, derivatives: RunDerivatives, *both: np.ndarray) -> np.ndarray:
            data, rows = self._data(found), []
            for u, v in zip(*both, strict=True):
                trace = derivatives.trace(found, _first(data.push(x, v[None])))
                tangent, second = data.bend(x, u[None], v)
                derivatives.check_times(found, np.any(np.asarray(tangent.p) != 0, axis=0))
                rows.append(derivatives.push(found, tangent, second, trace)[1][0])
            return np.stack(rows)

        return self._of_run(x, (len(u), *self.shape), bend, u, v)

    def curve(self, x: np.ndarray, v: np.ndarray, w: np.ndarray) -> np.ndarray:
        def curve(found: Recording, derivatives: RunDerivatives, *both: np.ndarray) -> np.ndarray:
            data, rows = self._data(found), []
            self._check(found, derivatives, data, x, both[1])
            for v, w in zip(*both, strict=True):
                trace = derivatives.trace(found, _first(data.push(x, v[None])))
                pair = derivatives.pull(found, w[None], np.zeros((1, *w.shape)), trace)
                rows.append(data.curve(x, *(_first(data.filled(each)) for each in pair), v))
            return np.stack(rows)

        return self._of_run(x, (len(v), self.size), curve, v, w)

    def _of_run(self, x: np.ndarray, shape: Any, function: Callable[..., Any], *given: Any) -> np.ndarray:
        """A derivative of a run, in pieces that fit in memory; NaN where there is none."""
        found = self.simulations.run(self.theta(x))
        if isinstance(found, Exception) or not len(given[0]):
            return np.full(shape, np.nan)
        try:
            # Threads may ask for the same run, whose steps are made shorter, and read anew, on the way.
            with found.work:
                derivatives = self.simulations.derivatives_of(found)
                derivatives.jumps.check(found)
                self._resolve(found, derivatives, x)
                at_once = max(1, int(SWEEP_BYTES / (8 * TABLE * derivatives.program.problem.size)))
                pieces = [
                    function(found, derivatives, *(part[first : first + at_once] for part in given))
                    for first in range(0, len(given[0]), at_once)
                ]
        except NoDerivative as reason:
            warnings.warn(str(reason), ModelWarning, stacklevel=2)
            return np.full(shape, np.nan)
        return np.concatenate(pieces)

    def _resolve(self, found: Recording, derivatives: RunDerivatives, x: np.ndarray) -> None:
        """Have steps that are short enough for derivatives by these names."""

        def error() -> float:
            return derivatives.error(found, self._data(found).push(x, self._along(x)))

        self.simulations.resolution.resolve(found, (self.names, self.shapes), error)

    def _along(self, x: np.ndarray) -> np.ndarray:
        """A direction in which no two contributions cancel, and all are about as large."""
        sizes, first = np.abs(x), 0
        for shape in self.shapes:
            own = slice(first, first + int(np.prod(shape, dtype=int)))
            sizes[own] = np.maximum(sizes[own], 0.1 * sizes[own].max(initial=0.0) or 1.0)
            first = own.stop
        return (sizes * np.sqrt(2.0 + np.arange(self.size)))[None]

    def _check(
        self, found: Recording, derivatives: RunDerivatives, data: DataMaps, x: np.ndarray, w: np.ndarray
    ) -> None:
        """What tangents see on their way, gradients have to be asked for: whether times of stops and events
        move with what the derivative is taken by."""
        tangent = data.push(x, self._along(x))
        derivatives.check_times(found, np.asarray(tangent.p)[0] != 0)
        derivatives.start.check(found, tangent)
        rows = derivatives.rows_at_events(found)
        at_events = any(np.any(w[:, row] != 0) for row in rows)
        if at_events or derivatives.has_coincidences(found):
            derivatives.push(found, tangent, at_events=at_events)

    def _data(self, found: Recording) -> DataMaps:
        known, key = self.simulations._data, (found.signals.key, self.names, self.shapes)
        if key not in known:
            known[key] = DataMaps(self, found.signals)
        return known[key]


class DataMaps:
    """The data of a run as a function of the vector, with its derivatives."""

    def __init__(self, host: HostSimulation, signals: Any):
        sim, names = host.simulations.sim, host.simulations.names
        guess = host.simulations.asked.guess

        def data(x: Any) -> RunData:
            return names.data(sim, signals, host.theta(x), guess)

        def push(x: Any, u: Any) -> RunData:
            return jax.vmap(lambda u: jax.jvp(data, (x,), (u,))[1])(u)

        def pull(x: Any, w: RunData) -> Any:
            return jax.vmap(lambda w: jax.vjp(data, x)[1](w)[0])(w)

        def bend(x: Any, u: Any, v: Any) -> Any:
            return jax.jvp(lambda x: push(x, u), (x,), (v,))

        def curve(x: Any, w: RunData, more: RunData, v: Any) -> Any:
            """Of the gradient by x, from that by the data and its tangent."""

            def one(x: Any, w: RunData) -> Any:
                return jax.vjp(data, x)[1](w)[0]

            return jax.jvp(one, (x, w), (v, more))[1]

        self.shapes = jax.eval_shape(data, jax.ShapeDtypeStruct((host.size,), np.float64))
        self.push, self.pull, self.bend, self.curve = (
            quick_jit(function, 0) for function in (push, pull, bend, curve)
        )

    def filled(self, gradient: RunData) -> RunData:
        """Zero for parts that no gradient was found of."""
        count = len(gradient.p)
        return jax.tree.map(
            lambda own, like: jnp.zeros((count, *like.shape)) if own is None else jnp.asarray(own),
            gradient, self.shapes, is_leaf=lambda leaf: leaf is None,
        )  # fmt: skip


def _first(tree: Any) -> Any:
    return jax.tree.map(lambda part: part[0], tree)

"""The start of a run as a link of the chain of derivatives: start values, and discrete values behind it.

Discrete values follow from start values, and these from the equations, which contain discrete values: the
tangents of both are found in turns, and gradients in the same turns backward.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..program.program import Program
from ..solvers.sensitivity.lifted import Jets
from .linear_maps import LinearMaps, NoDerivative
from .recording import Recording
from .start_derivative import StartDerivative, StartMaps
from .theta import RunData

TURNS = 4

Pair = tuple[Any, Any]


class StartChain:
    """(data of the run) -> (x, xdot, p) at the start, forward and backward, lifted."""

    def __init__(self, sim: Any, program: Program, maps: LinearMaps):
        self.sim, self.program, self.maps = sim, program, maps
        self.starts: dict[Any, StartMaps] = {}
        self.discretes: Jets | None = None
        if program.events is not None:
            events, size = program.events, program.events.functions.parameter_size

            def follow(known: Any, x: Any, xdot: Any, base: Any) -> Any:
                """p with the discrete values behind the start."""
                t, others, moving = known
                declared = base[0][size : size + events.discrete_size]
                # What is not declared is what the run has found.
                a = maps.join((base[0] - jax.lax.stop_gradient(base[0]) + moving[0], *base[1:]), others)
                return maps.moving_of(events.at_start(t, x, xdot, a, declared)[1])

            self.discretes = Jets(follow, maps.jit)

    # Forward ---------------------------------------------------------------------------------------------

    def forward(self, recording: Recording, pair: Pair, trace: Any) -> Pair:
        """Tangents of x, xdot and p for those of the data of the run, with an axis of directions."""
        tangent, second = pair
        base = _moving(tangent), None if second is None else _moving(second)
        if not self.program.functions.size:
            nothing = jnp.zeros((len(tangent.p), self.program.problem.size))
            return _both(lambda dp: (nothing, nothing, dp), base)
        start = self._derivative(recording)

        def solve(dp: Pair) -> Pair:
            own = dp[0], tangent.init, tangent.guess
            if second is None:
                return start.push(*own), None
            return start.push2(own, (dp[1], second.init, second.guess), trace)

        x = solve(base)
        dp = base
        if self.discretes is not None:
            known, at = self._around(recording)
            for _ in range(TURNS):
                own = (*x[0], base[0])
                moves = None if second is None else (trace.moves, (*x[1], base[1]))
                dp = self.discretes.forward(known, (at, own), moves)
                x = solve(dp)
        return (*x[0], dp[0]), None if second is None else (*x[1], dp[1])

    def forward_with_trace(self, recording: Recording, tangent: RunData) -> tuple[Any, Any]:
        """For one direction, with what second derivatives of the start need of it."""
        (dx, dxdot, dp), _ = self.forward(recording, (tangent, None), None)
        one = jax.tree.map(lambda part: part[0], (dx, dxdot, dp, _moving(tangent), tangent))
        dx, dxdot, dp, base, data = one
        return ((dx[None], dxdot[None], jax.tree.map(lambda part: part[None], dp))), StartTrace(
            (dx, dxdot, base), (jnp.concatenate([dx, dxdot]), dp, jnp.asarray(data.init))
        )

    # Backward --------------------------------------------------------------------------------------------

    def backward(self, recording: Recording, pair: Pair, trace: Any) -> Pair:
        """Gradients by the data of the run, from those by x, xdot and p; the first axis counts them."""
        dp = pair[0][2], None if pair[1] is None else pair[1][2]
        if not self.program.functions.size:
            return _both(lambda dp: self._gathered(recording, dp, None, None), dp)
        start = self._derivative(recording)

        def solve(of_x: Pair) -> Pair:
            return (start.pull(*of_x[0]), None) if of_x[1] is None else start.pull2(*of_x, trace)

        x = pair[0][:2], None if pair[1] is None else pair[1][:2]
        found = solve(x)
        if self.discretes is None:
            return _both(lambda dp, of: self._gathered(recording, _sum(dp, of[0]), *of[1:]), dp, found)
        # The turns of `forward`, backward.
        known, at = self._around(recording)
        total = _both(lambda dp, of: _sum(dp, of[0]), dp, found)
        others = _both(lambda of: of[1:], found)
        base = _both(lambda dp: jax.tree.map(jnp.zeros_like, dp), dp)
        for _ in range(TURNS):
            moves = None if total[1] is None else (trace.moves, total[1])
            by = self.discretes.backward(known, (at, total[0]), moves)
            base = _both(lambda base, by: _sum(base, by[2]), base, by)
            found = solve(_both(lambda by: by[:2], by))
            others = _both(lambda others, of: _sum(others, of[1:]), others, found)
            total = _both(lambda of: of[0], found)
        base = _both(_sum, base, total)
        return _both(lambda base, others: self._gathered(recording, base, *others), base, others)

    def _gathered(self, recording: Recording, dp: Any, of_init: Any, of_guess: Any) -> RunData:
        _, tree = jax.tree.flatten((0.0, recording.arguments.signals.each))
        p, inputs = jax.tree.unflatten(tree, list(dp))
        return RunData(p, of_init, of_guess, inputs)

    # The start -------------------------------------------------------------------------------------------

    def _derivative(self, recording: Recording) -> StartDerivative:
        first, program = recording.legs[0], self.program
        if recording.point.set_anew:
            raise NoDerivative(
                "An event at the start sets values anew: there are no derivatives through that yet. Give "
                "these values by `init`, or by initial equations."
            )
        arguments = recording.start_arguments
        problem = self.sim._start_problem(
            program, arguments, recording.asked.starts, float(first.start.t), None
        )
        z = np.concatenate([recording.point.x, recording.point.xdot])
        leaves = self.maps.take_apart(arguments)
        key = problem.init.place.tobytes(), problem.init.sign.tobytes()
        if key not in self.starts:
            self.starts[key] = StartMaps(problem, program, leaves, arguments)
        return StartDerivative(self.starts[key], problem, leaves, arguments, z)

    def _around(self, recording: Recording) -> tuple[Any, Any]:
        """Constants and variables of the discrete values behind the start."""
        start = self.maps.point(recording.legs[0].start)
        moving, others = self.maps.parts(recording.start_arguments)
        declared = self.maps.parts(recording.arguments)[0]
        return (start.t, others, moving), (start.x, start.xdot, (declared[0], *moving[1:]))


class StartTrace:
    """How the start moves in one direction: what discrete values follow from, and what start values do."""

    def __init__(self, moves: Any, data: Any):
        self.moves, self.data = moves, data


def _moving(tangent: RunData) -> Any:
    """Tangents of what can move in the arguments at the start."""
    return tuple(jnp.asarray(leaf, float) for leaf in jax.tree.leaves((tangent.p, tangent.inputs)))


def _both(function: Any, *pairs: Pair) -> Pair:
    """A function that is linear, of quantities and of their tangents."""
    first, second = zip(*pairs, strict=True)
    return function(*first), None if second[0] is None else function(*second)


def _sum(one: Any, other: Any) -> Any:
    return jax.tree.map(jnp.add, one, other)

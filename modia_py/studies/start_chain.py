"""The start of a run as a link of the chain of derivatives: start values, and discrete values behind it.

Discrete values follow from start values, and these from the equations, which contain discrete values: the
tangents of both are found in turns, and gradients in the same turns backward. Where the event at the start
sets values anew, that follows (`start_event`).
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..program.program import Program
from ..solvers.sensitivity.lifted import Jets
from ..solvers.sensitivity.moves import Point
from ..start.problem import StartProblem
from .event_derivative import EventDerivative
from .linear_maps import LinearMaps
from .recording import Recording
from .start_derivative import StartDerivative, StartMaps, off_guess
from .start_event import StartEventDerivative, declared_discretes, with_values_of
from .theta import RunData

TURNS = 4

Pair = tuple[Any, Any]


class StartChain:
    """(data of the run) -> (x, xdot, p) at the start, forward and backward, lifted."""

    def __init__(self, sim: Any, program: Program, maps: LinearMaps, events: EventDerivative | None):
        self.sim, self.program, self.maps = sim, program, maps
        self.starts: dict[Any, StartMaps] = {}
        self.discretes: Jets | None = None
        self.event: StartEventDerivative | None = None
        if program.events is not None and events is not None:
            at_start = program.events.at_start

            def follow(known: Any, x: Any, xdot: Any, base: Any) -> Any:
                """p with the discrete values behind the start."""
                t, others, moving = known
                a = maps.join(with_values_of(moving, base), others)
                return maps.moving_of(at_start(t, x, xdot, a, declared_discretes(program, base))[1])

            self.discretes = Jets(follow, maps.jit)
            self.event = StartEventDerivative(program, maps, events)

    # Forward ---------------------------------------------------------------------------------------------

    def forward(self, recording: Recording, pair: Pair, trace: Any) -> Pair:
        """Tangents of x, xdot and p for those of the data of the run, with an axis of directions."""
        return self._through_event(recording, self._forward_to_event(recording, pair, trace), pair, trace)

    def check(self, recording: Recording, tangent: RunData) -> None:
        """Complain about a start that has no derivative: gradients do not see what moves."""
        if not self.program.functions.size:
            return
        at, _, problem = self._problem(recording)
        if off_guess(problem, np.concatenate([at.x, at.xdot])).any():
            self._forward_to_event(recording, (tangent, None), None)

    def _forward_to_event(self, recording: Recording, pair: Pair, trace: Any) -> Pair:
        tangent, second = pair
        base = _bases(pair)
        nothing = jnp.zeros((len(tangent.p), self.program.problem.size))
        start = self._derivative(recording) if self.program.functions.size else None

        def solve(dp: Pair) -> Pair:
            if start is None:
                return (nothing, nothing), None if second is None else (nothing, nothing)
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

    def _through_event(self, recording: Recording, found: Pair, pair: Pair, trace: Any) -> Pair:
        """Tangents behind the event at the start, from those of what the equations of the start give."""
        if recording.point.event is None or self.event is None:
            return found
        keep: list[Any] = []
        known, at = self._happened(recording, keep)
        (x, second), base = found, _bases(pair)
        moves = None if second is None else (trace.moves, (*second[:2], base[1]))
        passed = self.event.jets.forward(known, (at, (*x[:2], base[0])), moves)
        return jax.block_until_ready(passed)  # while the factors are still there

    def forward_with_trace(self, recording: Recording, tangent: RunData) -> tuple[Any, Any]:
        """For one direction, with what second derivatives of the start need of it."""
        pair: Pair = tangent, None
        found = self._forward_to_event(recording, pair, None)
        behind, _ = self._through_event(recording, found, pair, None)
        one = jax.tree.map(lambda part: part[0], (*found[0], _moving(tangent), tangent))
        dx, dxdot, dp, base, data = one
        return behind, StartTrace(
            (dx, dxdot, base), (jnp.concatenate([dx, dxdot]), dp, jnp.asarray(data.init))
        )

    # Backward --------------------------------------------------------------------------------------------

    def backward(self, recording: Recording, pair: Pair, trace: Any) -> Pair:
        """Gradients by the data of the run, from those by x, xdot and p; the first axis counts them."""
        pair, by_event = self._back_through_event(recording, pair, trace)
        dp = pair[0][2], None if pair[1] is None else pair[1][2]
        start = self._derivative(recording) if self.program.functions.size else None

        def solve(of_x: Pair) -> Pair:
            if start is None:
                still = jax.tree.map(jnp.zeros_like, dp)
                return _both(lambda own: (own, None, None), still)
            return (start.pull(*of_x[0]), None) if of_x[1] is None else start.pull2(*of_x, trace)

        x = pair[0][:2], None if pair[1] is None else pair[1][:2]
        found = solve(x)
        if self.discretes is None:
            return _both(lambda dp, of: self._gathered(recording, _sum(dp, of[0]), *of[1:]), dp, found)
        # The turns of `forward`, backward.
        known, at = self._around(recording)
        total = _both(lambda dp, of: _sum(dp, of[0]), dp, found)
        others = _both(lambda of: of[1:], found)
        base = by_event or _both(lambda dp: jax.tree.map(jnp.zeros_like, dp), dp)
        for _ in range(TURNS):
            moves = None if total[1] is None else (trace.moves, total[1])
            by = self.discretes.backward(known, (at, total[0]), moves)
            base = _both(lambda base, by: _sum(base, by[2]), base, by)
            found = solve(_both(lambda by: by[:2], by))
            others = _both(lambda others, of: _sum(others, of[1:]), others, found)
            total = _both(lambda of: of[0], found)
        base = _both(_sum, base, total)
        return _both(lambda base, others: self._gathered(recording, base, *others), base, others)

    def _back_through_event(self, recording: Recording, pair: Pair, trace: Any) -> tuple[Pair, Pair | None]:
        """Gradients by what the equations of the start give, and by p as it was before them."""
        if recording.point.event is None or self.event is None:
            return pair, None
        keep: list[Any] = []
        known, at = self._happened(recording, keep)
        moves = None if pair[1] is None else (trace.moves, pair[1])
        found = jax.block_until_ready(self.event.jets.backward(known, (at, pair[0]), moves))
        nothing = _both(lambda own: (*own[:2], jax.tree.map(jnp.zeros_like, own[2])), found)
        return nothing, _both(lambda own: own[2], found)

    def _gathered(self, recording: Recording, dp: Any, of_init: Any, of_guess: Any) -> RunData:
        _, tree = jax.tree.flatten((0.0, recording.arguments.signals.each))
        p, inputs = jax.tree.unflatten(tree, list(dp))
        return RunData(p, of_init, of_guess, inputs)

    # The start -------------------------------------------------------------------------------------------

    def _derivative(self, recording: Recording) -> StartDerivative:
        at, arguments, problem = self._problem(recording)
        z = np.concatenate([at.x, at.xdot])
        leaves = self.maps.take_apart(arguments)
        key = problem.init.place.tobytes(), problem.init.sign.tobytes()
        if key not in self.starts:
            self.starts[key] = StartMaps(problem, self.program, leaves, arguments)
        return StartDerivative(self.starts[key], problem, leaves, arguments, z)

    def _problem(self, recording: Recording) -> tuple[Point, Any, StartProblem]:
        """The equations of the start, what they give, and with which data."""
        at, arguments = self._before_event(recording)
        starts, t = recording.asked.starts, float(at.t)
        return at, arguments, self.sim._start_problem(self.program, arguments, starts, t, None)

    def _before_event(self, recording: Recording) -> tuple[Point, Any]:
        """What the equations of the start give, and the data with which they do."""
        t, found, event = recording.legs[0].start.t, recording.point, recording.point.event
        if event is None:
            return Point(t, found.x, found.xdot), recording.start_arguments
        return Point(t, event.x, event.xdot), event.arguments

    def _around(self, recording: Recording) -> tuple[Any, Any]:
        """Constants and variables of the discrete values behind the start."""
        at, arguments = self._before_event(recording)
        start = self.maps.point(at)
        moving, others = self.maps.parts(arguments)
        declared = self.maps.parts(recording.arguments)[0]
        return (start.t, others, moving), (start.x, start.xdot, (declared[0], *moving[1:]))

    def _happened(self, recording: Recording, keep: list[Any]) -> tuple[Any, Any]:
        """Constants and variables of the event at the start."""
        assert self.event is not None
        assert recording.point.event is not None
        known = self.event.happened(recording.point.event, recording.legs[0], keep)
        return known, self._around(recording)[1]


class StartTrace:
    """How the start moves in one direction: what discrete values follow from, and what start values do."""

    def __init__(self, moves: Any, data: Any):
        self.moves, self.data = moves, data


def _bases(pair: Pair) -> Pair:
    """Of the arguments before the start."""
    return _moving(pair[0]), None if pair[1] is None else _moving(pair[1])


def _moving(tangent: RunData) -> Any:
    """Tangents of what can move in the arguments at the start."""
    return tuple(jnp.asarray(leaf, float) for leaf in jax.tree.leaves((tangent.p, tangent.inputs)))


def _both(function: Any, *pairs: Pair) -> Pair:
    """A function that is linear, of quantities and of their tangents."""
    first, second = zip(*pairs, strict=True)
    return function(*first), None if second[0] is None else function(*second)


def _sum(one: Any, other: Any) -> Any:
    return jax.tree.map(jnp.add, one, other)

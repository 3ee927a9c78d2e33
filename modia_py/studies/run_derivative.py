"""The derivative of a run: tangents forward through its legs, gradients backward.

    start      the implicit function theorem (`start_chain`)
    legs       recorded steps, block by block (`solvers.sensitivity.blocks`)
    stops      the same x, or the impulse equations where an input jumps
    events     their times and values (`event_derivative`)

All pieces are linear and transposed by JAX, or symmetric: forward and backward agree to rounding. Second
derivatives are derivatives of this chain: with a trace, which says how all points of the run move in one
direction, each quantity travels together with its own tangent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..program.program import Program
from ..simulation.run import METHODS
from ..solvers.compile_options import fast_jit
from ..solvers.loop.compiled import compile_problem
from ..solvers.method.formula import RADAU
from ..solvers.sensitivity.blocks import Place, make_sweeps
from ..solvers.sensitivity.lifted import Jets
from ..solvers.sensitivity.moves import first_table
from ..solvers.sensitivity.stages import StageMaps
from ..solvers.sensitivity.steps import MultistepMaps
from .event_derivative import EventDerivative
from .jumps import Jumps
from .leg_blocks import Block, blocks_of, filled, row_of, workspace_of
from .linear_maps import LinearMaps, NoDerivative
from .recording import Leg, Recording
from .start_chain import StartChain
from .theta import RunData
from .wanted import Wanted

Pair = tuple[Any, Any]
"""A quantity and its tangent, or None."""
NOTHING = 1e-6
"""Tangents of outputs that are smaller than those of others by this need not be accurate by themselves."""
AT_EVENT = 1e-10
"""Relative difference of times below which an output is at an event."""


@dataclass(frozen=True, eq=False)
class LegTrace:
    """How the points of a leg move in one direction."""

    start: Any
    """x, xdot, p"""
    steps: tuple[np.ndarray, np.ndarray]
    rows: tuple[np.ndarray, np.ndarray]
    end: Any
    """x"""

    def place(self, block: Block) -> Place:
        size = len(block.of_steps.t)
        steps = tuple(filled(part[block.steps], size) for part in self.steps)
        rows = tuple(filled(part[block.inside], size) for part in self.rows)
        return Place(self.start[2], steps, rows)


@dataclass(frozen=True, eq=False)
class Trace:
    """How all points of a run move in one direction."""

    data: RunData
    start: Any
    legs: list[LegTrace]


class RunDerivatives:
    """Derivatives of the runs of one program, for some outputs. Nothing is compiled for other values."""

    def __init__(self, sim: Any, recording: Recording, wanted: Wanted, linear_solver: str, method: str):
        self.sim = sim
        self.program: Program = sim.translation.program_without_native_code(recording.signals)
        program = self.program
        first = recording.legs[0]
        example = first.arguments

        def point() -> tuple[Any, Any, Any, Any]:
            return first.start.t, first.start.x, first.start.xdot, 1e-3

        self.compiled = compile_problem(program.problem, example, linear_solver, "ndf", "auto", point)
        self.width = wanted.width
        values, is_consistent = wanted.values(sim, program)
        self.maps = LinearMaps(program, self.compiled, example, values)
        self.steps: MultistepMaps | StageMaps = MultistepMaps()
        if METHODS[method] == RADAU.name:
            self.steps = StageMaps(program.problem, self.compiled.pattern, linear_solver)
        self.sweeps = make_sweeps(
            self.compiled.method, self.steps, self.maps.leaves, values, is_consistent,
            lambda function: fast_jit(function, program.problem.size),
        )  # fmt: skip
        self.events = None if program.events is None else EventDerivative(program, self.maps)
        self.start = StartChain(sim, program, self.maps, self.events)
        self.jumps = Jumps(program, example)

    def check_times(self, recording: Recording, moves: np.ndarray) -> None:
        """Complain about stops that parameters move: derivatives are taken with these times fixed.
        `moves`: flags of the elements of p."""
        expressions = self.sim.translation.program(recording.signals).cache.abrupt_expressions
        found = [leg.stretch for leg in recording.legs if leg.stretch is not None]
        if expressions is None or not expressions.groups or not found:
            return
        p = np.asarray(recording.arguments.p)
        here = expressions.rows(p)[0]
        there = expressions.rows(np.where(moves, p + 1e-3 * (1.0 + np.abs(p)), p))[0]
        same = jax.tree.map(
            lambda one, other: one.shape == other.shape and np.array_equal(one, other), here, there
        )
        if not all(jax.tree.leaves(same)):
            raise NoDerivative(
                f"At time {found[0].start:.9g} {found[0].cause or 'a function of time'} changes abruptly, "
                f"and parameters of the derivative may move that time. Write `where(...)` in place of "
                f"`np.where` and the like: its events have derivatives."
            )

    # Forward ---------------------------------------------------------------------------------------------

    def push(
        self, recording: Recording, tangent: RunData, second: RunData | None = None,
        trace: Trace | None = None, at_events: bool = True, judged: bool = False,
    ) -> Pair:  # fmt: skip
        """Tangents of the output, shape (directions, times, values), for tangents of the data of the run
        with an axis of directions in front. With a trace, their tangents in its direction, too. Without
        `at_events`, outputs at times of events need none. If it is `judged`, there is one direction, and
        its error behind it."""
        count = 2 if judged else len(jnp.atleast_2d(tangent.p))
        found = [np.zeros((count, len(recording.output.t), self.width)) for _ in range(2)]
        own = None if trace is None else trace.start
        (dx, dxdot, dp), more = self.start.forward(recording, (tangent, second), own)
        if judged:
            dx, dxdot, dp = jax.tree.map(
                lambda part: jnp.stack([part[0], jnp.zeros_like(part[0])]), (dx, dxdot, dp)
            )
        for number, leg in enumerate(recording.legs):
            here = None if trace is None else trace.legs[number]
            if number:
                former = None if trace is None else trace.legs[number - 1]
                (dx, dxdot, dp), more = self._cross(
                    recording, number, former, ((dx, dp), more), at_events=at_events, judged=judged
                )
            pair = (dx, dxdot, dp), more
            (dx, _, dp), more = self._push_leg(recording, leg, here, pair, found, judged)
            more = None if more is None else (more[0], more[2])
        return found[0], None if trace is None else found[1]

    def error(self, recording: Recording, tangent: RunData) -> float:
        """An estimate of the error that the steps make in the tangent of the output in one direction, as a
        part of its largest value, for the worst output. Steps are chosen for the run, and may be too long
        for that."""
        if isinstance(self.steps, MultistepMaps):
            tangents, errors = self.push(recording, tangent, judged=True)[0]
        else:  # beside steps of half the size, which stay
            before = self.push(recording, tangent, at_events=False)[0][0]
            recording.shorten(0.5 * recording.longest_step)
            tangents = self.push(recording, tangent, at_events=False)[0][0]
            errors = tangents - before
        largest, worst = (np.abs(part).max(axis=0) for part in (tangents, errors))
        if not np.any(largest > 0):
            return float(worst.max(initial=0.0))
        return float(np.max(worst / (largest + NOTHING * largest.max())))

    def _push_leg(
        self, recording: Recording, leg: Leg, trace: LegTrace | None, pair: Pair, found: list[np.ndarray],
        judged: bool,
    ) -> Pair:  # fmt: skip
        """The tangents where the leg ends; rows of output are written."""
        sweep = self.sweeps.judge if judged else self.sweeps.forward
        (dx, dxdot, dp), second = pair
        moving, others = self.maps.parts(leg.arguments)
        for row in leg.rows[leg.step < 0]:
            at = self.maps.point(row_of(recording.output, row))
            known, place = (at.t, others), (at.x, at.xdot, moving)
            tangents = None if trace is None else (trace.start, second)
            for room, rows in zip(
                found, self.maps.values.forward(known, (place, pair[0]), tangents), strict=True
            ):
                if rows is not None:
                    room[:, row] = rows
        if not leg.count:
            return pair
        h = leg.made.h[0]
        table = jax.vmap(first_table, (None, 0, 0))(h, dx, dxdot)
        table2 = None if second is None else jax.vmap(first_table, (None, 0, 0))(h, *second[:2])
        with workspace_of(self.compiled, self.steps, self.maps, leg) as workspace:
            for block in blocks_of(recording, leg, self.sweeps.block):
                variables, moves = (workspace.place(block), table, dp), None
                if trace is not None and second is not None:
                    moves = trace.place(block), table2, second[2]
                own, other = sweep(block.known(workspace), variables, moves)
                for room, part in zip(found, (own, other), strict=True):
                    if part is not None:
                        room[:, block.chosen] = np.moveaxis(np.asarray(part[1])[: len(block.chosen)], 0, 1)
                table, table2 = own[0], None if other is None else other[0]
        after = (table[:, 0], dxdot, dp)
        if second is None or table2 is None:
            return after, None
        return after, (table2[:, 0], second[1], second[2])

    def trace(self, recording: Recording, tangent: RunData) -> Trace:
        """How all points of a run move, for one tangent of its data."""
        if not recording.is_whole:
            raise NoDerivative(
                "Second derivatives need all steps of a run in memory: allow more of it (memory=...)."
            )
        many = jax.tree.map(lambda part: jnp.asarray(part)[None], tangent)
        start, seen = self.start.forward_with_trace(recording, many)
        dx, dxdot, dp = start
        legs: list[LegTrace] = []
        for number, leg in enumerate(recording.legs):
            if number:
                (dx, dxdot, dp), _ = self._cross(recording, number, None, ((dx, dp), None))
            own = jax.tree.map(lambda part: part[0], (dx, dxdot, dp))
            shape = (len(own[0]),) if leg.stages == 1 else (leg.stages, len(own[0]))
            steps = [np.zeros((leg.count, *shape)) for _ in range(2)]
            rows = [np.zeros((int((leg.step >= 0).sum()), len(own[0]))) for _ in range(2)]
            if leg.count:
                table = first_table(leg.made.h[0], own[0], own[1])
                with workspace_of(self.compiled, self.steps, self.maps, leg) as workspace:
                    for block in blocks_of(recording, leg, self.sweeps.block):
                        variables = workspace.place(block), table, own[2]
                        (table, at_steps, at_rows), _ = self.sweeps.trace(block.known(workspace), variables)
                        count, inside = int(block.of_steps.count), len(block.chosen)
                        for k in range(2):
                            steps[k][block.steps] = np.asarray(at_steps[k])[:count]
                            rows[k][block.inside] = np.asarray(at_rows[k])[:inside]
                dx = table[0][None]
            legs.append(LegTrace(own, (steps[0], steps[1]), (rows[0], rows[1]), dx[0]))
        return Trace(tangent, seen, legs)

    # Backward --------------------------------------------------------------------------------------------

    def pull(
        self, recording: Recording, gradient: np.ndarray, second: np.ndarray | None = None,
        trace: Trace | None = None,
    ) -> Pair:  # fmt: skip
        """The gradient by the data of the run, from that by the output, shape (gradients, times, values).
        With a trace, its tangent in that direction, too."""
        legs, count = recording.legs, len(gradient)
        moving, _ = self.maps.parts(legs[-1].arguments)

        def nothing() -> Any:
            x = jnp.zeros((count, self.program.problem.size))
            return x, jax.tree.map(lambda part: jnp.zeros((count, *part.shape)), moving)

        pair: Pair = nothing(), None if trace is None else nothing()
        for number in range(len(legs) - 1, -1, -1):
            here = None if trace is None else trace.legs[number]
            pair = self._pull_leg(recording, legs[number], here, pair, (gradient, second))
            if number:
                former = None if trace is None else trace.legs[number - 1]
                pair = self._cross(recording, number, former, pair, backward=True)
        return self.start.backward(recording, pair, None if trace is None else trace.start)

    def _pull_leg(
        self, recording: Recording, leg: Leg, trace: LegTrace | None, pair: Pair, of_rows: Pair
    ) -> Pair:
        """Gradients by x, xdot and p where the leg begins, from those by x and p where it ends."""
        (dx, dp), second = pair
        if leg.count:
            pair = self._pull_steps(recording, leg, trace, pair, of_rows)
        else:
            pair = (
                (dx, jnp.zeros_like(dx), dp),
                None if second is None else (second[0], jnp.zeros_like(dx), second[1]),
            )
        moving, others = self.maps.parts(leg.arguments)
        for row in leg.rows[leg.step < 0]:
            at = self.maps.point(row_of(recording.output, row))
            known, place = (at.t, others), (at.x, at.xdot, moving)
            tangents = None if trace is None else (trace.start, of_rows[1][:, row])
            found = self.maps.values.backward(known, (place, of_rows[0][:, row]), tangents)
            pair = (
                jax.tree.map(jnp.add, pair[0], found[0]),
                (None if pair[1] is None else jax.tree.map(jnp.add, pair[1], found[1])),
            )
        return pair

    def _pull_steps(
        self, recording: Recording, leg: Leg, trace: LegTrace | None, pair: Pair, of_rows: Pair
    ) -> Pair:
        (dx, dp), second = pair
        nowhere, size = jnp.zeros_like(dx), self.sweeps.block
        as_table = jax.vmap(lambda part: first_table(0.0, part, part))

        def rows_of(block: Block, rows: np.ndarray) -> np.ndarray:
            room = np.zeros((len(rows), size, rows.shape[2]))
            room[:, : len(block.chosen)] = rows[:, block.chosen]
            return room

        own = as_table(dx), dp
        other = None if second is None else (as_table(second[0]), second[1])
        with workspace_of(self.compiled, self.steps, self.maps, leg) as workspace:
            for block in blocks_of(recording, leg, size, backward=True):
                table, dp = own
                variables = workspace.place(block), table, rows_of(block, of_rows[0]), dp
                tangents = None
                if trace is not None and other is not None:
                    tangents = trace.place(block), other[0], rows_of(block, of_rows[1]), other[1]
                own, other = self.sweeps.backward(block.known(workspace), variables, tangents)

        def at_start(pair: Any) -> Any:
            table, dp = pair
            return table[:, 0], nowhere + leg.made.h[0] * table[:, 1], dp

        return at_start(own), None if other is None else at_start(other)

    # Between legs ----------------------------------------------------------------------------------------

    def _cross(
        self, recording: Recording, number: int, trace: LegTrace | None, pair: Pair, backward: bool = False,
        at_events: bool = True, judged: bool = False,
    ) -> Pair:  # fmt: skip
        """From the end of the leg before to the start of this one, or back."""
        leg, following = recording.legs[number - 1], recording.legs[number]
        keep: list[Any] = []
        jets: Jets
        known: Any
        if following.event is not None:
            assert self.events is not None
            jets, known = self.events.jets, self.events.happened(leg, following, keep)
        else:
            right = self.maps.hold(following.start, following.arguments, keep)
            jumps = following.stretch is not None and following.stretch.starts_with == "jump"
            jets, known = self.maps.stop, (right, () if jumps else None)
            if jumps:
                self.maps.check_impulse(right, self.maps.point(leg.end).x)
        left = leg if following.event is not None else following
        at = self.maps.point(leg.end).x, self.maps.parts(left.arguments)[0]
        moves = None if trace is None else (trace.end, trace.start[2])
        if backward:  # nothing follows from how far the event moves
            count = 0 if following.event is None or self.events is None else self.events.watched
            still = jnp.zeros((len(pair[0][0]), count))
            pair = (*pair[0], still), None if pair[1] is None else (*pair[1], still)
        tangents = None if moves is None else (moves, pair[1])
        found = (jets.backward if backward else jets.forward)(known, (at, pair[0]), tangents)
        jax.block_until_ready(found)  # while the factors are still there
        if backward:
            return found
        if following.event is not None and self.events is not None and not judged:
            self.events.check_together(known, found[0][3])
            self._check_moving(recording, number, np.asarray(found[0][3]), at_events)
        return found[0][:3], None if found[1] is None else found[1][:3]

    def has_coincidences(self, recording: Recording) -> bool:
        """Whether an event is noticed by more than one relation or sample, or is where an input bends."""
        events = self.events
        if events is None:
            return False
        return any(
            leg.event is not None and (len(events.noticed_by(leg.event)) > 1 or _beside_stop(recording, k))
            for k, leg in enumerate(recording.legs)
        )

    def rows_at_events(self, recording: Recording) -> list[int]:
        """Rows of the output at times at which there is an event."""
        t = recording.output.t
        events = np.array([leg.start.t for leg in recording.legs if leg.event is not None])
        if not len(events) or not len(t):
            return []
        near = np.abs(t[:, None] - events).min(axis=1) <= AT_EVENT * (1.0 + np.abs(t))
        return np.flatnonzero(near).tolist()

    def _check_moving(self, recording: Recording, number: int, dt: np.ndarray, at_events: bool) -> None:
        """Complain about an event that moves and must not."""
        leg, t = recording.legs[number], recording.output.t
        if not np.any(dt != 0):
            return
        if _beside_stop(recording, number):
            raise NoDerivative(
                f"An event takes place at time {leg.start.t:.9g}, where an input jumps or bends, and what "
                f"the derivative is taken by moves it: before and behind that time are two derivatives."
            )
        here = np.abs(t - leg.start.t) <= AT_EVENT * (1.0 + np.abs(t))
        if at_events and np.any(here):
            raise NoDerivative(
                f"There is an event at time {t[here][0]:.9g}, which is a time of output, and what the "
                f"derivative is taken by moves it: outputs have no derivative there. Choose another time."
            )


def _beside_stop(recording: Recording, number: int) -> bool:
    """Whether the event that a leg begins with is at a stop, that does not move."""
    legs, t = recording.legs, recording.legs[number].start.t
    near = legs[max(number - 1, 0) : number + 2]
    return any(
        leg.stretch is not None and abs(leg.start.t - t) <= AT_EVENT * (1.0 + abs(t)) for leg in near
    )

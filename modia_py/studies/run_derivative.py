"""The derivative of a run: tangents forward through its legs, gradients backward.

    start      the implicit function theorem (`start_derivative`)
    legs       recorded steps, block by block (`solvers.sensitivity.blocks`)
    stops      the same x, or the impulse equations where an input jumps
    events     their times and values (`event_derivative`)

All pieces are linear and transposed by JAX, or symmetric: forward and backward agree to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..arrays.index1 import Slot
from ..program.program import Arguments, Program
from ..solvers.compile_options import fast_jit
from ..solvers.linear.contract import SingularMatrix
from ..solvers.loop.compiled import compile_problem
from ..solvers.sensitivity.blocks import Rows, Steps, make_sweeps
from ..solvers.sensitivity.moves import Made, Point, first_table
from .event_derivative import EventDerivative
from .linear_maps import LinearMaps, NoDerivative
from .recording import Leg, Recording
from .start_derivative import StartDerivative, StartMaps
from .theta import RunData

Places = tuple[np.ndarray, np.ndarray]
"""Of the wanted variables: places in w, and signs."""
TURNS = 4
"""Start values and discrete values that depend on each other are found in turns."""


class RunDerivatives:
    """Derivatives of the runs of one program, for some outputs. Nothing is compiled for other values."""

    def __init__(self, sim: Any, recording: Recording, places: Places, linear_solver: str):
        self.sim = sim
        self.program: Program = sim.translation.program_without_native_code(recording.signals)
        program, (place, sign) = self.program, places
        first = recording.legs[0]
        example = first.arguments

        def point() -> tuple[Any, Any, Any, Any]:
            return first.start.t, first.start.x, first.start.xdot, 1e-3

        self.compiled = compile_problem(program.problem, example, linear_solver, "ndf", "auto", point)
        self.signs = np.asarray(sign, float)

        def values(t: Any, x: Any, xdot: Any, arguments: Arguments) -> Any:
            return self.signs * program.values(t, x, xdot, arguments)[place]

        self.maps = LinearMaps(program, self.compiled, example, values)
        in_x = program.layout.x_of_place[place]
        kinds = np.append(program.layout.kind, -1)[in_x]
        is_consistent = bool(program.functions.size) and not np.all((in_x >= 0) & (kinds == Slot.STATE))
        self.sweeps = make_sweeps(
            self.compiled.method, self.maps.leaves, values, is_consistent,
            lambda function: fast_jit(function, program.problem.size),
        )  # fmt: skip
        self.starts: dict[Any, StartMaps] = {}
        self.events = None if program.events is None else EventDerivative(program, self.maps)

    def _check_times(self, recording: Recording, moves: np.ndarray) -> None:
        """Complain about stops that parameters move: derivatives are taken with these times fixed."""
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

    def push(self, recording: Recording, tangent: RunData) -> np.ndarray:
        """Tangents of the output, shape (directions, times, values), for tangents of the data of the run
        with an axis of directions in front."""
        count = len(jnp.atleast_2d(tangent.p))
        found = np.zeros((count, len(recording.output.t), len(self.signs)))
        self._check_times(recording, np.any(np.asarray(tangent.p) != 0, axis=0))
        dx, dxdot, dp = self._push_start(recording, tangent)
        for number, leg in enumerate(recording.legs):
            if number:
                cross = jax.vmap(self._crossing(recording.legs[number - 1], leg))
                dx, dxdot, dp = cross(dx, dp)
            with self._workspace(leg) as (tables, factors):
                dx = self._push_leg(recording, leg, tables, factors, dx, dxdot, dp, found)
        return found

    def _push_leg(
        self, recording: Recording, leg: Leg, tables: Any, factors: Any, dx: Any, dxdot: Any, dp: Any,
        found: np.ndarray,
    ) -> Any:  # fmt: skip
        moving, others = self.maps.parts(leg.arguments)
        for row in leg.rows[leg.step < 0]:
            at = self.maps.point(_row(recording.output, row))
            push = jax.vmap(
                lambda *tangents, at=at: self.maps.values(tables, moving, others, at, *tangents)
            )
            found[:, row] = push(dx, dxdot, dp)
        if not leg.count:
            return dx
        table = jax.vmap(lambda dx, dxdot: first_table(leg.made.h[0], dx, dxdot))(dx, dxdot)
        for steps, rows, chosen in self._blocks(recording, leg):
            table, of_rows = self.sweeps.forward(tables, moving, others, steps, rows, factors, table, dp)
            found[:, chosen] = np.moveaxis(np.asarray(of_rows)[: len(chosen)], 0, 1)
        return table[:, 0]

    # Backward --------------------------------------------------------------------------------------------

    def pull(self, recording: Recording, gradient: np.ndarray, moves: np.ndarray) -> RunData:
        """The gradient by the data of the run, from that by the output, shape (times, values). `moves`:
        flags of the elements of p that are asked for."""
        self._check_times(recording, moves)
        legs = recording.legs
        moving, _ = self.maps.parts(legs[-1].arguments)
        dp = jax.tree.map(jnp.zeros_like, moving)
        dx = jnp.zeros(self.program.problem.size)
        for number in range(len(legs) - 1, -1, -1):
            leg = legs[number]
            with self._workspace(leg) as (tables, factors):
                dx, dxdot, dp = self._pull_leg(recording, leg, tables, factors, dx, dp, gradient)
            if number:
                cross = self._crossing(legs[number - 1], leg)
                dx, dp = jax.linear_transpose(cross, dx, dp)((dx, dxdot, dp))
        return self._pull_start(recording, dx, dxdot, dp)

    def _pull_leg(
        self, recording: Recording, leg: Leg, tables: Any, factors: Any, dx: Any, dp: Any,
        gradient: np.ndarray,
    ) -> tuple[Any, Any, Any]:  # fmt: skip
        moving, others = self.maps.parts(leg.arguments)
        dxdot = jnp.zeros_like(dx)
        if leg.count:
            table = first_table(0.0, dx, dxdot)
            for steps, rows, chosen in reversed(list(self._blocks(recording, leg))):
                of_rows = np.zeros((self.sweeps.block, len(self.signs)))
                of_rows[: len(chosen)] = gradient[chosen]
                table, dp = self.sweeps.backward(
                    tables, moving, others, steps, rows, factors, table, of_rows, dp
                )
            dx, dxdot = table[0], leg.made.h[0] * table[1]
        for row in leg.rows[leg.step < 0]:
            at = self.maps.point(_row(recording.output, row))

            def push(*tangents: Any, at: Point = at) -> Any:
                return self.maps.values(tables, moving, others, at, *tangents)

            by_x, by_xdot, by_p = jax.linear_transpose(push, dx, dxdot, dp)(jnp.asarray(gradient[row]))
            dx, dxdot, dp = dx + by_x, dxdot + by_xdot, jax.tree.map(jnp.add, dp, by_p)
        return dx, dxdot, dp

    # Legs ------------------------------------------------------------------------------------------------

    @contextmanager
    def _workspace(self, leg: Leg) -> Iterator[tuple[Any, Any]]:
        """Tables of a linear solver that nobody else uses meanwhile, and first factors."""
        with self.compiled.workspaces.one() as workspace:
            solver = workspace.solver
            tables = self.compiled.tables._replace(solver=solver.tables)
            end, c = (leg.at if leg.count else None), 1.0
            at = leg.start if end is None else _row(end, 0)
            if leg.count:
                c = leg.made.h[0] / self.compiled.method.formula.leading[int(leg.made.order[0])]
            values = self.compiled.matrix(tables.gather, *self.maps.point(at), leg.arguments, c)
            try:
                factors = solver.prepare(values)
            except SingularMatrix:
                raise NoDerivative(f"The equations are singular at time {float(at.t):.9g}.") from None
            yield tables, factors

    def _blocks(self, recording: Recording, leg: Leg) -> Iterator[tuple[Steps, Rows, np.ndarray]]:
        """Steps and rows of a leg in pieces of one size, and which rows of the output these are."""
        size = self.sweeps.block
        inside = leg.step >= 0
        of_row, rows = leg.step[inside], leg.rows[inside]
        first, row = 0, 0
        while first < leg.count:
            end = min(first + size, leg.count)
            stop = int(np.searchsorted(of_row, end))
            if stop - row > size:  # so many rows that the steps have to be fewer
                end = int(of_row[row + size])
                stop = row + size if end > first else stop
                if end <= first:
                    raise NoDerivative(f"More than {size} times of output lie within one step.")
                stop = int(np.searchsorted(of_row, end))
            steps = slice(first, end)
            chosen = rows[row:stop]
            yield (
                Steps(
                    np.int32(end - first),
                    Point(*(_filled(part[steps], size) for part in leg.at)),
                    Made(*(_filled(part[steps], size, 1) for part in leg.made)),
                ),
                Rows(
                    np.int32(len(chosen)),
                    Point(*(_filled(part[chosen], size) for part in recording.output)),
                    _filled(of_row[row:stop] - first, size, -1).astype(np.int32),
                ),
                chosen,
            )
            first, row = end, stop

    def _crossing(self, leg: Leg, following: Leg) -> Callable[[Any, Any], tuple[Any, Any, Any]]:
        """(dx, dp) at the end of a leg -> (dx, dxdot, dp) at the start of the next one; linear."""
        if following.event is not None:
            assert self.events is not None
            return self.events.push(leg, following)
        right = self.maps.point(following.start)
        place = self.maps.at(right, following.arguments)
        left = jnp.asarray(leg.end.x)
        jumps = following.stretch is not None and following.stretch.starts_with == "jump"

        def stop(dx: Any, dp: Any) -> tuple[Any, Any, Any]:
            if jumps:
                dx = place.impulse(left, dx, dp, jnp.zeros(()))
            return dx, place.slope(dx, dp, jnp.zeros(())), dp

        return stop

    # The start -------------------------------------------------------------------------------------------

    def _start_derivative(self, recording: Recording) -> StartDerivative:
        first, program = recording.legs[0], self.program
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

    def _discretes(self, recording: Recording) -> Callable[[Any, Any, Any], Any] | None:
        """(dx, dxdot, dp) -> dp with the tangents of discrete values after the start."""
        events = self.program.events
        if events is None:
            return None
        start = self.maps.point(recording.legs[0].start)
        moving, others = self.maps.parts(recording.start_arguments)
        declared = jnp.asarray(events.discretes(recording.arguments.p))
        size = events.functions.parameter_size

        def follow(dx: Any, dxdot: Any, dp: Any) -> Any:
            ddeclared = dp[0][size : size + len(declared)]

            def at_start(x: Any, xdot: Any, moving: Any, declared: Any) -> Any:
                a = self.maps.join(moving, others)
                return self.maps.moving_of(events.at_start(start.t, x, xdot, a, declared)[1])

            at = start.x, start.xdot, moving, declared
            return jax.jvp(at_start, at, (dx, dxdot, dp, ddeclared))[1]

        return follow

    def _data_tangent(self, recording: Recording, tangent: RunData) -> Any:
        """Tangents of what can move in the arguments at the start."""
        given = jax.tree.leaves((tangent.p, tangent.inputs))
        return tuple(jnp.asarray(leaf, float) for leaf in given)

    def _push_start(self, recording: Recording, tangent: RunData) -> tuple[Any, Any, Any]:
        dp = self._data_tangent(recording, tangent)
        count, n = len(tangent.p), self.program.problem.size
        if not self.program.functions.size:
            return jnp.zeros((count, n)), jnp.zeros((count, n)), dp
        start = self._start_derivative(recording)
        follow = self._discretes(recording)
        dx, dxdot = map(jnp.asarray, start.push(dp, tangent.init, tangent.guess))
        if follow is None:
            return dx, dxdot, dp
        base = dp
        for _ in range(TURNS):
            dp = jax.vmap(follow)(dx, dxdot, base)
            dx, dxdot = map(jnp.asarray, start.push(dp, tangent.init, tangent.guess))
        return dx, dxdot, dp

    def _pull_start(self, recording: Recording, dx: Any, dxdot: Any, dp: Any) -> RunData:
        if not self.program.functions.size:
            return self._gathered(recording, dp, None, None)
        start = self._start_derivative(recording)
        follow = self._discretes(recording)
        of_p, of_init, of_guess = start.pull(np.asarray(dx), np.asarray(dxdot))
        if follow is None:
            return self._gathered(recording, jax.tree.map(jnp.add, dp, of_p), of_init, of_guess)
        # The turns of `_push_start`, backward.
        transposed = jax.linear_transpose(follow, dx, dxdot, dp)
        total = jax.tree.map(jnp.add, dp, of_p)  # by p behind the last turn
        init, guess = of_init, of_guess
        base = jax.tree.map(jnp.zeros_like, dp)
        for turn in range(TURNS):
            by_x, by_xdot, by_base = transposed(total)
            base = jax.tree.map(jnp.add, base, by_base)
            of_p, of_init, of_guess = start.pull(np.asarray(by_x), np.asarray(by_xdot))
            init, guess = init + of_init, guess + of_guess
            total = of_p
            if turn == TURNS - 1:
                base = jax.tree.map(jnp.add, base, total)
        return self._gathered(recording, base, init, guess)

    def _gathered(self, recording: Recording, dp: Any, of_init: Any, of_guess: Any) -> RunData:
        _, tree = jax.tree.flatten((0.0, recording.arguments.signals.each))
        p, inputs = jax.tree.unflatten(tree, list(dp))
        return RunData(p, of_init, of_guess, inputs)


def _row(rows: Any, k: Any) -> Point:
    return Point(*(part[k] for part in rows))


def _filled(part: np.ndarray, rows: int, last: float = 0.0) -> np.ndarray:
    """So many rows; those beyond mean nothing."""
    room = np.full((rows, *part.shape[1:]), last, part.dtype)
    room[: len(part)] = part
    return room

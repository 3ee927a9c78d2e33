"""The derivative of an event: of its time, and of the values behind it.

An event is where a relation z(t, x, xdot, p) becomes zero, or at a time that parameters may move. It is
written here as a function of the values just before it at the fixed time at which it was located,

    dt      the root of z(t + dt, x(dt), xdot(dt), p), x(dt) along the solution before the event
    passes  what the event makes of the values at t + dt: values that are set, assigned, solved for
    back    along the solution behind the event, by -dt, to the fixed time

with values that are known and the right derivatives, first ones (the saltation matrix) and second ones:
solutions are taken to second order in dt, and roots are found by Newton's iteration from where they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..program.program import Arguments, Program
from ..solvers import impulse_start
from ..solvers.event_contract import Effect, Occasion
from ..solvers.events.handle import MOST_PASSES
from ..solvers.sensitivity.lifted import Jets
from ..solvers.sensitivity.moves import Point, after_impulse, rebased, slope
from ..solvers.solution import EventRecord
from ..start.events import with_rows_of_mode
from .linear_maps import Held, LinearMaps, NoDerivative
from .recording import Leg

GRAZING = 1e-4
"""Rate of a relation, compared with the fastest one since the start of the leg, below which it only touches
zero: it is located as exactly as the square of that."""
TOGETHER = 1e-6
"""Relative difference of the derivatives of two times that are taken for one."""
ROOT_CORRECTIONS = 2
"""Of the time of an event: each makes one more order of derivatives exact."""


class Pass(NamedTuple):
    """One pass of an event: values before it, and after it if equations were solved."""

    number: Any
    x: Any
    xdot: Any
    moving: Any
    others: Any
    after: Held | None


class Happened(NamedTuple):
    """An event as it was."""

    left: Held
    end: Held
    flow_left: Any
    """Second derivatives of x by time, before it"""
    flow_end: Any
    """and behind it."""
    which: Any
    """The relation or sample that it is noticed by."""
    rates: Any
    """How fast relations and samples change; infinite for those that it is not noticed by."""
    passes: tuple[Pass, ...]


class EventDerivative:
    """Derivatives of the events of a program; their pieces are compiled once."""

    def __init__(self, program: Program, linear: LinearMaps):
        assert program.events is not None
        self.program, self.linear = program, linear
        self.events, self.contract = program.events, program.events.contract
        self._one_pass = linear.jit(self.contract.one_pass)
        self._begin = linear.jit(self.contract.begin)
        self._moments = linear.jit(self._moments_of)
        self.jets = Jets(self._happen, linear.jit)

    def _happen(self, known: Happened, x: Any, moving: Any) -> Any:
        """(x, p) before the event -> (x, xdot, p) behind it, at the same fixed time; and how far it moves,
        by each relation and sample that it is noticed by."""
        linear, contract, left = self.linear, self.contract, known.left
        eq, t = linear.equations(left), left.at.t
        xdot = slope(eq, left.factors, left.at, t, x, moving)

        def moved(dt: Any) -> Any:
            there = x + xdot * dt + 0.5 * known.flow_left * dt**2
            return t + dt, there, slope(eq, left.factors, left.at, t + dt, there, moving)

        dt, moves = jnp.zeros(()), jnp.zeros(self.watched)
        if self.watched:

            def improve(dt: Any, _: Any) -> tuple[Any, Any]:
                z = self._residuals((*moved(dt), moving), left.others)
                steps = -(z - jax.lax.stop_gradient(z)) / known.rates
                return dt + steps[known.which], steps

            dt, moves = jax.lax.scan(improve, dt, None, length=ROOT_CORRECTIONS)
            moves = moves[0]
        now, x, xdot = moved(dt)
        a = contract.begin(now, x, xdot, linear.join(moving, left.others), int(Occasion.DURING))
        x, moving = self.through(now, x, xdot, linear.moving_of(a), known.passes, known.end)
        end = known.end
        behind = linear.equations(end), end.factors, end.at
        xdot = slope(*behind, now, x, moving)
        x = x - xdot * dt + 0.5 * known.flow_end * dt**2
        return x, slope(*behind, t, x, moving), moving, moves

    def through(
        self, now: Any, x: Any, xdot: Any, moving: Any, passes: tuple[Pass, ...], end: Held
    ) -> tuple[Any, Any]:
        """x and p after the passes of an event, at whose end these values hold."""
        linear, contract = self.linear, self.contract
        for one in passes:
            x, xdot, moving = rebased((x, xdot, moving), (one.x, one.xdot, one.moving))
            x, a, _ = contract.one_pass(now, x, xdot, linear.join(moving, one.others), one.number)
            moving = linear.moving_of(a)
            if one.after is not None:
                x, xdot, moving = self.restarted(now, x, moving, one.after)
        a = linear.join(moving, end.others)
        # What was before the last pass is the same now.
        moving = linear.moving_of(contract.with_discretes(a, contract.discretes(a)))
        x, moving = rebased((x, moving), (end.at.x, end.moving))
        return x, moving

    def restarted(self, now: Any, x: Any, moving: Any, after: Held) -> tuple[Any, Any, Any]:
        """x, xdot and p after equations were solved anew."""
        moving = rebased(moving, after.moving)
        own = self.linear.equations(after), after.factors, after.at
        x = after_impulse(*own, now, x, moving)
        return x, slope(*own, now, x, moving), moving

    @property
    def watched(self) -> int:
        """How many relations and samples events may be noticed by."""
        return len(self.events.functions.relations) + len(self.events.functions.sample_places)

    def noticed_by(self, event: EventRecord) -> list[int]:
        """The relations and samples, which stand behind them, that an event is noticed by."""
        functions = self.events.functions
        relations = np.flatnonzero(np.isin(functions.relations.place, event.triggers))
        samples = np.flatnonzero(np.isin(functions.sample_places, event.triggers))
        return [*relations.tolist(), *(samples + len(functions.relations)).tolist()]

    def check_together(self, happened: Happened, moves: np.ndarray) -> None:
        """Complain about an event that moves differently by different relations; the first axis of `moves`
        counts directions."""
        own = np.asarray(moves)[:, np.isfinite(np.asarray(happened.rates))]
        if not own.shape[1]:
            return
        largest, first = np.abs(own).max(axis=1), own[:, :1]
        if not np.all(np.abs(own - first).max(axis=1) <= TOGETHER * largest):
            raise NoDerivative(
                f"Two events take place at time {float(happened.left.at.t):.9g} by coincidence: with other "
                f"parameters one comes before the other, and there is no derivative."
            )

    def _residuals(self, at: tuple[Any, ...], others: Any) -> Any:
        """Zero where an event is: of relations, and of samples. `at`: t, x, xdot, p."""
        t, x, xdot, moving = at
        a = self.linear.join(moving, others)
        found = self.events.z(t, x, xdot, a)
        if not len(self.events.functions.sample_places):
            return found
        return jnp.concatenate([found, t - self.events.sample_times(t, a)])

    def happened(self, leg: Leg, following: Leg, keep: list[Any]) -> Happened:
        """What the derivative of an event needs of it."""
        linear = self.linear
        left = linear.hold(leg.end, leg.arguments, keep)
        end = linear.hold(following.start, following.arguments, keep)
        flow = linear.flow(left)
        which, rates = self._moment(leg, following, left, flow)
        passes = self._passes(leg, left.at, keep)
        return Happened(left, end, flow, linear.flow(end), which, rates, passes)

    # When ------------------------------------------------------------------------------------------------

    def _moments_of(self, held: Held, flow: Any) -> tuple[Any, Any]:
        """How fast what events are noticed by changes, and its gradients by x."""

        def own(t: Any, x: Any, xdot: Any) -> Any:
            return self._residuals((t, x, xdot, held.moving), held.others)

        _, rate = jax.jvp(own, tuple(held.at), (jnp.ones(()), held.at.xdot, flow))
        return rate, jax.jacrev(own, argnums=1)(*held.at)

    def _moment(self, leg: Leg, following: Leg, held: Held, flow: Any) -> tuple[Any, Any]:
        """What the event is noticed by first, and rates."""
        assert following.event is not None
        chosen = self.noticed_by(following.event)
        rates = np.full(self.watched, np.inf)
        if not chosen:
            return np.int32(0), rates
        rate, of_x = jax.tree.map(np.asarray, self._moments(held, flow))
        self._check_rates(rate, of_x, leg, chosen)
        rates[chosen] = rate[chosen]
        return np.int32(chosen[0]), rates

    def _check_rates(self, rate: np.ndarray, of_x: np.ndarray, leg: Leg, chosen: list[int]) -> None:
        sizes = np.abs(of_x) @ np.resize(leg.fastest(), of_x.shape[1])
        for k in (k for k in chosen if k < len(self.events.functions.relations)):
            if not abs(rate[k]) > GRAZING * sizes[k]:
                text = self.events.functions.relations
                raise NoDerivative(
                    f"`{text.text(k)}` ({text.source(k)}) only touches its limit at time "
                    f"{float(leg.end.t):.9g}: the time of the event has no derivative."
                )

    # What follows ----------------------------------------------------------------------------------------

    def _passes(self, leg: Leg, left: Point, keep: list[Any]) -> tuple[Pass, ...]:
        """The passes of the event, as they were."""
        t, (x, xdot) = float(left.t), (np.asarray(left.x), np.asarray(left.xdot))
        a: Arguments = self._begin(t, x, xdot, leg.arguments, int(Occasion.DURING))
        return self.passes(t, x, xdot, a, 0, keep)

    def passes(
        self, t: float, x: np.ndarray, xdot: np.ndarray, a: Arguments, first: int, keep: list[Any]
    ) -> tuple[Pass, ...]:
        """The passes of an event from one on, made again."""
        passes: list[Pass] = []
        for number in range(first, MOST_PASSES):
            x_set, behind, effect = self._one_pass(t, x, xdot, a, number)
            if effect == Effect.NOTHING:
                return tuple(passes)
            before = Pass(np.int32(number), jnp.asarray(x), jnp.asarray(xdot), *self.linear.parts(a), None)
            if effect == Effect.EQUATIONS:
                after, behind = self.restart(t, x_set, xdot, behind, keep)
                before = before._replace(after=after)
                x, xdot = np.asarray(after.at.x), np.asarray(after.at.xdot)
            passes.append(before)
            a = behind
        raise NoDerivative(f"The event at time {t:.9g} could not be repeated: it has no end.")

    def restart(
        self, t: float, x_set: Any, xdot: Any, a: Arguments, keep: list[Any]
    ) -> tuple[Held, Arguments]:
        """Values after equations were solved anew, with what derivatives need there."""
        a = with_rows_of_mode(self.program, t, x_set, xdot, a)
        found = impulse_start(self.program.problem, t, x_set, a, xdot)
        if not found.success:
            raise NoDerivative(f"The event at time {t:.9g} could not be repeated. {found.message}")
        after = self.linear.hold(Point(t, found.x, found.xdot), a, keep)
        self.linear.check_impulse(after, x_set)
        return after, a

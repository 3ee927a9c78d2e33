"""The derivative of an event: of its time, and of the values behind it.

An event is where a relation z(t, x, xdot, p) becomes zero, or at a time that parameters may move. With the
values before it moving by dx at a fixed time, it moves by

    dt = -(z_x dx + z_xdot dxdot + z_p dp) / (dz/dt along the solution).

The values that it is made from are those at the moved time, x moved by dx + xdot dt. Passes of the event
follow, each linear in what it is given; behind them x is brought back to the fixed time by the new slope.
This is the saltation matrix, with discrete values, impulses and any number of passes in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..program.program import Arguments, Program
from ..solvers import impulse_start
from ..solvers.compile_options import quick_jit
from ..solvers.event_contract import Effect, Occasion
from ..solvers.events.handle import MOST_PASSES
from ..solvers.sensitivity.moves import Point
from ..start.events import with_rows_of_mode
from .linear_maps import LinearMaps, NoDerivative
from .recording import Leg

GRAZING = 1e-4
"""Rate of a relation, compared with the fastest one since the start of the leg, below which it only touches
zero: it is located as exactly as the square of that."""
TOGETHER = 1e-6
"""Relative difference of the derivatives of two times that are taken for one."""


class Pass(NamedTuple):
    """One pass of an event: values before it, and after it if equations were solved."""

    x: Any
    xdot: Any
    arguments: Arguments
    number: int
    x_set: Any
    after: Arguments
    right: Point | None


class EventDerivative:
    """Linear maps of the events of a program; their pieces are compiled once."""

    def __init__(self, program: Program, linear: LinearMaps):
        assert program.events is not None
        self.program, self.linear = program, linear
        self.events, contract = program.events, program.events.contract
        self._one_pass = quick_jit(contract.one_pass, program.problem.size)
        self._begin = quick_jit(contract.begin, program.problem.size)
        join, moving_of = linear.join, linear.moving_of

        def begun(at: Point, moving: Any, others: Any, dt: Any, dx: Any, dxdot: Any, dp: Any) -> Any:
            def begin(t: Any, x: Any, xdot: Any, moving: Any) -> Any:
                return moving_of(contract.begin(t, x, xdot, join(moving, others), int(Occasion.DURING)))

            return jax.jvp(begin, (*at, moving), (dt, dx, dxdot, dp))[1]

        def set_anew(
            at: Point, number: Any, moving: Any, others: Any, dt: Any, dx: Any, dxdot: Any, dp: Any
        ) -> Any:
            def one_pass(t: Any, x: Any, xdot: Any, moving: Any) -> Any:
                x, a, _ = contract.one_pass(t, x, xdot, join(moving, others), number)
                return x, moving_of(a)

            return jax.jvp(one_pass, (*at, moving), (dt, dx, dxdot, dp))[1]

        def residuals(t: Any, x: Any, xdot: Any, moving: Any, others: Any) -> Any:
            a = join(moving, others)
            return jnp.concatenate(
                [self.events.z(t, x, xdot, a), t - self.events.sample_times(t, a)]
                if len(self.events.functions.sample_places)
                else [self.events.z(t, x, xdot, a)]
            )

        def moments(at: Point, moving: Any, others: Any, flow: Any) -> tuple[Any, Any]:
            """How fast what the event is noticed by changes, and its gradients."""

            def own(t: Any, x: Any, xdot: Any, moving: Any) -> Any:
                return residuals(t, x, xdot, moving, others)

            still = jax.tree.map(jnp.zeros_like, moving)
            _, rate = jax.jvp(own, (*at, moving), (jnp.ones(()), at.xdot, flow, still))
            return rate, jax.jacrev(own, argnums=(1, 2, 3))(*at, moving)

        size = program.problem.size
        self._begun, self._set_anew = quick_jit(begun, size), quick_jit(set_anew, size)
        self._moments = quick_jit(moments, size)

    def push(self, leg: Leg, following: Leg) -> Callable[[Any, Any], tuple[Any, Any, Any]]:
        """(dx, dp) before the event -> (dx, dxdot, dp) behind it, at the same fixed time; linear."""
        linear = self.linear
        left, right = linear.point(leg.end), linear.point(following.start)
        before, end = linear.at(left, leg.arguments), linear.at(right, following.arguments)
        moving, others = linear.parts(leg.arguments)
        still = jax.tree.map(jnp.zeros_like, moving)
        flow = before.slope(left.xdot, still, jnp.ones(()))  # xddot
        moment = self._moment_map(leg, following, left, moving, others, flow)
        passes = [(one, self._place_of(one)) for one in self._passes(leg, left)]

        def tangent(dx: Any, dp: Any) -> tuple[Any, Any, Any]:
            dxdot = before.slope(dx, dp, jnp.zeros(()))
            dt = moment(dx, dxdot, dp)
            dx, dxdot = dx + left.xdot * dt, dxdot + flow * dt
            dp = self._begun(left, moving, others, dt, dx, dxdot, dp)
            for one, place in passes:
                own = linear.parts(one.arguments)
                at = Point(left.t, one.x, one.xdot)
                dx, dp = self._set_anew(at, one.number, *own, dt, dx, dxdot, dp)
                if place is not None:
                    dx = place.impulse(one.x_set, dx, dp, dt)
                    dxdot = place.slope(dx, dp, dt)
            dx = dx - right.xdot * dt
            return dx, end.slope(dx, dp, jnp.zeros(())), dp

        return tangent

    def _place_of(self, one: Pass) -> Any:
        return None if one.right is None else self.linear.at(self.linear.point(one.right), one.after)

    # When ------------------------------------------------------------------------------------------------

    def _moment_map(
        self, leg: Leg, following: Leg, left: Point, moving: Any, others: Any, flow: Any
    ) -> Callable[[Any, Any, Any], Any]:
        """(dx, dxdot, dp) -> dt."""
        event, ef = following.event, self.events.functions
        assert event is not None
        triggers = event.triggers
        relations = np.flatnonzero(np.isin(ef.relations.place, triggers)).tolist()
        samples = np.flatnonzero(np.isin(ef.sample_places, triggers)) + len(ef.relations)
        chosen = [*relations, *samples.tolist()]
        if not chosen:
            return lambda dx, dxdot, dp: jnp.zeros(())
        rate, gradients = jax.tree.map(np.asarray, self._moments(left, moving, others, flow))
        self._check_rates(rate, gradients[0], leg, relations)
        forms = [jax.tree.map(lambda part, k=k: part[k] / rate[k], gradients) for k in chosen]
        self._check_together(forms, float(left.t))
        of_x, of_xdot, of_p = forms[0]

        def move(dx: Any, dxdot: Any, dp: Any) -> Any:
            terms = [of_x @ dx, of_xdot @ dxdot]
            terms += [jnp.sum(own * each) for own, each in zip(of_p, dp, strict=True)]
            return -sum(terms)

        return move

    def _check_rates(self, rate: np.ndarray, of_x: np.ndarray, leg: Leg, relations: list[int]) -> None:
        fastest = np.abs(np.concatenate([leg.start.xdot[None], leg.at.xdot])).max(axis=0)
        sizes = np.abs(of_x) @ np.resize(fastest, of_x.shape[1])
        for k in relations:
            if not abs(rate[k]) > GRAZING * sizes[k]:
                text = self.events.functions.relations
                raise NoDerivative(
                    f"`{text.text(k)}` ({text.source(k)}) only touches its limit at time {leg.end.t:.9g}: "
                    f"the time of the event has no derivative."
                )

    def _check_together(self, forms: list[Any], t: float) -> None:
        first = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(forms[0])])
        for form in forms[1:]:
            other = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(form)])
            if not np.abs(first - other).max() <= TOGETHER * max(np.abs(first).max(), np.abs(other).max()):
                raise NoDerivative(
                    f"Two events take place at time {t:.9g} by coincidence: with other parameters one "
                    f"comes before the other, and there is no derivative."
                )

    # What follows ----------------------------------------------------------------------------------------

    def _passes(self, leg: Leg, left: Point) -> list[Pass]:
        """The passes of the event, as they were."""
        t, (x, xdot) = float(left.t), (np.asarray(left.x), np.asarray(left.xdot))
        a = self._begin(t, x, xdot, leg.arguments, int(Occasion.DURING))
        passes = []
        for number in range(MOST_PASSES):
            x_set, after, effect = self._one_pass(t, x, xdot, a, number)
            right = None
            if effect == Effect.EQUATIONS:
                after = with_rows_of_mode(self.program, t, x_set, xdot, after)
                found = impulse_start(self.program.problem, t, x_set, after, xdot)
                if not found.success:
                    raise NoDerivative(f"The event at time {t:.9g} could not be repeated. {found.message}")
                right = Point(left.t, found.x, found.xdot)
            if effect != Effect.NOTHING:
                passes.append(Pass(x, xdot, a, number, np.asarray(x_set), after, right))
            else:
                return passes
            a = after
            if right is not None:
                x, xdot = np.asarray(right.x), np.asarray(right.xdot)
        raise NoDerivative(f"The event at time {t:.9g} could not be repeated: it has no end.")

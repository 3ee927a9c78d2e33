"""The events of a model as the integrator takes them (`solvers.events.contract`).

Discrete values are part of the parameter vector p = [parameters | d | pre d], and the truth of every relation that makes
events is one of them. Between events a relation is watched: its function z, with the sign of the side it is on, is
positive while nothing happens. After an event z may lie on the wrong side by rounding, because algebraic variables
were computed anew: such a relation gets a `slack`, and is noticed when it goes on in that direction.

Relations of the time alone are not watched: the instants at which they change are known. At such an instant they have
the value that they have just behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..language.event_parts import RelationKind
from ..lowering.event_functions import EventFunctions
from ..lowering.index1_functions import Index1Functions
from ..solvers.events.contract import Effect, Events, Occasion
from .reinits import make_reinits
from .signals import NO_LIMIT, Signals, held_time

ROUNDING = 1e-12
"""A relation that is wrong by less, compared with what it compares, is wrong by rounding."""
PATIENT_PASSES = 8
"""Passes of an event after which a relation that is wrong by less than the tolerance is left as it is."""
SAME_INSTANT = 16 * float(np.finfo(float).eps)
"""Times that are nearer than this, compared with themselves, are one."""


class EventData(NamedTuple):
    """The data of a run that events need."""

    slack: Any
    """For each relation, by how much it may be on the wrong side."""
    rows: Any
    """Flags of the rows of the residual that contain derivatives in the present mode."""
    schedule: Any
    """Times, increasing, at which relations change that are functions of time; the last ones are never reached."""
    guard: Any
    """So far behind an instant its relations of time are evaluated."""
    tolerance: Any
    """Relative and absolute, of the result."""


@dataclass(frozen=True, eq=False)
class ModelEvents:
    """The events of a translated model, for one kind of inputs."""

    functions: EventFunctions
    contract: Events
    truth: Any
    """truth(t, x, xdot, arguments) -> of each relation whether it holds."""
    truth_of_time: Any
    """truth_of_time(t, p) -> of relations that are functions of time."""
    at_start: Any
    """at_start(t, x, xdot, arguments, declared) -> (x, arguments, (changed, set)): the only pass of the event at
    the start, from the declared discrete values; whether they are others than those in the arguments, and whether
    states were set anew."""

    @property
    def discrete_size(self) -> int:
        return self.functions.discrete_size

    def discretes(self, p: Any) -> Any:
        return self.functions.declared(p)

    def with_discretes(self, p: Any, d: Any) -> Any:
        """p with these discrete values, now and before."""
        return self.functions.with_discrete(p, d, d)


def make_events(
    event_functions: EventFunctions, functions: Index1Functions, signals: Signals, kind: np.ndarray
) -> ModelEvents:
    """Join the functions of events with those of the equations. `kind`: of each element of x (`Slot`)."""
    ef = event_functions
    relations, places = ef.relations, ef.relations.place
    is_time = np.array([own is not RelationKind.STATE for own in relations.kind], bool)
    affine = relations.rows(RelationKind.TIME_AFFINE)
    watched = np.flatnonzero(~is_time)
    pulses = np.concatenate([ef.sample_places, ef.initial_places, ef.terminal_places])
    own_pulses = np.concatenate([pulses, ef.condition_places])
    in_equations = np.setdiff1d(np.arange(ef.discrete_size), own_pulses)
    reinit = make_reinits(ef, functions, kind)
    negated = relations.negated
    terminations = np.array(sorted(ef.terminations), int)
    input_total = functions.input_size * (functions.input_order + 1)

    def vectors(t: Any, x: Any, xdot: Any, a: Any) -> dict[str, Any]:
        t = held_time(t, a.signals)
        u = signals.values(t, a.signals, functions.input_order)
        x, xdot = x[: functions.size], xdot[: functions.size]
        w = functions.values(t, x, xdot, a.p, u)
        return {"time": t, "w": w, "p": a.p, "u": u}

    def z_now(t: Any, known: dict[str, Any], a: Any) -> Any:
        """z, of relations of time just behind t."""
        z = ef.z(known)
        if is_time.any():
            z = jnp.where(is_time, ef.z({**known, "time": t + a.events.guard}), z)
        return z

    def sides(d: Any) -> Any:
        return (d[places] != 0) ^ negated

    def crossings(t: Any, x: Any, xdot: Any, a: Any) -> Any:
        if not len(watched):
            return jnp.zeros(0)
        z, side = ef.z(vectors(t, x, xdot, a))[watched], sides(ef.declared(a.p))[watched]
        return jnp.where(side, z, -z) + a.events.slack[watched]

    def next_time(t: Any, a: Any) -> Any:
        found = [jnp.full((1,), NO_LIMIT)]
        nothing = {"w": jnp.zeros(functions.value_map.zero + 1), "u": jnp.zeros(input_total), "p": a.p}
        if len(affine):
            z, slope = jax.jvp(
                lambda s: ef.z({**nothing, "time": s})[affine], (jnp.zeros(()),), (jnp.ones(()),)
            )
            found.append(-z / slope)
        if len(ef.sample_places):
            known = {**nothing, "time": t}
            period, offset = ef.period(known), ef.offset(known)
            k = jnp.maximum(jnp.floor((t - offset) / period), -1.0)
            instants = offset + (k + jnp.arange(3.0)[:, None]) * period
            later = (instants > t + SAME_INSTANT * jnp.abs(t)) & (instants >= offset)
            found.append(jnp.min(jnp.where(later, instants, NO_LIMIT), axis=0))
        schedule = a.events.schedule
        if schedule.shape[0]:
            found.append(schedule[jnp.searchsorted(schedule, t + a.events.guard, side="right")][None])
        times = jnp.concatenate(found)
        return jnp.min(jnp.where(times > t + a.events.guard, times, NO_LIMIT))

    def due(t: Any, known: dict[str, Any]) -> Any:
        period, offset = ef.period(known), ef.offset(known)
        k = jnp.round((t - offset) / period)
        return (k >= 0) & (
            jnp.abs(offset + k * period - t) <= SAME_INSTANT * jnp.maximum(jnp.abs(t), period)
        )

    def begin(t: Any, x: Any, xdot: Any, a: Any, occasion: Any) -> Any:
        known, d = vectors(t, x, xdot, a), ef.declared(a.p)
        before = d
        if len(ef.left_places):
            left = ef.left(known)
            d = d.at[ef.left_places].set(left)
            before = before.at[ef.left_places].set(left)
        if len(ef.sample_places):
            d = d.at[ef.sample_places].set(jnp.where(due(t, known), 1.0, 0.0))
        occasion = jnp.asarray(occasion)
        for own, word in ((ef.initial_places, Occasion.INITIAL), (ef.terminal_places, Occasion.TERMINAL)):
            if len(own):
                d = d.at[own].set(jnp.where(occasion == int(word), 1.0, 0.0))
        return a._replace(p=ef.with_discrete(a.p, d, before))

    def one_pass(t: Any, x: Any, xdot: Any, a: Any, number: Any) -> tuple[Any, Any, Any]:
        known, d = vectors(t, x, xdot, a), ef.declared(a.p)
        before = d.at[pulses].set(0.0)
        d = jnp.where(number == 0, d, before)
        z, side = z_now(t, known, a), sides(d)
        wrong = jnp.where(side, -z, z)
        scale = ef.scale(known)
        rtol, atol = a.events.tolerance[0], a.events.tolerance[1]
        patience = jnp.where(number < PATIENT_PASSES, ROUNDING * scale, rtol * scale + atol)
        # The first pass sees the values with which an event was noticed.
        noticed = wrong - a.events.slack >= 0.0
        flips = jnp.where(
            is_time, jnp.where(side, z <= 0, z > 0), jnp.where(number == 0, noticed, wrong > patience)
        )
        d = d.at[places].set(jnp.where(side ^ flips ^ negated, 1.0, 0.0))
        p = ef.assign({**known, "p": ef.with_discrete(a.p, d, before)})
        new = ef.declared(p)
        moved, x = reinit(t, x, xdot, {**known, "p": p}, lambda x: vectors(t, x, xdot, a))
        moved = moved | jnp.any(new[in_equations] != before[in_equations])
        again = jnp.any(new != before)
        return (
            x,
            a._replace(p=p),
            jnp.where(
                moved, int(Effect.EQUATIONS), jnp.where(again, int(Effect.CONDITIONS), int(Effect.NOTHING))
            ),
        )

    def settle(t: Any, x: Any, xdot: Any, a: Any) -> Any:
        known, d = vectors(t, x, xdot, a), ef.declared(a.p).at[pulses].set(0.0)
        z, side = ef.z(known), sides(d)
        wrong, scale = jnp.where(side, -z, z), ef.scale(known)
        slack = 2.0 * wrong + ROUNDING * scale + 1e-3 * a.events.tolerance[1]
        data = a.events._replace(slack=jnp.where(wrong >= 0.0, slack, 0.0))
        return a._replace(p=ef.with_discrete(a.p, d, d), events=data)

    def truth(t: Any, x: Any, xdot: Any, a: Any) -> Any:
        return (z_now(t, vectors(t, x, xdot, a), a) > 0) ^ negated

    def truth_of_time(t: Any, p: Any) -> Any:
        rows = relations.rows(RelationKind.TIME)
        nothing = {"w": jnp.zeros(functions.value_map.zero + 1), "u": jnp.zeros(input_total), "p": p}
        return jnp.where(ef.z({**nothing, "time": t})[rows] > 0, 1.0, 0.0)

    def at_start(t: Any, x: Any, xdot: Any, a: Any, declared: Any) -> tuple[Any, Any, Any]:
        """Relations as they are; conditions do not fire because they are true, only because of the start."""
        assumed = ef.declared(a.p)
        quiet = (
            jnp.asarray(declared)
            .at[pulses]
            .set(0.0)
            .at[places]
            .set(jnp.where(truth(t, x, xdot, a), 1.0, 0.0))
        )
        quiet = quiet.at[ef.condition_places].set(0.0)
        known = vectors(t, x, xdot, a)
        held = quiet.at[ef.condition_places].set(1.0)
        without = ef.declared(ef.assign({**known, "p": ef.with_discrete(a.p, quiet, held)}))
        before = quiet.at[ef.condition_places].set(without[ef.condition_places])
        begun = begin(
            t, x, xdot, a._replace(p=ef.with_discrete(a.p, before, before)), int(Occasion.INITIAL)
        )
        p = ef.assign({**known, "p": ef.with_discrete(a.p, ef.declared(begun.p), before)})
        moved, x = reinit(t, x, xdot, {**known, "p": p}, lambda x: vectors(t, x, xdot, a))
        new = ef.declared(p).at[pulses].set(0.0)
        changed = jnp.any(new[in_equations] != assumed[in_equations])
        return x, a._replace(p=ef.with_discrete(a.p, new, new)), jnp.stack([changed, moved])

    def ends(a: Any) -> Any:
        if not len(terminations):
            return jnp.zeros((), bool)
        return jnp.any(ef.declared(a.p)[terminations] != 0)

    contract = Events(
        crossings=crossings,
        next_time=next_time,
        begin=begin,
        one_pass=one_pass,
        settle=settle,
        discretes=lambda a: ef.declared(a.p),
        ends=ends,
        row_flags=lambda a: a.events.rows,
        with_row_flags=lambda a, flags: a._replace(events=a.events._replace(rows=flags)),
    )
    return ModelEvents(ef, contract, truth, truth_of_time, at_start)


def event_data(
    events: ModelEvents, row_flags: np.ndarray, schedule: np.ndarray, guard: float, rtol: float, atol: float
) -> EventData:
    """The data of a run before it has started."""
    padded = np.concatenate([np.sort(schedule), np.full(2, NO_LIMIT)]) if len(schedule) else np.zeros(0)
    slack = np.zeros(len(events.functions.relations))
    return EventData(slack, np.asarray(row_flags), padded, np.float64(guard), np.array([rtol, atol]))

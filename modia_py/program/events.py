"""The events of a model as the integrator takes them (`solvers.event_contract`).

Discrete values are part of the parameter vector p = [parameters | d | pre d], and the truth of every
relation that makes events is one of them. Between events a relation is watched: its function z, with the
sign of the side it is on, is positive while nothing happens. After an event z may lie on the wrong side by
rounding, because algebraic variables were computed anew: such a relation gets a `slack`, and is noticed
when it goes on in that direction.

Relations of the time alone are not watched: the instants at which they change are known. At such an instant
they have the value that they have just behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..arrays.distinct import without
from ..expressions.indexing import from_array
from ..language.event_parts import RelationKind
from ..lowering.event_functions import EventFunctions
from ..lowering.gathering import take
from ..lowering.index1_functions import Index1Functions
from ..solvers.event_contract import Effect, Events, Occasion
from ..solvers.status import Status
from .event_evaluation import evaluation
from .instants import Instants
from .planned_residual import PlannedCrossings
from .reinits import make_reinits
from .signals import NO_LIMIT, Signals

NEAR = 10.0
"""In tolerances: a relation that was noticed and taken back is held back only so near to its zero."""
PART_OF_TOLERANCE = 1e-3
"""A relation that is wrong by less than this part of the tolerance of what it compares, is wrong by
rounding."""
MOST_SMALL, MOST_SMALL_RESETS = 20, 2
"""Events in a row by which a relation may be noticed that has moved by less than its tolerance in between;
and such that set a state anew, from values that mean as little."""
PATIENT_PASSES = 8
"""Passes of an event after which a relation that is wrong by less than the tolerance is left as it is."""


TINY = 1e-300
"""A relation z > 0 that does not hold is noticed where z is larger than zero: one that only touches zero
has not changed."""


class EventData(NamedTuple):
    """The data of a run that events need."""

    slack: Any
    """For each relation, by how much it may be on the wrong side."""
    noticed: Any
    """For each relation, whether this event was noticed by its change: 1 to the positive side, -1 to the
    other, else 0."""
    last: Any
    """For each relation, when an event was noticed by it the last time."""
    small: Any
    """How often in a row it had moved by less than its tolerance since then: such events mean nothing."""
    reset: Any
    """Whether this event has set a state anew."""
    turns: Any
    """Whether all has settled but relations that go back at once (`turned`): the next pass is theirs."""
    lost: Any
    """For each `reinit`, whether constraints have not let it have its value."""
    wanted: Any
    """For each `reinit`, the value it has set in the last pass; 1e300 where it has not."""
    rows: Any
    """Flags of the rows of the residual that contain derivatives in the present mode."""
    schedule: Any
    """Times, increasing, at which relations change that are functions of time; the last ones are never
    reached."""
    guard: Any
    """So far behind an instant its relations of time are evaluated."""
    tolerance: Any
    """Relative and absolute, of the result."""
    must_restart: Any
    """Whether the integration starts anew after every event."""


@dataclass(frozen=True, eq=False)
class ModelEvents:
    """The events of a translated model, for one kind of inputs."""

    functions: EventFunctions
    contract: Events
    wrong_by: Any
    """wrong_by(t, x, xdot, arguments) -> of each relation that is watched, by how much it is not on the
    side that the discrete values say (negative: it is), and the tolerance of that."""
    z: Any
    """z(t, x, xdot, arguments) -> of all relations, what is zero where they change."""
    sample_times: Any
    """sample_times(t, p) -> of each sample, the instant that is nearest to t."""
    truth_of_time: Any
    """truth_of_time(t, p) -> of relations that are functions of time."""
    planned_crossings: PlannedCrossings | None
    """What is watched as data, where it is a plan."""
    at_start: Any
    """at_start(t, x, xdot, arguments, declared) -> (x, arguments, (changed, set)): the only pass of the
    event at the start, from the declared discrete values; whether they are others than those in the
    arguments, and whether states were set anew."""

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
    relations, places, count = ef.relations, ef.relations.place, len(ef.relations)
    negated = relations.negated
    is_time = np.array([own is not RelationKind.STATE for own in relations.kind], bool)
    watched = np.flatnonzero(~is_time)
    watched_rows, watched_truths = from_array(watched), from_array(places[watched])
    known = evaluation(ef, functions, signals, watched)
    pulses = np.concatenate([ef.sample_places, ef.initial_places, ef.terminal_places])
    in_equations = without(np.arange(ef.discrete_size), np.concatenate([pulses, ef.condition_places]))
    reinit = make_reinits(ef, known, functions, signals, kind)
    terminations = np.array(sorted(ef.terminations), int)

    def _both(found: Any) -> tuple[Any, Any]:
        return found[:count], found[count:]

    def noticed_by(z: Any, side: Any, slack: Any) -> Any:
        """Relations that have changed: 1 to the positive side, -1 to the other."""
        wrong = jnp.where(side, -z, z)
        # With the type of z: with a weak type of numbers the loop would be compiled again after an event.
        return jnp.where(wrong >= slack, jnp.where(side, -jnp.ones_like(z), 1.0), 0.0)

    def sides(d: Any) -> Any:
        return (d[places] != 0) ^ negated

    def z_and_scale(t: Any, x: Any, xdot: Any, a: Any) -> tuple[Any, Any]:
        """Of all relations; those of time have the value that they have just behind t."""
        z, scale = _both(known.relations(t, x, xdot, a))
        if is_time.any():
            z = jnp.where(is_time, known.relations(t + a.events.guard, x, xdot, a)[:count], z)
        return z, scale

    def crossings(t: Any, x: Any, xdot: Any, a: Any) -> Any:
        if not len(watched):
            return jnp.zeros(0)
        signs, slack = signs_and_slack(a)
        return signs * known.watched(t, x, xdot, a) + slack

    def signs_and_slack(a: Any) -> tuple[Any, Any]:
        side = (take(ef.declared(a.p), watched_truths) != 0) ^ negated[watched]
        return jnp.where(side, 1.0, -1.0), strict(side, take(a.events.slack, watched_rows))

    def with_rates(t: Any, x: Any, xdot: Any, a: Any) -> tuple[Any, Any, Any]:
        """z of all relations, by how much it changes with time, and the tolerance of it."""
        found, rate = jax.jvp(lambda t, x: known.relations(t, x, xdot, a), (t, x), (jnp.ones_like(t), xdot))
        z, scale = _both(found)
        return z, rate[:count], a.events.tolerance[0] * scale + a.events.tolerance[1]

    def with_noticed(t: Any, x: Any, xdot: Any, a: Any) -> Any:
        """By what an event is noticed, and how often in a row it was by next to nothing."""
        z, rate, tolerance = with_rates(t, x, xdot, a)
        data = a.events
        noticed = jnp.where(is_time, 0.0, noticed_by(z, sides(ef.declared(a.p)), data.slack))
        is_small = jnp.abs(rate) * (t - data.last) < NEAR * tolerance
        small = jnp.where(is_small, data.small + 1.0, 0.0)
        return a._replace(
            events=data._replace(
                noticed=noticed,
                last=jnp.where(noticed != 0, t, data.last),
                small=jnp.where(noticed != 0, small, data.small),
                reset=jnp.zeros(()),
                turns=jnp.zeros(()),
            )
        )

    def begin(t: Any, x: Any, xdot: Any, a: Any, occasion: Any) -> Any:
        t = jnp.asarray(t, float)
        a = with_noticed(t, jnp.asarray(x), jnp.asarray(xdot), a)
        d = ef.declared(a.p)
        before = d
        if len(ef.left_places):
            left = known.left(t, x, xdot, a)
            d, before = d.at[ef.left_places].set(left), before.at[ef.left_places].set(left)
        if len(ef.sample_places):
            d = d.at[ef.sample_places].set(jnp.where(instants.due(t, a), 1.0, 0.0))
        occasion = jnp.asarray(occasion)
        for own, word in ((ef.initial_places, Occasion.INITIAL), (ef.terminal_places, Occasion.TERMINAL)):
            if len(own):
                d = d.at[own].set(jnp.where(occasion == int(word), 1.0, 0.0))
        return a._replace(p=ef.with_discrete(a.p, d, before))

    def turned(t: Any, x: Any, xdot: Any, a: Any, side: Any) -> Any:
        """Relations by which the event was noticed and which go back at once, because a state was set anew:
        the ball is about to leave the floor. The next step could miss it. It has left when nothing else
        happens any more: what follows in this event may still set it elsewhere."""
        z, rate, tolerance = with_rates(jnp.asarray(t, float), x, xdot, a)
        goes_back = jnp.where(side, -rate, rate) > 0
        is_near = (
            (jnp.abs(z) <= NEAR * tolerance) & (a.events.noticed != 0) & ((a.events.noticed > 0) == side)
        )
        return is_near & goes_back & (a.events.reset != 0) & ~is_time

    def one_pass(t: Any, x: Any, xdot: Any, a: Any, number: Any) -> tuple[Any, Any, Any]:
        d = ef.declared(a.p)
        before = d.at[pulses].set(0.0)
        d = jnp.where(number == 0, d, before)
        # Relations of `pre` see the pass before as all else does: `time >= pre(next)` has to be false
        # again when `next` was moved on.
        a = a._replace(p=ef.with_discrete(a.p, d, before))
        (z, scale), side = z_and_scale(t, x, xdot, a), sides(d)
        wrong = jnp.where(side, -z, z)
        rtol, atol = a.events.tolerance[0], a.events.tolerance[1]
        # In the first pass those change by which the event was noticed. Computed anew, they may be on the
        # other side again by a tolerance: that does not take the event back.
        noticed = a.events.noticed
        tolerance = rtol * scale + atol
        is_patient = (number >= PATIENT_PASSES) | (noticed != 0)
        patience = jnp.where(is_patient, tolerance, PART_OF_TOLERANCE * tolerance)
        by_time = jnp.where(side, z <= 0, z > 0)
        flips = jnp.where(is_time, by_time, jnp.where(number == 0, noticed != 0, wrong > patience))
        back = turned(t, x, xdot, a, side) & (number > 0) if len(ef.reinits) else jnp.zeros_like(flips)
        flips ^= back & (a.events.turns != 0)
        d = d.at[places].set(jnp.where(side ^ flips ^ negated, 1.0, 0.0))
        a = known.assign(t, x, xdot, a._replace(p=ef.with_discrete(a.p, d, before)))
        new = ef.declared(a.p)
        moved, x, a = reinit(t, x, xdot, a)
        is_settled = ~moved & ~jnp.any(new != before)
        turns = is_settled & jnp.any(back)
        reset = jnp.where(moved, 1.0, a.events.reset)
        a = a._replace(events=a.events._replace(reset=reset, turns=jnp.where(turns, 1.0, 0.0)))
        moved = moved | jnp.any(new[in_equations] != before[in_equations])
        effect = jnp.where(is_settled & ~turns, int(Effect.NOTHING), int(Effect.CONDITIONS))
        return x, a, jnp.where(moved, int(Effect.EQUATIONS), effect)

    def settle(t: Any, x: Any, xdot: Any, a: Any) -> Any:
        d = ef.declared(a.p).at[pulses].set(0.0)
        (z, scale), side = _both(known.relations(t, x, xdot, a)), sides(d)
        wrong = jnp.where(side, -z, z)
        tolerance = a.events.tolerance[0] * scale + a.events.tolerance[1]
        # Rounding must not take a relation back, nor notice it twice.
        least = PART_OF_TOLERANCE * tolerance
        at_zero = (wrong >= -least) & jnp.isfinite(least) & ~is_time
        slack = jnp.where(at_zero, jnp.maximum(wrong, 0.0) + least, 0.0)
        # What was taken back all the same is not to be noticed again at once.
        noticed = a.events.noticed
        # One that is far from zero was moved there, by a reinit: it is watched as any other.
        is_near = jnp.abs(z) <= NEAR * tolerance
        taken_back = (noticed != 0) & ((noticed > 0) != side) & is_near & (a.events.reset == 0)
        slack = jnp.where(taken_back, jnp.maximum(slack, 2.0 * jnp.abs(z) + tolerance), slack)
        data = a.events._replace(slack=slack, noticed=jnp.zeros_like(noticed))
        return a._replace(p=ef.with_discrete(a.p, d, d), events=data)

    def wrong_by(t: Any, x: Any, xdot: Any, a: Any) -> tuple[Any, Any]:
        (z, scale), side = z_and_scale(t, x, xdot, a), sides(ef.declared(a.p))
        wrong = jnp.where(is_time, 0.0, jnp.where(side, -z, z))
        return wrong, a.events.tolerance[0] * scale + a.events.tolerance[1]

    def at_start(t: Any, x: Any, xdot: Any, a: Any, declared: Any) -> tuple[Any, Any, Any]:
        """Relations as they are; conditions do not fire because they are true, only because of the
        start."""
        assumed = ef.declared(a.p)
        truth = (z_and_scale(t, x, xdot, a)[0] > 0) ^ negated
        quiet = jnp.asarray(declared).at[pulses].set(0.0).at[places].set(jnp.where(truth, 1.0, 0.0))
        quiet = quiet.at[ef.condition_places].set(0.0)
        held = quiet.at[ef.condition_places].set(1.0)
        without = known.assign(t, x, xdot, a._replace(p=ef.with_discrete(a.p, quiet, held)))
        true_anyway = ef.declared(without.p)[ef.condition_places]
        before = quiet.at[ef.condition_places].set(true_anyway)
        begun = begin(
            t, x, xdot, a._replace(p=ef.with_discrete(a.p, before, before)), int(Occasion.INITIAL)
        )
        now = a._replace(p=ef.with_discrete(a.p, ef.declared(begun.p), before))
        now = known.assign(t, x, xdot, now)
        moved, x, _ = reinit(t, x, xdot, now)
        new = ef.declared(now.p).at[pulses].set(0.0)
        changed = jnp.any(new[in_equations] != assumed[in_equations])
        return x, a._replace(p=ef.with_discrete(a.p, new, new)), jnp.stack([changed, moved])

    def ends(a: Any) -> Any:
        is_reset = a.events.reset != 0
        endless = jnp.where(is_reset, int(Status.ZENO), int(Status.CHATTERING))
        most = jnp.where(is_reset, MOST_SMALL_RESETS, MOST_SMALL)
        status = jnp.where(jnp.any(a.events.small >= most), endless, int(Status.RUNNING))
        if not len(terminations):
            return status
        ended = jnp.any(ef.declared(a.p)[terminations] != 0)
        return jnp.where(ended, int(Status.TERMINATED), status)

    instants = Instants(ef, functions)
    contract = Events(
        crossings=crossings,
        next_time=instants.next_time,
        begin=begin,
        one_pass=one_pass,
        settle=settle,
        discretes=lambda a: ef.declared(a.p),
        with_discretes=lambda a, d: a._replace(p=ef.with_discrete(a.p, d, d)),
        ends=ends,
        row_flags=lambda a: a.events.rows,
        with_row_flags=lambda a, flags: a._replace(events=a.events._replace(rows=flags)),
        must_restart=lambda a: a.events.must_restart,
        slopes=known.watched_slopes,
        has_terminal=len(ef.terminal_places) > 0,
    )

    def z(t: Any, x: Any, xdot: Any, a: Any) -> Any:
        return known.relations(t, x, xdot, a)[:count]

    plan = known.watched_plan
    planned = None if plan is None or not len(watched) else PlannedCrossings(plan, signs_and_slack)
    return ModelEvents(ef, contract, wrong_by, z, instants.nearest, instants.truth, planned, at_start)


def strict(side: Any, slack: Any) -> Any:
    """Slack of relations on these sides: a side on which z > 0 ends at zero, the other one behind it."""
    return jnp.where(side, slack, jnp.maximum(slack, TINY))


def event_data(
    events: ModelEvents,
    row_flags: np.ndarray,
    schedule: np.ndarray,
    guard: float,
    rtol: float,
    atol: float,
    must_restart: bool = False,
) -> EventData:
    """The data of a run before it has started."""
    # As many as a power of two: other parameters compile nothing new.
    rows = 1 << int(len(schedule) + 1).bit_length()
    padded = np.concatenate([np.sort(schedule), np.full(rows - len(schedule), NO_LIMIT)])
    if not len(events.functions.relations.rows(RelationKind.TIME)):
        padded = np.zeros(0)
    slack = np.zeros(len(events.functions.relations))
    reinits = np.zeros(len(events.functions.reinits))
    return EventData(
        slack=slack,
        noticed=np.zeros_like(slack),
        last=np.full_like(slack, -1e300),
        small=np.zeros_like(slack),
        reset=np.zeros(()),
        turns=np.zeros(()),
        lost=reinits,
        wanted=np.full_like(reinits, NO_LIMIT),
        rows=np.asarray(row_flags),
        schedule=padded,
        guard=np.float64(guard),
        tolerance=np.array([rtol, atol]),
        must_restart=np.bool_(must_restart),
    )

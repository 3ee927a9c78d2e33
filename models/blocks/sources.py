"""Signals that depend on time only: y(t). Connect them by equations: `self.torque.tau == self.sine.y`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from modia_py import Model, Par, Var, time, where

from .. import signals
from ..tables import interpolate


class Source(Model):
    """What has one output."""

    y = Var(doc="output")


class StartingSource(Source):
    """A signal that is `offset` until `startTime`."""

    offset = Par(0.0, doc="added to the output")
    startTime = Par(0.0, unit="s", doc="the output is offset until then")


class Constant(Source):
    """y = k."""

    k = Par(1.0, doc="output")

    def equations(self) -> Any:
        return [self.y == self.k]


class Clock(StartingSource):
    """The time: y = offset, and from startTime on offset + time - startTime."""

    def equations(self) -> Any:
        return [self.y == self.offset + signals.step(time - self.startTime, self.startTime)]


class Step(StartingSource):
    """y = offset, and from startTime on offset + height."""

    height = Par(1.0, doc="height of the step")

    def equations(self) -> Any:
        return [self.y == self.offset + signals.step(self.height, self.startTime)]


class Ramp(StartingSource):
    """y rises from offset at startTime to offset + height within duration."""

    height = Par(1.0, doc="height of the ramp")
    duration = Par(2.0, nonzero=True, unit="s", doc="duration of the ramp")

    def equations(self) -> Any:
        return [self.y == self.offset + signals.ramp(self.height, self.duration, self.startTime)]


class Sine(StartingSource):
    """y = offset + amplitude sin(2 pi f (time - startTime) + phase), from startTime on."""

    amplitude = Par(1.0, doc="amplitude")
    f = Par(1.0, unit="Hz", doc="frequency")
    phase = Par(0.0, unit="rad", doc="phase")

    def equations(self) -> Any:
        wave = signals.sine(self.amplitude, self.f, self.phase, self.startTime)
        return [self.y == self.offset + wave]


class Cosine(Sine):
    """y = offset + amplitude cos(2 pi f (time - startTime) + phase), from startTime on."""

    def equations(self) -> Any:
        wave = signals.sine(self.amplitude, self.f, self.phase + np.pi / 2, self.startTime)
        return [self.y == self.offset + wave]


class ExpSine(StartingSource):
    """y = offset + amplitude exp(-damping t) sin(2 pi f t + phase), t = time - startTime > 0."""

    amplitude = Par(1.0, doc="amplitude")
    f = Par(2.0, unit="Hz", doc="frequency")
    phase = Par(0.0, unit="rad", doc="phase")
    damping = Par(1.0, unit="1/s", doc="how fast it fades")

    def equations(self) -> Any:
        wave = signals.damped_sine(self.amplitude, self.f, self.phase, self.damping, self.startTime)
        return [self.y == self.offset + wave]


class Exponentials(StartingSource):
    """y goes from offset towards offset + outMax (riseTimeConst), after riseTime back (fallTimeConst)."""

    outMax = Par(1.0, doc="height for a riseTime without end")
    riseTime = Par(0.5, unit="s", doc="how long it rises")
    riseTimeConst = Par(0.1, nonzero=True, unit="s", doc="time constant upwards")
    fallTimeConst = Par(0.1, nonzero=True, unit="s", doc="time constant downwards")

    def equations(self) -> Any:
        shape = signals.exponentials(
            self.outMax, self.riseTime, self.riseTimeConst, self.fallTimeConst, self.startTime
        )
        return [self.y == self.offset + shape]


class Pulse(StartingSource):
    """y = offset + amplitude during the first `width` percent of each period, else offset."""

    amplitude = Par(1.0, doc="height of the pulses")
    width = Par(50.0, doc="width of a pulse in percent of the period")
    period = Par(1.0, nonzero=True, unit="s", doc="period")
    nperiod = Par(-1.0, doc="number of periods, negative: without end")

    def equations(self) -> Any:
        shape = signals.pulse(self.amplitude, self.width, self.period, self.nperiod, self.startTime)
        return [self.y == self.offset + shape]


class SawTooth(StartingSource):
    """y rises from offset to offset + amplitude in each period."""

    amplitude = Par(1.0, doc="height of the teeth")
    period = Par(1.0, nonzero=True, unit="s", doc="period")
    nperiod = Par(-1.0, doc="number of periods, negative: without end")

    def equations(self) -> Any:
        shape = signals.saw_tooth(self.amplitude, self.period, self.nperiod, self.startTime)
        return [self.y == self.offset + shape]


class Trapezoid(StartingSource):
    """In each period y rises by amplitude within `rising`, stays for `width`, falls within `falling`."""

    amplitude = Par(1.0, doc="height")
    rising = Par(0.0, unit="s", doc="how long it rises")
    width = Par(0.5, unit="s", doc="how long it stays")
    falling = Par(0.0, unit="s", doc="how long it falls")
    period = Par(1.0, nonzero=True, unit="s", doc="period")
    nperiod = Par(-1.0, doc="number of periods, negative: without end")

    def equations(self) -> Any:
        shape = signals.trapezoid(
            self.amplitude,
            self.rising,
            self.width,
            self.falling,
            self.period,
            self.nperiod,
            self.startTime,
        )
        return [self.y == self.offset + shape]


class TimeTable(StartingSource):
    """y = offset + a table of values over time - startTime, linear in between, the last two rows continued.

    Parameters
    ----------
    table : sequence of pairs
        Rows of time and value; the times do not fall. At a time that stands twice, y jumps.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    def __init__(self, table: Sequence[Sequence[float]] = ((0.0, 0.0), (1.0, 1.0)), **changes: Any):
        self.table = Par(table, doc="rows of time and value")
        super().__init__(**changes)

    def equations(self) -> Any:
        since = time - self.startTime
        return [self.y == self.offset + signals.step(interpolate(self.table, since), self.startTime)]


class KinematicPTP(Source):
    """The acceleration y that moves by deltaq as fast as qd_max and qdd_max allow, from startTime on.

    It is qdd_max, then zero at the speed qd_max, then -qdd_max; with a short way there is no middle part.
    """

    deltaq = Par(1.0, doc="the way")
    qd_max = Par(1.0, nonzero=True, doc="largest speed")
    qdd_max = Par(1.0, nonzero=True, doc="largest acceleration")
    startTime = Par(0.0, unit="s", doc="time at which it begins")

    def equations(self) -> Any:
        _, _, acceleration = point_to_point(self.deltaq, self.qd_max, self.qdd_max, self.startTime)
        return [self.y == acceleration]


class KinematicPTP2(Model):
    """Position q, speed qd and acceleration qdd of the fastest way from q_begin to q_end."""

    q_begin = Par(0.0, doc="where it begins")
    q_end = Par(1.0, doc="where it ends")
    qd_max = Par(1.0, nonzero=True, doc="largest speed")
    qdd_max = Par(1.0, nonzero=True, doc="largest acceleration")
    startTime = Par(0.0, unit="s", doc="time at which it begins")
    q = Var(doc="position")
    qd = Var(doc="speed")
    qdd = Var(doc="acceleration")

    def equations(self) -> Any:
        way = self.q_end - self.q_begin
        q, qd, qdd = point_to_point(way, self.qd_max, self.qdd_max, self.startTime)
        return [self.q == self.q_begin + q, self.qd == qd, self.qdd == qdd]


def point_to_point(way: Any, qd_max: Any, qdd_max: Any, start: Any) -> tuple[Any, Any, Any]:
    """Position, speed and acceleration of the fastest move by `way`: up, along, and down again."""
    distance, sign = np.abs(way), np.sign(way)
    top = np.minimum(qd_max, np.sqrt(distance * qdd_max))  # what is reached on this way
    up = top / qdd_max  # how long it accelerates, and brakes
    end = distance / np.where(top > 0, top, 1.0) + up
    along = end - up
    since, left = time - start, start + end - time
    first, before_last, within = since < up, since < along, since < end
    begun = since >= 0.0

    def pieces(rise: Any, level: Any, fall: Any, after: Any) -> Any:
        moving = where(first, rise, where(before_last, level, where(within, fall, after)))
        return sign * where(begun, moving, 0.0)

    position = pieces(
        qdd_max / 2 * since**2, top * (since - up / 2), distance - qdd_max / 2 * left**2, distance
    )
    speed = pieces(qdd_max * since, top, qdd_max * left, 0.0)
    return position, speed, pieces(qdd_max, 0.0, -qdd_max, 0.0)

"""Truth values as signals: one is true, zero is false; an input is true above 1/2.

What decides on real signals, and what remembers, has a discrete output that changes at events.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from modia_py import Discrete, Model, Par, Var, initial, pre, time, where

from .. import signals
from ..discrete_equations import follow
from .continuous import SISO
from .math import SI2SO
from .sources import Source


def is_true(signal: Any) -> Any:
    """Whether a signal is true."""
    return signal > 0.5


def truth(condition: Any) -> Any:
    """The signal of a condition: one or zero."""
    return where(condition, 1.0, 0.0)


class BooleanConstant(Source):
    """y = k."""

    k = Par(1.0, doc="1: true, 0: false")

    def equations(self) -> Any:
        return [self.y == self.k]


class BooleanStep(Source):
    """y = startValue until startTime, then the opposite."""

    startTime = Par(0.0, unit="s", doc="time of the step")
    startValue = Par(0.0, doc="1: true, 0: false")

    def equations(self) -> Any:
        return [self.y == where(time >= self.startTime, 1 - self.startValue, self.startValue)]


class BooleanPulse(Source):
    """y is true during the first `width` percent of each period, from startTime on."""

    width = Par(50.0, doc="width of a pulse in percent of the period")
    period = Par(1.0, nonzero=True, unit="s", doc="period")
    startTime = Par(0.0, unit="s", doc="time of the first pulse")

    def equations(self) -> Any:
        return [self.y == signals.pulse(1.0, self.width, self.period, -1.0, self.startTime)]


class BooleanTable(Source):
    """y begins with startValue, and changes at each time of the table.

    Parameters
    ----------
    table : sequence of float
        The times.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    startValue = Par(0.0, doc="1: true, 0: false")

    def __init__(self, table: Sequence[float] = (0.0, 1.0), **changes: Any):
        self.table = Par(np.asarray(table, float), unit="s", doc="times at which y changes")
        super().__init__(**changes)

    def equations(self) -> Any:
        passed = truth(time >= self.table).sum()
        return [self.y == (self.startValue + passed) % 2]


class Not(SISO):
    """y = not u."""

    def equations(self) -> Any:
        return [self.y == truth(~is_true(self.u))]


class And(SI2SO):
    """y = u1 and u2."""

    def equations(self) -> Any:
        return [self.y == truth(is_true(self.u1) & is_true(self.u2))]


class Or(SI2SO):
    """y = u1 or u2."""

    def equations(self) -> Any:
        return [self.y == truth(is_true(self.u1) | is_true(self.u2))]


class Xor(SI2SO):
    """y = u1 or u2, not both."""

    def equations(self) -> Any:
        one, both = is_true(self.u1) | is_true(self.u2), is_true(self.u1) & is_true(self.u2)
        return [self.y == truth(one & ~both)]


class Pre(Model):
    """The value before the present pass of an event: it breaks loops of logical blocks."""

    u = Var(doc="input")
    y = Discrete(False, doc="output")

    def equations(self) -> Any:
        return [follow(self.y, is_true(self.u))]


class Greater(SI2SO):
    """y is true while u1 > u2."""

    def equations(self) -> Any:
        return [self.y == truth(self.u1 > self.u2)]


class GreaterThreshold(SISO):
    """y is true while u > threshold."""

    threshold = Par(0.0, doc="threshold")

    def equations(self) -> Any:
        return [self.y == truth(self.u > self.threshold)]


class LessThreshold(SISO):
    """y is true while u < threshold."""

    threshold = Par(0.0, doc="threshold")

    def equations(self) -> Any:
        return [self.y == truth(self.u < self.threshold)]


class Switch(Model):
    """y = u1 where u2 is true, else u3."""

    u1 = Var(doc="first input")
    u2 = Var(doc="which one, true above 1/2")
    u3 = Var(doc="other input")
    y = Var(doc="output")

    def equations(self) -> Any:
        return [self.y == where(is_true(self.u2), self.u1, self.u3)]


class Hysteresis(Model):
    """y becomes true above uHigh and false below uLow: y = u > uHigh or pre(y) and u >= uLow."""

    uLow = Par(0.0, doc="below it y becomes false")
    uHigh = Par(1.0, doc="above it y becomes true")
    pre_y_start = Par(0.0, doc="y before the start, where u is in between")
    u = Var(doc="input")
    y = Discrete(False, doc="output")

    def equations(self) -> Any:
        stays = where(initial(), self.pre_y_start > 0.5, pre(self.y))
        return [follow(self.y, (self.u > self.uHigh) | stays & (self.u >= self.uLow))]


class OnOffController(Model):
    """y becomes true where u < reference - bandwidth/2, and false where u > reference + bandwidth/2."""

    bandwidth = Par(0.1, doc="width about the reference in which y stays")
    pre_y_start = Par(0.0, doc="y before the start, where u is in between")
    reference = Var(doc="reference")
    u = Var(doc="measurement")
    y = Discrete(False, doc="output")

    def equations(self) -> Any:
        half = self.bandwidth / 2
        stays = where(initial(), self.pre_y_start > 0.5, pre(self.y))
        below = self.u < self.reference - half
        return [follow(self.y, below | stays & (self.u < self.reference + half))]


class RSFlipFlop(Model):
    """Q is set by S and reset by R, which wins; QI is not Q."""

    S = Var(doc="set")
    R = Var(doc="reset")
    Q = Discrete(False, doc="output")
    QI = Var(doc="not Q")

    def equations(self) -> Any:
        kept = (is_true(self.S) | pre(self.Q)) & ~is_true(self.R)
        return [follow(self.Q, kept), where(self.Q, 0.0, 1.0) == self.QI]


class BooleanToReal(SISO):
    """y = realTrue where u is true, else realFalse."""

    realTrue = Par(1.0, doc="output where u is true")
    realFalse = Par(0.0, doc="output where u is false")

    def equations(self) -> Any:
        return [self.y == where(is_true(self.u), self.realTrue, self.realFalse)]


class RealToBoolean(SISO):
    """y is true where u >= threshold."""

    threshold = Par(0.5, doc="threshold")

    def equations(self) -> Any:
        return [self.y == truth(self.u >= self.threshold)]


class MultiSwitch(Model):
    """y = expr[k] for the first input u[k] that is true; if none is, y_default.

    Parameters
    ----------
    nu : int
        How many inputs.
    expr : sequence of float
        Values of the output, one for each input.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    y_default = Par(0.0, doc="output where no input is true")
    y = Var(doc="output")

    def __init__(self, nu: int = 1, expr: Sequence[float] = (1.0,), **changes: Any):
        self.expr = Par(np.asarray(expr, float), doc="values of the output")
        self.u = Var(nu, doc="inputs: truth values")
        super().__init__(**changes)

    def equations(self) -> Any:
        chosen = self.y_default
        for k in reversed(range(self.u.shape[0])):
            chosen = where(is_true(self.u[k]), self.expr[k], chosen)
        return [self.y == chosen]

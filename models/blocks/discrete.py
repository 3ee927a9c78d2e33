"""Blocks that compute at instants and hold their output in between: sampled control."""

from __future__ import annotations

from typing import Any

from modia_py import Discrete, Model, Par, Var, assign, pre, sample, when


class SampledBlock(Model):
    """What computes at the instants startTime + k samplePeriod."""

    samplePeriod = Par(0.1, unit="s", doc="time between two instants")
    startTime = Par(0.0, unit="s", doc="first instant")
    u = Var(doc="input")

    def sampled(self, *actions: Any) -> Any:
        """The actions of an instant."""
        return when(sample(self.samplePeriod, self.startTime), *actions)


class Sampler(SampledBlock):
    """y is u at the last instant: it samples and holds."""

    y = Discrete(0.0, doc="output")

    def equations(self) -> Any:
        return [self.sampled(assign(self.y, self.u))]


class UnitDelay(SampledBlock):
    """y is u at the last instant but one."""

    kept = Discrete(0.0, doc="u at the last instant")
    y = Discrete(0.0, doc="output")

    def equations(self) -> Any:
        return [self.sampled(assign(self.y, pre(self.kept)), assign(self.kept, self.u))]


class DiscretePI(SampledBlock):
    """A PI controller: at every instant x = pre(x) + samplePeriod/T u, y = k (x + u)."""

    k = Par(1.0, doc="gain")
    T = Par(1.0, nonzero=True, unit="s", doc="time constant")
    x = Discrete(0.0, doc="state")
    y = Discrete(0.0, doc="output")

    def equations(self) -> Any:
        x = pre(self.x) + self.samplePeriod / self.T * self.u
        return [self.sampled(assign(self.x, x), assign(self.y, self.k * (x + self.u)))]


class DiscreteDerivative(SampledBlock):
    """The slope since the last instant: y = k (u - u before) / samplePeriod."""

    k = Par(1.0, doc="gain")
    kept = Discrete(0.0, doc="u at the last instant")
    y = Discrete(0.0, doc="output")

    def equations(self) -> Any:
        slope = self.k * (self.u - pre(self.kept)) / self.samplePeriod
        return [self.sampled(assign(self.y, slope), assign(self.kept, self.u))]


class TriggeredSampler(Model):
    """y is u at the last instant at which `trigger` became true."""

    u = Var(doc="input")
    trigger = Var(doc="true above 1/2: a signal")
    y = Discrete(0.0, doc="output")

    def equations(self) -> Any:
        return [when(self.trigger > 0.5, assign(self.y, self.u))]

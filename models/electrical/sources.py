"""Voltage and current sources whose value is a signal or a function of time.

A voltage source has u = offset + ... from p to n; a current source lets i = offset + ... flow from p to n.
The functions of time are those of `modia_py.models.signals`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from modia_py import Par, Var, der

from .. import signals
from .basic import TwoPin


class SignalVoltage(TwoPin):
    """A voltage that is a signal: give `u` by an equation, `self.source.u == self.sine.y`."""


class SignalCurrent(TwoPin):
    """A current that is a signal: give `i` by an equation, `self.source.i == self.sine.y`."""


class VoltageSource(TwoPin):
    """u = offset + signal(), zero before startTime."""

    offset = Par(0.0, unit="V", doc="added to the voltage")
    startTime = Par(0.0, unit="s", doc="the voltage is offset until then")

    def signal(self) -> Any:
        """The voltage without offset."""
        raise NotImplementedError

    def equations(self) -> Any:
        return [*super().equations(), self.u == self.offset + self.signal()]


class CurrentSource(TwoPin):
    """i = offset + signal(), zero before startTime."""

    offset = Par(0.0, unit="A", doc="added to the current")
    startTime = Par(0.0, unit="s", doc="the current is offset until then")

    def signal(self) -> Any:
        """The current without offset."""
        raise NotImplementedError

    def equations(self) -> Any:
        return [*super().equations(), self.i == self.offset + self.signal()]


class StepVoltage(VoltageSource):
    """u = offset, and from startTime on offset + V."""

    V = Par(1.0, unit="V", doc="height of the step")

    def signal(self) -> Any:
        return signals.step(self.V, self.startTime)


class StepCurrent(CurrentSource):
    """i = offset, and from startTime on offset + I."""

    I = Par(1.0, unit="A", doc="height of the step")  # noqa: E741

    def signal(self) -> Any:
        return signals.step(self.I, self.startTime)


class RampVoltage(VoltageSource):
    """u rises from offset at startTime to offset + V within duration."""

    V = Par(1.0, unit="V", doc="height of the ramp")
    duration = Par(2.0, nonzero=True, unit="s", doc="duration of the ramp")

    def signal(self) -> Any:
        return signals.ramp(self.V, self.duration, self.startTime)


class RampCurrent(CurrentSource):
    """i rises from offset at startTime to offset + I within duration."""

    I = Par(1.0, unit="A", doc="height of the ramp")  # noqa: E741
    duration = Par(2.0, nonzero=True, unit="s", doc="duration of the ramp")

    def signal(self) -> Any:
        return signals.ramp(self.I, self.duration, self.startTime)


class SineVoltage(VoltageSource):
    """u = offset + V sin(2 pi f (time - startTime) + phase), from startTime on."""

    V = Par(1.0, unit="V", doc="amplitude")
    f = Par(1.0, unit="Hz", doc="frequency")
    phase = Par(0.0, unit="rad", doc="phase")

    def signal(self) -> Any:
        return signals.sine(self.V, self.f, self.phase, self.startTime)


class SineCurrent(CurrentSource):
    """i = offset + I sin(2 pi f (time - startTime) + phase), from startTime on."""

    I = Par(1.0, unit="A", doc="amplitude")  # noqa: E741
    f = Par(1.0, unit="Hz", doc="frequency")
    phase = Par(0.0, unit="rad", doc="phase")

    def signal(self) -> Any:
        return signals.sine(self.I, self.f, self.phase, self.startTime)


class ExpSineVoltage(VoltageSource):
    """u = offset + V exp(-damping t) sin(2 pi f t + phase), t = time - startTime > 0."""

    V = Par(1.0, unit="V", doc="amplitude")
    f = Par(2.0, unit="Hz", doc="frequency")
    phase = Par(0.0, unit="rad", doc="phase")
    damping = Par(1.0, unit="1/s", doc="how fast it fades")

    def signal(self) -> Any:
        return signals.damped_sine(self.V, self.f, self.phase, self.damping, self.startTime)


class PulseVoltage(VoltageSource):
    """u = offset + V during the first `width` percent of each period, else offset."""

    V = Par(1.0, unit="V", doc="height of the pulses")
    width = Par(50.0, doc="width of a pulse in percent of the period")
    period = Par(1.0, nonzero=True, unit="s", doc="period")
    nperiod = Par(-1.0, doc="number of periods, negative: without end")

    def signal(self) -> Any:
        return signals.pulse(self.V, self.width, self.period, self.nperiod, self.startTime)


class PulseCurrent(CurrentSource):
    """i = offset + I during the first `width` percent of each period, else offset."""

    I = Par(1.0, unit="A", doc="height of the pulses")  # noqa: E741
    width = Par(50.0, doc="width of a pulse in percent of the period")
    period = Par(1.0, nonzero=True, unit="s", doc="period")
    nperiod = Par(-1.0, doc="number of periods, negative: without end")

    def signal(self) -> Any:
        return signals.pulse(self.I, self.width, self.period, self.nperiod, self.startTime)


class SawToothVoltage(VoltageSource):
    """u rises from offset to offset + V in each period."""

    V = Par(1.0, unit="V", doc="height of the teeth")
    period = Par(1.0, nonzero=True, unit="s", doc="period")
    nperiod = Par(-1.0, doc="number of periods, negative: without end")

    def signal(self) -> Any:
        return signals.saw_tooth(self.V, self.period, self.nperiod, self.startTime)


class TrapezoidVoltage(VoltageSource):
    """In each period u rises by V within `rising`, stays for `width`, falls within `falling`."""

    V = Par(1.0, unit="V", doc="height")
    rising = Par(0.0, unit="s", doc="how long it rises")
    width = Par(0.5, unit="s", doc="how long it stays")
    falling = Par(0.0, unit="s", doc="how long it falls")
    period = Par(1.0, nonzero=True, unit="s", doc="period")
    nperiod = Par(-1.0, doc="number of periods, negative: without end")

    def signal(self) -> Any:
        return signals.trapezoid(
            self.V, self.rising, self.width, self.falling, self.period, self.nperiod, self.startTime
        )


class VariableSine(TwoPin):
    """What sources with signals for frequency and amplitude have in common: der(phi) = 2 pi f.

    Parameters
    ----------
    useConstantAmplitude, useConstantFrequency : bool
        Whether the amplitude is constantAmplitude, and the frequency constantFrequency; else they are
        signals.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    offset = Par(0.0, doc="added to the wave")
    phi = Var(unit="rad", doc="phase; its start value is that of the wave")

    def __init__(
        self, useConstantAmplitude: bool = False, useConstantFrequency: bool = False, **changes: Any
    ):
        if useConstantAmplitude:
            self.constantAmplitude = Par(1.0, doc="amplitude")
        else:
            self.amplitude = Var(doc="amplitude: a signal")
        if useConstantFrequency:
            self.constantFrequency = Par(1.0, unit="Hz", doc="frequency")
        else:
            self.f = Var(unit="Hz", doc="frequency: a signal")
        self._size = self.constantAmplitude if useConstantAmplitude else self.amplitude
        self._frequency = self.constantFrequency if useConstantFrequency else self.f
        super().__init__(**changes)

    def wave(self, function: Any) -> Any:
        """offset + amplitude function(phi)."""
        return self.offset + self._size * function(self.phi)

    def equations(self) -> Any:
        return [*super().equations(), der(self.phi) == 2 * np.pi * self._frequency]


class SineVoltageVariableFrequencyAndAmplitude(VariableSine):
    """v = offset + amplitude sin(phi), der(phi) = 2 pi f."""

    def equations(self) -> Any:
        return [*super().equations(), self.v == self.wave(np.sin)]


class CosineVoltageVariableFrequencyAndAmplitude(VariableSine):
    """v = offset + amplitude cos(phi), der(phi) = 2 pi f."""

    def equations(self) -> Any:
        return [*super().equations(), self.v == self.wave(np.cos)]


class SineCurrentVariableFrequencyAndAmplitude(VariableSine):
    """i = offset + amplitude sin(phi), der(phi) = 2 pi f."""

    def equations(self) -> Any:
        return [*super().equations(), self.i == self.wave(np.sin)]


class CosineCurrentVariableFrequencyAndAmplitude(VariableSine):
    """i = offset + amplitude cos(phi), der(phi) = 2 pi f."""

    def equations(self) -> Any:
        return [*super().equations(), self.i == self.wave(np.cos)]

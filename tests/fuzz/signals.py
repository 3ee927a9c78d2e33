"""Functions of time whose derivatives of any order are known: sums of waves and decays, element by
element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .parts import number


@dataclass(frozen=True)
class Signal:
    """offset + amplitude*sin(frequency*t + phase) + height*exp(-rate*t); all of one shape."""

    offset: np.ndarray
    amplitude: np.ndarray
    frequency: np.ndarray
    phase: np.ndarray
    height: np.ndarray
    rate: np.ndarray
    others: tuple[Signal, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        return self.offset.shape

    def _coefficients(self, order: int) -> tuple[Any, ...]:
        return (
            self.offset if order == 0 else np.zeros(self.shape),
            self.amplitude * self.frequency**order,
            self.phase + order * np.pi / 2,
            self.height * (-self.rate) ** order,
        )

    def at(self, times: Any, order: int = 0) -> np.ndarray:
        """Values, with times along the first axis."""
        offset, amplitude, phase, height = self._coefficients(order)
        t = np.reshape(times, (*np.shape(times), *(1 for _ in self.shape)))
        value = offset + amplitude * np.sin(self.frequency * t + phase) + height * np.exp(-self.rate * t)
        return value + sum((other.at(times, order) for other in self.others), np.zeros(()))

    def text(self, order: int = 0, time: str = "time") -> str:
        """The same as Python text."""
        offset, amplitude, phase, height = self._coefficients(order)
        terms = []
        if np.any(offset):
            terms.append(number(offset))
        if np.any(amplitude):
            terms.append(
                f"{number(amplitude)} * np.sin({number(self.frequency)} * {time} + {number(phase)})"
            )
        if np.any(height):
            terms.append(f"{number(height)} * np.exp(-{number(self.rate)} * {time})")
        terms += [other.text(order, time) for other in self.others]
        return " + ".join(terms) if terms else number(np.zeros(self.shape))

    def __add__(self, other: Signal) -> Signal:
        return Signal(*(getattr(self, name) for name in _ARRAYS), others=(*self.others, other))

    def scaled(self, factor: float) -> Signal:
        parts = {name: getattr(self, name) for name in _ARRAYS}
        for name in ("offset", "amplitude", "height"):
            parts[name] = factor * parts[name]
        return Signal(**parts, others=tuple(other.scaled(factor) for other in self.others))

    def constant(self) -> Signal:
        """Its value at zero, for all times: what shrinking tries first."""
        zero = np.zeros(self.shape)
        return Signal(np.asarray(self.at(0.0)), zero, zero, zero, zero, zero)


def derivative(signal: Signal) -> Signal:
    """The derivative as a signal of its own."""
    _, amplitude, phase, height = signal._coefficients(1)
    others = tuple(derivative(other) for other in signal.others)
    return Signal(np.zeros(signal.shape), amplitude, signal.frequency, phase, height, signal.rate, others)


_ARRAYS = ("offset", "amplitude", "frequency", "phase", "height", "rate")


def random_signal(
    rng: np.random.Generator, draw: np.random.Generator, shape: tuple[int, ...] = (), positive: bool = False
) -> Signal:
    """Values of size one, that move by as much within a second or two."""
    offset = draw.uniform(-1.5, 1.5, shape)
    amplitude = draw.uniform(0.2, 1.2, shape)
    height = draw.uniform(-1.0, 1.0, shape) if rng.random() < 0.4 else np.zeros(shape)
    if positive:
        height = np.abs(height)
        offset = amplitude + draw.uniform(0.3, 1.5, shape)
    arrays = (
        offset,
        amplitude,
        draw.uniform(0.3, 4.0, shape),
        draw.uniform(0.0, 2 * np.pi, shape),
        height,
        draw.uniform(0.2, 3.0, shape),
    )
    return Signal(*(np.round(np.asarray(array), 3) for array in arrays))

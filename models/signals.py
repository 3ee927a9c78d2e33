"""Functions of time that sources have in common, as expressions.

Each is zero before its start. Jumps and kinks are stops of the run, hit exactly. `nperiod`
periods are made, and without end if it is negative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from modia_py import time, where


def step(height: Any, start: Any) -> Any:
    """Zero, then `height`."""
    return where(time >= start, height, 0.0)


def ramp(height: Any, duration: Any, start: Any) -> Any:
    """From zero to `height` in the time `duration`."""
    rising = height * (time - start) / duration
    return where(time < start, 0.0, where(time < start + duration, rising, height))


def sine(amplitude: Any, f: Any, phase: Any, start: Any) -> Any:
    """A sine of frequency f."""
    return step(amplitude * np.sin(2 * np.pi * f * (time - start) + phase), start)


def damped_sine(amplitude: Any, f: Any, phase: Any, damping: Any, start: Any) -> Any:
    """A sine of frequency f that fades with exp(-damping t)."""
    since = time - start
    return step(amplitude * np.exp(-damping * since) * np.sin(2 * np.pi * f * since + phase), start)


def exponentials(height: Any, rise_time: Any, rise: Any, fall: Any, start: Any) -> Any:
    """Towards `height` with the time constant `rise`, and after `rise_time` back with `fall`."""
    since = time - start
    reached = height * (1 - np.exp(-rise_time / rise))
    upwards = height * (1 - np.exp(-since / rise))
    downwards = reached * np.exp(-(since - rise_time) / fall)
    return step(where(time < start + rise_time, upwards, downwards), start)


def in_period(period: Any, start: Any) -> Any:
    """The time since the present period began."""
    return (time - start) % period


def repeated(shape: Any, period: Any, nperiod: Any, start: Any) -> Any:
    """What happens in a period, from the start on, nperiod times or for ever."""
    last = np.where(nperiod < 0, np.inf, start + nperiod * period)
    return where((time >= start) & (time < last), shape, 0.0)


def pulse(amplitude: Any, width: Any, period: Any, nperiod: Any, start: Any) -> Any:
    """`amplitude` during the first `width` percent of each period, else zero."""
    high = where(in_period(period, start) < period * width / 100, amplitude, 0.0)
    return repeated(high, period, nperiod, start)


def saw_tooth(amplitude: Any, period: Any, nperiod: Any, start: Any) -> Any:
    """From zero to `amplitude` in each period."""
    return repeated(amplitude * in_period(period, start) / period, period, nperiod, start)


def trapezoid(
    amplitude: Any, rising: Any, width: Any, falling: Any, period: Any, nperiod: Any, start: Any
) -> Any:
    """In each period up within `rising`, high for `width`, down within `falling`, then zero."""
    since = in_period(period, start)
    # Edges without duration are never evaluated, but their division is.
    up = amplitude * since / np.where(rising > 0, rising, 1.0)
    down = amplitude * (rising + width + falling - since) / np.where(falling > 0, falling, 1.0)
    falls = where(since < rising + width + falling, down, 0.0)
    shape = where(since < rising, up, where(since < rising + width, amplitude, falls))
    return repeated(shape, period, nperiod, start)

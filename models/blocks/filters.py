"""Analog filters: low pass, high pass, band pass and band stop of four characteristics.

A prototype with the cut-off frequency 1 rad/s (its poles come from scipy) is transformed to the frequencies
that are asked for. Each pole, or pair of poles a +- jb, is a section of its own, in a chain:

    real pole r:   der(x) = r (x - u)
    pair:          der(x1) = a x1 - b x2 + (a^2 + b^2)/b u,  der(x2) = b x1 + a x2

States are as large as inputs. Frequencies are data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, signal

from modia_py import ModelError, Par, Var, der

from .continuous import SISO

CUT_OFF = 10.0 ** (-3 / 20)
"""The amplitude at the cut-off frequency: -3 dB."""
CHARACTERISTICS = ("CriticalDamping", "Bessel", "Butterworth", "ChebyshevI")
TYPES = ("LowPass", "HighPass", "BandPass", "BandStop")
STARTS = ("SteadyState", "NoInit")


class Filter(SISO):
    """An analog filter of a given order: a chain of sections (see the top of this file).

    Low pass: y is what comes out of the chain. High pass: each section gives its input less its low pass
    (and of a pair, less its band pass). Band pass and band stop have twice as many states.

    Parameters
    ----------
    analogFilter : str
        "CriticalDamping", "Bessel", "Butterworth" or "ChebyshevI".
    filterType : str
        "LowPass", "HighPass", "BandPass" or "BandStop", from f_min to f_cut.
    order : int
        Order of the prototype.
    A_ripple : float
        Ripple of a Chebyshev filter in its pass band, in dB.
    normalized : bool
        Whether the amplitude at f_cut is down by 3 dB (a Butterworth filter is as it is).
    init : str
        "SteadyState": all states begin at rest. "NoInit": with the start values of `x`.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    f_cut = Par(1.0, unit="Hz", doc="cut-off frequency, the upper one of a band")
    f_min = Par(0.0, unit="Hz", doc="lower cut-off frequency of a band")
    gain = Par(1.0, doc="gain where all passes")

    def __init__(
        self,
        analogFilter: str = "CriticalDamping",
        filterType: str = "LowPass",
        order: int = 2,
        A_ripple: float = 0.5,
        normalized: bool = True,
        init: str = "SteadyState",
        **changes: Any,
    ):
        for given, known in ((analogFilter, CHARACTERISTICS), (filterType, TYPES), (init, STARTS)):
            if given not in known:
                raise ModelError(f"Filter: there is no {given!r}, only {', '.join(known)}.")
        if order < 1:
            raise ModelError(f"Filter: the order is {order}; it is a whole number from 1 on.")
        self.filterType, self.init = filterType, init
        self.poles = prototype(analogFilter, order, A_ripple, normalized)
        self.is_band = filterType in ("BandPass", "BandStop")
        self.x = Var(2 * order if self.is_band else order, doc="states")
        super().__init__(**changes)

    def equations(self) -> Any:
        passed, place, rows = self.u, 0, []
        for pole in self.poles:
            for section in self._sections(pole):
                x = self.x[place : place + section.states]
                place += section.states
                rows += section.equations(x, passed)
                passed = section.passes(x, passed)
        return [*rows, self.y == self.gain * passed]

    def initial_equations(self) -> Any:
        return [der(self.x) == 0] if self.init == "SteadyState" else []

    def _sections(self, pole: complex) -> list[RealPole | PairOfPoles]:
        """What a pole of the prototype, or a pair, becomes at the frequencies asked for."""
        high, is_low = 2 * np.pi * self.f_cut, self.filterType == "LowPass"
        if not self.is_band:
            moved = pole if is_low else 1 / pole
            a, b = high * moved.real, high * abs(moved.imag)
            if pole.imag == 0:
                return [RealPole(a, is_low)]
            size = a**2 + b**2
            return [PairOfPoles(a, b, 0.0, 0.0, size) if is_low else PairOfPoles(a, b, 1.0, 2 * a, -size)]
        low, is_pass = 2 * np.pi * self.f_min, self.filterType == "BandPass"
        # The prototype's s is (s^2 + w0^2)/(width s), or its inverse: s^2 - 2 h s + w0^2 = 0.
        centre, half = low * high, (high - low) / 2
        moved = pole if is_pass else 1 / pole
        found = band_poles(half * moved.real, half * abs(moved.imag), centre, pole.imag == 0)
        if is_pass:
            return [PairOfPoles(a, b, 0.0, 2 * half * abs(pole), 0.0) for a, b in found]
        return [PairOfPoles(a, b, 1.0, 2 * a, centre - a**2 - b**2) for a, b in found]


@dataclass(frozen=True)
class RealPole:
    """r/(s - r) for inputs to be passed below -r, else s/(s - r)."""

    r: Any
    is_low: bool
    states: int = 1

    def equations(self, x: Any, u: Any) -> list[Any]:
        return [der(x[0]) == self.r * (x[0] - u)]

    def passes(self, x: Any, u: Any) -> Any:
        return x[0] if self.is_low else u - x[0]


@dataclass(frozen=True)
class PairOfPoles:
    """direct + (n1 s + n0)/(s^2 - 2 a s + a^2 + b^2)."""

    a: Any
    b: Any
    direct: float
    n1: Any
    n0: Any
    states: int = 2

    @property
    def _gain(self) -> Any:
        return (self.a**2 + self.b**2) / self.b

    def equations(self, x: Any, u: Any) -> list[Any]:
        return [
            der(x[0]) == self.a * x[0] - self.b * x[1] + self._gain * u,
            der(x[1]) == self.b * x[0] + self.a * x[1],
        ]

    def passes(self, x: Any, u: Any) -> Any:
        k1 = self.n1 / self._gain
        k2 = (self.n0 + self.n1 * self.a) / (self.b * self._gain)
        return self.direct * u + k1 * x[0] + k2 * x[1]


def band_poles(re: Any, im: Any, centre: Any, is_real: bool) -> list[tuple[Any, Any]]:
    """Real parts, and sizes of imaginary parts, of h +- sqrt(h^2 - centre), h = re + j im, re < 0 <= im.

    A real h, of a narrow band, gives one pair; any other h gives two (with the conjugate of h).
    """
    if is_real:
        return [(re, np.sqrt(centre - re**2))]
    along, across = re**2 - im**2 - centre, 2 * re * im
    size = np.sqrt(along**2 + across**2)
    # The root in the half plane of positive real parts: its imaginary part has the sign of `across`.
    root = np.sqrt((size + along) / 2), -np.sqrt((size - along) / 2)
    return [(re + root[0], im + root[1]), (re - root[0], im - root[1])]


def prototype(kind: str, order: int, ripple: float, normalized: bool) -> list[complex]:
    """Poles of the low pass with cut-off frequency 1 rad/s: a real one first, of pairs one each."""
    if kind == "CriticalDamping":
        poles = -np.ones(order, complex)
    elif kind == "Bessel":
        poles = signal.besselap(order, norm="delay")[1]
    elif kind == "Butterworth":
        poles = signal.buttap(order)[1]
    else:
        poles = signal.cheb1ap(order, ripple)[1]
    if normalized and kind != "Butterworth":

        def above(log_w: float) -> float:
            return float(np.sum(np.log(np.abs(1 - 1j * np.exp(log_w) / poles)))) + np.log(CUT_OFF)

        poles = poles / np.exp(optimize.brentq(above, -10.0, 10.0))
    size = np.abs(poles.imag) > 1e-9 * np.abs(poles)
    return [complex(p.real) for p in poles[~size]] + [complex(p) for p in poles[size] if p.imag > 0]

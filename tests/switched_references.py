"""Switched systems solved on their own: closed forms, exact and tight integration between events."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import expm


def linear_steps(pieces, y):
    """y' = A y + b piece after piece, exactly: `pieces` yields (duration, A, b); gives y at the ends."""
    found = [y]
    for duration, A, b in pieces:
        n = len(y)
        whole = np.zeros((n + 1, n + 1))
        whole[:n, :n], whole[:n, n] = A, b
        y = (expm(duration * whole) @ np.append(y, 1.0))[:n]
        found.append(y)
    return np.array(found)


def buck_converter(periods, *, V=12.0, L=100e-6, C=100e-6, R=2.0, Ron=1e-5, Goff=1e-5, period=10e-6):
    """Current and voltage at every half period, while the diode conducts whenever the switch does not."""

    def piece(switch, diode):
        # The node between switch, diode and inductor: (V - v) switch - v diode = i.
        total = switch + diode
        A = np.array([[-1 / total / L, -1 / L], [1 / C, -1 / (R * C)]])
        return period / 2, A, np.array([V * switch / total / L, 0.0])

    both = piece(1 / Ron, Goff), piece(Goff, 1 / Ron)
    return linear_steps(both * periods, np.array([3.0, 6.0]))


def full_wave_rectifier(stop, times, *, V=10.0, f=50.0, Rs=1.0, C=1e-3, R=50.0, Ron=1e-3, Goff=1e-5):
    """The voltage of the load: which pair of diodes conducts is known from the voltage behind Rs."""

    def bridge(t, u, forward, backward):
        """Voltage at the bridge and current out of it; opposite diodes carry the same current."""
        # e - Rs i = w,  i = forward (w - u)/2 + backward (w + u)/2
        e = V * np.sin(2 * np.pi * f * t)
        w = (e + Rs * (forward - backward) / 2 * u) / (1 + Rs * (forward + backward) / 2)
        return w, forward * (w - u) / 2 - backward * (w + u) / 2

    def conductances(mode):
        return (1 / Ron if mode == 1 else Goff), (1 / Ron if mode == -1 else Goff)

    def leaves(mode):
        def distance(t, y):
            w, _ = bridge(t, y[0], *conductances(mode))
            return mode * w - y[0] if mode else abs(w) - y[0]

        distance.terminal, distance.direction = True, -1 if mode else 1
        return distance

    t, y, mode, values = 0.0, [0.0], 1, np.zeros(len(times))
    while t < stop:
        pair = conductances(mode)
        piece = solve_ivp(
            lambda t, y, pair=pair: [(bridge(t, y[0], *pair)[1] - y[0] / R) / C],
            (t, stop),
            y,
            method="Radau",
            rtol=1e-10,
            atol=1e-12,
            events=leaves(mode),
            dense_output=True,
        )
        here = (times >= t) & (times <= piece.t[-1])
        values[here] = piece.sol(times[here])[0]
        t, y = piece.t[-1], piece.y[:, -1]
        mode = 0 if mode else (1 if np.sin(2 * np.pi * f * t) > 0 else -1)
    return values


def stick_slip(times, *, m=1.0, c=100.0, vb=0.2, kinetic=3.0, static=4.5):
    """Position of the mass, at first stuck: it slips at static/c and sticks again mirrored at kinetic/c."""
    w, amplitude, middle = np.sqrt(c / m), (static - kinetic) / c, kinetic / c
    slipping = (2 * np.pi - 2 * np.arctan(amplitude * w / vb)) / w
    sticking = 2 * amplitude / vb
    first = static / c / vb
    since = np.where(times < first, 0.0, (times - first) % (slipping + sticking))
    slips = middle + amplitude * np.cos(w * since) + vb / w * np.sin(w * since)
    sticks = middle - amplitude + vb * (since - slipping)
    later = np.where(since < slipping, slips, sticks)
    begin = first + (slipping + sticking) * np.arange(100)
    return np.where(times < first, vb * times, later), begin, begin + slipping


def coulomb_oscillator(times, *, w=10.0, start=1.0, loss=0.07):
    """Position: every half period is a cosine about +-loss; it rests where the spring is too weak."""
    half = np.pi / w
    position, centre, amplitude, sign = np.full(len(times), np.nan), loss, start - loss, 1
    turning, k = [start], 0
    while abs(turning[-1]) > loss:
        here = (times >= k * half) & (times <= (k + 1) * half)
        position[here] = sign * (centre + amplitude * np.cos(w * (times[here] - k * half)))
        turning.append(sign * (centre - amplitude))
        amplitude, sign, k = amplitude - 2 * loss, -sign, k + 1
    position[times >= k * half] = turning[-1]
    return position, np.array(turning)


def sampled_motor(samples, *, R=0.5, L=5e-3, k=0.2, J=1e-3, gain=0.05, T=0.02, period=2e-3, wanted=50.0):
    """Current and speed at the instants, and the voltage after them; the set point rises at 0.01."""
    A = np.array([[-R / L, -k / L], [k / J, 0.0]])
    y, x, rows = np.zeros(2), 0.0, []
    for number in range(samples):
        u = (wanted if number >= 5 else 0.0) - y[1]
        x += period / T * u
        voltage = gain * (x + u)
        rows.append([*y, voltage])
        y = linear_steps([(period, A, np.array([voltage / L, 0.0]))], y)[-1]
    return np.array(rows)

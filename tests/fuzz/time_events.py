"""Systems that switch at times which are known before the run: pulses, sampled controllers."""

from __future__ import annotations

import numpy as np

from .pieces import Piece, Solution, line, relaxing
from .switching import Draw, Extra, Numbers, System, between, followed

PERIODS = (0.04, 0.05, 0.1, 0.125, 0.2, 1 / 3)
"""Few, so that ticks of different systems often fall together."""

# A lag behind pulses and a step; ticks beside them


def pulses(rng: Draw) -> System:
    choice = str(rng.choice(["where", "np.where"]))
    pulse = f"{choice}(time % s.P < s.D * s.P, s.u, 0.0)"
    step = f"where(time > s.T, s.v, {rng.choice(['0.0', '0.0 * s.x'])})"
    return System(
        "pulses",
        ("x = Var(init=0.0)",),
        (f"der(s.x) == s.rate * ({pulse} + {step} - s.x)",),
        follow_pulses,
        ("x",),
        (
            Extra("n", "n = Discrete(0)", "when(sample(s.Q, s.offset), assign(s.n, pre(s.n) + 1))"),
            Extra("last", "last = Discrete(-1.0)", "when(sample(s.Q, s.offset), assign(s.last, time))"),
            Extra("q", "q = Var(init=0.0)", "der(s.q) == where(time > s.T, 1.0, 0.0)"),
        ),
    )


def pulses_numbers(draw: Draw) -> Numbers:
    return {
        "rate": between(draw, 0.5, 10.0),
        "P": float(draw.choice(PERIODS)),
        "D": float(draw.choice([0.5, between(draw, 0.05, 0.95), 0.002])),
        "u": between(draw, 0.5, 2.0),
        "T": float(draw.choice([0.5, between(draw, 0.05, 0.95)])),
        "v": -between(draw, 0.5, 2.0),
        "Q": float(draw.choice(PERIODS)),
        "offset": float(draw.choice([0.0, 0.02, between(draw, 0.0, 0.3)])),
    }


def follow_pulses(p: Numbers, stop: float) -> Solution:
    begins = p["P"] * np.arange(int(stop / p["P"]) + 1)
    ticks = p["offset"] + p["Q"] * np.arange(int(stop / p["Q"]) + 1)
    borders = _apart(np.concatenate([[0.0, p["T"]], begins, begins + p["D"] * p["P"], ticks]), stop)
    x = 0.0
    pieces: list[Piece] = []
    for start, end in zip(borders, [*borders[1:], stop + 1.0], strict=True):
        middle = start + min(end - start, 1e-6) / 2
        target = p["u"] * (middle % p["P"] < p["D"] * p["P"]) + p["v"] * (middle > p["T"])
        past = ticks[ticks <= middle]
        on = float(middle > p["T"])
        functions = {
            "x": relaxing(x, target, p["rate"]),
            "n": line(len(past)),
            "last": line(past[-1] if len(past) else -1.0),
            "q": line(on * (start - p["T"]), on),
        }
        pieces.append(Piece(start, functions))
        x = float(pieces[-1].at("x", np.array(end)))
    return followed(pieces)


def _apart(times: np.ndarray, stop: float) -> list[float]:
    """Sorted, and each but once: what is computed in two ways differs by rounding."""
    kept: list[float] = []
    for t in np.sort(times):
        if t <= stop and (not kept or t - kept[-1] > 1e-9):
            kept.append(float(t))
    return kept


# A lag under sampled control


def sampled_control(rng: Draw) -> System:
    lag = "der(s.x) == s.b * {} - s.a * s.x"
    clocked = (
        "clk = clock(s.P)",
        "error = s.r - sampled(s.x, clk)",
    )
    section = "when(clk, assign(s.i, previous(s.i) + s.P * error), assign(s.u, s.k * error + s.l * s.i))"
    plain = (
        "when(sample(s.P), assign(s.i, pre(s.i) + s.P * (s.r - s.x)), "
        "assign(s.u, s.k * (s.r - s.x) + s.l * s.i))"
    )
    before, equations, solve = [
        ((), (lag.format("s.u"), plain), follow_control),
        (clocked, (lag.format("hold(s.u)"), section), follow_control),
        (clocked, (lag.format("hold(sampled(s.u, clk.delayed(s.d)))"), section), follow_late_control),
    ][rng.integers(3)]
    variables = ("x = Var(init=0.2)", "i = Discrete(0.0)", "u = Discrete(0.0)")
    return System("sampled control", variables, equations, solve, ("x", "i", "u"), before=before)


def control_numbers(draw: Draw) -> Numbers:
    period = float(draw.choice(PERIODS))
    return {
        "a": between(draw, 0.2, 3.0),
        "b": between(draw, 0.5, 2.0),
        "P": period,
        "r": between(draw, 0.5, 2.0),
        "k": between(draw, 0.5, 2.0),
        "l": between(draw, 0.5, 3.0),
        "d": float(draw.choice([0.25, 0.5, 0.9])) * period,
    }


def follow_control(p: Numbers, stop: float) -> Solution:
    return follow_late_control({**p, "d": 0.0}, stop)


def follow_late_control(p: Numbers, stop: float) -> Solution:
    x, i, u, held = 0.2, 0.0, 0.0, 0.0
    pieces: list[Piece] = []

    def go_on(start: float, end: float) -> float:
        functions = {"x": relaxing(x, p["b"] * held / p["a"], p["a"]), "i": line(i), "u": line(u)}
        pieces.append(Piece(start, functions))
        return float(pieces[-1].at("x", np.array(end)))

    for tick in range(int(stop / p["P"] + 1e-9) + 1):
        t, then = tick * p["P"], (tick + 1) * p["P"]
        i += p["P"] * (p["r"] - x)
        u = p["k"] * (p["r"] - x) + p["l"] * i
        if p["d"] > 0:
            x = go_on(t, t + p["d"])
        held = u
        x = go_on(t + p["d"], then)
    return followed(pieces)


SYSTEMS = ((pulses, pulses_numbers), (sampled_control, control_numbers))

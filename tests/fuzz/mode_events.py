"""Systems whose equations differ from mode to mode: friction, a clutch, a machine with three states."""

from __future__ import annotations

import numpy as np

from .pieces import Piece, Solution, line, relaxing, swinging
from .switching import Draw, Extra, Numbers, System, between, followed, observed

# An oscillation with Coulomb friction: each half period loses twice the friction over the stiffness


def friction(rng: Draw) -> System:
    return System(
        "dry friction",
        ("x = Var(init=1.0)", "v = Var(init=0.0)"),
        ("der(s.x) == s.v", "der(s.v) == -(s.w**2) * (s.x + where(forward, s.f, -s.f))"),
        follow_friction,
        ("x", "v"),
        observed("[forward, ~forward]", "forward"),
        before=("forward = s.v > 0",),
    )


def friction_numbers(draw: Draw) -> Numbers:
    """So little friction that nothing sticks before the end."""
    w = between(draw, 4.0, 30.0)
    turns = int(w / np.pi) + 1
    return {"w": w, "f": between(draw, 0.2, 0.8) / (2 * turns + 2)}


def follow_friction(p: Numbers, stop: float) -> Solution:
    w, f, half = p["w"], p["f"], np.pi / p["w"]
    amplitude = 1.0
    pieces: list[Piece] = []
    while (t := len(pieces) * half) < stop:
        forward = len(pieces) % 2
        side = -1.0 if forward else 1.0  # where it starts from
        swing = amplitude - f
        pieces.append(
            Piece(
                t,
                {
                    "x": swinging(side * f, side * swing, w, np.pi / 2),
                    "v": swinging(0.0, -side * swing * w, w, 0.0),
                    "n": line(len(pieces)),
                    "last": line(t if pieces else -1.0),
                    "q": line(len(pieces) // 2 * half, float(forward)),
                },
            )
        )
        amplitude -= 2 * f
    return followed(pieces)


# Two inertias that are coupled for a while: momentum is kept over the impulse. The integral of the torque
# has the impulse in it: all the momentum of the second inertia has come through the clutch.


def clutch(rng: Draw) -> System:
    by_time = rng.random() < 0.5
    engaged = "(time > s.begin) & (time < s.end)" if by_time else "s.engaged"
    latch = () if by_time else ("when(s.w1 > s.limit, assign(s.engaged, True))",)
    return System(
        "a clutch",
        (
            "w1 = Var(init=10.0)",
            "w2 = Var(init=0.0)",
            "tau = Var()",
            *(() if by_time else ("engaged = Discrete(False)",)),
        ),
        (
            "s.J1 * der(s.w1) == s.drive - s.tau",
            "s.J2 * der(s.w2) == s.tau",
            f"0 == where({engaged}, s.w1 - s.w2, s.tau)",
            *latch,
        ),
        follow_clutch if by_time else follow_latch,
        ("w1", "w2", "tau"),
        (Extra("q", "q = Var(init=0.0)", f"der(s.q) == where({engaged}, s.tau, 0.0)"),),
    )


def clutch_numbers(draw: Draw) -> Numbers:
    begin = between(draw, 0.1, 0.5)
    inertia, drive = between(draw, 0.5, 2.0), between(draw, 2.0, 8.0)
    return {
        "J1": inertia,
        "J2": between(draw, 0.5, 2.0),
        "drive": drive,
        "begin": begin,
        "end": begin + between(draw, 0.1, 0.4),
        "limit": 10.0 + drive / inertia * begin,
    }


def follow_latch(p: Numbers, stop: float) -> Solution:
    return follow_clutch({**p, "end": np.inf}, stop)


def follow_clutch(p: Numbers, stop: float) -> Solution:
    alone, together = p["drive"] / p["J1"], p["drive"] / (p["J1"] + p["J2"])
    torque = p["J2"] * together
    before = 10.0 + alone * p["begin"]
    common = before * p["J1"] / (p["J1"] + p["J2"])
    pieces = [
        Piece(0.0, {"w1": line(10.0, alone), "w2": line(0.0), "tau": line(0.0), "q": line(0.0)}),
        Piece(
            p["begin"],
            {
                "w1": line(common, together),
                "w2": line(common, together),
                "tau": line(torque),
                "q": line(p["J2"] * common, torque),
            },
        ),
    ]
    if p["end"] < stop:
        coupled = p["end"] - p["begin"]
        speed = common + together * coupled
        after = {"w1": line(speed, alone), "w2": line(speed), "tau": line(0.0), "q": line(p["J2"] * speed)}
        pieces.append(Piece(p["end"], after))
    return followed(pieces)


# Three states, one after the other, each for a time of its own


def machine(rng: Draw) -> System:
    chosen = "where(s.mode == 0, s.{0}0, where(s.mode == 1, s.{0}1, s.{0}2))"
    following = str(rng.choice(["(pre(s.mode) + 1) % 3", "where(pre(s.mode) == 2, 0, pre(s.mode) + 1)"]))
    return System(
        "a machine with three states",
        ("timer = Var(init=0.0)", "x = Var(init=0.0)", "mode = Discrete(0)"),
        (
            "der(s.timer) == 1.0",
            f"der(s.x) == 3.0 * ({chosen.format('c')} - s.x)",
            f"when(due, reinit(s.timer, 0.0), assign(s.mode, {following}))",
        ),
        follow_machine,
        ("timer", "x", "mode"),
        observed("due"),
        before=(f"due = s.timer > {chosen.format('d')}",),
    )


def machine_numbers(draw: Draw) -> Numbers:
    durations = {f"d{k}": between(draw, 0.03, 0.3) for k in range(3)}
    return {**durations, **{f"c{k}": between(draw, -2.0, 2.0) for k in range(3)}}


def follow_machine(p: Numbers, stop: float) -> Solution:
    t, x, last = 0.0, 0.0, -1.0
    pieces: list[Piece] = []
    while t < stop:
        mode = len(pieces) % 3
        functions = {
            "timer": line(0.0, 1.0),
            "x": relaxing(x, p[f"c{mode}"], 3.0),
            "mode": line(mode),
            "n": line(len(pieces)),
            "last": line(last),
        }
        pieces.append(Piece(t, functions))
        t += p[f"d{mode}"]
        x = float(pieces[-1].at("x", np.array(t)))
        last = t
    return followed(pieces)


SYSTEMS = ((friction, friction_numbers), (clutch, clutch_numbers), (machine, machine_numbers))

"""Systems that switch where a state passes a value: relays, resets, bounces, walls, crests.

Each is a function that chooses a way of writing it, one that draws its numbers, and one that follows it.
"""

from __future__ import annotations

import numpy as np

from .pieces import Piece, Solution, line, parabola, relaxing, swinging, time_to_reach
from .switching import Draw, Numbers, System, between, followed, observed

# A relay with hysteresis: heating and cooling


def relay(rng: Draw) -> System:
    always = "always(assign(s.on, (s.x < s.low) | (pre(s.on) & (s.x < s.high))))"
    edges = "when([s.x > s.high, s.x < s.low], assign(s.on, s.x < s.low))"
    return System(
        "a relay with hysteresis",
        ("x = Var(init=0.0)", "on = Discrete(True)"),
        ("der(s.x) == s.rate * (where(s.on, s.hot, s.cold) - s.x)", str(rng.choice([always, edges]))),
        follow_relay,
        ("x", "on"),
        observed("change(s.on)", "s.on"),
    )


def relay_numbers(draw: Draw) -> Numbers:
    low, high = -between(draw, 0.1, 1.0), between(draw, 0.1, 1.0)
    hot, cold = high + between(draw, 0.5, 2.0), low - between(draw, 0.5, 2.0)
    return {"rate": between(draw, 2.0, 20.0), "low": low, "high": high, "hot": hot, "cold": cold}


def follow_relay(p: Numbers, stop: float) -> Solution:
    t, x, on, q, last = 0.0, 0.0, True, 0.0, -1.0
    pieces: list[Piece] = []
    while t < stop:
        target, border = (p["hot"], p["high"]) if on else (p["cold"], p["low"])
        pieces.append(
            Piece(
                t,
                {
                    "x": relaxing(x, target, p["rate"]),
                    "on": line(float(on)),
                    "n": line(len(pieces)),
                    "last": line(last),
                    "q": line(q, float(on)),
                },
            )
        )
        duration = time_to_reach(x, border, target, p["rate"])
        q += duration * on
        t, x, on = t + duration, border, not on
        last = t
    return followed(pieces)


# A state that is set back where it passes a threshold


def firing(rng: Draw) -> System:
    value = str(rng.choice(["s.a", "pre(s.x) - s.top + s.a", "where(pre(s.odd), s.b, s.a)"]))
    actions = f"reinit(s.x, {value}), assign(s.odd, ~pre(s.odd))"
    return System(
        "a state that is set back",
        ("x = Var(init=0.0)", "odd = Discrete(False)"),
        ("der(s.x) == s.rate * (s.target - s.x)", f"when(s.x > s.top, {actions})"),
        follow_alternating if "odd" in value else follow_firing,
        ("x", "odd"),
        observed("s.x > s.top"),
    )


def firing_numbers(draw: Draw) -> Numbers:
    top = between(draw, 0.3, 1.0)
    return {
        "rate": between(draw, 1.0, 12.0),
        "top": top,
        "target": top + between(draw, 0.3, 1.5),
        "a": between(draw, -0.5, 0.15),
        "b": between(draw, -0.5, 0.15),
    }


def follow_firing(p: Numbers, stop: float) -> Solution:
    return follow_alternating({**p, "b": p["a"]}, stop)


def follow_alternating(p: Numbers, stop: float) -> Solution:
    t, x, last = 0.0, 0.0, -1.0
    pieces: list[Piece] = []
    while t < stop:
        odd = len(pieces) % 2
        pieces.append(
            Piece(
                t,
                {
                    "x": relaxing(x, p["target"], p["rate"]),
                    "odd": line(odd),
                    "n": line(len(pieces)),
                    "last": line(last),
                },
            )
        )
        t += time_to_reach(x, p["top"], p["target"], p["rate"])
        x = p["b"] if odd else p["a"]
        last = t
    return followed(pieces)


# A ball that bounces


def ball(rng: Draw) -> System:
    speed = str(rng.choice(["-s.e * s.v", "-s.e * pre(s.v)", "s.e * np.abs(s.v)"]))
    return System(
        "a bouncing ball",
        ("h = Var(init=1.0)", "v = Var(init=0.0)"),
        ("der(s.h) == s.v", "der(s.v) == -s.g", f"when(s.h < 0, reinit(s.v, {speed}))"),
        follow_ball,
        ("h", "v"),
        observed("s.h < 0"),
    )


def ball_numbers(draw: Draw) -> Numbers:
    """Bounces come to an end at sqrt(2/g)*(1 + e)/(1 - e), which is after the run."""
    e = between(draw, 0.5, 0.95)
    latest = 2 * ((1 + e) / (1 - e) / 1.3) ** 2
    return {"e": e, "g": float(np.round(min(between(draw, 10.0, 300.0), latest), 3))}


def follow_ball(p: Numbers, stop: float) -> Solution:
    t, h, v, last = 0.0, 1.0, 0.0, -1.0
    pieces: list[Piece] = []
    while t < stop:
        pieces.append(
            Piece(
                t,
                {
                    "h": parabola(h, v, -p["g"]),
                    "v": line(v, -p["g"]),
                    "n": line(len(pieces)),
                    "last": line(last),
                },
            )
        )
        speed = np.sqrt(v**2 + 2 * p["g"] * h)
        t += float((v + speed) / p["g"])
        h, v = 0.0, float(p["e"] * speed)
        last = t
    # The height is small beside the first one in the end, and a bounce hangs on it.
    return followed(pieces, 1.0 / p["e"] ** len(pieces))


# Between two walls


def walls(rng: Draw) -> System:
    return System(
        "between walls",
        ("x = Var(init=0.5)", "direction = Discrete(1.0)"),
        (
            "der(s.x) == s.direction * s.speed",
            "when([left, right], assign(s.direction, where(left, 1.0, -1.0)))",
        ),
        follow_walls,
        ("x", "direction"),
        observed("[left, right]", "s.direction > 0"),
        before=("left, right = s.x < s.low, s.x > s.high",),
    )


def walls_numbers(draw: Draw) -> Numbers:
    low, high = between(draw, -1.0, 0.3), between(draw, 0.7, 2.0)
    return {"low": low, "high": high, "speed": between(draw, 2.0, 15.0)}


def follow_walls(p: Numbers, stop: float) -> Solution:
    t, x, direction, q, last = 0.0, 0.5, 1.0, 0.0, -1.0
    pieces: list[Piece] = []
    while t < stop:
        forward = float(direction > 0)
        pieces.append(
            Piece(
                t,
                {
                    "x": line(x, direction * p["speed"]),
                    "direction": line(direction),
                    "n": line(len(pieces)),
                    "last": line(last),
                    "q": line(q, forward),
                },
            )
        )
        border = p["high"] if direction > 0 else p["low"]
        duration = abs(border - x) / p["speed"]
        q += duration * forward
        t, x, direction = t + duration, border, -direction
        last = t
    return followed(pieces)


# An oscillation that is compared with a value


def swing(rng: Draw) -> System:
    relation, solve = [
        ("s.x > s.c", follow_crests),
        ("s.x**2 > s.c", follow_squares),
        ("der(s.x) > s.c * s.w", follow_slopes),
        ("s.y > s.c**3", follow_crests),
    ][rng.integers(4)]
    variables = ("x = Var(init=0.0)", "v = Var(init=1.0)", "y = Var()")
    equations = ("der(s.x) == s.w * s.v", "der(s.v) == -s.w * s.x", "s.y == s.x**3")
    before = (f"high = {relation}",)
    return System("an oscillation", variables, equations, solve, ("x",), observed("high", "high"), before)


def swing_numbers(draw: Draw) -> Numbers:
    c = between(draw, 0.1, 0.9) if draw.random() < 0.6 else float(draw.choice([0.98, 0.99, 0.995]))
    return {"w": between(draw, 4.0, 40.0), "c": c}


def _swung(p: Numbers, stop: float, first: float, second: float, period: float, steep: float) -> Solution:
    """High while the angle is between `first` and `second`, modulo `period`."""
    w = p["w"]
    high = first < 0.0
    count = 2 + int(w * stop / period)
    borders = np.sort([angle + period * k for k in range(-1, count) for angle in (first, second)]) / w
    q, n, last = 0.0, 0, -1.0
    pieces: list[Piece] = []
    for start in [0.0, *borders[(borders > 0) & (borders < stop)]]:
        if pieces:
            q += (start - pieces[-1].start) * high
            high = not high
            n, last = (n + 1, start) if high else (n, last)
        functions = {"n": line(n), "last": line(last), "q": line(q, float(high))}
        pieces.append(Piece(start, {**functions, "x": swinging(0.0, 1.0, w, w * start)}))
    return followed(pieces, steep)


def follow_crests(p: Numbers, stop: float) -> Solution:
    angle = float(np.arcsin(p["c"]))
    return _swung(p, stop, angle, np.pi - angle, 2 * np.pi, 1 / np.cos(angle))


def follow_squares(p: Numbers, stop: float) -> Solution:
    angle = float(np.arcsin(np.sqrt(p["c"])))
    return _swung(p, stop, angle, np.pi - angle, np.pi, 1 / np.cos(angle))


def follow_slopes(p: Numbers, stop: float) -> Solution:
    angle = float(np.arccos(p["c"]))
    return _swung(p, stop, -angle, angle, 2 * np.pi, 1 / np.sin(angle))


# An angle that turns: its state is smooth at any tolerance, what it is compared with is not


def cam(rng: Draw) -> System:
    return System(
        "a cam",
        ("angle = Var(init=0.0)", "x = Var()"),
        ("der(s.angle) == s.w", "s.x == np.sin(s.angle)"),
        follow_crests,
        ("x",),
        observed("high", "high"),
        before=("high = s.x > s.c",),
    )


SYSTEMS = (
    (relay, relay_numbers),
    (firing, firing_numbers),
    (ball, ball_numbers),
    (walls, walls_numbers),
    (swing, swing_numbers),
    (cam, swing_numbers),
)

# ruff: noqa: E501 -- texts of models are as long as they are
"""Nonlinear algebra beside a known signal: `y**3 + y == 10*x`, diodes, systems, branches; and roots that end.

The signal x(t) is known in closed form; y follows from it by continuation, independently of modia_py. Where the
followed root ends within the interval, only an error is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from .parts import Deviation, Must, Part, largest_deviation, number

STOP = 1.0


@dataclass(frozen=True)
class Law:
    """left(y, x) == right(y, x) with a root `start` at time zero; y has `size` elements, 0 for a scalar."""

    title: str
    left: str
    right: str
    size: int
    start: tuple[float, ...]
    drive: str  # x as text in `time`
    equation: str  # what makes x the drive
    x_start: str  # text in the declaration of x


@dataclass(frozen=True)
class Algebra:
    law: Law
    kind: str = "algebra"
    must: Must = "right"
    fed: bool = False  # a state that is driven by y
    slope: bool = False  # der(y) is asked for
    guess_offset: float = 0.0
    stop_time: float = STOP

    def source(self, name: str) -> str:
        law = self.law
        guess = np.array(law.start) + self.guess_offset
        shape = "" if law.size == 0 else f"{law.size}, "
        lines = [
            f"class {name}(Model):  # {law.title}",
            f"    x = Var({law.x_start})",
            f"    y = Var({shape}guess={number(guess[0] if law.size == 0 else guess)})",
        ]
        equations = [law.equation, f"{law.left} == {law.right}"]
        if self.fed:
            lines.append(f"    z = Var({shape}init={number(np.zeros(law.size or ()))})")
            equations.append("der(self.z) == y - 2 * self.z")
        if self.slope:
            lines.append(f"    w = Var({shape.rstrip(', ')})")
            equations.append("self.w == der(y)")
        lines += ["", "    def equations(self):", "        x, y = self.x, self.y", "        return ["]
        return "\n".join([*lines, *(f"            {text}," for text in equations), "        ]", ""])

    def inputs(self) -> Mapping[str, Callable[[Any], Any]]:
        return {}

    def deviations(self, times: np.ndarray, values: Callable[[str], np.ndarray]) -> Iterator[Deviation]:
        reference = follow(self.law, tuple(times))
        yield largest_deviation("x", times, values("x"), reference.x)
        yield largest_deviation("y", times, values("y"), reference.y, reference.gain)
        if self.slope:
            yield largest_deviation("w", times, values("w"), reference.slope, 30 * reference.gain)
        if self.fed:
            yield largest_deviation(
                "z", times, values("z"), fed_state(self.law, tuple(times)), 5 * reference.gain
            )

    def reductions(self) -> Iterator[Part]:
        for change in ({"fed": False}, {"slope": False}, {"guess_offset": 0.0}):
            smaller = replace(self, **change)
            if smaller != self:
                yield smaller


@dataclass(frozen=True)
class Reference:
    x: np.ndarray
    y: np.ndarray
    slope: np.ndarray
    gain: float


def residual(law: Law) -> Callable[[np.ndarray, Any], np.ndarray]:
    code = compile(f"({law.left}) - ({law.right})", "<law>", "eval")

    def value(y: np.ndarray, x: Any) -> np.ndarray:
        scope = {"np": np, "y": y if law.size else y[0], "x": x}
        return np.atleast_1d(np.asarray(eval(code, scope), float))

    return value


def drive_value(law: Law, t: Any) -> np.ndarray:
    return np.asarray(eval(law.drive, {"np": np, "time": t}), float)


def _jacobian(f: Callable, y: np.ndarray, x: Any) -> np.ndarray:
    columns = []
    for k in range(len(y)):
        h = 1e-7 * max(1.0, abs(y[k])) if abs(y[k]) > 1e-3 else 1e-10
        step = np.zeros(len(y))
        step[k] = h
        columns.append((f(y + step, x) - f(y - step, x)) / (2 * h))
    return np.stack(columns, axis=1)


def newton(f: Callable, y: np.ndarray, x: Any) -> np.ndarray:
    """Damped, to rounding; raises where it does not converge."""
    size = np.linalg.norm(f(y, x))
    for _ in range(100):
        change = np.linalg.solve(_jacobian(f, y, x), f(y, x))
        if np.max(np.abs(change)) <= 1e-14 * (1e-3 + np.max(np.abs(y))):
            return y - change
        factor = 1.0
        while factor > 1e-4:
            with np.errstate(all="ignore"):
                new = np.linalg.norm(f(y - factor * change, x))
            if new <= size * (1 - 1e-3 * factor) or (size < 1e-10 and new < 1e-10):
                break
            factor /= 2
        y, size = y - factor * change, new
        if size < 1e-13 and np.max(np.abs(change)) < 1e-11:
            return y
    raise ArithmeticError(f"no convergence at x = {x}")


@lru_cache(maxsize=4096)
def follow(law: Law, times: tuple[float, ...], substeps: int = 3) -> Reference:
    """y along the drive, by Newton's method from one time to the next."""
    f = residual(law)
    y = newton(f, np.array(law.start, float), drive_value(law, times[0]))
    ys, slopes, gains = [], [], []
    before = times[0]
    for t in times:
        for k in range(1, substeps + 1):
            y = newton(f, y, drive_value(law, before + (t - before) * k / substeps))
        before = t
        x = drive_value(law, t)
        jacobian = _jacobian(f, y, x)
        by_x = (f(y, x + 1e-6) - f(y, x - 1e-6)) / 2e-6
        rate = (drive_value(law, t + 1e-6) - drive_value(law, t - 1e-6)) / 2e-6
        sensitivity = np.linalg.solve(jacobian, -by_x)
        ys.append(y)
        slopes.append(sensitivity * rate)
        gains.append(np.max(np.abs(sensitivity)))
    x = np.array([drive_value(law, t) for t in times])
    y_all, slope = np.array(ys), np.array(slopes)
    if law.size == 0:
        y_all, slope = y_all[:, 0], slope[:, 0]
    gain = 1 + max(gains) * np.max(np.abs(x)) / np.max(np.abs(y_all))
    return Reference(x, y_all, slope, float(gain))


@lru_cache(maxsize=4096)
def fed_state(law: Law, times: tuple[float, ...]) -> np.ndarray:
    """The state that is driven by y, by a tight integration with y found at every call."""
    f = residual(law)
    known = follow(law, times)

    def slope(t: float, z: np.ndarray) -> np.ndarray:
        near = np.atleast_1d(known.y[np.argmin(np.abs(np.array(times) - t))])
        return newton(f, near, drive_value(law, t)) - 2 * z

    start = np.zeros(max(1, law.size))
    solution = solve_ivp(
        slope,
        (times[0], times[-1]),
        start,
        t_eval=times,
        rtol=1e-10,
        atol=1e-12,
        method="DOP853",
        max_step=0.02,
    )
    return solution.y.T if law.size else solution.y[0]


def drive_from_to(
    rng: np.random.Generator, draw: np.random.Generator, low: float, high: float
) -> tuple[str, str, str]:
    """x from low to high (about): the drive as text, its equation, and the start of x."""
    style = rng.choice(["ramp", "wave", "lag", "given"])
    if style == "ramp":
        rate = number(np.round((high - low) / STOP, 6))
        return f"{low!r} + {rate} * time", f"der(x) == {rate}", f"init={low!r}"
    middle, half = (low + high) / 2, (high - low) / 2
    if style == "lag":  # der(x) == k*(target - x) reaches 95 %
        k, target = 3.0, low + (high - low) / (1 - np.exp(-3.0))
        text = f"{number(target)} + {number(low - target)} * np.exp(-3.0 * time)"
        return text, f"der(x) == {k} * ({number(target)} - x)", f"init={number(low)}"
    omega = number(np.round(draw.uniform(2.0, 9.0), 2))
    text = f"{number(middle)} - {number(half)} * np.cos({omega} * time)"
    if style == "given":
        return text, f"x == {text}", ""
    equation = f"der(x) == {number(half)} * {omega} * np.sin({omega} * time)"
    return text, equation, f"init={number(low)}"


def monotone(rng: np.random.Generator, draw: np.random.Generator) -> Law:
    """One root for every x."""
    a = float(np.round(draw.uniform(1.0, 20.0), 2))
    c = float(np.round(draw.uniform(0.05, 2.0), 3))
    low, high = (float(np.round(value, 3)) for value in (draw.uniform(-2, -0.2), draw.uniform(0.2, 2)))
    if rng.random() < 0.3:
        low, high = high, low
    texts = [
        ("cubic", f"y**3 + {c} * y", f"{a} * x"),
        ("diode", f"1e-6 * (np.exp(y / 0.025) - 1) + y / {100 * a}", f"{0.01 * c} * x"),
        ("diode and resistor", "1e-9 * (np.exp((x - y) / 0.05) - 1)", f"y / {a}"),
        ("sinh", f"np.sinh({a / 3} * y) + y", f"{a} * x"),
        ("saturation", f"np.tanh({a} * y) + 0.1 * y", f"{c} * x"),
        ("fifth power", f"y**5 + y**3 + {c} * y", f"{a} * x"),
        ("turbulent flow", f"{a} * y * np.sqrt(y**2 + 1e-4) + {c} * y", "x"),
        ("arctangent", f"np.arctan({a} * y) + {c} * y", "2 * x"),
        ("kink", f"np.where(y > 0, {a} * y, {c} * y)", "x"),
        ("largest", f"np.maximum({a} * y, 0.5 * y) + {c} * y", "x"),
        ("logarithm", "y + np.log(y)", f"{c} * x + 1.0"),
        ("state inside", f"y + {c} * np.tanh(x * y) + y**3", "2 * x"),
    ]
    title, left, right = texts[rng.integers(len(texts))]
    return _rooted(title, left, right, 0, rng, draw, low, high, 1.0)


def system(rng: np.random.Generator, draw: np.random.Generator) -> Law:
    """A y + phi(y) == b x, A with a dominant diagonal, phi monotone in each element."""
    n = int(rng.integers(2, 6))
    matrix = draw.uniform(-0.5, 0.5, (n, n)) / n
    np.fill_diagonal(matrix, draw.uniform(0.6, 2.0, n))
    b = number(np.round(draw.uniform(-3, 3, n), 2))
    phi = str(
        rng.choice(
            [
                "y**3",
                "0.1 * np.sinh(4 * y)",
                "1e-4 * (np.exp(y / 0.05) - 1)",
                "np.tanh(5 * y)",
                "y * np.abs(y)",
            ]
        )
    )
    a = number(np.round(matrix, 3))
    texts = [(f"{a} @ y + {phi}", f"{b} * x"), (f"{a} @ y", f"{b} * x - {phi}")]
    if n >= 2 and rng.random() < 0.3:  # a chain of nonlinear resistors between x and ground
        g = "(d + d**3)".replace("d", "np.diff(np.concatenate([np.stack([x]), y, np.zeros(1)]))")
        texts = [(f"np.diff({g})", f"0.1 * y + {b} * 0.01")]
    left, right = texts[rng.integers(len(texts))]
    low, high = float(np.round(draw.uniform(-2, -0.5), 2)), float(np.round(draw.uniform(0.5, 2), 2))
    return _rooted("a system", left, right, n, rng, draw, low, high, 0.0)


def branch(rng: np.random.Generator, draw: np.random.Generator) -> Law:
    """Several roots; the one of the guess is followed, and stays regular."""
    c = float(np.round(draw.uniform(0.5, 2.0), 2))
    sign = float(rng.choice([-1.0, 1.0]))
    options: list[tuple[str, str, str, float, float, float]] = [
        ("a square", "y**2", f"x + {c}", -0.8 * c, 3.0, sign * c),
        ("a cosine", "np.cos(y)", "x", -0.93, 0.93, 1.5 + np.pi * int(rng.integers(0, 2))),
        ("an outer branch", "y**3 - 3 * y", "x", -1.5 * sign, 4.0 * sign, 2.0 * sign),
        ("an inner branch", "y**3 - 3 * y", "x", -1.8, 1.8, 0.0),
        ("a reciprocal", "x * y", "1.0", 0.2 * sign, 4.0 * sign, sign),
        ("Lambert", "y * np.exp(y)", "x", 0.1, 5.0, 0.5),
        ("Lambert, lower branch", "y * np.exp(y)", "x", -0.33, -0.02, -2.0),
        ("a quadratic", f"{c} * y**2 + x * y", "1.0", -2.0, 2.0, sign),
        ("Kepler", "y - 0.8 * np.sin(y)", "2 * x", 0.2, 2.9, 1.0),
    ]
    title, left, right, low, high, guess = options[rng.integers(len(options))]
    if rng.random() < 0.3 and title not in ("an outer branch",):
        low, high = high, low
    return _rooted(title, left, right, 0, rng, draw, low, high, guess)


def _rooted(title, left, right, size, rng, draw, low, high, guess) -> Law:
    drive, equation, start = drive_from_to(rng, draw, low, high)
    law = Law(title, left, right, size, (guess,) * max(1, size), drive, equation, start)
    root = newton(residual(law), np.array(law.start, float), drive_value(law, 0.0))
    return replace(law, start=tuple(float(value) for value in np.round(root, 6)))


def algebra(rng: np.random.Generator, draw: np.random.Generator) -> Part:
    law = [monotone, system, branch][rng.choice(3, p=[0.45, 0.3, 0.25])](rng, draw)
    offset = 0.0 if law.title not in ("cubic", "sinh", "a system") else float(rng.choice([0.0, 0.1]))
    smooth = (
        "np.where" not in law.left and "np.maximum" not in law.left and "np.abs" not in law.left + law.right
    )
    return Algebra(
        law, fed=bool(rng.random() < 0.3), slope=bool(smooth and rng.random() < 0.2), guess_offset=offset
    )


def ending(rng: np.random.Generator, draw: np.random.Generator) -> Part:
    """The root that is followed ends where x passes a value between `low` and `high`."""
    c = float(np.round(draw.uniform(0.3, 1.5), 2))
    sign = float(rng.choice([-1.0, 1.0]))
    far = float(np.round(draw.uniform(0.3, 2.0), 2))
    options: list[tuple[str, str, str, float, float, float]] = [
        ("a square ends", "y**2", f"{c} - x", 0.0, c + far, sign * np.sqrt(c)),
        ("a cosine ends", "np.cos(y)", "x", 0.0, 1.0 + far, 1.5),
        ("a sine ends", "np.sin(y)", f"{c} * x", 0.0, (1.0 + far) / c, 0.1),
        ("a fold", "y**3 - y", "x", -1.0 * sign, (0.39 + far) * sign, -1.3 * sign),
        ("a fold of a diode loop", "y + np.exp(-y)", "x", 3.0, 1.0 - far, 3.0),
        ("y + 1/y", "y + 1.0 / y", "x", 3.0, 2.0 - far, 2.5),
        ("Lambert ends", "y * np.exp(y)", "x", 1.0, -0.37 - far, 0.5),
        ("a hyperbola", "y**2 + x * y + 1.0", "0.0", 3.0, 2.0 - far, -0.4),
        ("a circle", "x**2 + y**2", f"{c * c}", 0.0, c + far, sign * c),
        (
            "a fold with a maximum",
            f"y - {c} * np.exp(y)",
            "x",
            -np.log(c) - 3.0,
            -1.0 - np.log(c) + far,
            -np.log(c) - 2.9,
        ),
    ]
    title, left, right, low, high, guess = options[rng.integers(len(options))]
    law = _rooted(title, left, right, 0, rng, draw, low, high, guess)
    if "cos" in law.drive:  # a wave turns round in time only if it gets as far as `high`
        law = replace(
            law,
            drive=f"{low!r} + {number(high - low)} * time",
            equation=f"der(x) == {number(high - low)}",
            x_start=f"init={low!r}",
        )
    return Algebra(law, kind="ending", must="error", fed=bool(rng.random() < 0.3))

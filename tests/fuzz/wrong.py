# ruff: noqa: E501 -- texts of models are as long as they are
"""Models that have no answer, or more than one: dependent equations, NaN, contradictions, poles, slips of the pen.

Only an error of modia_py's own kind is right.
"""

from __future__ import annotations

import numpy as np

from .parts import Part, number
from .wrong_events import endless, misplaced
from .wrong_part import Draw, Wrong, some_number


def dependent_rows(rng: Draw, draw: Draw) -> Wrong:
    """Float rows, one of which is a combination of the others; the right-hand sides agree or not."""
    n = int(rng.integers(2, 5))
    rows = np.round(draw.uniform(0.3, 2.0, (n, n)) * draw.choice([-1, 1], (n, n)), 2)
    weights = draw.choice([0.5, 2.0, -1.0, 1.5], n - 1)
    rows[-1] = weights @ rows[:-1]
    right = np.round(draw.uniform(0.5, 2.0, n), 2)
    right[-1] = weights @ right[:-1] + (0.0 if rng.random() < 0.5 else 1.0)
    equations = ["der(self.x) == -self.y[0]"]
    if rng.random() < 0.5:
        equations.append(f"{number(rows)} @ self.y == {number(right)} * self.x")
    else:
        for row, value in zip(rows, right, strict=True):
            terms = " + ".join(f"{float(c)!r} * self.y[{k}]" for k, c in enumerate(row))
            equations.append(f"{terms} == {float(value)!r} * self.x")
    return Wrong("dependent rows", ("x = Var(init=1.0)", f"y = Var({n})"), tuple(equations))


def dependent_nonlinear(rng: Draw, draw: Draw) -> Wrong:
    a, b = some_number(draw), some_number(draw)
    inner = str(
        rng.choice(
            [f"{a} * self.a + {b} * self.b", f"np.sin({a} * self.a) + self.b", f"self.a * {a} + self.b**3"]
        )
    )
    outer = str(rng.choice(["np.tanh({})", "2.5 * ({})", "({})**3 + ({})", "np.exp({})"])).replace(
        "{}", inner
    )
    value = {"np.tanh": "np.tanh(self.x)", "2.5 * (": "2.5 * self.x", "np.exp(": "np.exp(self.x)"}
    right = next((text for key, text in value.items() if outer.startswith(key)), "self.x**3 + self.x")
    declarations = ("x = Var(init=0.5)", "a = Var(guess=0.2)", "b = Var(guess=0.3)")
    drive = str(rng.choice(["der(self.x) == -self.x", "der(self.x) == -self.a"]))
    return Wrong(
        "dependent nonlinear rows", declarations, (drive, f"{inner} == self.x", f"{outer} == {right}")
    )


def unbalanced(rng: Draw, draw: Draw) -> Wrong:
    c = some_number(draw)
    options = [
        (("x = Var(init=1.0)", "y = Var()"), (f"der(self.x) == -{c} * self.x",)),
        (("x = Var(init=1.0)",), (f"der(self.x) == -{c} * self.x", f"self.x**2 == {c} + time")),
        (("x = Var(3, init=[1.0, 2.0, 3.0])",), (f"der(self.x[:2]) == -{c} * self.x[1:]",)),
        (
            ("x = Var(init=1.0)", "y = Var()"),
            ("der(self.x) == self.y", "self.x == time + 1.0", f"der(self.x) == {c}"),
        ),
        (("x = Var(2)", "y = Var(2)"), ("self.x[0] + self.y[0] == time", "self.x == self.y")),
        (
            ("x = Var(init=1.0)", "y = Var(2)"),
            (f"der(self.x) == -{c} * self.x", f"self.y == {c} * self.x", "self.y[0] == 1.0"),
        ),
        (("X = Var((2, 2), init=[[1.0, 0.0], [0.0, 1.0]])",), (f"der(self.X[0]) == -{c} * self.X[1]",)),
    ]
    declarations, equations = options[rng.integers(len(options))]
    return Wrong("unbalanced", declarations, equations)


def leaves_domain(rng: Draw, draw: Draw) -> Wrong:
    c = some_number(draw, 0.2, 0.8)
    inside = str(
        rng.choice(
            [
                "np.log({})",
                "np.sqrt({})",
                "({})**1.5",
                "np.log2({})",
                "np.arccosh(1 + {})",
                "np.log1p({} - 1.0)",
            ]
        )
    )
    argument = str(rng.choice(["self.x", f"({c} - time)", "2.0 * self.x"]))
    text = inside.replace("{}", argument)
    if argument.startswith("("):
        declarations, equations = ["x = Var(init=1.0)"], ["der(self.x) == -self.x"]
    else:
        declarations, equations = [f"x = Var(init={c})"], ["der(self.x) == -1.0"]
    way = rng.choice(["assigned", "fed", "implicit"])
    if way == "assigned":
        declarations.append("y = Var()")
        equations.append(f"self.y == {text}")
    elif way == "fed":
        declarations.append("z = Var(init=0.0)")
        equations.append(f"der(self.z) == {text} - self.z")
    else:
        declarations.append("y = Var()")
        equations.append(f"self.y + 0.3 * np.sin(self.y) == {text}")
    return Wrong("leaves its domain", tuple(declarations), tuple(equations))


def contradictory_start(rng: Draw, draw: Draw) -> Wrong:
    c = some_number(draw)
    options = [
        (
            (f"x = Var(init={c})", f"y = Var(init={c + 0.5})", "f = Var()"),
            ("self.x == self.y", "der(self.x) == self.f", "der(self.y) == 1.0 - self.f"),
        ),
        ((f"x = Var(init={c})", "v = Var()"), (f"self.x == np.cos(time) + {c}", "der(self.x) == self.v")),
        (
            ("r = Var(2, init=[1.0, 0.5])", "v = Var(2, init=[0.0, 0.0])", "f = Var()"),
            (
                "der(self.r) == self.v",
                f"der(self.v) == -self.f * self.r - np.array([0.0, {c}])",
                "self.r @ self.r == 1.0",
            ),
        ),
        (
            ("r = Var(2, init=[1.0, 0.0])", f"v = Var(2, init=[{c}, 0.0])", "f = Var()"),
            (
                "der(self.r) == self.v",
                "der(self.v) == -self.f * self.r - np.array([0.0, 9.81])",
                "self.r @ self.r == 1.0",
            ),
        ),
        (
            (f"x = Var(init={c})", f"y = Var(init={c})"),
            ("der(self.x) == -self.x", f"self.y + 0.1 * np.sin(self.y) == {3 * c} + self.x"),
        ),
    ]
    declarations, equations = options[rng.integers(len(options))]
    return Wrong("a contradictory start", declarations, equations)


def contradictory_constraints(rng: Draw, draw: Draw) -> Wrong:
    a, b, c = (some_number(draw) for _ in range(3))
    options = [
        (
            ("x = Var(2, init=[1.0, 0.0])", "f = Var()", "g = Var()"),
            (
                f"der(self.x) == -self.x + np.stack([{a} * self.f, {b} * self.g])",
                f"{a} * self.x[0] + {b} * self.x[1] == 1.0",
                f"{2 * a} * self.x[0] + {2 * b} * self.x[1] == {2 + c}",
            ),
        ),
        (
            ("x = Var()", "y = Var()"),
            (
                f"{a} * self.x + {b} * self.y == np.sin(time)",
                f"{a} * der(self.x) + {b} * der(self.y) == {c}",
            ),
        ),
        (
            ("q = Var(2)", "v = Var(2)", "f = Var()", "g = Var()"),
            (
                "der(self.q) == self.v",
                f"der(self.v) == -self.q + np.stack([{a} * self.f + {2 * a} * self.g, {b} * self.f + {2 * b} * self.g])",
                f"{a} * self.q[0] + {b} * self.q[1] == 0.5",
                f"{2 * a} * self.q[0] + {2 * b} * self.q[1] == 1.0",
            ),
        ),
    ]
    declarations, equations = options[rng.integers(len(options))]
    return Wrong("constraints that depend on each other", declarations, equations)


def bad_circuit(rng: Draw, draw: Draw) -> Wrong:
    before = "from modia_py.models.electrical import Capacitor, ConstantVoltage, Ground, Inductor, Resistor, TwoPin"
    current = "\n\n\nclass Current(TwoPin):\n    I = Par(1.0)\n\n    def equations(self):\n        return [*super().equations(), self.i == self.I]\n"
    a, b = some_number(draw), some_number(draw)
    second = a if rng.random() < 0.5 else b
    parallel = ("connect(self.a.p, self.b.p, self.c.p)", "connect(self.a.n, self.b.n, self.c.n, self.g.p)")
    options = [
        (
            (
                f"a = ConstantVoltage(V={a})",
                f"b = ConstantVoltage(V={second})",
                "c = Resistor()",
                "g = Ground()",
            ),
            parallel,
        ),
        (
            (
                f"a = ConstantVoltage(V={a})",
                f"b = Capacitor(C={b}, u={a + 1.0})",
                "c = Resistor()",
                "g = Ground()",
            ),
            parallel,
        ),
        (
            (f"a = Current(I={a})", f"b = Current(I={b + 3.0})", "c = Resistor()", "g = Ground()"),
            (
                "connect(self.a.n, self.b.p)",
                "connect(self.b.n, self.c.p)",
                "connect(self.c.n, self.a.p, self.g.p)",
            ),
        ),
    ]
    declarations, equations = options[rng.integers(len(options))]
    return Wrong("a circuit without solution", declarations, equations, before + current)


def blows_up(rng: Draw, draw: Draw) -> Wrong:
    c = some_number(draw, 0.2, 0.8)
    options = [
        (("x = Var(init=0.0)",), (f"der(self.x) == {np.pi} * (1 + self.x**2)",)),
        ((f"x = Var(init={1 / c})",), ("der(self.x) == self.x**2",)),
        (("x = Var(init=0.0)",), (f"der(self.x) == 1 / ({c} - time)**2",)),
        ((f"x = Var(init={c})", "y = Var()"), ("der(self.x) == -1 / self.x", "self.y == self.x**2")),
        (("x = Var(init=1.0)",), ("der(self.x) == np.exp(self.x)",)),
    ]
    declarations, equations = options[rng.integers(len(options))]
    return Wrong("goes to infinity", declarations, equations)


def no_root(rng: Draw, draw: Draw) -> Wrong:
    c = some_number(draw)
    law = str(
        rng.choice(
            [
                "self.y**2 == -{c} - self.x",
                "np.exp(self.y) == -{c}",
                "np.cos(self.y) == 1.0 + {c}",
                "self.y**2 + self.y + 1.0 + {c} == 0",
                "np.abs(self.y) + {c} == 0",
            ]
        )
    )
    return Wrong(
        "no root at the start",
        ("x = Var(init=1.0)", "y = Var(guess=0.5)"),
        ("der(self.x) == -self.x", law.replace("{c}", str(c))),
    )


def division(rng: Draw, draw: Draw) -> Wrong:
    c = some_number(draw)
    options = [
        (
            ("k = Par(0.0)", "x = Var(init=1.0)", "y = Var()"),
            ("der(self.x) == -self.x", f"self.y == {c} * self.x / self.k"),
        ),
        (
            ("k = Par(0.0)", "x = Var(init=1.0)", "y = Var()"),
            ("der(self.x) == -self.x", f"self.k * self.y == {c} * self.x"),
        ),
        (("k = Par(0.0)", "x = Var(init=1.0)"), (f"self.k * der(self.x) == -{c} * self.x",)),
        (("x = Var(init=0.0)", "y = Var()"), ("der(self.x) == self.x", f"self.y == {c} * self.x / self.x")),
        (("k = Par(0.0, nonzero=True)", "x = Var(init=1.0)"), (f"self.k * der(self.x) == -{c} * self.x",)),
    ]
    declarations, equations = options[rng.integers(len(options))]
    return Wrong("a division by zero", declarations, equations)


def slip(rng: Draw, draw: Draw) -> Wrong:
    c = some_number(draw)
    options = [
        (("x = Var(3, init=[1.0, 2.0])",), ("der(self.x) == -self.x",)),
        (("x = Var(3)", "y = Var(2)"), ("self.x == self.y", "self.y == time")),
        (("x = Var(init=float('nan'))",), (f"der(self.x) == -{c} * self.x",)),
        (("k = Par(float('nan'))", "x = Var(init=1.0)"), ("der(self.x) == -self.k * self.x",)),
        (("x = Var(init=1.0)",), (f"der(self.x) == -{c} * self.y",)),
        (("x = Var(init=1.0)",), (f"der(self.x) == -{c} * self.x[0]",)),
        (("x = Var(2, init=[1.0, 1.0])",), (f"der(self.x) == -{c} * self.x[2] * np.ones(2)",)),
        (("x = Var(init=1.0)",), (f"der(self.x) + {c} * self.x",)),
        (("x = Var(init=1.0)",), (f"{c} == {c}", "der(self.x) == 1.0")),
        (
            ("A = Par([[1.0, 2.0], [3.0, 4.0]])", "x = Var(3, init=[1.0, 1.0, 1.0])"),
            ("der(self.x) == self.A @ self.x",),
        ),
        (("x = Var(init='one')",), ("der(self.x) == -self.x",)),
        (("x = Var(-1)",), ("der(self.x) == -self.x",)),
        (("x = Var(init=float('inf'))",), ("der(self.x) == -self.x",)),
    ]
    declarations, equations = options[rng.integers(len(options))]
    return Wrong("a slip of the pen", declarations, equations)


MAKERS = [
    dependent_rows,
    dependent_nonlinear,
    unbalanced,
    leaves_domain,
    contradictory_start,
    contradictory_constraints,
    bad_circuit,
    blows_up,
    no_root,
    division,
    slip,
    endless,
    misplaced,
]


def wrong(rng: Draw, draw: Draw) -> Part:
    return MAKERS[rng.integers(len(MAKERS))](rng, draw)

"""Events that never come to an end, modes without an answer, and actions that nothing can be made of."""

from __future__ import annotations

from .wrong_part import Draw, Wrong, some_number


def endless(rng: Draw, draw: Draw) -> Wrong:
    """Right until some time, where it cannot go on."""
    c = some_number(draw, 0.2, 0.8)
    ball = ("der(self.h) == self.v", "der(self.v) == -40.0")
    options = [
        (
            ("x = Var(init=0.0)", "b = Discrete(False)"),
            ("der(self.x) == 1.0", f"always(assign(self.b, (self.x > {c}) & ~pre(self.b)))"),
        ),
        (
            ("h = Var(init=1.0)", "v = Var(init=0.0)"),
            (*ball, f"when(self.h < 0, reinit(self.v, -{0.75 * c} * self.v))"),
        ),
        ((f"x = Var(init={c})",), ("der(self.x) == where(self.x > 0, -1.0, 1.0)",)),
        (
            (f"x = Var(init={c})", "y = Var(init=0.0)"),
            ("der(self.x) == where(self.x > self.y, -2.0, 1.0)", "der(self.y) == 0.1"),
        ),
        (
            ("x = Var(init=0.0)", "y = Var()"),
            ("der(self.x) == 1.0", f"self.y * where(self.x > {c}, 0.0, 1.0) == 1.0"),
        ),
        (
            ("x = Var(init=0.0)", "y = Var()"),
            ("der(self.x) == 1.0", f"self.y == where(self.y > {c}, 0.0, 1.0) * (self.x + 0.1)"),
        ),
    ]
    declarations, equations = options[rng.integers(len(options))]
    return Wrong("events without end", declarations, equations)


def misplaced(rng: Draw, draw: Draw) -> Wrong:
    c = some_number(draw)
    state = ("x = Var(init=0.0)", "y = Var()", "d = Discrete(0)", "e = Discrete(0)")
    equations = ("der(self.x) == 1.0", "self.y == self.x + self.d + self.e")
    actions = [
        (f"when(self.x > {c}, assign(self.d, 1))", "when(time > 0.5, assign(self.d, 2))"),
        (f"when(self.x > {c}, reinit(self.y, 1.0))",),
        (f"when(sample({rng.choice(['0.0', '-0.1'])}), assign(self.d, 1))",),
        (f"when(self.x > {c}, assign(self.d, self.e + 1), assign(self.e, self.d + 1))",),
        (f"when(self.x > {c}, assign(self.d, 0.5))",),
        (f"when(self.x == {c}, assign(self.d, 1))",),
        (f"when(self.x > {c}, assign(self.d, np.ones(2)))",),
        (f"when(self.x + {c}, assign(self.d, 1))",),
        ("assign(self.d, 1)",),
        ("self.y == where(self.x > 0.5, np.ones(2), np.ones(3))",),
    ]
    return Wrong("a misplaced action", state, (*equations, *actions[rng.integers(len(actions))]))

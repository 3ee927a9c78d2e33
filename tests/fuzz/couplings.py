# ruff: noqa: E501 -- texts of models are as long as they are
"""Terms that use other variables: any view of them in any shape, in any function of the language."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .manufactured import Term, Variable
from .parts import number

Shape = tuple[int, ...]

# Texts of functions and of their derivatives, of size one for arguments of size one.
FUNCTIONS = [
    ("np.sin({})", "np.cos({})"),
    ("np.cos({})", "-np.sin({})"),
    ("np.tanh({})", "(1 - np.tanh({})**2)"),
    ("({})**2 / 4", "({}) / 2"),
    ("({})**3 / 9", "({})**2 / 3"),
    ("np.exp({} / 3)", "np.exp({} / 3) / 3"),
    ("np.sqrt(9 + ({})**2)", "({}) / np.sqrt(9 + ({})**2)"),
    ("np.arctan({})", "1 / (1 + ({})**2)"),
    ("1 / (4 + ({})**2)", "-2 * ({}) / (4 + ({})**2)**2"),
    ("np.log(5 + np.sin({}))", "np.cos({}) / (5 + np.sin({}))"),
]


def matrix(draw: np.random.Generator, m: int, n: int, size: float = 0.6) -> str:
    return number(np.round(draw.uniform(-size, size, (m, n)), 2))


def coefficient(draw: np.random.Generator, low: float = 0.2, high: float = 1.0) -> str:
    return number(np.round(draw.choice([-1, 1]) * draw.uniform(low, high), 2))


@dataclass(frozen=True)
class Known:
    """A variable that may be used, and how many of its derivatives have been used on the way to it."""

    variable: Variable
    depth: int


def linear_view(
    rng: np.random.Generator, draw: np.random.Generator, token: str, source: Shape, target: Shape
) -> str | None:
    """Text of a linear expression of `token`, of a shape that broadcasts to `target`."""
    if source == target and rng.random() < 0.5:
        return token
    options = []
    if len(source) == 0:
        options = [token]
        if len(target) == 1:
            options.append(
                f"np.stack([{', '.join(rng.permutation([token, '0.5 * ' + token] * target[0])[: target[0]])}])"
            )
    elif len(source) == 1:
        n = source[0]
        i = int(rng.integers(n))
        options = [
            f"{token}[{i}]",
            f"{token}[{i - n}]",
            f"{token}.sum()",
            f"{matrix(draw, 1, n)}[0] @ {token}",
        ]
        if len(target) >= 1:
            m = target[-1]
            options.append(f"{matrix(draw, m, n)} @ {token}")
            if n >= m:
                k = int(rng.integers(n - m + 1))
                options += [f"{token}[{k}:{k + m}]", f"{token}[::-1][{k}:{k + m}]"]
            if m >= n + 1:
                options.append(f"np.concatenate([{token}, {token}[:1], np.zeros({m - n - 1})])")
            if m == 3 and n == 3:
                options.append(f"np.cross({matrix(draw, 1, 3)}[0], {token})")
    else:
        m, n = source
        i, j = int(rng.integers(m)), int(rng.integers(n))
        options = [f"{token}[{i}, {j}]", f"{token}.sum()", f"{token}[{i}].sum()", f"np.trace({token})"]
        if len(target) >= 1:
            k = target[-1]
            options += [f"{matrix(draw, k, m)} @ {token}[:, {j}]", f"{token}.T[{j}][{i}]"]
            if k == n:
                options += [f"{token}[{i}]", f"{token}.sum(axis=0)"]
            if k == m:
                options += [f"{token}[:, {j}]", f"{token} @ {matrix(draw, 1, n)}[0]"]
        if len(target) == 2:
            options.append(f"{matrix(draw, target[0], m)} @ {token} @ {matrix(draw, n, target[1])}")
            if target == (n, m):
                options.append(f"{token}.T")
    return str(rng.choice(options)) if options else None


def coupling(
    rng: np.random.Generator, draw: np.random.Generator, known: Known, target: Shape, order: int = 0
) -> Term | None:
    """A term of shape `target` with another variable, differentiated `order` times."""
    variable = known.variable
    token = f"<{variable.name}>"
    view = linear_view(rng, draw, token, variable.signal.shape, target)
    if view is None:
        return None
    c = coefficient(draw)
    prime = view.replace(token, f"<{variable.name}'>")
    if order == 0:
        if rng.random() < 0.3:
            return Term(f"{c} * {view}")
        return Term(f"{c} * {rng.choice([f for f, _ in FUNCTIONS])}".replace("{}", view))
    if order == 1:
        choice = rng.random()
        if choice < 0.3:
            return Term(f"{c} * {prime}")
        if choice < 0.6:  # the derivative of an expression
            return Term(f"{c} * der({view})", f"{c} * {prime}")
        f, slope = FUNCTIONS[rng.integers(len(FUNCTIONS))]
        f, slope = f.replace("{}", view), slope.replace("{}", view)
        return Term(f"{c} * der({f})", f"{c} * {slope} * ({prime})")
    if rng.random() < 0.5:
        second = view.replace(token, f"<{variable.name}''>")
        return Term(f"{c} * {second}")
    squared = view.replace(token, f"(<{variable.name}>**2)")
    twice = view.replace(
        token, f"(2 * <{variable.name}'>**2 + 2 * <{variable.name}> * <{variable.name}''>)"
    )
    return Term(f"{c} * der(der({squared}))", f"{c} * {twice}")


def product(
    rng: np.random.Generator, draw: np.random.Generator, first: Known, second: Known, target: Shape
) -> Term | None:
    """A product of two other variables."""
    views = [
        linear_view(rng, draw, f"<{known.variable.name}>", known.variable.signal.shape, target)
        for known in (first, second)
    ]
    if None in views:
        return None
    return Term(f"{coefficient(draw, 0.1, 0.4)} * ({views[0]}) * ({views[1]})")

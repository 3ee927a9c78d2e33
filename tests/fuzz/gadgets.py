# ruff: noqa: E501 -- texts of models are as long as they are
"""Groups without constraints on states: differential equations, explicit and implicit algebra, slices, components."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .couplings import coefficient, matrix
from .manufactured import Equation, Group, Term, Variable, start_value
from .parts import number
from .signals import derivative
from .world import World


def dominant(draw: np.random.Generator, n: int, low: float = 1.0, high: float = 3.0) -> np.ndarray:
    """A matrix whose diagonal is larger than the rest of each row."""
    a = draw.uniform(-1, 1, (n, n))
    a *= 0.6 / max(1, n - 1)
    np.fill_diagonal(a, draw.uniform(low, high, n))
    return np.round(a, 3)


def linear_ode(world: World) -> Group:
    """der(x) + k*x + ... with a scalar, a vector or a matrix; the rate a number, a parameter or a matrix."""
    rng, draw = world.rng, world.draw
    shape = world.shape()
    x = world.variable("x", shape, "init", derivatives=1)
    parameters = []
    rate = number(np.round(draw.uniform(0.3, 5.0), 2))
    if rng.random() < 0.4:
        rate = f"self.{(name := world.fresh('k'))}"
        parameters.append((name, f"Par({np.round(draw.uniform(0.3, 5.0), 2)})"))
    elif shape and rng.random() < 0.6:
        values = dominant(draw, shape[0])
        rate = number(values)
        if rng.random() < 0.5:
            rate = f"self.{(name := world.fresh('A'))}"
            parameters.append((name, f"Par({values.tolist()})"))
        rate += " @"
    decay = f"{rate} <{x.name}>" if rate.endswith("@") else f"{rate} * <{x.name}>"
    factor = "" if rng.random() < 0.6 else f"{coefficient(draw, 0.5, 2.0).lstrip('-')} * "
    own = rng.choice(["", f"0.3 * <{x.name}>**3", f"0.5 * np.tanh(<{x.name}>)"])
    terms = [Term(f"{factor}<{x.name}'>"), Term(decay), *([Term(str(own))] if own else [])]
    more, depth = world.terms(shape)
    equation = Equation((*terms, *more), fixed=2)
    if rng.random() < 0.25:  # the start by an equation instead
        x = replace(x, start=world.start(x.signal, "guess none"))
        initial = (Equation((Term(f"2 * <{x.name}>"), Term(f"0.5 * np.sin(<{x.name}>)")), fixed=1),)
        return world.add(
            Group("an ODE, its start by an equation", (x,), (equation,), tuple(parameters), initial), depth
        )
    return world.add(Group("an ODE", (x,), (equation,), tuple(parameters)), depth)


def oscillator(world: World) -> Group:
    """A second-order equation, in der(der(s)) or with a velocity of its own."""
    rng, draw = world.rng, world.draw
    shape = world.shape(vectors=0.4)
    s = world.variable("s", shape, "init", derivatives=1)
    d, c = np.round(draw.uniform(0.3, 3.0), 2), np.round(draw.uniform(1.0, 20.0), 2)
    more, depth = world.terms(shape)
    spring = [Term(f"{c} * <{s.name}>")]
    if rng.random() < 0.4:
        spring.append(Term(f"2.0 * np.sin(<{s.name}>)"))
    if rng.random() < 0.4:
        equation = Equation((Term(f"<{s.name}''>"), Term(f"{d} * <{s.name}'>"), *spring, *more), fixed=3)
        start = Equation((Term(f"<{s.name}'>"),))
        return world.add(Group("a second derivative", (s,), (equation,), initial=(start,)), depth)
    v = world.fresh("v")
    velocity = Variable(v, s.signal, gain=3.0)
    # v is the derivative of s: its chosen function is that of der(s), so the equation is written with <s'>.
    mass = np.round(draw.uniform(0.5, 2.0), 2)
    link = Term(f"(<{s.name}'> - <{v}>)", "0.0")
    force = Term(f"{mass} * <{v}'> + {d} * <{v}>", f"{mass} * <{s.name}''> + {d} * <{s.name}'>")
    velocity = replace(velocity, signal=derivative(s.signal), start=f"init={number(s.signal.at(0.0, 1))}")
    equations = (Equation((link,)), Equation((force, *spring, *more), fixed=2))
    return world.add(Group("an oscillator", (s, velocity), equations), depth)


def explicit(world: World) -> Group:
    """y == an expression of others."""
    shape = world.shape()
    y = world.variable("y", shape, "none none guess", gain=10.0)
    c = coefficient(world.draw, 0.3, 3.0)
    more, depth = world.terms(shape, most=3)
    return world.add(Group("an assignment", (y,), (Equation((Term(f"{c} * <{y.name}>"), *more)),)), depth)


def implicit(world: World) -> Group:
    """A monotone equation for y, or a system with a dominant diagonal."""
    rng, draw = world.rng, world.draw
    shape = world.shape(matrices=0.0)
    y = world.variable("y", shape, "none guess guess init", gain=10.0)
    own = str(
        rng.choice(
            [
                "np.sin({})",
                "({})**3",
                "2 * np.tanh({})",
                "0.1 * (np.exp(3 * {}) - 1)",
                "{} / np.sqrt(1 + {}**2)",
            ]
        )
    )
    scale = number(np.round(draw.uniform(1.1, 3.0), 2))
    if shape and rng.random() < 0.6:
        linear = f"{number(dominant(draw, shape[0], 1.5, 3.0))} @ <{y.name}>"
    else:
        linear = f"{scale} * <{y.name}>"
    terms = (Term(linear), Term(own.replace("{}", f"<{y.name}>")))
    more, depth = world.terms(shape, most=3)
    return world.add(Group("implicit algebra", (y,), (Equation((*terms, *more)),)), depth)


def stencil(world: World) -> Group:
    """A rod: slices inside, single elements or slices at the ends, differential or algebraic ones."""
    rng, draw = world.rng, world.draw
    n = int(rng.integers(4, 9))
    x = world.variable("T", (n,), "none", derivatives=0, gain=5.0)
    t = f"<{x.name}>"
    k = np.round(draw.uniform(0.2, 2.0), 2)
    left_algebraic, right_algebraic = rng.random(2) < 0.5
    more, depth = world.terms((n - 2,))
    inner = Term(f"der({t}[1:-1])", f"<{x.name}'>[1:-1]")
    equations = [Equation((inner, Term(f"{k} * (2 * {t}[1:-1] - {t}[:-2] - {t}[2:])"), *more), fixed=2)]
    ends, deeper = world.terms(())
    if left_algebraic:
        equations.append(Equation((Term(f"{t}[0]"), Term(f"0.2 * np.sin({t}[0])"), *ends)))
        if rng.random() < 0.5:  # a boundary value that is given forces no differentiation, its slope would
            equations[-1] = Equation((Term(f"{t}[0]"), *ends))
    else:
        equations.append(
            Equation((Term(f"der({t}[0])", f"<{x.name}'>[0]"), Term(f"2 * {t}[0] - {t}[1]"), *ends), 2)
        )
    if right_algebraic:
        equations.append(
            Equation((Term(f"({t}[-1] - {t}[-2]) * 2 + 0.5 * {t}[-1]"), Term(f"0.1 * {t}[-1]**3")))
        )
    else:
        equations.append(
            Equation(
                (
                    Term(
                        f"der({t}[-1:]) + {t}[-1:] - 0.5 * {t}[-2:-1]",
                        f"<{x.name}'>[-1:] + {t}[-1:] - 0.5 * {t}[-2:-1]",
                    ),
                )
            )
        )
    # Start values of algebraic elements are redundant: they agree.
    x = replace(x, start=f"init={start_value(x.signal)}")
    return world.add(Group("a rod of slices", (x,), tuple(equations)), max(depth, deeper))


def elements(world: World) -> Group:
    """A vector whose elements have equations of their own kind, some algebraic, some differential."""
    rng = world.rng
    n = int(rng.integers(2, 5))
    x = world.variable("z", (n,), "none", gain=10.0)
    z = f"<{x.name}>"
    equations = []
    deepest = 0
    differential = rng.random(n) < 0.5
    for i in range(n):
        more, depth = world.terms((), most=1)
        deepest = max(deepest, depth)
        j = int(rng.integers(n))
        link = [Term(f"0.3 * np.tanh({z}[{j}])")] if j != i else []
        if differential[i]:
            first = Term(f"der({z}[{i}]) + {z}[{i}]", f"<{x.name}'>[{i}] + {z}[{i}]")
        else:
            first = Term(f"2 * {z}[{i}] + np.sin({z}[{i}])" if rng.random() < 0.5 else f"{z}[{i}]")
        equations.append(Equation((first, *link, *more)))
    x = replace(x, start=f"init={start_value(x.signal)}")
    return world.add(Group("elements", (x,), tuple(equations)), deepest)


def matrix_ode(world: World) -> Group:
    """der(X) + A @ X + X @ B, rows and columns apart."""
    rng, draw = world.rng, world.draw
    m, n = (int(k) for k in rng.integers(2, 4, 2))
    x = world.variable("X", (m, n), "init")
    t = f"<{x.name}>"
    if rng.random() < 0.5:
        terms = [
            Term(f"<{x.name}'>"),
            Term(f"{number(dominant(draw, m))} @ {t}"),
            Term(f"{t} @ {matrix(draw, n, n, 0.3)}"),
        ]
        more, depth = world.terms((m, n))
        return world.add(Group("a matrix", (x,), (Equation((*terms, *more), fixed=2),)), depth)
    first, rest = f"{t}[0, :]", f"{t}[1:, :]"
    more, depth = world.terms((n,))
    equations = (
        Equation((Term(f"2 * {first} + np.sin({first})"), *more)),
        Equation(
            (
                Term(f"der({rest}) + 1.5 * {rest}", f"<{x.name}'>[1:, :] + 1.5 * {rest}"),
                Term(f"0.4 * {first}"),
            ),
            fixed=1,
        ),
    )
    return world.add(Group("a matrix by rows", (x,), equations), depth)


def inputs(world: World) -> Group:
    """A lag behind an `Input`, and its slope: the derivative of the input."""
    u = world.signal()
    name = world.fresh("u")
    x = world.variable("x", (), "init")
    y = world.fresh("y")
    follower = Variable(y, u, gain=10.0)
    slope = Variable(world.fresh("w"), world.signal(), gain=30.0)
    more, depth = world.terms(())
    equations = [
        Equation(
            (
                Term(
                    f"<{x.name}'> + 2.0 * <{x.name}> + 0.7 * (self.{name} - <{y}>)",
                    f"<{x.name}'> + 2.0 * <{x.name}>",
                ),
                *more,
            )
        ),
        Equation((Term(f"<{y}> - self.{name}", "0.0"),)),
        Equation((Term(f"<{slope.name}> + <{y}'>"),)),
    ]
    group = Group("an input", (x, follower, slope), tuple(equations), inputs=((name, u),))
    return world.add(group, max(depth, 1))


FREE = [linear_ode, oscillator, explicit, implicit, stencil, elements, matrix_ode, inputs]

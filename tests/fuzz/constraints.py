# ruff: noqa: E501 -- texts of models are as long as they are
"""Groups with constraints on states: they force equations to be differentiated once, twice, three times."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from .gadgets import dominant
from .manufactured import Equation, Group, Term, Variable, start_value
from .parts import number
from .signals import derivative
from .world import DEEPEST, World


def given(world: World) -> Group:
    """x is given, and what moves it is asked for: der(x) == v + ..."""
    rng, draw = world.rng, world.draw
    shape = world.shape()
    x = world.variable("x", shape, "none init guess", gain=5.0)
    v = world.variable("v", shape, "none guess", gain=50.0)
    rate = np.round(draw.uniform(-2.0, 2.0), 2)
    constraint, depth = world.terms(shape, differentiated=1)
    more, other = world.terms(shape)
    first = Equation(
        (Term(f"<{x.name}'> + {rate} * <{x.name}>"), Term(f"2.0 * <{v.name}>"), *more), fixed=2
    )
    text = rng.choice(["1.5 * {}", "2 * {} + np.sin({})", "{}"]).replace("{}", f"<{x.name}>")
    return world.add(
        Group("a given state", (x, v), (first, Equation((Term(text), *constraint)))), max(depth, other)
    )


def chain(world: World) -> Group:
    """x1 is given at the top of a chain of integrators: the last one is found by differentiating as often."""
    rng = world.rng
    length = int(rng.integers(2, 4))
    shape = world.shape(vectors=0.3, matrices=0.0)
    xs = [world.variable("x", shape, "none", gain=20.0 * 10.0**k) for k in range(length + 1)]
    equations = []
    depth = 0
    for a, b in itertools.pairwise(xs):
        more, deeper = world.terms(shape, differentiated=length - 1, most=1)
        depth = max(depth, deeper)
        equations.append(Equation((Term(f"<{a.name}'> + 0.5 * <{a.name}> + 1.2 * <{b.name}>"), *more)))
    last, deeper = world.terms(shape, differentiated=length, most=1)
    equations.append(Equation((Term(f"<{xs[0].name}>"), *last)))
    if rng.random() < 0.4:  # redundant start values that agree
        xs = [replace(x, start=f"init={start_value(x.signal)}") for x in xs]
    return world.add(Group("a chain of integrators", tuple(xs), tuple(equations)), max(depth, deeper))


def _constraint_matrix(
    rng: np.random.Generator, draw: np.random.Generator, m: int, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """m rows of n columns, well conditioned in the columns named by the second result."""
    columns = rng.permutation(n)[:m]
    g = draw.uniform(-0.3, 0.3, (m, n))
    g[:, columns] += np.diag(draw.choice([-1, 1], m) * draw.uniform(1.0, 1.5, m))
    return np.round(g, 2), columns


def multipliers(world: World) -> Group:
    """M der(x) + A x + G^T lam == ..., G x + small nonlinear part == ...: index 2."""
    rng, draw = world.rng, world.draw
    n = int(rng.integers(2, 5))
    m = int(rng.integers(1, n))
    g, dependent = _constraint_matrix(rng, draw, m, n)
    x = world.variable("x", (n,), "init", gain=5.0)
    lam = world.variable("f", (m,), "none guess", gain=100.0)
    more, depth = world.terms((n,))
    constraint, deeper = world.terms((m,), differentiated=1, most=1)
    motion = Term(
        f"<{x.name}'> + {number(dominant(draw, n))} @ <{x.name}> + {number(g)}.T @ <{lam.name}>",
    )
    own = Term(f"0.05 * np.sin(<{x.name}>[:{m}])")
    equations = (
        Equation((motion, *more)),
        Equation((Term(f"{number(g)} @ <{x.name}>"), *([own] if rng.random() < 0.5 else []), *constraint)),
    )
    initial: tuple[Equation, ...] = ()
    if rng.random() < 0.5:
        x, initial = _independent_start(world, x, dependent)
    return world.add(Group("constraint forces", (x, lam), equations, initial=initial), max(depth, deeper))


def _independent_start(
    world: World, x: Variable, dependent: np.ndarray
) -> tuple[Variable, tuple[Equation, ...]]:
    """Start values for the independent elements only; the constraint gives the others, near their guesses."""
    free = [i for i in range(x.signal.shape[0]) if i not in dependent]
    x = replace(x, start=world.start(x.signal, "guess"))
    return x, tuple(Equation((Term(f"<{x.name}>[{i}]"),)) for i in free)


def mechanism(world: World) -> Group:
    """Positions, velocities, forces: der(q) == v, M der(v) + D v + K q + G^T lam == ..., G q == ...: index 3."""
    rng, draw = world.rng, world.draw
    n = int(rng.integers(2, 5))
    m = int(rng.integers(1, n))
    g, dependent = _constraint_matrix(rng, draw, m, n)
    q = world.variable("q", (n,), "init", gain=5.0)
    lam = world.variable("f", (m,), "none guess", gain=300.0)
    v = Variable(world.fresh("v"), derivative(q.signal), f"init={number(q.signal.at(0.0, 1))}", gain=20.0)
    more, depth = world.terms((n,))
    constraint, deeper = world.terms((m,), differentiated=2, most=1)
    mass = number(dominant(draw, n))
    second = rng.random() < 0.3
    inertia = f"{mass} @ <{q.name}''>" if second else f"{mass} @ <{v.name}'>"
    damping = f"1.5 * <{q.name}'>" if second else f"1.5 * <{v.name}>"
    curved = rng.random() < 0.5
    gradient = f"{number(g)}.T @ <{lam.name}>"
    own = [Term(f"0.1 * np.sin(<{q.name}>[0]) * np.ones({m})")] if curved else []
    equations = [
        Equation((Term(f"{inertia} + {damping} + 4.0 * <{q.name}> + {gradient}"), *more)),
        Equation((Term(f"{number(g)} @ <{q.name}>"), *own, *constraint)),
    ]
    if second:
        speed = Equation((Term(f"<{q.name}'>"),))
        free = (
            (speed,)
            if rng.random() < 0.5
            else tuple(
                Equation((Term(f"der(<{q.name}>[{i}])", f"<{q.name}'>[{i}]"),))
                for i in range(n)
                if i not in dependent
            )
        )
        return world.add(
            Group("a mechanism in second derivatives", (q, lam), tuple(equations), initial=free),
            max(depth, deeper),
        )
    equations.append(Equation((Term(f"<{q.name}'> - <{v.name}>", "0.0"),)))
    initial: tuple[Equation, ...] = ()
    if rng.random() < 0.5:
        q, positions = _independent_start(world, q, dependent)
        v, speeds = _independent_start(world, v, dependent)
        initial = (*positions, *speeds)
    return world.add(
        Group("a mechanism", (q, v, lam), tuple(equations), initial=initial), max(depth, deeper)
    )


def rigid(world: World) -> Group:
    """Two wheels on one shaft: states that are equal, and the torque between them."""
    draw = world.draw
    shape = world.shape(vectors=0.3, matrices=0.0)
    a = world.variable("w", shape, "init")
    b = Variable(world.fresh("w"), a.signal, world.start(a.signal, "none init guess"))
    torque = world.variable("f", shape, "none", gain=50.0)
    j1, j2 = np.round(draw.uniform(0.5, 2.0, 2), 2)
    more, depth = world.terms(shape)
    other, deeper = world.terms(shape)
    equations = (
        Equation((Term(f"{j1} * <{a.name}'> + <{a.name}> + <{torque.name}>"), *more)),
        Equation((Term(f"{j2} * <{b.name}'> + 0.5 * <{b.name}> - <{torque.name}>"), *other)),
        Equation((Term(f"<{a.name}> - <{b.name}>"),), balanced=True),
    )
    return world.add(Group("a rigid shaft", (a, b, torque), equations), max(depth, deeper, 1))


def integer_sum(world: World) -> Group:
    """c == a + b with integer coefficients and no constant, all three differentiated, and a reaction in each."""
    rng = world.rng
    a, b = world.variable("a", (), "init"), world.variable("b", (), "init")
    c = Variable(world.fresh("c"), a.signal + b.signal.scaled(2.0), "")
    c = replace(c, start=world.start(c.signal, "none init"))
    reaction = world.variable("f", (), "none", gain=50.0)
    copy = Variable(world.fresh("h"), reaction.signal.scaled(-1.0), gain=50.0)
    more, depth = world.terms(())
    equations = [
        Equation((Term(f"<{a.name}'> + <{a.name}> + <{reaction.name}>"), *more)),
        Equation((Term(f"<{b.name}'> + <{b.name}> + 2 * <{reaction.name}>"),)),
        Equation((Term(f"<{c.name}'> + 2 * <{c.name}> + <{copy.name}>"),)),
        Equation((Term(f"<{a.name}> + 2 * <{b.name}> - <{c.name}>"),), balanced=True),
        Equation((Term(f"<{copy.name}> + <{reaction.name}>"),), balanced=True),
    ]
    order = rng.permutation(len(equations))
    return world.add(
        Group("integer equations", (a, b, c, reaction, copy), tuple(equations[k] for k in order)),
        max(depth, 1),
    )


def element_constraint(world: World) -> Group:
    """A point in the plane, one coordinate of which is given: the constraint sits on a single element."""
    rng = world.rng
    n = int(rng.integers(2, 4))
    k = int(rng.integers(n))
    r = world.variable("r", (n,), "init", gain=5.0)
    v = Variable(world.fresh("v"), derivative(r.signal), f"init={number(r.signal.at(0.0, 1))}", gain=20.0)
    force = world.variable("f", (), "none guess", gain=300.0)
    pushed = ", ".join(f"<{force.name}>" if i == k else f"0 * <{force.name}>" for i in range(n))
    constraint, depth = world.terms((), differentiated=2, most=1)
    more, deeper = world.terms((n,))
    equations = (
        Equation((Term(f"<{r.name}'> - <{v.name}>", "0.0"),)),
        Equation(
            (Term(f"<{v.name}'> + 2.0 * <{v.name}> + 3.0 * <{r.name}> - np.stack([{pushed}])"), *more)
        ),
        Equation((Term(f"<{r.name}>[{k}]"), *constraint)),
    )
    return world.add(Group("a coordinate that is given", (r, v, force), equations), max(depth, deeper))


def sliced_constraint(world: World) -> Group:
    """Half of a vector is given, the other half is integrated; the derivative of a slice of it is used."""
    rng = world.rng
    n = int(rng.integers(3, 6))
    k = int(rng.integers(1, n))
    x = world.variable("x", (n,), "init", gain=5.0)
    w = world.variable("w", (n - k,), "none", gain=50.0)
    constraint, depth = world.terms((n - k,), differentiated=1, most=1)
    more, deeper = world.terms((k,))
    t = f"<{x.name}>"
    equations = (
        Equation((Term(f"der({t}[:{k}]) + {t}[:{k}]", f"<{x.name}'>[:{k}] + {t}[:{k}]"), *more)),
        Equation((Term(f"2 * {t}[{k}:]"), Term(f"np.sin({t}[{k}:])"), *constraint)),
        Equation(
            (Term(f"<{w.name}> - der({t}[{k}:])", f"<{w.name}> - <{x.name}'>[{k}:]"), Term(f"0.3 * {t}[0]"))
        ),
    )
    return world.add(Group("a vector that is half given", (x, w), equations), max(depth, deeper, 1))


CONSTRAINED = [
    given,
    chain,
    multipliers,
    mechanism,
    rigid,
    integer_sum,
    element_constraint,
    sliced_constraint,
]
assert DEEPEST >= 3, "a chain of three integrators differentiates three times"

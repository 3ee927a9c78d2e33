"""A random part from (kind, seed, number): the same part every time."""

from __future__ import annotations

import itertools
import zlib
from dataclasses import replace

import numpy as np

from .algebra import algebra, ending
from .circuits import circuit
from .components import network
from .constraints import CONSTRAINED
from .couplings import linear_view
from .gadgets import FREE
from .hybrid import hybrid
from .manufactured import Group, Manufactured, Term
from .parts import Part
from .world import World
from .wrong import wrong

PLAIN = {"an ODE", "an ODE, its start by an equation", "an assignment", "implicit algebra"}


VARIANTS = {"manufactured": 6, "algebra": 6, "circuit": 6, "hybrid": 6, "ending": 1, "wrong": 1}
"""Parts of one structure with other numbers. Equal structures are compiled once, so they cost little."""


def manufactured(rng: np.random.Generator, draw: np.random.Generator) -> Part:
    world = World(rng, draw)
    groups: list[Group] = []
    for _ in range(int(rng.choice([1, 2, 3, 4], p=[0.2, 0.4, 0.3, 0.1]))):
        makers = CONSTRAINED if rng.random() < 0.45 else FREE
        maker = network if rng.random() < 0.1 else makers[rng.integers(len(makers))]
        groups.append(maker(world))
    return Manufactured(tuple(_with_feedback(world, groups)))


def _with_feedback(world: World, groups: list[Group]) -> list[Group]:
    """Small terms from later groups back to earlier ones, where no derivative lies between."""
    rng = world.rng
    depth = {known.variable.name: known.depth for known in world.known}
    plain = [i for i, group in enumerate(groups) if group.title in PLAIN]
    for i, j in itertools.pairwise(plain):
        variable = groups[j].variables[0]
        if depth[variable.name] > 0 or rng.random() < 0.4:
            continue
        target = groups[i].variables[0].signal.shape
        view = linear_view(rng, world.draw, f"<{variable.name}>", variable.signal.shape, target)
        if view is not None:
            equation = groups[i].equations[0]
            term = Term(f"0.02 * np.tanh({view})")
            changed = replace(equation, terms=(*equation.terms, term))
            groups[i] = replace(groups[i], equations=(changed, *groups[i].equations[1:]))
    return groups


GENERATORS = {
    "manufactured": manufactured,
    "algebra": algebra,
    "circuit": circuit,
    "hybrid": hybrid,
    "ending": ending,
    "wrong": wrong,
}


def generate(kind: str, seed: int, number: int) -> Part:
    """Part `number` of a kind; VARIANTS of them in a row have one structure."""
    key = zlib.crc32(kind.encode())
    structure, variant = divmod(number, VARIANTS[kind])
    rng = np.random.default_rng([key, seed, structure])
    return GENERATORS[kind](rng, np.random.default_rng([key, seed, structure, variant]))

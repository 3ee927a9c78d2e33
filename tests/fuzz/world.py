"""What a generator of groups knows: the variables written so far, and how to use them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .couplings import Known, Shape, coupling, product
from .manufactured import Group, Term, Variable
from .parts import number
from .signals import Signal, random_signal

DEEPEST = 3
"""How many differentiations may follow each other: nested derivatives of long expressions compile for
long."""


@dataclass
class World:
    rng: np.random.Generator  # decides on structure
    draw: np.random.Generator  # draws numbers
    known: list[Known] = field(default_factory=list)
    count: int = 0

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def shape(self, vectors: float = 0.6, matrices: float = 0.1) -> Shape:
        choice = self.rng.random()
        if choice < matrices:
            return (int(self.rng.integers(2, 4)), int(self.rng.integers(2, 4)))
        return (int(self.rng.integers(2, 6)),) if choice < matrices + vectors else ()

    def signal(self, shape: Shape = (), positive: bool = False) -> Signal:
        return random_signal(self.rng, self.draw, shape, positive)

    def terms(self, shape: Shape, differentiated: int = 0, most: int = 2) -> tuple[tuple[Term, ...], int]:
        """Some terms with earlier variables, and the depth of what depends on them through `differentiated`
        differentiations."""
        rng = self.rng
        found: list[Term] = []
        depth = differentiated
        for _ in range(int(rng.integers(0, most + 1))):
            usable = [known for known in self.known if known.depth + differentiated <= DEEPEST]
            if not usable:
                break
            first = usable[rng.integers(len(usable))]
            room = DEEPEST - differentiated - first.depth
            order = min(int(rng.choice([0, 1, 2], p=[0.65, 0.25, 0.1])), room)
            second = usable[rng.integers(len(usable))]
            if order == 0 and rng.random() < 0.2:
                term, used = product(rng, self.draw, first, second, shape), [first, second]
            else:
                term, used = coupling(rng, self.draw, first, shape, order), [first]
            if term is not None:
                found.append(term)
                depth = max(depth, *(known.depth + order + differentiated for known in used))
        return tuple(found), depth

    def add(self, group: Group, depth: int) -> Group:
        self.known += [Known(variable, depth) for variable in group.variables if variable.declared]
        return group

    def start(self, signal: Signal, kinds: str = "init") -> str:
        """The text of a start value: `init`, a `guess` beside it, or none; one of the words of `kinds`."""
        word = str(self.rng.choice(kinds.split()))
        if word == "none":
            return ""
        value = signal.at(0.0)
        if word == "guess":
            value = value + self.draw.uniform(-0.05, 0.05, signal.shape)
        return f"{word}={number(value)}"

    def variable(self, prefix: str, shape: Shape = (), kinds: str = "none", **more: object) -> Variable:
        signal = self.signal(shape)
        return Variable(self.fresh(prefix), signal, self.start(signal, kinds), **more)  # type: ignore[arg-type]

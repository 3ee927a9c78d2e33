"""Random models of any index whose exact solution is known: sums of sines, element by element.

Equations are written so that the functions satisfy them: explicit ones, states, nonlinear ones, prescribed
motions with an unknown force; and integer-linear ones between them (aliases with signs, derivatives of
slices, sums, terms that cancel), mixed with each other by integers, with terms `0*der(x)` thrown in.
`check_manufactured` puts the exact values into the index-1 form: what is assigned must be exact at every
derivative order, the residual zero, the matrix of the form regular.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from modia_py import Model, Var, der, time, translate
from modia_py.lowering.parameters import ParameterValues
from modia_py.program.program import Arguments
from modia_py.program.signals import make_signals
from modia_py.solvers.compile_options import quick_jit

KINDS = {
    "explicit": 0.12, "state": 0.15, "nonlinear": 0.08, "alias": 0.2, "derivative": 0.12, "sum": 0.13,
    "zero": 0.03, "motion": 0.06, "cancel": 0.04, "derivative sum": 0.04, "scaled": 0.03,
}  # fmt: skip
NEEDS_OTHERS = {"alias", "derivative", "sum", "cancel", "derivative sum", "scaled"}


@dataclass(frozen=True)
class Sines:
    """sum of a sin(w t + p), with all its derivatives."""

    terms: tuple[tuple[float, float, float], ...] = ()

    def at(self, t: float, order: int = 0) -> float:
        return sum(a * w**order * np.sin(w * t + p + order * np.pi / 2) for a, w, p in self.terms)

    def expression(self, order: int = 0) -> Any:
        total = 0.0 * time
        for a, w, p in self.terms:
            total = total + a * w**order * np.sin(w * time + (p + order * np.pi / 2))
        return total

    def __mul__(self, factor: float) -> Sines:
        return Sines(tuple((a * factor, w, p) for a, w, p in self.terms))

    def __add__(self, other: Sines) -> Sines:
        return Sines(self.terms + other.terms)

    def derivative(self) -> Sines:
        return Sines(tuple((a * w, w, p + np.pi / 2) for a, w, p in self.terms))


@dataclass(frozen=True)
class Part:
    """Some elements of a variable, written in one of several ways, and their exact functions."""

    name: str
    size: int  # of the variable; 0 for a scalar
    start: int
    count: int
    way: float
    exact: tuple[Sines, ...] = ()

    def of(self, model: Any, order: int = 0) -> Any:
        value = getattr(model, self.name)
        if self.size and not (self.count == self.size and self.way < 0.7):
            value = value[self.start : self.start + self.count]
        for _ in range(order):
            value = der(value)
        return value[0] if self.size and self.count == 1 else value


def _vector(functions: tuple[Sines, ...], order: int = 0) -> Any:
    values = [function.expression(order) for function in functions]
    return values[0] if len(values) == 1 else np.stack(values)


class _Writer:
    """Collects variables and equations; `integer` ones may be mixed with each other afterwards."""

    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)
        self.size: dict[str, int] = {}
        self.exact: dict[str, tuple[Sines, ...]] = {}
        self.integer: list[tuple[int, Any]] = []
        self.other: list[Any] = []

    def function(self) -> Sines:
        random = self.random
        return Sines(((random.uniform(0.5, 2), random.uniform(0.5, 1.5), random.uniform(0, 6)),))

    def functions(self, count: int) -> tuple[Sines, ...]:
        return tuple(self.function() for _ in range(count))

    def known(self, count: int) -> Part | None:
        """So many elements of a variable that is defined already."""
        fitting = [name for name in self.exact if max(self.size[name], 1) >= count]
        if not fitting:
            return None
        name = str(self.random.choice(fitting))
        size = self.size[name]
        start = int(self.random.integers(0, max(size, 1) - count + 1))
        exact = self.exact[name][start : start + count]
        return Part(name, size, start, count, self.random.random(), exact)

    def variable(self, name: str) -> None:
        size = int(self.random.choice([0, 0, 2, 3, 4]))
        self.size[name] = size
        cuts = [0, max(size, 1)]
        if size > 1 and self.random.random() < 0.5:
            cuts.insert(1, int(self.random.integers(1, size)))
        exact: list[Sines] = []
        for start, stop in itertools.pairwise(cuts):
            mine = Part(name, size, start, stop - start, self.random.random())
            exact += self.define(mine)
        self.exact[name] = tuple(exact)

    def define(self, mine: Part) -> tuple[Sines, ...]:
        """Write an equation for some elements, and return their functions."""
        count = mine.count
        others = [part for part in (self.known(count) for _ in range(3)) if part is not None]
        kind = str(self.random.choice(list(KINDS), p=list(KINDS.values())))
        if kind in NEEDS_OTHERS and not others:
            kind = "explicit"
        if kind in ("explicit", "state", "nonlinear", "motion"):
            return self._given(kind, mine, others)
        factors = [int(self.random.choice([1, -1, 2])) for _ in others]
        if kind in ("alias", "scaled"):
            factors = [int(self.random.choice([1, -1] if kind == "alias" else [2, -3]))]
        if kind in ("cancel", "derivative", "derivative sum"):
            factors = [1]
        used = others[: len(factors)] if kind != "zero" else []
        order = 1 if kind.startswith("derivative") else 0
        more = others[-1:] if kind in ("derivative sum", "cancel") else []
        exact = []
        for k in range(count):
            total = Sines()
            for part, factor in zip(used, factors, strict=False):
                own = part.exact[k].derivative() if order else part.exact[k]
                total = total + own * factor
            exact.append(total + more[0].exact[k] if kind == "derivative sum" else total)

        def residual(model: Any) -> Any:
            value = mine.of(model) * 1
            for part, factor in zip(used, factors, strict=False):
                value = value - factor * part.of(model, order)
            if kind == "derivative sum":
                value = value - more[0].of(model)
            return value + more[0].of(model) - more[0].of(model) if kind == "cancel" else value

        self.integer.append((count, residual))
        return tuple(exact)

    def _given(self, kind: str, mine: Part, others: list[Part]) -> tuple[Sines, ...]:
        exact = self.functions(mine.count)
        if kind == "explicit":
            factor = float(self.random.choice([1.0, 2.5]))
            self.other.append(lambda model: (factor * mine.of(model), factor * _vector(exact)))
        elif kind == "nonlinear":
            self.other.append(
                lambda model: (
                    mine.of(model) + 0.3 * np.sin(mine.of(model)),
                    _vector(exact) + 0.3 * np.sin(_vector(exact)),
                )
            )
        elif kind == "state":
            coupled = others[0] if others and self.random.random() < 0.4 else None

            def state(model: Any) -> Any:
                slope = _vector(exact, 1) + _vector(exact) - mine.of(model)
                if coupled is not None:
                    slope = slope + np.sin(coupled.of(model)) - np.sin(_vector(coupled.exact))
                return der(mine.of(model)), slope

            self.other.append(state)
        else:
            self._motion(mine, exact)
        return exact

    def _motion(self, mine: Part, exact: tuple[Sines, ...]) -> None:
        """A prescribed motion, its velocity, and the force that it takes."""
        size = mine.count if mine.count > 1 else 0
        velocity, force = (f"{letter}_{mine.name}_{mine.start}" for letter in "wf")
        self.size[velocity] = self.size[force] = size
        self.exact[velocity] = tuple(function.derivative() for function in exact)
        self.exact[force] = tuple(function.derivative().derivative() + function for function in exact)
        w, f = (Part(name, size, 0, mine.count, 0.0) for name in (velocity, force))
        self.other.append(lambda model: (mine.of(model), _vector(exact)))
        self.integer.append((mine.count, lambda model: w.of(model) - mine.of(model, 1)))
        if self.random.random() < 0.3:
            balance = lambda model: w.of(model, 1) - f.of(model) + mine.of(model)  # noqa: E731
            self.integer.append((mine.count, balance))
        else:
            self.other.append(
                lambda model: (1.5 * w.of(model, 1), 1.5 * f.of(model) - 1.5 * mine.of(model))
            )


def random_model(seed: int) -> tuple[type[Model], dict[str, tuple[Sines, ...]]]:
    """A model class, and the exact functions of the elements of its variables."""
    writer = _Writer(seed)
    random = writer.random
    for k in range(int(random.integers(3, 9))):
        writer.variable(f"v{k}")
    mixes = []
    for k, (count, _) in enumerate(writer.integer):
        same = [j for j, (other, _) in enumerate(writer.integer) if other == count and j != k]
        if same and random.random() < 0.4:
            mixes.append((k, int(random.choice(same)), int(random.choice([1, -1, 2]))))
    total = len(writer.integer) + len(writer.other)
    zeros = [
        (int(random.integers(total)), str(random.choice(list(writer.size))), int(random.integers(3)))
        for _ in range(int(random.integers(4)))
    ]

    def equations(self: Any) -> list[Any]:
        rows = [residual(self) for _, residual in writer.integer]
        for k, j, factor in mixes:
            rows[k] = rows[k] + factor * rows[j]
        sides = [(row, 0) for row in rows] + [write(self) for write in writer.other]
        for at, name, order in zeros:
            value = getattr(self, name)
            value = value.sum() if value.shape else value
            for _ in range(order):
                value = der(value)
            sides[at] = sides[at][0] + 0 * value, sides[at][1]
        return [left == right for left, right in sides]

    declared = {name: Var(size) if size else Var() for name, size in writer.size.items()}
    return type(f"Random{seed}", (Model,), {**declared, "equations": equations}), writer.exact


def check_manufactured(seed: int, tearing: bool | str, t: float = 0.7) -> None:
    """Translate a random model, and hold the exact solution against its index-1 form."""
    cls, exact = random_model(seed)
    sim = translate(cls(), tearing=tearing, check=True)
    flat = sim.flat
    signals = make_signals(flat, None, 0.0, 1.0)
    program = sim.translation.program(signals)
    arguments = Arguments(ParameterValues(flat).vector({}), signals.data)
    values, n = program.functions.value_map, program.functions.size
    true = np.zeros((values.orders + 1, flat.unknowns))
    for variable in flat.variables:
        for order in range(values.orders + 1):
            own = [function.at(t, order) for function in exact[variable.name]]
            true[order, variable.offset : variable.offset + variable.size] = own
    z = np.zeros(2 * n)
    for order in range(values.orders):
        place = values.place[order]
        in_z, in_x = (place >= 0) & (place < 2 * n), (place >= 0) & (place < n)
        z[n + place[in_x]] = (values.sign[order] * true[order + 1])[in_x]
        z[place[in_z]] = (values.sign[order] * true[order])[in_z]
    rows = program.functions.differential_rows

    def everything(x: Any, xdot: Any) -> tuple[Any, Any, Any]:
        def residual(x: Any, xdot: Any) -> Any:
            return program.problem.residual(jnp.asarray(t), x, xdot, arguments)

        w = program.values(jnp.asarray(t), x, xdot, arguments)
        if not n:
            return w, jnp.zeros(1), jnp.eye(1)
        by_xdot = jax.jacfwd(lambda xdot: residual(x, xdot))(xdot)
        by_x = jax.jacfwd(lambda x: residual(x, xdot))(x)
        return w, residual(x, xdot), jnp.concatenate([by_xdot[:rows], by_x[rows:]])

    w, residual, matrix = map(np.asarray, quick_jit(everything, n)(z[:n], z[n:]))
    for order in range(values.orders):
        known = values.place[order] >= 0
        found = (values.sign[order] * w[values.place[order]])[known]
        assert np.allclose(found, true[order][known], atol=1e-8), f"values of order {order}"
    assert np.abs(residual).max() < 1e-7, "the residual does not vanish"
    singular_values = np.linalg.svd(matrix, compute_uv=False)
    assert singular_values[-1] > 1e-9 * singular_values[0], "the matrix of the form is singular"

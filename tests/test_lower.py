"""Lowering: program sizes, parameters as arguments, and random models against written-out twins."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modia_py import Model, ModelError, Par, Var, connect, der, elaborate, flat_residual, time
from modia_py.models.electrical import ConstantVoltage, Ground, Resistor
from modia_py.models.examples import Ladder, SlidingMass
from modia_py.solvers.compile_options import quick_jit

from .helpers import program_size


def test_program_size_does_not_depend_on_the_number_of_copies():
    assert program_size(Ladder(100)) == program_size(Ladder(100_000))


class Separate(Model):
    """Resistors one by one, in series or in parallel."""

    def __init__(self, n, in_series):
        self.source = ConstantVoltage()
        self.ground = Ground()
        self.in_series = in_series
        self.r = [Resistor(R=1.0 + k) for k in range(n)]

    def equations(self):
        yield connect(self.source.n, self.ground.p)
        if self.in_series:
            yield connect(self.source.p, self.r[0].p)
            yield (connect(a.n, b.p) for a, b in zip(self.r[:-1], self.r[1:], strict=True))
            yield connect(self.r[-1].n, self.ground.p)
        else:
            yield connect(self.source.p, *(r.p for r in self.r))
            yield connect(self.ground.p, *(r.n for r in self.r))


@pytest.mark.parametrize("in_series", [True, False])
def test_separate_instances_lower_to_one_program(in_series):
    assert program_size(Separate(10, in_series)) == program_size(Separate(1000, in_series))


def test_equations_in_a_python_loop_lower_to_one_call():
    class Loop(Model):
        def __init__(self, n):
            self.n = n
            self.x = Var(n)

        def equations(self):
            yield der(self.x[0]) == 1.0
            for k in range(1, self.n):
                yield der(self.x[k]) == self.x[k - 1] * (0.5 * k) - np.sin(self.x[k])

    assert program_size(Loop(5)) == program_size(Loop(300))
    lowered = flat_residual(elaborate(Loop(300)))
    x = np.linspace(0, 1, 300)
    residual = lowered.residual(0.0, x, np.zeros(300), lowered.parameters())
    expected = -np.append(1.0, x[:-1] * 0.5 * np.arange(1, 300) - np.sin(x[1:]))
    rows = np.concatenate([np.arange(rows.start, rows.stop) for rows in lowered.rows])
    np.testing.assert_allclose(residual[rows], expected, rtol=1e-14)


def test_parameters_are_arguments():
    lowered = flat_residual(elaborate(SlidingMass()))
    compiled = jax.jit(lowered.residual)
    v = np.linspace(0, 1, lowered.unknowns.size)
    before = compiled(0.0, v, v, lowered.parameters())
    after = compiled(0.0, v, v, lowered.parameters({"m": 3.0, "n": [1.0, 0.0, 0.0]}))
    assert compiled._cache_size() == 1
    assert not np.allclose(before, after)
    text = str(jax.make_jaxpr(lowered.residual)(0.0, v, v, lowered.parameters()))
    assert "9.81" not in text
    assert "1000" not in text


def test_residual_is_differentiable_in_everything():
    lowered = flat_residual(elaborate(SlidingMass()))
    v = np.linspace(0.1, 1, lowered.unknowns.size)
    p = lowered.parameters()
    for place in (1, 2, 3):
        jacobian = jax.jacobian(lowered.residual, place)(0.0, v, v, p)
        assert np.isfinite(jacobian).all()
        assert jacobian.any()

    def of_mass(m):
        return lowered.residual(0.0, v, v, lowered.parameters({"m": m})).sum()

    h = 1e-6
    assert jax.grad(of_mass)(2.0) == pytest.approx((of_mass(2 + h) - of_mass(2 - h)) / (2 * h))


def test_sizes_are_checked():
    lowered = flat_residual(elaborate(SlidingMass()))
    v, p = np.zeros(13), lowered.parameters()
    with pytest.raises(ModelError, match=r"SlidingMass: vdot has shape \(5,\), expected \(13,\)"):
        lowered.residual(0.0, v, np.zeros(5), p)
    with pytest.raises(ModelError, match=r"There is no 'q'. Known names: s, r, v, f, u"):
        lowered.unknowns.pack({"q": 1.0})


# Random models. Each form is an equation between vectors, and the same written out by elements. A
# vector is an expression of shape (n,) on one side and a list of n scalar expressions on the other.

FORMS = {
    "sum of products": (
        lambda x, y, z, p, q: x == p * y - z * q,
        lambda x, y, z, p, q: [x[k] == p[k] * y[k] - z[k] * q for k in range(len(x))],
    ),
    "derivative and function": (
        lambda x, y, z, p, q: der(x) == np.sin(y) * q + np.exp(-(z**2)),
        lambda x, y, z, p, q: [der(x[k]) == np.sin(y[k]) * q + np.exp(-(z[k] ** 2)) for k in range(len(x))],
    ),
    "stencil": (
        lambda x, y, z, p, q: der(x[1:-1]) == q * (y[2:] - 2 * y[1:-1] + y[:-2]) / p[1:-1],
        lambda x, y, z, p, q: [
            der(x[k]) == q * (y[k + 1] - 2 * y[k] + y[k - 1]) / p[k] for k in range(1, len(x) - 1)
        ],
    ),
    "single element": (
        lambda x, y, z, p, q: x[0] == y[-1] * time + p[1],
        lambda x, y, z, p, q: [x[0] == y[-1] * time + p[1]],
    ),
    "reduction": (
        lambda x, y, z, p, q: x.sum() - y @ p == z[::2].prod(),
        lambda x, y, z, p, q: [sum(x) - sum(y[k] * p[k] for k in range(len(x))) == product(z[::2])],
    ),
    "index list": (
        lambda x, y, z, p, q: x[[1, 0, 1]] == y[[0, 1, 2]] * z[::-1][:3],
        lambda x, y, z, p, q: [x[i] == y[k] * z[len(z) - 1 - k] for k, i in enumerate([1, 0, 1])],
    ),
    "matrix": (
        lambda x, y, z, p, q: np.outer(p, x) @ y == der(z),
        lambda x, y, z, p, q: [
            p[k] * sum(x[j] * y[j] for j in range(len(x))) == der(z[k]) for k in range(len(x))
        ],
    ),
    "broadcast and concatenation": (
        lambda x, y, z, p, q: np.concatenate([x[1:], [q]]) == y[0] + np.cumsum(z),
        lambda x, y, z, p, q: [
            (x[k + 1] if k + 1 < len(x) else q) == y[0] + sum(z[: k + 1]) for k in range(len(x))
        ],
    ),
    "second derivative": (
        lambda x, y, z, p, q: der(der(x)) + der(y * z) == p,
        lambda x, y, z, p, q: [der(der(x[k])) + der(y[k] * z[k]) == p[k] for k in range(len(x))],
    ),
}


def product(factors):
    result = factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result


class VectorPart(Model):
    """Three vectors and some of the forms."""

    def __init__(self, n, forms, **changes):
        super().__init__(**changes)
        self.forms = tuple(forms)
        self.x, self.y, self.z = Var(n), Var(n), Var(n)
        self.p, self.q = Par(np.ones(n)), Par(1.0)

    def vectors(self, order):
        named = {"x": self.x, "y": self.y, "z": self.z}
        return [named[letter] for letter in order]

    def equations(self):
        return [FORMS[name][0](*self.vectors(order), self.p, self.q) for name, order in self.forms]


class ScalarPart(VectorPart):
    """The same with a variable for each element."""

    def __init__(self, n, forms, p, q):
        self.forms = tuple(forms)
        self.x, self.y, self.z = ([Var() for _ in range(n)] for _ in range(3))
        self.p, self.q = [Par(value) for value in p], Par(q)

    def equations(self):
        return [FORMS[name][1](*self.vectors(order), self.p, self.q) for name, order in self.forms]


class Whole(Model):
    """Some vectors of its own, and copies of a part, as an array or one by one."""

    def __init__(self, n, forms, copies, p, q, as_array):
        if as_array:
            self.part = VectorPart.array(copies, n, forms, p=p, q=q)
        else:
            self.part = [ScalarPart(n, forms, p[c], q[c]) for c in range(copies)]
        self.as_array = as_array
        self.copies = copies
        self.w = Var(copies) if as_array else [Var() for _ in range(copies)]

    def equations(self):
        if self.as_array:
            yield self.w == self.part.x[:, 0] * self.part.q + self.part.y.sum(axis=1)
            yield self.w[1:] == self.part[:-1].z[:, -1]
        else:
            for c in range(self.copies):
                yield self.w[c] == self.part[c].x[0] * self.part[c].q + sum(self.part[c].y)
            for c in range(1, self.copies):
                yield self.w[c] == self.part[c - 1].z[-1]


@st.composite
def wholes(draw):
    n = draw(st.integers(3, 5))
    orders = st.permutations("xyz").map("".join)
    forms = draw(st.lists(st.tuples(st.sampled_from(sorted(FORMS)), orders), min_size=1, max_size=4))
    copies = draw(st.integers(1, 4))
    seed = draw(st.integers(0, 2**16))
    return n, forms, copies, seed


@settings(max_examples=60, deadline=None)
@given(wholes())
def test_array_model_equals_written_out_model(case):
    n, forms, copies, seed = case
    rng = np.random.default_rng(seed)
    p, q = rng.uniform(0.5, 2, (copies, n)), rng.uniform(0.5, 2, copies)
    arrays = flat_residual(elaborate(Whole(n, forms, copies, p, q, as_array=True)))
    single = flat_residual(elaborate(Whole(n, forms, copies, p, q, as_array=False)))
    assert arrays.unknowns.size == single.unknowns.size
    results = []
    values = {name: rng.normal(size=(2, *place.shape)) for name, place in arrays.unknowns.places.items()}
    for lowered, naming in ((arrays, dict), (single, element_values)):
        packed = [
            lowered.unknowns.pack(naming({name: pair[k] for name, pair in values.items()})) for k in (0, 1)
        ]
        compiled = quick_jit(lowered.residual, 0)  # at once: each operation alone takes longer
        residual = np.asarray(compiled(0.7, *packed, lowered.parameters()))
        results.append(rows_by_copy(lowered, residual, copies))
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def element_values(values):
    """The values of array variables, by the names of the written-out model."""
    result = {}
    for name, array in values.items():
        head, _, tail = name.rpartition("(")
        inner = tail.rstrip(")")
        path, _, letter = inner.rpartition(".")
        for index in np.ndindex(array.shape):
            element = f"w[{index[0]}]" if not path else f"part[{index[0]}].{letter}[{index[1]}]"
            result[f"{head}({element})" if head else element] = array[index]
    return result


def rows_by_copy(lowered, residual, copies):
    """The residual by owner: first that of the whole, then that of each copy, each in order."""
    whole, parts = [], [[] for _ in range(copies)]
    for equation, rows in zip(lowered.flat.equations, lowered.rows, strict=True):
        values = residual[rows]
        name = equation.owner.name
        if not name:
            whole.append(values)
        elif "[" in name:
            parts[int(name[5:-1])].append(values)
        else:
            for copy, own in enumerate(values.reshape(copies, -1)):
                parts[copy].append(own)
    chain = residual[max(rows.stop for rows in lowered.rows) :]
    return [np.concatenate(whole), *(np.concatenate(part) for part in parts), np.sort(chain)]

"""Structure by elements: strides, lists, columns, repeated elements, elements of component arrays."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from modia_py import Model, Var, der, elaborate, flat_residual, time
from modia_py.arrays.transform import SingularStructure, transform
from modia_py.lowering.model_structure import model_structure
from modia_py.lowering.value_map import flat_starts

from .test_structure import transformed

# Accesses that are not whole intervals in their order: rows have to be paired with their elements


def make(build, **declared):
    """A model with these declarations and the equations that `build(self)` returns."""

    class Made(Model):
        def __init__(self):
            for name, value in declared.items():
                setattr(self, name, value)

        def equations(self):
            return build(self)

    return Made()


class Pair(Model):
    r = Var(2)


class Triple(Model):
    r = Var(3)


def aliases(model):
    """Aliases by name, with their sign."""
    structure = model_structure(elaborate(model))
    result = transform(structure.structure, structure.integers, structure.integer_rows, check=True)
    found, names = result.simplified.found, structure.structure.variable_name
    return {(names(int(v)), names(int(found.alias_of[v])), int(found.alias_sign[v])) for v in found.aliases}


def test_strided_reversed_and_listed_elements_are_paired():
    strided = make(
        lambda s: [s.y == s.x[::2], s.x == [1.0, 2.0, 3.0, 4.0], s.z == np.sin(s.y[0])],
        x=Var(4),
        y=Var(2),
        z=Var(),
    )
    assert aliases(strided) == {("y[0]", "x[0]", 1), ("y[1]", "x[2]", 1)} or aliases(strided) == {
        ("x[0]", "y[0]", 1),
        ("x[2]", "y[1]", 1),
    }
    column = make(
        lambda s: [s.w.sum(axis=1) == s.y, s.y[0] == np.sin(time), s.y[1] == 2.5, s.w[:, 0] == 1.5],
        w=Var((2, 2)),
        y=Var(2),
    )
    assert transformed(column).form.size <= 6
    once = transformed(
        make(
            lambda s: [s.y == s.x[::-1], s.y[0] == np.sin(time), der(s.x[1]) == s.f, s.x[0] == s.f],
            x=Var(2),
            y=Var(2),
            f=Var(),
        )
    )
    assert once.reduction.differentiations(10**9).max() == 1
    assert once.form.size <= 2
    for index in ([1, 0], slice(None, None, -1)):
        singular = make(lambda s, k=index: [s.y == s.x[k], s.x[0] == 1, s.y[1] == 2], x=Var(2), y=Var(2))
        with pytest.raises(SingularStructure):
            transformed(singular)


def test_repeated_elements_are_counted():
    twice = make(lambda s: [s.x[[0, 0]].sum() == s.y, s.x == np.ones(3) * time], x=Var(3), y=Var())
    assert not aliases(twice)
    with pytest.raises(SingularStructure):
        transformed(make(lambda s: [s.y == s.x[[0, 0]], s.y[0] == 1, s.y[1] == 2], x=Var(2), y=Var(2)))


@pytest.mark.parametrize(
    ("build", "declared"),
    [
        (lambda s: [s.c.r == s.q[::-1]], {"c": (Pair, 3), "q": 2}),
        (lambda s: [s.c.r == s.q[:, None]], {"c": (Triple, 3), "q": 3}),
        (lambda s: [s.c.r[:, ::-1].sum(axis=0) == s.q], {"c": (Pair, 1), "q": 2}),
        (lambda s: [s.c.r == s.w[:, ::-1]], {"c": (Pair, 3), "w": (3, 2)}),
        (lambda s: [s.w == s.c.r.T], {"c": (Pair, 3), "w": (2, 3)}),
        (lambda s: [s.c.r[:, 0] == s.w[0], s.c[::-1].r[:, 1] == s.w[1]], {"c": (Pair, 3), "w": (2, 3)}),
    ],
)
def test_aliases_of_component_arrays_hold(build, declared):
    """Whatever is found to be an alias is one: values that solve the equations satisfy it."""
    parts = {
        name: spec[0].array(spec[1]) if isinstance(spec, tuple) and isinstance(spec[0], type) else Var(spec)
        for name, spec in declared.items()
    }
    other = "w" if "w" in declared else "q"

    class Closed(Model):
        def __init__(self):
            for name, value in parts.items():
                setattr(self, name, value)

        def equations(self):
            known = getattr(self, other)
            number = np.arange(1.0, known.size + 1).reshape(known.shape)
            return [*build(self), known == number * time]

    flat = elaborate(Closed())
    assert flat.size == flat.unknowns
    structure = model_structure(flat)
    found = transform(
        structure.structure, structure.integers, structure.integer_rows, check=True
    ).simplified.found
    lowered = flat_residual(flat)
    zero = np.zeros(lowered.unknowns.size)
    matrix = np.asarray(jax.jacobian(lowered.residual, 1)(1.0, zero, zero, lowered.parameters()))
    solution = np.linalg.solve(matrix, -np.asarray(lowered.residual(1.0, zero, zero, lowered.parameters())))
    starts, sizes = flat_starts(structure), structure.structure.variable_size
    for alias in found.aliases.tolist():
        target, sign = int(found.alias_of[alias]), int(found.alias_sign[alias])
        ours = solution[starts[alias] : starts[alias] + sizes[alias]]
        theirs = solution[starts[target] : starts[target] + sizes[target]]
        np.testing.assert_allclose(ours, sign * theirs)


def test_elements_of_component_arrays_are_distinguished():
    one = transformed(
        make(
            lambda s: [
                s.c.r == s.y,
                s.y[0, 0] == np.sin(time),
                s.y[1] == 0.0,
                der(s.c[0].r[0]) == s.f,
                s.c[0].r[1] == s.f,
            ],
            c=Pair.array(2),
            y=Var((2, 2)),
            f=Var(),
        )
    )
    assert one.reduction.differentiations(10**9).max() == 1


@pytest.mark.parametrize("n", [8, 16, 18, 40])
def test_no_cliff_with_the_length_of_vectors(n):
    singular = make(lambda s: [s.x + s.y == time, s.x[::2] == 1, s.y[::2] == 2], x=Var(n), y=Var(n))
    with pytest.raises(SingularStructure):
        transformed(singular)


def test_short_stencils_are_exact():
    result = transformed(
        make(
            lambda s: [
                s.d == s.x[1:] - s.x[:-1],
                s.x[0] == 0,
                s.d[0] == np.sin(time),
                der(s.x[1]) == s.f,
                s.x[2] == s.f,
            ],
            x=Var(3),
            d=Var(2),
            f=Var(),
        )
    )
    assert result.reduction.differentiations(10**9).max() == 1


def test_unbalanced_models_are_refused_before_anything_is_set_to_zero():
    for build, declared in (
        (lambda s: [s.x == s.y], {"x": Var(3), "y": Var(3)}),
        (lambda s: [s.x == s.y, s.y == s.x, s.x == 0], {"x": Var(), "y": Var()}),
        (lambda s: [der(s.q) == -2.5 * s.q, s.x + s.y == 0], {"q": Var(), "x": Var(), "y": Var()}),
    ):
        with pytest.raises(SingularStructure, match="too (few|many)"):
            transformed(make(build, **declared))


def test_redundant_equations_are_named():
    model = make(
        lambda s: [s.x == s.y, s.y == s.x, s.z == np.sin(s.x), s.w == np.cos(s.y) + s.z],
        x=Var(),
        y=Var(),
        z=Var(),
        w=Var(),
    )
    with pytest.raises(SingularStructure, match=r"follow from others") as caught:
        transformed(model)
    assert any(f"== {name}  (test_structure_elements.py:" in str(caught.value) for name in "xy")


def test_large_coefficients_and_marks_through_aliases():
    transformed(make(lambda s: [1e20 * s.x == s.y, s.y + s.x == time], x=Var(), y=Var()))
    structure = model_structure(
        elaborate(
            make(
                lambda s: [s.x == 2.5 * s.y, der(s.x) + der(s.y) == -s.x, s.a == s.x],
                y=Var(),
                x=Var(),
                a=Var(init=1.0),
            )
        )
    )
    result = transform(
        structure.structure, structure.integers, structure.integer_rows, keep=structure.has_start
    )
    assert result.slot_names() == ["x"]

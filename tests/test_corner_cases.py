"""Cases at the edge of the language: what must not be silently wrong, and what must not be slow."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from modia_py import (
    Connector,
    Flow,
    Model,
    ModelError,
    ModelWarning,
    Par,
    Var,
    connect,
    der,
    elaborate,
    flat_residual,
    function,
    time,
)
from modia_py.models.electrical import Capacitor, Resistor
from modia_py.models.examples import Ladder

from .helpers import program_size, time_derivative, trajectory, value_of


class Plant(Model):
    x = Var()
    y = Var()
    v = Var(3)
    A = Var((3, 3))


m = Plant()


def at(expr):
    return np.asarray(value_of(expr, lambda leaf: trajectory(leaf, 0.3)))


def plain(leaf):
    return np.asarray(trajectory(leaf, 0.3))


def test_reshape_in_fortran_order():
    np.testing.assert_allclose(at(np.reshape(m.A, 9, order="F")), plain(m.A).reshape(9, order="F"))
    assert str(np.reshape(m.A, 9, order="F")) == "reshape(A, 9, order='F')"


def test_a_variable_kept_under_a_second_name_is_one_variable():
    class Keeper(Model):
        x = Var(init=1.0)
        y = Var()

        def __init__(self, **changes):
            super().__init__(**changes)
            self.alias = self.x
            self.both = [self.x, self.y]

        def equations(self):
            return [der(self.x) == -self.alias, self.y == self.both[0]]

    assert [v.name for v in elaborate(Keeper()).variables] == ["x", "y"]


def test_connectors_are_joined_by_name_not_by_order():
    class Base(Connector):
        i = Flow()

    class One(Base):
        a = Var()
        b = Var()

    class Two(Base):
        b = Var()
        a = Var()

    class Left(Model):
        p = One()

    class Right(Model):
        p = Two()

    class Both(Model):
        c = Left()
        d = Right()

        def equations(self):
            return [connect(self.c.p, self.d.p)]

    texts = [str(e) for e in elaborate(Both()).equations]
    assert "d.p.a == c.p.a" in texts
    assert "d.p.b == c.p.b" in texts


def test_derivatives_through_complex_numbers():
    for expr in (np.abs(np.fft.rfft(m.v)), np.real(np.fft.ifft(np.fft.fft(m.v) * 2))):
        moving = value_of(der(expr), lambda leaf: trajectory(leaf, 0.4))
        np.testing.assert_allclose(moving, time_derivative(expr, 0.4), rtol=1e-7, atol=1e-9)
    with pytest.raises(ModelError, match="equates complex numbers"):
        m.v == np.fft.fft(m.v)


def test_single_precision_is_refused():
    @function
    def low(x):
        return x.astype(jnp.float32)

    with pytest.raises(ModelError, match="low returns float32 .*64 bit"):
        low(m.x)


def test_integers_times_time():
    with pytest.warns(ModelWarning, match=r"no impulse where `where\(x > 0, 1, 0\)` jumps"):
        jumping = der(np.sin((m.x > 0) * time))
    known = [(expr, der(expr)) for expr in (np.sin(2 * time), np.exp(3 * time) * m.x)]
    for expr, derivative in [*known, (np.sin((m.x > 0) * time), jumping)]:
        moving = value_of(derivative, lambda leaf: trajectory(leaf, 0.4))
        np.testing.assert_allclose(moving, time_derivative(expr, 0.4), rtol=1e-7)


def test_functions_with_several_results_from_numpy():
    fraction, whole = np.modf(m.v)
    np.testing.assert_allclose(at(fraction) + at(whole), plain(m.v))
    moving = value_of(der(fraction), lambda leaf: trajectory(leaf, 0.4))
    np.testing.assert_allclose(moving, time_derivative(fraction, 0.4), rtol=1e-7)


def test_changes_are_not_lost():
    class Forgetful(Model):
        k = Par(1.0)

        def __init__(self, n=2, **changes):
            self.x = Var(n)

    assert Forgetful(n=3).x.shape == (3,)
    with pytest.raises(ModelError, match=r"Forgetful.__init__ takes k=... and does not hand it on"):
        Forgetful(2, k=5.0)


def test_options_that_compare_equal_stay_apart():
    @function
    def scale(v, k):
        return v if k is True else 2 * v

    assert at(scale(m.x, 1)) == 2 * plain(m.x)
    assert at(scale(m.x, True)) == plain(m.x)

    class Signed(Model):
        x = Var()

        def __init__(self, zero):
            self.zero = zero

        def equations(self):
            return [self.x == np.copysign(1.0, self.zero)]

    class Both(Model):
        def __init__(self):
            self.parts = [Signed(0.0), Signed(-0.0)]

    lowered = flat_residual(elaborate(Both()))
    assert sorted(lowered.residual(0.0, np.zeros(2), np.zeros(2), lowered.parameters()).tolist()) == [-1, 1]


def test_computed_parameters_are_checked():
    class Filter(Model):
        a = Par(1.0)

        def __init__(self, **changes):
            super().__init__(**changes)
            self.c = Capacitor(C=self.a)

    lowered = flat_residual(elaborate(Filter()))
    with pytest.raises(ModelError, match=r"Parameter c.C = a is zero .* declared nonzero"):
        lowered.parameters({"a": 0.0})


def test_containers_of_components():
    class Dict(Model):
        def __init__(self):
            self.g = {"a": Resistor()}

    with pytest.raises(ModelError, match=r"Dict.g is a dict of declarations .*use a list"):
        Dict()

    class Nested(Model):
        def __init__(self):
            self.g = [[Resistor() for _ in range(2)] for _ in range(3)]

        def equations(self):
            return [connect(self.g[0][0].n, self.g[2][1].p)]

    flat = elaborate(Nested())
    assert "g[2][1].p.v" in flat.by_name
    assert flat.size == flat.unknowns


def test_what_a_component_cannot_be():
    class P(Connector):
        v = Var()

        def equations(self):
            return [self.v == 0]

    class Holder(Model):
        def __init__(self, part):
            self.p = part

    with pytest.raises(ModelError, match="The connector P has `equations`"):
        elaborate(Holder(P()))
    with pytest.raises(ModelError, match=r"Holder.p is only a part of a component array"):
        Holder(Resistor.array(5)[1:])
    holder = Holder(Resistor())
    with pytest.raises(ModelError, match=r"Holder.me would contain itself"):
        holder.me = holder
    with pytest.raises(ModelError, match=r"Holder.p is a Flow .*flows belong to connectors"):
        Holder(Flow())
    with pytest.raises(ModelError, match=r"Resistor takes values by name, not 3.0 .*: Resistor\(p=..., n="):
        Resistor(3.0)


def test_component_array_details():
    assert len(elaborate(Model_with(Ladder.array(3, n=5))).equations) > 10
    ladder = Ladder(5)
    assert ladder.r[...].u.shape == (5,)
    with pytest.raises(ModelError, match="an index list has one dimension"):
        ladder.r[np.array([[0, 1], [2, 3]])]


def Model_with(part):
    class Holder(Model):
        def __init__(self):
            self.part = part

    return Holder()


def test_relations():
    count = sum((m.v[k] > 0) * 1.0 for k in range(3))
    assert at(count) == 3.0
    either = m.v[0] > 0
    for k in range(12):
        either = either + (m.v[k % 3] > k)
    assert at(either * 1.0) == 1.0
    assert str((m.x < m.y) & (m.y < 1)) == "(x < y) & (y < 1)"
    assert str((m.x > 0) != (m.y > 0)) == "(x > 0) != (y > 0)"


def test_positional_options_that_are_not_linear():
    expr = np.sum(m.v, None, None, None, False, 5.0)
    assert at(expr) == pytest.approx(plain(m.v).sum() + 5)
    moving = value_of(der(expr), lambda leaf: trajectory(leaf, 0.4))
    np.testing.assert_allclose(moving, time_derivative(expr, 0.4), rtol=1e-7)


def test_zipped_indices_print_as_they_were_typed():
    class Box(Model):
        v = Var(3)

    class Boxes(Model):
        r = Box.array(4)

    assert str(Boxes().r.v[[0, 1], [1, 2]]) == "r.v[[0, 1], [1, 2]]"


def test_shared_sums_are_evaluated_once():
    class Shared(Model):
        x = Var()

        def __init__(self, n):
            self.n = n

        def equations(self):
            a, b = self.x, self.x + 1
            for _ in range(self.n):
                a, b = b, a + b
            return [b == 0]

    assert program_size(Shared(60)) < 200
    lowered = flat_residual(elaborate(Shared(60)))
    value = lowered.residual(0.0, np.zeros(1), np.zeros(1), lowered.parameters())
    fibonacci = [0, 1]
    for _ in range(60):
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    assert value[0] == fibonacci[-1]


def test_start_values_by_expression_in_large_arrays():
    class Cell(Model):
        T0 = Par(1.0)

        def __init__(self, **changes):
            super().__init__(**changes)
            self.T = Var(init=2 * self.T0)

        def equations(self):
            return [der(self.T) == 0]

    class Pack(Model):
        cells = Cell.array(50_000, T0=np.arange(50_000.0))

    lowered = flat_residual(elaborate(Pack()))
    start = lowered.initial_values(lowered.parameters())["cells.T"]
    np.testing.assert_array_equal(start, 2 * np.arange(50_000.0))


def test_small_messages():
    with pytest.raises(ModelError, match="must be real numbers, not None"):
        Resistor(R=None)
    with pytest.raises(ModelError, match="NaN stands in an equation"):
        m.x == np.nan
    with pytest.raises(ModelError, match=r"not the variable .* Connect the connector it belongs to"):
        connect(Resistor().p.v, Resistor().p)
    with pytest.raises(ModelError, match=r"np.stack\(\[...\]\)"):
        np.array([m.x, m.y]) == np.array([1.0, 2.0])
    lowered = flat_residual(elaborate(Ladder(3)))
    with pytest.raises(ModelError, match=r"The value of r.u has shape \(2,\), expected \(3,\)"):
        lowered.unknowns.pack({"r.u": [1.0, 2.0]})

    @function
    def broken(x):
        raise RuntimeError("inner trouble")

    with pytest.raises(ModelError, match="inner trouble") as caught:
        broken(m.x)
    assert isinstance(caught.value.__cause__, RuntimeError)

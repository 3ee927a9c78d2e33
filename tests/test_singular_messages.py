"""Dependent equations, roots that end, zero parameters: found numerically, named as the user wrote them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse

from modia_py import Model, Par, SimulationError, Var, der, time, translate
from modia_py.solvers.matrix.near_singular import nearly_null_space
from modia_py.solvers.matrix.null_space import null_space


def involved(matrix) -> tuple[list[int], list[int]]:
    rows, columns = null_space(sparse.csr_array(matrix)).involved()
    return rows.tolist(), columns.tolist()


def test_a_singular_matrix_in_any_units():
    matrix = np.array([[1.5, 0.7, 0.0], [3.0, 1.4, 0.0], [1.0, 2.0, 3.0]])
    assert involved(matrix) == ([0, 1], [0, 1])
    for row, column in ((1e12, 1e-9), (1e-30, 1e20)):
        scaled = np.diag([row, 1.0, 1.0]) @ matrix @ np.diag([1.0, column, 1.0])
        assert involved(scaled) == ([0, 1], [0, 1])


def test_badly_scaled_regular_matrices_are_regular():
    random = np.random.default_rng(0)
    for size in (5, 30, 60):
        full = np.eye(size) + random.normal(size=(size, size))
        units = 10.0 ** random.uniform(-100, 100, size)
        assert involved(np.diag(units) @ full @ np.diag(random.permutation(1 / units))) == ([], [])


def test_a_long_recursion_is_regular():
    n = 400
    recursion = np.eye(n) - 2 * np.eye(n, k=-1)  # the condition number is 2^400
    assert involved(recursion) == ([], [])
    recursion[0, -1] = 1e-3  # one irreducible block
    assert involved(recursion) == ([], [])


def test_large_sparse_matrices():
    n = 4000
    laplace = sparse.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(n, n), format="lil")
    assert involved(laplace) == ([], [])
    laplace[0, 0] = laplace[n - 1, n - 1] = -1.0  # no end is held
    rows, columns = involved(laplace)
    assert len(rows) == len(columns) == n
    chain = sparse.eye_array(n, format="lil") + sparse.eye_array(n, k=1, format="lil")
    chain[n - 1, 0] = 3.0
    chain[7] = 2 * chain[3]
    assert involved(chain)[0] == [3, 7]


def test_structurally_singular_matrices():
    assert involved([[1.0, 0, 0], [2.0, 0, 0], [1.0, 2, 3]]) == ([0, 1], [1, 2])
    assert involved(np.zeros((2, 2))) == ([0, 1], [0, 1])
    assert involved([[0.0, 0], [1, 1]])[0] == [0]


def test_what_becomes_singular_is_compared_with_what_it_was():
    before = sparse.csr_array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 0.0, 1e-9]])
    now = sparse.csr_array([[1.0, 1e-6, 0.0], [1.0, -1e-6, 0.0], [0.0, 0.0, 1e-9]])
    rows, columns = nearly_null_space(now, [before]).involved()
    assert rows.tolist() == [0, 1]
    assert columns.tolist() == [1]
    assert nearly_null_space(before, [now]).is_empty


class Multiple(Model):
    a = Var()
    b = Var()
    x = Var(init=1.0)
    right = Par(0.0)

    def equations(self):
        return [
            1.5 * self.a + 0.7 * self.b == self.x,
            3 * self.a + 1.4 * self.b == 2 * self.x + self.right,
            der(self.x) == -self.a,
        ]


def error_of(model, tearing="auto", **options) -> str:
    with pytest.raises(SimulationError) as raised:
        translate(model, tearing=tearing).simulate(options.pop("stop_time", 1.0), **options)
    return str(raised.value)


@pytest.mark.parametrize("tearing", ["auto", False])
def test_dependent_equations_with_float_coefficients(tearing):
    text = error_of(Multiple(), tearing)
    assert "do not determine all variables at time 0" in text
    assert "1.5*a + 0.7*b == x  (test_singular_messages.py:" in text
    assert "3*a + 1.4*b == 2*x + right  (test_singular_messages.py:" in text
    assert "der(x) == -a" not in text
    assert "Not determined: a = -der(x), b." in text


@pytest.mark.parametrize("tearing", ["auto", False])
def test_dependent_equations_that_contradict_each_other(tearing):
    text = error_of(Multiple(right=1.0), tearing)
    assert "These depend on each other" in text
    assert "1.5*a + 0.7*b == x" in text
    assert "3*a + 1.4*b == 2*x + right" in text


class Behind(Model):
    """The unknown is assigned: c from a."""

    a = Var()
    b = Var()
    c = Var()
    x = Var(init=1.0)

    def equations(self):
        return [
            self.c == np.pi * self.a,
            self.c + 0.7 * self.b == self.x,
            2 * self.c + 1.4 * self.b == 2 * self.x,
            der(self.x) == -self.a,
        ]


@pytest.mark.parametrize("tearing", ["auto", False])
def test_variables_behind_assignments_are_named(tearing):
    text = error_of(Behind(), tearing)
    assert "c + 0.7*b == x" in text
    assert "2*c + 1.4*b == 2*x" in text
    assert "b" in text.split("Not determined: ")[1]
    assert "c" in text.split("Not determined: ")[1]


class TwoRods(Model):
    """A mass held by two rods that are the same."""

    m = Par(1.0)
    g = Par([0.0, -9.81])
    r = Var(2, guess=[1.0, 0.0])
    d = Var(2)
    v = Var(2)
    f1 = Var()
    f2 = Var()

    def equations(self):
        return [
            self.r @ self.r == 1,
            self.d @ self.d == 1,
            self.d == self.r - 0,
            self.v == der(self.r),
            self.m * der(self.v) == self.m * self.g + 2 * self.r * self.f1 + 2 * self.d * self.f2,
        ]


def test_two_rods_are_named_before_anything_is_integrated(monkeypatch):
    from modia_py.simulation import translated_model

    monkeypatch.setattr(translated_model, "integrate", lambda *_: pytest.fail("compiled the integrator"))
    text = error_of(TwoRods())
    assert "r @ r == 1  (" in text
    assert "d @ d == 1  (" in text
    assert "Not determined: f1, f2." in text


class Matrix(Model):
    A = Par([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    a = Var(3)
    x = Var(3, init=[1.0, 2.0, 3.0])

    def equations(self):
        return [self.A @ self.a == self.x, der(self.x) == -self.a]


def test_a_singular_matrix_of_parameters_and_a_regular_one():
    sim = translate(Matrix())
    with pytest.raises(SimulationError, match=r"A @ a == x") as raised:
        sim.simulate(1.0)
    assert "a[0] = -der(x)[0]" in str(raised.value)
    regular = np.diag([1e-9, 1.0, 1e9])  # other units
    sim.simulate(1e-12, params={"A": regular})


class NoInductance(Model):
    L = Par(0.0)
    i = Var(init=0.0)
    u = Var()

    def equations(self):
        return [self.L * der(self.i) == self.u, self.u == np.sin(time) + self.i]


def test_a_zero_parameter_that_takes_the_unknown_out_of_an_equation():
    text = error_of(NoInductance())
    assert "L*der(i) == u" in text
    assert "Not determined: der(i). In these equations L is zero." in text


class Divided(Model):
    R = Par(1.0)
    i = Var()
    u = Var(init=1.0)

    def equations(self):
        return [self.i == self.u / self.R, der(self.u) == -self.i]


class Three(Model):
    def __init__(self, **changes):
        super().__init__(**changes)
        self.part = Divided.array(3)

    def equations(self):
        return []


class Dwindling(Model):
    """A constraint whose length goes to zero: its force is determined less and less."""

    r = Var(2, init=[1.0, 0.0])
    v = Var(2)
    f = Var()

    def equations(self):
        force = 2 * self.r * self.f
        return [
            self.r @ self.r == 1 - time,
            self.v == der(self.r),
            der(self.v) == np.array([0.0, -9.81]) + force,
        ]


def test_what_has_become_singular_on_the_way_is_named():
    text = error_of(Dwindling(), stop_time=2.0)
    assert "stopped at time" in text
    assert "Nearly singular there" in text
    assert "r @ r == 1 - time  (" in text
    assert "Not determined: f." in text

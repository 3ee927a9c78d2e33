"""Looking inside a translated model: report, equations, pictures, linear models, chains of assignments."""

from __future__ import annotations

import numpy as np
import pytest

from modia_py import Input, Model, ModelError, Par, Var, der, elaborate, simulate, translate
from modia_py.arrays.stages import MOST_STAGES, stages_of
from modia_py.models.examples import Ladder, Pendulum, SlidingMass


def test_the_report_says_what_was_done():
    text = translate(SlidingMass()).report()
    for part in (
        "13 equations for 13 unknowns",
        "index 3",
        "2 times: r == n*s  (examples.py:",
        "once: v == der(r)",
        "block of 10: f, der(v), der2(s), der2(r)",
        "2 states: s, der(s)",
        "21 assigned locally",
        "linear solver",
        "times: structure",
    ):
        assert part in text


def test_the_report_of_a_large_model_fits_on_a_screen():
    text = translate(Ladder(1000)).report()
    assert "1000 states: c.u" in text
    assert "1000 algebraic unknowns: r.i" in text
    assert len(text.split("\nwords:\n")[0].splitlines()) < 20
    assert max(map(len, text.splitlines())) < 160


def test_equations_in_the_notation_of_the_model():
    text = translate(Pendulum()).equations()
    assert "x = [r, der(r), integral of force, integral of mu for `der(r) @ r + r @ der(r) == 0`]" in text
    assert "m*der(v) == m*g - force*r  (examples.py:" in text
    assert "d/dt r == der(r) - (dg/dv)^T mu" in text


def test_structure_plot(tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "structure.png"
    figure = translate(SlidingMass()).structure_plot(str(file))
    assert file.stat().st_size > 5000
    assert [axis.get_title() for axis in figure.axes] == ["as written", "transformed, in blocks"]
    with pytest.raises(ModelError, match="shows nothing"):
        translate(Ladder(1000)).structure_plot()


def test_linearize_an_index_3_model_in_its_degrees_of_freedom():
    lin = translate(Pendulum(r=[0.0, -1.0])).linearize(outputs=["force", "r"])
    assert lin.states == ("r[0]", "der(r)[0]")
    np.testing.assert_allclose(lin.A, [[0, 1], [-9.81, 0]], atol=1e-9)
    np.testing.assert_allclose(lin.C, [[0, 0], [1, 0], [0, 0]], atol=1e-9)
    np.testing.assert_allclose(np.sort(lin.eigenvalues().imag), [-np.sqrt(9.81), np.sqrt(9.81)])


class Plant(Model):
    """A nonlinear tank: der(h) = u - sqrt(h), y = h^2 + u."""

    u = Input()
    h = Var(init=1.0)
    y = Var()

    def equations(self):
        return [der(self.h) == self.u - np.sqrt(self.h), self.y == self.h**2 + self.u]


def test_linearize_with_inputs_at_a_start_and_later():
    sim = translate(Plant())
    A, B, C, D = sim.linearize(inputs={"u": 1.0}, outputs=["y"])
    np.testing.assert_allclose([A[0, 0], B[0, 0], C[0, 0], D[0, 0]], [-0.5, 1.0, 2.0, 1.0], atol=1e-9)
    later = sim.linearize(50, inputs={"u": 2.0}, outputs=["y"])  # h has settled at 4
    np.testing.assert_allclose(later.A, [[-0.25]], rtol=1e-4)
    np.testing.assert_allclose(later.C, [[8.0]], rtol=1e-4)
    with pytest.raises(ModelError, match="no variable 'z'"):
        sim.linearize(inputs={"u": 1.0}, outputs=["z"])
    with pytest.raises(ModelError, match="no method 'euler'; there are 'bdf', 'radau', 'auto'"):
        sim.linearize(inputs={"u": 1.0}, method="euler")


class Stage(Model):
    a = Var()
    b = Var()

    def equations(self):
        return [self.b == 0.5 * self.a + 1]


class Chain(Model):
    """n assignments, each needing the one before: x decays to where b_n of it is zero."""

    gain = Par(1.5, nonzero=True)
    x = Var(init=1.0)

    def __init__(self, n, **changes):
        super().__init__(**changes)
        self.c = Stage.array(n)

    def equations(self):
        return [
            self.c[0].a == self.x,
            self.c[1:].a == self.gain * self.c[:-1].b,
            der(self.x) == -self.x + self.c[-1].b,
        ]


def test_long_chains_of_assignments_are_cut():
    sim = translate(Chain(60))
    assert stages_of(sim.structure.form).max() <= MOST_STAGES
    assert stages_of(translate(Chain(60), tearing=True).structure.form).max() == 119
    result = simulate(Chain(60), 3.0, times=7, rtol=1e-8)
    # b_n = slope x + offset by the recursion b_(k+1) = 0.75 b_k + 1
    slope, offset = 0.5, 1.0
    for _ in range(59):
        slope, offset = 0.75 * slope, 0.75 * offset + 1
    rate = slope - 1
    exact = (1 + offset / rate) * np.exp(rate * result.time) - offset / rate
    np.testing.assert_allclose(result["x"], exact, rtol=1e-6)
    np.testing.assert_allclose(result["c.b"][:, -1], slope * exact + offset, rtol=1e-6)


def test_everything_assigned_is_evaluated_only():
    class Driven(Model):
        u = Input()
        m = Par(7.0, nonzero=True)
        x = Var()
        v = Var()
        f = Var()

        def equations(self):
            return [self.x == self.u, der(self.x) == self.v, self.m * der(self.v) == self.f]

    result = simulate(Driven(), 1.0, inputs={"u": lambda t: np.sin(2 * t)})
    np.testing.assert_allclose(result["f"], -28 * np.sin(2 * result.time), atol=1e-12)
    assert elaborate(Driven()).unknowns == 3


class Grid(Model):
    """Matrices: their elements have two indices in every text."""

    N = Var((2, 3), init=1.0)
    z = Var((2, 3))
    u = Input((2, 2))

    def equations(self):
        return [der(self.N) == -self.z * self.u.sum(), self.z == self.N**3]


def test_elements_of_matrices_have_the_indices_of_equations():
    sim = translate(Grid())
    linear = sim.linearize(inputs={"u": np.ones((2, 2))}, outputs=["z"])
    assert linear.states == tuple(f"N[{i}, {j}]" for i in range(2) for j in range(3))
    assert linear.inputs == ("u[0, 0]", "u[0, 1]", "u[1, 0]", "u[1, 1]")
    assert linear.outputs[4] == "z[1, 1]"
    result = sim.simulate(1.0, inputs={"u": np.ones((2, 2))})
    assert result.variables["N"].role == "state"
    assert "element [" in result.stats.certificate.equation


def test_a_report_explains_its_words():
    text = translate(Pendulum()).report()
    said, words = text.split("\nwords:\n")
    for word in ("index", "state", "integral", "multiplier", "assigned", "tearing", "block"):
        assert word in said
        assert any(line.startswith(f"  {word} ") for line in words.splitlines())
    assert "  alias" not in words  # there is none
    equations = translate(Pendulum()).equations()
    assert "  chain: a slope in x is the variable" in equations
    assert "  fd: with derivatives of x" in equations
    assert "  fc: without, constraints and algebraic equations" in equations

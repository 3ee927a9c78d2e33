"""`relax(x)`: loops that are solved by elimination, in the sequence that relaxed variables ask for."""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from modia_py import (
    Model,
    ModelError,
    Par,
    SimulationError,
    StructureError,
    Var,
    der,
    elaborate,
    relax,
    translate,
)

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))

from hints import Chain, DriveTrain, Excerpt, loop_of


@pytest.fixture(scope="module")
def train():
    return translate(DriveTrain(), check=True)


def _acceleration(sim, **params):
    """The constant acceleration of the load, from its speed."""
    return sim.simulate(0.1, params=params, rtol=1e-8).final("load.w") / 0.1


def test_a_drive_train_is_solved_as_by_hand(train):
    """(J2 + i^2 J1) der(w2) = i tau, whatever the parameters."""
    assert train.structure.slot_names() == ["load.w"]
    assert not len(train.structure.form.fd)  # nothing but der(load.w) as it was computed
    found = loop_of(train)
    assert (found.equations, found.torn) == (4, 0)
    for i, J1, J2 in ((5.0, 0.01, 2.0), (3.0, 0.2, 1.0), (-2.0, 1.0, 0.5)):
        params = {"gear.i": i, "motor.J": J1, "load.J": J2}
        assert _acceleration(train, **params) == pytest.approx(i * 2.0 / (J2 + i**2 * J1), rel=1e-9)
    text = train.report()
    assert (
        "relaxed loop of 4, eliminated in 4 steps, at most 1 unknowns together; solved alone it takes"
        in text
    )


def test_a_gear_the_other_way_around_cannot_be_relaxed_but_torn():
    with pytest.raises(
        StructureError, match=r"(?s)structurally singular. Left over are motor.left.a,.*hints.py"
    ):
        translate(DriveTrain(reversed_gear=True))
    for reversed_gear in (False, True):
        sim = translate(DriveTrain(reversed_gear=reversed_gear, torn=True), check=True)
        assert loop_of(sim).torn == 1
    assert not translate(DriveTrain(reversed_gear=True), relaxing=False).structure.form.loops
    reduced = translate(DriveTrain(reversed_gear=True), relaxing="reduce")
    assert len(reduced.structure.form.loops) == 1
    assert _acceleration(reduced) == pytest.approx(2.0 / 5 / (2.0 + 0.01 / 25), rel=1e-9)


def test_events_and_plain_equations_give_the_same(train):
    plain = translate(DriveTrain(), relaxing=False)
    assert not plain.structure.form.loops
    params = {"drive.brake": 1.5}
    a, b = (sim.simulate(2.0, times=9, params=params, rtol=1e-8) for sim in (train, plain))
    assert len(a.events) == len(b.events) > 0
    for name in ("load.w", "motor.left.a", "gear.left.t"):
        np.testing.assert_allclose(a[name], b[name], rtol=1e-7, atol=1e-9)


@pytest.mark.slow
def test_gradients_go_through_an_elimination(train):
    f = train.function(["load.w"], [0.1], params=["gear.i"], rtol=1e-8)
    slope = jax.grad(lambda i: f({"gear.i": i})["load.w"][0])(5.0)
    J1, J2, i = 0.01, 2.0, 5.0
    expected = 0.1 * 2.0 * (J2 - i**2 * J1) / (J2 + i**2 * J1) ** 2
    assert slope == pytest.approx(expected, rel=1e-6)


def test_a_pivot_that_vanishes_is_named(train):
    text = r"the pivot for der\(load.w\) of a relaxed loop vanishes, in `load.J\*load.left.a == "
    with pytest.raises(SimulationError, match=text):
        train.simulate(0.1, params={"motor.J": -0.08})  # J2 + i^2 J1 is zero


class Passing(Model):
    """The pivot for y changes its sign at half of the time; the equations are regular there."""

    x, y, z = Var(init=0.0), Var(), Var()

    def equations(self):
        s = self.x - 0.5
        return [der(self.x) == 1.0, s * self.y + self.z == 1 + self.x, relax(self.y) - 2 * s * self.z == 0]


def test_a_pivot_that_vanishes_at_a_time_of_output_is_named():
    sim = translate(Passing())
    with pytest.raises(
        SimulationError, match=r"(?s)at time 0.5:.*There the pivot for \w of a relaxed loop"
    ):
        sim.simulate(1.0, times=3)
    result, plain = (one.simulate(1.0, times=4) for one in (sim, translate(Passing(), relaxing=False)))
    np.testing.assert_allclose(result["y"], plain["y"], rtol=1e-6)


def test_nodal_analysis_of_a_circuit():
    """Five equations relax to those of two potentials."""
    start = {"C2.u": 0.0}
    sim = translate(Excerpt(**start), relaxing="reduce", check=True)
    (loop,) = sim.structure.form.loops
    structure = sim.structure.structure
    names = [structure.variable_name(v) for v in loop.variables]
    assert len(names) == 5
    potentials = {"R1.n.v", "R4.p.v"}
    assert potentials <= set(names)
    assert names[-1] in potentials
    assert [structure.variable_name(v) for v in loop.torn] == names[-1:]
    left = structure.equation_name(int(loop.steps[-1][0][0]))
    assert "relax" not in left  # Kirchhoff's law is what is left, not the law of a resistor
    result = sim.simulate(2e-3, times=4, rtol=1e-8)
    rest, resistance = 5 * 200 / 300, 50 + 100 * 200 / 300  # of what feeds the capacitor
    expected = -rest * (1 - np.exp(-result.time / (resistance * 1e-5)))
    np.testing.assert_allclose(result["C2.u"], expected, atol=1e-6)


@pytest.fixture(scope="module")
def chains():
    return {f: translate(Chain(f)) for f in (6, 10, 100)}


def test_a_tree_of_bodies_takes_operations_in_proportion_to_its_joints(chains):
    counts = [loop_of(chains[f]).count for f in (10, 100)]
    totals = [count.multiplications + count.additions for count in counts]
    assert np.log10(totals[1] / totals[0]) < 1.1
    dense = [loop_of(translate(Chain(f, relaxed=False))).count for f in (10, 30)]
    cubes = [count.multiplications + count.additions for count in dense]
    assert np.log(cubes[1] / cubes[0]) / np.log(3) > 2.2


def test_relaxed_and_torn_chains_move_alike(chains):
    torn = translate(Chain(6, relaxed=False))
    params = {"segment.L": np.linspace(0.3, 0.8, 6), "segment.m": np.linspace(2.0, 1.0, 6)}
    a, b = (sim.simulate(0.5, times=4, params=params, rtol=1e-8) for sim in (chains[6], torn))
    np.testing.assert_allclose(a["segment.q"], b["segment.q"], atol=1e-7)
    np.testing.assert_allclose(a["segment.a.f"], b["segment.a.f"], atol=1e-4)


class Relaxed(Model):
    """Loops that have no sequence of elimination."""

    r, v = Var(2), Var(2)
    f, x, y = Var(), Var(guess=1.0), Var()
    m = Par(1.0, nonzero=True)

    def __init__(self, case, **changes):
        super().__init__(**changes)
        self.case = case

    def equations(self):
        r, v, f, x, y = self.r, self.v, self.f, self.x, self.y
        cubic = 3 if self.case == "cubic" else 1
        force = relax(f) if self.case == "constraint" else f
        return [
            der(r) == v,
            self.m * der(v) == -force * r + np.array([0.0, -9.81]),
            r @ r == 1,
            x + relax(y) == 2,
            x**cubic - y == 0,
            *([relax(x * y) == 0] if self.case == "product" else []),
        ]


@pytest.mark.parametrize(
    ("case", "text"),
    [
        (
            "cubic",
            r"(?s)cannot be solved by elimination: `x\*\*3 - y == 0 .* is not linear.*relaxing=False",
        ),
        ("constraint", r"(?s)a loop with constraints of states has no sequence.*r @ r == 1"),
    ],
)
def test_loops_that_cannot_be_eliminated(case, text):
    with pytest.raises(StructureError, match=text):
        translate(Relaxed(case))


def test_only_variables_are_relaxed():
    with pytest.raises(ModelError, match="what is relaxed is a variable"):
        elaborate(Relaxed("product"))
    with pytest.raises(ModelError, match='relaxing is True, False or "reduce"'):
        translate(DriveTrain(), relaxing="always")

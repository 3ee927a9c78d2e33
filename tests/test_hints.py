"""Hints to tearing: `residue(x)` in equations, `tear=` from outside, and what loops become by them."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import jax
import numpy as np
import pytest

from modia_py import (
    Model,
    ModelError,
    ModelWarning,
    Par,
    StructureError,
    Var,
    connect,
    der,
    elaborate,
    initial,
    reinit,
    residue,
    simulate,
    tear,
    translate,
    when,
    where,
)
from modia_py.models.electrical import ConstantVoltage, Ground, MeshCut

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))

from hints import CutBall, Ladder, Resistor, TornLoopJoint, TornRevolute, loop_of
from spatial_arm import AXES, Arm
from spatial_loop import FourBar


class Pair(Model):
    """Two equations of two unknowns."""

    i, u = Var(guess=1.0), Var()

    def equations(self):
        return [self.u + self.i**3 == 2.0 + residue(self.i), self.u == 3 * self.i]


def test_a_hint_is_zero_and_prints_as_written():
    flat = elaborate(Pair())
    assert str(flat.equations[0]) == "u + i**3 == 2 + residue(i)"
    assert "residue" not in str(flat.equations[0].equation.residual())
    root = simulate(Pair(), 1.0)["i"][-1]
    assert abs(3 * root + root**3 - 2) < 1e-9


def test_the_derivative_of_a_hint_is_the_hint_of_the_derivative():
    pair = Pair()
    assert der(residue(pair.i)) is residue(der(pair.i))
    assert der(2 * residue(pair.i) + pair.u) is 2 * residue(der(pair.i)) + der(pair.u)


class Wrong(Model):
    x, y = Var(2), Var()
    p = Par(1.0)

    def __init__(self, case, **changes):
        super().__init__(**changes)
        self.case = case

    def equations(self):
        x, y = self.x, self.y
        cases = {
            "factor": lambda: [y == y * residue(y)],
            "argument": lambda: [y == np.sin(residue(y))],
            "sum": lambda: [y == residue(x[0] + x[1])],
            "when": lambda: [when(initial(), reinit(y, 1 + residue(y)))],
        }
        return [*cases[self.case](), x == np.zeros(2)]


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("factor", r"`residue\(y\)` in `y == y\*residue\(y\)` \(test_hints.py:\d+\) has to be a term"),
        ("argument", "has to be a term of a sum"),
        ("sum", "a residue is named by a variable"),
        ("when", "a hint belongs into an equation"),
    ],
)
def test_hints_that_mean_nothing_are_refused(case, text):
    with pytest.raises(ModelError, match=text):
        elaborate(Wrong(case))


class AtTheStart(Pair):
    def initial_equations(self):
        return [self.u == residue(self.i)]


def test_a_hint_at_the_start_is_refused():
    with pytest.raises(ModelError, match=r"holds at the start only: hints belong into `equations`"):
        elaborate(AtTheStart())


@pytest.fixture(scope="module")
def ladders():
    return {cuts: translate(Ladder(cuts), check=True) for cuts in ("", "mesh", "node", "tear")}


@pytest.mark.parametrize(
    ("cuts", "torn", "published"), [("mesh", 3, (28, 25)), ("node", 3, (38, 25)), ("tear", 1, (27, 25))]
)
def test_resistor_ladder(ladders, cuts, torn, published):
    sim = ladders[cuts]
    found = loop_of(sim)
    assert sim.structure.form.size == found.torn == torn
    (loop,) = sim.structure.loops
    assert loop.is_complete
    assert not len(loop.more_tears)
    assert not len(loop.more_residues)
    assert found.count.multiplications <= published[0]
    assert found.count.additions <= published[1]
    text = sim.report()
    assert f"loop of {found.equations}, by hints: {torn} tear variable" in text
    assert f"solved alone it takes {found.count}" in text
    assert f"residual: cut1.{'res.' if cuts == 'tear' else 'p.' if cuts == 'node' else ''}" in text
    assert found.equations == {"mesh": 17, "node": 15, "tear": 13}[cuts]
    plain = ladders[""].simulate(1.0, times=2)
    cut = sim.simulate(1.0, times=2)
    for k in range(1, 7):
        np.testing.assert_allclose(cut[f"R{k}.i"], plain[f"R{k}.i"], rtol=1e-12)


def test_hints_from_outside(ladders):
    sim = translate(Ladder(), tear=[("R1.i", "R5.i")])
    assert sim.structure.slot_names() == ["R1.i"]
    assert sim.structure.loops[0].is_complete
    unpaired = translate(Ladder(), tear=[("R1.i", None)])
    assert unpaired.structure.slot_names() == ["R1.i"]
    by_name = translate(Ladder("mesh"), tear=[(None, "residue_cut1.i")])  # named in the model already
    assert by_name.structure.slot_names() == ladders["mesh"].structure.slot_names()
    np.testing.assert_allclose(
        sim.simulate(1.0).final("R6.i"), ladders[""].simulate(1.0).final("R6.i"), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (["R1.x"], ModelError, "no variable 'R1.x'. Did you mean"),
        ([("R1.i", "residue_R1.i")], ModelError, r"residue\(R1.i\) stands in none"),
        (["R2.n.v"], ModelError, "R2.n.v is no unknown"),
        ([("ground.p.i", None)], StructureError, "ground.p.i is in no algebraic loop"),
        (
            ["R1.u"],
            StructureError,
            r"(?s)Left over are R5.u, and as residuals:\n    R3.R\*R3.i == R3.u  \(basic",
        ),
        ([("R1.i", 3)], ModelError, "tear is a list of pairs of names"),
        ([(None, None)], ModelError, "tear is a list of pairs of names"),
    ],
)
def test_messages_about_hints_from_outside(given, error, text):
    with pytest.raises(error, match=text):
        translate(Ladder(), tear=given)


def test_pairs_are_made_of_two_lists():
    assert tear(["a", "b"], ["residue_c", None]) == (("a", "residue_c"), ("b", None))
    assert tear(["a"]) == (("a", "a"),)
    with pytest.raises(ModelError, match="2 variables and 1 residue equations"):
        tear(["a", "b"], ["c"])
    with pytest.raises(ModelError, match="with tearing=False nothing is assigned"):
        translate(Ladder(), tear=["R1.i"], tearing=False)


class Unnecessary(Model):
    """No loop: the hints say nothing."""

    x = Var(init=1.0)
    y, dummy = Var(), Var()

    def equations(self):
        return [
            der(self.x) == -self.y + residue(self.y),
            self.y == 2 * self.x + residue(self.x),
            self.dummy == residue(self.x),
        ]


def test_hints_without_a_loop_change_nothing():
    sim = translate(Unnecessary(), check=True)
    assert sim.structure.slot_names() == ["x"]
    assert not sim.structure.loops
    assert "hints" not in sim.report()


class Incomplete(Model):
    """Three cubic equations, of which one is named."""

    x = Var(3, guess=1.0)

    def equations(self):
        x, y, z = self.x
        return [x**3 + y == 2 + residue(x), y**3 + z == 2, z**3 + x + y == 3]


def test_what_hints_leave_over_is_named():
    with pytest.warns(
        ModelWarning, match=r"(?s)Left over are .*x\[.\].*as residuals:\n    .*test_hints.py:\d+"
    ):
        sim = translate(Incomplete())
    np.testing.assert_allclose(sim.simulate(1.0).final("x"), 1.0, rtol=1e-9)


class TwoCuts(Model):
    """Cuts in parallel and no other equation for their currents: one of them is arbitrary."""

    def __init__(self, **changes):
        super().__init__(**changes)
        self.source, self.ground, self.R = ConstantVoltage(V=1.0), Ground(), Resistor(R=2.0)
        self.one, self.other = MeshCut(), MeshCut()

    def equations(self):
        s, r, a, b = self.source, self.R, self.one, self.other
        return [
            connect(s.p, a.p, b.p),
            connect(a.n, b.n, r.p),
            connect(r.n, s.n, self.ground.p),
        ]


def test_hints_do_not_hide_singularities():
    with pytest.warns(ModelWarning, match="arbitrary|not determined|nothing determines"):
        result = simulate(TwoCuts(), 1.0)
    np.testing.assert_allclose(result.final("R.i"), 0.5)


class Relay(Model):
    """A capacitor behind a loop of resistors, one of which changes at an event."""

    u = Var(init=0.0)
    v = Var(2)
    i = Var(3)
    R = Par([1.0, 2.0, 3.0], nonzero=True)
    switched = Par(5.0, nonzero=True)

    def __init__(self, hinted, **changes):
        super().__init__(**changes)
        self.hinted = hinted

    def equations(self):
        u, v, i, R = self.u, self.v, self.i, self.R
        hint = residue(i[0]) if self.hinted else 0.0
        return [
            R[0] * i[0] == 1 - v[0],
            R[1] * i[1] == v[0] - v[1] + 0.1 * np.tanh(v[0]),
            where(u > 0.3, self.switched, R[2]) * i[2] == v[1] - u + hint,
            i[0] - i[1] == 0.2 * v[0],
            i[1] - i[2] == 0.1 * v[1],
            der(u) == i[2],
        ]


@pytest.fixture(scope="module")
def relays():
    return translate(Relay(True)), translate(Relay(False))


def test_results_are_those_without_hints(relays):
    hinted, plain = relays
    assert hinted.structure.loops
    assert hinted.structure.slot_names() != plain.structure.slot_names()
    a, b = (sim.simulate(3.0, times=9, rtol=1e-9) for sim in (hinted, plain))
    assert len(a.events) == len(b.events) == 1
    for name in ("u", "v", "i"):
        np.testing.assert_allclose(a[name], b[name], atol=1e-7)


@pytest.mark.slow
def test_gradients_go_through_torn_loops_and_events(relays):
    hinted, plain = relays
    f = hinted.function(["u"], [3.0], params=["switched"], rtol=1e-9, derivative="forward")
    slope = jax.jvp(lambda s: f({"switched": s})["u"][0], (5.0,), (1.0,))[1]
    change = [plain.simulate(3.0, params={"switched": 5 + d}, rtol=1e-11).final("u") for d in (-1e-3, 1e-3)]
    np.testing.assert_allclose(slope, (change[1] - change[0]) / 2e-3, rtol=1e-4)


@pytest.fixture(scope="module")
def robot():
    return translate(Arm(6, joint=TornRevolute))


def test_a_robot_of_six_joints_becomes_six_linear_equations(robot):
    found = loop_of(robot)
    assert (found.equations, found.torn) == (183, 6)
    assert found.count is not None  # it is linear
    (loop,) = robot.structure.loops
    assert loop.is_complete
    assert [robot.structure.structure.variable_name(v) for v in loop.tears] == [
        f"der2(joint{k}.phi)" for k in range(6)
    ]
    assert robot.structure.form.size == 12


def _joint_torques(q, w, a):
    """Inverse dynamics of the arm by the recursion of Newton and Euler (Luh, Walker, Paul 1980)."""
    inertia, length = np.diag([0.1, 0.1, 0.02]), np.array([0.0, 0.0, -0.5])
    R, omega, alpha, acceleration = np.eye(3), np.zeros(3), np.zeros(3), np.array([0.0, 0.0, 9.81])
    axes, arms, forces, torques = [], [], [], []
    for k in range(6):
        n = np.array(AXES["zyxzyx"[k] if k else "y"])
        e = R @ n
        alpha = alpha + e * a[k] + np.cross(omega, e * w[k])
        omega = omega + e * w[k]
        K = np.cross(n, np.eye(3)).T
        R = R @ (np.eye(3) + np.sin(q[k]) * K + (1 - np.cos(q[k])) * K @ K)
        arm, world = R @ length, R @ inertia @ R.T
        centre = acceleration + np.cross(alpha, arm / 2) + np.cross(omega, np.cross(omega, arm / 2))
        acceleration = acceleration + np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
        axes.append(e)
        arms.append(arm)
        forces.append(centre)  # of a mass of one
        torques.append(world @ alpha + np.cross(omega, world @ omega))
    f, t, found = np.zeros(3), np.zeros(3), np.zeros(6)
    for k in reversed(range(6)):
        t = t + torques[k] + np.cross(arms[k] / 2, forces[k]) + np.cross(arms[k], f)
        f = f + forces[k]
        found[k] = axes[k] @ t
    return found


def test_the_robot_accelerates_as_newton_and_euler_say(robot):
    result = robot.simulate(0.2, times=3, rtol=1e-8)
    names = "joint{}.phi", "joint{}.w", "der2(joint{}.phi)"
    for k in (0, 2):
        q, w, a = (np.array([result[name.format(j)][k] for j in range(6)]) for name in names)
        assert np.abs(a).max() > 1
        np.testing.assert_allclose(_joint_torques(q, w, a), -0.1 * w, atol=1e-9)


def test_a_spatial_loop_of_four_bars():
    sim = translate(FourBar(drive=TornRevolute, joint=TornLoopJoint, ball=CutBall))
    form = sim.structure.form
    assert [int(form.structure.equation_size[level.residuals].sum()) for level in form.levels[:2]] == [3, 3]
    found = loop_of(sim)
    assert found.torn == 7
    assert found.count is not None
    plain = translate(FourBar())
    a, b = (each.simulate(0.3, times=4, rtol=1e-8) for each in (sim, plain))
    np.testing.assert_allclose(a["hinge.phi"], b["hinge.phi"], atol=1e-8)
    np.testing.assert_allclose(a["ball.b.f"], b["ball.b.f"], atol=1e-6)


def test_without_hints_of_the_cut_the_loop_is_torn_all_the_same():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", ModelWarning)
        sim = translate(FourBar(drive=TornRevolute, joint=TornLoopJoint))
    assert sim.structure.form.size == 14
    assert not seen  # three forces are left, and no equation: there is nothing to choose

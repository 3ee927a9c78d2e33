"""`tearing="auto"`: the form whose steps take least, without chains that one unknown is sent through."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from modia_py import Model, Var, der, translate
from modia_py.arrays.stages import MOST_STAGES, chains_may_stay, stages_of
from modia_py.lowering.step_cost import step_cost

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))

from spatial_arm import Arm
from spatial_loop import FourBar


class ResistorLadder(Model):
    """n resistors along, n across, behind a capacitor: all potentials depend on each other."""

    u = Var(init=1.0)

    def __init__(self, n, **changes):
        super().__init__(**changes)
        self.n = n
        self.v = Var(n)
        self.i = Var(n)

    def equations(self):
        u, v, i, n = self.u, self.v, self.i, self.n
        along = [i[k] == (u if k == 0 else v[k - 1]) - v[k] for k in range(n)]
        across = [i[k] - (i[k + 1] if k + 1 < n else 0.0) == v[k] for k in range(n)]
        return [*along, *across, der(u) == -i[0]]


@pytest.fixture(scope="module")
def arm():
    return {tearing: translate(Arm(14), tearing=tearing) for tearing in ("auto", True, False)}


def test_trees_of_bodies_are_torn_though_their_chains_are_long(arm):
    form = arm["auto"].structure.form
    assert form.size == 28
    assert stages_of(form).max() > MOST_STAGES
    assert chains_may_stay(form, arm["auto"].structure.blocks)
    assert "tearing: what can be assigned is assigned: a step takes some" in arm["auto"].report()


def test_the_cheaper_form_is_taken(arm):
    costs = {tearing: step_cost(sim.translation.functions) for tearing, sim in arm.items()}
    assert costs["auto"] == min(costs.values()) == costs[True]


def test_both_forms_give_the_same_motion(arm):
    torn, plain = (arm[tearing].simulate(0.2, times=5, rtol=1e-7) for tearing in ("auto", False))
    for k in range(14):
        np.testing.assert_allclose(torn[f"joint{k}.phi"], plain[f"joint{k}.phi"], atol=1e-6)


def test_the_spatial_loop_has_four_angles_and_three_constraints():
    sim = translate(FourBar())
    assert sim.structure.form.size == 14
    result = sim.simulate(0.3, times=7, rtol=1e-7)
    crank, rocker = result["coupler.b.r"], result["rocker.b.r"]
    np.testing.assert_allclose(crank, rocker, atol=1e-12)


def test_a_chain_that_one_unknown_is_sent_through_is_not_kept():
    sim = translate(ResistorLadder(60))
    form = translate(ResistorLadder(60), tearing=True).structure
    assert stages_of(form.form).max() > MOST_STAGES
    assert not chains_may_stay(form.form, form.blocks)
    assert stages_of(sim.structure.form).max(initial=0) <= MOST_STAGES
    result = sim.simulate(1.0, times=3, rtol=1e-8)
    golden = (np.sqrt(5) - 1) / 2  # conductance of the endless ladder
    np.testing.assert_allclose(result["u"][-1], np.exp(-golden), rtol=1e-6)

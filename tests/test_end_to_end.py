"""From the text of a model to its trajectory: structure, index-1 form, functions, integrator."""

from __future__ import annotations

import numpy as np
import pytest

from modia_py import elaborate, flat_residual
from modia_py.arrays.index1 import Slot
from modia_py.arrays.transform import transform
from modia_py.lowering.index1_functions import index1_functions
from modia_py.lowering.model_structure import model_structure
from modia_py.models.examples import SlidingMass
from modia_py.solvers import Problem, solve

from .test_structure import Pendulum


def trajectory(model, start, times):
    """x at some times, and the names of its slots."""
    flat = elaborate(model)
    structure = model_structure(flat)
    result = transform(
        structure.structure, structure.integers, structure.integer_rows, keep=structure.has_start
    )
    functions = index1_functions(structure, result)
    sizes = result.form.slot_size()
    integrals = np.repeat(np.isin(result.form.kind, (Slot.LAMBDA, Slot.MU)), sizes)
    problem = Problem(
        functions.residual, functions.size, functions.differential_rows, integrals=integrals.tolist()
    )
    p = flat_residual(flat).parameters()
    solution = solve(problem, times[0], times[-1], start, None, p, rtol=1e-6, atol=1e-9, times=times)
    assert str(solution).startswith("SUCCESS")
    return np.asarray(solution.x), result.slot_names()


def test_sliding_mass_is_a_damped_oscillation():
    """s = s0 + exp(-d t / 2m) (...): index 3 as written, two states in the end."""
    times = np.linspace(0, 2, 41)
    x, names = trajectory(SlidingMass(), np.array([0.1, 0.0]), times)
    assert names == ["s", "der(s)"]
    decay, rest = 5.0 / 2, -0.8 * 9.81 / 1000
    omega = np.sqrt(1000 - decay**2)
    wave = np.cos(omega * times) + decay / omega * np.sin(omega * times)
    np.testing.assert_allclose(x[:, 0], rest + (0.1 - rest) * np.exp(-decay * times) * wave, atol=2e-6)


def test_cartesian_pendulum_keeps_its_constraints():
    times = np.linspace(0, 5, 51)
    x, _ = trajectory(Pendulum(), np.array([1.0, 0, 0, 0, 0, 0]), times)
    r, v = x[:, :2], x[:, 2:4]
    assert np.abs((r**2).sum(axis=1) - 1).max() < 1e-8
    assert np.abs((r * v).sum(axis=1)).max() < 1e-7
    energy = (v**2).sum(axis=1) / 2 + 9.81 * r[:, 1]
    assert np.abs(energy - energy[0]).max() < 1e-4
    assert r[:, 1].min() == pytest.approx(-1.0, abs=0.05)

"""Derivatives of runs by Radau IIA: closed forms, differences, the other method; forward = backward."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from modia_py import translate
from modia_py.models.examples import HeatRod
from modia_py.solvers.matrix.jacobian import Pattern
from modia_py.solvers.problem import Problem
from modia_py.solvers.sensitivity.stages import _apart, _together, _tripled

from .test_gradients import Ball, Clutch, Converter, Swing, both, bounced, check


@pytest.fixture(scope="module")
def swing():
    return translate(Swing())


def test_pattern_of_the_stages_is_that_of_the_system():
    def residual(t, x, xdot, p):
        return jnp.stack([xdot[0] - x[1], x[0] * x[1]])

    problem = Problem(residual, 2, 1)
    rows, columns = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    pattern = Pattern(2, rows, columns, np.arange(2))
    tripled, (row, column, entry) = _tripled(problem, pattern)
    expected = np.zeros((6, 6), bool)
    expected[:3] = True  # equations with derivatives know all stages
    for stage in range(3):
        expected[3 + stage, [stage, 3 + stage]] = True
    found = np.zeros((6, 6), bool)
    found[tripled.rows, tripled.columns] = True
    assert np.array_equal(found, expected)
    assert np.array_equal(tripled.rows, 3 * rows[entry] + row)
    assert np.array_equal(tripled.columns, 3 * columns[entry] + column)
    stages = jnp.arange(6.0).reshape(3, 2)
    assert np.array_equal(_apart(_together(stages)), stages)


def test_pendulum_of_index_three(swing):
    theta = {"L": 1.0, "g": 9.81, "x": 0.6}
    outputs, options = ["x", "vy", "tension"], {"params": ["L", "g"], "init": ["x"], "method": "radau"}
    found, _ = check(swing, outputs, [0.0, 0.5, 1.0], theta, step=1e-4, **options)
    other = swing.function(outputs, [0.0, 0.5, 1.0], ["L", "g"], ["x"], rtol=1e-11)
    expected = jax.jacrev(other)(theta)
    for output in outputs:
        for name in theta:
            assert_allclose(found[output][name], expected[output][name], rtol=1e-6, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("all_ways", [False, True])
def test_events_and_second_derivatives(all_ways):
    ball, theta = translate(Ball()), {"e": 0.7, "h": 1.0}
    options = {"params": ["e"], "init": ["h"], "method": "radau", "rtol": 1e-10}
    found, f = both(ball, ["h"], [0.5], theta, ways=1 + all_ways, **options)
    expected = jax.grad(bounced)(theta)
    for name in theta:
        assert_allclose(found["h"][name][0], expected[name], rtol=1e-8)

    def squared(theta):
        return jnp.sum(f(theta)["h"] ** 2)

    expected = jax.hessian(lambda theta: bounced(theta) ** 2)(theta)
    for second in (jax.hessian(squared), *([jax.jacfwd(jax.jacfwd(squared))] if all_ways else [])):
        found = second(theta)
        for one in theta:
            for other in theta:
                assert_allclose(found[one][other], expected[one][other], rtol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["klu", "band", "superlu"])
def test_sparse_systems_of_stages(solver):
    sim, theta = translate(HeatRod(20)), {"C": 1.0, "G": 1.0, "power": 1.0}
    theta = {name: value for name, value in theta.items() if name in sim.flat.by_name}
    options = {"params": list(theta), "rtol": 1e-10, "linear_solver": solver}
    found, _ = both(sim, ["T"], [0.2, 1.0], theta, method="radau", **options)
    expected, _ = both(sim, ["T"], [0.2, 1.0], theta, ways=1, **options)
    for name in theta:
        scale = np.abs(expected["T"][name]).max()
        assert_allclose(found["T"][name], expected["T"][name], atol=1e-6 * scale)


def test_steps_that_do_not_fit_in_memory_are_made_again(swing):
    theta, gradients = {"L": 1.0, "g": 9.81}, []
    for memory in (500e6, 4e5):
        f = swing.function(["x"], [2.0, 6.0], ["L", "g"], rtol=1e-8, memory=memory, method="radau")
        gradients.append(jax.grad(lambda theta, f=f: jnp.sum(f(theta)["x"]))(theta))
        (store,) = {leg.store for leg in f._simulations.run(theta).legs}
        assert (store.reruns > 1) == (memory < 1e6)
    assert gradients[0] == gradients[1]


@pytest.mark.slow
def test_switched_converter():
    theta = {"duty": 0.4, "L": 0.5, "R": 2.0}
    options = {"params": list(theta), "step": 1e-4, "tolerance": 2e-6, "method": "radau"}
    check(translate(Converter()), ["i", "u"], [1.7, 3.3], theta, **options)


@pytest.mark.slow
def test_clutch_with_impulse():
    theta = {"J1": 2.0, "J2": 3.0, "torque": 4.0, "limit": 3.0, "w2": 1.0}
    params = ["J1", "J2", "torque", "limit"]
    options = {"params": params, "init": ["w2"], "step": 1e-4, "method": "radau"}
    check(translate(Clutch()), ["w1", "w2"], [1.0, 2.0, 3.0], theta, **options)

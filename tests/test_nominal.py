"""Small numbers: nominal values, the note where tolerances are too large, coefficients of any scale."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from modia_py.solvers import Problem, Status, solve


def rc(t, x, xdot, p):
    """R i == V - u, C der(u) == i, with the integral of i."""
    resistance, capacity, voltage = p
    return jnp.array([resistance * xdot[1] - (voltage - x[0]), capacity * xdot[0] - xdot[1]])


@pytest.mark.parametrize("linear_solver", ["dense", "klu", "superlu", "band"])
def test_coefficients_of_any_scale(linear_solver):
    problem = Problem(rc, 2, 2, integrals=[False, True])
    for resistance, capacity in ((1.0, 1.0), (1e6, 1e-12), (1e9, 1e-12), (1e3, 1e-15), (1e5, 1e-18)):
        for voltage in (1.0, 1e-12):
            tau = resistance * capacity
            current = voltage / resistance
            found = solve(
                problem, 0.0, 5 * tau, [0.0, 0.0], [current / capacity, current],
                np.array([resistance, capacity, voltage]), atol=1e-9 * voltage,
                linear_solver=linear_solver, max_steps=1000,
            )  # fmt: skip
            assert found.status is Status.SUCCESS, (resistance, capacity, voltage)
            assert found.statistics.rejected_singular == 0
            assert found.statistics.steps < 250
            np.testing.assert_allclose(found.x_last[0], voltage * (1 - np.exp(-5)), rtol=1e-6)


@pytest.mark.parametrize("linear_solver", ["dense", "klu", "superlu", "band"])
def test_a_singular_matrix_is_still_noticed(linear_solver):
    def dependent(t, x, xdot, p):
        return jnp.array([xdot[0] + x[0], 1e-9 * (x[1] + x[2] - x[0]), 3e6 * (x[1] + x[2] - x[0])])

    found = solve(
        Problem(dependent, 3, 1), 0.0, 1.0, [1.0, 0.5, 0.5], [-1.0, -0.5, -0.5], linear_solver=linear_solver
    )
    assert found.status is Status.SINGULAR

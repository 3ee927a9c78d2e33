"""Radau IIA: coefficients, order, linear solvers, output between steps, crossings, failures."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from modia_py.solvers import Problem, Status, make_trajectory, solve
from modia_py.solvers.linear.band import narrow_order
from modia_py.solvers.matrix.jacobian import pattern_of
from modia_py.solvers.radau import coefficients as radau
from modia_py.solvers.radau import step as radau_step

from .linear_solvers import GENERAL
from .problems import further, testset


def run(problem, t1, x0, rtol=1e-7, **options):
    return solve(problem, 0.0, t1, x0, rtol=rtol, atol=1e-3 * rtol, formula="radau", **options)


# Coefficients -------------------------------------------------------------------------------------------


def test_collocation_integrates_polynomials_and_the_last_stage_to_order_five():
    a = np.linalg.inv(radau.B)
    for degree in range(3):
        np.testing.assert_allclose(a @ radau.NODES**degree, radau.NODES ** (degree + 1) / (degree + 1))
    for degree in range(5):
        assert a[2] @ radau.NODES**degree == pytest.approx(1 / (degree + 1), rel=1e-13)


def test_stages_fall_into_a_real_and_a_complex_system():
    of_all = np.stack([radau.OF_REAL, radau.OF_COMPLEX, radau.OF_COMPLEX.conj()], axis=1)
    to_all = np.stack([radau.TO_REAL, radau.TO_COMPLEX, radau.TO_COMPLEX.conj()])
    expected = np.diag([radau.REAL, radau.COMPLEX, np.conj(radau.COMPLEX)])
    np.testing.assert_allclose(to_all @ radau.B @ of_all, expected, atol=1e-13)


def test_the_embedded_formula_has_order_three():
    # x' = t^k: Z from the slopes at the stages, xdot_n = 0^k.
    for k, exact in ((0, True), (1, True), (2, True), (3, False)):
        stages = np.linalg.inv(radau.B) @ radau.NODES**k
        error = (1.0 if k == 0 else 0.0) / radau.REAL + radau.ERROR @ stages
        assert (abs(error) < 1e-13) == exact


def test_differences_of_a_step_are_those_of_its_polynomial():
    def cubic(s):
        return 2 * s - s**2 + 3 * s**3

    differences = radau.TO_DIFFERENCES @ cubic(radau.NODES)
    values = cubic(1.0 - np.arange(4.0))
    expected = [values[0], -np.diff(values)[0], np.diff(values, 2)[0], -np.diff(values, 3)[0]]
    np.testing.assert_allclose(differences[:4], expected, rtol=1e-12)


# Order --------------------------------------------------------------------------------------------------


def index_2(t, x, xdot, p):
    """A point on the unit circle in the form of Gear, Gupta and Leimkuhler, driven: (cos, sin)(sin t)."""
    q, v, force, mu = x[:2], x[2:4], xdot[4], xdot[5]
    along, slope = jnp.stack([-q[1], q[0]]), -jnp.sin(t)
    return jnp.concatenate(
        [
            xdot[:2] - v + 2 * q * mu,
            xdot[2:4] - slope * along + 2 * q * force,
            jnp.stack([q @ q - 1.0, 2 * q @ v]),
        ]
    )


def on_circle(t):
    angle, speed = np.sin(t), np.cos(t)
    q = np.array([np.cos(angle), np.sin(angle)])
    return np.concatenate([q, speed * np.array([-q[1], q[0]])]), 0.5 * speed**2


def test_states_of_differential_equations_converge_with_order_five(monkeypatch):
    monkeypatch.setattr(radau_step, "TOLERANCE", 1e-13)

    def residual(t, x, xdot, p):  # x = sin t, y = 1 + sin(t)^2 / 2
        return jnp.stack([xdot[0] - jnp.cos(t) - x[1] + 1.0 + 0.5 * x[0] ** 2, xdot[1] - x[0] * jnp.cos(t)])

    errors = []
    for steps in (8, 16, 32):
        h = 2.0 / steps
        found = solve(
            Problem(residual, 2, 2), 0.0, 2.0, [0.0, 1.0], rtol=1e-2, atol=1e2, formula="radau",
            initial_step=h, max_step=h,
        )  # fmt: skip
        exact = [np.sin(2.0), 1.0 + 0.5 * np.sin(2.0) ** 2]
        errors.append(np.abs(found.x_last - exact).max())
    assert np.log2(errors[1] / errors[2]) == pytest.approx(5, abs=0.3)


def test_states_converge_with_order_five_and_forces_of_index_2_with_order_three(monkeypatch):
    monkeypatch.setattr(radau_step, "TOLERANCE", 1e-13)  # in units of a tolerance that rejects nothing
    flags = [False] * 4 + [True] * 2
    problem = Problem(index_2, 6, 4, integrals=flags, multipliers=[False] * 5 + [True])
    start, force = on_circle(0.0)
    errors = []
    for steps in (4, 8, 16):
        h = 1.0 / steps
        found = solve(
            problem, 0.0, 1.0, np.append(start, [0.0, 0.0]), [*start[2:], -1.0, 0.0, force, 0.0], rtol=1e-2,
            atol=1e2, formula="radau", initial_step=h, max_step=h,
        )  # fmt: skip
        assert found.statistics.steps == steps
        exact, force_at_end = on_circle(1.0)
        errors.append((np.abs(found.x_last[:4] - exact).max(), abs(found.xdot_last[4] - force_at_end)))
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert orders[-1, 0] > 4.6
    assert orders[-1, 1] == pytest.approx(3, abs=0.4)


# Runs ---------------------------------------------------------------------------------------------------

OSCILLATOR = Problem(lambda t, x, xdot, p: jnp.stack([xdot[0] - x[1], xdot[1] + 4.0 * x[0]]), 2, 2)


def test_output_between_steps_is_within_the_tolerance():
    times = np.linspace(0.0, 5.0, 400)
    found = run(OSCILLATOR, 5.0, [1.0, 0.0], rtol=1e-6, times=times)
    assert found.statistics.steps < 100
    assert np.abs(found.x[:, 0] - np.cos(2 * times)).max() < 30 * 1e-6
    assert found.method == "radau IIA of order 5"
    assert set(found.order[1:]) == {5}


def test_a_first_step_over_the_whole_interval_leaves_no_sliver():
    line = Problem(lambda t, x, xdot, p: xdot - 0.2, 1, 1)
    t0 = 1.3742366146523277
    times = t0 + np.array([0.0, 1e-12, 1.0, 5.0])
    found = solve(line, t0, 10.0, [0.015], formula="radau", times=times, initial_step=10.0 - t0)
    assert found.statistics.steps == 1
    np.testing.assert_allclose(found.x[:, 0], 0.015 + 0.2 * (times - t0), rtol=1e-12)


def test_elements_without_memory_are_followed_between_steps():
    def residual(t, x, xdot, p):
        return jnp.stack([xdot[0] + x[0], x[1] - jnp.sin(5.0 * t)])

    problem = Problem(residual, 2, 1, algebraic=[False, True])
    times = np.linspace(0.0, 10.0, 500)
    found = run(problem, 10.0, [1.0, 0.0], rtol=1e-5, times=times)
    assert np.abs(found.x[:, 1] - np.sin(5.0 * times)).max() < 30 * 1e-5


CHAIN = 12


def chain(t, x, xdot, p):
    """Diffusion with a nonlinear source, and an algebraic end."""
    left = jnp.concatenate([jnp.sin(t)[None], x[:-1]])
    right = jnp.concatenate([x[1:], x[-1:]])
    inner = xdot - 50.0 * (left - 2 * x + right) + x**3
    return jnp.append(inner[:-1], x[-1] - 0.5 * x[-2])


@pytest.fixture(scope="module")
def by_dense_elimination():
    return run(Problem(chain, CHAIN, CHAIN - 1), 1.0, np.zeros(CHAIN), linear_solver="dense")


@pytest.mark.parametrize("name", [name for name in GENERAL if name != "dense"])
def test_every_linear_solver_gives_the_same_steps(name, by_dense_elimination):
    found = run(Problem(chain, CHAIN, CHAIN - 1), 1.0, np.zeros(CHAIN), linear_solver=name)
    assert found.status == Status.SUCCESS, found.message
    assert found.statistics.steps == by_dense_elimination.statistics.steps
    np.testing.assert_allclose(found.x_last, by_dense_elimination.x_last, rtol=1e-9)
    assert name in found.linear_solver
    assert "complex matrix" in found.linear_solver


def test_runs_are_repeated_to_the_last_bit():
    first, second = (run(OSCILLATOR, 2.0, [1.0, 0.0]) for _ in range(2))
    assert np.array_equal(first.x, second.x)
    assert np.array_equal(first.t, second.t)


PUBLISHED = [testset.robertson(), testset.jay(), testset.pendulum()]


@pytest.mark.parametrize("case", PUBLISHED, ids=lambda case: case.name)
def test_published_problems(case):
    solution = solve(
        case.problem, case.t0, case.t1, case.x0, None, None, rtol=1e-7, atol=case.atol, formula="radau"
    )
    assert solution.status == Status.SUCCESS, solution.message
    found = np.asarray(case.listed(solution.x_last, solution.xdot_last))[: case.states]
    reference = np.asarray(case.reference)[: case.states]
    tolerance = 1e-7 * np.abs(reference) + np.resize(case.atol, len(case.reference))[: case.states]
    assert np.max(np.abs(found - reference) / tolerance) <= 30
    assert solution.statistics.rejected < solution.statistics.steps / 10


def test_bounces_are_located_and_full_order_comes_back():
    ball = Problem(
        lambda t, x, xdot, p: jnp.stack([xdot[0] - x[1], xdot[1] + 10.0]), 2, 2,
        crossings=lambda t, x, xdot, p: x[:1], directions=[-1],
    )  # fmt: skip
    found = run(ball, 2.4, [5.0, 0.0], on_crossing=lambda at, x, xdot: (np.array([0.0, -0.5 * x[1]]), None))
    assert [at.time for at in found.crossings] == pytest.approx([1.0, 2.0], rel=1e-9)
    assert found.statistics.steps < 40


# What cannot be -----------------------------------------------------------------------------------------


def test_what_has_no_end_fails_with_advice():
    explosion = Problem(lambda t, x, xdot, p: xdot - x**2, 1, 1)
    found = run(explosion, 2.0, [1.0])
    assert found.status in (Status.ERROR_TEST, Status.NEWTON, Status.NON_FINITE)
    assert found.status.advice in found.message
    assert found.t_last == pytest.approx(1.0, abs=1e-4)


def test_steps_run_out_and_matrices_are_singular():
    assert run(OSCILLATOR, 5.0, [1.0, 0.0], max_steps=3).status == Status.MAX_STEPS
    twice = Problem(lambda t, x, xdot, p: jnp.stack([xdot[0] + x[1], xdot[0] + x[1]]), 2, 2)
    found = run(twice, 1.0, [1.0, 0.0], xdot0=[0.0, 0.0])
    assert found.status == Status.SINGULAR
    assert "dependent" in found.message


def test_words_that_do_not_go_together_are_errors():
    with pytest.raises(ValueError, match="made in JAX"):
        run(OSCILLATOR, 1.0, [1.0, 0.0], loop="native")
    with pytest.raises(ValueError, match="always has order 5"):
        run(OSCILLATOR, 1.0, [1.0, 0.0], max_order=3)
    with pytest.raises(ValueError, match="There is no formula 'radau'"):
        make_trajectory(OSCILLATOR, None, formula="radau")


def test_pulses_of_algebraic_elements_are_not_stepped_over():
    """A diode that conducts for a part of each period: if no stage meets it, it must be seen from what the
    step before predicted, whether or not the problem says which elements are algebraic."""
    case = further.rectifier()
    for rtol in (1e-5, 3e-7):
        atol = case.atol * rtol / 1e-7
        found = solve(
            case.problem, case.t0, case.t1, case.x0, rtol=rtol, atol=atol, times=[case.t1], formula="radau"
        )
        assert abs(found.x_last[0] - case.reference[0]) < rtol * case.reference[0]


def test_a_band_stays_a_band():
    order = narrow_order(
        pattern_of(further.explicit("b", further.brusselator, 100, 1.0, [], 1.0).problem, None)
    )
    assert (order.lower, order.upper) == (2, 2)
    doubled = order.repeated(2)
    assert (doubled.lower, doubled.upper) == (5, 5)
    assert sorted(doubled.rows) == sorted(doubled.columns) == list(range(200))
    case = further.explicit(
        "brusselator", further.brusselator, 100, 10.0, further.brusselator_start(), 1e-8
    )
    runs = [
        solve(
            case.problem,
            0.0,
            10.0,
            case.x0,
            rtol=1e-6,
            atol=1e-7,
            times=[10.0],
            formula="radau",
            linear_solver=solver,
        )
        for solver in ("band", "klu")
    ]
    assert runs[0].statistics.steps == pytest.approx(runs[1].statistics.steps, abs=3)
    for found in runs:
        error = np.abs(found.x_last - case.reference) / (1e-6 * np.abs(case.reference) + 1e-7)
        assert error.max() < 1

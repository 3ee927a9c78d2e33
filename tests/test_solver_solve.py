"""Runs: accuracy, output, work, chunks, interrupts, crossings, batches, export."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from modia_py.solvers import (
    Problem,
    Refusal,
    Restart,
    Status,
    Stop,
    consistent_xdot,
    impulse_start,
    make_trajectory,
    solve,
)

from .problems import further, testset

OSCILLATOR = Problem(lambda t, x, xdot, p: jnp.stack([xdot[0] - x[1], xdot[1] + p * x[0]]), 2, 2)


SMALL = 6
"""Unknowns of published problems that both loops solve."""


def run_case(case, rtol=1e-7, loop="auto"):
    x, steps, factorizations = case.x0, 0, 0
    atol = np.asarray(case.atol) * rtol / 1e-7
    solution = None
    for start, end in case.pieces():
        p = case.parameters(start, end)
        if solution is not None:
            x = impulse_start(case.problem, start, x, p, solution.xdot_last).x
        solution = solve(case.problem, start, end, x, None, p, rtol=rtol, atol=atol, times=[end], loop=loop)
        assert solution.status == Status.SUCCESS, solution.message
        x = solution.x_last
        steps += solution.statistics.steps
        factorizations += solution.statistics.factorizations
    xdot = consistent_xdot(case.problem, end, x, p, solution.xdot_last).xdot
    found = np.asarray(case.listed(x, xdot))
    off = np.abs(found - case.reference)
    digits = -np.log10(np.max(off / np.maximum(np.abs(case.reference), case.floor)) + 1e-16)
    tolerance = rtol * np.abs(case.reference) + np.resize(atol, len(case.reference))
    return digits, np.max((off / tolerance)[: case.states]), steps, factorizations


@pytest.mark.parametrize("case", testset.all_cases(), ids=lambda case: case.name)
def test_published_problems_to_five_digits(case, loop):
    if loop == "jax" and case.problem.size > SMALL:
        pytest.skip("takes long to compile")
    digits, error, steps, factorizations = run_case(case, loop=loop)
    assert digits >= 5
    assert error <= 30
    assert factorizations < max(60, steps / 3)


@pytest.mark.slow
@pytest.mark.parametrize("case", testset.all_cases(), ids=lambda case: case.name)
def test_errors_are_in_proportion_to_the_tolerance(case):
    for rtol in (1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-9):
        assert run_case(case, rtol)[1] <= 30


@pytest.mark.parametrize("case", further.all_cases(), ids=lambda case: case.name)
def test_problems_on_which_nothing_was_tuned(case):
    """A hundred periods of an oscillator add up more than others."""
    for rtol in (1e-4, 1e-8):
        assert run_case(case, rtol)[1] <= (100 if case.name == "oscillator" else 10)


@pytest.mark.parametrize(
    "name",
    [
        "robertson",
        "transamp",
        "brenan",
        pytest.param("andrews", marks=pytest.mark.slow),
        "heat_exchanger",
        "water",
    ],
)
def test_tolerances_near_rounding_are_reached(name):
    case = next(case for case in testset.all_cases() if case.name == name)
    _, error, steps, factorizations = run_case(case, 1e-9)
    assert error <= 30
    assert steps < 30_000
    assert factorizations < steps / 3


def test_a_tolerance_below_rounding_is_told(loop):
    """x[1] = 1 + 1e-9 t - x[0] is known to the rounding of one, and not to 1e-20."""

    def residual(t, x, xdot, p):
        return jnp.stack([xdot[0] + x[1], x[0] + x[1] - 1 - 1e-9 * t])

    problem = Problem(residual, 2, 1)
    start = [1.0, 0.0]
    asked = solve(problem, 0.0, 1.0, start, rtol=1e-6, atol=[1e-9, 1e-20], times=[1.0], loop=loop)
    assert asked.status == Status.SUCCESS
    assert asked.statistics.limited_by_rounding > 0
    assert "rounding was larger than the tolerance, the last time that of x[1]" in asked.message
    possible = solve(problem, 0.0, 1.0, start, rtol=1e-6, atol=[1e-9, 1e-12], times=[1.0], loop=loop)
    assert possible.statistics.limited_by_rounding == 0
    assert "rounding" not in possible.message
    for found in (asked, possible):
        np.testing.assert_allclose(found.x_last[1], 1e-9 * np.expm1(1.0), atol=1e-12)


def test_output_at_times_and_at_steps(loop):
    times = np.linspace(0, 2, 2001)
    at_times = solve(OSCILLATOR, 0.0, 2.0, [1.0, 0.0], p=4.0, times=times, loop=loop)
    np.testing.assert_array_equal(at_times.t, times)
    np.testing.assert_allclose(at_times.x[:, 0], np.cos(2 * times), atol=1e-5)
    np.testing.assert_allclose(at_times.xdot[:, 0], -2 * np.sin(2 * times), atol=1e-4)
    at_steps = solve(OSCILLATOR, 0.0, 2.0, [1.0, 0.0], p=4.0, loop=loop)
    assert len(at_steps.t) == at_steps.statistics.steps + 1
    assert at_steps.t[0] == 0
    assert at_steps.t[-1] == 2.0
    np.testing.assert_allclose(at_steps.x[:, 0], np.cos(2 * at_steps.t), atol=1e-5)
    assert sum(at_steps.statistics.order_histogram) == at_steps.statistics.steps


def test_other_parameters_compile_nothing_anew():
    a = solve(OSCILLATOR, 0.0, 1.0, [1.0, 0.0], p=1.0, times=[1.0])
    compiled = list(OSCILLATOR.cache.compiled.values())
    before = compiled[0].run.compiled._cache_size()
    b = solve(OSCILLATOR, 0.0, 1.0, [1.0, 0.0], p=9.0, times=[0.5, 1.0], rtol=1e-4)
    assert compiled[0].run.compiled._cache_size() == before
    assert a.x[-1, 0] == pytest.approx(np.cos(1.0), abs=1e-5)
    assert b.x[-1, 0] == pytest.approx(np.cos(3.0), abs=1e-3)


def test_chunks_are_handed_over_and_not_kept(loop):
    seen = []
    solution = solve(
        OSCILLATOR, 0.0, 50.0, [1.0, 0.0], p=4.0, times=np.linspace(0, 50, 3000),
        on_chunk=lambda t, x, xdot: seen.append(t), loop=loop,
    )  # fmt: skip
    assert len(solution.t) == 0
    assert len(seen) >= 3
    np.testing.assert_array_equal(np.concatenate(seen), np.linspace(0, 50, 3000))


def test_an_interrupt_keeps_what_was_computed(loop):
    def interrupt(t, x, xdot):
        kept.append(t)
        if len(kept) == 2:
            raise KeyboardInterrupt

    kept = []
    solution = solve(OSCILLATOR, 0.0, 1e4, [1.0, 0.0], p=4.0, on_chunk=interrupt, loop=loop)
    assert solution.status == Status.INTERRUPTED
    assert "interrupted" in solution.message
    assert 0 < solution.t_last < 1e4
    assert solution.statistics.steps > 0


def test_progress_is_shown(capsys):
    solve(OSCILLATOR, 0.0, 2.0, [1.0, 0.0], p=4.0, progress=True)
    assert "simulated time" in capsys.readouterr().err


def test_constraints_of_the_pendulum_hold_and_mu_is_small(loop):
    case = testset.pendulum()
    solution = solve(case.problem, 0.0, 2.0, case.x0, rtol=1e-6, loop=loop)
    q, v = solution.x[:, :2], solution.x[:, 2:4]
    assert np.max(np.abs(np.sum(q * q, axis=1) - 1)) < 1e-8
    assert np.max(np.abs(np.sum(q * v, axis=1))) < 1e-7
    assert np.max(np.abs(solution.x[:, 5])) < 1e-5


BALL = Problem(
    lambda t, x, xdot, p: jnp.stack([xdot[0] - x[1], xdot[1] + 9.81]),
    2,
    2,
    crossings=lambda t, x, xdot, p: jnp.stack([x[0], x[0] - 0.5]),
    directions=[-1, -1],
)


def test_the_first_crossing_is_located_and_the_run_goes_on(loop):
    stopped = solve(BALL, 0.0, 3.0, [1.0, 0.0], rtol=1e-8, loop=loop)
    assert stopped.status == Status.CROSSING
    assert stopped.crossings[0].which == (1,)
    assert stopped.t_last == pytest.approx(np.sqrt(1 / 9.81), abs=1e-8)
    assert stopped.t[-1] == stopped.t_last
    assert stopped.x_last[0] == pytest.approx(0.5, abs=1e-12)

    def bounce(crossing, x, xdot):
        return ([0.0, -0.5 * x[1]], None) if 0 in crossing.which else (x, xdot)

    fall = np.sqrt(2 / 9.81)
    bounced = solve(BALL, 0.0, 1.5 * fall, [1.0, 0.0], rtol=1e-8, on_crossing=bounce, loop=loop)
    assert bounced.status == Status.SUCCESS
    assert [crossing.which for crossing in bounced.crossings] == [(1,), (0,)]
    assert bounced.crossings[1].time == pytest.approx(fall, abs=1e-8)
    assert bounced.crossings[1].rising == (False,)
    rise = 0.5 * 9.81 * fall * (0.5 * fall) - 0.5 * 9.81 * (0.5 * fall) ** 2
    assert bounced.x_last[0] == pytest.approx(rise, abs=1e-6)


@pytest.mark.parametrize("direction", [1, -1, 0])
def test_a_crossing_that_goes_and_returns_within_one_step_is_found(direction, loop):
    """x = t, in long steps of a quarter; the pulse stays for 0.09 and ends before the step does."""
    pulse = Problem(
        lambda t, x, xdot, p: xdot - 1.0, 1, 1,
        crossings=lambda t, x, xdot, p: 0.045**2 - (x - 0.875) ** 2, directions=[direction],
    )  # fmt: skip
    found = solve(
        pulse,
        0.0,
        2.0,
        [0.0],
        [1.0],
        initial_step=0.25,
        max_step=0.25,
        on_crossing=lambda c, *x: x,
        loop=loop,
    )
    assert found.status == Status.SUCCESS
    expected = {1: [0.83], -1: [0.92], 0: [0.83, 0.92]}[direction]
    np.testing.assert_allclose([crossing.time for crossing in found.crossings], expected, atol=1e-9)


def test_stops_of_every_kind(loop):
    """x' = p: a stop that changes p, one that jumps in time, one that ends the run, one that refuses."""
    ramp = Problem(lambda t, x, xdot, p: xdot - p, 1, 1)

    def faster(t, x, xdot, p):
        return Restart(x, p=np.asarray(3.0))

    def later(t, x, xdot, p):
        return Restart(x + 10.0, t=2.5)

    stops = [Stop(1.0, "faster", faster), Stop(2.0, "later", later)]
    found = solve(ramp, 0.0, 3.0, [0.0], p=1.0, stops=stops, times=[0.5, 1.0, 1.5, 2.0, 3.0], loop=loop)
    assert found.success
    np.testing.assert_allclose(found.t, [0.5, 1.0, 1.0, 1.5, 2.0, 3.0])
    np.testing.assert_allclose(found.x[:, 0], [0.5, 1.0, 1.0, 2.5, 4.0, 15.5])
    assert found.restarts == (2, 5)
    ended = solve(ramp, 0.0, 3.0, [0.0], p=1.0, stops=[Stop(1.0, "end", lambda *_: None)], loop=loop)
    assert ended.success
    assert ended.t_last == 1.0
    refusal = Refusal(Status.INCONSISTENT, "no way on")
    refused = solve(ramp, 0.0, 3.0, [0.0], p=1.0, stops=[Stop(1.0, "no", lambda *_: refusal)], loop=loop)
    assert refused.refused
    assert (refused.status, refused.message) == (Status.INCONSISTENT, "no way on")


@pytest.mark.parametrize("linear_solver", ["band", "klu"])
def test_large_problems(linear_solver, loop):
    """From 1000 unknowns on other rules hold: a chain of 1200, until its middle crosses a value."""
    n, middle = 1200, 600

    def residual(t, x, xdot, p):
        u = jnp.pad(x, 1)
        return xdot - p * (u[2:] - 2 * x + u[:-2])

    chain = Problem(residual, n, n, crossings=lambda t, x, xdot, p: x[middle : middle + 1] - np.exp(-1.0))
    shape = np.sin(3 * np.pi * np.arange(1, n + 1) / (n + 1))
    rate = 4 * np.sin(3 * np.pi / (2 * n + 2)) ** 2
    x0 = shape / shape[middle]
    found = solve(chain, 0.0, 2.0, x0, p=1 / rate, atol=1e-8, linear_solver=linear_solver, loop=loop)
    assert found.status == Status.CROSSING
    assert found.t_last == pytest.approx(1.0, abs=1e-5)
    np.testing.assert_allclose(found.x_last, x0 * np.exp(-found.t_last), atol=1e-5)
    assert found.statistics.factorizations < found.statistics.steps / 3
    few = solve(chain, 0.0, 2.0, x0, p=1 / rate, max_steps=5, linear_solver=linear_solver, loop=loop)
    assert few.status == Status.MAX_STEPS


def van_der_pol(t, x, xdot, p):
    return jnp.stack([xdot[0] - x[1], xdot[1] - p * ((1 - x[0] ** 2) * x[1]) + x[0]])


def test_lanes_of_a_batch_equal_single_runs():
    problem = Problem(van_der_pol, 2, 2)
    times, x0, xdot0 = jnp.linspace(0.0, 20.0, 5), jnp.array([2.0, 0.0]), jnp.array([0.0, -2.0])
    trajectory = make_trajectory(problem, 1.0, rtol=1e-5)
    single = jax.jit(trajectory)
    p = jnp.array([0.1, 5.0, 50.0])
    batch = jax.jit(jax.vmap(trajectory, (None, None, None, 0)))(times, x0, xdot0, p)
    assert len(set(np.asarray(batch.counters.steps).tolist())) == 3
    for lane in range(3):
        alone = single(times, x0, xdot0, p[lane])
        assert alone.status == Status.SUCCESS == batch.status[lane]
        assert alone.counters.steps == batch.counters.steps[lane]
        np.testing.assert_allclose(batch.x[lane], alone.x, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(batch.xdot[lane], alone.xdot, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_lanes_may_differ_in_start_values_and_in_parts_of_the_parameters():
    problem = Problem(lambda t, x, xdot, p: xdot + p["rate"] * x - p["feed"], 2, 2)
    p = {"rate": jnp.array([1.0, 20.0]), "feed": jnp.asarray(0.5)}
    trajectory = make_trajectory(problem, {"rate": 1.0, "feed": 0.5})
    times, x0 = jnp.linspace(0.0, 1.0, 4), jnp.array([[1.0, 2.0], [3.0, 4.0]])
    batch = jax.vmap(trajectory, (None, 0, 0, {"rate": 0, "feed": None}))(times, x0, 0 * x0, p)
    for lane in range(2):
        rate, still = p["rate"][lane], 0.5 / p["rate"][lane]
        exact = still + (x0[lane] - still) * np.exp(-rate * times[:, None])
        np.testing.assert_allclose(batch.x[lane], exact, atol=1e-5)
    every_pair = jax.vmap(
        jax.vmap(trajectory, (None, 0, 0, None)), (None, None, None, {"rate": 0, "feed": None})
    )
    both = every_pair(times, x0, 0 * x0, p)
    np.testing.assert_array_equal(both.x[0, 0], batch.x[0])
    np.testing.assert_array_equal(both.x[1, 1], batch.x[1])


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_the_dense_path_lowers_for_accelerators(platform):
    problem = Problem(van_der_pol, 2, 2)
    trajectory = make_trajectory(problem, 1.0)
    times, x, p = jnp.linspace(0.0, 1.0, 3), jnp.array([2.0, 0.0]), jnp.ones(4)
    one = jax.export.export(jax.jit(trajectory), platforms=[platform])(times, x, x, 1.0)
    many = jax.vmap(trajectory, (None, None, None, 0))
    batch = jax.export.export(jax.jit(many), platforms=[platform])(times, x, x, p)
    assert one.platforms == batch.platforms == (platform,)

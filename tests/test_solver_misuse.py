"""What a run is given is checked, and what it cannot do is said: no hang, no crash, no silent error."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from modia_py.solvers import Problem, Status, make_trajectory, solve

from .linear_solvers import GENERAL


def decay(n=1, **more):
    return Problem(lambda t, x, xdot, p: xdot + x, n, n, **more)


def ramp(**more):
    """x' = 1 twice, with a crossing at x[0] = 0.5."""
    return Problem(
        lambda t, x, xdot, p: xdot - 1.0, 2, 2, crossings=lambda t, x, xdot, p: x[:1] - 0.5, **more
    )


def oscillator(frequency):
    def residual(t, x, xdot, p):
        return jnp.stack([xdot[0] - frequency * x[1], xdot[1] + frequency * x[0]])

    return Problem(residual, 2, 2)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"times": [0, 0.2, np.nan, 0.5]}, "increasing"),
        ({"formula": "adams"}, "no formula 'adams'; there are ndf, bdf"),
        ({"max_steps": np.inf}, "max_steps = inf is not possible"),
    ],
)
def test_arguments(options, text):
    with pytest.raises(ValueError, match=text):
        solve(decay(), 0.0, 1.0, [1.0], **options)


def test_a_trajectory_of_no_known_formula():
    with pytest.raises(ValueError, match="no formula 'adams'; there are ndf, bdf"):
        make_trajectory(decay(), None, formula="adams")


def test_a_first_step_is_no_longer_than_the_longest(loop):
    found = solve(ramp(), 0.0, 0.4, [0.0, 0.0], initial_step=0.3, max_step=0.1, loop=loop)
    assert found.t[1] <= 0.1


@pytest.mark.parametrize(
    ("rows", "columns", "text"),
    [
        ([0, 5], [0, 1], "rows from 0 to 5; they go from 0 to 1"),
        ([0, 1], [0, -1], "columns from -1 to 0"),
        ([0], [0, 1], r"\(1,\) rows and \(2,\) columns"),
    ],
)
def test_patterns(rows, columns, text):
    with pytest.raises(ValueError, match=text):
        decay(2, pattern=(rows, columns))


@pytest.mark.parametrize("linear_solver", GENERAL)
def test_entries_given_twice_count_once(linear_solver):
    twice = decay(2, pattern=([0, 1, 1], [0, 1, 1]))
    found = solve(twice, 0.0, 1.0, [1.0, 2.0], linear_solver=linear_solver)
    np.testing.assert_allclose(found.x_last, np.exp(-1) * np.array([1, 2]), rtol=1e-6)


def test_a_residual_in_single_precision():
    single = Problem(lambda t, x, xdot, p: (xdot + x).astype(jnp.float32), 50, 50)
    with pytest.raises(ValueError, match="float32; it must return float64"):
        solve(single, 0.0, 1.0, np.ones(50), -np.ones(50))


def test_numbers_of_64_bits_switched_off():
    with jax.enable_x64(False), pytest.raises(ValueError, match="jax_enable_x64"):
        solve(decay(), 0.0, 1.0, [1.0], [-1.0])


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ((np.array([np.nan, 0.0]), None), r"x from on_crossing is not finite at index \[0\]"),
        ((np.zeros(3), None), r"shape \(3,\); the problem has size 2"),
        (np.zeros(2), "pair"),
    ],
)
def test_what_on_crossing_returns(changed, text):
    with pytest.raises(ValueError, match=text):
        solve(ramp(), 0.0, 1.0, np.zeros(2), on_crossing=lambda *_: changed)


def test_on_crossing_may_change_what_it_is_given(loop):
    def back(crossing, x, xdot):
        x[0] -= 0.4
        return x, xdot

    found = solve(ramp(), 0.0, 1.0, np.zeros(2), on_crossing=back, loop=loop)
    assert [crossing.time for crossing in found.crossings] == pytest.approx([0.5, 0.9])
    assert found.x_last == pytest.approx([0.2, 1.0])


def test_an_interrupt_at_a_crossing_keeps_what_was_computed(loop):
    def stop(*_):
        raise KeyboardInterrupt

    found = solve(ramp(), 0.0, 1.0, np.zeros(2), on_crossing=stop, loop=loop)
    assert found.status == Status.INTERRUPTED
    assert found.t[-1] == pytest.approx(0.5)


def test_a_run_inside_of_the_first_chunk_of_another():
    """Output at steps: the first row is handed over before the first chunk."""
    problem, rows = decay(100), []

    def inner(t, x, xdot):
        rows.extend(x[:, 0] - np.exp(-t))
        assert solve(problem, 0.0, 5.0, np.full(100, 3.0), times=[5.0]).success

    assert solve(problem, 0.0, 1.0, np.ones(100), linear_solver="band", on_chunk=inner).success
    assert np.abs(rows).max() < 1e-6


@pytest.mark.parametrize("frequency", [1.0, 100.0, 1000.0])
def test_late_times_are_resolved_or_it_is_said(frequency, loop):
    """Seconds since 1970 are known to a quarter of a microsecond."""
    start = 1.7e9
    end = start + 10 / frequency
    found = solve(oscillator(frequency), start, end, [1.0, 0.0], loop=loop)
    phase = frequency * (end - start)
    if found.success:
        np.testing.assert_allclose(found.x_last, [np.cos(phase), -np.sin(phase)], atol=1e-5)
    else:
        assert frequency == 1000.0
        assert "shift the time" in found.message


@pytest.mark.parametrize("atol", [1e-322, 1e-9])
def test_steps_that_are_no_numbers_end_the_run(atol, loop):
    def residual(t, x, xdot, p):
        return xdot + jnp.where(t > 0.5, jnp.nan, x)

    found = solve(Problem(residual, 1, 1), 0.0, 1.0, [0.0], atol=atol, max_steps=5000, loop=loop)
    assert found.status.failed
    assert found.status != Status.MAX_STEPS

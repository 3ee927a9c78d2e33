"""The native loop does what the loop in JAX does: number by number, vector by vector, run by run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modia_py.solvers import Problem, Status, integration, polish, solve
from modia_py.solvers.method.coefficients import DIFFERENCES
from modia_py.solvers.method.controller import (
    IN_JAX,
    MAX_ITERATIONS,
    TOLERANCE,
    Control,
    Outcome,
    StepLimits,
)
from modia_py.solvers.method.formula import NDF
from modia_py.solvers.method.numbers import AT, LIMIT_AT, LIMITS, NUMBERS
from modia_py.solvers.method.polynomial import predict
from modia_py.solvers.method.rounding import no_rounding
from modia_py.solvers.method.settings import Settings
from modia_py.solvers.method.step import neighbouring_errors
from modia_py.solvers.method.table import move
from modia_py.solvers.method.tolerances import (
    beyond_tolerance,
    corrector_weights,
    error_weights,
    slope_weights,
)
from modia_py.solvers.native.attempt import why_not
from modia_py.solvers.xla import register

from .linear_solvers import GENERAL

kernels = pytest.importorskip("modia_py.solvers.native.kernels")
probe = pytest.importorskip("modia_py.solvers.xla.probe")

RTOL, STRICTNESS, H = 1e-5, 60.0, 1 / 128
NOTHING, NO_PLACES = np.zeros(0), np.zeros(0, np.int64)
NO_SLOPES = NOTHING, NO_PLACES, NOTHING, NOTHING, NOTHING


# Decisions ----------------------------------------------------------------------------------------------

positive = st.floats(1e-12, 1e12)
flag = st.booleans()


def as_numpy(values):
    """numpy's truth values: ~True of Python is -2."""
    return tuple(np.bool_(value) if isinstance(value, bool) else value for value in values)


@settings(max_examples=200, deadline=None)
@given(
    st.tuples(st.floats(0, 10), st.floats(1e-9, 1), st.integers(1, 5), st.integers(0, 9), st.integers(0, 3),
              st.integers(0, 50), st.floats(0, 10), st.just(0), st.integers(0, 60), st.floats(0.01, 0.95),
              flag, flag),
    st.tuples(flag, flag, flag, flag, flag, st.integers(1, 4), st.floats(0.01, 0.95), positive, positive,
              positive),
    st.integers(1, 5),
    flag,
)  # fmt: skip
def test_numba_and_jax_decide_alike(position, found, max_order, keeps_pivots):
    now = Control(*as_numpy(position))
    now = now._replace(order=min(now.order, max_order))
    found = Outcome(now.t + now.h, *as_numpy(found))
    limits = StepLimits(10.5, 0.7, 40, max_order)
    traced = IN_JAX.decide(
        Control(*map(jnp.asarray, now)), Outcome(*map(jnp.asarray, found)), limits, np.bool_(keeps_pivots)
    )
    native = kernels._decide(now, found, limits, keeps_pivots)
    for mine, others in zip((*native.next, *native[1:]), (*traced.next, *traced[1:]), strict=True):
        assert float(mine) == pytest.approx(float(others), rel=1e-12)
    work = (
        kernels._work(found, native.accepted),
        IN_JAX.work(Outcome(*map(jnp.asarray, found)), traced.accepted),
    )
    assert [int(mine) for mine in work[0]] == [int(others) for others in work[1]]


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(positive, st.just(np.nan), st.just(np.inf)), positive, st.integers(0, 3),
    st.floats(0.01, 0.95), flag, st.floats(0, 1), flag,
)  # fmt: skip
def test_numba_and_jax_judge_alike(size, before, iteration, rate, strict, rounding, may_stagnate):
    flags = as_numpy((strict, rounding, may_stagnate))
    given_numbers = size, before, iteration, rate, *flags, 0.1, MAX_ITERATIONS, TOLERANCE
    native = kernels.judge(*given_numbers)
    traced = IN_JAX.judge_iteration(*map(jnp.asarray, given_numbers))
    np.testing.assert_allclose(np.array(native, float), np.array([*map(float, traced)]), rtol=1e-12)


# Vectors ------------------------------------------------------------------------------------------------


def vectors(order: int, n: int = 700, h: float = H):
    """A table with decreasing rows, and the numbers of a run at this order, as the kernels want them."""
    random = np.random.default_rng(order)
    table = random.normal(size=(DIFFERENCES, n)) * 0.1 ** np.arange(DIFFERENCES)[:, None]
    atol = 10.0 ** random.uniform(-9, -6, n)
    numbers, limits = np.zeros(len(NUMBERS)), np.zeros(len(LIMITS))
    for name, value in {"h": h, "order": order, "matrix_c": h / NDF.leading[order], "rate": 0.01}.items():
        numbers[getattr(AT, name)] = value
    known = {"t_end": 1e3, "max_step": 1e3, "max_steps": 1e3, "max_order": 5, "rtol": RTOL,
             "strictness": STRICTNESS, "smallest_rate": 0.01}  # fmt: skip
    for name, value in known.items():
        limits[getattr(LIMIT_AT, name)] = value
    limits[LIMIT_AT.leading_0 :][:6] = NDF.leading
    limits[LIMIT_AT.error_constant_0 :] = NDF.error_constants
    return table, atol, numbers, limits


def settings_with(atol, tightness=NOTHING, slope_atol=NOTHING) -> Settings:
    limits = np.zeros(len(LIMITS))
    limits[LIMIT_AT.rtol], limits[LIMIT_AT.strictness] = RTOL, STRICTNESS
    return Settings(jnp.asarray(limits), jnp.asarray(atol), tightness, slope_atol)


def begun(order: int, tightness=NOTHING):
    table, atol, numbers, limits = vectors(order)
    x, slope, w = (np.empty(table.shape[1]) for _ in range(3))
    kernels.predict(table, atol, tightness, numbers, limits, x, slope, w)
    return table, atol, numbers, limits, x, slope, w


def some_tightness(n: int) -> np.ndarray:
    """As if every third element were algebraic."""
    return np.where(np.arange(n) % 3 == 0, 1 / STRICTNESS, 1.0)


@pytest.mark.parametrize("order", [1, 2, 5])
def test_predictions_and_weights(order):
    table, atol, _, _, x, slope, w = begun(order)
    expected = predict(jnp.asarray(table), order, H)
    np.testing.assert_allclose(x, expected.x, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(slope, expected.xdot, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(w, error_weights(jnp.asarray(table[0]), settings_with(atol)), rtol=1e-14)
    tightness = some_tightness(len(w))
    w = begun(order, tightness)[-1]
    expected = error_weights(jnp.asarray(table[0]), settings_with(atol, tightness))
    np.testing.assert_allclose(w, expected, rtol=1e-14)


def test_changes_of_unknowns_that_are_derivatives():
    """A change of an integral by delta is one of the unknown by delta / c."""
    *_, numbers, limits, x, slope, w = begun(2)
    n, random = len(x), np.random.default_rng(5)
    constraints, slopes = 10.0 ** random.uniform(-14, -8, (2, n))
    delta, slope_atol = random.normal(size=n) * 1e-9, 10.0 ** random.uniform(-9, -6, 4)
    places, w[:] = np.array([1, 4, 5, n - 1]), 0.0  # none is tested
    levels = no_rounding(jnp.zeros(n))._replace(of_constraints=constraints, of_slopes=slopes)
    asked, c = settings_with(slopes, NOTHING, slope_atol), numbers[AT.c]
    weights = slope_weights(places, jnp.asarray(slope + delta / c), asked, levels, c)
    kernels.iterate(
        delta, limits, w, NOTHING, places, slope_atol, constraints, slopes, np.empty(n), x, slope, numbers
    )
    expected = np.max(np.abs(delta[places] * weights))
    assert numbers[AT.size] == pytest.approx(expected, rel=1e-12)
    assert numbers[AT.size_of_d] == 0.0


def test_the_corrector_is_stricter_with_algebraic_elements_than_the_error_test():
    """Neither is stricter than rounding allows; what is not tested is left out."""
    n, random = 700, np.random.default_rng(5)
    tightness = some_tightness(n)
    _, atol, numbers, limits, x, slope, w = begun(2, tightness)
    w[5] = 0.0
    constraints, slopes = 10.0 ** random.uniform(-14, -8, (2, n))
    levels = no_rounding(jnp.zeros(n))._replace(of_constraints=constraints, of_slopes=slopes)
    expected = corrector_weights(jnp.asarray(w), settings_with(atol, tightness), levels)
    delta = random.normal(size=n) * 1e-9
    for k in (0, 3, 5, 6, 7):
        one = np.where(np.arange(n) == k, delta, 0.0)
        numbers[AT.iteration] = 0.0
        kernels.iterate(
            one,
            limits,
            w,
            tightness,
            NO_PLACES,
            NOTHING,
            constraints,
            slopes,
            np.empty(n),
            x,
            slope,
            numbers,
        )
        assert numbers[AT.size] == pytest.approx(float(abs(delta[k]) * expected[k]), rel=1e-12)
        assert numbers[AT.size_of_d] == pytest.approx(abs(delta[k]) * w[k], rel=1e-12)
    assert expected[5] == 0.0
    assert np.all(np.asarray(expected) >= w)
    assert np.any(np.asarray(expected) > 50 * w)
    np.testing.assert_allclose(np.asarray(expected)[tightness == 1.0], w[tightness == 1.0])


@pytest.mark.parametrize("order", [1, 3, 5])
@pytest.mark.parametrize(("size", "may_grow"), [(1e-4, True), (1e-4, False), (1e3, True), (np.nan, False)])
def test_the_table_after_an_attempt(order, size, may_grow):
    """Accepted with a growing step, accepted, rejected, not finite."""
    table, atol, numbers, limits, x, slope, w = begun(order)
    n = table.shape[1]
    numbers[AT.equal_steps] = order if may_grow else 0
    delta = size * np.random.default_rng(1).uniform(0.1, 1, n) / w
    d, xdot, before = np.empty(n), np.zeros(n), table.copy()
    kernels.iterate(delta, limits, w, *NO_SLOPES, d, x, slope, numbers)
    expected_xdot = predict(jnp.asarray(before), order, H).xdot + d / numbers[AT.c]
    assert numbers[AT.finite] == np.isfinite(size)
    weights = w.copy()
    kernels.finish(d, limits, atol, NOTHING, table, w, x, slope, xdot, numbers)
    accepted = numbers[AT.accepted] == 1
    assert accepted == (size < 0.01)
    new_order, factor = int(numbers[AT.order]), numbers[AT.h] / H
    assert (factor > 1) == (accepted and may_grow)
    moved = move(
        jnp.asarray(before), jnp.asarray(d), *map(jnp.asarray, (order, accepted, new_order, factor))
    )
    np.testing.assert_allclose(
        table[: new_order + 1], moved[: new_order + 1], rtol=1e-9, atol=1e-13
    )  # rows above mean nothing
    expected = predict(moved, new_order, numbers[AT.h])
    np.testing.assert_allclose(x, expected.x, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(slope, expected.xdot, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(xdot, expected_xdot if accepted else np.zeros(n), rtol=1e-11, atol=1e-11)
    if accepted:
        found = kernels._neighbours(before[order], before[order + 1], d, weights)
        wanted = neighbouring_errors(
            before[order], before[order + 1], d, jnp.asarray(order), weights, NDF
        )  # fmt: skip
        constants = NDF.error_constants[order - 1], NDF.error_constants[min(order + 1, 5)]
        np.testing.assert_allclose(np.multiply(found, constants), wanted, rtol=1e-12)


@pytest.mark.parametrize("some_are_algebraic", [False, True])
def test_weights_where_rounding_matters(some_are_algebraic):
    table, atol, numbers, limits, *_, w = begun(3)
    tightness = some_tightness(len(w)) if some_are_algebraic else NOTHING
    random = np.random.default_rng(4)
    constraints, slopes = 10.0 ** random.uniform(-12, -6, (2, len(w)))
    kernels.weigh(table, atol, tightness, constraints, slopes, limits, w, numbers)
    levels = no_rounding(jnp.zeros(len(w)))._replace(of_constraints=constraints, of_slopes=slopes)
    x, asked = jnp.asarray(table[0]), settings_with(atol, tightness)
    np.testing.assert_allclose(w, error_weights(x, asked, levels), rtol=1e-13)
    excess = np.asarray(beyond_tolerance(x, asked, levels))
    assert numbers[AT.limited_element_now] == np.argmax(excess)
    assert bool(numbers[AT.limited]) == (excess.max() > 1)
    assert numbers[AT.inevitable] == pytest.approx(np.max(constraints * w))


# Runs ---------------------------------------------------------------------------------------------------


def rod(n: int, crossings=None) -> Problem:
    """Nonlinear heat conduction with an algebraic end, index 1."""

    def residual(t, x, xdot, p):
        flow = (1 + p * (x[1:] + x[:-1])) * (x[1:] - x[:-1]) * n
        inner = xdot[1:-1] - (flow[1:] - flow[:-1]) * n
        return jnp.concatenate([(x[0] - jnp.sin(5 * t))[None], inner, (x[-1])[None]])

    flags = np.ones(n, bool)
    flags[[0, -1]] = False
    return Problem(residual, n, flags, crossings=crossings)


def run(problem, **options):
    x0 = np.zeros(problem.size)
    return solve(problem, 0.0, 1.0, x0, p=0.2, atol=1e-8, **options)


@pytest.mark.parametrize("linear_solver", [name for name in GENERAL if name != "dense"])
def test_runs_agree(linear_solver):
    times = np.linspace(0, 1, 21)
    native = run(rod(60), times=times, linear_solver=linear_solver)
    traced = run(rod(60), times=times, linear_solver=linear_solver, loop="jax")
    assert native.loop == "native"
    assert traced.loop.startswith("jax")
    assert native.success
    assert traced.success
    np.testing.assert_allclose(native.x, traced.x, atol=2e-7)
    mine, others = native.statistics, traced.statistics
    assert mine.steps == pytest.approx(others.steps, rel=0.1)
    assert mine.steps == sum(mine.order_histogram)
    assert mine.factorizations == pytest.approx(others.factorizations, rel=0.3)


def test_output_at_steps_and_chunks_of_attempts_change_nothing(loop):
    at_times = run(rod(60), times=[1.0], loop=loop)
    at_steps = run(rod(60), loop=loop)
    assert at_steps.statistics.steps == at_times.statistics.steps == len(at_steps.t) - 1
    np.testing.assert_array_equal(at_steps.x[-1], at_times.x[-1])
    few = run(rod(60), max_steps=30, loop=loop)
    assert few.status == Status.MAX_STEPS
    np.testing.assert_array_equal(few.x, at_steps.x[: len(few.t)])


def test_crossings_are_found(loop):
    def middle(t, x, xdot, p):
        return (x[30] - 0.1)[None]

    found = run(rod(60, middle), loop=loop)
    assert found.status == Status.CROSSING
    assert found.x_last[30] == pytest.approx(0.1, abs=1e-12)
    reference = run(rod(60), times=[found.t_last], loop=loop)
    assert reference.x[0, 30] == pytest.approx(0.1, abs=1e-6)


def test_a_wall_is_a_status_with_what_was_computed_before(loop):
    """dT/dt = T^2 in each cell: infinite at t = 1."""
    problem = Problem(lambda t, x, xdot, p: xdot - x**2, 50, 50)
    found = solve(problem, 0.0, 2.0, np.ones(50), linear_solver="band", loop=loop)
    assert found.status.failed
    assert found.t_last == pytest.approx(1.0, abs=1e-3)
    assert len(found.t) > 10


def test_a_kink_restarts_and_is_passed(loop):
    """An algebraic variable changes branch: x[0] follows |sin|, the others follow it."""

    def residual(t, x, xdot, p):
        return jnp.concatenate([(x[0] - jnp.abs(jnp.sin(6 * t)))[None], xdot[1:] + 50 * (x[1:] - x[:-1])])

    flags = np.ones(50, bool)
    flags[0] = False
    found = solve(Problem(residual, 50, flags), 0.0, 2.0, np.zeros(50), rtol=1e-6, times=[2.0], loop=loop)
    finer = solve(Problem(residual, 50, flags), 0.0, 2.0, np.zeros(50), rtol=1e-9, times=[2.0], loop=loop)
    assert found.success
    np.testing.assert_allclose(found.x, finer.x, atol=1e-4)


@pytest.mark.parametrize("linear_solver", GENERAL)
def test_runs_at_the_same_time_do_not_disturb_each_other(linear_solver, monkeypatch):
    """In threads, and one inside of the other: linear solvers keep factors, and must not mix them up."""
    problem, times = rod(60), np.linspace(0, 1, 21)

    def simulate(p, **options):
        return solve(
            problem, 0.0, 1.0, np.zeros(60), p=p, times=times, linear_solver=linear_solver, **options
        )

    values = [0.01, 0.2, 3.0, 40.0] * 2
    alone = [simulate(p).x for p in values]
    with ThreadPoolExecutor(4) as threads:
        for mine, others in zip(alone, threads.map(simulate, values), strict=True):
            np.testing.assert_array_equal(mine, others.x)

    chunks = []

    def disturb(t, x, xdot):
        chunks.append(x)
        assert simulate(40.0).success

    # Chunks of twenty attempts.
    monkeypatch.setattr(integration, "FIRST_CHUNK", 20 * 60)
    outer = simulate(0.01, on_chunk=disturb)
    assert outer.success
    assert len(chunks) >= 3
    np.testing.assert_allclose(np.concatenate(chunks), alone[0], atol=1e-6)


# Refusal ------------------------------------------------------------------------------------------------


@pytest.fixture
def asked_again():
    """Whether native functions can be used is asked once in a process; here again, and afterwards."""
    for known in (register.why_not, register._unknown_structures):
        known.cache_clear()
    yield
    for known in (register.why_not, register._unknown_structures):
        known.cache_clear()


@pytest.mark.parametrize("name", ["frame", "arguments", "results", "functions", "argument", "result"])
def test_structures_of_another_size_are_refused(name, asked_again, monkeypatch):
    """XLA's structures are compared with what native functions are made for; without these, runs go on."""
    assert why_not() == ""
    register.why_not.cache_clear()
    register._unknown_structures.cache_clear()
    size = probe.EXPECTED[name]
    monkeypatch.setitem(probe.EXPECTED, name, size + 1000)
    assert f"the {name} XLA calls with has" in why_not()
    assert f"and not {size + 1000}" in why_not()


def test_a_refusal_is_told_and_runs_go_on_without_native_functions(asked_again, monkeypatch):
    monkeypatch.setitem(probe.EXPECTED, "argument", 56)
    times = np.linspace(0, 1, 5)
    found = run(rod(60), times=times)
    assert found.success
    reason = (
        "XLA has another interface for foreign functions (the argument XLA calls with has 48 and not 56)"
    )
    assert found.loop == f"jax: there are no native functions here, {reason}"
    assert found.linear_solver == "superlu: 60 unknowns, and no other sparse solver is there"
    polished = polish(rod(60), found.t, found.x, found.xdot, 0.2, rtol=1e-6, atol=1e-8)
    assert polished.settled.all()
    for name in ("band", "klu"):
        with pytest.raises(ValueError, match=f"The linear solver '{name}' needs native functions: XLA has"):
            run(rod(60), linear_solver=name)
    with pytest.raises(ValueError, match="There are no native functions here: XLA has another"):
        run(rod(60), loop="native")
    register.why_not.cache_clear()
    register._unknown_structures.cache_clear()
    monkeypatch.undo()
    native = run(rod(60), times=times)
    assert native.loop == "native"
    np.testing.assert_allclose(found.x, native.x, atol=2e-7)

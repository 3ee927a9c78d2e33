"""Programs that models of one size share: marked arrays are arguments, and nothing is compiled twice."""

from __future__ import annotations

import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

from modia_py import Model, Par, Var, der, reinit, time, translate, when
from modia_py.plan.graph_array import apply
from modia_py.plan.planned_function import is_native, planned
from modia_py.solvers.compile_options import quick_jit
from modia_py.solvers.shared_programs import LONG, SHORTEST, ProgramWithData, as_data, is_data

pytestmark = pytest.mark.skipif(not is_native(), reason="plans are evaluated by XLA itself here")

COMPILED = "/jax/core/compile/backend_compile_duration"
MISSED = "/jax/compilation_cache/cache_misses"


@pytest.mark.parametrize("size", [0, 1, SHORTEST - 1, SHORTEST, 3000])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_marked_arrays(size, dtype):
    array = np.arange(size).astype(dtype)
    data = as_data(array)
    assert data.dtype == dtype
    assert len(data) > size
    np.testing.assert_array_equal(data[:size], array)
    assert is_data(data)
    assert is_data(jnp.asarray(data))
    assert not is_data(array)


def test_other_constants_are_no_data():
    for constant in (
        np.zeros((300, 300)),
        np.zeros(300, np.int32),
        np.zeros(300),
        1.0,
        np.zeros(300, complex),
    ):
        assert not is_data(constant)


def program_of(function):
    """The residual of a plan as a program, and what XLA is given for it."""
    plan = planned(function, (2,))
    program = ProgramWithData(lambda x: plan(x) * 2.0, {})
    x = jnp.array([0.3, 0.7])
    found = program(x)
    return np.asarray(found), program.compiled.lower(program._shared.data, x).as_text()


def test_other_equations_are_the_same_program():
    a, text_a = program_of(lambda x: apply("sin", x) * x)
    b, text_b = program_of(lambda x: apply("exp", -x) + x * 3.25)
    x = np.array([0.3, 0.7])
    np.testing.assert_allclose(a, 2 * np.sin(x) * x, rtol=1e-15)
    np.testing.assert_allclose(b, 2 * (np.exp(-x) + 3.25 * x), rtol=1e-15)
    assert text_a == text_b


def test_transformations_go_through():
    plan = planned(lambda x: apply("sin", x) * x, (2,))
    program = quick_jit(lambda x: plan(x) * 2.0, 0)
    x = jnp.array([0.3, 0.7])
    expected = jax.jacfwd(lambda x: 2.0 * jnp.sin(x) * x)(x)
    np.testing.assert_allclose(jax.jacfwd(program)(x), expected, rtol=1e-14)
    many = jnp.stack([x, x + 1.0])
    np.testing.assert_allclose(jax.vmap(program)(many)[1], program(x + 1.0), rtol=0)


def test_arguments_of_other_shapes():
    data = as_data(np.array([2.0, 3.0]))
    program = quick_jit(lambda x: {"y": x * data[0], "z": None}, 0)
    assert program(1.0)["y"] == 2.0
    np.testing.assert_array_equal(program(np.array([1.0, 2.0]))["y"], [2.0, 4.0])
    assert program(2.0)["y"] == 4.0


class Pair(Model):
    a = Par(1.0)
    x = Var(init=1.0)
    y = Var(init=0.5)


class Swinging(Pair):
    def equations(self):
        return [der(self.x) == -self.a * np.sin(self.y) - self.x, der(self.y) == self.x * 1.25 - self.y**3]


class Decaying(Pair):
    def equations(self):
        return [der(self.x) == self.a * (self.y - self.x), der(self.y) == -self.x - 2.0 * self.y]


def test_models_of_one_size_share_what_is_compiled(counted):
    if jax.config.jax_compilation_cache_dir is None:
        pytest.skip("programs are not kept on disk")
    translate(Swinging()).simulate(1.0, times=11)
    counted.clear()
    found = translate(Decaying()).simulate(1.0, times=11)
    assert "jit(_run)" in counted.names
    assert "jit(_run)" not in counted.missed
    expected = expm(np.array([[-1.0, 1.0], [-1.0, -2.0]])) @ [1.0, 0.5]
    np.testing.assert_allclose([found.final("x"), found.final("y")], expected, rtol=1e-5)


class Ball(Model):
    h = Var(init=1.0)
    v = Var(init=0.0)

    def equations(self):
        pushed = np.where(np.sin(7.0 * time) > 0.5, 0.1, 0.0)
        return [
            der(self.h) == self.v,
            der(self.v) == -9.81 + pushed,
            when(self.h <= 0.0, reinit(self.v, -0.8 * self.v)),
        ]


def test_a_run_with_events_and_stops_compiles_its_loop_once(counted):
    translate(Ball()).simulate(2.0, times=21)
    assert counted.names.count("jit(_run)") == 1


class Counted:
    """Programs that were compiled, or read from disk; and those that were not found there."""

    def __init__(self):
        self.clear()

    def clear(self):
        self.names, self.missed, self._missing = [], [], False

    def duration(self, event, seconds, fun_name="", **_):
        if event == COMPILED:
            self.names.append(fun_name)
            if self._missing:
                self.missed.append(fun_name)
            self._missing = False

    def event(self, name, **_):
        self._missing |= name == MISSED


@pytest.fixture
def counted():
    found = Counted()
    jax.monitoring.register_event_duration_secs_listener(found.duration)
    jax.monitoring.register_event_listener(found.event)
    yield found
    jax.monitoring.unregister_event_duration_listener(found.duration)
    jax.monitoring.unregister_event_listener(found.event)


def test_long_constants_are_no_part_of_a_program():
    places = np.random.default_rng(0).permutation(LONG)
    table = jnp.arange(float(LONG)) ** 2
    program = quick_jit(lambda x: (x * table)[places] + jnp.asarray(np.full(LONG, 0.5)), LONG)
    x = np.linspace(0.0, 1.0, LONG)
    np.testing.assert_array_equal(program(x), (x * np.arange(LONG) ** 2)[places] + 0.5)
    assert len(program.compiled.lower(program._shared.data, jnp.asarray(x)).as_text()) < 5000
    tangent = jax.jvp(program, (x,), (np.ones(LONG),))[1]
    np.testing.assert_array_equal(tangent, (np.arange(LONG) ** 2.0)[places])

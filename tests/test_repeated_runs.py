"""What a run has found is used by the next one only where all that it depends on is the same."""

import gc
import weakref

import jax
import numpy as np
import pytest

from modia_py import Input, Model, Par, Var, der, function, time, translate
from modia_py.models.examples import HeatRod, SlidingMass
from modia_py.program.remembered import digest_of, remembered


class Pulse(Model):
    """x grows from T on, by a rate a."""

    T = Par(1.0)
    a = Par(1.0)
    x0 = Par(0.0)

    def __init__(self, **changes):
        super().__init__(**changes)
        self.x = Var(init=2 * self.x0)

    def equations(self):
        return [der(self.x) == self.a * np.where(time > self.T, 1.0, 0.0)]


class Follower(Model):
    u = Input()
    x = Var(init=0.0)

    def equations(self):
        return [der(self.x) == self.u]


def fresh(model):
    """Translated, without the programs of other tests: translations are shared."""
    sim = translate(model)
    sim.translation.cache.programs.clear()
    return sim


def only_program(sim):
    (program,) = sim.translation.cache.programs.values()
    return program


def test_stops_of_a_run_are_known_by_the_parameters_they_depend_on():
    sim = fresh(Pulse())
    first = sim.simulate(3.0, times=7)
    plans = only_program(sim).cache.run_plans
    assert len(plans) == 1
    again = sim.simulate(3.0, times=7)
    assert len(plans) == 1
    assert np.array_equal(first["x"], again["x"])
    # The rate does not say when; the time does, and so do the ends of the run.
    np.testing.assert_allclose(sim.simulate(3.0, times=7, params={"a": 2.0}).final("x"), 4.0, rtol=1e-9)
    assert len(plans) == 1
    np.testing.assert_allclose(sim.simulate(3.0, times=7, params={"T": 2.5}).final("x"), 0.5, rtol=1e-9)
    assert len(plans) == 2
    np.testing.assert_allclose(sim.simulate(2.0, times=7).final("x"), 1.0, rtol=1e-9)
    assert len(plans) == 3


def test_start_values_computed_from_parameters_follow_them():
    sim = fresh(Pulse())
    for x0 in (1.0, 1.0, 3.0, 1.0):
        assert sim.simulate(0.5, params={"x0": x0})["x"][0] == 2 * x0


@pytest.mark.parametrize(
    "given", [lambda T: lambda t: np.where(t > T, 1.0, 0.0), lambda T: ([0.0, T], [0.0, 1.0], "previous")]
)
def test_inputs_that_change_break_elsewhere(given):
    """Another closure, and another table of the same shape."""
    sim = fresh(Follower())
    for T in (1.0, 2.0, 1.0):
        found = sim.simulate(3.0, inputs={"u": given(T)}, times=4)
        np.testing.assert_allclose(found.final("x"), 3.0 - T, rtol=1e-9)


def test_given_breaks_are_part_of_what_is_remembered():
    sim = fresh(Follower())

    def one(t):
        return 0.0 * t + 1.0

    for T in (1.0, 2.0):
        found = sim.simulate(3.0, inputs={"u": (one, [T])}, times=4)
        np.testing.assert_allclose(found.final("x"), 3.0, rtol=1e-9)
    assert len(only_program(sim).cache.run_plans) == 2


def python_step(level):
    """A function of time that Python computes, from what `level` holds when it is called."""

    @jax.custom_jvp
    def call(t):
        shape = jax.ShapeDtypeStruct(np.shape(t), np.float64)
        return jax.pure_callback(
            lambda t: np.where(np.asarray(t) > level["T"], 1.0, 0.0), shape, t, vmap_method="expand_dims"
        )

    call.defjvp(lambda t, dt: (call(*t), 0.0 * dt[0]))
    return call


def test_nothing_is_remembered_where_python_is_called():
    """The same function object, which returns something else: only calling it again can tell."""
    level = {"T": 1.0}
    step = python_step(level)
    sim = fresh(Follower())
    for T in (1.0, 2.0, 1.0):
        level["T"] = T
        found = sim.simulate(3.0, inputs={"u": step}, times=4)
        np.testing.assert_allclose(found.final("x"), 3.0 - T, rtol=1e-6)
    for program in sim.translation.cache.programs.values():
        assert not program.is_repeatable
        assert not program.cache.run_plans
        assert not program.cache.start_points


def test_nothing_is_remembered_where_an_equation_calls_python():
    level = {"T": 1.0}
    step = function(python_step(level))

    class Stepped(Model):
        x = Var(init=0.0)

        def equations(self):
            return [der(self.x) == step(time)]

    sim = fresh(Stepped())
    for T in (1.0, 2.0):
        level["T"] = T
        np.testing.assert_allclose(sim.simulate(3.0, times=4).final("x"), 3.0 - T, rtol=1e-6)
    assert not only_program(sim).is_repeatable


@pytest.mark.parametrize("model", [HeatRod(30), SlidingMass()])
def test_repeated_runs_are_the_same_to_the_last_bit(model):
    sim = fresh(model)
    first = sim.simulate(1.0, times=50)
    other = sim.simulate(1.0, times=50, params={"d" if isinstance(model, SlidingMass) else "G": 7.0})
    again = sim.simulate(1.0, times=50)
    name = "f" if isinstance(model, SlidingMass) else "Q"
    assert np.array_equal(first[name], again[name])
    assert not np.array_equal(first[name], other[name])


def test_digests_tell_values_shapes_and_types():
    given = [
        np.zeros(2),
        np.zeros((1, 2)),
        np.zeros(2, np.float32),
        np.array([0.0, 1e-300]),
        0.0,
        (0.0, 0.0),
    ]
    assert len({digest_of(each) for each in given}) == len(given)


def test_the_oldest_is_forgotten():
    known = {}
    for k in range(5):
        assert remembered(known, bytes([k]), 3, lambda k=k: k) == k
    assert sorted(known.values()) == [2, 3, 4]
    assert remembered(known, bytes([4]), 3, lambda: 99) == 4


def test_a_result_is_gone_with_its_last_name():
    """Results of long vectors are large: they must not wait for Python's collector."""
    sim = translate(SlidingMass())
    gc.disable()
    try:
        result = sim.simulate(0.1)
        alive = weakref.ref(result)
        del result
        assert alive() is None
    finally:
        gc.enable()

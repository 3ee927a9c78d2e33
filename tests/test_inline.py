"""Inline integration: what is iterated, and that runs are those of the plain method."""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from modia_py import Discrete, Model, Par, Var, assign, der, time, translate, when, where
from modia_py.models import examples, mechanisms, modelica_examples, switched_examples
from modia_py.plan.affine import coefficients, curvature, dependence
from modia_py.plan.discretized import Places, discretize
from modia_py.plan.graph import Graph
from modia_py.plan.pivots import choose_pivots


class Filters(Model):
    """Two linear filters in series."""

    T1, T2 = Par(0.5, nonzero=True), Par(0.2, nonzero=True)
    x1, x2 = Var(init=0.0), Var(init=0.0)

    def equations(self):
        x1, x2 = self.x1, self.x2
        return [self.T1 * der(x1) + x1 == np.sin(3 * time), self.T2 * der(x2) + x2 == x1]


class SecondOrder(Model):
    """n bodies with nonlinear forces between all of them."""

    def __init__(self, n=3, **changes):
        super().__init__(**changes)
        self.n = n
        self.q, self.v = Var(n, init=np.linspace(0.1, 0.5, n)), Var(n, init=0.0)

    def equations(self):
        q, v = self.q, self.v
        return [der(q) == v, der(v) == -np.sin(q) - 0.1 * v * np.abs(v) - (q - q.sum() / self.n) ** 3]


class ControlledPlant(Model):
    """A nonlinear plant, and a linear controller of second order (the detailed example of the paper)."""

    w, D, k = Par(5.0), Par(0.7), Par(0.5)
    x, x1, x2 = Var(init=1.0), Var(init=0.0), Var(init=0.0)
    u, y = Var(), Var()

    def equations(self):
        w = self.w
        return [
            der(self.x) == -(self.x**3) + self.u + np.sin(time),
            self.y == np.tanh(self.x),
            der(self.x1) == self.x2,
            der(self.x2) == -2 * w * self.D * self.x2 - w**2 * self.x1 + w**2 * self.y,
            self.u == -self.k * self.x1,
        ]


def both(sim, stop, **options):
    return [
        sim.simulate(stop, method=method, progress=False, **options) for method in ("bdf", "inline-bdf")
    ]


def assert_same(one, other, times=30.0, rtol=1e-6):
    for variable in one.variables:
        first, second = np.asarray(one.final(variable), float), np.asarray(other.final(variable), float)
        tolerance = rtol * np.abs(np.asarray(one[variable], float)).max(initial=0.0) + 1e-3 * rtol
        assert np.abs(first - second).max(initial=0.0) <= times * tolerance, variable
    assert other.stats.steps <= 1.1 * one.stats.steps + 5


def iterated(sim):
    found = sim.translation.discretized
    return found if isinstance(found, str) else len(found.tears)


def test_two_filters_in_series_need_no_iteration():
    sim = translate(Filters())
    one, other = both(sim, 10.0)
    assert iterated(sim) == 0
    assert other.stats.residuals == 0 < one.stats.residuals
    assert_same(one, other)
    assert "2 unknowns in blocks of 2 of 1; none iterated, in 1 stage" in sim.report()


@pytest.mark.parametrize("n", [1, 4])
def test_a_second_order_system_iterates_half_of_its_unknowns(n):
    sim = translate(SecondOrder(n))
    assert iterated(sim) == n
    assert sim.translation.discretized.sizes == (2 * n,)
    assert "iterated: v" in sim.report()
    if n > 1:
        assert_same(*both(sim, 5.0))


@pytest.fixture(scope="module")
def plant():
    return translate(ControlledPlant())


def test_of_a_plant_with_a_linear_controller_only_the_plant_is_iterated(plant):
    one, other = both(plant, 10.0)
    assert iterated(plant) == 1
    assert "1 of 3 unknowns iterated in 1 stage" in other.stats.method
    assert other.stats.residuals < one.stats.residuals
    assert other.stats.corrected_whole == 0
    assert_same(one, other)
    assert "  iterated: x" in plant.report()


@pytest.mark.slow
def test_gradients_of_inlined_runs_backward_and_forward(plant):
    f = plant.function(["x", "x2"], [0.5, 2.0], params=["w", "k"], method="inline-bdf")
    theta = {"w": 5.0, "k": 0.5}
    backward, forward = jax.jacrev(f)(theta), jax.jacfwd(f)(theta)
    plain = jax.jacfwd(plant.function(["x", "x2"], [0.5, 2.0], params=["w", "k"]))(theta)
    for name, own in forward.items():
        for by, values in own.items():
            np.testing.assert_allclose(backward[name][by], values, rtol=1e-8, atol=1e-12)
            np.testing.assert_allclose(plain[name][by], values, rtol=1e-4, atol=1e-6)


EXAMPLES = {
    "ElastoGap": (modelica_examples, 1.0),
}
LONG = {
    "SlidingMass": (examples, 2.0),
    "HeatRod": (examples, 20.0),
    "Ladder": (examples, 1.0),
    "StickSlip": (switched_examples, 2.0),
    "BuckConverter": (switched_examples, 1e-2),
    "EngagingShafts": (switched_examples, 2.0),
    "Thermostat": (switched_examples, 6.0),
    "SampledMotor": (switched_examples, 0.2),
    "CoulombOscillator": (switched_examples, 3.0),
    "CoupledClutches": (modelica_examples, 1.5),
    "Friction": (modelica_examples, 3.0),
    "DoublePendulum": (mechanisms, 5.0),
    "FourBar": (mechanisms, 2.0),
}


@pytest.mark.parametrize(
    ("name", "library", "stop"),
    [
        *((name, *case) for name, case in EXAMPLES.items()),
        *(pytest.param(name, *case, marks=pytest.mark.slow) for name, case in LONG.items()),
    ],
)
def test_examples_end_where_they_end_by_the_plain_method(name, library, stop):
    assert_same(*both(translate(getattr(library, name)()), stop))


def test_a_pivot_that_vanishes_leaves_the_step_to_the_whole_corrector():
    class Switched(Model):
        """u is determined by the one equation, or by the other."""

        a, b = Par(1.0), Par(2.0)
        x, y, z = Var(init=1.0), Var(), Var()

        def equations(self):
            a, b = self.a, self.b
            return [
                der(self.x) == -self.y - self.x**3,
                a * self.y + b * self.z == self.x,
                self.y - self.z == 0.5 * self.x,
            ]

    sim = translate(Switched(), tearing=False)
    for a, b in ((1.0, 2.0), (0.0, 1.0), (1.0, 0.0)):
        one, other = both(sim, 2.0, params={"a": a, "b": b})
        assert_same(one, other)
    y = (1.0 + 0.5 * 2.0) / 3.0
    assert abs(sim.simulate(2.0, method="inline-bdf")["y"][0] - y) < 1e-12


def test_what_cannot_be_inlined_is_integrated_as_before_and_says_so():
    sim = translate(examples.Ladder(1200))
    result = sim.simulate(0.1, method="inline-bdf", progress=False, times=3)
    assert "Nothing was inlined" in " ".join(result.notes)
    assert result.stats.steps == sim.simulate(0.1, progress=False, times=3).stats.steps


def test_where_all_is_iterated_the_plain_corrector_does_it():
    sim = translate(examples.Pendulum())
    one, other = both(sim, 1.0)
    assert "no formula solves for any of the 6 unknowns" in " ".join(other.notes)
    assert other.stats.steps == one.stats.steps


@pytest.mark.parametrize("hinted", [0, 1])
def test_hints_choose_what_is_iterated(hinted):
    graph = Graph()
    t, x, y, *_ = (graph.input(k) for k in range(6))
    make = graph.make
    cubes = make("add", make("mul", x, make("mul", x, x)), make("mul", y, make("mul", y, y)))
    rows = [make("sub", make("add", x, cubes), t), make("sub", make("add", x, y), t)]
    places = Places(1, 3, 5, 2, np.zeros(2, bool))
    samples = np.full((6, 2), 0.5)
    found = discretize(graph, np.array(rows), places, samples, np.ones(2, bool), [hinted])
    assert found.tears == [hinted]


def test_events_and_discrete_values():
    class Relay(Model):
        on = Discrete(1.0)
        x, v = Var(init=0.0), Var(init=0.0)

        def equations(self):
            return [
                der(self.x) == self.v,
                der(self.v) == where(self.x > 0.5, -2.0, 1.0) * self.on - 0.3 * self.v**3,
                when(self.v < -0.4, assign(self.on, -0.5)),
            ]

    one, other = both(translate(Relay()), 8.0)
    assert len(one.events) == len(other.events) > 2
    np.testing.assert_allclose(one.events.time, other.events.time, atol=1e-5)
    assert_same(one, other)


@pytest.fixture(scope="module")
def robot():
    sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
    from mechatronic_robot import MechatronicRobot

    return translate(MechatronicRobot())


def test_of_a_robot_with_its_drive_trains_six_unknowns_are_iterated(robot):
    found = robot.translation.discretized
    assert found.sizes == (66,)
    assert len(found.tears) == 6
    assert "66 unknowns in blocks of 66; 6 iterated, in 1 stage" in robot.report()
    assert "iterated: der(joint0.phi), der(joint1.phi)" in robot.report()


@pytest.mark.slow
def test_a_robot_with_its_drive_trains_moves_as_by_the_plain_method(robot):
    one, other = both(robot, 0.5)
    assert len(one.events) == len(other.events) > 0
    assert_same(one, other)


# The pieces -------------------------------------------------------------------------------------------


def test_affine_nodes_and_their_coefficients():
    graph = Graph()
    t, x, y, p, c = (graph.input(k) for k in range(5))
    make = graph.make
    row = make("add", make("mul", make("sin", t), x), make("div", make("sub", y, make("mul", p, x)), p))
    bits = dependence(graph, {1: 0, 2: 1})
    assert curvature(graph, bits, row, 0b11).is_affine
    found = coefficients(graph, bits, row, 0b11, {1: (0, graph.constant(1.0)), 2: (1, c)})
    assert found[1] == make("div", c, p)
    bent = make("add", row, make("mul", x, y))
    bits = dependence(graph, {1: 0, 2: 1})
    assert curvature(graph, bits, bent, 0b11).bent == 0b11
    assert curvature(graph, bits, bent, 0b01).is_affine  # in one of them it is
    chosen = make("select", make("lt", x, t), y, p)
    bits = dependence(graph, {1: 0, 2: 1})
    assert curvature(graph, bits, chosen, 0b11).bent == 0b11
    assert curvature(graph, bits, chosen, 0b10).is_affine


@pytest.mark.parametrize("seed", range(20))
def test_pivots_are_never_small(seed):
    draw = np.random.default_rng(seed)
    n = int(draw.integers(2, 9))
    matrix = np.where(draw.uniform(size=(n, n)) < 0.5, draw.normal(size=(n, n)), 0.0)
    matrix[0] *= 1e-9  # the size of a row means nothing
    rows = [{k: np.full(2, a) for k, a in enumerate(row) if a} for row in matrix]
    order = choose_pivots(rows, {}, np.ones(2, bool))
    left = matrix.copy()
    for row, unknown in order:
        assert abs(left[row, unknown]) >= 0.99e-7 * abs(matrix[row]).max()
        for other in range(n):
            if other != row and other not in [r for r, _ in order[: order.index((row, unknown))]]:
                left[other] -= left[other, unknown] / left[row, unknown] * left[row]
    assert len({row for row, _ in order}) == len({k for _, k in order}) == len(order)

"""Native code that evaluates plans without XLA: steps, many points, the certificate."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

import modia_py.program.planned_residual as planned_residual
from modia_py import (
    Discrete,
    Input,
    Model,
    Par,
    Var,
    assign,
    der,
    pre,
    reinit,
    time,
    translate,
    when,
    where,
)
from modia_py.models.examples import HeatRod, Pendulum, SlidingMass
from modia_py.plan.planned_function import PlannedFunction, makes_steps
from modia_py.program.program import Arguments
from modia_py.simulation import certificate
from modia_py.solvers.matrix.jacobian import matrix_product, value_and_rate

pytestmark = pytest.mark.skipif(not makes_steps(), reason="there is no native code here")


class Driven(Model):
    """A nonlinear oscillator with an input, and a force that is a function of time."""

    k = Par(3.0)
    u = Input()
    x = Var(init=0.4)
    v = Var(init=0.0)
    f = Var()

    def equations(self):
        return [
            der(self.x) == self.v,
            der(self.v) == -self.k * np.sin(self.x) - 0.1 * self.v + self.f + self.u,
            self.f == np.where(time < 0.5, np.cos(3 * time), 0.0),
        ]


def simulated(model, inputs=None, **options):
    sim = translate(model)
    sim.translation.cache.programs.clear()  # translations are shared, and others have had other programs
    return sim, sim.simulate(2.0, inputs=inputs, times=101, **options)


CASES = [
    (SlidingMass, None, "f"), (Pendulum, None, "force"), (lambda: HeatRod(20), None, "Q"),
    (Driven, {"u": lambda t: np.sin(2 * t)}, "x"), (Driven, {"u": ([0.0, 1.0, 2.0], [0.0, 1.0, 0.0])}, "v"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "inputs", "name"), CASES)
def test_native_steps_give_what_xla_gives(model, inputs, name, monkeypatch):
    """Linear systems are rounded differently, so that steps may differ; the solution may not."""
    sim, native = simulated(model(), inputs, rtol=1e-8)
    assert all(p.problem.planned is not None for p in sim.translation.cache.programs.values())
    monkeypatch.setattr(planned_residual, "makes_steps", lambda: False)
    sim.translation.cache.programs.clear()
    by_xla = sim.simulate(2.0, inputs=inputs, times=101, rtol=1e-8)
    assert all(p.problem.planned is None for p in sim.translation.cache.programs.values())
    scale = np.abs(by_xla[name]).max()
    np.testing.assert_allclose(native[name], by_xla[name], atol=2e-6 * scale)
    assert abs(native.stats.steps - by_xla.stats.steps) <= 0.05 * by_xla.stats.steps


@pytest.mark.parametrize("model", [SlidingMass, Pendulum, lambda: HeatRod(20)])
def test_many_points_are_the_residual_and_its_derivatives(model):
    sim, _ = simulated(model())
    (program,) = sim.translation.cache.programs.values()
    planned, problem, n = program.problem.planned, program.problem, program.functions.size
    arguments = Arguments(sim._values.vector({}), program.signals.data)
    rng = np.random.default_rng(3)
    for count in (1, 7, 70):
        t, c = rng.uniform(0, 1, count), rng.uniform(0.1, 1, count)
        x, xdot, z = rng.normal(size=(count, n)), rng.normal(size=(count, n)), rng.normal(size=(3, n))
        values, rates = planned.values(t, x, xdot, arguments), planned.rates(t, x, xdot, arguments)
        products = planned.products(t, x, xdot, arguments, c, z)
        for k in range(count):
            at = jnp.asarray(t[k]), jnp.asarray(x[k]), jnp.asarray(xdot[k])
            value, rate = value_and_rate(problem, *at, arguments)
            np.testing.assert_allclose(values[k], value, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(rates[k], rate, rtol=1e-10, atol=1e-10)
            for row, direction in zip(products[k], z, strict=True):
                along = matrix_product(problem, *at, arguments, c[k], jnp.asarray(direction))
                scaled = np.where(problem.row_flags, row, row / c[k])
                np.testing.assert_allclose(scaled, along, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("model", "inputs", "name"), CASES)
def test_the_native_certificate_is_that_of_xla(model, inputs, name, monkeypatch):
    sim, found = simulated(model(), inputs)
    monkeypatch.setattr(certificate, "native_certificate", lambda *_: None)
    sim.translation.cache.programs.clear()
    by_xla = sim.simulate(2.0, inputs=inputs, times=101)
    ours, theirs = found.stats.certificate, by_xla.stats.certificate
    assert ours.equation == theirs.equation or abs(ours.violation - theirs.violation) < 1e-6
    np.testing.assert_allclose(ours.violation, theirs.violation, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(found[name], by_xla[name], rtol=1e-13, atol=1e-13)


def test_the_native_certificate_sees_wrong_values(monkeypatch):
    """A value that is off by more than its tolerance, and one that is not a number."""
    sim, _ = simulated(SlidingMass())
    (program,) = sim.translation.cache.programs.values()
    checker = program.cache.checker
    assert checker.native is not None
    spans = []
    real = type(checker).check
    monkeypatch.setattr(
        type(checker),
        "check",
        lambda self, span, *rest: spans.append((span, rest)) or real(self, span, *rest),
    )
    sim.simulate(2.0, times=101)
    (span, (tolerances, keep)) = spans[0]
    monkeypatch.setattr(type(checker), "check", real)
    written = checker.written
    right = checker.check(span, tolerances, keep)
    assert right.violation.max() < 1
    # The values of all variables are computed from x: what is wrong must be wrong in xdot's own equations.
    off = np.array(span.xdot)
    off[50] += 1.0
    wrong = checker.check(replace(span, xdot=off), tolerances, keep)
    assert wrong.violation[50] > 1
    assert (np.delete(wrong.violation, 50) < 1).all()
    assert 0 <= wrong.row[50] < written.rows
    off[50] = np.nan
    assert checker.check(replace(span, xdot=off), tolerances, keep).violation[50] == np.inf


def test_plans_with_pieces_are_left_to_xla():
    sim, _ = simulated(SlidingMass())
    assert isinstance(sim.translation.functions.plans.residual, PlannedFunction)


def test_the_report_says_what_tearing_did():
    for tearing, text in (
        ("auto", "what can be assigned is assigned"),
        (True, "all that can be assigned is"),
        (False, "nothing is assigned, as asked"),
    ):
        assert f"tearing: {text}" in translate(SlidingMass(), tearing=tearing).report()


class Watched(Model):
    """Relations of all shapes: a bounce, a hysteresis, a thin crest, and one that is near zero for long."""

    h = Var(init=1.0)
    v = Var(init=0.0)
    phi = Var(init=0.0)
    x = Var(init=0.0)
    on = Discrete(True)
    crests = Discrete(0.0)
    touched = Discrete(0.0)

    def equations(self):
        crest = np.sin(self.phi) > 0.99999
        return [
            der(self.h) == self.v,
            der(self.v) == -9.81,
            when(self.h < 0, reinit(self.v, -0.8 * pre(self.v))),
            der(self.phi) == 7.0,
            when(crest, assign(self.crests, pre(self.crests) + 1.0)),
            when((self.phi - 3.0) ** 2 < 1e-6, assign(self.touched, pre(self.touched) + 1.0)),
            der(self.x) == where(self.on, 1.0, 0.0) - 0.3 * self.x,
            when([self.x > 0.7, self.x < 0.3], assign(self.on, where(self.x > 0.5, False, True))),
        ]


def test_native_code_finds_the_crossings_that_xla_finds():
    def run(watches):
        sim = translate(Watched())
        sim.translation.cache.programs.clear()
        with pytest.MonkeyPatch.context() as patch:
            if not watches:
                patch.setattr(planned_residual, "PlannedResidual", without_watch)
            result = sim.simulate(2.0, rtol=1e-8)
        (program,) = sim.translation.cache.programs.values()
        assert program.problem.planned.watches == watches
        return result

    own = planned_residual.PlannedResidual

    def without_watch(plan, signals, order, crossings):
        return own(plan, signals, order, None)

    native, by_xla = run(True), run(False)
    assert native["crests"][-1] == 2.0  # phi is 14 at the end
    assert native["touched"][-1] == 1.0
    assert len(native.events) == len(by_xla.events) > 10
    times = [[event.time for event in result.events] for result in (native, by_xla)]
    np.testing.assert_allclose(times[0], times[1], atol=1e-7)
    for name in ("h", "x", "crests"):
        np.testing.assert_allclose(native.final(name), by_xla.final(name), atol=1e-7)
    again = run(True)
    assert again["x"].tobytes() == native["x"].tobytes()

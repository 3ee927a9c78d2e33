"""Inline integration by native code: whole steps from stages that are data, beside the same made by JAX."""

from __future__ import annotations

import numpy as np
import pytest

import modia_py.program.inlined_steps as inlined_steps
from modia_py import Discrete, Input, Model, Par, Var, assign, der, pre, time, translate, when, where
from modia_py.plan.planned_function import makes_steps

pytestmark = pytest.mark.skipif(not makes_steps(), reason="there is no native code here")


class Mixed(Model):
    """Blocks of two sizes that are iterated, batches of them, a filter by formulas; an input, an event."""

    u = Input()
    x, y = Var(3, init=[0.3, -0.2, 0.5]), Var(3)
    q, v = Var(init=0.4), Var(init=0.0)
    f = Var(init=0.0)
    kicks = Discrete(0.0)

    def equations(self):
        x, y, q, v, f = self.x, self.y, self.q, self.v, self.f
        return [
            y + 0.3 * np.tanh(y) == np.cos(x) + self.u,
            der(x) == -x * y - x**3 + np.sin(time),
            der(q) == v,
            der(v) == -np.sin(q) - v * np.abs(v) + where(q > 0.1, -0.5, 0.5) - y.sum(),
            der(f) == (v - f) / 0.05,
            when(f < -0.2, assign(self.kicks, pre(self.kicks) + 1.0)),
        ]


class Vanishing(Model):
    """The pivot for y is a, that for z is b: with a zero one, steps are corrected as a whole; with an
    event."""

    a, b = Par(1.0), Par(2.0)
    x, y, z = Var(init=1.0), Var(), Var()
    on = Discrete(True)

    def equations(self):
        a, b = self.a, self.b
        return [
            der(self.x) == -self.y - self.x**3 + where(self.on, 0.0, 0.8),
            a * self.y + b * self.z == self.x,
            self.y - self.z == 0.5 * self.x,
            when([self.x < 0.5, self.x > 0.7], assign(self.on, where(self.x > 0.6, True, False))),
        ]


class Filters(Model):
    """Nothing is iterated."""

    x1, x2 = Var(init=0.0), Var(init=0.0)

    def equations(self):
        x1, x2 = self.x1, self.x2
        return [0.5 * der(x1) + x1 == np.sin(3 * time), 0.2 * der(x2) + x2 == x1]


def run(sim, by_native, **options):
    sim.translation.cache.programs.clear()
    with pytest.MonkeyPatch.context() as patch:
        if not by_native:
            patch.setattr(inlined_steps, "makes_steps", lambda: False)
        result = sim.simulate(2.0, method="inline-bdf", times=41, rtol=1e-8, **options)
    (program,) = sim.translation.cache.programs.values()
    (compiled,) = program.problem.cache.compiled.values()
    assert compiled.loop.startswith("native" if by_native else "jax")
    return result


CASES = {
    "mixed": (Mixed, {"inputs": {"u": lambda t: np.sin(2 * t)}}, True),
    "vanishing": (Vanishing, {"params": {"a": 0.0, "b": 1.0}}, True),
    "filters": (Filters, {}, False),
}


@pytest.fixture(scope="module")
def translated():
    known = {}

    def sim(name):
        if name not in known:
            known[name] = translate(CASES[name][0](), tearing=False)
        return known[name]

    return sim


@pytest.mark.parametrize(
    "name", ["filters", *(pytest.param(name, marks=pytest.mark.slow) for name in ("mixed", "vanishing"))]
)
def test_native_stages_give_what_those_in_jax_give(translated, name):
    """Sums are rounded differently, so that steps may differ; the solution may not."""
    sim, (_, options, has_events) = translated(name), CASES[name]
    native, in_jax = run(sim, True, **options), run(sim, False, **options)
    for variable in native.variables:
        one, other = np.asarray(native[variable], float), np.asarray(in_jax[variable], float)
        np.testing.assert_allclose(one, other, atol=1e-6 * (1e-3 + np.abs(other).max()), err_msg=variable)
    assert [e.time for e in native.events] == pytest.approx([e.time for e in in_jax.events], abs=1e-7)
    assert (len(native.events) > 0) == has_events
    ours, theirs = native.stats.work, in_jax.stats.work
    for count in ("steps", "residuals", "jacobians", "corrected_whole"):
        one, other = getattr(ours, count), getattr(theirs, count)
        assert abs(one - other) <= 5 + 0.05 * other, count
    assert (ours.corrected_whole > 0) == (name == "vanishing")
    again = run(sim, True, **options)
    assert all(again[v].tobytes() == native[v].tobytes() for v in ("x", "x1") if v in native.variables)

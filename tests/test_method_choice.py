"""What decides between BDF and Radau IIA, and that runs which change their method are right and repeat."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from modia_py import ModelError, translate
from modia_py.models import switched_examples
from modia_py.solvers import Problem, Restart, Stop, method_choice, solve
from modia_py.solvers.method_choice import MethodChoice, Seen

QUIET = {"attempts": 1000, "steps": 990, "low": 20, "events": 1, "work": 4000.0}


def choice():
    return MethodChoice(0.0, lambda formula: None)


def test_nothing_is_tried_without_a_reason():
    chosen = choice()
    assert chosen.look(Seen(1.0, **QUIET)) is None
    assert chosen.look_at == 2000
    assert "nothing spoke" in chosen.describe("ndf")


@pytest.mark.parametrize(
    ("changes", "text"),
    [({"events": 30}, "frequent events"), ({"low": 800}, "81 %"), ({"attempts": 10_000}, "its length")],
)
def test_reasons_for_a_trial(changes, text):
    chosen = choice()
    assert chosen.look(Seen(1.0, **{**QUIET, **changes})) == "radau"
    assert chosen.look_at == {**QUIET, **changes}["attempts"] + method_choice.TRIAL
    assert text in chosen.describe("ndf")


def test_the_better_one_goes_on():
    for work, expected in ((400.0, None), (500.0, "ndf")):
        chosen = choice()
        chosen.look(Seen(1.0, **{**QUIET, "events": 30}))
        after = Seen(1.11, 1150, 1140, 20, 34, 4000.0 + work)
        assert chosen.look(after) == expected
        assert chosen.is_over == (expected is None)
    assert "tried at time 1" in chosen.describe("ndf")
    assert "0.88 times as far" in chosen.describe("ndf")
    for attempts, expected in ((2150, None), (3150, "radau")):  # again when the run is twice as long
        assert chosen.look_at == attempts
        assert chosen.look(Seen(2.0, attempts, attempts - 10, 20, attempts, 2.0 * attempts)) == expected


def test_a_failure_leads_back():
    chosen = choice()
    chosen.look(Seen(1.0, **{**QUIET, "events": 30}))
    assert chosen.give_up(Seen(1.05), "NEWTON") == "ndf"
    assert "NEWTON at time 1.05, and back" in chosen.describe("ndf")


def oscillation(t, x, xdot, p):
    return jnp.stack([xdot[0] - x[1], xdot[1] + x[0]])


OSCILLATOR = Problem(oscillation, 2, 2)


def test_frequent_starts_change_the_method():
    def action(t, x, xdot, p):
        return Restart(x, xdot)

    stops = [Stop(t, "a stop", action) for t in np.arange(0.25, 20.0, 0.25)]
    found = solve(OSCILLATOR, 0.0, 20.0, [0.0, 1.0], rtol=1e-6, formula="auto", times=[20.0], stops=stops)
    assert found.status.name == "SUCCESS"
    assert "radau IIA of order 5 from time" in found.method
    assert "frequent events" in found.method
    assert found.statistics.order_histogram[5] > found.statistics.order_histogram[4] > 0
    np.testing.assert_allclose(found.x[-1, 0], np.sin(20.0), atol=3e-5)


@pytest.mark.parametrize(
    ("spoilt", "text"), [(False, "as far for the same work"), (True, "NEWTON at time")]
)
def test_a_run_changes_its_method(monkeypatch, spoilt, text):
    monkeypatch.setattr(method_choice, "LONG", 1000)
    if spoilt:  # the trial is lost
        monkeypatch.setattr(MethodChoice, "_judge", lambda self, begun, now: self.give_up(now, "NEWTON"))
    found = solve(OSCILLATOR, 0.0, 60.0, [0.0, 1.0], rtol=1e-7, formula="auto", times=[30.0, 60.0])
    assert found.status.name == "SUCCESS"
    assert text in found.method
    assert "radau IIA of order 5 tried at time" in found.method
    assert "its length" in found.method
    np.testing.assert_allclose(found.x[:, 0], np.sin([30.0, 60.0]), atol=1e-5)
    assert found.statistics.order_histogram[1] > 0  # counts go on over the change
    again = solve(OSCILLATOR, 0.0, 60.0, [0.0, 1.0], rtol=1e-7, formula="auto", times=[30.0, 60.0])
    assert np.array_equal(found.x, again.x)


@pytest.mark.slow
def test_a_converter_changes_to_radau():
    sim = translate(switched_examples.BuckConverter())
    bdf, auto, again = (
        sim.simulate(5e-4, method=method, progress=False) for method in ("bdf", "auto", "auto")
    )
    assert "radau IIA of order 5 from time" in auto.stats.method
    assert "frequent events" in auto.stats.method
    assert len(auto.events) == len(bdf.events)
    assert auto.stats.steps < bdf.stats.steps
    for name in auto.variables:
        one, other = np.asarray(bdf.final(name), float), np.asarray(auto.final(name), float)
        scale = np.abs(np.asarray(bdf[name], float)).max(initial=0.0)
        assert np.abs(one - other).max(initial=0.0) <= 30 * (1e-6 * scale + 1e-9), name
        assert np.array_equal(np.asarray(auto[name]), np.asarray(again[name])), name


def test_such_runs_are_not_differentiated():
    with pytest.raises(ModelError, match="method='bdf' or method='radau'"):
        translate(switched_examples.Thermostat()).function(["x"], [1.0], method="auto")

"""A small part of the campaign (`make fuzz`), and its own parts: generators, judge, shrinking, tally."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from modia_py import SimulationError
from tests.fuzz import tally
from tests.fuzz.algebra import Algebra, follow
from tests.fuzz.campaign import SHARES, Campaign, Label, plan
from tests.fuzz.circuits import Circuit, Element, reference, with_starts
from tests.fuzz.generate import VARIANTS, generate
from tests.fuzz.judge import FACTOR, Outcome, Verdict, judge_refusal, judge_success
from tests.fuzz.manufactured import Manufactured
from tests.fuzz.parts import batch_source, single_source
from tests.fuzz.pieces import BLUR, Piece, Solution, line
from tests.fuzz.run import model_class, run_parts
from tests.fuzz.shrink import shrink_part, signature
from tests.fuzz.signals import derivative, random_signal
from tests.fuzz.worker import Worker

TIMES = np.linspace(0.0, 1.0, 11)


def only(verdicts, *outcomes):
    wrong = [verdict for verdict in verdicts if verdict.outcome not in outcomes]
    assert not wrong, "\n".join(f"{verdict.outcome}: {verdict.text}" for verdict in wrong)


def test_random_models_are_right():
    """Two structures of each kind in two variants, as the parts of one model."""
    kinds = ("manufactured", "algebra", "circuit")
    numbers = [(kind, k, variant) for kind in kinds for k in (2, 3) for variant in range(2)]
    labels = [(kind, k * VARIANTS[kind] + variant) for kind, k, variant in numbers]
    only(run_parts([generate(kind, 1, number) for kind, number in labels]), Outcome.RIGHT)


@pytest.mark.parametrize("first", [0, pytest.param(4, marks=pytest.mark.slow)])
def test_random_systems_that_switch_are_right(first):
    """Four structures with events as the parts of one model: some at once, some next to each other."""
    numbers = range(first, first + 4)
    only(run_parts([generate("hybrid", 1, k * VARIANTS["hybrid"]) for k in numbers]), Outcome.RIGHT)


@pytest.mark.parametrize(
    "title",
    ["unbalanced", "a slip of the pen", "leaves its domain", "a misplaced action", "events without end"],
)
def test_models_without_an_answer_are_refused(title):
    parts = (generate("wrong", 7, number) for number in range(999))
    only(run_parts([next(part for part in parts if part.title == title)]), Outcome.REFUSED)


def test_a_root_that_ends_is_an_error():
    only(run_parts([generate("ending", 7, 0)]), Outcome.REFUSED)


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(SHARES))
def test_many_random_models(kind):
    campaign = Campaign(report=lambda text: None)
    campaign.run(plan([kind], 24, 11, alone=0.3), processes=1, minutes=20)
    found = "\n".join(
        f"{failure.labels}: {failure.verdict}\n{failure.source}" for failure in campaign.failures
    )
    assert campaign.bad == 0, found


def test_a_part_is_the_same_every_time_and_variants_share_their_structure():
    for kind in SHARES:
        assert single_source(generate(kind, 3, 5)) == single_source(generate(kind, 3, 5))
    first, second = (generate("manufactured", 3, number) for number in (12, 13))
    assert [group.title for group in first.groups] == [group.title for group in second.groups]
    assert single_source(first) != single_source(second)


def test_the_text_of_a_batch_and_of_each_part_is_a_model():
    parts = [generate("manufactured", 5, number) for number in range(4)]
    assert set(model_class(batch_source(parts), "Batch")().__dict__) >= {"p0", "p1", "p2", "p3"}
    assert model_class(single_source(parts[0]), "Failing").__name__ == "Failing"


def test_signals_know_their_derivatives():
    signal = random_signal(np.random.default_rng(1), np.random.default_rng(2), (3,))
    h = 1e-5
    for order in range(3):
        slope = (signal.at(TIMES + h, order) - signal.at(TIMES - h, order)) / (2 * h)
        np.testing.assert_allclose(slope, signal.at(TIMES, order + 1), atol=1e-7)
    np.testing.assert_allclose(derivative(signal).at(TIMES), signal.at(TIMES, 1))
    np.testing.assert_allclose(eval(signal.text(2, "0.7")), signal.at(0.7, 2), rtol=1e-12)


def test_chosen_solutions_satisfy_their_equations():
    """Independent of modia_py: left and right sides, with the chosen functions on both."""
    for number in range(0, 60, 6):
        part = generate("manufactured", 9, number)
        for group in part.groups:
            for equation in group.equations:
                for term in equation.terms:
                    assert term.uses() <= {variable.name for variable in part.variables()}


def test_continuation_follows_the_root_of_the_guess():
    part = Algebra(
        replace(
            generate("algebra", 1, 0).law,
            left="y**3 + y",
            right="10 * x",
            size=0,
            start=(-2.0,),
            drive="-1.0 + 2.0 * time",
        )
    )
    y = follow(part.law, tuple(TIMES)).y
    np.testing.assert_allclose(y**3 + y, 10 * (-1 + 2 * TIMES), atol=1e-12)
    assert y[-1] == pytest.approx(2.0)


def test_closed_forms_go_on_at_events_where_they_left_off():
    """Independent of modia_py: all pieces meet, but for what is set anew; then momentum is kept."""
    for title, jumps in {
        "a relay with hysteresis": "",
        "pulses": "",
        "dry friction": "",
        "a clutch": "w1 w2 q",  # q is the integral of the torque, with the impulse
    }.items():
        parts = (generate("hybrid", 2, number) for number in range(999))
        part = next(part for part in parts if part.system.title == title)
        solution = part.system.solve(part.copies[0], 1.0)
        assert len(solution.pieces) > 1
        for before, after in itertools.pairwise(solution.pieces):
            border = np.array([after.start])
            for name in {"x", "v", "q", "w1", "w2"} & set(after.functions) - set(jumps.split()):
                assert before.at(name, border) == pytest.approx(after.at(name, border), abs=1e-12)
            if jumps:
                p = part.copies[0]
                momenta = [
                    p["J1"] * piece.at("w1", border) + p["J2"] * piece.at("w2", border)
                    for piece in (before, after)
                ]
                assert momenta[0] == pytest.approx(momenta[1], rel=1e-12)


def test_at_an_event_a_value_of_either_side_is_right_and_elsewhere_only_its_own():
    solution = Solution([Piece(0.0, {"x": line(1.0)}), Piece(0.5, {"x": line(2.0, 1.0)})], 1.0)
    times = np.array([0.4, 0.5, 0.5, 0.6])
    np.testing.assert_allclose(
        solution.nearest("x", times, np.array([2.0, 1.0, 2.0, 1.0])), [1.0, 1.0, 2.0, 2.1]
    )
    late = np.array([0.5 + 5 * BLUR])
    assert solution.nearest("x", late, np.array([1.0]))[0] > 1.9


def test_a_missed_event_is_a_silent_error():
    part = next(
        p for p in (generate("hybrid", 1, k) for k in range(999)) if p.system.title == "between walls"
    )
    part = replace(part, copies=part.copies[:1])
    solution = part.system.solve(part.copies[0], 1.0)
    values = {name: solution.nearest(name, TIMES, np.zeros(len(TIMES))) for name in part.system.compared}
    assert judge_success(part, TIMES, values.get, 1e-6, 1e-9).outcome == Outcome.RIGHT
    fewer = replace(solution, pieces=solution.pieces[:2])
    missed = {name: fewer.nearest(name, TIMES, np.zeros(len(TIMES))) for name in part.system.compared}
    assert judge_success(part, TIMES, missed.get, 1e-5, 1e-8).outcome == Outcome.SILENT


def test_the_tableau_integrates_an_oscillating_circuit_and_a_loop_of_capacitors():
    series = Circuit(
        (Element("L", 1, 0, (0.5,), 1.0, True), Element("C", 1, 0, (0.125,), 0.0, True))
    )  # L i' = u, C u' = -i with period 2 pi/4
    voltages, currents, doubts = reference(series, tuple(TIMES))
    np.testing.assert_allclose(currents[0], np.cos(4 * TIMES[1:]), atol=1e-7)
    np.testing.assert_allclose(voltages[0], -2 * np.sin(4 * TIMES[1:]), atol=1e-7)
    assert max(*doubts[0], *doubts[1]) < 1e-6
    loop = Circuit((Element("V", 1, 0, (0.5, 1.0, 3.0, 0.2)), Element("C", 1, 0, (0.7,))))
    voltages, currents, _ = reference(with_starts(loop), tuple(TIMES))  # index 2: the current is C du/dt
    np.testing.assert_allclose(currents[1], 0.7 * 3 * np.cos(3 * TIMES[1:] + 0.2), atol=1e-6)
    np.testing.assert_allclose(currents[0], -currents[1], atol=1e-9)


def test_the_judge_tells_outcomes_apart():
    part = generate("algebra", 1, 12)
    exact = follow(part.law, tuple(TIMES))
    values = {"x": exact.x, "y": exact.y, "w": exact.slope}
    part = replace(part, fed=False, slope=False)
    assert judge_success(part, TIMES, values.get, 1e-6, 1e-9).outcome == Outcome.RIGHT
    off = {**values, "y": exact.y * (1 + 3 * FACTOR * exact.gain * 1e-6)}
    verdict = judge_success(part, TIMES, off.get, 1e-6, 1e-9)
    assert verdict.outcome == Outcome.SILENT
    assert "y = " in verdict.text
    gone = {**values, "y": np.where(TIMES > 0.5, np.nan, exact.y)}
    assert judge_success(part, TIMES, gone.get, 1e-6, 1e-9).outcome == Outcome.SILENT
    assert judge_refusal(part, SimulationError("stopped")).outcome == Outcome.UNJUSTIFIED
    assert judge_refusal(part, ValueError("no")).outcome == Outcome.CRASH
    ending = generate("ending", 1, 0)
    assert judge_success(ending, TIMES, values.get, 1e-6, 1e-9).outcome == Outcome.SILENT
    assert judge_refusal(ending, SimulationError("stopped")).outcome == Outcome.REFUSED


def test_a_failing_part_is_shrunk_to_what_makes_it_fail():
    """A runner that fails wherever a sine of a variable occurs."""
    part = next(
        part
        for part in (generate("manufactured", 3, 6 * k) for k in range(99))
        if len(part.groups) >= 3 and "np.tanh(self" in single_source(part)
    )

    def run(parts):
        bad = any("np.tanh(self" in single_source(part) for part in parts)
        return [Verdict(Outcome.CRASH if bad else Outcome.RIGHT)] * len(parts)

    smaller, verdict = shrink_part(part, run([part])[0], run)
    assert verdict.outcome == Outcome.CRASH
    assert isinstance(smaller, Manufactured)
    assert len(single_source(smaller)) < len(single_source(part))
    assert not any(run([candidate])[0].bad for candidate in smaller.reductions())


def test_failures_of_one_cause_have_one_signature():
    texts = [
        "SimulationError: stopped at time 0.25 in `a == b`",
        "SimulationError: stopped at time 1e-3 in `c`",
    ]
    assert len({signature(Verdict(Outcome.CRASH, text, np.inf)) for text in texts}) == 1
    assert signature(Verdict(Outcome.HANG, "", np.inf)) != signature(Verdict(Outcome.CRASH, "", np.inf))


def test_the_plan_has_every_model_once():
    jobs = plan(list(SHARES), 200, 4, alone=0.2)
    labels = [label for job in jobs for label in job]
    assert len(labels) == len(set(labels)) == 200
    assert {label.kind for label in labels} == set(SHARES)
    assert all(len(job) == 1 for job in jobs if job[0].kind in ("ending", "wrong"))
    assert Label("circuit", 4, 0) in labels


@pytest.mark.slow
def test_a_worker_survives_what_its_process_does_not():
    worker = Worker()
    try:
        assert worker.run([Fatal()], 60.0)[0].outcome == Outcome.CRASH
        assert worker.run([Fatal(hangs=True)], 5.0)[0].outcome == Outcome.HANG
    finally:
        worker.stop()


class Fatal:
    """A part that ends its process, or never ends."""

    kind, must, stop_time = "wrong", "error", 1.0

    def __init__(self, hangs=False):
        self.hangs = hangs

    def source(self, name):
        import os
        import time

        if self.hangs:
            time.sleep(1000)
        os._exit(3)

    def inputs(self):
        return {}


def test_the_tally_goes_between_its_markers(tmp_path):
    campaign = Campaign()
    campaign.outcomes.update({("circuit", Outcome.RIGHT): 3, ("wrong", Outcome.REFUSED): 2})
    campaign.largest["circuit"] = 0.5
    text = tally.table(campaign, 1, "make fuzz")
    assert "| circuit | 3 | 3 | 0 | 0 | 0 | 0 | 0 | 0.5 |" in text
    assert "| all | 5 | 3 | 2 | 0 | 0 | 0 | 0 |  |" in text
    document = tmp_path / "trust.md"
    document.write_text(f"before\n{tally.BEGIN}\nold\n{tally.END}\nafter\n")
    tally.write(document, text)
    assert document.read_text().startswith("before\n")
    assert document.read_text().endswith("after\n")
    assert "old" not in document.read_text()
    document.write_text("no markers")
    with pytest.raises(SystemExit, match="has no markers"):
        tally.write(document, text)

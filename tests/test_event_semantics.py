"""What docs/events.md says about the start, the end, simultaneous events and `pre`, in one run."""

from __future__ import annotations

import pytest

from modia_py import (
    Discrete,
    Model,
    ModelError,
    Var,
    always,
    assign,
    change,
    der,
    initial,
    pre,
    reinit,
    sample,
    simulate,
    terminal,
    time,
    translate,
    when,
    where,
)


class Everything(Model):
    level = Var(init=2.0, doc="stays above one")
    y = Var(init=0.0, doc="the time")
    z = Var(init=1.0)
    already_true = Discrete(0)
    at_start = Discrete(0)
    ticks = Discrete(0)
    late_change = Discrete(0.0, doc="its first assignments change nothing")
    at_end = Discrete(0)
    changes = Discrete(0)
    two_causes = Discrete(0)
    before = Discrete(0.0)
    cascade = Discrete([0, 0, 0], doc="each element follows the one before, in one event")
    mode = Discrete(0, doc="goes through three transitions at one instant")

    def equations(self):
        was = pre(self.mode)
        return [
            der(self.level) == 0.0,
            der(self.y) == 1.0,
            der(self.z) == 0.0,
            when(self.level > 1, assign(self.already_true, pre(self.already_true) + 1)),
            when([initial(), self.level > 1], assign(self.at_start, pre(self.at_start) + 1)),
            when(sample(0.5), assign(self.ticks, pre(self.ticks) + 1)),
            when(sample(0.5), assign(self.late_change, where(self.y > 0.9, 1.0, 0.0))),
            when(terminal(), assign(self.at_end, 7)),
            when(change(self.ticks), assign(self.changes, pre(self.changes) + 1)),
            when([sample(0.25), self.y > 1.3], assign(self.two_causes, pre(self.two_causes) + 1)),
            when(self.y > 1, reinit(self.z, 10.0)),
            when(self.y >= 1, reinit(self.z, 20.0)),
            when(time > 1.5, assign(self.before, pre(2 * self.z + self.ticks)), reinit(self.z, 3.0)),
            when(self.y > 0.7, assign(self.cascade[0], 1)),
            when(pre(self.cascade[0]) == 1, assign(self.cascade[1], 1)),
            when(pre(self.cascade[1]) == 1, assign(self.cascade[2], self.cascade[0] + self.cascade[1])),
            always(
                assign(
                    self.mode,
                    where(
                        (was == 0) & (self.y > 0.8),
                        1,
                        where((was == 1) & (self.level > 1), 2, where((was == 2) & (self.y > 0.8), 3, was)),
                    ),
                )
            ),
        ]


@pytest.fixture(scope="module")
def result():
    return simulate(Everything(), 2.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("already_true", 0),  # true at the start: it never becomes true
        ("at_start", 1),
        ("ticks", 5),  # 0, 0.5, 1, 1.5, 2
        ("late_change", 1.0),
        ("at_end", 7),
        ("changes", 5),
        ("two_causes", 10),  # nine ticks, and once at 1.3
        ("z", 3.0),
        ("before", 43.0),  # the later reinit has set z to 20; three ticks before the one at this instant
        ("mode", 3),
    ],
)
def test_final_values(result, name, value):
    assert result.final(name) == value


def test_start_values_of_discrete_variables():
    sim = translate(Everything(ticks=10))
    result = sim.simulate(0.6, init={"changes": 100, "y": 0.1}, params={"two_causes": 1000})
    assert result.final("ticks") == 12
    assert result.final("changes") == 102
    assert result.final("two_causes") == 1003
    assert result.final("y") == pytest.approx(0.7)
    with pytest.raises(ModelError, match="changes is an integer"):
        sim.simulate(0.6, init={"changes": 0.5})


def test_passes_of_one_event(result):
    assert result.final("cascade").tolist() == [1, 1, 2]
    changed = result.time[1:][(result["cascade"][1:] != result["cascade"][:-1]).any(axis=1)]
    assert changed == pytest.approx([0.7])


def test_values_on_both_sides_of_an_event(result):
    (jump,) = [k for k in range(len(result.time) - 1) if result["z"][k] == 1.0 != result["z"][k + 1]]
    assert result.time[jump] == result.time[jump + 1] == pytest.approx(1.0)
    assert result["z"][jump + 1] == 20.0

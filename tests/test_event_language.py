"""The language of events: what elaboration makes of it, and what the functions made of that compute."""

from __future__ import annotations

import enum

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from modia_py import (
    Discrete,
    Input,
    Model,
    Par,
    Var,
    always,
    assign,
    change,
    clock,
    der,
    edge,
    elaborate,
    flat_residual,
    function,
    hold,
    initial,
    pre,
    reinit,
    sample,
    sampled,
    terminal,
    terminate,
    time,
    translate,
    when,
    where,
)
from modia_py.expressions.expression import as_operand
from modia_py.expressions.symbol_kinds import DiscreteRole, SymbolKind
from modia_py.expressions.value_types import value_type
from modia_py.language.event_parts import RelationKind
from modia_py.program.fingerprint import fingerprint

from .event_passes import event_model


class Ball(Model):
    """A ball that bounces, and counts."""

    e = Par(0.7)
    h = Var(init=1.0)
    v = Var(init=0.0)
    bounces = Discrete(0)

    def equations(self):
        return [
            der(self.h) == self.v,
            der(self.v) == -9.81,
            when(
                self.h < 0,
                reinit(self.v, -self.e * pre(self.v)),
                assign(self.bounces, pre(self.bounces) + 1),
            ),
        ]


class Words(Model):
    """One of everything."""

    x = Var(init=1.0)
    y = Var(2, init=0.0)
    u = Input()
    k = Par(2.0)
    on = Discrete(False)
    mode = Discrete(1)
    level = Discrete([0.0, 0.0])

    def equations(self):
        return [
            der(self.x) == where((self.x > 1) & ~self.on | (self.mode == 2), -self.x, self.k),
            der(self.y) == where(self.y <= self.level, 1.0, -1.0),
        ]


# What is written is what is printed.


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda m: where(m.x > 0, m.x, 2), "where(x > 0, x, 2)"),
        (lambda m: where((m.x > 0) & (m.mode == 1), 1, 0), "where((x > 0) & (mode == 1), 1, 0)"),
        (lambda m: where((m.mode == 1) | (m.x > 0), 1, 0), "where((mode == 1) | (x > 0), 1, 0)"),
        (lambda m: where(~(m.mode == 1), 1, 0), "where(~(mode == 1), 1, 0)"),
        (lambda m: where(m.mode != 1, 1, 0), "where(mode != 1, 1, 0)"),
        (lambda m: where(m.mode == 1, 1, 0), "where(mode == 1, 1, 0)"),
        (lambda m: where(m.on, m.x, 0), "where(on, x, 0)"),
        (lambda m: pre(m.mode), "pre(mode)"),
        (lambda m: pre(m.x), "pre(x)"),
        (lambda m: edge(m.x > m.k), "edge(x > k)"),
        (lambda m: change(m.mode), "change(mode)"),
        (lambda m: sample(0.1), "sample(0.1)"),
        (lambda m: sample(m.k, 0.5), "sample(k, 0.5)"),
        (lambda m: initial() | terminal(), "initial() | terminal()"),
        (lambda m: assign(m.level[1], m.x), "assign(level[1], x)"),
        (lambda m: reinit(m.y[0], -m.x), "reinit(y[0], -x)"),
        (lambda m: when(m.x > 1, terminate("over")), "when(x > 1, terminate('over'))"),
        (
            lambda m: when([m.x > 1, sample(1)], assign(m.on, ~pre(m.on))),
            "when([x > 1, sample(1)], assign(on, ~pre(on)))",
        ),
    ],
)
def test_events_print_as_they_were_typed(make, text):
    assert str(make(Words())) == text


def test_elaborated_equations_print_as_they_were_typed():
    flat = elaborate(Words())
    assert [str(equation) for equation in flat.equations] == [
        "der(x) == where(((x > 1) & ~on) | (mode == 2), -x, k)",
        "der(y) == where(y <= level, 1, -1)",
    ]
    text = str(flat)
    assert "discrete variables\n  on" in text
    assert "relations that make events\n  x > 1" in text
    listing = str(elaborate(Ball()))
    assert "when(h < 0, reinit(v, -e*pre(v)), assign(bounces, pre(bounces) + 1))" in listing


def test_without_event_it_is_numpys():
    model = Words()
    assert where(model.x > 0, 1.0, 2.0, event=False) is np.where(model.x > 0, 1.0, 2.0)
    assert where(np.array([True, False]), 1.0, 2.0).tolist() == [1.0, 2.0]


# Discrete variables.


class Gear(enum.IntEnum):
    PARK = 0
    DRIVE = 1


def test_the_value_of_a_discrete_says_what_it_is():
    class Kinds(Model):
        x = Var(init=0.0)
        real, whole, flag, gear = Discrete(1.5), Discrete(2), Discrete(True), Discrete(Gear.DRIVE)
        vector = Discrete([1, 2, 3], unit="m", doc="three")
        bound = Discrete(0.0)

        def __init__(self, **changes):
            super().__init__(**changes)
            self.twice = Discrete(2 * self.x0())

        def x0(self):
            self.start = Par(4.0)
            return self.start

        def equations(self):
            return [der(self.x) == self.real + self.vector.sum()]

    flat = elaborate(Kinds())
    dtypes = {d.name: d.symbol.dtype for d in flat.discretes}
    assert dtypes["real"] == "float64"
    assert dtypes["whole"] == dtypes["gear"] == dtypes["vector"] == "int64"
    assert dtypes["flag"] == "bool"
    assert str(flat.by_name["vector"]) == "vector[3] m"
    own = event_model(Kinds(real=7.0, start=5.0))
    vectors = own.vectors(0.0, np.zeros(own.sim.translation.functions.size), own.p)
    assert own.value(vectors, "real") == 7.0
    assert own.value(vectors, "twice") == 10.0
    assert own.value(vectors, "vector").tolist() == [1.0, 2.0, 3.0]
    assert own.value(own.vectors(0.0, [0.0], own.sim._values.vector({"start": 1.0})), "twice") == 2.0
    given = own.sim._values.vector({"whole": 9, "twice": 3.0})
    assert own.value(own.vectors(0.0, [0.0], given), "whole") == 9.0
    assert own.value(own.vectors(0.0, [0.0], given), "twice") == 3.0
    d = np.asarray(own.functions.declared(given))
    assert np.array_equal(np.asarray(given)[-len(d) :], d), "before the first event pre(d) is d"


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda m: m.on, "bool"),
        (lambda m: ~pre(m.on) | (m.x > 1), "bool"),
        (lambda m: where(m.x > 1, m.on, 0), "bool"),
        (lambda m: m.on * pre(m.on), "bool"),
        (lambda m: np.maximum(m.on, m.x > 1), "bool"),
        (lambda m: 1 - m.on, "int64"),
        (lambda m: pre(m.mode) + 1, "int64"),
        (lambda m: (pre(m.mode) + 1) % 4, "int64"),
        (lambda m: where(m.x > 1, 2, m.mode * 3), "int64"),
        (lambda m: np.floor(m.x) // 2 + np.sign(m.x), "int64"),
        (lambda m: sampled(m.mode, clock(1.0)) - hold(m.mode), "int64"),
        (lambda m: np.stack([m.mode, m.on]).sum(), "int64"),
        (lambda m: m.mode / 2, "float64"),
        (lambda m: m.mode + 0.5, "float64"),
        (lambda m: where(m.x > 1, m.x, 2), "float64"),
        (lambda m: m.level[0] + 1, "float64"),
        (lambda m: m.k, "float64"),
        (lambda m: np.sqrt(m.mode), "float64"),
    ],
)
def test_whole_numbers_and_truth_values_are_known_by_their_form(make, kind):
    assert value_type(as_operand(make(Words()))) == kind


def test_the_derivative_of_a_discrete_is_zero():
    model = Words()
    with pytest.warns(UserWarning, match="der\\(mode\\) is zero .* constant between events"):
        assert str(der(model.mode)) == "0"
    assert str(der(model.mode * model.x)) == "mode*der(x)"
    assert str(der(where(model.x > 0, model.x, -model.x))) == "where(x > 0, der(x), -der(x))"
    assert str(der(pre(model.x) * model.x)) == "pre(x)*der(x)"


def test_a_model_without_events_has_the_vectors_it_had():
    class Decay(Model):
        k = Par([1.0, 2.0])
        x = Var(2, init=1.0)

        def equations(self):
            return [der(self.x) == -self.k * np.where(self.x > 0, self.x, 0.0)]

    flat = elaborate(Decay())
    assert flat.discretes == flat.relations == flat.actions == ()
    assert flat.data_size == flat.parameter_size == 2
    assert flat_residual(flat).parameters().tolist() == [1.0, 2.0]


# Relations.


def relations_of(*statements):
    """The relations of a model with these right-hand sides."""

    class Some(Model):
        x = Var(init=0.0)
        z = Var(3, init=0.0)
        k = Par(2.0)
        u = Input()
        d = Discrete(1.0)

        def equations(self):
            made = [statement(self) for statement in statements]
            sides = [side for side in made if not hasattr(side, "actions")]
            whens = [side for side in made if hasattr(side, "actions")]
            total = 0.0
            for side in sides:
                total = total + side
            return [der(self.x) == total, der(self.z) == -self.z, *whens]

    return elaborate(Some())


def test_equal_relations_are_one_symbol():
    flat = relations_of(
        lambda m: where(m.x > m.k, 1, 0),
        lambda m: where((m.x > m.k) & (m.x < 0), 2, 0),
        lambda m: where(m.k < m.x, 1, 0),  # the same difference
        lambda m: when((m.x > m.k) | (m.d > 1), terminate("over")),
    )
    assert [str(entry.part.symbol.written) for entry in flat.relations] == ["x > k", "x < 0"]


@pytest.mark.parametrize(
    ("side", "kind"),
    [
        (lambda m: time > m.k, RelationKind.TIME_AFFINE),
        (lambda m: time * m.d - 3 >= m.k**2, RelationKind.TIME_AFFINE),
        (lambda m: (time - pre(m.x)) / m.k < 1, RelationKind.TIME_AFFINE),
        (lambda m: time % 1.0 < 0.5, RelationKind.TIME),
        (lambda m: np.sin(m.k * time) > 0, RelationKind.TIME),
        (lambda m: time * time > m.k, RelationKind.TIME),
        (lambda m: np.where(time > 1, time, 1.0) > m.k, RelationKind.TIME),
        (lambda m: np.sin(m.d * time) > 0, RelationKind.STATE),
        (lambda m: m.x > time, RelationKind.STATE),
        (lambda m: m.u > 0, RelationKind.STATE),
        (lambda m: der(m.x) > 0, RelationKind.STATE),
    ],
)
def test_kinds_of_relations(side, kind):
    flat = relations_of(lambda m: where(side(m), 1, 0))
    assert [entry.part.kind for entry in flat.relations] == [kind]


@pytest.mark.parametrize(
    "side",
    [lambda m: m.d > 1, lambda m: pre(m.x) > m.k, lambda m: m.d == 2, lambda m: m.d, lambda m: m.k > 1],
)
def test_what_is_constant_between_events_needs_no_symbol(side):
    flat = relations_of(lambda m: where(side(m), 1, 0))
    assert flat.relations == ()


def test_relations_of_numpys_functions_make_no_events():
    flat = relations_of(
        lambda m: (
            np.where(m.x > 1, 1, 0) + np.abs(m.x) + np.maximum(m.x, 0) + np.clip(m.x, 0, 1) + np.sign(m.x)
        )
    )
    assert flat.discretes[0].symbol.role is DiscreteRole.DECLARED
    assert len(flat.discretes) == 1


def test_relations_in_actions_make_no_events_of_their_own():
    flat = relations_of(
        lambda m: when(m.x > 1, assign(m.d, where((m.x > 1) & (m.x > 2), 1.0, where(time > 3, 2.0, 3.0))))
    )
    assert [str(entry.part.symbol.written) for entry in flat.relations] == ["x > 1"]
    assign_action = flat.actions[-1].part
    roles = [leaf.symbol.role for leaf in _leaves(assign_action.value) if leaf.kind is SymbolKind.DISCRETE]
    assert roles == [DiscreteRole.RELATION], "the truth of x > 1 is the one that was located"


def _leaves(expr):
    from modia_py.expressions.expression import leaves_of

    return leaves_of(expr)


def test_pre_of_a_relation_makes_it_one_that_is_watched():
    flat = relations_of(lambda m: when(sample(1), assign(m.d, where(pre(m.x > 2), 1.0, 0.0))))
    assert [str(entry.part.symbol.written) for entry in flat.relations] == ["x > 2"]


def test_arrays_have_a_symbol_for_each_element():
    flat = relations_of(lambda m: where(m.z > m.k, 1.0, 0.0).sum())
    (relation,) = flat.discretes[1:]
    assert relation.shape == (3,)


# Functions.


def test_signs_and_scales_of_relations():
    class Four(Model):
        x = Var(init=0.0)

        def equations(self):
            x = self.x
            sides = [x > 2, x < 2, x >= 2, x <= 2, time > 1, x < time]
            return [der(self.x) == sum(where(side, 1.0, 0.0) for side in sides)]

    own = event_model(Four())
    for value in (1.5, 2.5):
        vectors = own.vectors(0.25, [value], own.p)
        truth = own.truth(vectors)
        texts = [own.functions.relations.text(row) for row in range(len(truth))]
        expected = {
            "x > 2": value > 2, "x < 2": value < 2, "x >= 2": value >= 2, "x <= 2": value <= 2,
            "time > 1": False, "x < time": value < 0.25,
        }  # fmt: skip
        assert dict(zip(texts, truth.tolist(), strict=True)) == expected
        scale = dict(zip(texts, np.asarray(own.functions.scale(vectors)).tolist(), strict=True))
        assert scale["x > 2"] == value + 2
        assert scale["time > 1"] == 1.25
    at_equality = own.truth(own.vectors(0.25, [2.0], own.p))
    assert dict(zip(texts, at_equality.tolist(), strict=True))["x >= 2"]
    assert not dict(zip(texts, at_equality.tolist(), strict=True))["x > 2"]


def test_a_bounce():
    own = event_model(Ball())
    functions = own.functions
    left = own.settled(own.vectors(0.4, [0.1, -4.0], own.p))
    now = own.vectors(0.45, [-1e-9, -4.0], left["p"])
    p = own.one_pass(left, now)
    vectors = {**now, "p": p}
    assert own.value(vectors, "bounces") == 1.0
    values, fires = functions.reinit(vectors)
    assert fires.tolist() == [True]
    assert values.tolist() == pytest.approx([0.7 * 4.0])
    assert functions.reinits.text(0) == "reinit(v, -e*pre(v))"
    settled = own.settled(vectors)
    again = own.one_pass(settled, {**now, "p": settled["p"]})
    assert own.value({**now, "p": again}, "bounces") == 1.0, "the condition stays true: nothing fires"


def test_initial_and_terminate_and_lists_of_conditions():
    class Many(Model):
        x = Var(init=0.0)
        n = Discrete(0)
        ticks = Discrete(0)
        period = Par(0.5)

        def equations(self):
            return [
                der(self.x) == 1.0,
                when([initial(), self.x > 1, sample(self.period)], assign(self.n, pre(self.n) + 1)),
                when(sample(self.period, 0.25), assign(self.ticks, pre(self.ticks) + 1)),
                when(self.x > 5, terminate("far enough")),
            ]

    own = event_model(Many())
    functions = own.functions
    assert set(functions.terminations.values()) == {"far enough"}
    start = own.vectors(0.0, [0.0], own.p)
    assert np.asarray(functions.period(start)).tolist() == [0.5, 0.5]
    assert np.asarray(functions.offset(start)).tolist() == [0.0, 0.25]
    p = own.one_pass(own.settled(start), start, initial=True)
    assert own.value({**start, "p": p}, "n") == 1.0
    left = own.settled(own.vectors(1.0, [0.9], own.p))
    now = own.vectors(1.0, [1.1], left["p"])
    both = own.one_pass(left, now, ticks=[0, 1])
    assert own.value({**now, "p": both}, "n") == 1.0, "two conditions at once fire once"
    assert own.value({**now, "p": both}, "ticks") == 1.0
    (place,) = functions.terminations
    d = functions.declared(own.one_pass(left, own.vectors(1.0, [5.1], left["p"])))
    assert float(d[place]) == 1.0


def test_assignments_are_ordered_by_what_they_read():
    class Chain(Model):
        x = Var(init=0.0)
        a, b, c = Discrete(0.0), Discrete(0.0), Discrete(0.0)

        def equations(self):
            return [
                der(self.x) == 1.0,
                when(self.b > 3, assign(self.c, self.b + self.a)),
                when(self.x > 1, assign(self.b, 2 * self.a), assign(self.a, self.x + 1)),
            ]

    own = event_model(Chain())
    left = own.settled(own.vectors(0.0, [0.0], own.p))
    now = own.vectors(1.0, [1.5], left["p"])
    vectors = {**now, "p": own.one_pass(left, now)}
    assert [own.value(vectors, name).item() for name in "abc"] == [2.5, 5.0, 7.5]
    assert len(own.functions.levels) == 5  # x > 1, a, b, b > 3, c
    jitted = jax.jit(own.functions.assign)({**now, "p": left["p"]})
    assert np.array_equal(jitted, own.functions.assign({**now, "p": left["p"]}))


def test_always_holds_in_every_pass():
    class Relay(Model):
        x = Var(init=18.0)
        on = Discrete(False)
        mode = Discrete(0)
        power = Discrete([0.0, 0.0])

        def equations(self):
            x, on, mode = self.x, self.on, self.mode
            hot = (mode == 1) & (x > 22)
            return [
                der(x) == where(on, 1.0, -1.0),
                always(
                    assign(on, (x < 19) | (pre(on) & (x < 21))),
                    assign(mode, where((pre(mode) == 0) & (x > 20), 1, where(x < 20, 0, pre(mode)))),
                ),
                always(assign(self.power, where(hot, 2.0, where(on, 1.0, 0.0)))),
            ]

    own = event_model(Relay())
    texts = [own.functions.relations.text(row) for row in range(len(own.functions.relations))]
    assert texts == ["x < 19", "x < 21", "x > 20", "x < 20", "x > 22"]
    p, on, mode = own.p, False, 0
    for x in (18.0, 19.5, 20.5, 22.5, 20.5, 19.5, 18.5, 20.5):
        vectors = own.vectors(0.0, [x], p)
        p = own.one_pass(vectors, vectors)
        on = x < 19 or (on and x < 21)
        mode = 1 if mode == 0 and x > 20 else 0 if x < 20 else mode
        found = {**vectors, "p": p}
        assert own.value(found, "on") == on
        assert own.value(found, "mode") == mode
        assert (
            own.value(found, "power").tolist() == [2.0 if mode == 1 and x > 22 else 1.0 if on else 0.0] * 2
        )


def test_what_conditions_choose_is_constant_between_events():
    flat = relations_of(
        lambda m: when(where(m.x > 1, 2, pre(m.d)) != pre(m.d), assign(m.d, 1.0)),
        lambda m: where(where(m.x > 3, 1, 0) > 0.5, 1.0, 2.0),
    )
    assert [str(entry.part.symbol.written) for entry in flat.relations] == ["x > 3", "x > 1"]


def test_a_component_array_does_what_separate_copies_do():
    restitution, count = [0.1, 0.2, 0.3], 3

    class Array(Model):
        ball = Ball.array(count, e=restitution)

        def equations(self):
            return []

    class Separate(Model):
        def __init__(self, **changes):
            super().__init__(**changes)
            self.ball = [Ball(e=e) for e in restitution]

    heights, speeds = [0.5, -1e-9, -2e-9], [1.0, -2.0, -3.0]
    found = []
    for model, names in (
        (Array(), {k: [f"ball.{k}"] for k in ("h", "v", "bounces")}),
        (Separate(), {k: [f"ball[{n}].{k}" for n in range(count)] for k in ("h", "v", "bounces")}),
    ):
        own = event_model(model)

        def state(values, own=own, names=names):
            x = np.zeros(own.sim.translation.functions.size)
            where_is = own.sim.translation.functions.value_map
            for key in ("h", "v"):
                offsets = [own.sim.flat.by_name[name] for name in names[key]]
                elements = np.concatenate([s.offset + np.arange(s.size) for s in offsets])
                x[where_is.place[0][elements]] = values[key]
            return x

        above = state({"h": np.ones(count), "v": speeds})
        left = own.settled(own.vectors(0.0, above, own.p))
        now = own.vectors(0.1, state({"h": heights, "v": speeds}), left["p"])
        vectors = {**now, "p": own.one_pass(left, now)}
        bounces = np.concatenate([own.value(vectors, name).reshape(-1) for name in names["bounces"]])
        values, fires = own.functions.reinit(vectors)
        found.append((bounces.tolist(), np.asarray(values).tolist(), np.asarray(fires).tolist()))
        paths = [own.functions.relations.path(row) for row in range(count)]
        assert paths == [f"ball[{n}]" for n in range(count)]
        assert own.functions.relations.text(2) == "h < 0"
    assert found[0] == found[1]
    assert found[0][0] == [0.0, 1.0, 1.0]
    assert found[0][2] == [False, True, True]


def test_a_parent_watches_the_variables_of_an_array():
    class Court(Model):
        ball = Ball.array(4)
        limit = Par([1.0, 2.0, 3.0, 4.0])
        seen = Discrete(np.zeros(4))
        total = Discrete(0)

        def equations(self):
            return [
                when(self.ball.h > self.limit, assign(self.seen, pre(self.ball.v))),
                when(self.ball[2].h > 10, assign(self.ball_speed(), 1.0)),
                when(np.any(self.ball.bounces >= 2), assign(self.total, self.ball.bounces.sum())),
            ]

        def ball_speed(self):
            return self.marks[1]

        marks = Discrete([0.0, 0.0])

    own = event_model(Court())
    assert own.functions.relations.text(3) == "(ball.h > limit)[3]"
    size = own.sim.translation.functions.size
    place = own.sim.translation.functions.value_map.place[0]
    h, v = (own.sim.flat.by_name[name].offset + np.arange(4) for name in ("ball.h", "ball.v"))
    x = np.zeros(size)
    x[place[v]] = [1.0, 2.0, 3.0, 4.0]
    left = own.settled(own.vectors(0.0, x, own.p))
    x[place[h]] = [0.5, 2.5, 10.5, 3.5]
    now = own.vectors(0.1, x, left["p"])
    vectors = {**now, "p": own.one_pass(left, now)}
    assert own.value(vectors, "seen").tolist() == [0.0, 2.0, 3.0, 0.0]
    assert own.value(vectors, "marks").tolist() == [0.0, 1.0]


def test_equations_see_discrete_values():
    sim = translate(Words())
    own = event_model(Words())
    functions, flat = sim.translation.functions, sim.flat
    lowered = flat_residual(flat)
    rng = np.random.default_rng(3)
    for _ in range(5):
        x, on, mode = rng.normal(1.0, 1.0, 3), rng.integers(0, 2), rng.integers(1, 3)
        level = rng.normal(0.0, 1.0, 2)
        p = own.sim._values.vector({"on": bool(on), "mode": int(mode), "level": level})
        vectors = own.vectors(0.0, x, p)
        now = own.settled(vectors)
        value, y = own.value(now, "x"), own.value(now, "y")
        expected = np.append(
            -value if (value > 1 and not on) or mode == 2 else 2.0, np.where(y <= level, 1.0, -1.0)
        )
        xdot = jnp.zeros(3)
        found = functions.residual(0.0, jnp.asarray(x), xdot, now["p"], now["u"])
        assert sorted(np.abs(np.asarray(found)).tolist()) == pytest.approx(
            sorted(np.abs(expected).tolist())
        )
        v = np.zeros(lowered.unknowns.size)
        v[flat.by_name["x"].offset] = value
        v[flat.by_name["y"].offset : flat.by_name["y"].offset + 2] = y
        residual = lowered.residual(0.0, v, np.zeros(len(v)), now["p"], jnp.zeros(lowered.inputs.size))
        assert np.asarray(residual) == pytest.approx(-expected)


def test_models_that_differ_in_an_event_only_are_translated_anew():
    def model(limit, line):
        class Same(Model):
            x = Var(init=0.0)
            d = Discrete(0.0)

            def equations(self):
                return [
                    der(self.x) == where(self.x > limit, 1.0, 2.0),
                    when(sample(line), assign(self.d, 1.0)),
                    when(self.x > 9, terminate(f"limit {limit}")),
                ]

        return Same()

    keys, alive = zip(
        *(fingerprint(elaborate(model(*own))) for own in ((1.0, 1.0), (2.0, 1.0), (1.0, 2.0), (1.0, 1.0))),
        strict=True,
    )
    assert len(alive) == 4
    assert keys[0] == keys[3]
    assert keys[0] != keys[1]
    assert keys[0] != keys[2]


def test_functions_of_the_user_in_relations_are_renewed():
    factor = [2.0]

    @function
    def scaled(x):
        return factor[0] * x

    class Watched(Model):
        x = Var(init=0.0)
        d = Discrete(0.0)

        def equations(self):
            return [der(self.x) == 1.0, when(scaled(self.x) > 1, assign(self.d, scaled(self.x)))]

    from modia_py.language.function_renewal import functions_of, with_current_functions
    from modia_py.lowering.event_functions import event_functions

    own = event_model(Watched())
    assert own.functions.z(own.vectors(0.0, [3.0], own.p)).tolist() == [5.0]
    factor[0] = 4.0
    flat = with_current_functions(own.sim.flat, functions_of(own.sim.flat))
    own.functions = event_functions(flat, own.sim.translation.functions.value_map)
    assert own.functions.z(own.vectors(0.0, [3.0], own.p)).tolist() == [11.0]
    left = own.settled(own.vectors(0.0, [0.0], own.p))
    now = own.vectors(0.0, [3.0], left["p"])
    assert own.value({**now, "p": own.one_pass(left, now)}, "d") == 12.0

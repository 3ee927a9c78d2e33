"""Declarations, inheritance, overriding, component arrays, lists of components, dependent parameters."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from modia_py import Input, Model, ModelError, Par, Var, der, elaborate, flat_residual, time
from modia_py.models.electrical import Capacitor, Pin, Resistor, TwoPin
from modia_py.models.examples import Ladder, SlidingMass


class Body(Model):
    m = Par(1.0, nonzero=True, unit="kg")
    n = Par([1.0, 0.0])
    r = Var(2, init=0.0)
    v = Var(2)
    energy = Var()

    def equations(self):
        return [
            der(self.r) == self.v,
            self.m * der(self.v) == -self.r + self.n,
            self.energy == self.m * (self.v @ self.v) / 2,
        ]


class Pair(Model):
    k = Par(3.0)
    a = Body(m=2.0)
    b = Body()

    def equations(self):
        return []


def values(model, **changes):
    lowered = flat_residual(elaborate(model))
    p = lowered.parameters(changes)
    named = {q.name: p[q.offset : q.offset + q.size].reshape(q.shape) for q in lowered.flat.parameters}
    return {name: np.asarray(value).tolist() for name, value in named.items()}


def names(model):
    return [variable.name for variable in elaborate(model).variables]


def test_class_body_declarations_are_copied_for_each_instance():
    a, b = Body(m=5.0), Body()
    assert a.m is not b.m
    assert values(a)["m"] == 5.0
    assert values(b)["m"] == 1.0
    assert Pair().a is not Pair().a
    assert values(Pair())["a.m"] == 2.0


def test_declarations_in_init_and_structure_by_python_arguments():
    class Chain(Model):
        def __init__(self, n, **changes):
            super().__init__(**changes)
            self.n = n
            self.x = Var(n, init=1.0)
            if n > 3:
                self.extra = Var()

        def equations(self):
            yield der(self.x) == -self.x
            if self.n > 3:
                yield [self.extra == self.x[3]]

    assert names(Chain(2)) == ["x"]
    assert names(Chain(4)) == ["x", "extra"]
    assert elaborate(Chain(4)).size == elaborate(Chain(4)).unknowns == 5


def test_init_without_super_call_is_complete():
    class Forgetful(Model):
        x = Var()

        def __init__(self):
            self.y = Var()

        def equations(self):
            return [self.x == 1, self.y == self.x]

    assert names(Forgetful()) == ["x", "y"]


def test_inheritance_extends_equations_and_may_redeclare():
    class Heavy(Body):
        m = Par(100.0, nonzero=True)
        drag = Par(0.1)

        def equations(self):
            return [*super().equations()[:2], self.energy == self.drag]

    assert values(Heavy())["m"] == 100.0
    assert [str(e) for e in elaborate(Heavy()).equations][-1] == "energy == drag"
    assert list(values(Heavy())) == ["m", "n", "drag"]


def test_overriding_by_dotted_and_nested_names():
    for changes in ({"a.m": 7.0, "b.n": [0.0, 1.0]}, {"a": {"m": 7.0}, "b": {"n": [0.0, 1.0]}}):
        changed = values(Pair(**changes))
        assert changed["a.m"] == 7.0
        assert changed["b.n"] == [0.0, 1.0]
        assert changed["b.m"] == 1.0
    pair = elaborate(Pair(a={"r": [1.0, 2.0]}, **{"b.r": 4.0}))
    starts = flat_residual(pair).initial_values(flat_residual(pair).parameters())
    assert starts["a.r"].tolist() == [1.0, 2.0]
    assert starts["b.r"].tolist() == [4.0, 4.0]
    assert values(Ladder(3, **{"r.R": [1.0, 2.0, 3.0], "source.V": 5.0}))["r.R"] == [1.0, 2.0, 3.0]


def test_outer_changes_win():
    class Outer(Model):
        def __init__(self, **changes):
            super().__init__(**changes)
            self.pair = Pair(**{"a.m": 10.0})

    assert values(Outer())["pair.a.m"] == 10.0
    assert values(Outer(**{"pair.a.m": 11.0}))["pair.a.m"] == 11.0


def test_component_arrays_have_a_leading_axis():
    class Swarm(Model):
        bodies = Body.array(4, m=[1.0, 2.0, 3.0, 4.0], r=[[0.0, 1.0]] * 4)
        total = Var()

        def equations(self):
            return [self.total == self.bodies.energy.sum()]

    flat = elaborate(Swarm())
    assert flat.by_name["bodies.r"].shape == (4, 2)
    assert flat.by_name["bodies.energy"].shape == (4,)
    assert values(Swarm())["bodies.m"] == [1.0, 2.0, 3.0, 4.0]
    assert values(Swarm())["bodies.n"] == [[1.0, 0.0]] * 4
    assert flat.size == flat.unknowns == 21
    swarm = Swarm()
    assert swarm.bodies[1:3].r.shape == (2, 2)
    assert swarm.bodies[-1].r.shape == (2,)
    assert swarm.bodies[[3, 0]].m.shape == (2,)
    assert len(swarm.bodies) == 4
    assert [str(b.energy) for b in swarm.bodies][:2] == ["bodies[0].energy", "bodies[1].energy"]
    assert str(swarm.bodies[1:][::2].r[:, 0]) == "bodies[1::2].r[:, 0]"


def test_arrays_of_components_that_contain_arrays_and_components():
    class Group(Model):
        k = Par(2.0)
        leader = Body()
        members = Body.array(3)
        mean = Var(2)

        def equations(self):
            return [3 * self.k * self.mean == self.members.r.sum(axis=0)]

    class World(Model):
        groups = Group.array(5, **{"members.m": np.arange(1.0, 16.0).reshape(5, 3), "leader.m": 9.0})
        x = Var(5)

        def equations(self):
            return [self.x == self.groups.members[1].r[:, 0] + self.groups[:].leader.r[:, 1]]

    flat = elaborate(World())
    assert flat.by_name["groups.members.r"].shape == (5, 3, 2)
    assert flat.size == flat.unknowns
    world = World()
    assert world.groups[1].members[1:].r.shape == (2, 2)
    assert world.groups[[0, 2]].members[[0, 1, 2]].r.shape == (2, 3, 2)
    assert str(world.groups[1:].members[0].r[:, 1]) == "groups[1:].members[0].r[:, 1]"
    lowered = flat_residual(flat)
    rng = np.random.default_rng(0)
    r, lead_r, x, mean = (rng.normal(size=s) for s in ((5, 3, 2), (5, 2), 5, (5, 2)))
    named = {"groups.members.r": r, "groups.leader.r": lead_r, "x": x, "groups.mean": mean}
    v = lowered.unknowns.pack(named)
    residual = lowered.residual(0.0, v, v * 0, lowered.parameters())
    by_text = {str(e): residual[rows] for e, rows in zip(flat.equations, lowered.rows, strict=True)}
    own = by_text["x == groups.members[1].r[:, 0] + groups.leader.r[:, 1]"]
    np.testing.assert_allclose(own, x - (r[:, 1, 0] + lead_r[:, 1]))
    np.testing.assert_allclose(
        by_text["3*groups.k*groups.mean == sum(groups.members.r, axis=0)"],
        (6 * mean - r.sum(axis=1)).ravel(),
    )


def test_lists_of_components_and_of_variables():
    class Mixed(Model):
        def __init__(self, **changes):
            super().__init__(**changes)
            self.bodies = [Body(m=k + 1.0) for k in range(3)]
            self.late = []
            self.late.append(Body())
            self.angles = (Var(init=0.5), Var(3))

        def equations(self):
            return [self.angles[0] == self.bodies[2].r[0], self.angles[1] == self.late[0].energy]

    flat = elaborate(Mixed(**{"bodies[1].m": 20.0}))
    assert "bodies[2].r" in flat.by_name
    assert "late[0].v" in flat.by_name
    assert flat.by_name["angles[1]"].shape == (3,)
    assert values(Mixed(**{"bodies[1].m": 20.0}))["bodies[1].m"] == 20.0
    assert flat.size == flat.unknowns


def test_parameters_computed_from_parameters_follow_them():
    class Cell(Model):
        scale = Par(1.0)

        def __init__(self, **changes):
            super().__init__(**changes)
            self.r = Resistor.array(3, R=self.scale * np.array([1.0, 2.0, 3.0]))

    class Pack(Model):
        R = Par(10.0)

        def __init__(self, **changes):
            super().__init__(**changes)
            self.half = Par(self.R / 2)
            self.many = [Resistor(R=self.half * k) for k in range(1, 4)]
            self.cells = Cell.array(2, scale=self.half)
            self.x = Var(2, init=self.half)
            self.y = Var(init=7.0)

        def equations(self):
            return [der(self.x) == 0, self.y == self.x[0]]

    declared = values(Pack())
    assert declared["half"] == 5.0
    assert declared["many[2].R"] == 15.0
    assert declared["cells.r.R"] == [[5.0, 10.0, 15.0]] * 2
    changed = values(Pack(), R=2.0)
    assert changed["cells.r.R"] == [[1.0, 2.0, 3.0]] * 2
    given = values(Pack(), **{"half": 7.0, "many[0].R": 1.0})
    assert given["many[0].R"] == 1.0
    assert given["many[1].R"] == 14.0
    assert given["cells.scale"] == [7.0, 7.0]
    lowered = flat_residual(elaborate(Pack()))
    starts = lowered.initial_values(lowered.parameters({"R": 4.0}))
    assert starts["x"].tolist() == [2.0, 2.0]
    assert starts["y"] == 7.0
    # derivatives go through
    q = lowered.flat.by_name["many[2].R"].offset
    slope = jax.grad(lambda R: lowered.parameters({"R": R})[q])(3.0)
    assert slope == 1.5


def test_per_copy_values_of_dependent_scopes():
    class Cell(Model):
        k = Par(1.0)

        def __init__(self, **changes):
            super().__init__(**changes)
            self.twice = Par(2 * self.k)
            self.r = Resistor.array(2, R=self.twice)

    class Pack(Model):
        cells = Cell.array(3, k=[1.0, 2.0, 3.0])

    assert values(Pack())["cells.r.R"] == [[2.0, 2.0], [4.0, 4.0], [6.0, 6.0]]


def test_equal_components_are_evaluated_once():
    calls = []

    class Counted(Model):
        x = Var()

        def __init__(self, power=1, **changes):
            super().__init__(**changes)
            self.power = power

        def equations(self):
            calls.append(self.power)
            return [der(self.x) == -(self.x**self.power)]

    class Many(Model):
        def __init__(self):
            self.all = [Counted(power=1 + k % 2, x=float(k)) for k in range(20)]

    flat = elaborate(Many())
    assert sorted(calls) == [1, 2]
    assert str(flat.equations[5]) == "der(all[5].x) == -all[5].x**2"
    lowered = flat_residual(flat)
    v = np.arange(1.0, 21.0)
    x = {f"all[{k}].x": v[k] for k in range(20)}
    residual = lowered.residual(0.0, lowered.unknowns.pack(x), np.zeros(20), lowered.parameters())
    by_equation = [float(residual[rows][0]) for rows in lowered.rows]
    assert by_equation == [v[k] ** (1 + k % 2) for k in range(20)]


def test_inputs_and_their_derivatives():
    class Driven(Model):
        u = Input(2, unit="V")
        x = Var(2)

        def equations(self):
            return [self.x == self.u + time * der(self.u)]

    lowered = flat_residual(elaborate(Driven()))
    assert list(lowered.inputs.places) == ["u", "der(u)"]
    u = lowered.inputs.pack({"u": [1.0, 2.0], "der(u)": [10.0, 20.0]})
    residual = lowered.residual(3.0, np.zeros(2), np.zeros(2), lowered.parameters(), u)
    assert residual.tolist() == [-31.0, -62.0]


def test_second_derivatives_become_first_order():
    class Spring(Model):
        m = Par(2.0)
        x = Var(3)

        def equations(self):
            return [self.m * der(der(self.x)) == -self.x]

    lowered = flat_residual(elaborate(Spring()))
    assert list(lowered.unknowns.places) == ["x", "der(x)"]
    v = lowered.unknowns.pack({"x": 1.0, "der(x)": 2.0})
    vdot = lowered.unknowns.pack({"x": 3.0, "der(x)": 5.0})
    assert lowered.residual(0.0, v, vdot, lowered.parameters()).tolist() == [11.0] * 3 + [1.0] * 3


def test_initial_equations():
    class Steady(Model):
        x = Var(2)

        def equations(self):
            return [der(self.x) == 1 - self.x]

        def initial_equations(self):
            return [der(self.x) == 0]

    flat = elaborate(Steady())
    assert str(flat.initial_equations[0]) == "der(x) == 0"
    lowered = flat_residual(flat)
    residual = lowered.initial_residual(0.0, np.zeros(2), np.array([3.0, 4.0]), lowered.parameters())
    assert residual.tolist() == [3.0, 4.0]
    assert "initial equations" in str(flat)


def test_the_flat_model_reads_well():
    text = str(elaborate(SlidingMass()))
    assert "SlidingMass: 13 unknowns in 5 variables, 13 equations in 5 array equations" in text
    assert "m*der(v) == f + m*g + u" in text
    assert "s m       init 0.1" in text
    assert "examples.py:" in text
    ladder = str(elaborate(Ladder(1000)))
    assert "for each of 1000 r" in ladder
    assert len(ladder.splitlines()) < 70


def test_plain_attributes_and_expressions_may_be_kept():
    class Keeper(Model):
        x = Var()
        y = Var()

        def __init__(self, gain=3):
            self.gain = gain
            self.error = self.x - self.y

        def equations(self):
            return [der(self.x) == -self.gain * self.error, self.y == time]

    assert "der(x) == -3*(x - y)" in str(elaborate(Keeper()))


def test_two_pin_inheritance():
    assert len(TwoPin().equations()) == 4
    assert len(Capacitor().equations()) == 5


def test_equations_of_parts_are_equations_of_their_own():
    class Parts(Model):
        r = Var(4)
        x = Var()
        v = Var(2)

        def equations(self):
            return [
                self.r == np.concatenate([np.stack([self.x, 2.0]), self.v]),
                np.stack([self.x, self.v[0]]) == 0,
                self.v[1] == time,
            ]

    texts = [str(e) for e in elaborate(Parts()).equations]
    assert texts == ["r[:2][0] == x", "r[:2][1] == 2", "r[2:] == v", "x == 0", "v[0] == 0", "v[1] == time"]


def test_models_only():
    with pytest.raises(ModelError, match=r"is not a model. Make an instance"):
        elaborate(SlidingMass)
    with pytest.raises(ModelError, match="is not a model"):
        elaborate(Pin())
    with pytest.raises(ModelError, match="is a component of another model"):
        elaborate(Pair().a)
    with pytest.raises(ModelError, match="is an array of models"):
        elaborate(Body.array(3))

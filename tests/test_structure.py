"""From models to the special index-1 form: segments, copies, circuits, mechanisms, diagnosis."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modia_py import Model, Par, Var, connect, der, elaborate, time
from modia_py.arrays.segments import Access, find_segments
from modia_py.arrays.transform import SingularStructure, transform
from modia_py.lowering.model_structure import model_structure
from modia_py.models.electrical import Capacitor, ConstantVoltage, Ground, Inductor, Resistor
from modia_py.models.examples import Ladder, SlidingMass


def transformed(model, **options):
    structure = model_structure(elaborate(model))
    return transform(structure.structure, structure.integers, structure.integer_rows, check=True, **options)


# Segments


def test_segments_are_cut_only_where_needed():
    accesses = [Access(0, 0, first=0), Access(0, 1, first=0), Access(1, 0, start=1, stop=2)]
    segments = find_segments([3, 3], [3, 1], accesses)
    assert [cuts.tolist() for cuts in segments.variable_cuts] == [[0, 1, 2, 3]] * 2
    assert segments.equation_cuts[0].tolist() == [0, 1, 2, 3]
    whole = find_segments([10**6, 10**6], [10**6], accesses[:2])
    assert [cuts.tolist() for cuts in whole.variable_cuts] == [[0, 10**6]] * 2


def test_a_stencil_is_not_cut_to_pieces():
    n = 10**6
    accesses = [
        Access(0, 0, first=0),
        Access(0, 0, first=1),
        Access(0, 0, first=2),
        Access(1, 0, start=0, stop=1),
        Access(2, 0, start=n - 1, stop=n),
    ]
    segments = find_segments([n], [n - 2, 1, 1], accesses)
    assert segments.variable_cuts[0].tolist() == [0, 1, 2, n - 2, n - 1, n]
    assert segments.equation_cuts[0].tolist() == [0, n - 2]


def test_cuts_that_run_in_a_circle_are_given_up():
    n = 1000
    accesses = [  # y[k] = x[k] and x[k+1] = y[k]: a cut in x would move on and on
        Access(0, 0, first=0),
        Access(0, 1, first=0),
        Access(1, 0, first=1),
        Access(1, 1, first=0),
        Access(2, 0, start=0, stop=1),
    ]
    segments = find_segments([n, n], [n, n - 1, 1], accesses)
    assert all(len(cuts) < 40 for cuts in segments.variable_cuts)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_every_access_covers_whole_segments(data):
    sizes = data.draw(st.lists(st.integers(1, 30), min_size=1, max_size=4))
    rows, accesses = [], []
    for equation in range(data.draw(st.integers(1, 5))):
        count = data.draw(st.integers(1, min(sizes)))
        rows.append(count)
        for _ in range(data.draw(st.integers(1, 3))):
            variable = data.draw(st.integers(0, len(sizes) - 1))
            first = data.draw(st.integers(0, sizes[variable] - count))
            if data.draw(st.booleans()):
                accesses.append(Access(equation, variable, first=first))
            else:
                accesses.append(Access(equation, variable, start=first, stop=first + count))
    segments = find_segments(sizes, rows, accesses)
    for access in accesses:
        cuts = set(segments.variable_cuts[access.variable].tolist())
        if access.first is None:
            assert {access.start, access.stop} <= cuts
        else:
            own = segments.equation_cuts[access.equation]
            assert {int(cut) + access.first for cut in own} <= cuts


# Models


def test_sliding_mass():
    """The worked example: blocks u; then der2(s), der2(r), der(v), f; x = [s, der(s)]."""
    result = transformed(SlidingMass())
    assert [set(names) for names in result.block_names()] == [{"u"}, {"der2(s)", "der2(r)", "der(v)", "f"}]
    assert result.slot_names() == ["s", "der(s)"]
    assert len(result.form.local_equations) == 7
    assert [result.structure.equation_name(int(e)) for e in result.form.fd] == [
        "n @ f == 0  (examples.py:33)"
    ]
    assert "array equations differentiated: 3 not at all, 1 once, 1 twice" in str(result)
    plain = transformed(SlidingMass(), tearing=False)
    assert not len(plain.form.local_equations)
    assert plain.form.size > 2


class Pendulum(Model):
    L = Par(1.0)
    m = Par(1.0, nonzero=True)
    g = Par([0.0, -9.81])
    r = Var(2)
    v = Var(2)
    lam = Var()

    def equations(self):
        return [
            der(self.r) == self.v,
            self.m * der(self.v) == self.m * self.g - self.lam * self.r,
            self.r @ self.r == self.L**2,
        ]


def test_cartesian_pendulum_is_stabilized():
    result = transformed(Pendulum())
    assert result.slot_names()[:2] == ["r", "der(r)"]
    kinds = np.bincount(result.form.kind, minlength=4).tolist()
    assert kinds == [2, 0, 1, 1]  # two states, one lambda, one mu
    assert result.form.size == 6
    assert len(result.form.fc) == 2


def test_copies_become_nodes_of_their_own():
    class Chain(Model):
        def __init__(self, n):
            self.bodies = Pendulum.array(n)

    result = transformed(Chain(5))
    assert result.form.size == 30
    assert len(result.blocks) == 5
    assert "bodies.r[3]" in result.slot_names()


class Element(Model):
    """A constraint on one element of a vector state."""

    p = Var(3)
    v = Var(3)
    f = Var()

    def equations(self):
        force = np.stack([0.0, self.f, -9.81])
        return [der(self.p) == self.v, der(self.v) == force, self.p[1] == np.sin(time)]


def test_index_reduction_on_a_single_element():
    result = transformed(Element())
    times = result.reduction.differentiations(result.simplified.structure.equation_count)
    names = [result.structure.equation_name(e) for e in range(len(times))]
    differentiated = {name.split("  ")[0]: k for name, k in zip(names, times.tolist(), strict=True) if k}
    assert differentiated["p[1] == sin(time)"] == 2
    assert sorted(times[times > 0].tolist()) == [1, 2]
    slots = result.slot_names()
    assert "p[0]" in slots
    assert "p[1]" not in slots


class Rod(Model):
    def __init__(self, n):
        self.T = Var(n)

    def equations(self):
        T = self.T
        return [T[0] == time, der(T[1:-1]) == T[2:] - 2 * T[1:-1] + T[:-2], T[-1] == T[-2] * 0.5]


@pytest.mark.parametrize("n", [30, 1000])
def test_stencil_with_boundaries(n):
    assert transformed(Rod(8)).form.size == 6
    result = transformed(Rod(n))
    assert len(result.form.kind) == 3
    assert result.slot_names() == ["T[1]", f"T[2:{n - 2}]", f"T[{n - 2}]"]
    assert result.form.size == n - 2


def test_one_copy_of_a_component_array():
    class Mass(Model):
        r = Var(2)
        v = Var(2)
        f = Var(2)

        def equations(self):
            return [der(self.r) == self.v, der(self.v) == self.f]

    class Row(Model):
        masses = Mass.array(4)

        def equations(self):
            return [self.masses[2].r == 0.1, self.masses[[0, 1, 3]].f == -self.masses[[0, 1, 3]].r]

    result = transformed(Row())
    times = result.reduction.differentiations(result.simplified.structure.equation_count)
    assert np.bincount(times).tolist()[1:] == [1, 1]  # only for copy 2
    slots = result.slot_names()
    assert "masses.r[0]" in slots
    assert "masses.r[2]" not in slots


def circuit(*parts, ground=False):
    """Parts in a loop, named a, b, c, ..."""

    class Loop(Model):
        def __init__(self):
            self.parts = []
            for name, part in zip("abcdef", parts, strict=False):
                setattr(self, name, part)
            self.names = "abcdef"[: len(parts)]
            if ground:
                self.ground = Ground()

        def equations(self):
            loop = [getattr(self, name) for name in self.names]
            yield (connect(p.n, q.p) for p, q in zip(loop, [*loop[1:], loop[0]], strict=True))
            if ground:
                yield connect(loop[0].n, self.ground.p)

    return Loop()


@pytest.mark.parametrize("second", [Resistor, Capacitor, Inductor])
def test_circuits_without_a_ground(second):
    result = transformed(circuit(ConstantVoltage(), second()))
    found = result.simplified.found
    assert len(found.arbitrary) == len(found.redundant) == 1
    (warning,) = result.simplified.warnings()
    assert ".v was set to zero: nothing determines it; is a ground missing?" in warning
    grounded = transformed(circuit(ConstantVoltage(), second(), ground=True))
    assert not len(grounded.simplified.found.arbitrary)
    assert not len(grounded.simplified.found.redundant)
    assert grounded.simplified.warnings() == []


def test_hidden_constraint_of_two_inductors():
    result = transformed(circuit(ConstantVoltage(), Inductor(L=0.1), Resistor(), Inductor(L=0.2)))
    assert result.simplified.hidden_count == 1
    assert "1 hidden constraints" in str(result.simplified)
    states = [name for name in result.slot_names() if not name.startswith("integral")]
    assert len(states) == 1  # one current for both inductors
    parallel = transformed(circuit(ConstantVoltage(), Resistor(), Capacitor(), ground=True))
    assert parallel.simplified.hidden_count == 0


@pytest.mark.parametrize("n", [1, 2, 30])
def test_ladder(n):
    result = transformed(Ladder(n))
    kinds = np.bincount(result.form.kind, minlength=4).tolist()
    assert kinds == [n, n, 0, 0]  # a voltage and a resistor current for each section: R may be zero
    assert {f"c.u[{k}]" for k in range(n)} <= set(result.slot_names())


def test_keeping_variables_with_start_values():
    class Twins(Model):
        x = Var()
        y = Var()

        def equations(self):
            return [self.x == 2 * self.y, der(self.x) + der(self.y) == -self.x]

    structure = model_structure(elaborate(Twins()))
    for wanted in ("x", "y"):
        names = [structure.structure.variable_name(v) for v in range(structure.structure.variable_count)]
        keep = np.array([name == wanted for name in names])
        result = transform(structure.structure, structure.integers, structure.integer_rows, keep=keep)
        assert result.slot_names() == [wanted]


def test_singular_models_say_where():
    class Over(Model):
        x = Var(2)
        y = Var()

        def equations(self):
            return [self.x == [1.0, 2.0], self.x[0] == time, self.y == self.x.sum()]

    with pytest.raises(SingularStructure, match=r"4 scalar equations for 3 unknowns: 1 too many") as caught:
        transformed(Over())
    text = str(caught.value)
    assert "x[0] == time  (test_structure.py:" in text
    assert "y ==" not in text

    class Under(Model):
        x = Var()
        y = Var(3)

        def equations(self):
            return [der(self.x) == self.y[0]]

    with pytest.raises(SingularStructure, match=r"1 scalar equation for 4 unknowns: 3 too few") as caught:
        transformed(Under())
    assert "y[1:3] in no equation" in str(caught.value)

    class Elements(Model):
        z = Var(2)
        w = Var(2)

        def equations(self):
            return [self.z == self.w, self.z[0] == 1, self.w[0] == 2]

    with pytest.raises(SingularStructure, match="as many as needed, but not independent") as caught:
        transformed(Elements())


def test_vector_sizes_do_not_matter():
    class Wide(Model):
        def __init__(self, n):
            self.x, self.y, self.z = Var(n), Var(n), Var(n)

        def equations(self):
            return [der(self.x) == self.y, self.z == np.sin(self.x), self.y == -self.z]

    small, large = transformed(Wide(3)), transformed(Wide(10**6))
    assert small.block_names() == large.block_names()
    assert small.slot_names() == large.slot_names() == ["x"]
    assert large.form.size == 10**6


# Array models against their written-out twins


class Vectors(Model):
    """Masses in a row, as vectors."""

    def __init__(self, n):
        self.x, self.v, self.f, self.L = Var(n), Var(n), Var(n + 1), Var()
        self.n = n

    def equations(self):
        x, v, f = self.x, self.v, self.f
        return [
            der(x) == v,
            der(v) == f[1:] - f[:-1],
            f[0] == np.sin(x[0]),
            f[1:-1] == 3.0 * (x[1:] - x[:-1]),
            x[-1] == np.sin(time),
            x.sum() == self.L,
        ]


class Scalars(Vectors):
    """The same with a variable for each element."""

    def __init__(self, n):
        self.x, self.v = [Var() for _ in range(n)], [Var() for _ in range(n)]
        self.f, self.L = [Var() for _ in range(n + 1)], Var()
        self.n = n

    def equations(self):
        x, v, f, n = self.x, self.v, self.f, self.n
        yield (der(x[k]) == v[k] for k in range(n))
        yield (der(v[k]) == f[k + 1] - f[k] for k in range(n))
        yield f[0] == np.sin(x[0])
        yield (f[k] == 3.0 * (x[k] - x[k - 1]) for k in range(1, n))
        yield x[-1] == np.sin(time)
        yield sum(x) == self.L


@pytest.mark.parametrize("n", [3, 6, 40])
def test_array_model_is_at_most_as_large_as_needed(n):
    arrays, elements = transformed(Vectors(n)), transformed(Scalars(n))
    assert arrays.form.size >= elements.form.size
    if n <= 16:  # short vectors are split as far as needed: the very same differentiations and form
        times = [result.reduction.differentiations(10**9).sum() for result in (arrays, elements)]
        assert times[0] == times[1]
        plain = [transformed(model, tearing=False).form.size for model in (Vectors(n), Scalars(n))]
        assert plain[0] == plain[1]

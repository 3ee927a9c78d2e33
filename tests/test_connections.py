"""Connections: sets, signs, unconnected flows, nested connectors, arrays against written-out twins."""

from __future__ import annotations

import jax
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modia_py import Connector, Flow, Model, ModelWarning, Var, connect, elaborate, flat_residual
from modia_py.models.electrical import Ground, Pin, Resistor
from modia_py.models.examples import Ladder
from modia_py.solvers.compile_options import quick_jit


def texts(model):
    return [str(equation) for equation in elaborate(model).equations]


def matrix(model, order):
    """The Jacobian of the (linear) equations, columns in the order of these variable elements."""
    lowered = flat_residual(elaborate(model))
    zero = np.zeros(lowered.unknowns.size)
    differentiated = quick_jit(jax.jacobian(lowered.residual, 1), 0)
    jacobian = np.asarray(differentiated(0.0, zero, zero, lowered.parameters()))
    columns = []
    for name, element in order:
        columns.append(lowered.unknowns.places[name].offset + element)
    return jacobian[:, columns]


def same_row_space(a, b):
    rank = np.linalg.matrix_rank
    return len(a) == len(b) and rank(a) == rank(b) == rank(np.vstack([a, b]))


class Cell(Model):
    a = Pin()
    b = Pin()


class Net(Model):
    """Cells in an array, or one by one, connected by the same statements."""

    def __init__(self, n, statements, as_array):
        self.statements = statements
        self.hub = Cell()
        self.n = n
        self.cells = Cell.array(n) if as_array else [Cell() for _ in range(n)]

    def equations(self):
        for statement in self.statements:
            yield statement(self.cells, self.hub, self.n)


def element_names(n, as_array):
    order = [(f"hub.{pin}.{q}", 0) for pin in "ab" for q in "vi"]
    for pin in "ab":
        for q in "vi":
            for k in range(n):
                order.append((f"cells.{pin}.{q}", k) if as_array else (f"cells[{k}].{pin}.{q}", 0))
    return order


@st.composite
def connections(draw):
    n = draw(st.integers(2, 6))
    statements = []
    for _ in range(draw(st.integers(1, 4))):
        pins = draw(st.tuples(st.sampled_from("ab"), st.sampled_from("ab")))
        kind = draw(st.sampled_from(["slices", "single", "list", "whole"]))
        if kind == "single":
            start = draw(st.integers(0, n - 1))
            statements.append(("single", pins, start, draw(st.integers(start + 1, n))))
        elif kind == "whole":
            statements.append(("list", ("a", "b"), list(range(n)), list(range(n))))
        else:
            left = draw(st.permutations(range(n)))
            right = draw(st.permutations(range(n)))
            count = draw(st.integers(1, n))
            pairs = [(i, j) for i, j in zip(left, right, strict=True) if (pins[0], i) != (pins[1], j)]
            if kind == "slices":
                count = min(count, n - 1)
                pairs = [(k, k + 1) for k in range(count)]
            if pairs[:count]:
                i, j = (list(side) for side in zip(*pairs[:count], strict=True))
                statements.append(("list", pins, i, j))
    return n, statements


def array_statement(kind, pins, i, j):
    if kind == "single":
        return lambda cells, hub, n: connect(getattr(cells[i:j], pins[0]), getattr(hub, pins[1]))
    return lambda cells, hub, n: connect(getattr(cells[i], pins[0]), getattr(cells[j], pins[1]))


def written_out(kind, pins, i, j):
    if kind == "single":
        return lambda cells, hub, n: [
            connect(getattr(c, pins[0]), getattr(hub, pins[1])) for c in cells[i:j]
        ]
    return lambda cells, hub, n: [
        connect(getattr(cells[p], pins[0]), getattr(cells[q], pins[1])) for p, q in zip(i, j, strict=True)
    ]


@pytest.mark.filterwarnings("ignore:.*repeats the connection")
@settings(max_examples=25, deadline=None)
@given(connections())
def test_array_connections_equal_written_out_ones(case):
    n, statements = case
    arrays = Net(n, [array_statement(*s) for s in statements], as_array=True)
    single = Net(n, [written_out(*s) for s in statements], as_array=False)
    a = matrix(arrays, element_names(n, True))
    b = matrix(single, element_names(n, False))
    assert same_row_space(a, b)
    assert len(a) == number_of_equations(n, statements)


def number_of_equations(n, statements):
    """One balance a set or loose flow, one equality for each further member of a set."""
    graph = nx.Graph()
    for kind, pins, i, j in statements:
        if kind == "single":
            graph.add_edges_from(((pins[0], k), ("hub", pins[1])) for k in range(i, j))
        else:
            graph.add_edges_from(((pins[0], p), (pins[1], q)) for p, q in zip(i, j, strict=True))
    sets = list(nx.connected_components(graph))
    connected = sum(map(len, sets))
    loose = 2 * (n + 1) - connected
    return len(sets) + loose + sum(len(s) - 1 for s in sets)


def test_ladder_becomes_a_few_array_equations():
    for n in (1, 2, 3, 50):
        flat = elaborate(Ladder(n))
        assert flat.size == flat.unknowns == 14 * n + 9
        assert len(flat.equations) <= 26
    assert "r[1:].p.i + r[:49].n.i + c[:49].p.i == 0" in texts(Ladder(50))
    assert "source.n.i + ground.p.i + sum(c.n.i) == 0" in texts(Ladder(50))
    assert "c.n.v == source.n.v" in texts(Ladder(50))


def test_unconnected_flows_are_zero():
    class Open(Model):
        r = Resistor.array(3)
        g = Ground()

        def equations(self):
            return [connect(self.r[1].p, self.g.p)]

    lines = texts(Open())
    assert "r.n.i == 0" in lines
    assert "r[::2].p.i == 0" in lines
    flat = elaborate(Open())
    assert flat.size == flat.unknowns


def test_inside_and_outside_connectors():
    class Divider(Model):
        p = Pin()
        n = Pin()
        upper = Resistor()
        lower_r = Resistor()

        def equations(self):
            return [
                connect(self.p, self.upper.p),
                connect(self.upper.n, self.lower_r.p),
                connect(self.lower_r.n, self.n),
            ]

    class Circuit(Model):
        d = Divider.array(2)
        g = Ground()

        def equations(self):
            return [connect(self.d[0].n, self.d[1].p), connect(self.d[1].n, self.g.p)]

    lines = texts(Circuit())
    assert "d.upper.p.i - d.p.i == 0" in lines  # what flows into the divider flows into the resistor
    assert "d.upper.n.i + d.lower_r.p.i == 0" in lines
    assert "d[0].p.i == 0" in lines  # not connected outside
    flat = elaborate(Circuit())
    assert flat.size == flat.unknowns
    alone = elaborate(Divider())
    assert alone.size == alone.unknowns
    assert "p.i == 0" in [str(e) for e in alone.equations]


def test_outside_connectors_only():
    class Through(Model):
        a = Pin()
        b = Pin()

        def equations(self):
            return [connect(self.a, self.b)]

    class Wires(Model):
        w = Through()
        r = Resistor()
        g = Ground()

        def equations(self):
            return [connect(self.w.a, self.r.p), connect(self.w.b, self.g.p), connect(self.r.n, self.g.p)]

    flat = elaborate(Wires())
    assert flat.size == flat.unknowns
    assert "w.a.i + w.b.i == 0" in [str(e) for e in flat.equations]


class Frame(Connector):
    r = Var(3)
    f = Flow(3)


class Plug(Connector):
    power = Pin()
    frame = Frame()
    T = Var()


class Device(Model):
    plug = Plug()


def test_connectors_inside_connectors_and_vectors():
    class Bench(Model):
        a = Device()
        b = Device.array(3)

        def equations(self):
            return [connect(self.a.plug, self.b.plug), connect(self.b[0].plug.power, self.b[1].plug.power)]

    lines = texts(Bench())
    assert "b.plug.frame.r == a.plug.frame.r" in lines
    assert "a.plug.frame.f + sum(b.plug.frame.f, axis=0) == 0" in lines
    assert "b.plug.T == a.plug.T" in lines
    flat = elaborate(Bench())
    # per plug: v, i, r(3), f(3), T; the fourteen equations of the missing device are not there
    assert flat.unknowns == 4 * 9
    assert flat.size == (3 + 1) + (9 + 3) + 3


def test_arrays_of_connectors_and_two_array_levels():
    class Strip(Model):
        pins = Pin.array(3)

        def equations(self):
            return [self.pins.v == self.pins.i]

    class Rack(Model):
        s = Strip.array(2)
        g = Ground()

        def equations(self):
            return [
                connect(self.s[0].pins[1:], self.s[1].pins[:-1]),
                connect(self.s[:].pins[0], self.g.p),
            ]

    lines = texts(Rack())
    flat = elaborate(Rack())
    assert flat.size == flat.unknowns
    assert "s[1].pins[2].i == 0" in lines
    order = [(f"s.pins.{q}", k) for q in "vi" for k in range(6)] + [("g.p.v", 0), ("g.p.i", 0)]
    a = matrix(Rack(), order)

    expected = []

    def row(**entries):
        line = np.zeros(14)
        for key, value in entries.items():
            kind, index = key[0], key[1:]
            first = 0 if kind == "v" else 6
            line[12 + (kind == "i") if index == "g" else first + int(index)] = value
        expected.append(line)

    for k in range(6):
        row(**{f"v{k}": 1.0, f"i{k}": -1.0})
    row(vg=1.0)
    # sets: {s01, s10, s00, g} because s[:].pins[0] are all on the ground, and {s02, s11}
    row(v1=1.0, v3=-1.0)
    row(v0=1.0, vg=-1.0)
    row(v3=1.0, vg=-1.0)
    row(i0=1.0, i1=1.0, i3=1.0, ig=1.0)
    row(v2=1.0, v4=-1.0)
    row(i2=1.0, i4=1.0)
    row(i5=1.0)
    assert same_row_space(a, np.array(expected))


def test_repeated_connection_warns():
    class Twice(Model):
        a = Resistor()
        b = Resistor()

        def equations(self):
            return [connect(self.a.n, self.b.p), connect(self.b.p, self.a.n)]

    with pytest.warns(
        ModelWarning, match=r"connect\(b.p, a.n\) .* repeats the connection of line test_conn"
    ):
        flat = elaborate(Twice())
    assert flat.size == flat.unknowns


def test_derived_connector_classes_are_compatible():
    class PositivePin(Pin):
        pass

    class Source(Model):
        p = PositivePin()

        def equations(self):
            return [self.p.v == 1]

    class Circuit(Model):
        s = Source()
        r = Resistor()

        def equations(self):
            return [connect(self.s.p, self.r.p)]

    assert "r.p.v == s.p.v" in texts(Circuit())

"""What makes first runs short, and what is said while one waits."""

from __future__ import annotations

import gc
import random
import time

import jax.numpy as jnp
import numpy as np
import pytest

from modia_py import Model, Var, der, translate
from modia_py.expressions.expression import constant
from modia_py.expressions.nodes import WhileAlive, topological
from modia_py.expressions.templates import _templates, make_template
from modia_py.simulation import compile_times
from modia_py.simulation.compile_times import SlowCompilation
from modia_py.solvers import Problem, solve
from modia_py.solvers.matrix.jacobian import find_pattern
from modia_py.solvers.output_rows import SPARE, OutputRows


class Two(Model):
    x = Var(init=1.0)
    y = Var(init=0.5)

    def equations(self):
        return [der(self.x) == -self.y * np.sin(self.x), der(self.y) == self.x - self.y]


# Waiting for a compiler.


def test_a_long_compilation_is_told_once(capsys):
    slow = SlowCompilation("Rod", 1000, patience=0.0)
    for _ in range(3):
        slow.begins()
        time.sleep(0.05)
        slow.ends(0.05)
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.startswith("Rod: XLA is compiling programs for 1000 unknowns. This is done once")


def test_a_short_compilation_is_not_told(capsys):
    slow = SlowCompilation("Rod", 1000, patience=0.2)
    slow.begins()
    slow.ends(0.01)
    time.sleep(0.4)
    assert not capsys.readouterr().err


def test_many_short_compilations_are_a_long_one(capsys):
    slow = SlowCompilation("Rod", 1000, patience=60.0)
    slow.begins()
    slow.ends(60.0)
    slow.begins()
    time.sleep(0.1)
    slow.ends(0.1)
    assert "Rod" in capsys.readouterr().err


@pytest.mark.parametrize("progress", [True, False])
def test_a_first_run_says_what_it_waits_for_if_progress_is_wanted(capsys, monkeypatch, progress):
    monkeypatch.setattr(compile_times.SlowCompilation.__init__, "__defaults__", (0.0,))

    class Several(Model):
        x = Var(3 + progress, init=1.0)  # another model for each case: programs of the other are known

        def equations(self):
            return [der(self.x) == -self.x]

    sim = translate(Several())
    sim.simulate(1.0, times=7, progress=progress)
    told = capsys.readouterr().err
    assert told.count("Several: XLA is compiling programs for") == int(progress)
    sim.simulate(1.0, times=7, progress=progress)
    assert "XLA" not in capsys.readouterr().err


# Rows of output.


def test_rows_are_kept_in_order_and_make_room_for_more():
    rng = np.random.default_rng(1)
    rows, chunks = OutputRows(3, 5), []
    for count in (1, 4, 0, SPARE, 200, 7):
        chunk = rng.random(count), rng.random((count, 3)), rng.random((count, 3)), rng.random((count, 2))
        chunks.append(chunk)
        rows.append(*chunk)
    for found, parts in zip(rows.arrays(), zip(*chunks, strict=True), strict=True):
        np.testing.assert_array_equal(found, np.concatenate(parts))


def test_no_rows():
    t, x, xdot, step = OutputRows(3, 0).arrays()
    assert t.shape == (0,)
    assert x.shape == xdot.shape == (0, 3)
    assert step.shape == (0, 2)


# What is known of expressions.


def test_nodes_come_after_their_arguments_and_once():
    rng = random.Random(3)
    nodes = [np.sin(constant(float(k)) * 1.0) for k in range(4)]
    for _ in range(60):
        nodes.append(rng.choice(nodes) * rng.choice(nodes) + rng.choice(nodes))
    found = list(topological([nodes[-1], nodes[3], nodes[-1]]))
    places = {id(node): place for place, node in enumerate(found)}
    assert len(places) == len(found)
    assert all(places[id(arg)] < places[id(node)] for node in found for arg in node.args)
    below = list(topological([nodes[-1]], lambda node: node is nodes[-1]))
    assert len(below) == 1


def test_what_is_known_of_a_node_goes_with_it():
    known: WhileAlive[str] = WhileAlive()
    node = np.sin(constant(0.123456)) * constant(7.5)
    known.put(node, "a product")
    assert known.get(node) == "a product"
    assert len(known) == 1
    del node
    gc.collect()
    assert len(known) == 0


def test_a_template_is_made_once_and_does_not_keep_its_expression():
    before = len(_templates)
    equation = Two().equations()[0]
    assert equation.residual() is equation.residual()
    assert make_template(equation.residual()) is make_template(equation.residual())
    assert len(_templates) == before + 1
    del equation
    gc.collect()
    assert len(_templates) == before


# Patterns.


def test_a_given_pattern_may_be_in_any_order_and_have_entries_twice():
    def residual(t, x, xdot, p):
        return xdot + jnp.array([x[0] - x[2], x[1], x[2] + x[0]])

    given = np.array([2, 0, 1, 2, 0, 2]), np.array([2, 2, 1, 0, 0, 2])
    found = find_pattern(Problem(residual, size=3, differential_rows=3, pattern=given), None)
    assert found.rows.tolist() == [0, 0, 1, 2, 2]
    assert found.columns.tolist() == [0, 2, 1, 0, 2]
    ran = solve(Problem(residual, size=3, differential_rows=3, pattern=given), 0.0, 1.0, [1.0, 1.0, 0.0])
    np.testing.assert_allclose(ran.x[-1, 1], np.exp(-1.0), rtol=1e-5)

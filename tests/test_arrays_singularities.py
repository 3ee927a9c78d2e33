"""Removal of singularities: published answers, circuits, and random equations against exact elimination."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modia_py.arrays import aliases
from modia_py.arrays.elimination import shorten
from modia_py.arrays.integer_equations import IntegerEquations
from modia_py.arrays.singularities import check_singularities, remove_singularities
from tests.integer_circuits import (
    check_exactly,
    circuit,
    dense,
    dense_problem,
    echelon,
    facts,
    from_matrix,
    names_of,
    rank,
    states_and_elsewhere,
    unit,
)

PUBLISHED = json.loads((Path(__file__).parent / "data" / "integer_equations.json").read_text())


def vectors(kind):
    return [vector for vector in PUBLISHED["vectors"] if vector["kind"] == kind]


# --- published problems ------------------------------------------------------------------------


@pytest.mark.parametrize("vector", vectors("linear_integer_equations"), ids=itemgetter("name"))
def test_published_circuits(vector):
    n, expected = len(vector["variables"]), vector["expected"]
    rows = [
        dict(zip((v - 1 for v in vector["G"][e - 1]), coefficients, strict=True))
        for e, coefficients in zip(vector["eInt"], vector["GcInt"], strict=True)
    ]
    equations, known = IntegerEquations.from_rows(rows, n), states_and_elsewhere(vector)
    found = remove_singularities(equations, **known)
    check_exactly(equations, found, **known)
    assert list(found.ranks) == vector["ranks_recomputed"]
    assert len(found.arbitrary) == expected["nvArbitrary"]
    assert len(found.redundant) == len(expected["redundantEquations"])
    # The published redundant equation is a choice, and an admissible one, as is ours (check_exactly).
    matrix = dense(equations)
    published = [vector["eInt"].index(e) for e in expected["redundantEquations"]]
    assert rank([row for k, row in enumerate(matrix) if k not in published]) == found.ranks[2]
    # All rows are used up there, and the zeros and aliases say the same as ours.
    assert len(found.remaining_rows) == len(found.hidden_rows) == 0
    answer = []
    for variable, meaning in zip(
        expected["vEliminated"], expected["vProperty_of_vEliminated"], strict=True
    ):
        row = unit(variable - 1, n)
        if meaning:
            row[abs(meaning) - 1] = -1 if meaning > 0 else 1
        answer.append(row)
    assert echelon(facts(found) + [unit(v, n) for v in found.arbitrary]) == echelon(answer)


def test_published_resistors_without_ground():
    (vector,) = (v for v in vectors("remove_singularities_dense") if v["name"] == "remsing_RR_no_ground")
    equations, known = dense_problem(vector)
    found = remove_singularities(equations, **known)
    check_exactly(equations, found, **known)
    assert (found.arbitrary + 1).tolist() == vector["expected"]["iya"]
    assert (found.redundant + 1).tolist() == vector["expected"]["eqr"]
    assert found.ranks[2] == vector["expected"]["rank"]
    assert found.imbalance == -1
    ground, balance = found.warnings(vector["names"])
    assert ground == "R1.n.v was set to zero: nothing determines it; is a ground missing?"
    assert balance == (
        "2 equations are redundant but 1 variable is arbitrary: the model has fewer independent equations "
        "than it seems, by 1; is an equation written twice, or another one missing?"
    )


def test_published_capacitors_with_ground():
    (vector,) = (v for v in vectors("remove_singularities_dense") if v["name"] == "remsing_CC_ground")
    equations, known = dense_problem(vector)
    found = remove_singularities(equations, **known)
    check_exactly(equations, found, **known)
    assert (found.hidden_rows + 1).tolist() == vector["expected"]["eqx"]
    assert found.hidden.text(0, vector["names"]) == "C1.v - C2.v = 0"
    assert len(found.arbitrary) == len(found.redundant) == 0


@pytest.mark.parametrize("vector", vectors("fraction_free_trapezoidal"), ids=itemgetter("name"))
def test_published_ranks(vector):
    equations, known = dense_problem(vector)
    found = remove_singularities(equations, **known)
    check_exactly(equations, found, **known)
    assert found.ranks[2] == vector["expected"]["rank"]


# --- circuits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("ground", [None, 0, 2])
def test_only_a_circuit_without_ground_is_singular(ground):
    # Source, resistor, and a capacitor in parallel to a resistor.
    case, known = circuit([1, 1, 2, 2], [0, 2, 0, 0], ground=ground, states=[2])
    found = remove_singularities(case, **known)
    check_exactly(case, found, **known)
    missing = ground is None
    assert len(found.arbitrary) == len(found.redundant) == int(missing)
    assert len(found.hidden_rows) == 0
    names = names_of(["V", "R", "C", "Rp"])
    assert found.alias_of[names.index("Rp.u")] == names.index("C.u")
    texts = found.warnings(names)
    assert len(texts) == int(missing)
    assert all(text.split()[0] in names and "is a ground missing?" in text for text in texts)


def test_two_circuits_lack_two_grounds():
    case, known = circuit([0, 0, 2, 2], [1, 1, 3, 3])
    found = remove_singularities(case, **known)
    check_exactly(case, found, **known)
    assert len(found.arbitrary) == len(found.redundant) == 2
    assert len(set((found.arbitrary // 12).tolist())) == 2  # one in each


def test_capacitors_in_a_loop_hide_a_constraint_wherever_the_ground_is():
    for ground in (None, 0, 1, 2):
        case, known = circuit([0, 1, 2], [1, 2, 0], ground=ground, states=[0, 1, 2])
        found = remove_singularities(case, **known)
        check_exactly(case, found, **known)
        assert len(found.hidden_rows) == 1
        assert found.hidden.row(0)[0].tolist() == [0, 6, 12]
        assert len(set(np.abs(found.hidden.row(0)[1]).tolist())) == 1


def test_inductors_in_series_hide_a_constraint():
    # Source, L, R, R, L in a loop; the currents of the inductors are the states.
    case, known = circuit([1, 1, 2, 3, 4], [0, 2, 3, 4, 0])
    known["differentiated"][[7, 25]] = True
    found = remove_singularities(case, **known)
    check_exactly(case, found, **known)
    assert [found.hidden.text(k) for k in range(found.hidden.n_rows)] in (
        ["v7 - v25 = 0"],
        ["-v7 + v25 = 0"],
    )
    assert len(found.arbitrary) == len(found.redundant) == 1


def test_parallel_components_are_aliases_away_from_the_ground():
    # Source and resistor to nodes 1 and 2; between these, two resistors (one turned round) and a capacitor.
    case, known = circuit([1, 0, 1, 2, 1], [0, 2, 2, 1, 2], ground=0, states=[4])
    found = remove_singularities(case, **known)
    check_exactly(case, found, **known)
    names = names_of(["V", "R0", "R1", "R2", "C"])
    for name, sign in (("R1.u", 1), ("R2.u", -1)):
        assert found.alias_of[names.index(name)] == names.index("C.u")
        assert found.alias_sign[names.index(name)] == sign


def test_states_are_never_replaced():
    rows = [{0: 1, 2: -1}, {2: 1, 1: 1}, {3: 1}, {4: 1, 0: -1}]
    equations = IntegerEquations.from_rows(rows, 5)
    states = np.array([True, True, False, True, False])
    found = remove_singularities(equations, differentiated=states, elsewhere=~states)
    check_exactly(equations, found, states, ~states)
    texts = {found.hidden.text(k) for k in range(2)}
    assert texts <= {"v0 + v1 = 0", "-v0 - v1 = 0", "v3 = 0"}
    assert len(texts) == 2
    assert found.alias_of.tolist() == [-1, -1, 0, -1, 0]


def test_a_sign_contradiction_is_zero():
    equations = IntegerEquations.from_rows([{0: 1, 1: -1}, {1: 1, 2: -1}, {0: 1, 2: 1}, {2: 1, 3: -1}], 4)
    nowhere = np.zeros(4, dtype=bool)
    found = remove_singularities(equations, differentiated=nowhere, elsewhere=~nowhere)
    assert found.zero.tolist() == [0, 1, 2, 3]


def test_one_row_written_many_times():
    equations = IntegerEquations.from_rows([{0: 1, 1: -1}, {1: 3, 0: -3}] * 128 + [{1: 1, 2: 1}], 3)
    nowhere = np.zeros(3, dtype=bool)
    found = remove_singularities(equations, differentiated=nowhere, elsewhere=~nowhere)
    assert len(found.redundant) == 255
    assert found.alias_of.tolist() == [-1, 0, 0]
    assert found.alias_sign.tolist() == [1, 1, -1]


# --- random equations, large coefficients, scale --------------------------------------------------


@st.composite
def problems(draw):
    n, m = draw(st.integers(1, 9)), draw(st.integers(0, 10))
    coefficient = st.sampled_from([1, -1, 1, -1, 1, -1, 2, -3])
    entry = st.tuples(st.integers(0, n - 1), coefficient)
    rows = draw(st.lists(st.lists(entry, max_size=4), min_size=m, max_size=m))
    if m > 1 and draw(st.booleans()):  # a row that follows from others
        rows[-1] = rows[0] + rows[m // 2]
    lengths = [len(row) for row in rows]
    flat = [pair for row in rows for pair in row]
    equations = IntegerEquations(
        np.append(0, np.cumsum(lengths)), [v for v, _ in flat], np.array([c for _, c in flat], dtype=int), n
    )
    masks = st.lists(st.booleans(), min_size=n, max_size=n).map(np.array)
    return equations, {"differentiated": draw(masks), "elsewhere": draw(masks)}


@given(problems(), st.booleans())
@settings(max_examples=250, deadline=None)
def test_random_equations(problem, row_by_row):
    equations, known = problem
    with pytest.MonkeyPatch.context() as patch:
        if row_by_row:
            patch.setattr(aliases, "VECTORIZED_ROUNDS", 0)
            patch.setattr(aliases, "ROUND_AT_LEAST", 1e9)
        found = remove_singularities(equations, **known)
    check_exactly(equations, found, **known)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=120, deadline=None)
def test_larger_random_equations(seed):
    chance = random.Random(seed)
    n, m = chance.randint(8, 22), chance.randint(4, 24)
    factors = chance.choice([[1, -1], [1, -1, 1, -1, 2], [2, -3, 5], [2**40, 1, -(3**30)]])
    rows = [
        {chance.randrange(n): chance.choice(factors) for _ in range(chance.choice([1, 2, 2, 3, 3, 3, 6]))}
        for _ in range(m)
    ]
    for _ in range(chance.randint(0, 3)):  # rows that follow from others
        total = Counter(chance.choice(rows))
        total.update(chance.choice(rows))
        rows.insert(chance.randrange(m), dict(total))
    equations = IntegerEquations.from_rows(rows, n)
    shares = [chance.random(), chance.random()]
    states, elsewhere = (np.array([chance.random() < share for _ in range(n)]) for share in shares)
    found = remove_singularities(equations, differentiated=states, elsewhere=elsewhere)
    check_exactly(equations, found, states, elsewhere)
    for number in range(found.remaining.n_rows):  # nothing is left that would be a zero or an alias
        variables, coefficients = found.remaining.row(number)
        assert not np.all(states[variables])
        assert len(variables) > 1
        assert len(variables) > 2 or abs(coefficients[0]) != abs(coefficients[1])


@given(st.integers(2, 6), st.data())
@settings(max_examples=50, deadline=None)
def test_random_circuits(n_nodes, data):
    nodes = st.integers(0, n_nodes - 1)
    ends = data.draw(st.lists(st.tuples(nodes, nodes), min_size=1, max_size=7))
    states = data.draw(st.lists(st.sampled_from(range(len(ends))), unique=True))
    ground = data.draw(st.sampled_from([None, ends[0][0]]))
    case, known = circuit(*zip(*ends, strict=True), ground=ground, states=states)
    found = remove_singularities(case, **known)
    check_exactly(case, found, **known)
    assert found.imbalance == 0  # with or without a ground, connected or not
    graph = nx.MultiGraph(ends)
    assert len(found.arbitrary) == nx.number_connected_components(graph) - (ground is not None)
    loops = nx.MultiGraph([ends[k] for k in states])
    independent = loops.number_of_edges() - loops.number_of_nodes() + nx.number_connected_components(loops)
    assert len(found.hidden_rows) == independent


def test_coefficients_grow_beyond_64_bits():
    big = 2**61 - 1
    size = 6
    matrix = [[big - (i * j) % 7 if i != j else 3 for j in range(size)] for i in range(size)]
    matrix.append([sum(column) for column in zip(*matrix[:3], strict=True)])  # does not fit itself
    equations = from_matrix(matrix)
    assert equations.coefficients.dtype == object
    for states in (np.zeros(size, dtype=bool), np.arange(size) >= 2):
        found = remove_singularities(equations, differentiated=states, elsewhere=~states)
        check_exactly(equations, found, states, ~states)
        assert len(found.redundant) == 1
    # They do not fit either, and stay exact; what follows is that all states are zero.
    assert found.remaining.coefficients.dtype == object
    assert found.hidden.coefficients.tolist() == [1] * found.hidden.n_rows


def test_sums_of_repeated_variables_do_not_overflow():
    most = np.iinfo(np.int64).max
    equations = IntegerEquations([0, 3, 5], [0, 0, 1, 0, 1], np.array([most, most, 1, most, 1]), 2)
    nowhere = np.zeros(2, dtype=bool)
    found = remove_singularities(equations, differentiated=nowhere, elsewhere=~nowhere)
    assert found.zero.tolist() == [0, 1]
    # In 64 bits this sum would be zero, and the row redundant.
    wrapping = IntegerEquations([0, 4], [0, 0, 0, 0], np.full(4, 2**62), 1)
    assert wrapping.normalized().coefficients.tolist() == [1]
    smallest = IntegerEquations([0, 1], [0], np.array([np.iinfo(np.int64).min]), 1)
    assert smallest.coefficients[0] == -(2**63)
    assert smallest.normalized().coefficients.tolist() in ([1], [-1])


def test_long_chains_and_cascades():
    n = 100_000
    rows = np.arange(n - 1)
    pairs = np.stack((rows, rows + 1), 1).ravel()
    indptr = np.append(2 * np.arange(n), 2 * n - 1)
    nowhere = np.zeros(n, dtype=bool)
    for factors, last in (((1, 1), n - 1), ((2, -1), 0)):
        coefficients = np.append(np.tile(factors, n - 1), 1)
        equations = IntegerEquations(indptr, np.append(pairs, last), coefficients, n)
        found = remove_singularities(equations, differentiated=nowhere, elsewhere=~nowhere)
        assert len(found.zero) == n
    open_chain = IntegerEquations(indptr[:-1], pairs, np.ones(2 * n - 2, dtype=int), n)
    found = remove_singularities(open_chain, differentiated=nowhere, elsewhere=~nowhere)
    assert len(found.aliases) == n - 1
    assert found.alias_sign[:5].tolist() == [1, -1, 1, -1, 1]


@pytest.mark.parametrize("grounded", [True, False])
def test_the_ladder_and_the_mesh_stay_sparse(grounded):
    k = np.arange(1, 2001)
    ends = np.concatenate((k, k + 1, [1])), np.concatenate((k + 1, 0 * k, [0]))
    side = np.arange(900).reshape(30, 30)
    grid = (
        np.concatenate((side[:, :-1].ravel(), side[:-1].ravel())),
        np.concatenate((side[:, 1:].ravel(), side[1:].ravel())),
    )
    for (p_node, n_node), states in ((ends, range(2000, 4000)), (grid, ())):
        case, known = circuit(p_node, n_node, ground=0 if grounded else None, states=states)
        found = remove_singularities(case, **known)
        assert len(found.arbitrary) == len(found.redundant) == int(not grounded)
        assert len(found.hidden_rows) == 0
        assert len(found.remaining.variables) <= len(case.variables)  # no fill-in


# --- what a person reads ------------------------------------------------------------------------


def test_the_report_names_everything():
    names = ["x1", "x2", "p", "n", "a", "b"]
    rows = [{0: 1, 2: -1, 3: 1}, {1: 1, 2: -1, 3: 1}, {4: 1, 5: 1}, {4: 2, 5: 2}]
    equations = IntegerEquations.from_rows(rows, 6)
    states = np.array([True, True, False, False, False, False])
    elsewhere = np.array([True, True, False, False, True, True])
    found = remove_singularities(equations, differentiated=states, elsewhere=elsewhere)
    assert found.report(names).splitlines() == [
        "4 integer-linear equations, ranks 1, 2, 3",
        "  redundant equations: 1",
        "    row 3",
        "  arbitrary variables, set to zero: 1",
        "    n",
        "  zero variables: 0",
        "  aliases: 2",
        "    p = x1",
        "    b = -a",
        "  hidden constraints among potential states: 1",
        "    row 1:  -x1 + x2 = 0",
        "  remaining equations: 0",
    ]
    assert "v3" in str(found)
    assert found.warnings(lambda v: names[v].upper())[0].startswith("N was set to zero")


def test_too_many_arbitrary_variables_are_said():
    nowhere = np.zeros(3, dtype=bool)
    found = remove_singularities(
        IntegerEquations.from_rows([{0: 1, 1: 1, 2: 1}], 3), differentiated=nowhere, elsewhere=nowhere
    )
    assert found.imbalance == 2
    assert found.warnings()[-1].startswith("0 equations are redundant but 2 variables are arbitrary: more")


def test_the_balance_is_checked():
    case, known = circuit([0, 0], [1, 1])
    found = remove_singularities(case, **known)
    lost = replace(found, redundant=found.redundant[:0])
    with pytest.raises(AssertionError, match=r"10 rows, but 9 accounted for"):
        check_singularities(lost, known["differentiated"])


def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match="a variable is not in 0"):
        IntegerEquations([0, 1], [3], np.array([1]), 3)
    with pytest.raises(TypeError, match="coefficients have to be integers"):
        IntegerEquations([0, 1], [0], np.array([0.5]), 1)
    nowhere = np.zeros(2, dtype=bool)
    with pytest.raises(ValueError, match="1 variables, but a mask of shape"):
        remove_singularities(
            IntegerEquations([0, 1], [0], np.array([1]), 1), differentiated=nowhere, elsewhere=nowhere
        )


@settings(max_examples=200, deadline=None)
@given(st.lists(st.dictionaries(st.integers(0, 6), st.sampled_from([-3, -2, -1, 1, 2, 3])), max_size=6))
def test_shorter_rows_say_the_same(rows):
    independent = []
    for row in rows:  # as where it is used
        if np.linalg.matrix_rank(as_matrix([*independent, row])) > len(independent):
            independent.append(row)
    shorter = list(shorten(dict(enumerate(independent))).values())
    assert np.linalg.matrix_rank(as_matrix([*independent, *shorter])) == len(independent)
    assert np.linalg.matrix_rank(as_matrix(shorter)) == len(independent)
    assert all(len(new) <= len(old) for new, old in zip(shorter, independent, strict=True))


def test_rows_that_share_most_of_their_variables_come_apart():
    rows = {7: {0: 1, 1: -1, 2: 2, 3: -2}, 9: {2: 1, 3: -1}}
    assert shorten(rows) == {7: {0: 1, 1: -1}, 9: {2: 1, 3: -1}}
    assert rows[7] == {0: 1, 1: -1, 2: 2, 3: -2}


def as_matrix(rows):
    matrix = np.zeros((max(1, len(rows)), 7))
    for k, row in enumerate(rows):
        for variable, coefficient in row.items():
            matrix[k, variable] = coefficient
    return matrix

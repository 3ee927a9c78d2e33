"""Structural passes: arrays against the written-out elements, scale, and validators."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from modia_py.arrays.blt import block_graph, blt, check_blt
from modia_py.arrays.diagnosis import diagnose
from modia_py.arrays.index1 import Slot, check_index1, special_index1
from modia_py.arrays.matching import check_matching, match, reached_from_rows, structure_graph
from modia_py.arrays.pantelides import is_solvable_by_differentiation, pantelides
from modia_py.arrays.structure import NONE, Structure, make_structure, scalarize
from modia_py.arrays.tearing import check_tearing, tear

from .structures import VECTORS, highest_matching, whole_matching, zero_based


def test_long_bands_and_chains_do_not_recurse():
    (vector,) = [v for v in VECTORS if v["name"] == "big_band_n"]
    for n in (*vector["n"], 10_000, 200_000):
        k = np.arange(n)
        columns = np.stack([(k - 1) % n, k, (k + 1) % n], axis=1)
        structure = Structure(
            np.ones(n, np.int64),
            np.ones(n, np.int64),
            np.arange(0, 3 * n + 1, 3),
            columns.ravel(),
            np.ones(3 * n, bool),
            np.full(n, NONE),
            np.full(n, NONE),
        )
        matching, flow = whole_matching(structure)
        assert matching.is_complete()
        blocks = blt(structure, flow, k, k)
        assert len(blocks) == 1
        check_tearing(structure, tear(structure, k, [k]))


def test_long_augmenting_paths():
    """Matching x[k] with equation k + 1 first leaves one augmenting path through everything."""
    n = 100_000
    k = np.arange(n)
    columns = np.stack([np.append(k[1:], n - 1), k], axis=1)
    structure = Structure(
        np.ones(n, np.int64), np.ones(n, np.int64), np.arange(0, 2 * n + 1, 2), columns.ravel(),
        np.ones(2 * n, bool), np.full(n, NONE), np.full(n, NONE),
    )  # fmt: skip
    graph, _ = structure_graph(structure, k, k)
    begun = np.zeros(2 * n, np.int64)
    begun[np.arange(0, 2 * (n - 1), 2)] = 1
    matching = match(graph, begun)
    check_matching(matching)
    assert matching.is_complete()


# Arrays against written-out elements


@st.composite
def structures(draw, derivatives=True):
    count = draw(st.integers(2, 7))
    sizes = draw(st.lists(st.integers(1, 3), min_size=count, max_size=count))
    differentiated = (
        draw(st.lists(st.booleans(), min_size=count, max_size=count)) if derivatives else [False] * count
    )
    link, total = [], count
    for is_state in differentiated:
        link.append(total if is_state else NONE)
        total += is_state
    all_sizes = sizes + [s for s, is_state in zip(sizes, differentiated, strict=True) if is_state]
    equation_sizes = draw(st.permutations(sizes))
    rows = [
        draw(st.lists(st.integers(0, total - 1), min_size=1, max_size=4, unique=True))
        for _ in equation_sizes
    ]
    return make_structure(
        rows,
        total,
        variable_derivative=link + [NONE] * (total - count),
        equation_size=equation_sizes,
        variable_size=all_sizes,
        solvable=[draw(st.lists(st.sampled_from(row), max_size=3)) for row in rows],
    )


@settings(max_examples=200, deadline=None)
@given(structures())
def test_matching_of_arrays_is_that_of_elements(structure):
    matching, _ = whole_matching(structure)
    check_matching(matching)
    scalar, equation_of, variable_of = scalarize(structure)
    single, _ = whole_matching(scalar)
    check_matching(single)
    assert matching.size == single.size
    graph = nx.Graph()
    graph.add_nodes_from((("e", e) for e in range(scalar.equation_count)), bipartite=0)
    for e in range(scalar.equation_count):
        graph.add_edges_from((("e", e), ("v", v)) for v in scalar.variables_of(e).tolist())
    found = nx.bipartite.maximum_matching(graph, [("e", e) for e in range(scalar.equation_count)])
    assert len(found) // 2 == single.size
    arrays = reached_from_rows(matching, matching.unmatched_rows())
    elements = reached_from_rows(single, single.unmatched_rows())
    for array, element, owner in zip(arrays, elements, (equation_of, variable_of), strict=True):
        assert (array[owner] == element).all()


@settings(max_examples=200, deadline=None)
@given(structures())
def test_pantelides_and_blt_of_arrays_are_those_of_elements(structure):
    scalar, equation_of, _ = scalarize(structure)
    regular = is_solvable_by_differentiation(structure)
    assert is_solvable_by_differentiation(scalar) == regular
    assert diagnose(structure).is_regular == regular
    if not regular:
        with pytest.raises(ValueError, match="singular"):
            pantelides(structure)
        return
    arrays, elements = pantelides(structure), pantelides(scalar)
    times = arrays.differentiations(structure.equation_count)
    assert (times[equation_of] == elements.differentiations(scalar.equation_count)).all()
    final, single = arrays.structure, elements.structure
    blocks = blt(final, arrays.flow, final.highest_equations(), final.highest_variables())
    check_blt(final, arrays.flow, blocks)
    pieces = blt(single, elements.flow, single.highest_equations(), single.highest_variables())
    check_blt(single, elements.flow, pieces)
    assert len(blocks) == len(pieces)
    ours = {base_block(final, blocks.equations_of(k), structure.equation_count) for k in range(len(blocks))}
    theirs = {
        frozenset(
            (int(equation_of[e]), order)
            for e, order in base_block(single, pieces.equations_of(k), scalar.equation_count)
        )
        for k in range(len(pieces))
    }
    assert ours == theirs
    assert set(block_graph(final, blocks).nodes) == set(range(len(blocks)))


def base_block(structure, equations, count):
    """A block as base equations with the number of differentiations."""
    integral = structure.integral_of_equation()
    result = []
    for equation in equations.tolist():
        order = 0
        while integral[equation] != NONE:
            equation, order = int(integral[equation]), order + 1
        assert equation < count
        result.append((equation, order))
    return frozenset(result)


@settings(max_examples=300, deadline=None)
@given(structures(), st.booleans(), st.integers(0, 2**16))
def test_index1_form_holds_its_invariants(structure, tearing, seed):
    assume(is_solvable_by_differentiation(structure))
    reduced = pantelides(structure)
    final = reduced.structure
    blocks = blt(final, reduced.flow, final.highest_equations(), final.highest_variables())
    keep = np.random.default_rng(seed).random(final.variable_count) < 0.3
    form = special_index1(final, blocks, tearing=tearing, keep=keep)
    check_index1(form)
    if not tearing:
        assert not len(form.local_equations)
    scalar_size = form.size
    plain = special_index1(final, blocks, tearing=False)
    assert scalar_size <= plain.size


@settings(max_examples=150, deadline=None)
@given(structures())
def test_plain_index1_form_of_arrays_is_that_of_elements(structure):
    assume(is_solvable_by_differentiation(structure))
    forms = []
    for given_structure in (structure, scalarize(structure)[0]):
        reduced = pantelides(given_structure)
        final = reduced.structure
        blocks = blt(final, reduced.flow, final.highest_equations(), final.highest_variables())
        form = special_index1(final, blocks, tearing=False)
        sizes = final.equation_size
        kinds = [int(form.slot_size()[form.kind == kind].sum()) for kind in Slot]
        forms.append((kinds, int(sizes[form.fd].sum()), int(sizes[form.fc].sum())))
    assert forms[0] == forms[1]


@settings(max_examples=150, deadline=None)
@given(structures(derivatives=False))
def test_tearing_of_arrays_is_that_of_elements(structure):
    """Where an equation can be solved for a variable of its size, that is element by element."""
    _, equation_of, variable_of = scalarize(structure)
    first = np.cumsum(structure.variable_size) - structure.variable_size
    rows, solvable = [], []
    for element, e in enumerate(equation_of.tolist()):
        place = element - int(np.flatnonzero(equation_of == e)[0])
        row, may = [], []
        for entry in range(structure.start[e], structure.start[e + 1]):
            v = int(structure.variables[entry])
            if structure.solvable[entry] and structure.equation_size[e] == structure.variable_size[v]:
                row.append(int(first[v]) + place)
                may.append(int(first[v]) + place)
            else:
                row += (first[v] + np.arange(structure.variable_size[v])).tolist()
        rows.append(row)
        solvable.append(may)
    elements = make_structure(rows, len(variable_of), solvable=solvable)
    arrays = tear(structure, np.arange(structure.equation_count), [np.arange(structure.variable_count)])
    single = tear(elements, np.arange(len(rows)), [np.arange(len(variable_of))])
    check_tearing(elements, single)
    ours = set(zip(arrays.equations.tolist(), arrays.variables.tolist(), strict=True))
    theirs = set(
        zip(equation_of[single.equations].tolist(), variable_of[single.variables].tolist(), strict=True)
    )
    assert ours == theirs
    assert structure.equation_size[arrays.equations].sum() == len(single.equations)


@settings(max_examples=100, deadline=None)
@given(structures(derivatives=False), st.integers(0, 2**16))
def test_tearing_is_acyclic_and_maximal(structure, seed):
    rng = np.random.default_rng(seed)
    equations = rng.permutation(structure.equation_count)
    variables = rng.permutation(structure.variable_count)
    groups = [variables[: len(variables) // 2], variables[len(variables) // 2 :]]
    torn = tear(structure, equations, groups)
    check_tearing(structure, torn)
    # no residual could still be solved for a tear variable without a cycle
    for equation in torn.residuals.tolist():
        for entry in range(structure.start[equation], structure.start[equation + 1]):
            variable = int(structure.variables[entry])
            fits = structure.equation_size[equation] == structure.variable_size[variable]
            if structure.solvable[entry] and fits and variable in torn.tears:
                graph = nx.DiGraph()
                pairs = [
                    *zip(torn.equations.tolist(), torn.variables.tolist(), strict=True),
                    (equation, variable),
                ]
                for e, v in pairs:
                    graph.add_edges_from((w, v) for w in structure.variables_of(e).tolist() if w != v)
                assert not nx.is_directed_acyclic_graph(graph)


def test_validators_notice_what_is_wrong():
    (vector,) = [v for v in VECTORS if v["name"] == "coupled_inertias_none_solvable(GGL)"]
    structure = make_structure(
        zero_based(vector["G"]),
        len(vector["A"]),
        variable_derivative=[a - 1 for a in vector["A"]],
        equation_derivative=[b - 1 for b in vector["B"]],
    )
    flow = highest_matching(structure)
    blocks = blt(structure, flow, structure.highest_equations(), structure.highest_variables())
    form = special_index1(structure, blocks)
    check_index1(form)
    none = np.zeros(0, np.int64)
    for wrong in (
        replace(form, fd=np.concatenate([form.fd, form.fc]), fc=none),
        replace(form, chain_variable=form.chain_variable[::-1]),
        replace(form, residual=np.where(form.kind == Slot.MU, form.fd[0], form.residual)),
        replace(form, fd=form.fd[1:]),
    ):
        with pytest.raises(AssertionError):
            check_index1(wrong)
    lost = replace(blocks, equations=blocks.equations[:0], equation_start=blocks.equation_start * 0)
    with pytest.raises(AssertionError):
        check_blt(structure, flow, lost)
    torn = tear(make_structure([[0, 1], [1]], 2, solvable=[[0], []]), np.arange(2), [np.arange(2)])
    check_tearing(make_structure([[0, 1], [1]], 2, solvable=[[0], []]), torn, np.arange(2), np.arange(2))
    with pytest.raises(AssertionError, match="not solvable"):
        check_tearing(make_structure([[0, 1], [1]], 2), torn)
    with pytest.raises(AssertionError, match="left out"):
        check_tearing(
            make_structure([[0, 1], [1]], 2, solvable=[[0], []]),
            replace(torn, residuals=none),
            np.arange(2),
        )


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(20, 300))
def test_tearing_of_larger_random_structures(seed, n):
    rng = np.random.default_rng(seed)
    rows = [np.unique(np.append(rng.integers(0, n, rng.integers(1, 5)), k)) for k in range(n)]
    structure = make_structure(rows, n, solvable=True)
    torn = tear(structure, rng.permutation(n), [rng.permutation(n)])
    check_tearing(structure, torn)


def test_diagnosis_says_what_and_where():
    structure = make_structure(
        [[0, 1], [0], [0], [2, 3]],
        4,
        equation_size=[2, 1, 1, 1],
        variable_size=[1, 2, 1, 1],
        equation_names=["x + y == 0 (a.py:3)", "x == 1 (a.py:4)", "x == 2 (a.py:5)", "z == w (a.py:6)"],
        variable_names=["x", "y", "z", "w"],
    )
    diagnosis = diagnose(structure)
    text = str(diagnosis)
    assert "5 scalar equations for 5 unknowns, as many as needed, but not independent." in text
    assert "Over-determined by 1: 2 equations for only x:" in text
    assert "x == 1 (a.py:4)" in text
    assert "x == 2 (a.py:5)" in text
    assert "a.py:3" not in text
    assert "Under-determined by 1: z, w in only 1 equation:" in text
    few = diagnose(make_structure([[0]], 3, variable_names=["x", "y", "z"]))
    assert "1 scalar equation for 3 unknowns: 2 too few." in str(few)
    assert "Under-determined by 1: y in no equation." in str(few)
    assert diagnose(make_structure([[0]], 1)).is_regular


def test_pictures(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from modia_py.arrays.pictures import incidence_picture

    structure = make_structure([[0, 1], [1], [1, 2]], 3, solvable=True)
    _, flow = whole_matching(structure)
    blocks = blt(structure, flow, np.arange(3), np.arange(3))
    axes = incidence_picture(structure, blocks=blocks, title="BLT")
    assert len(axes.patches) == 3
    axes.figure.savefig(tmp_path / "blt.png")
    matplotlib.pyplot.close(axes.figure)

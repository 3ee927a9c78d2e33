"""Structural passes on published vectors."""

from __future__ import annotations

import numpy as np
import pytest

from modia_py.arrays.blt import blt, check_blt
from modia_py.arrays.index1 import Slot, check_index1, special_index1
from modia_py.arrays.matching import check_matching, match, reached_from_rows, structure_graph
from modia_py.arrays.pantelides import pantelides
from modia_py.arrays.structure import make_structure
from modia_py.arrays.tearing import check_tearing, tear

from .structures import VECTORS, highest_matching, vectors, whole_matching, zero_based


@vectors("matching")
def test_matching_vectors(vector):
    structure = make_structure(zero_based(vector["G"]), vector["nv"])
    matching, _ = whole_matching(structure)
    check_matching(matching)
    expected = vector["expected"]
    assert matching.size == sum(equation > 0 for equation in expected["assign"])
    unmatched = expected.get("unmatched_equations", expected.get("unassigned_equations"))
    assert len(matching.unmatched_rows()) == len(unmatched)
    # which one of several equations is left over depends on the order; it is reached from ours
    rows, _ = reached_from_rows(matching, matching.unmatched_rows())
    assert rows[np.array(unmatched) - 1].all()


@vectors("scc")
def test_components_vectors(vector):
    rows = [sorted({*row, k + 1}) for k, row in enumerate(vector["G"])]  # each is matched with itself
    structure = make_structure(zero_based(rows), len(rows))
    flow = (structure.equation_of_entry() == structure.variables).astype(np.int64)
    everything = np.arange(len(rows))
    blocks = blt(structure, flow, everything, everything)
    check_blt(structure, flow, blocks)
    found = [set((blocks.equations_of(k) + 1).tolist()) for k in range(len(blocks))]
    assert sorted(map(sorted, found)) == sorted(map(sorted, vector["expected"]["components"]))


@vectors("pantelides")
def test_pantelides_vectors(vector):
    count = len(vector["G"])
    structure = make_structure(
        zero_based(vector["G"]),
        vector["nv"],
        variable_derivative=[a - 1 for a in vector["A"]],
        variable_names=vector["variables"],
        equation_names=vector["equations"],
    )
    reduced = pantelides(structure)
    expected = vector["expected"]
    final = reduced.structure
    assert reduced.differentiations(count).tolist() == expected["differentiations_per_equation"]
    assert (final.variable_derivative + 1).tolist() == expected["A"]
    assert (final.equation_derivative + 1).tolist() == expected["B"]
    rows = [sorted((final.variables_of(e) + 1).tolist()) for e in range(final.equation_count)]
    assert rows == expected["G_after_recomputed"]
    assert final.variable_name(9) == "der2(x)" or final.variable_name(9) == "der(der(x))"
    blocks = blt(final, reduced.flow, final.highest_equations(), final.highest_variables())
    assert len(blocks) == 1
    # with x and w known there is a sequence of blocks
    unknowns = np.setdiff1d(np.arange(final.variable_count), [0, 2])
    everything = np.arange(final.equation_count)
    graph, entries = structure_graph(final, everything, unknowns)
    flow = np.zeros(len(final.variables), np.int64)
    flow[entries] = match(graph).flow
    ordered = blt(final, flow, everything, unknowns)
    check_blt(final, flow, ordered)
    found = [set((ordered.equations_of(k) + 1).tolist()) for k in range(len(ordered))]
    published = [set(block) for block in expected["with_states_x_w_known(1,3)"]["BLT"]]
    assert sorted(map(sorted, found)) == sorted(map(sorted, published))


@pytest.mark.parametrize(
    ("initial", "regular"), [((0, 1), False), ((0, 2), True), ((2, 3), True)], ids=["x y", "x w", "w z"]
)
def test_initial_conditions_of_the_pendulum(initial, regular):
    (vector,) = [v for v in VECTORS if v["kind"] == "pantelides"]
    rows = zero_based(vector["expected"]["G_after_recomputed"]) + [[v] for v in initial]
    structure = make_structure(rows, 11)
    assert whole_matching(structure)[0].is_complete() == regular


@vectors("tearing")
def test_tearing_vectors(vector):
    count = vector.get("nv", 10)
    structure = make_structure(zero_based(vector["G"]), count, solvable=True)
    given = vector["vs"] if isinstance(vector["vs"][0], list) else [vector["vs"]]
    torn = tear(
        structure,
        np.array(vector["es"]) - 1,
        [np.array(group) - 1 for group in given],
        np.array(vector.get("eSolvedFixed", []), np.int64) - 1,
        np.array(vector.get("vSolvedFixed", []), np.int64) - 1,
    )
    check_tearing(structure, torn)
    expected = vector["expected"]
    assert (torn.tears + 1).tolist() == expected["vTear"]
    if "eSolved" in expected:
        pairs = dict(zip((torn.equations + 1).tolist(), (torn.variables + 1).tolist(), strict=True))
        assert pairs == dict(zip(expected["eSolved"], expected["vSolved"], strict=True))
        assert (torn.residuals + 1).tolist() == expected["eResidue"]


@vectors("special_index1_form")
def test_index1_vectors(vector):
    sizes = {}
    if vector["name"] == "sliding_mass_array":
        sizes = {
            "variable_size": [1, 3, 3, 3, 3, 1, 1, 3, 3, 3, 1, 1],
            "equation_size": [3, 3, 3, 1, 3, 3, 3, 3, 1],
        }
    solvable = vector["Gsolvable"]
    structure = make_structure(
        zero_based(vector["G"]),
        len(vector["A"]),
        variable_derivative=[a - 1 for a in vector["A"]],
        equation_derivative=[b - 1 for b in vector["B"]],
        solvable=True if isinstance(solvable, str) else zero_based(solvable),
        **sizes,
    )
    flow = highest_matching(structure)
    blocks = blt(structure, flow, structure.highest_equations(), structure.highest_variables())
    check_blt(structure, flow, blocks)
    form = special_index1(structure, blocks)
    check_index1(form)
    expected, categories = vector["expected"], vector["residue_categories_recomputed"]
    assert form.size == expected["nx"]
    assert len(form.fc) == expected["nc"]
    assert int((form.kind == Slot.MU).sum()) == expected.get("n_mue", 0)
    assert len(form.chain_slot) == categories["n_der_chain"]
    assert len(form.fd) == len(categories["RD"])
    assert set((form.fc + 1).tolist()) == {*categories["RA"], *categories["R0"], *categories["R1"]}
    ours = sorted(zip((form.value + 1).tolist(), (form.derivative + 1).tolist(), strict=True))
    published = sorted(
        [*zip(expected["Vx"], expected["Vderx"], strict=True), *[(0, 0)] * expected.get("n_mue", 0)]
    )
    if vector["name"] == "coupled_inertias_subset_solvable":
        assert ours == [(2, 0), (7, 11)]  # the other inertia: the scan order decides
        assert published == [(5, 0), (9, 12)]
    else:
        assert ours == published

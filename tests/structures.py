"""Published structural vectors, and matchings of whole structures: what several tests need."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from modia_py.arrays.matching import match, structure_graph

VECTORS = json.loads((Path(__file__).parent / "data" / "modia_structural.json").read_text())["structural"]


def vectors(kind):
    chosen = [vector for vector in VECTORS if vector["kind"] == kind]
    assert chosen
    return pytest.mark.parametrize("vector", chosen, ids=[vector["name"] for vector in chosen])


def zero_based(lists):
    return [[index - 1 for index in row] for row in lists]


def whole_matching(structure):
    graph, entries = structure_graph(
        structure, np.arange(structure.equation_count), np.arange(structure.variable_count)
    )
    matching = match(graph)
    flow = np.zeros(len(structure.variables), np.int64)
    flow[entries] = matching.flow
    return matching, flow


def highest_matching(structure):
    graph, entries = structure_graph(
        structure, structure.highest_equations(), structure.highest_variables()
    )
    flow = np.zeros(len(structure.variables), np.int64)
    flow[entries] = match(graph).flow
    return flow

"""Maximum matching of array equations with array variables.

With node capacities (the sizes) a matching of the written-out elements is a maximum flow between the
arrays: `flow` says how many elements of an equation are matched with elements of a variable. Where all
sizes are equal the flow is a plain bipartite matching. Both are scipy's, in C and without recursion.

What is not matched, and whatever depends on it, is found as what the residual graph reaches: from an
equation to all its variables, from a variable to the equations it is matched with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import breadth_first_order, maximum_bipartite_matching, maximum_flow

from .distinct import distinct
from .structure import NONE, Integers, Structure


@dataclass(frozen=True, eq=False)
class Graph:
    """A bipartite graph with capacities: entry k joins equation `row[k]` with variable `column[k]`."""

    row: Integers
    column: Integers
    row_capacity: Integers
    column_capacity: Integers


@dataclass(frozen=True, eq=False)
class Matching:
    """`flow[k]` elements are matched along entry k of the graph."""

    graph: Graph
    flow: Integers

    def matched_rows(self) -> Integers:
        """How many elements of each equation are matched."""
        return np.bincount(self.graph.row, self.flow, len(self.graph.row_capacity)).astype(np.int64)

    def matched_columns(self) -> Integers:
        return np.bincount(self.graph.column, self.flow, len(self.graph.column_capacity)).astype(np.int64)

    @property
    def size(self) -> int:
        return int(self.flow.sum())

    def is_complete(self) -> bool:
        """Whether every element of every equation is matched."""
        return bool((self.matched_rows() == self.graph.row_capacity).all())

    def unmatched_rows(self) -> Integers:
        return np.flatnonzero(self.matched_rows() < self.graph.row_capacity)

    def unmatched_columns(self) -> Integers:
        return np.flatnonzero(self.matched_columns() < self.graph.column_capacity)

    def __str__(self) -> str:
        total = int(self.graph.row_capacity.sum())
        return f"{self.size} of {total} scalar equations matched"


def match(graph: Graph, known: Integers | None = None) -> Matching:
    """A maximum matching. `known` is a flow to begin with; most of it is kept."""
    if known is None:
        return Matching(graph, _maximum(graph))
    begun = Matching(graph, known)
    if begun.is_complete():
        return begun
    # Alternating paths from unmatched equations stay within what these reach: only that part can change.
    rows, columns = reached_from_rows(begun, begun.unmatched_rows())
    inside = rows[graph.row] & columns[graph.column]
    part = Graph(
        _renumber(rows)[graph.row[inside]],
        _renumber(columns)[graph.column[inside]],
        graph.row_capacity[rows],
        graph.column_capacity[columns],
    )
    flow = known.copy()
    flow[inside] = _maximum(part)
    return Matching(graph, flow)


def _renumber(chosen: Integers) -> Integers:
    return np.cumsum(chosen) - 1


def _maximum(graph: Graph) -> Integers:
    sizes = distinct(np.concatenate([graph.row_capacity, graph.column_capacity]))
    if len(graph.row) == 0:
        return np.zeros(0, np.int64)
    if len(sizes) == 1:
        return sizes[0] * _bipartite(graph)
    return _flow(graph)


def _bipartite(graph: Graph) -> Integers:
    shape = (len(graph.row_capacity), len(graph.column_capacity))
    matrix = csr_matrix((np.ones(len(graph.row), np.int8), (graph.row, graph.column)), shape)
    column_of = maximum_bipartite_matching(matrix, perm_type="column")
    matched = column_of[graph.row] == graph.column
    # An entry given twice must not count twice.
    first = np.zeros(len(graph.row), np.int64)
    keys, places = np.unique(graph.row[matched], return_index=True)
    first[np.flatnonzero(matched)[places]] = 1
    assert len(keys) == len(places)
    return first


def _flow(graph: Graph) -> Integers:
    rows, columns = len(graph.row_capacity), len(graph.column_capacity)
    if graph.row_capacity.sum() >= 2**31 or graph.column_capacity.sum() >= 2**31:
        raise OverflowError("more than 2^31 scalar equations in one structure")
    source, sink = rows + columns, rows + columns + 1
    limit = np.minimum(graph.row_capacity[graph.row], graph.column_capacity[graph.column])
    tail = np.concatenate([np.full(rows, source), graph.row, rows + np.arange(columns)])
    head = np.concatenate([np.arange(rows), rows + graph.column, np.full(columns, sink)])
    capacity = np.concatenate([graph.row_capacity, limit, graph.column_capacity])
    # Equal entries add up in the sparse matrix, which does no harm: the nodes limit the flow.
    network = coo_matrix((capacity, (tail, head)), (sink + 1, sink + 1)).tocsr().astype(np.int32)
    flow = maximum_flow(network, source, sink, method="dinic").flow.tocsr()
    values = np.asarray(flow[graph.row, rows + graph.column]).ravel().astype(np.int64)
    _, first = np.unique(graph.row * columns + graph.column, return_index=True)
    only_first = np.zeros(len(values), np.int64)
    only_first[first] = values[first]
    return only_first


def reached_from_rows(matching: Matching, rows: Integers) -> tuple[Integers, Integers]:
    """Masks of the equations and variables that alternating paths from these equations reach."""
    graph = matching.graph
    used = matching.flow > 0
    count = len(graph.row_capacity)
    tail = np.concatenate([graph.row, count + graph.column[used]])
    head = np.concatenate([count + graph.column, graph.row[used]])
    found = reached(tail, head, count + len(graph.column_capacity), rows)
    return found[:count], found[count:]


def reached_from_columns(matching: Matching, columns: Integers) -> tuple[Integers, Integers]:
    """The same from variables: to all their equations, and on to what these are matched with."""
    graph = matching.graph
    used = matching.flow > 0
    count = len(graph.row_capacity)
    tail = np.concatenate([count + graph.column, graph.row[used]])
    head = np.concatenate([graph.row, count + graph.column[used]])
    found = reached(tail, head, count + len(graph.column_capacity), count + columns)
    return found[:count], found[count:]


def reached(tail: Integers, head: Integers, count: int, begin: Integers) -> Integers:
    """Mask of the nodes that can be reached from some along edges from tail to head."""
    tail = np.concatenate([tail, np.full(len(begin), count)])
    head = np.concatenate([head, begin])
    graph = csr_matrix((np.ones(len(tail), np.int8), (tail, head)), (count + 1, count + 1))
    found = np.zeros(count + 1, bool)
    found[breadth_first_order(graph, count, return_predecessors=False)] = True
    return found[:count]


def structure_graph(
    structure: Structure, equations: Integers, variables: Integers, hidden: Integers | None = None
) -> tuple[Graph, Integers]:
    """The graph between some equations and some variables, and the entries of the structure in it.

    Entries with the flag `hidden` are left out.
    """
    row_of = np.full(structure.equation_count, NONE)
    row_of[equations] = np.arange(len(equations))
    column_of = np.full(structure.variable_count, NONE)
    column_of[variables] = np.arange(len(variables))
    row, column = row_of[structure.equation_of_entry()], column_of[structure.variables]
    is_inside = (row != NONE) & (column != NONE)
    entries = np.flatnonzero(is_inside if hidden is None else is_inside & ~hidden)
    graph = Graph(
        row[entries],
        column[entries],
        structure.equation_size[equations],
        structure.variable_size[variables],
    )
    return graph, entries


def check_matching(matching: Matching) -> None:
    """Capacities are kept, and no augmenting path is left."""
    assert (matching.flow >= 0).all()
    assert (matching.matched_rows() <= matching.graph.row_capacity).all()
    assert (matching.matched_columns() <= matching.graph.column_capacity).all()
    _, columns = reached_from_rows(matching, matching.unmatched_rows())
    free = matching.matched_columns() < matching.graph.column_capacity
    assert not (columns & free).any(), "a variable that is free can be reached from a free equation"

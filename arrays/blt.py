"""Blocks of array equations that have to be solved together, in an order in which they can be.

An equation needs its variables, a variable needs the equations it is matched with: the blocks are the
strongly connected components of that graph (block lower triangular form; Tarjan 1972, here Pearce's
algorithm in scipy). All elements of an array equation are in one block, because by conceptual
scalarization each of them contains all variables the others are matched with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from .distinct import distinct
from .structure import NONE, Integers, Structure


@dataclass(frozen=True, eq=False)
class Blocks:
    """Equations and variables that have to be solved together, in an order in which they can be.

    Attributes
    ----------
    equation_start, equations : array of int
        Block k has `equations[equation_start[k]:equation_start[k + 1]]`.
    variable_start, variables : array of int
        The same for variables.
    """

    equation_start: Integers
    equations: Integers
    variable_start: Integers
    variables: Integers

    def __len__(self) -> int:
        return len(self.equation_start) - 1

    def equations_of(self, block: int) -> Integers:
        """Give the equations of a block.

        Parameters
        ----------
        block : int
            Its number.

        Returns
        -------
        array of int
            Their numbers.
        """
        return self.equations[self.equation_start[block] : self.equation_start[block + 1]]

    def variables_of(self, block: int) -> Integers:
        """Give the variables of a block.

        Parameters
        ----------
        block : int
            Its number.

        Returns
        -------
        array of int
            Their numbers.
        """
        return self.variables[self.variable_start[block] : self.variable_start[block + 1]]

    def block_of_equation(self, count: int) -> Integers:
        """Give the block of each equation.

        Parameters
        ----------
        count : int
            The number of equations.

        Returns
        -------
        array of int
            -1 for those in none.
        """
        return _owner(self.equation_start, self.equations, count)

    def block_of_variable(self, count: int) -> Integers:
        """Give the block of each variable.

        Parameters
        ----------
        count : int
            The number of variables.

        Returns
        -------
        array of int
            -1 for those in none.
        """
        return _owner(self.variable_start, self.variables, count)

    def __str__(self) -> str:
        sizes = np.diff(self.equation_start)
        if not len(sizes):
            return "no blocks"
        values, counts = np.unique(sizes, return_counts=True)
        listed = ", ".join(f"{c} of {v}" for v, c in list(zip(values, counts, strict=True))[::-1][:6])
        return f"{len(self)} blocks of array equations: {listed}"


def _owner(start: Integers, members: Integers, count: int) -> Integers:
    owner = np.full(count, NONE)
    owner[members] = np.repeat(np.arange(len(start) - 1), np.diff(start))
    return owner


def blt(
    structure: Structure,
    flow: Integers,
    equations: Integers,
    variables: Integers,
    more: tuple[Integers, Integers] | None = None,
) -> Blocks:
    """Sort equations into blocks, first to be solved first.

    Parameters
    ----------
    structure : Structure
        Who occurs where, at which derivative order.
    flow : array of int
        For entry k of `structure.variables`, how many elements are matched there: see `pantelides`.
    equations, variables : array of int
        Those to be sorted; the others are known.
    more : tuple of arrays of int, optional
        Equations, and variables that these count as needing though they do not contain them.

    Returns
    -------
    Blocks
        The strongly connected components, in order.

    Examples
    --------
    >>> import numpy as np
    >>> from modia_py.arrays import blt, make_structure, pantelides
    >>> chain = pantelides(make_structure([[0, 1], [1]], 2))
    >>> blocks = blt(chain.structure, chain.flow, np.arange(2), np.arange(2))
    >>> [blocks.variables_of(k).tolist() for k in range(len(blocks))]
    [[1], [0]]
    """
    unknown = np.zeros(structure.variable_count, bool)
    unknown[variables] = True
    chosen = np.zeros(structure.equation_count, bool)
    chosen[equations] = True
    row_of_entry = structure.equation_of_entry()
    entries = np.flatnonzero(chosen[row_of_entry] & unknown[structure.variables])
    row, column = row_of_entry[entries], structure.variables[entries]
    matched = flow[entries] > 0
    count = structure.equation_count
    if more is not None:
        inside = chosen[more[0]] & unknown[more[1]]
        row, column = np.append(row, more[0][inside]), np.append(column, more[1][inside])
        matched = np.append(matched, np.zeros(inside.sum(), bool))
    needs = np.concatenate([row, count + column[matched]])
    needed = np.concatenate([count + column, row[matched]])
    label = components_in_order(needs, needed, count + structure.variable_count)
    equation_label = label[equations]
    order = np.argsort(equation_label, kind="stable")
    labels, equation_start = np.unique(equation_label[order], return_index=True)
    variable_label = label[count + variables]
    inside = np.isin(variable_label, labels)
    variables, variable_label = variables[inside], variable_label[inside]
    variable_order = np.argsort(variable_label, kind="stable")
    variable_start = np.searchsorted(variable_label[variable_order], labels)
    return Blocks(
        np.append(equation_start, len(equations)),
        equations[order],
        np.append(variable_start, len(variables)),
        variables[variable_order],
    )


def components_in_order(tail: Integers, head: Integers, count: int) -> Integers:
    """Label the strong components of a graph in order.

    Parameters
    ----------
    tail, head : array of int
        For each arrow the node that needs another, and the one that is needed.
    count : int
        The number of nodes.

    Returns
    -------
    array of int
        A label for each node; what is needed has a smaller one than what needs it.

    Examples
    --------
    >>> import numpy as np
    >>> from modia_py.arrays.blt import components_in_order
    >>> components_in_order(np.array([0, 1, 1]), np.array([1, 0, 2]), 3).tolist()
    [1, 1, 0]
    """
    graph = csr_matrix((np.ones(len(tail), np.int8), (tail, head)), (count, count))
    label = connected_components(graph, directed=True, connection="strong")[1].astype(np.int64)
    # A depth-first search finishes components in topological order, and scipy numbers them as they are
    # finished; it does not promise so, therefore this is checked and otherwise done again.
    if (label[tail] >= label[head]).all():
        return label
    if (label[tail] <= label[head]).all():
        return label.max() - label
    return _sorted_labels(label, tail, head)


def _sorted_labels(label: Integers, tail: Integers, head: Integers) -> Integers:
    import networkx as nx  # takes long to import, and not every model needs it

    condensed = nx.DiGraph()
    condensed.add_nodes_from(range(label.max() + 1))
    different = label[tail] != label[head]
    condensed.add_edges_from(zip(label[head[different]], label[tail[different]], strict=True))
    rank = np.empty(label.max() + 1, np.int64)
    rank[list(nx.topological_sort(condensed))] = np.arange(label.max() + 1)
    return rank[label]


def blocks_of_nodes(structure: Structure, blocks: Blocks) -> tuple[Integers, Integers]:
    """The block of each equation and of each variable, on every level; NONE where there is none."""
    return (
        _handed_down(blocks.block_of_equation(structure.equation_count), structure.integral_of_equation()),
        _handed_down(blocks.block_of_variable(structure.variable_count), structure.integral_of_variable()),
    )


def _handed_down(block_of: Integers, integral: Integers) -> Integers:
    """Blocks of the highest nodes, given to what these are derivatives of."""
    block_of = block_of.copy()
    level = np.flatnonzero(block_of != NONE)
    while len(level):
        level = level[integral[level] != NONE]
        block_of[integral[level]] = block_of[level]
        level = integral[level]
    return block_of


def block_graph(structure: Structure, blocks: Blocks) -> Any:
    """The blocks as a networkx graph; an edge leads from a block to one that needs its variables."""
    import networkx as nx

    graph = nx.DiGraph()
    for block in range(len(blocks)):
        graph.add_node(
            block,
            equations=[structure.equation_name(e) for e in blocks.equations_of(block)],
            variables=[structure.variable_name(v) for v in blocks.variables_of(block)],
        )
    block_of_variable = blocks.block_of_variable(structure.variable_count)
    block_of_equation = blocks.block_of_equation(structure.equation_count)
    source = block_of_variable[structure.variables]
    target = block_of_equation[structure.equation_of_entry()]
    linked = (source != NONE) & (target != NONE) & (source != target)
    graph.add_edges_from(
        map(tuple, np.unique(np.stack([source[linked], target[linked]], 1), axis=0).tolist())
    )
    return graph


def check_blt(structure: Structure, flow: Integers, blocks: Blocks) -> None:
    """Check that sizes agree, that matched pairs stay together, and that no block needs a later one.

    Parameters
    ----------
    structure : Structure
        Who occurs where, at which derivative order.
    flow : array of int
        The matching.
    blocks : Blocks
        What `blt` has returned.

    Raises
    ------
    AssertionError
        If something is wrong.
    """
    for start, members in (
        (blocks.equation_start, blocks.equations),
        (blocks.variable_start, blocks.variables),
    ):
        assert len(distinct(members)) == len(members)
        assert start[-1] == len(members)
    equation_sum = np.add.reduceat(
        np.append(structure.equation_size[blocks.equations], 0), blocks.equation_start[:-1]
    )
    variable_sum = np.add.reduceat(
        np.append(structure.variable_size[blocks.variables], 0), blocks.variable_start[:-1]
    )
    assert (equation_sum == variable_sum).all(), "a block is not square"
    needs = blocks.block_of_equation(structure.equation_count)[structure.equation_of_entry()]
    needed = blocks.block_of_variable(structure.variable_count)[structure.variables]
    both = (needs != NONE) & (needed != NONE)
    assert (needs[both] >= needed[both]).all(), "a block needs a later one"
    matched = flow > 0
    assert both[matched].all(), "a matched pair is in no block"
    assert (needs[matched] == needed[matched]).all(), "a matched pair is split"

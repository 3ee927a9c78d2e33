"""Zeros and aliases: rows with one or two variables, substituted until there are none.

``c a = 0`` makes a zero, ``a - b = 0`` an alias and ``a + b = 0`` a negated alias. All such rows of a round
form a graph: variables are nodes, two-variable rows edges with a sign, and every connected component
gets one representative, with signs multiplied along a spanning tree. A row outside the tree stays
and is substituted like all others: it vanishes (redundant), or says ``2 a = 0`` where the signs around a
cycle contradict each other, and the next round makes a and its aliases zero.

Potential states (`kept`) are never replaced. A component with rows ``a = x`` for states x is attached
to ONE of them; its other such rows become ``x1 - x2 = 0`` by substitution, which says something about
states and is therefore a constraint to be kept, not an alias. The representative is the variable of the
highest priority: with the pivot class as priority, each row removes a variable of the lowest class in it.

Rows that differ in one of three variables, as those of parallel components, give short rows as well.

Rounds are vectorized. A cascade in which every round reveals only a few new short rows is finished
row by row, so that its cost is that of the rows touched.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from .distinct import distinct
from .elimination import SparseRows
from .integer_equations import Bools, IntegerEquations, Ints, stacked

ITSELF, ZERO = -1, -2  # marks among the targets of a substitution
VECTORIZED_ROUNDS = 8  # tried before a round has to be worth its cost ...
ROUND_AT_LEAST = 0.01  # ... by using up this share of the rows


@dataclass
class Reduction:
    """Work in progress: the rows not used yet, and what each variable is replaced by.

    `target[v]` is a variable, ITSELF or ZERO; `determined_by[v]` is the number of the row used up for it.
    """

    rows: IntegerEquations
    numbers: Ints
    target: Ints
    sign: Ints
    determined_by: Ints
    redundant: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, equations: IntegerEquations, numbers: Ints | None = None) -> Reduction:
        n = equations.n_variables
        nothing, plus = np.full(n, ITSELF), np.ones(n, dtype=np.int64)
        numbers = np.arange(equations.n_rows) if numbers is None else numbers
        return cls(equations.normalized(), numbers, nothing.copy(), plus, nothing.copy())

    def drop_empty(self) -> None:
        empty = self.rows.lengths == 0
        if empty.any():
            self.redundant.extend(self.numbers[empty].tolist())
            self.keep(~empty)

    def keep(self, rows: NDArray) -> None:
        self.rows, self.numbers = self.rows.select(rows), self.numbers[rows]

    def adopt(self, other: Reduction) -> None:
        """Replace what another reduction replaced, with rows of the same numbers, and use up these."""
        found = other.determined_by >= 0
        for name in ("target", "sign", "determined_by"):
            getattr(self, name)[found] = getattr(other, name)[found]
        self.keep(~np.isin(self.numbers, other.determined_by[found]))
        self.substitute()

    def substitute(self) -> None:
        """Apply targets to the rows. Only rows with a replaced variable change."""
        rows, target = self.rows, self.target
        replaced = target[rows.variables] != ITSELF
        touched = np.zeros(rows.n_rows, dtype=bool)
        touched[rows.row_of_entry[replaced]] = True
        old = rows.select(touched)
        old = old.without_entries(target[old.variables] == ZERO)
        moved = target[old.variables] != ITSELF
        variables, coefficients = old.variables.copy(), old.coefficients.copy()
        coefficients[moved] *= self.sign[variables[moved]]
        variables[moved] = target[variables[moved]]
        new = IntegerEquations(old.indptr, variables, coefficients, rows.n_variables).normalized()
        self.rows = stacked(rows.select(~touched), new)
        self.numbers = np.concatenate((self.numbers[~touched], self.numbers[touched]))
        self.drop_empty()

    def resolve(self) -> None:
        """Let every target be a variable that is itself not replaced."""
        while True:
            replaced = np.flatnonzero(self.target >= 0)
            via = self.target[replaced]
            further = self.target[via] != ITSELF
            if not further.any():
                return
            replaced, via = replaced[further], via[further]
            self.sign[replaced] *= self.sign[via]
            self.target[replaced] = self.target[via]


@dataclass(frozen=True)
class ShortRows:
    """The rows with one or two variables that allow a variable to be removed, as a graph."""

    nodes: Ints  # variables that are not kept, in increasing order
    edge_rows: Ints  # positions of rows between two of them
    edges: Ints  # (2, number of edges): positions in nodes
    edge_signs: Ints  # node = sign * other node
    attachment: Ints  # per node: position of the row that ties it to zero or to a kept variable, or -1
    attached_to: Ints  # ZERO, a kept variable, or ITSELF
    attachment_sign: Ints


def short_rows(rows: IntegerEquations, kept: Bools) -> ShortRows:
    lengths, starts = rows.lengths, rows.indptr[:-1]
    ones = np.flatnonzero(lengths == 1)
    zeros = rows.variables[starts[ones]]
    ones, zeros = ones[~kept[zeros]], zeros[~kept[zeros]]

    twos = np.flatnonzero(lengths == 2)
    first, second = starts[twos], starts[twos] + 1
    # Rows are divided by their common divisor: equal magnitudes are ones.
    unit = np.abs(rows.coefficients[first]) == np.abs(rows.coefficients[second])
    left, right = rows.variables[first], rows.variables[second]
    usable = unit.astype(bool) & ~(kept[left] & kept[right])
    twos, left, right, first, second = (a[usable] for a in (twos, left, right, first, second))
    signs = (-rows.coefficients[first] * rows.coefficients[second]).astype(np.int64)
    left, right = np.where(kept[left], right, left), np.where(kept[left], left, right)
    tied = kept[right]

    nodes = distinct(np.concatenate((zeros, left, right[~tied])))
    attachment = np.full(len(nodes), -1)
    attached_to = np.full(len(nodes), ITSELF)
    attachment_sign = np.ones(len(nodes), dtype=np.int64)
    # Assigned from the last row to the first, so that the first wins; zeros win over kept variables.
    at = np.searchsorted(nodes, left[tied])[::-1]
    attachment[at], attached_to[at] = twos[tied][::-1], right[tied][::-1]
    attachment_sign[at] = signs[tied][::-1]
    at = np.searchsorted(nodes, zeros)[::-1]
    attachment[at], attached_to[at], attachment_sign[at] = ones[::-1], ZERO, 1
    edges = np.searchsorted(nodes, np.stack((left[~tied], right[~tied])))
    return ShortRows(nodes, twos[~tied], edges, signs[~tied], attachment, attached_to, attachment_sign)


def choose_roots(short: ShortRows, priority: NDArray) -> Ints:
    """A node of each connected component: tied to zero, else to a kept variable, else of high priority."""
    n = len(short.nodes)
    graph = coo_array((np.ones(short.edges.shape[1]), tuple(short.edges)), shape=(n, n))
    _, component = connected_components(graph.tocsr(), directed=False)
    preference = np.select((short.attached_to == ZERO, short.attached_to >= 0), (2, 1), 0)
    order = np.lexsort((-np.arange(n), priority[short.nodes], preference, component))
    last = np.append(np.diff(component[order]) != 0, True)
    return order[last]


def merge(reduction: Reduction, short: ShortRows, priority: NDArray) -> None:
    """Give every node of the short rows its target, use up the rows of a spanning forest."""
    n = len(short.nodes)
    roots = choose_roots(short, priority)
    ends = np.concatenate((short.edges, np.stack((np.full(len(roots), n), roots))), axis=1)
    graph = coo_array((np.ones(ends.shape[1]), tuple(ends)), shape=(n + 1, n + 1))
    _, parent = breadth_first_order(graph.tocsr(), n, directed=False, return_predecessors=True)
    parent = parent[:n].astype(np.int64)
    parent[roots] = roots

    # The row of each tree edge: the first of the rows between child and parent.
    low, high = np.sort(short.edges, axis=0)
    keys, first_edge = np.unique(low * n + high, return_index=True)
    child = np.flatnonzero(parent != np.arange(n))
    ancestor = parent[child]
    key = np.minimum(child, ancestor) * n + np.maximum(child, ancestor)
    edge = first_edge[np.searchsorted(keys, key)]
    sign = np.ones(n, dtype=np.int64)
    sign[child] = short.edge_signs[edge]
    row_of = short.attachment.copy()
    row_of[child] = short.edge_rows[edge]

    # Signs multiply towards the root. Doubling the stride takes log(depth) rounds, however long a chain.
    root = parent
    while np.any(root[root] != root):
        sign *= sign[root]
        root = root[root]

    final = np.where(short.attached_to[root] == ITSELF, short.nodes[root], short.attached_to[root])
    replaced = (np.arange(n) != root) | (short.attached_to[root] != ITSELF)
    variables = short.nodes[replaced]
    reduction.target[variables] = final[replaced]
    reduction.sign[variables] = (sign * short.attachment_sign[root])[replaced]
    reduction.determined_by[variables] = reduction.numbers[row_of[replaced]]
    used = np.zeros(reduction.rows.n_rows, dtype=bool)
    used[row_of[replaced]] = True
    reduction.keep(~used)
    reduction.substitute()


def simplify(reduction: Reduction, kept: Bools, priority: NDArray) -> None:
    """Use up rows with one or two variables, until there is none that removes a variable."""
    reduction.drop_empty()
    for round_number in count():
        short = short_rows(reduction.rows, kept)
        if not len(short.nodes):
            break
        if round_number >= VECTORIZED_ROUNDS and len(short.nodes) < ROUND_AT_LEAST * reduction.rows.n_rows:
            _finish_cascade(reduction, kept, priority)
            break
        merge(reduction, short, priority)
    reduction.resolve()


def subtract_parallel_rows(reduction: Reduction) -> bool:
    """Where rows say ``u1 = p - n`` and ``u2 = p - n``, let the later say ``u1 - u2 = 0``. Were there any?

    Components between the same two nodes do this. Rows have three variables with coefficients +-1, and
    share two of them. The earlier row stays, so its number no longer tells which original rows it comes
    from: only for rows known to be independent, where that does not matter any more.
    """
    rows = reduction.rows
    three = np.flatnonzero(rows.lengths == 3)
    entries = rows.indptr[three][:, None] + np.arange(3)
    unit = (np.abs(rows.coefficients[entries]) == 1).all(axis=1)
    three, entries = three[unit], entries[unit]
    # Each row three times: a pair of variables, scaled to start with the coefficient 1, and the third.
    entries = np.concatenate([entries[:, order] for order in ((0, 1, 2), (0, 2, 1), (1, 2, 0))])
    row, variables = np.tile(three, 3), rows.variables[entries]
    coefficients = rows.coefficients[entries].astype(np.int64)
    coefficients *= coefficients[:, :1]
    order = np.lexsort((row, coefficients[:, 1], variables[:, 1], variables[:, 0]))
    row, variables, coefficients = row[order], variables[order], coefficients[order]
    pair = np.column_stack((variables[:, :2], coefficients[:, 1]))
    again = np.flatnonzero((pair[1:] == pair[:-1]).all(axis=1)) + 1  # the same pair as in the row before
    later, first = np.unique(row[again], return_index=True)
    if not len(later):
        return False
    at = again[first]
    thirds = np.stack((variables[at, 2], variables[at - 1, 2]), axis=1)
    factors = np.stack((coefficients[at, 2], -coefficients[at - 1, 2]), axis=1)
    differences = IntegerEquations(
        2 * np.arange(len(later) + 1), thirds.ravel(), factors.ravel(), rows.n_variables
    )
    other = np.ones(rows.n_rows, dtype=bool)
    other[later] = False
    reduction.numbers = np.concatenate((reduction.numbers[other], reduction.numbers[later]))
    reduction.rows = stacked(rows.select(other), differences.normalized())
    reduction.drop_empty()
    return True


def _finish_cascade(reduction: Reduction, kept: Bools, priority: NDArray) -> None:
    """The same, row by row: what is replaced is the variable of lower priority, or in fewer rows."""
    sparse = SparseRows(reduction.rows, reduction.numbers, ~kept)
    rows, columns, importance = sparse.rows, sparse.columns, priority.tolist()
    waiting = [number for number, row in rows.items() if len(row) <= 2]
    replaced: list[tuple[int, int, int, int]] = []  # variable, target, sign, row used up
    while waiting:
        number = waiting.pop()
        row = rows.get(number, {})
        if len(row) > 2 or len({abs(coefficient) for coefficient in row.values()}) != 1:
            continue
        choices = [(importance[v], len(columns[v]), v) for v in row if v in columns]
        if not choices:
            continue
        variable = min(choices)[-1]
        used, changed = sparse.take(number, variable)
        own = used.pop(variable)
        other, coefficient = next(iter(used.items()), (ZERO, -own))
        replaced.append((variable, other, 1 if coefficient == -own else -1, number))
        waiting.extend(other for other in changed if len(rows[other]) <= 2)
    variables, targets, signs, numbers = np.array(replaced, dtype=np.int64).reshape(-1, 4).T
    reduction.target[variables], reduction.sign[variables] = targets, signs
    reduction.determined_by[variables] = numbers
    reduction.numbers = np.array(list(rows), dtype=np.int64)
    left = IntegerEquations.from_rows(rows.values(), reduction.rows.n_variables)
    reduction.rows = left.normalized()
    reduction.drop_empty()

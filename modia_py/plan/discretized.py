"""Inline integration: the discretized equations of a step as blocks, each with few unknowns to iterate.

With x = x_pred + d and xdot = xdot_pred + d / c the rows of a residual are equations for d: the formula
of the integrator is put into the equations *before* they are sorted (H. Elmqvist, M. Otter, F. E. Cellier,
Inline integration, 1995).

1. Blocks: which row needs which unknown, in x or in xdot; strong components, in sequence. Blocks that do
   not need each other are a stage.
2. In a block, rows that are affine in all of its unknowns are solved for some of them, by elimination on
   nodes: a linear block needs no iteration, and of n equations of second order n unknowns are left. A pivot
   must be good for steps of no length, too: x is replaced by xdot (x = c xdot + old), and never the other
   way round, so nothing is divided by c.
3. What is left are as many rows as unknowns, the tear variables. Rows that are affine in the others as soon
   as some of these are known are solved as well. Those are torn first that a user has named, then those in
   which rows are not affine. In the worst case all of a block is torn: the corrector of the integrator.

The elimination is written for changes: with F_L the affine rows at the present x and xdot, A its matrix,
the change of the other unknowns is -A^-1 F_L. It holds these rows for any values of the tear variables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from ..arrays.blt import components_in_order
from .affine import coefficients, curvature, dependence
from .elimination import OperationCount, count_operations, eliminate
from .graph import Graph
from .graph_array import CannotPlan
from .pivots import choose_pivots
from .samples import sample

MOST_STAGES = 12
"""More stages in sequence are solved as one."""


@dataclass(frozen=True, eq=False)
class Places:
    """Where x, xdot and c are among the inputs of a graph, and which rows have derivatives."""

    x: int
    xdot: int
    c: int
    size: int
    is_fd: np.ndarray


@dataclass(frozen=True, eq=False)
class Block:
    """Rows and unknowns that need each other, by their numbers."""

    rows: tuple[int, ...]
    unknowns: tuple[int, ...]
    left: tuple[int, ...]
    """Rows that are iterated,"""
    tears: tuple[int, ...]
    """and the unknowns that are varied for them."""
    solved: tuple[int, ...]
    """The other unknowns."""
    change: tuple[int, ...]
    """Nodes of the changes of these that make the other rows hold."""
    pivots: tuple[int, ...]
    """Nodes of the pivots, each divided by the largest coefficient of its row."""


@dataclass(frozen=True, eq=False)
class Discretized:
    """Stages of blocks that do not need each other, in sequence."""

    graph: Graph
    roots: np.ndarray
    stages: tuple[tuple[Block, ...], ...]
    sizes: tuple[int, ...]
    """Unknowns of each block that is solved together, before anything is eliminated."""
    operations: OperationCount = field(default=OperationCount(0, 0))
    """Of evaluating everything once."""

    @property
    def tears(self) -> list[int]:
        return [k for stage in self.stages for block in stage for k in block.tears]


class _Equations:
    """Rows of the discretized residual, and what they depend on."""

    def __init__(self, graph: Graph, roots: Sequence[int], places: Places):
        self.graph, self.roots, self.places = graph, list(roots), places
        n = self.size = places.size
        bit_of_place = {places.x + k: k for k in range(n)}
        bit_of_place |= {places.xdot + k: n + k for k in range(n)}
        self.bits = dependence(graph, bit_of_place)
        self.of_rows = [self.bits[root] for root in self.roots]
        self.low = (1 << n) - 1
        one, c = graph.constant(1.0), graph.input(places.c)
        self.seeds = []
        for by_x in (one, c):  # rows of fc, and of fd, which are multiplied by c
            seeds = {places.x + k: (k, by_x) for k in range(n)}
            self.seeds.append(seeds | {places.xdot + k: (k, one) for k in range(n)})

    def needed(self, row: int) -> int:
        """Bits of the unknowns of a row."""
        return (self.of_rows[row] | self.of_rows[row] >> self.size) & self.low

    def highest(self, row: int) -> int:
        """Bits of those that are left in the row if a step has no length."""
        if self.places.is_fd[row]:
            return self.of_rows[row] >> self.size
        return self.of_rows[row] & self.low

    def mask(self, unknowns: Sequence[int]) -> int:
        found = 0
        for k in unknowns:
            found |= 1 << k | 1 << (self.size + k)
        return found

    def coefficients(self, row: int, mask: int) -> dict[int, int]:
        fd = int(self.places.is_fd[row])
        merged: dict[int, int] = coefficients(self.graph, self.bits, self.roots[row], mask, self.seeds[fd])
        return merged

    def scaled(self, row: int) -> int:
        root = self.roots[row]
        if not self.places.is_fd[row]:
            return root
        return self.graph.make("mul", self.graph.input(self.places.c), root)


def discretize(
    graph: Graph,
    roots: np.ndarray,
    places: Places,
    samples: np.ndarray,
    judged: np.ndarray,
    preferred: Sequence[int] = (),
) -> Discretized:
    """The blocks of a residual; adds nodes to the graph.

    samples    values of the inputs at some points, in columns
    judged     flags of those at which the size of a pivot matters: with c = 0
    preferred  unknowns that are to be iterated where there is a choice
    """
    if graph.pieces:
        raise CannotPlan(f"{graph.pieces[0].name} is left to XLA")
    equations = _Equations(graph, roots.tolist(), places)
    components = _components(equations)
    stages = _in_stages(equations, components)
    if len(stages) > MOST_STAGES:
        stages = [[(list(range(places.size)), list(range(places.size)))]]
    found = _solved(equations, stages, samples, judged, preferred)
    whole = Discretized(graph, roots, found, tuple(len(unknowns) for _, unknowns in components))
    return Discretized(graph, roots, found, whole.sizes, _operations(whole, equations))


_Component = tuple[list[int], list[int]]


def _bits(number: int) -> list[int]:
    found = []
    while number:
        lowest = number & -number
        found.append(lowest.bit_length() - 1)
        number ^= lowest
    return found


def _pattern(rows: list[int], size: int) -> csr_array:
    columns = [_bits(bits) for bits in rows]
    index = np.repeat(np.arange(len(rows)), [len(own) for own in columns])
    flat = np.array([k for own in columns for k in own], np.int64)
    return csr_array((np.ones(len(flat)), (index, flat)), shape=(len(rows), size))


def _components(equations: _Equations) -> list[_Component]:
    """Rows and unknowns of the strong components, in order."""
    n = equations.size
    needed = _pattern([equations.needed(row) for row in range(n)], n)
    row_of = maximum_bipartite_matching(
        _pattern([equations.highest(row) for row in range(n)], n), perm_type="row"
    )
    if (row_of < 0).any():
        row_of = maximum_bipartite_matching(needed, perm_type="row")
    if (row_of < 0).any():
        raise CannotPlan("the discretized equations are structurally singular")
    unknown_of = np.empty(n, np.int64)
    unknown_of[row_of] = np.arange(n)
    entries = needed.tocoo()
    label = components_in_order(unknown_of[entries.row.astype(np.int64)], entries.col.astype(np.int64), n)
    order = np.argsort(label, kind="stable")
    cuts = np.flatnonzero(np.diff(label[order])) + 1
    return [(sorted(row_of[own].tolist()), own.tolist()) for own in np.split(order, cuts)]


def _in_stages(equations: _Equations, components: list[_Component]) -> list[list[_Component]]:
    """Components that do not need each other are one stage; what is linear together is one component."""
    owner = {k: number for number, (_, unknowns) in enumerate(components) for k in unknowns}
    affine = [_all_affine(equations, rows, equations.mask(unknowns)) for rows, unknowns in components]
    level_of: dict[int, int] = {}
    linear: list[list[_Component]] = []
    others: list[list[_Component]] = []  # of the same level, solved behind them
    masks: list[int] = []  # unknowns of the linear ones
    for number, (rows, unknowns) in enumerate(components):
        needed = 0
        for row in rows:
            needed |= equations.needed(row)
        before = [k for k in _bits(needed) if owner[k] != number]
        level = max([level_of[k] + (not affine[owner[k]]) for k in before], default=0)
        own = equations.mask(unknowns)
        while (
            affine[number] and level < len(masks) and not _all_affine(equations, rows, masks[level] | own)
        ):
            level += 1
        if level == len(masks):
            linear.append([])
            others.append([])
            masks.append(0)
        if affine[number]:
            linear[level].append((rows, unknowns))
            masks[level] |= own
        else:
            others[level].append((rows, unknowns))
        level_of |= dict.fromkeys(unknowns, level)
    stages = []
    for one, more in zip(linear, others, strict=True):
        stages += [[_joined(one)]] if one else []
        stages += [more] if more else []
    return stages


def _joined(components: list[_Component]) -> _Component:
    return [row for rows, _ in components for row in rows], [
        k for _, unknowns in components for k in unknowns
    ]


def _all_affine(equations: _Equations, rows: list[int], mask: int) -> bool:
    return all(
        curvature(equations.graph, equations.bits, equations.roots[row], mask).is_affine for row in rows
    )


@dataclass(eq=False)
class _Torn:
    """A component while its tear variables are chosen."""

    rows: list[int]
    unknowns: list[int]
    bent: dict[int, int]
    """For each row the bits of the unknowns in which it is not affine."""
    coefficients: dict[int, dict[int, int]]
    """Nodes, of rows that are solved for something; and their values at some points."""
    at_points: dict[int, dict[int, np.ndarray]] = field(default_factory=dict)
    order: list[tuple[int, int]] = field(default_factory=list)
    """Rows and the unknowns they are solved for."""

    @property
    def left(self) -> tuple[list[int], list[int]]:
        """Rows and unknowns that are iterated."""
        rows, unknowns = {row for row, _ in self.order}, {k for _, k in self.order}
        return (
            [row for row in self.rows if row not in rows],
            [k for k in self.unknowns if k not in unknowns],
        )


def _solved(
    equations: _Equations,
    stages: list[list[_Component]],
    samples: np.ndarray,
    judged: np.ndarray,
    preferred: Sequence[int],
) -> tuple[tuple[Block, ...], ...]:
    all_torn = [[_first_look(equations, *component) for component in stage] for stage in stages]
    flat = [torn for stage in all_torn for torn in stage]
    _evaluate(equations, flat, samples)
    avoided = []
    for torn in flat:
        bent = 0
        for bits in torn.bent.values():
            bent |= bits
        marks = dict.fromkeys(_bits(bent), 1)
        avoided.append(marks | dict.fromkeys(preferred, 2) if len(torn.unknowns) > 1 else marks)
        torn.order = _ordered(torn, avoided[-1], judged)
    # Rows that are not affine are so in the others, where those in which they are bent are iterated.
    fewer = [_fewer_tears(equations, torn, preferred) for torn in flat]
    _evaluate(equations, [found[0] for found in fewer if found is not None], samples)
    for number, found in enumerate(fewer):
        if found is not None:
            torn, kept = found
            torn.order = _ordered(torn, avoided[number], judged, kept)
            if len(torn.order) > len(flat[number].order):
                flat[number] = torn
    blocks = iter([_block(equations, torn) for torn in flat])
    return tuple(tuple(next(blocks) for _ in stage) for stage in stages)


def _first_look(equations: _Equations, rows: list[int], unknowns: list[int]) -> _Torn:
    mask = equations.mask(unknowns)
    bent, own = {}, {}
    for row in rows:
        found = curvature(equations.graph, equations.bits, equations.roots[row], mask)
        bent[row] = (found.bent | found.bent >> equations.size) & equations.low
        if found.is_affine:
            own[row] = equations.coefficients(row, mask)
    return _Torn(rows, unknowns, bent, own)


def _evaluate(equations: _Equations, torn: list[_Torn], samples: np.ndarray) -> None:
    nodes = [node for own in torn for row in own.coefficients.values() for node in row.values()]
    values = iter(sample(equations.graph, nodes, samples))
    for own in torn:
        own.at_points = {
            row: {k: next(values) for k in entries} for row, entries in own.coefficients.items()
        }


def _ordered(
    torn: _Torn, avoided: dict[int, int], judged: np.ndarray, kept: Sequence[int] = ()
) -> list[tuple[int, int]]:
    names = list(torn.coefficients)
    order = choose_pivots([torn.at_points[row] for row in names], avoided, judged, kept)
    return [(names[number], unknown) for number, unknown in order]


def _fewer_tears(
    equations: _Equations, torn: _Torn, preferred: Sequence[int]
) -> tuple[_Torn, list[int]] | None:
    """The same with more rows to be solved, and the tear variables that this needs; None if there are no
    fewer."""
    rows, unknowns = torn.left
    solved = equations.mask([k for _, k in torn.order]) & equations.low
    free = [row for row in rows if torn.bent[row] and not torn.bent[row] & solved]
    kept = [k for k in unknowns if k in set(preferred)]
    while True:
        bits = equations.mask(kept) & equations.low
        straight = [row for row in free if not torn.bent[row] & ~bits]
        if len(kept) >= len(unknowns):
            return None
        if len(straight) >= len(unknowns) - len(kept):
            break
        weight = dict.fromkeys((k for k in unknowns if k not in kept), 0.0)
        for row in free:
            open_ones = _bits(torn.bent[row] & ~bits)
            for k in open_ones:
                weight[k] += 1.0 / len(open_ones)
        kept.append(max(weight, key=lambda k: (weight[k], -k)))
    mask = equations.mask([k for k in torn.unknowns if k not in kept])
    own = dict(torn.coefficients)
    own |= {row: equations.coefficients(row, mask) for row in straight}
    return _Torn(torn.rows, torn.unknowns, torn.bent, own), kept


def _block(equations: _Equations, torn: _Torn) -> Block:
    graph = equations.graph
    used, solved = [row for row, _ in torn.order], [unknown for _, unknown in torn.order]
    place = {unknown: k for k, unknown in enumerate(solved)}
    own = [{place[k]: a for k, a in torn.coefficients[row].items() if k in place} for row in used]
    right = [graph.make("neg", equations.scaled(row)) for row in used]
    found = eliminate(graph, own, right, [([k], [k]) for k in range(len(used))])
    sizes = [_size(graph, torn.coefficients[row]) for row in used]
    pivots = [_relative(graph, int(pivot), size) for pivot, size in zip(found.pivots, sizes, strict=True)]
    left, tears = torn.left
    return Block(
        tuple(torn.rows), tuple(torn.unknowns), tuple(left), tuple(tears), tuple(solved),
        tuple(found.unknowns.tolist()), tuple(node for node in pivots if not graph.is_constant(node)),
    )  # fmt: skip


def _size(graph: Graph, row: dict[int, int]) -> int:
    found = graph.constant(0.0)
    for node in row.values():
        size = graph.make("abs", node)
        found = size if graph.values.get(found) == 0 else graph.make("max", found, size)
    return found


def _relative(graph: Graph, pivot: int, size: int) -> int:
    return graph.make("div", graph.make("abs", pivot), size)


def _operations(found: Discretized, equations: _Equations) -> OperationCount:
    blocks = [block for stage in found.stages for block in stage]
    nodes = [node for block in blocks for node in block.change]
    return count_operations(
        found.graph, [*nodes, *(equations.roots[row] for block in blocks for row in block.left)]
    )


def smallest(graph: Graph, nodes: Sequence[int]) -> int:
    """The node of the smallest of some values, which are not negative; one if there are none."""
    found = list(nodes) or [graph.constant(1.0)]
    while len(found) > 1:
        pairs: list[Any] = [found[k : k + 2] for k in range(0, len(found), 2)]
        found = [graph.make("min", *pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return found[0]

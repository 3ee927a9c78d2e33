"""What each equation of a component class touches of its variables, as tables of integers.

A leaf of an equation is an array of copies (of the components below) times the elements of a variable.
The rows of an equation are grouped into nodes: one for each segment of an elementwise equation, one for
each copy where an equation runs along a component array, and one for all rows otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .arrays.segments import Access, Segments, find_segments
from .arrays.structure import Integers
from .expressions import Call, Constant, Equation, Leaf
from .flat_model import FlatEquation, FlatModel
from .indexing import Positions, c_strides
from .linear_terms import Kind, LinearTerm, Pattern, linear_terms
from .nodes import topological
from .primitives import named
from .templates import as_piece

# An equation with many rows and a general term in many copies is written out only up to this many entries.
MOST_ENTRIES = 10_000_000


@dataclass(frozen=True, eq=False)
class EquationTable:
    """The nodes of an equation, and its entries: for one copy of the component that states it.

    Entry k: node `node[k]` contains segment `segment[k]` of copy `copy[k]` of leaf `leaves[leaf[k]]`.
    """

    sizes: Integers
    leaves: list[Leaf]
    node: Integers
    leaf: Integers
    copy: Integers
    segment: Integers
    solvable: Integers
    coefficient: Integers  # an integer other than zero, or 0 for none


@dataclass(frozen=True, eq=False)
class EquationTables:
    """Tables by equation, and the class (and so the segments) of each flat variable by name."""

    tables: dict[int, EquationTable]
    variable_class: dict[str, int]
    segments: Segments

    def of(self, equation: FlatEquation) -> EquationTable:
        return self.tables[id(equation.equation)]


@dataclass(frozen=True)
class _Form:
    """How the rows of an equation become nodes: `block` rows each along component arrays, or None."""

    rows: int
    block: int | None = None
    whole: bool = False  # one node, whatever its variables


def equation_tables(flat: FlatModel) -> EquationTables:
    """Split variables into segments, and tabulate every equation once for its component class."""
    groups = {variable.group: math.prod(variable.symbol.shape) for variable in flat.variables}
    place_of_group = {group: place for place, group in enumerate(groups)}
    variable_class = {variable.name: place_of_group[variable.group] for variable in flat.variables}
    numbers: dict[int, int] = {}
    terms: list[list[LinearTerm]] = []
    forms: list[_Form] = []
    first_use: list[FlatEquation] = []
    accesses: dict[Access, None] = {}
    for flat_equation in flat.equations:
        key = id(flat_equation.equation)
        if key not in numbers:
            numbers[key] = len(numbers)
            first_use.append(flat_equation)
            terms.append(linear_terms(flat_equation.equation))
            forms.append(_form(flat_equation.equation, terms[-1]))
        number = numbers[key]
        for term in terms[number]:  # of every use: equal components may be touched differently from outside
            variable = variable_class[flat_equation.owner.full_name(term.leaf)]
            accesses[_access(number, variable, term, forms[number])] = None
    segments = find_segments(groups.values(), [form.rows for form in forms], list(accesses))
    tables = {}
    for key, number in numbers.items():
        owner = first_use[number].owner
        classes = [variable_class[owner.full_name(term.leaf)] for term in terms[number]]
        tables[key] = _Tabulator(segments, number, forms[number]).table(
            first_use[number].equation, terms[number], classes
        )
    return EquationTables(tables, variable_class, segments)


def _copies(term: LinearTerm) -> int:
    return math.prod(term.leaf.lead)


def _elements(term: LinearTerm) -> int:
    return math.prod(term.leaf.symbol.shape)


def _form(equation: Equation, terms: list[LinearTerm]) -> _Form:
    rows = equation.size
    along = [term for term in terms if _copies(term) > 1 and term.pattern is Pattern.ELEMENTWISE]
    if not along:
        return _Form(rows)
    sizes = [math.prod(equation.shape[axis:]) for axis in range(len(equation.shape))]
    block = next((size for size in sizes if all(_is_blockwise(term, size) for term in along)), 1)
    spread = sum(term.positions.size for term in terms if term.pattern is not Pattern.ELEMENTWISE)
    if rows // block * spread > MOST_ENTRIES:
        return _Form(rows, whole=True)
    return _Form(rows, block)


def _is_blockwise(term: LinearTerm, block: int) -> bool:
    """Whether each block of rows contains the same elements of one copy, in their order."""
    places = term.positions.to_array().reshape(-1, block)
    copy, local = np.divmod(places, _elements(term))
    same_copy = (copy == copy[:, :1]).all()
    return bool(same_copy and (local == local[0, 0] + np.arange(block)).all())


def _is_linked(term: LinearTerm) -> bool:
    """Whether row r contains element `first + r`, with no component array in between."""
    places = term.positions
    contiguous = places.is_affine and _same_strides(places)
    return _copies(term) == 1 and term.pattern is Pattern.ELEMENTWISE and contiguous


def _same_strides(places: Positions) -> bool:
    pairs = zip(places.strides, c_strides(places.shape), places.shape, strict=True)
    return all(own == row_by_row for own, row_by_row, length in pairs if length > 1)


def _access(number: int, variable: int, term: LinearTerm, form: _Form) -> Access:
    size = _elements(term)
    if form.block is not None and term.pattern is Pattern.ELEMENTWISE:
        starts = np.unique(term.positions.to_array().reshape(-1)[:: form.block] % size)
        return Access(number, variable, cuts=_ends(starts, form.block))
    if form.block is None and not form.whole and _is_linked(term):
        return Access(number, variable, first=term.positions.offset)
    if term.positions.size == size * _copies(term):
        return Access(number, variable, start=0, stop=size)
    if _copies(term) == 1 and term.positions.is_affine and _same_strides(term.positions):
        start = term.positions.offset
        return Access(number, variable, start=start, stop=start + term.positions.size)
    local = np.unique(term.positions.to_array() % size)
    if local[-1] - local[0] + 1 == len(local):
        return Access(number, variable, start=int(local[0]), stop=int(local[-1]) + 1)
    return Access(number, variable, cuts=_ends(local, 1))


def _ends(starts: Integers, length: int) -> tuple[int, ...]:
    """The beginnings and ends of intervals."""
    ends = np.unique(np.concatenate([starts, starts + length]))
    return tuple(ends.tolist())


class _Tabulator:
    """Makes the table of one equation."""

    def __init__(self, segments: Segments, number: int, form: _Form):
        self.segments, self.form = segments, form
        if form.block is not None:
            self.sizes = np.full(form.rows // form.block, form.block)
        elif form.whole:
            self.sizes = np.array([form.rows])
        else:
            self.sizes = np.diff(segments.equation_cuts[number])
        self.cuts = np.append(0, np.cumsum(self.sizes))

    def table(self, equation: Equation, terms: list[LinearTerm], classes: list[int]) -> EquationTable:
        leaves = list({term.leaf: None for term in terms})
        homogeneous = is_homogeneous(equation)
        columns: list[list[Integers]] = [[np.zeros(0, np.int64)] for _ in range(6)]
        for term, variable in zip(terms, classes, strict=True):
            node, copy, segment, aligned = self._touched(term, variable)
            lengths = np.diff(self.segments.variable_cuts[variable])
            fits = (self.sizes[node] == lengths[segment]) & (aligned | (self.sizes[node] == 1))
            known = term.coefficient is not None
            solvable = fits & known & (term.kind in (Kind.INTEGER, Kind.CONSTANT, Kind.NONZERO))
            value = _integer(term) if homogeneous else 0
            leaf = next(place for place, own in enumerate(leaves) if own is term.leaf)
            for column, values in zip(
                columns,
                (node, np.full(len(node), leaf), copy, segment, solvable, fits * value),
                strict=True,
            ):
                column.append(values)
        node, which, copy, segment, solvable, coefficient = (np.concatenate(column) for column in columns)
        return EquationTable(
            self.sizes, leaves, node, which, copy, segment, solvable.astype(bool), coefficient
        )

    def _touched(self, term: LinearTerm, variable: int) -> tuple[Integers, Integers, Integers, bool]:
        """Node, copy and segment of all entries of a term, and whether they are element by element."""
        if self.form.block is not None and term.pattern is Pattern.ELEMENTWISE:
            return self._by_block(term, variable)
        if self.form.block is None and not self.form.whole and _is_linked(term):
            starts = term.positions.offset + self.cuts[:-1]
            node, segment = self._covering(variable, starts, self.sizes)
            return node, np.zeros(len(node), np.int64), segment, True
        copy, segment = self._all_touched(term, variable)
        nodes = len(self.sizes)
        return (
            np.repeat(np.arange(nodes), len(copy)),
            np.tile(copy, nodes),
            np.tile(segment, nodes),
            self._is_row_of_copies(term),
        )

    def _by_block(self, term: LinearTerm, variable: int) -> tuple[Integers, Integers, Integers, bool]:
        size = _elements(term)
        places = term.positions.to_array().reshape(-1)[:: self.form.block]
        node, segment = self._covering(variable, places % size, self.sizes)
        return node, (places // size)[node], segment, True

    def _covering(self, variable: int, starts: Integers, lengths: Integers) -> tuple[Integers, Integers]:
        """For each interval of elements the segments that cover it."""
        cuts = self.segments.variable_cuts[variable]
        first, last = np.searchsorted(cuts, starts), np.searchsorted(cuts, starts + lengths)
        node = np.repeat(np.arange(len(starts)), last - first)
        offset = np.arange(len(node)) - np.repeat(np.cumsum(last - first) - (last - first), last - first)
        return node, first[node] + offset

    def _all_touched(self, term: LinearTerm, variable: int) -> tuple[Integers, Integers]:
        size, copies = _elements(term), _copies(term)
        cuts = self.segments.variable_cuts[variable]
        if term.positions.size == size * copies:
            count = len(cuts) - 1
            return np.repeat(np.arange(copies), count), np.tile(np.arange(count), copies)
        if copies == 1 and term.positions.is_affine and _same_strides(term.positions):
            start = term.positions.offset
            segment = self.segments.variable_segments(variable, start, start + term.positions.size)
            return np.zeros(len(segment), np.int64), segment
        places = np.unique(term.positions.to_array())
        pairs = np.stack([places // size, np.searchsorted(cuts, places % size, side="right") - 1])
        copy, segment = np.unique(pairs, axis=1)
        return copy, segment

    def _is_row_of_copies(self, term: LinearTerm) -> bool:
        """Sums over component arrays, and what is broadcast along them, are element by element too."""
        shape = term.positions.shape
        if term.pattern is Pattern.SUM and term.axes == tuple(range(len(term.axes))):
            return math.prod(shape[len(term.axes) :]) == self.sizes[0] and len(self.sizes) == 1
        return term.pattern is Pattern.BROADCAST and self.form.block == term.positions.size


def _integer(term: LinearTerm) -> int:
    """The integer coefficient of a term, the same for all elements; 0 if there is none."""
    if term.kind is not Kind.INTEGER or not isinstance(term.coefficient, Constant):
        return 0
    values = np.unique(term.coefficient.value)
    return int(values[0]) if len(values) == 1 else 0


def is_homogeneous(equation: Equation) -> bool:
    """Whether an equation consists of multiples of variables only: no constant, parameter or input."""
    sums = {named("add"), named("subtract")}
    others = {named(n) for n in ("negative", "positive", "multiply", "sum", "broadcast_to", "reshape")}
    root = equation.residual()
    for node in topological([root], lambda node: not node.args or as_piece(node) is not None):
        piece = as_piece(node)
        if piece is not None and isinstance(piece.node, Leaf):
            if piece.node.symbol.kind != "variable":
                return False
        elif isinstance(node, Call):
            adds_a_number = node.primitive in sums and any(map(_is_number, node.args))
            if adds_a_number or node.primitive not in sums | others:
                return False
        elif not isinstance(node, Constant):
            return False
    return not _is_number(root)


def _is_number(node: object) -> bool:
    return isinstance(node, Constant) and bool(node.value.any())

"""What each equation of a component class touches of its variables, as tables of integers.

A leaf of an equation is an array of copies (of the components below) times the elements of a variable.
The rows of an equation are grouped into nodes: one for each segment of an elementwise equation, one for
each copy where an equation runs along a component array, and one for all rows otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays.distinct import distinct
from ..arrays.segments import Access, Segments, find_segments
from ..arrays.structure import Integers
from ..expressions.equation import Equation
from ..expressions.expression import Call, Constant, Leaf
from ..expressions.indexing import Positions, Shape, c_strides
from ..expressions.linear_terms import CoefficientKind, Dependence, LinearTerm, linear_terms
from ..expressions.nodes import topological
from ..expressions.primitives import named
from ..expressions.symbol_kinds import SymbolKind
from ..expressions.templates import as_piece
from ..language.flat_model import FlatEquation, FlatModel

# An equation with many rows and a general term in many copies is written out only up to this many entries.
MOST_ENTRIES = 10_000_000
# A stencil of up to so many rows is written out row by row; a longer one stays one node.
MOST_STENCIL_ROWS = 16
LARGEST_INTEGER = 2**31


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
    uses: dict[tuple[int, int, int], None] = {}  # equation, term, variable
    for flat_equation in flat.equations:
        key = id(flat_equation.equation)
        if key not in numbers:
            numbers[key] = len(numbers)
            first_use.append(flat_equation)
            terms.append(linear_terms(flat_equation.equation))
            forms.append(_form(flat_equation.equation, terms[-1]))
        number = numbers[key]
        for place, term in enumerate(terms[number]):  # equal components may be in different places
            variable = variable_class[flat_equation.owner.full_name(term.leaf)]
            uses[number, place, variable] = None
    segments, forms = _segments(list(groups.values()), uses, terms, forms)
    tables = {}
    for key, number in numbers.items():
        owner = first_use[number].owner
        classes = [variable_class[owner.full_name(term.leaf)] for term in terms[number]]
        tables[key] = _Tabulator(segments, number, forms[number], first_use[number].equation.shape).table(
            first_use[number].equation, terms[number], classes
        )
    return EquationTables(tables, variable_class, segments)


def _segments(
    sizes: list[int],
    uses: dict[tuple[int, int, int], None],
    terms: list[list[LinearTerm]],
    forms: list[_Form],
) -> tuple[Segments, list[_Form]]:
    """Segments of the variables; blocks of rows that these cut are written out row by row."""
    while True:
        accesses = {
            _access(number, variable, terms[number][place], forms[number]): None
            for number, place, variable in uses
        }
        segments = find_segments(sizes, [form.rows for form in forms], list(accesses))
        cut = {
            number
            for number, place, variable in uses
            if _cuts_a_block(segments, variable, terms[number][place], forms[number])
        }
        if not cut:
            return segments, forms
        forms = [_Form(form.rows, 1) if k in cut else form for k, form in enumerate(forms)]


def _cuts_a_block(segments: Segments, variable: int, term: LinearTerm, form: _Form) -> bool:
    if form.block is None or form.block == 1 or term.dependence is not Dependence.ELEMENTWISE:
        return False
    cuts = segments.variable_cuts[variable]
    starts = distinct(term.positions.to_array().reshape(-1)[:: form.block] % _elements(term))
    covering = np.searchsorted(cuts, starts + form.block) - np.searchsorted(cuts, starts)
    return bool((covering > 1).any())


def _copies(term: LinearTerm) -> int:
    return math.prod(term.leaf.lead)


def _elements(term: LinearTerm) -> int:
    return math.prod(term.leaf.symbol.shape)


def _form(equation: Equation, terms: list[LinearTerm]) -> _Form:
    rows = equation.size
    by_element = [term for term in terms if term.dependence is Dependence.ELEMENTWISE]
    if all(map(_is_linked, by_element)) and not (_is_stencil(by_element) and rows <= MOST_STENCIL_ROWS):
        return _Form(rows)
    sizes = [math.prod(equation.shape[axis:]) for axis in range(len(equation.shape))]
    along = any(_copies(term) > 1 for term in by_element)
    fits = (size for size in sizes if along and all(_is_blockwise(term, size) for term in by_element))
    block = next(fits, 1)
    spread = sum(term.positions.size for term in terms if term.dependence is not Dependence.ELEMENTWISE)
    if rows // block * spread > MOST_ENTRIES:
        return _Form(rows, whole=True)
    return _Form(rows, block)


def _is_stencil(by_element: list[LinearTerm]) -> bool:
    """Whether rows contain several elements of one variable."""
    return len({id(term.leaf) for term in by_element}) < len(by_element)


def _is_blockwise(term: LinearTerm, block: int) -> bool:
    """Whether each block of rows contains consecutive elements of one copy, the same in all copies."""
    places = term.positions.to_array().reshape(-1, block)
    copy, local = np.divmod(places, _elements(term))
    consecutive = (copy == copy[:, :1]).all() and (local == local[:, :1] + np.arange(block)).all()
    return bool(consecutive and (_copies(term) == 1 or (local[:, 0] == local[0, 0]).all()))


def _is_linked(term: LinearTerm) -> bool:
    """Whether row r contains element `first + r`, with no component array in between."""
    places = term.positions
    contiguous = places.is_affine and _same_strides(places)
    return _copies(term) == 1 and term.dependence is Dependence.ELEMENTWISE and contiguous


def _touches_all(term: LinearTerm) -> bool:
    """Whether a term contains every element of its variable, in all copies."""
    if term.positions.size != _elements(term) * _copies(term):
        return False
    if term.positions.is_affine and _same_strides(term.positions):
        return True
    return len(distinct(term.positions.to_array())) == term.positions.size


def _same_strides(places: Positions) -> bool:
    pairs = zip(places.strides, c_strides(places.shape), places.shape, strict=True)
    return all(own == row_by_row for own, row_by_row, length in pairs if length > 1)


def _access(number: int, variable: int, term: LinearTerm, form: _Form) -> Access:
    size = _elements(term)
    if form.block is not None and term.dependence is Dependence.ELEMENTWISE:
        starts = distinct(term.positions.to_array().reshape(-1)[:: form.block] % size)
        return Access(number, variable, cuts=_ends(starts, form.block))
    if form.block is None and not form.whole and _is_linked(term):
        return Access(number, variable, first=term.positions.offset)
    if _touches_all(term):
        return Access(number, variable, start=0, stop=size)
    if _copies(term) == 1 and term.positions.is_affine and _same_strides(term.positions):
        start = term.positions.offset
        return Access(number, variable, start=start, stop=start + term.positions.size)
    local = distinct(term.positions.to_array() % size)
    if local[-1] - local[0] + 1 == len(local):
        return Access(number, variable, start=int(local[0]), stop=int(local[-1]) + 1)
    return Access(number, variable, cuts=_ends(local, 1))


def _ends(starts: Integers, length: int) -> tuple[int, ...]:
    """The beginnings and ends of intervals."""
    ends = distinct(np.concatenate([starts, starts + length]))
    return tuple(ends.tolist())


class _Tabulator:
    """Makes the table of one equation."""

    def __init__(self, segments: Segments, number: int, form: _Form, shape: Shape):
        self.segments, self.form, self.shape = segments, form, shape
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
            fits = (self.sizes[node] == lengths[segment]) & aligned
            known = term.coefficient is not None
            solvable = (
                fits
                & known
                & (
                    term.kind
                    in (CoefficientKind.INTEGER, CoefficientKind.CONSTANT, CoefficientKind.NONZERO)
                )
            )
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
        if self.form.block is not None and term.dependence is Dependence.ELEMENTWISE:
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
            self._is_exact(term),
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
        if _touches_all(term):
            count = len(cuts) - 1
            return np.repeat(np.arange(copies), count), np.tile(np.arange(count), copies)
        if copies == 1 and term.positions.is_affine and _same_strides(term.positions):
            start = term.positions.offset
            segment = self.segments.variable_segments(variable, start, start + term.positions.size)
            return np.zeros(len(segment), np.int64), segment
        places = distinct(term.positions.to_array())
        pairs = np.stack([places // size, np.searchsorted(cuts, places % size, side="right") - 1])
        copy, segment = np.unique(pairs, axis=1)
        return copy, segment

    def _is_exact(self, term: LinearTerm) -> bool:
        """Whether every row contains all the term touches, each with the coefficient of the term.

        One element that is broadcast; a sum of different elements into a single row; and sums over
        component arrays, or what is broadcast along them, which are element by element.
        """
        places = term.positions
        if term.dependence is Dependence.BROADCAST:
            along = self.form.block == places.size and _same_strides(places) and places.is_affine
            return places.size == 1 or (along and places.shape == self.shape[-len(places.shape) :])
        if term.dependence is not Dependence.SUM or len(distinct(array := places.to_array())) < places.size:
            return False
        if self.form.rows == 1:
            return True
        inner = math.prod(places.shape[len(term.axes) :])
        local = array.reshape(-1, inner) % _elements(term)
        leading = term.axes == tuple(range(len(term.axes)))
        return bool(leading and len(self.sizes) == 1 and (local == np.arange(inner)).all())


def _integer(term: LinearTerm) -> int:
    """The integer coefficient of a term, the same for all elements; 0 if there is none."""
    if term.kind is not CoefficientKind.INTEGER or not isinstance(term.coefficient, Constant):
        return 0
    values = np.unique(term.coefficient.value)
    return int(values[0]) if len(values) == 1 and abs(values[0]) < LARGEST_INTEGER else 0


def is_homogeneous(equation: Equation) -> bool:
    """Whether an equation consists of multiples of variables only: no constant, parameter or input."""
    sums = {named("add"), named("subtract")}
    others = {named(n) for n in ("negative", "positive", "multiply", "sum", "broadcast_to", "reshape")}
    root = equation.residual()
    for node in topological([root], lambda node: not node.args or as_piece(node) is not None):
        piece = as_piece(node)
        if piece is not None and isinstance(piece.node, Leaf):
            if piece.node.kind is not SymbolKind.VARIABLE:
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

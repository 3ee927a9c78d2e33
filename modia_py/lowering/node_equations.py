"""Residuals of equation nodes, rolled: all nodes of one template are one vmapped call.

An equation node is some rows of one copy of an equation, differentiated some times; or a hidden
constraint, which is a sum of multiples of variables.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np

from ..arrays.distinct import distinct
from ..arrays.indices import grouped, ranges, starts_of
from ..arrays.structure import NONE, Integers
from ..arrays.transform import Transformation
from ..expressions.abrupt_parts import MOVING
from ..expressions.calculus import differentiate
from ..expressions.expression import Expr, Leaf
from ..expressions.indexing import c_strides
from ..expressions.symbol_kinds import SymbolKind
from ..expressions.templates import Pick, Placeholder, make_template
from ..language.flat_model import FlatEquation
from ..plan.graph_array import concatenate, totals, zeros
from .gathering import GATHERED_TIME, Gathered, evaluate_all, gather_constants, take
from .intervals import interval_runs, position_runs
from .model_structure import ModelStructure
from .value_map import ValueMap

Evaluate = Callable[[dict[str, Any]], Any]
"""From the vectors w (values), p (parameters), u (inputs and their derivatives) and the time."""


@dataclass(frozen=True)
class _Part:
    """Residuals of some nodes, and the intervals of rows they are for."""

    values: Evaluate
    starts: Integers
    lengths: Integers


@dataclass(frozen=True)
class Residuals:
    """A function of the vectors, made of some parts, one for each template."""

    evaluate: Evaluate
    parts: int

    def __call__(self, vectors: dict[str, Any]) -> Any:
        return self.evaluate(vectors)


class NodeEquations:
    """The equations of the final structure of a model, by node."""

    def __init__(self, model: ModelStructure, transformed: Transformation, values: ValueMap):
        self.model, self.transformed, self.values = model, transformed, values
        self.tables = model.tables
        final, simplified = transformed.structure, transformed.simplified
        count = final.equation_count
        self.order = np.zeros(count, np.int64)
        self.origin = np.full(count, NONE)
        self.origin[: len(simplified.equations)] = simplified.equations
        lower = final.integral_of_equation()
        waiting = np.arange(len(simplified.equations), count)
        while len(waiting):
            ready = self.origin[lower[waiting]] != NONE
            self.origin[waiting[ready]] = self.origin[lower[waiting[ready]]]
            self.order[waiting[ready]] = self.order[lower[waiting[ready]]] + 1
            waiting = waiting[~ready]
        self.hidden_row = np.full(model.structure.equation_count, NONE)
        hidden = simplified.found.hidden_rows
        self.hidden_row[simplified.rows[hidden]] = np.arange(len(hidden))
        self._derivatives: dict[tuple[int, int], Expr] = {}
        self.input_size = sum(entry.size for entry in model.flat.inputs)
        self.input_order = 0  # the highest derivative of an input in an equation lowered so far
        self.moves = _moves_by_itself(model)

    def expression(self, flat: FlatEquation, order: int) -> Expr:
        """The residual of an equation, differentiated."""
        key = (id(flat.equation), order)
        if key not in self._derivatives:
            lower = flat.equation.residual() if order == 0 else self.expression(flat, order - 1)
            self._derivatives[key] = lower if order == 0 else differentiate(lower)
        return self._derivatives[key]

    def residual(self, nodes: Integers) -> Residuals:
        """A function of the residuals of nodes, one after the other."""
        sizes = self.transformed.structure.equation_size[nodes]
        first = starts_of(sizes)
        is_hidden = self.hidden_row[self.origin[nodes]] != NONE
        parts: list[_Part] = []
        if is_hidden.any():
            hidden = self._hidden(nodes[is_hidden])
            parts.append(_Part(hidden, first[is_hidden], sizes[is_hidden]))
        parts += self._by_template(nodes[~is_hidden], first[~is_hidden])
        none = [np.zeros(0, np.int64)]
        starts = np.concatenate(none + [part.starts for part in parts])
        lengths = np.concatenate(none + [part.lengths for part in parts])
        order = np.argsort(starts, kind="stable")
        back = interval_runs(starts_of(lengths)[order], lengths[order])

        def evaluate_nodes(vectors: dict[str, Any]) -> Any:
            like = vectors["w"]
            found = concatenate([zeros(0, like), *(part.values(vectors) for part in parts)], like)
            return concatenate([take(found, run) for run in back], like)

        return Residuals(evaluate_nodes, len(parts))

    def integrals_of(self, nodes: Integers) -> Integers:
        """What some nodes are derivatives of, as far as it depends on the time or on inputs."""
        lower = self.transformed.structure.integral_of_equation()
        found: list[Integers] = [np.zeros(0, np.int64)]
        while len(nodes := lower[nodes][lower[nodes] != NONE]):
            found.append(nodes)
        nodes = distinct(np.concatenate(found))
        nodes = nodes[self.hidden_row[self.origin[nodes]] == NONE]
        return nodes[self.moves[self.model.equation_of[self.origin[nodes]]]]

    def _by_template(self, nodes: Integers, first: Integers) -> list[_Part]:
        groups: dict[int, tuple[Any, list]] = {}
        origin, flat_of = self.origin[nodes], self.model.equation_of[self.origin[nodes]]
        pairs = np.stack([flat_of, self.order[nodes]], axis=1)
        kinds, which = np.unique(pairs, axis=0, return_inverse=True)
        for (number, order), members in zip(kinds.tolist(), grouped(which.reshape(-1)), strict=True):
            flat = self.model.flat.equations[number]
            expr = self.expression(flat, order)
            template = make_template(expr)
            _, uses = groups.setdefault(id(template.root), (template, []))
            uses.append((flat, template, origin[members], first[members]))
        return [self._group(template, uses) for template, uses in groups.values()]

    def _group(self, template: Any, uses: list) -> _Part:
        """One vmapped call, the rows of it that are asked for, and where they go."""
        instances, rows, starts, sizes, count = [], [], [], [], 0
        size = math.prod(template.root.shape)
        for flat, own, origin, first in uses:
            copies, which = np.unique(self.model.equation_copy[origin], return_inverse=True)
            table = self.tables.of(flat)
            start = starts_of(table.sizes)[self.model.equation_segment[origin]]
            lengths = table.sizes[self.model.equation_segment[origin]]
            rows.append((count + which.reshape(-1)) * size + start)
            starts.append(first)
            sizes.append(lengths)
            instances.append((flat, own, copies))
            count += len(copies)
        gathered = [self._gather(placeholder, instances) for placeholder in template.placeholders]
        all_lengths = np.concatenate(sizes)
        chosen = interval_runs(np.concatenate(rows), all_lengths)
        root, placeholders = template.root, template.placeholders

        def call(vectors: dict[str, Any]) -> Any:
            found = evaluate_all(root, placeholders, gathered, count, vectors).reshape(-1)
            return concatenate([take(found, run) for run in chosen], like=found)

        return _Part(call, np.concatenate(starts), all_lengths)

    def _gather(self, placeholder: Placeholder, instances: list) -> Gathered:
        picks: list[tuple[FlatEquation, Pick, Integers]] = [
            (flat, template.picks[placeholder.place], copies) for flat, template, copies in instances
        ]
        order = placeholder.order
        match placeholder.kind:
            case None:
                return gather_constants([(pick, len(copies)) for _, pick, copies in picks])
            case SymbolKind.TIME:
                return GATHERED_TIME
            case SymbolKind.PARAMETER | SymbolKind.DISCRETE:
                positions = self._positions(picks) + self.model.flat.shift_in_p(placeholder.kind, order)
                return Gathered("p", positions.shape, position_runs(positions))
            case SymbolKind.INPUT:
                self.input_order = max(self.input_order, order)
                positions = self._positions(picks) + order * self.input_size
                return Gathered("u", positions.shape, position_runs(positions))
            case SymbolKind.VARIABLE:
                if (gathered := self._consecutive(order, picks)) is not None:
                    return gathered
                positions, signs = self.values.used(order, self._positions(picks))
                sign = None if (signs == 1).all() else signs.astype(float)
                return Gathered("w", positions.shape, position_runs(positions), sign=sign)
            case _:
                assert_never(placeholder.kind)

    def _consecutive(self, order: int, picks: list) -> Gathered | None:
        """Consecutive elements of one variable, once: however many there are, they need no list."""
        flat, pick, copies = picks[0]
        if len(picks) > 1 or len(copies) > 1 or pick.stacked:
            return None
        (piece,) = pick.pieces
        where = piece.positions
        if not where.is_affine or where.strides != c_strides(where.shape) or not where.size:
            return None
        symbol = self.model.flat.resolve(piece.node, flat.owner)
        start = symbol.offset + int(copies[0]) * math.prod(piece.node.shape) + where.offset
        found = self.values.runs(order, start, where.size)
        if found is None:
            return None
        runs, sign = found
        return Gathered("w", (1, *where.shape), runs, sign=None if sign == 1 else np.float64(sign))

    def _positions(self, picks: list[tuple[FlatEquation, Pick, Integers]]) -> Integers:
        """Elements of the flat variables (or parameters, inputs) in some picks, for each copy."""
        found = []
        for flat, pick, copies in picks:
            stack = []
            for piece in pick.pieces:
                assert isinstance(piece.node, Leaf)
                symbol = self.model.flat.resolve(piece.node, flat.owner)
                local = piece.positions.to_array()
                start = symbol.offset + copies * math.prod(piece.node.shape)
                stack.append(start.reshape(-1, *(1,) * local.ndim) + local)
            found.append(np.stack(stack, axis=1) if pick.stacked else stack[0])
        return np.concatenate(found)

    def _hidden(self, nodes: Integers) -> Callable[[dict[str, Any]], Any]:
        row, column, weight = self.hidden_entries(nodes)
        total = int(self.transformed.structure.equation_size[nodes].sum())

        def call(vectors: dict[str, Any]) -> Any:
            return totals(row, weight * vectors["w"][column], total)

        return call

    def hidden_entries(self, nodes: Integers) -> tuple[Integers, Integers, Any]:
        """Hidden constraints are sums of multiples of variables: rows, places in w, and weights.

        Their variables are differentiated like the constraint.
        """
        found, final = self.transformed.simplified.found, self.transformed.structure
        final_node = np.full(self.model.structure.variable_count, NONE)
        final_node[self.transformed.simplified.variables] = np.arange(
            len(self.transformed.simplified.variables)
        )
        row_of = self.hidden_row[self.origin[nodes]]
        counts = found.hidden.lengths[row_of]
        entries = ranges(found.hidden.indptr[row_of], counts)
        node = np.repeat(np.arange(len(nodes)), counts)
        target, order = final_node[found.hidden.variables[entries]], self.order[nodes][node]
        for level in range(int(order.max(initial=0))):
            target = np.where(order > level, final.variable_derivative[target], target)
        sizes = final.equation_size[nodes]
        first = starts_of(sizes)
        row, column = ranges(first[node], sizes[node]), ranges(self.values.offset[target], sizes[node])
        return row, column, np.repeat(found.hidden.coefficients[entries].astype(float), sizes[node])


def _moves_by_itself(model: ModelStructure) -> np.ndarray:
    """Whether each equation contains the time or an input."""
    known: dict[int, bool] = {}
    for entry in model.flat.equations:
        equation = entry.equation
        if id(equation) not in known:
            known[id(equation)] = any(leaf.kind in MOVING for leaf in equation.leaves)
    return np.array([known[id(entry.equation)] for entry in model.flat.equations], bool)

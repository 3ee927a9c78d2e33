"""Where the value of every element of every variable is found, at every derivative order.

All values that the index-1 form computes lie in one vector w = [x, xdot, local assignments, 0], these in
the order of their stages: so w grows by appending, and nothing is ever written into it. Aliases point at
what they stand for, with a sign, and zeros at the zero at its end: nothing is copied.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from ..arrays.distinct import distinct
from ..arrays.indices import ranges, starts_of
from ..arrays.structure import NONE, Integers
from ..arrays.transform import Transformation
from ..expressions.indexing import Positions
from .intervals import interval_runs
from .model_structure import ModelStructure


@dataclass(frozen=True, eq=False)
class ValueMap:
    """Element k of the flat variables, differentiated d times, is `sign[d][k] * w[place[d][k]]`.

    An element that has no value at an order has place -1. `offset` and `size` are the place in w of each
    variable node of the final structure, `zero` is that of the zero. `stages` are the local assignments
    that are made at the same time, by number, stage after stage; `loops` those loops that are solved after
    them, from the stages before.

    The nodes of the flat variables, in the order of their elements, begin at `node_start`; node j has its
    first value at `node_place[d][j]`, the next one `node_step[j]` further: all the same zero, or one after
    the other.
    """

    offset: Integers
    size: Integers
    zero: int
    stages: tuple[Integers, ...]
    loops: tuple[Integers, ...]
    node_start: Integers
    node_size: Integers
    node_place: Integers
    node_sign: Integers
    node_step: Integers

    @property
    def orders(self) -> int:
        """How many derivatives, the variable itself included, there are at most."""
        return len(self.node_place)

    @functools.cached_property
    def place(self) -> Integers:
        within = np.arange(int(self.node_size.sum())) - np.repeat(self.node_start, self.node_size)
        within = within * np.repeat(self.node_step, self.node_size)
        place = np.repeat(self.node_place, self.node_size, axis=1)
        return np.where(place == NONE, NONE, place + within)

    @functools.cached_property
    def sign(self) -> Integers:
        return np.repeat(self.node_sign, self.node_size, axis=1)

    def used(self, order: int, elements: Integers) -> tuple[Integers, Integers]:
        """Places and signs of elements that stand in an equation: the zero for those without a value.

        An equation is evaluated as it was written, all its rows at once. What has no value at this order is
        in no row that is asked for: it stands in other rows, or its coefficients there add up to zero. The
        structure says so, in which every variable has a value.
        """
        if order >= self.orders:
            return np.full(elements.shape, self.zero), np.ones(elements.shape, np.int8)
        place = self.place[order][elements]
        return np.where(place == NONE, self.zero, place), self.sign[order][elements]

    def runs(self, order: int, start: int, count: int) -> tuple[tuple[Positions, ...], int] | None:
        """Consecutive elements as slices of w with a sign; None if there is no such way to say it."""
        if order >= self.orders:
            return None
        first, last = np.searchsorted(self.node_start, (start, start + count - 1), side="right") - 1
        nodes = slice(int(first), int(last) + 1)
        place, sign = self.node_place[order][nodes], self.node_sign[order][nodes]
        if (place == NONE).any() or (self.node_step[nodes] == 0).any() or (sign != sign[0]).any():
            return None
        low = np.maximum(self.node_start[nodes], start)
        end = np.minimum(self.node_start[nodes] + self.node_size[nodes], start + count)
        runs = interval_runs(place + low - self.node_start[nodes], end - low)
        return (runs, int(sign[0])) if all(run.is_affine for run in runs) else None

    def elements(self, nodes: Integers) -> Integers:
        """The places in w of some nodes, one after the other."""
        return ranges(self.offset[nodes], self.size[nodes])


def value_map(model: ModelStructure, transformed: Transformation) -> ValueMap:
    final, simplified = transformed.structure, transformed.simplified
    size = final.variable_size
    stages, loops = _stages(transformed)
    offset, zero = _offsets(transformed, stages, loops)
    base, order = base_and_order(model, transformed)
    orders = int(order.max(initial=0)) + 1
    place = np.full((orders, model.base_count), NONE)
    sign = np.ones((orders, model.base_count), np.int8)
    step = np.ones(model.base_count, np.int64)
    place[order, base] = offset
    found = simplified.found
    gone = np.concatenate([found.zero, found.arbitrary])
    place[:, gone], step[gone] = zero, 0
    final_node = np.full(model.structure.variable_count, NONE)
    final_node[simplified.variables] = np.arange(len(simplified.variables))
    alias = found.aliases
    target = final_node[found.alias_of[alias]]
    for at in range(orders):
        known = target != NONE
        own, stands_for = alias[known], target[known]
        place[at, own], sign[at, own] = offset[stands_for], found.alias_sign[own]
        target = np.where(known, final.variable_derivative[target], NONE)
    starts, sizes = flat_starts(model), model.structure.variable_size[: model.base_count]
    by_element = np.argsort(starts, kind="stable")
    return ValueMap(
        offset,
        size,
        zero,
        stages,
        loops,
        starts[by_element],
        sizes[by_element],
        place[:, by_element],
        sign[:, by_element],
        step[by_element],
    )


def _stages(transformed: Transformation) -> tuple[tuple[Integers, ...], tuple[Integers, ...]]:
    """Assignments, and loops, of each stage."""
    stage, loop_stage = transformed.form.stages()
    last = int(max(stage.max(initial=0), loop_stage.max(initial=0)))
    numbers = range(1, last + 1)
    order = np.argsort(stage, kind="stable")
    cuts = np.searchsorted(stage[order], np.arange(2, last + 1))
    return (
        tuple(np.split(order, cuts)) if last else (),
        tuple(np.flatnonzero(loop_stage == number) for number in numbers),
    )


def _offsets(
    transformed: Transformation, stages: tuple[Integers, ...], loops: tuple[Integers, ...]
) -> tuple[Integers, int]:
    """The place in w of each variable node, and that of the zero."""
    form, size = transformed.form, transformed.structure.variable_size
    slot_size = form.slot_size()
    slot = starts_of(slot_size)
    n = int(slot_size.sum())
    offset = np.full(transformed.structure.variable_count, NONE)
    in_xdot, in_x = form.derivative != NONE, form.value != NONE
    offset[form.derivative[in_xdot]] = n + slot[in_xdot]
    offset[form.value[in_x]] = slot[in_x]
    parts = [np.zeros(0, np.int64)]
    for chosen, solved in zip(stages, loops, strict=True):
        parts += [form.local_variables[chosen], *(form.loops[number].variables for number in solved)]
    local = np.concatenate(parts)
    offset[local] = 2 * n + starts_of(size[local])
    assert (offset != NONE).all(), "a variable is neither in x nor in xdot nor assigned"
    return offset, 2 * n + int(size[local].sum())


def flat_starts(model: ModelStructure) -> Integers:
    """The first element, among all elements of the flat variables, of each variable node."""
    offset = np.array([variable.offset for variable in model.flat.variables], np.int64)
    own = np.array([math.prod(variable.symbol.shape) for variable in model.flat.variables], np.int64)
    sizes = model.structure.variable_size[: model.base_count]
    within = starts_of(sizes)
    first_of_copy = np.maximum.accumulate(np.where(model.variable_segment == 0, within, 0))
    return offset[model.variable_of] + model.variable_copy * own[model.variable_of] + within - first_of_copy


def nodes_of_elements(model: ModelStructure, elements: Integers) -> Integers:
    """The variable nodes that some elements of the flat variables are in."""
    starts = flat_starts(model)
    order = np.argsort(starts, kind="stable")
    return distinct(order[np.searchsorted(starts[order], elements, side="right") - 1])


def base_and_order(model: ModelStructure, transformed: Transformation) -> tuple[Integers, Integers]:
    """For each final variable node the node of the model's structure, and its derivative order."""
    final, simplified = transformed.structure, transformed.simplified
    count = final.variable_count
    base, order = np.full(count, NONE), np.zeros(count, np.int64)
    integral = model.structure.integral_of_variable()
    own = simplified.variables.copy()
    while (moving := integral[own] != NONE).any():
        order[: len(own)] += moving
        own = np.where(moving, integral[own], own)
    base[: len(own)] = own
    lower = final.integral_of_variable()
    waiting = np.arange(len(own), count)
    while len(waiting):  # added derivatives come level after level
        ready = base[lower[waiting]] != NONE
        base[waiting[ready]] = base[lower[waiting[ready]]]
        order[waiting[ready]] = order[lower[waiting[ready]]] + 1
        waiting = waiting[~ready]
    return base, order

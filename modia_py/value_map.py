"""Where the value of every element of every variable is found, at every derivative order.

All values that the index-1 form computes lie in one vector w = [x, xdot, local assignments, 0], these in
the order of their stages: so w grows by appending, and nothing is ever written into it. Aliases point at
what they stand for, with a sign, and zeros at the zero at its end: nothing is copied.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .arrays.stages import stages_of
from .arrays.structure import NONE, Integers
from .arrays.transform import Transformation
from .structure import ModelStructure


@dataclass(frozen=True, eq=False)
class ValueMap:
    """Element k of the flat variables, differentiated d times, is `sign[d][k] * w[place[d][k]]`.

    `offset` and `size` are the place in w of each variable node of the final structure, `zero` is that of
    the zero. An element that has no value at an order has place -1. `stages` are the local assignments
    that are made at the same time, by number, stage after stage.
    """

    offset: Integers
    size: Integers
    place: Integers
    sign: Integers
    zero: int
    stages: tuple[Integers, ...]

    def elements(self, nodes: Integers) -> Integers:
        """The places in w of some nodes, one after the other."""
        return ranges(self.offset[nodes], self.size[nodes])


def ranges(starts: Integers, lengths: Integers) -> Integers:
    """start, start + 1, ... for each, one after the other."""
    first = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
    return first + np.arange(lengths.sum())


def value_map(model: ModelStructure, result: Transformation) -> ValueMap:
    final, simplified = result.structure, result.simplified
    size = final.variable_size
    stages = _stages(result)
    offset, zero = _offsets(result, stages)
    starts = flat_starts(model)
    base, order = base_and_order(model, result)
    orders = int(order.max(initial=0)) + 1
    count = model.flat.unknowns
    place = np.full((orders, count), NONE)
    sign = np.ones((orders, count), np.int8)
    for nodes, at in ((np.flatnonzero(order == d), d) for d in range(orders)):
        place[at, ranges(starts[base[nodes]], size[nodes])] = ranges(offset[nodes], size[nodes])
    found = simplified.found
    node_sizes = model.structure.variable_size
    gone = np.concatenate([found.zero, found.arbitrary])
    place[:, ranges(starts[gone], node_sizes[gone])] = zero
    final_node = np.full(model.structure.variable_count, NONE)
    final_node[simplified.variables] = np.arange(len(simplified.variables))
    alias = found.aliases
    target = final_node[found.alias_of[alias]]
    for at in range(orders):
        known = target != NONE
        own, stands_for = alias[known], target[known]
        elements = ranges(starts[own], node_sizes[own])
        place[at, elements] = ranges(offset[stands_for], size[stands_for])
        sign[at, elements] = np.repeat(found.alias_sign[own], node_sizes[own])
        target = np.where(known, final.variable_derivative[target], NONE)
    return ValueMap(offset, size, place, sign, zero, stages)


def _stages(result: Transformation) -> tuple[Integers, ...]:
    stage = stages_of(result.form)
    order = np.argsort(stage, kind="stable")
    return tuple(np.split(order, np.cumsum(np.bincount(stage))[1:-1])) if len(stage) else ()


def _offsets(result: Transformation, stages: tuple[Integers, ...]) -> tuple[Integers, int]:
    """The place in w of each variable node, and that of the zero."""
    form, size = result.form, result.structure.variable_size
    slot_size = form.slot_size()
    slot = np.cumsum(slot_size) - slot_size
    n = int(slot_size.sum())
    offset = np.full(result.structure.variable_count, NONE)
    in_xdot, in_x = form.derivative != NONE, form.value != NONE
    offset[form.derivative[in_xdot]] = n + slot[in_xdot]
    offset[form.value[in_x]] = slot[in_x]
    local = form.local_variables[np.concatenate([np.zeros(0, np.int64), *stages])]
    offset[local] = 2 * n + np.cumsum(size[local]) - size[local]
    assert (offset != NONE).all(), "a variable is neither in x nor in xdot nor assigned"
    return offset, 2 * n + int(size[local].sum())


def flat_starts(model: ModelStructure) -> Integers:
    """The first element, among all elements of the flat variables, of each variable node."""
    offset = np.array([variable.offset for variable in model.flat.variables], np.int64)
    own = np.array([math.prod(variable.symbol.shape) for variable in model.flat.variables], np.int64)
    sizes = model.structure.variable_size[: model.base_count]
    within = np.cumsum(sizes) - sizes
    first_of_copy = np.maximum.accumulate(np.where(model.variable_segment == 0, within, 0))
    return offset[model.variable_of] + model.variable_copy * own[model.variable_of] + within - first_of_copy


def base_and_order(model: ModelStructure, result: Transformation) -> tuple[Integers, Integers]:
    """For each final variable node the node of the model's structure, and its derivative order."""
    final, simplified = result.structure, result.simplified
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

"""Where the value of every element of every variable is found, at every derivative order.

All values that the index-1 form computes lie in one vector w, node after node, and a zero at its end.
Aliases point at what they stand for, with a sign, and zeros at that zero: nothing is copied.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .arrays.structure import NONE, Integers
from .arrays.transform import Transformation
from .structure import ModelStructure


@dataclass(frozen=True, eq=False)
class ValueMap:
    """Element k of the flat variables, differentiated d times, is `sign[d][k] * w[place[d][k]]`.

    `offset` and `size` are the place in w of each variable node of the final structure. An element that
    has no value at an order has place -1.
    """

    offset: Integers
    size: Integers
    place: Integers
    sign: Integers

    @property
    def zero(self) -> int:
        """The place of the zero."""
        return int(self.size.sum())

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
    offset = np.cumsum(size) - size
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
    place[:, ranges(starts[gone], node_sizes[gone])] = int(size.sum())
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
    return ValueMap(offset, size, place, sign)


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

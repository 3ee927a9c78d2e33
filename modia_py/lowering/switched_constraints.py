"""Equations that become constraints in some mode: all unknowns of their block may vanish from them at an
event.

`0 == where(engaged, w2 - w1, tau)` determines tau while the clutch is open, and is a constraint of states
while it is engaged. In x such a tau would have no equation then; as the derivative of its integral (lambda)
it has one, that of the constraint's derivative. So blocks with such equations are arranged like those of
constraint forces.
"""

from __future__ import annotations

import numpy as np

from ..arrays.distinct import distinct
from ..arrays.structure import Integers
from ..arrays.transform import Transformation
from ..expressions.expression import Call, Expr, Leaf
from ..expressions.nodes import Node, topological
from ..expressions.primitives import named
from ..expressions.symbol_kinds import SymbolKind
from ..language.flat_model import FlatEquation
from .model_structure import ModelStructure
from .value_map import ValueMap


def switched_constraints(model: ModelStructure, transformed: Transformation, values: ValueMap) -> Integers:
    """A flag for each equation node of the model: whether its block is to be arranged so."""
    flags = np.zeros(model.structure.equation_count, bool)
    if not model.flat.discretes:
        return flags
    block_of = transformed.blocks.block_of_equation(transformed.structure.equation_count)
    first = (
        transformed.simplified.equations
    )  # the model's numbers of the first nodes of the final structure
    for number, flat in enumerate(model.flat.equations):
        permanent = _permanent_leaves(flat.equation.residual())
        if permanent is None:
            continue
        own = np.flatnonzero(model.equation_of[first] == number)
        blocks = distinct(block_of[own])
        unknowns = np.concatenate(
            [np.zeros(0, np.int64), *(transformed.blocks.variables_of(int(k)) for k in blocks if k >= 0)]
        )
        places = [values.offset[v] + np.arange(values.size[v]) for v in unknowns.tolist()]
        always = _places(model, values, flat, permanent)
        if not np.isin(np.concatenate([np.zeros(0, np.int64), *places]), always).any():
            flags[first[own]] = True
    return flags


def _places(model: ModelStructure, values: ValueMap, flat: FlatEquation, leaves: list[Leaf]) -> Integers:
    """Where the values of variables lie that stand in an equation, in all its copies."""
    found = [np.zeros(0, np.int64)]
    for leaf in leaves:
        symbol = model.flat.resolve(leaf, flat.owner)
        if leaf.order < values.orders:
            found.append(values.place[leaf.order][symbol.offset : symbol.offset + symbol.size])
    return np.concatenate(found)


def _permanent_leaves(residual: Expr) -> list[Leaf] | None:
    """Variables that no event can remove from an expression; None if none of them can be removed."""
    nodes = list(topological([residual]))
    discrete = _discrete_only(nodes)
    kept: dict[int, set[int]] = {}
    leaves: dict[int, Leaf] = {}
    everything: set[int] = set()
    for node in nodes:
        if isinstance(node, Leaf):
            is_variable = node.kind is SymbolKind.VARIABLE
            kept[id(node)] = {id(node)} if is_variable else set()
            if is_variable:
                leaves[id(node)] = node
                everything.add(id(node))
            continue
        below = [kept[id(arg)] for arg in node.args]
        if (
            isinstance(node, Call)
            and len(node.args) == 3
            and _is_where(node)
            and discrete[id(node.args[0])]
        ):
            kept[id(node)] = below[1] & below[2]
        elif (
            isinstance(node, Call)
            and node.primitive is named("multiply")
            and _has_discrete_factor(node, discrete)
        ):
            kept[id(node)] = set()
        else:
            kept[id(node)] = set().union(*below)
    permanent = kept[id(residual)]
    return None if permanent == everything else [leaves[key] for key in permanent]


def _is_where(node: Call) -> bool:
    return node.primitive.known_name == "where"


def _has_discrete_factor(node: Call, discrete: dict[int, bool]) -> bool:
    return any(discrete[id(arg)] for arg in node.args)


def _discrete_only(nodes: list[Node]) -> dict[int, bool]:
    """Of each node, whether it changes at events only, and can: discrete values, parameters, constants."""
    constant: dict[int, bool] = {}
    discrete: dict[int, bool] = {}
    for node in nodes:
        if isinstance(node, Leaf):
            discrete[id(node)] = node.kind is SymbolKind.DISCRETE
            constant[id(node)] = node.kind in (SymbolKind.DISCRETE, SymbolKind.PARAMETER)
        else:
            constant[id(node)] = all(constant[id(arg)] for arg in node.args)
            discrete[id(node)] = constant[id(node)] and any(discrete[id(arg)] for arg in node.args)
    return discrete

"""The special index-1 form of a model as JAX functions.

`residual(t, x, xdot, p, u)` has the rows [chain; fd; fc] of the form. Values come from x and xdot, then
from the local assignments, stage after stage: each is linear in what it is solved for, so its value is
`-r/c`, with r the residual where that variable is zero and c its coefficient. Nothing iterates.

For constraints that were differentiated, the chain rows get `(dg/dv)^T mu'`, by `jax.vjp`: see
`arrays.index1`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ..arrays.distinct import distinct
from ..arrays.index1 import Slot
from ..arrays.indices import ranges, starts_of
from ..arrays.structure import NONE, Integers
from ..arrays.transform import Transformation
from ..expressions.indexing import Positions
from ..plan.derivatives import gradient_by_nodes
from ..plan.graph_array import GraphArray, concatenate, zeros
from .gathering import take
from .hidden_coefficients import assignment_coefficients
from .intervals import interval_runs
from .model_structure import ModelStructure
from .node_equations import NodeEquations
from .solved_loops import EliminatedLoop
from .value_map import ValueMap, value_map


@dataclass(frozen=True, eq=False)
class Integrals:
    """What the differentiated equations of the form are derivatives of, if that moves with time by itself.

    A jump of one of these is an impulse in its derivative. `order` is the highest derivative, of a function
    of time, that the form contains.
    """

    nodes: Integers
    residual: Callable[[], Callable[[dict[str, Any]], Any]]
    order: int


@dataclass(frozen=True, eq=False)
class Pivots:
    """What loops that are solved by elimination divide by, as a function like the residual."""

    values: Callable[..., Any]
    loops: tuple[EliminatedLoop, ...]

    def names(self) -> list[tuple[str, str]]:
        """The equation and the variable of each pivot, when the values were asked for."""
        return [
            (loop.equation_name(row), loop.variable_name(unknown))
            for loop in self.loops
            for row, unknown in loop.order
        ]


@dataclass(frozen=True, eq=False)
class Index1Functions:
    """`residual(t, x, xdot, p, u)`; `values(t, x, xdot, p, u)` are all variables: see `value_map`.

    u are the inputs, then their derivatives, up to `input_order`.
    """

    residual: Callable[..., Any]
    values: Callable[..., Any]
    value_map: ValueMap
    size: int
    differential_rows: int  # chain and fd rows, before those of fc
    slot_offset: Integers
    input_size: int
    input_order: int
    pieces: int  # of program for the local assignments
    has_multipliers: bool
    integrals: Integrals
    pivots: Pivots | None = None
    plans: Any = None
    """Plans that `residual` and `values` evaluate, if they do (`planned.Plans`),"""
    why_not_planned: str = ""
    """and if they do not, why."""

    def variable(self, w: Any, name: str, model: ModelStructure, order: int = 0) -> Any:
        """The value of a variable of the model, eliminated ones too."""
        flat = model.flat.by_name[name]
        elements = slice(flat.offset, flat.offset + flat.size)
        place, sign = self.value_map.place[order][elements], self.value_map.sign[order][elements]
        return (sign * w[place]).reshape(flat.shape)


def index1_functions(model: ModelStructure, transformed: Transformation) -> Index1Functions:
    """Lower the index-1 form of a model."""
    form, values = transformed.form, value_map(model, transformed)
    equations = NodeEquations(model, transformed, values)
    slot_size = form.slot_size()
    offset = starts_of(slot_size)
    sizes = transformed.structure.equation_size
    stages = [equations.residual(form.local_equations[chosen]) for chosen in values.stages]
    cuts = np.cumsum([0] + [int(sizes[form.local_equations[chosen]].sum()) for chosen in values.stages])
    loops = [[EliminatedLoop(form.loops[k], equations) for k in chosen] for chosen in values.loops]
    coefficients = assignment_coefficients(model, transformed, equations)
    chain_rows = interval_runs(offset[form.chain_slot], slot_size[form.chain_slot])
    chain = interval_runs(values.offset[form.chain_variable], values.size[form.chain_variable])
    fd, fc = equations.residual(form.fd), equations.residual(form.fc)
    corrections = _corrections(transformed, equations, offset)

    def compute(t: Any, x: Any, xdot: Any, p: Any, u: Any = (), pivots: list | None = None) -> Any:
        """All values. What is not known yet is zero: the residual is what an assignment makes up for."""
        known, divisors = concatenate([x, xdot], like=x), coefficients(p)
        for number, (evaluate, own) in enumerate(zip(stages, loops, strict=True)):
            w = concatenate([known, zeros(values.zero + 1 - len(known), x)], like=x)
            found = evaluate({"time": t, "w": w, "p": p, "u": u})
            solved = 0.0 - found / divisors[cuts[number] : cuts[number + 1]]  # and not -0.0
            known = concatenate([known, solved], like=x)
            if own:
                w = concatenate([known, zeros(values.zero + 1 - len(known), x)], like=x)
                found = [loop.solve({"time": t, "w": w, "p": p, "u": u}) for loop in own]
                known = concatenate([known, *(GraphArray(x.graph, f.unknowns) for f in found)], like=x)
                if pivots is not None:
                    pivots += [f.pivots for f in found]
        return concatenate([known, zeros(1, x)], like=x)

    def residual(t: Any, x: Any, xdot: Any, p: Any, u: Any = ()) -> Any:
        pull_back = None
        if corrections and not isinstance(x, GraphArray):
            # Values and what pulls gradients back through them, in one go.
            w, pull_back = jax.vjp(lambda x: compute(t, x, xdot, p, u), x)
        else:
            w = compute(t, x, xdot, p, u)
        vectors = {"time": t, "w": w, "p": p, "u": u}
        rows = _all(xdot, chain_rows) - _all(w, chain)
        for constraint, mu_places, acts_on in corrections:

            def of_values(w: Any, constraint: Any = constraint) -> Any:
                return constraint({**vectors, "w": w})

            if pull_back is None:
                gradient = gradient_by_nodes(of_values(w), xdot[mu_places], x)
            else:
                gradient = pull_back(jax.vjp(of_values, w)[1](xdot[mu_places])[0])[0]
            rows = rows + _all(gradient, chain_rows) * acts_on
        return concatenate([rows, fd(vectors), fc(vectors)], like=x)

    def divided_by(t: Any, x: Any, xdot: Any, p: Any, u: Any = ()) -> Any:
        """The pivots of all loops that are eliminated."""
        pivots: list = []
        compute(t, x, xdot, p, u, pivots)
        return GraphArray(x.graph, np.concatenate(pivots))

    differential = int(slot_size[form.chain_slot].sum()) + int(sizes[form.fd].sum())
    return Index1Functions(
        residual,
        compute,
        values,
        form.size,
        differential,
        offset,
        equations.input_size,
        equations.input_order,
        sum(stage.parts for stage in stages),
        bool(corrections),
        _integrals(transformed, equations),
        Pivots(divided_by, tuple(loop for own in loops for loop in own)) if form.loops else None,
    )


def _integrals(transformed: Transformation, equations: NodeEquations) -> Integrals:
    form = transformed.form
    solved = [loop.equations for loop in form.loops]
    nodes = np.concatenate([form.local_equations, form.fd, form.fc, *solved])
    below = equations.integrals_of(nodes)
    order = int(equations.order[below].max(initial=-1)) + 1
    return Integrals(below, lambda: equations.residual(below), max(order, equations.input_order))


def _all(vector: Any, runs: tuple[Positions, ...]) -> Any:
    return concatenate([take(vector, run) for run in runs], like=vector)


def _corrections(transformed: Transformation, equations: NodeEquations, offset: Integers) -> list:
    """For each level of constraints with a mu: their integrals, the places of mu', and the chain rows.

    The gradient of g' with respect to v' is that of g with respect to v. It is taken of g, because v is
    the variable of a chain row and so in x, while v' may be assigned, as in `v == der(r)`.
    """
    form, final = transformed.form, transformed.structure
    mu = np.flatnonzero(form.kind == Slot.MU)
    if not len(mu):
        return []
    integral = final.integral_of_equation()
    equation_depth = _depth(final.equation_derivative)
    variable_depth = _depth(final.variable_derivative)
    chain_depth = np.repeat(variable_depth[form.chain_variable], final.variable_size[form.chain_variable])
    corrections = []
    for depth in distinct(equation_depth[form.residual[mu]]):
        chosen = mu[equation_depth[form.residual[mu]] == depth]
        sizes = final.equation_size[form.residual[chosen]]
        corrections.append(
            (
                equations.residual(integral[form.residual[chosen]]),
                ranges(offset[chosen], sizes),
                (chain_depth == depth).astype(float),
            )
        )
    return corrections


def _depth(derivative: Integers) -> Integers:
    """How many derivatives there are above each node."""
    depth = np.zeros(len(derivative), np.int64)
    integral = np.full(len(derivative), NONE)
    linked = np.flatnonzero(derivative != NONE)
    integral[derivative[linked]] = linked
    level, above = np.flatnonzero(derivative == NONE), 0
    while len(level):
        depth[level] = above
        level, above = integral[level][integral[level] != NONE], above + 1
    return depth

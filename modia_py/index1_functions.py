"""The special index-1 form of a model as JAX functions.

`residual(t, x, xdot, p, u)` has the rows [chain; fd; fc] of the form. Values come from x and xdot, then from
the local assignments, stage after stage: each is linear in what it is solved for, so its value is
`-r/c`, with r the residual where that variable is zero and c its coefficient. Nothing iterates.

For constraints that were differentiated, the chain rows get `(dg/dv)^T mu'`, by `jax.vjp`: see
`arrays.index1`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .arrays.cycles import assignment_stages
from .arrays.index1 import Slot
from .arrays.structure import NONE, Integers
from .arrays.transform import Transformation
from .coefficients import assignment_coefficients
from .node_equations import NodeEquations
from .structure import ModelStructure
from .value_map import ValueMap, ranges, value_map


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

    def variable(self, w: Any, name: str, model: ModelStructure, order: int = 0) -> Any:
        """The value of a variable of the model, eliminated ones too."""
        flat = model.flat.by_name[name]
        elements = slice(flat.offset, flat.offset + flat.size)
        place, sign = self.value_map.place[order][elements], self.value_map.sign[order][elements]
        return (sign * w[place]).reshape(flat.shape)


def index1_functions(model: ModelStructure, result: Transformation) -> Index1Functions:
    """Lower the index-1 form of a model."""
    form, values = result.form, value_map(model, result)
    equations = NodeEquations(model, result, values)
    slot_size = form.slot_size()
    offset = np.cumsum(slot_size) - slot_size
    from_x, from_xdot = form.value != NONE, form.derivative != NONE
    x_places = ranges(offset[from_x], slot_size[from_x])
    x_targets = values.elements(form.value[from_x])
    xdot_places = ranges(offset[from_xdot], slot_size[from_xdot])
    xdot_targets = values.elements(form.derivative[from_xdot])
    stages = _stages(result, equations, values)
    coefficients = assignment_coefficients(model, result, equations)
    chain_rows = ranges(offset[form.chain_slot], slot_size[form.chain_slot])
    chain_places = values.elements(form.chain_variable)
    fd, fc = equations.residual(form.fd), equations.residual(form.fc)
    corrections = _corrections(result, equations, values, offset)

    def compute(t: Any, x: Any, xdot: Any, p: Any, u: Any = (), push: Any = None) -> Any:
        """All values; `push` is added to the chain variables, to differentiate by them."""
        w = (
            jnp.zeros(values.zero + 1)
            .at[x_targets]
            .set(x[x_places])
            .at[xdot_targets]
            .set(xdot[xdot_places])
        )
        if push is not None:
            w = w.at[chain_places].add(push)
        divisors = coefficients(p)
        for evaluate, targets, which in stages:
            w = w.at[targets].set(-evaluate({"time": t, "w": w, "p": p, "u": u}) / divisors[which])
        return w

    def residual(t: Any, x: Any, xdot: Any, p: Any, u: Any = ()) -> Any:
        w = compute(t, x, xdot, p, u)
        vectors = {"time": t, "w": w, "p": p, "u": u}
        chain = xdot[chain_rows] - w[chain_places]
        for constraint, mu_places, rows in corrections:

            def pushed(push: Any, constraint: Any = constraint) -> Any:
                return constraint({**vectors, "w": compute(t, x, xdot, p, u, push)})

            _, pull = jax.vjp(pushed, jnp.zeros(len(chain_places)))
            chain = chain + pull(xdot[mu_places])[0] * rows
        return jnp.concatenate([chain, fd(vectors), fc(vectors)])

    sizes = result.structure.equation_size
    differential = len(chain_rows) + int(sizes[form.fd].sum())
    return Index1Functions(
        residual,
        compute,
        values,
        form.size,
        differential,
        offset,
        equations.input_size,
        equations.input_order,
    )


def _stages(result: Transformation, equations: NodeEquations, values: ValueMap) -> list:
    """Local assignments that can be made at the same time: residuals, where they go, which they are."""
    form, final = result.form, result.structure
    stage = assignment_stages(
        final.start, final.variables, final.variable_count, form.local_equations, form.local_variables
    )
    sizes = final.equation_size[form.local_equations]
    first = np.cumsum(sizes) - sizes
    stages = []
    for number in range(1, int(stage.max(initial=0)) + 1):
        chosen = np.flatnonzero(stage == number)
        stages.append(
            (
                equations.residual(form.local_equations[chosen]),
                values.elements(form.local_variables[chosen]),
                ranges(first[chosen], sizes[chosen]),
            )
        )
    return stages


def _corrections(
    result: Transformation, equations: NodeEquations, values: ValueMap, offset: Integers
) -> list:
    """For each level of constraints with a mu: these, the places of mu', and the chain rows they act on."""
    form, final = result.form, result.structure
    mu = np.flatnonzero(form.kind == Slot.MU)
    if not len(mu):
        return []
    equation_depth = _depth(final.equation_derivative)
    variable_depth = _depth(final.variable_derivative)
    chain_depth = np.repeat(variable_depth[form.chain_variable], final.variable_size[form.chain_variable])
    corrections = []
    for depth in np.unique(equation_depth[form.residual[mu]]):
        chosen = mu[equation_depth[form.residual[mu]] == depth]
        sizes = final.equation_size[form.residual[chosen]]
        corrections.append(
            (
                equations.residual(form.residual[chosen]),
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

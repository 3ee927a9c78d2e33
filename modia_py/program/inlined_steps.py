"""The equations of a step sorted into stages, from the plan of a model: for `method="inline-bdf"`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..arrays.transform import Transformation
from ..lowering.index1_functions import Index1Functions
from ..lowering.model_structure import ModelStructure
from ..lowering.parameters import ParameterValues
from ..plan.discretized import Block, Discretized, Places, discretize, smallest
from ..plan.graph_array import CannotPlan
from ..plan.planned_function import PlannedFunction, makes_steps
from ..solvers.inlined_contract import Inlined, Stage
from ..solvers.shared_programs import as_data
from .signals import Signals, held_time

MOST_UNKNOWNS = 1000
"""With more, the whole matrix is sparse and its elimination a matter of the linear solver."""
MOST_ITERATED = 200
"""Small matrices are dense."""
SAMPLES = 4
"""Points at which pivots are looked at with c = 0, and as many with other c."""


def discretized_equations(
    model: ModelStructure, transformed: Transformation, functions: Index1Functions
) -> Discretized | str:
    """The stages of the equations of a step, or why they are not made."""
    n = functions.size
    if not n:
        return "nothing is integrated"
    if functions.plans is None:
        return functions.why_not_planned or "the equations are no plan"
    if n > MOST_UNKNOWNS:
        return f"{n} unknowns are more than {MOST_UNKNOWNS}"
    residual = functions.plans.residual
    if not isinstance(residual, PlannedFunction):
        return f"a part of the equations is left to XLA ({residual.pieces[0].name})"
    sizes = residual.sizes
    is_fd = np.arange(n) < functions.differential_rows
    places = Places(sizes[0], sizes[0] + n, sum(sizes), n, is_fd)
    samples, judged = _samples(model, sizes)
    graph = residual.graph.copy()
    graph.input(places.c)
    try:
        found = discretize(graph, residual.roots, places, samples, judged, _hinted(transformed, functions))
    except CannotPlan as reason:
        return str(reason)
    if len(found.tears) == n and len(found.sizes) == 1:
        return f"no formula solves for any of the {n} unknowns"
    if len(found.tears) > MOST_ITERATED:
        return f"{len(found.tears)} unknowns to be iterated are more than {MOST_ITERATED}"
    return found


def _samples(model: ModelStructure, sizes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Values of [t, x, xdot, p, u, c] in columns: declared parameters, discrete values of many modes."""
    flat, draw = model.flat, np.random.default_rng(1)
    count = 2 * SAMPLES
    values = draw.uniform(0.3, 0.9, (sum(sizes) + 1, count))
    first = sum(sizes[:3])
    p = np.asarray(ParameterValues(flat).vector({}), float)
    values[first : first + len(p)] = p[:, None]
    modes = values[first + flat.parameter_size : first + flat.data_size]
    if len(modes):
        half = draw.integers(0, 2, (flat.discrete_size, count)).astype(float)
        chosen = np.concatenate([half, half])
        for number in range(count):
            kind = number % SAMPLES
            if kind:  # the first one has declared values
                modes[:, number] = (0.0, 1.0)[kind - 1] if kind < 3 else chosen[:, number]
    judged = np.arange(count) < SAMPLES
    values[-1, judged] = 0.0
    values[-1, ~judged] *= 0.1
    return values, judged


def _hinted(transformed: Transformation, functions: Index1Functions) -> list[int]:
    """Elements of x that a user wants to be varied, where there is a loop."""
    form = transformed.form
    named = [loop.tears for loop in transformed.loops]
    if not named:
        return []
    slots = np.flatnonzero(
        np.isin(form.value, np.concatenate(named)) | np.isin(form.derivative, np.concatenate(named))
    )
    sizes = form.slot_size()
    return [
        int(functions.slot_offset[slot]) + k for slot in slots.tolist() for k in range(int(sizes[slot]))
    ]


def inlined_steps(found: Discretized | str, functions: Index1Functions, signals: Signals) -> Inlined | str:
    """The stages as functions of the integrator, with `program.Arguments` as its parameters."""
    if isinstance(found, str):
        return found
    planned = []
    for blocks in found.stages:
        for count in sorted({len(block.tears) for block in blocks}):
            own = [block for block in blocks if len(block.tears) == count]
            planned.append(_planned_stage(found, own, (*functions.plans.residual.sizes, 1)))
    return Inlined(
        tuple(_stage(stage, functions, signals) for stage in planned),
        _data(planned) if makes_steps() else None,
    )


@dataclass(frozen=True, eq=False)
class _PlannedStage:
    """What `Stage` says, with plans of [t, x, xdot, p, u, c]."""

    tears: np.ndarray
    rows: np.ndarray
    solved: np.ndarray
    residual: PlannedFunction
    change: PlannedFunction
    pivot: PlannedFunction


def _planned_stage(found: Discretized, blocks: list[Block], sizes: tuple[int, ...]) -> _PlannedStage:
    def plan(nodes: list[int]) -> PlannedFunction:
        return PlannedFunction(found.graph, np.array(nodes, np.int64), sizes)

    shape = len(blocks), len(blocks[0].tears)
    rows = [row for block in blocks for row in block.left]
    pivots = [pivot for block in blocks for pivot in block.pivots]
    return _PlannedStage(
        np.array([block.tears for block in blocks], np.int64).reshape(shape),
        np.array(rows, np.int64).reshape(shape),
        np.array([k for block in blocks for k in block.solved], np.int64),
        plan([int(found.roots[row]) for row in rows]),
        plan([node for block in blocks for node in block.change]),
        plan([smallest(found.graph, pivots)]),
    )


def _data(planned: list[_PlannedStage]) -> tuple[np.ndarray, np.ndarray]:
    """The stages for native code."""
    from ..plan.stage_kernels import StageData, encode_stages

    words, constants = encode_stages(
        [
            StageData(stage.tears, stage.rows, stage.solved, stage.change.encoded, stage.residual.encoded)
            for stage in planned
        ]
    )
    return as_data(words), as_data(constants)


def _stage(planned: _PlannedStage, functions: Index1Functions, signals: Signals) -> Stage:
    def called(function: PlannedFunction) -> Callable[..., Any]:
        def evaluate(t: Any, x: Any, xdot: Any, arguments: Any, c: Any = 0.0) -> Any:
            t = held_time(t, arguments.signals)
            u = signals.values(t, arguments.signals, functions.input_order)
            return function(jnp.reshape(t, (1,)), x, xdot, arguments.p, u, jnp.reshape(c, (1,)))

        return evaluate

    pivot = called(planned.pivot)
    return Stage(
        planned.tears, planned.rows, planned.solved, called(planned.residual), called(planned.change),
        lambda *given: pivot(*given)[0],
    )  # fmt: skip

"""Values of nodes at some points, by numpy: what is known of coefficients before anything runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .graph import Graph
from .operations import OPERATIONS
from .plan import make_plan


def sample(graph: Graph, nodes: Sequence[int], inputs: np.ndarray) -> np.ndarray:
    """A row for each node, from the inputs of the graph in rows; points are columns."""
    plan = make_plan(graph, np.asarray(nodes, np.int64))
    first = plan.inputs + len(plan.constants)
    w = np.empty((plan.size, inputs.shape[1]))
    w[: plan.inputs], w[plan.inputs : first] = inputs, plan.constants[:, None]
    with np.errstate(all="ignore"):
        for number, start, stop in plan.groups.tolist():
            operation = OPERATIONS[number]
            own = plan.operands[start - first : stop - first, : operation.operands]
            w[start:stop] = operation.numpy(*(w[column] for column in own.T))
    return w[plan.outputs]

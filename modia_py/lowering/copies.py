"""A template evaluated for many copies: one vmapped call of JAX, or copy by copy where nodes of a graph
stand in its slots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..expressions.expression import Expr
from ..expressions.lanes import calls_lapack, lanes
from ..expressions.templates import Slot, evaluate
from ..plan.expression_graph import evaluate_on_nodes
from ..plan.graph_array import GraphArray


def evaluate_copies(
    root: Expr, slots: tuple[Slot, ...], values: Sequence[Any], is_shared: Sequence[bool], count: int
) -> Any:
    """The values of a template for all copies, of shape (count, *root.shape). Values of slots have a leading
    axis of copies unless they are shared."""
    graphs = [value.graph for value in values if isinstance(value, GraphArray)]
    if graphs:
        found = [
            evaluate_on_nodes(root, slots, own, graphs[0])
            for own in (
                [value if shared else value[k] for value, shared in zip(values, is_shared, strict=True)]
                for k in range(count)
            )
        ]
        return GraphArray(graphs[0], np.stack([one.nodes for one in found]))

    def one(*arguments: Any) -> Any:
        return evaluate(root, slots, arguments)

    if count == 1:
        own = [value if shared else value[0] for value, shared in zip(values, is_shared, strict=True)]
        return one(*own)[None]
    if all(is_shared):
        return jnp.broadcast_to(one(*values), (count, *root.shape))
    axes = tuple(None if shared else 0 for shared in is_shared)
    return lanes(one, axes, calls_lapack([root]))(*values)

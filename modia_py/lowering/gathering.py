"""Values for all uses of a template: gathered from flat vectors, and evaluated by one vmapped call; or use
by use, where the vectors are made of nodes of a graph (`plan`).

Inside the compiled program, what is selected from a vector is a slice wherever it lies regularly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..expressions.expression import Expr
from ..expressions.indexing import Positions, Shape, c_strides
from ..expressions.lanes import calls_lapack, lanes
from ..expressions.templates import Pick, Placeholder, evaluate
from ..plan.expression_graph import evaluate_on_nodes
from ..plan.graph_array import GraphArray, concatenate, graph_of


@dataclass(frozen=True)
class Gathered:
    """The values of one placeholder over all uses: selected from a vector, or constant.

    The selection is a few regular runs of positions one after the other, or irregular positions.
    """

    vector: str
    shape: Shape
    runs: tuple[Positions, ...] = ()
    constant: np.ndarray | None = None
    shared: bool = False  # the same for all uses: no batch axis
    sign: Any = None  # of each value; None: all are positive

    def values(self, vectors: dict[str, Any]) -> Any:
        if self.vector == "time":
            return vectors["time"]
        if self.constant is not None:
            return self.constant
        parts = [take(vectors[self.vector], run) for run in self.runs]
        values = (parts[0] if len(parts) == 1 else concatenate(parts, like=parts[0])).reshape(self.shape)
        return values if self.sign is None else values * self.sign


GATHERED_TIME = Gathered("time", (), shared=True)


def gather_constants(picks: Sequence[tuple[Pick, int]]) -> Gathered:
    """The constants of some picks, each of which stands for so many copies."""
    first = picks[0][0].constant
    if len({pick.key() for pick, _ in picks}) == 1:
        return Gathered("constant", first.shape, constant=first, shared=True)
    values = [np.broadcast_to(pick.constant, (copies, *first.shape)) for pick, copies in picks]
    constant = np.concatenate(values)
    return Gathered("constant", constant.shape, constant=constant)


def evaluate_all(
    root: Expr,
    placeholders: tuple[Placeholder, ...],
    gathered: Sequence[Gathered],
    count: int,
    vectors: dict[str, Any],
) -> Any:
    """The values of a template for all uses: shape (count, *root.shape)."""
    values = [each.values(vectors) for each in gathered]
    if (graph := graph_of(*vectors.values())) is not None:
        uses = (
            [value if each.shared else value[k] for value, each in zip(values, gathered, strict=True)]
            for k in range(count)
        )
        return evaluate_on_nodes(root, placeholders, uses, graph)
    axes = tuple(None if each.shared else 0 for each in gathered)

    def one(*own: Any) -> Any:
        return evaluate(root, placeholders, [jnp.asarray(value) for value in own])

    if all(axis is None for axis in axes):
        return jnp.broadcast_to(one(*values), (count, *root.shape))
    return lanes(one, axes, calls_lapack([root]))(*values)


def take(vector: Any, positions: Positions) -> Any:
    """`vector[positions]`, as a slice where that is possible and without large constants elsewhere."""
    if isinstance(vector, GraphArray):
        return vector.reshape(-1)[positions.to_array()]
    shape, size = positions.shape, positions.size
    if positions.explicit is not None:
        return vector[positions.explicit.astype(np.int32)]
    if size == 0:
        return jnp.zeros(shape)
    strides = tuple(s if n > 1 else None for s, n in zip(positions.strides, shape, strict=True))
    if all(s is None or s == c for s, c in zip(strides, c_strides(shape), strict=True)):
        return lax.slice(vector, (positions.offset,), (positions.offset + size,)).reshape(shape)
    step, inner = _outer_step(strides, shape)
    if step is not None:
        rows = size // inner
        last = positions.offset + (rows - 1) * step + inner
        if inner == 1:
            return lax.slice(vector, (positions.offset,), (last,), (step,)).reshape(shape)
        if positions.offset + rows * step <= vector.shape[0]:
            block = lax.slice(vector, (positions.offset,), (positions.offset + rows * step,))
            return block.reshape(rows, step)[:, :inner].reshape(shape)
    places = jnp.full(shape, positions.offset, jnp.int32)
    for axis, stride in enumerate(positions.strides):
        places = places + stride * lax.broadcasted_iota(jnp.int32, shape, axis)
    return vector[places]


def _outer_step(strides: tuple[int | None, ...], shape: Shape) -> tuple[int | None, int]:
    """Whether rows of contiguous elements follow each other at one positive step: (step, row length)."""
    for split in range(len(shape)):
        inner = shape[split + 1 :]
        row = math.prod(inner)
        outer_strides, inner_strides = strides[: split + 1], strides[split + 1 :]
        if any(s is not None and s != c for s, c in zip(inner_strides, c_strides(inner), strict=True)):
            continue
        own = outer_strides[-1]
        if own is None or own < row:
            continue
        units = tuple(own * c for c in c_strides(shape[: split + 1]))
        if all(s is None or s == u for s, u in zip(outer_strides, units, strict=True)):
            return own, row
    return None, 1

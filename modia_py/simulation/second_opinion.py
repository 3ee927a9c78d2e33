"""The equations as written, evaluated once by numpy alone: a second opinion on plans.

Native code that reads plans evaluates both what is integrated and what the certificate looks at. So the
first run of a program compares the residuals that it gives with those of numpy's own functions, applied to
the expressions as they stand, at the last time of output. Equations with functions of the user or with
derivatives by JAX are left out.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..expressions.expression import Call, index_of
from ..expressions.nodes import Node, topological
from ..expressions.primitives import numpy_function
from ..lowering.batches import Batch
from ..lowering.gathering import Gathered
from ..lowering.written_equations import WrittenEquations

TOLERANCE = 1e-9
"""Differences of residuals, as a part of the largest number in the evaluation of the equation."""


def disagreement(written: WrittenEquations, vectors: dict[str, Any], residual: np.ndarray) -> int | None:
    """The first row in which numpy finds another residual; None if there is none."""
    row = 0
    for batch in written.equations.batches:
        nodes = list(topological([batch.root]))
        functions = _functions(nodes)
        size = batch.count * int(np.prod(batch.root.shape))
        own, row = residual[row : row + size], row + size
        if functions is None:
            continue
        found, scale = _by_numpy(batch, nodes, functions, vectors)
        with np.errstate(invalid="ignore"):
            off = np.abs(found - own[: len(found)]) > TOLERANCE * scale
        off |= np.isfinite(found) != np.isfinite(own)
        if off.any():
            return row - size + int(np.argmax(off))
    return None


def _functions(nodes: list[Node]) -> dict[int, Any] | None:
    """Numpy's function for each call; None if there is a call that numpy has none for."""
    found: dict[int, Any] = {}
    for node in nodes:
        if not node.args:
            continue
        function = numpy_function(node.primitive) if isinstance(node, Call) else None
        if function is None and not (isinstance(node, Call) and index_of(node) is not None):
            return None
        found[id(node)] = function
    return found


def _by_numpy(
    batch: Batch, nodes: list[Node], functions: dict[int, Any], vectors: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Residuals of all uses of a template, and the largest number in each evaluation."""
    values = [_gathered(each, vectors) for each in batch.gathered]
    calls = [node for node in nodes if isinstance(node, Call)]
    found, scale = [], []
    for k in range(batch.count):
        own = [v if each.shared else v[k] for v, each in zip(values, batch.gathered, strict=True)]
        results: dict[int, Any] = {id(p): v for p, v in zip(batch.placeholders, own, strict=True)}
        largest = max(map(_largest, own), default=0.0)
        with np.errstate(all="ignore"):
            for node in calls:
                arguments = [results[id(arg)] for arg in node.args]
                index = index_of(node)
                if index is not None:
                    results[id(node)] = arguments[0][index.items]
                    continue
                args, kwargs = node.signature.bind(arguments)
                results[id(node)] = functions[id(node)](*args, **kwargs)
                largest = max(largest, _largest(results[id(node)]))
        rows = np.asarray(results[id(batch.root)], float).reshape(-1)
        found.append(rows)
        scale.append(np.full(len(rows), largest))
    return np.concatenate(found), np.concatenate(scale)


def _largest(values: Any) -> float:
    if not np.ndim(values):  # most of them: an array takes ten times as long
        size = abs(float(values))
        return size if size < math.inf else 0.0
    sizes = np.abs(np.asarray(values, float))
    return float(np.max(sizes, where=np.isfinite(sizes), initial=0.0))


def _gathered(gathered: Gathered, vectors: dict[str, Any]) -> np.ndarray:
    if gathered.vector == "time":
        return np.asarray(vectors["time"])
    if gathered.constant is not None:
        return gathered.constant
    vector = np.asarray(vectors[gathered.vector])
    parts = [vector[run.to_array()].reshape(-1) for run in gathered.runs]
    values = np.concatenate(parts).reshape(gathered.shape)
    return values if gathered.sign is None else values * gathered.sign

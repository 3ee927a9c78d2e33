"""Whether a function that was taken apart is still the same: compared at points, once for each kind.

Nothing later would notice a mistake: residual and certificate are evaluated by the same operations. So each
function is looked at here with its values by somebody else: numpy's function of the same name, or the
function itself, evaluated by JAX; derivatives with differences of those. What differs is left to XLA.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from ..expressions.primitives import Primitive, Signature, numpy_function
from .graph import Graph
from .graph_array import GraphArray, constants
from .jaxpr_graph import evaluate_jaxpr
from .operations import OPERATIONS

RANGES = ((0.1, 0.9), (-1.5, 2.5))
"""Of the numbers at the two points: within the domains of most functions, and beyond."""
TOLERANCE = 1e-9
STEP, TOLERANCE_OF_DIFFERENCES = 1e-6, 1e-4


def agrees(primitive: Primitive, signature: Signature, kinds: tuple, jaxpr: Any) -> bool:
    """Whether the operations of a jaxpr give the values of the function it was made of."""
    random = np.random.default_rng(len(kinds))
    is_derivative = primitive.derivative_of is not None
    tolerance = TOLERANCE_OF_DIFFERENCES if is_derivative else TOLERANCE
    for low, high in RANGES:
        points = [_numbers(random, low, high, shape, kind) for shape, kind in kinds]
        try:
            with np.errstate(all="ignore"):
                expected = _reference(primitive, signature, points)
        except (TypeError, ValueError, NotImplementedError, ArithmeticError):
            continue  # nobody to ask
        found = _by_operations(jaxpr, points)
        for one, other in zip(found, expected, strict=True):
            finite = (
                np.isfinite(one) & np.isfinite(other) if is_derivative else np.ones(np.shape(one), bool)
            )
            if not np.allclose(one[finite], other[finite], tolerance, tolerance, equal_nan=True):
                return False
    return True


def _numbers(random: Any, low: float, high: float, shape: Any, kind: str) -> np.ndarray:
    if kind == "bool":
        return random.random(shape) < 0.5
    if kind.startswith("int"):
        return random.integers(0, 3, shape)
    return np.asarray(random.uniform(low, high, shape))


def _reference(primitive: Primitive, signature: Signature, points: list[Any]) -> list[np.ndarray]:
    if primitive.derivative_of is None:
        return _values(primitive, signature, points)
    base, own = primitive.derivative_of
    if base.derivative_of is not None:
        raise NotImplementedError("differences of differences")
    count = len(primitive.active)
    at, along = points[:count], iter(points[count:])
    directions = [next(along) if moves else 0.0 for moves in primitive.active]

    def moved(by: float) -> list[np.ndarray]:
        shifted = [p + by * d if m else p for p, d, m in zip(at, directions, primitive.active, strict=True)]
        return _values(base, own, shifted)

    return [(a - b) / (2 * STEP) for a, b in zip(moved(STEP), moved(-STEP), strict=True)]


def _values(primitive: Primitive, signature: Signature, points: list[Any]) -> list[np.ndarray]:
    args, kwargs = signature.bind(points)
    function: Any = numpy_function(primitive) or primitive.evaluate
    try:
        found = function(*args, **kwargs)
    except (TypeError, ValueError):  # numpy has other options
        found = primitive.evaluate(*args, **kwargs)
    return [np.asarray(part, float) for part in jax.tree_util.tree_leaves(found)]


def _by_operations(jaxpr: Any, points: list[np.ndarray]) -> list[np.ndarray]:
    """The results of a jaxpr by operations on numbers, evaluated one after the other by numpy."""
    graph, nodes = Graph(), []
    inputs: list[float] = []
    for point in points:
        first = len(inputs)
        inputs += np.asarray(point, float).reshape(-1).tolist()
        own = [graph.input(first + k) for k in range(point.size)]
        nodes.append(GraphArray(graph, np.array(own, np.int64).reshape(point.shape)))
    found = evaluate_jaxpr(jaxpr.jaxpr, jaxpr.consts, nodes)
    parts = [part if isinstance(part, GraphArray) else constants(graph, part) for part in found]
    values: list[Any] = []
    with np.errstate(all="ignore"):
        for node, (number, operands) in enumerate(zip(graph.operation, graph.operands, strict=True)):
            if number >= 0:
                values.append(OPERATIONS[number].numpy(*(values[operand] for operand in operands)))
            else:
                values.append(
                    np.float64(graph.values[node] if node in graph.values else inputs[operands[0]])
                )
    return [np.array([values[k] for k in part.nodes.ravel()], float).reshape(part.shape) for part in parts]

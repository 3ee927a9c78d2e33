"""Functions of JAX taken apart: the operations of their jaxpr, on arrays of nodes.

Reshaping, slicing, stacking and transposing are done on the numbers of nodes while planning, and cost
nothing later. Sums and products become sums and products of numbers. What has loops, calls a library, or
computes with whole numbers that are not known here, cannot be taken apart: `CannotPlan` says which.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.extend.core import Literal

from ..arrays.distinct import distinct
from .graph_array import CannotPlan, GraphArray, apply, constants

MOST_TERMS = 20_000
"""Of products in one operation: more of them are for XLA."""
MOST_UNROLLED = 2000
"""Operations of a loop that is written out."""


_ELEMENTWISE = {
    **{
        name: name
        for name in (
            "add sub mul div neg sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp log expm1 "
            "log1p sqrt cbrt abs sign floor ceil max min pow atan2 rem erf erfc logistic is_finite "
            "lt le eq ne"
        ).split()
    },
    "add_any": "add",
}
_EXACT: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative, "abs": np.abs,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal,
    "ne": np.not_equal,
}  # fmt: skip
"""Operations that numpy rounds as JAX does."""
_WRAPPERS = frozenset("jit pjit closed_call core_call remat checkpoint custom_jvp_call".split())
_OWN_DERIVATIVE = "custom_jvp_call"
_SAME_DERIVATIVE = frozenset({"jax logaddexp", "jax logaddexp2"})
"""Functions of JAX with a rule for their derivative that gives what their operations give."""
_SAME = frozenset("copy copy_p optimization_barrier".split())

Value = Any
"""A GraphArray, or an array of numpy whose values are known."""


def evaluate_jaxpr(jaxpr: Any, known: Any, arguments: list[Value]) -> list[Value]:
    """The results of a jaxpr with constants `known`."""
    values: dict[Any, Value] = {}

    def read(atom: Any) -> Value:
        return np.asarray(atom.val) if isinstance(atom, Literal) else values[atom]

    values.update(zip(jaxpr.constvars, map(np.asarray, known), strict=True))
    values.update(zip(jaxpr.invars, arguments, strict=True))
    for equation in jaxpr.eqns:
        found = _evaluate(equation, [read(atom) for atom in equation.invars])
        values.update(zip(equation.outvars, found, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _evaluate(equation: Any, operands: list[Value]) -> list[Value]:
    name, params = equation.primitive.name, equation.params
    if name in _WRAPPERS:
        if name == _OWN_DERIVATIVE and _source_of(params) not in _SAME_DERIVATIVE:
            raise CannotPlan(f"{_source_of(params) or 'a function'} has a derivative of its own")
        inner = next(params[key] for key in ("jaxpr", "call_jaxpr", "fun_jaxpr") if key in params)
        if hasattr(inner, "jaxpr"):
            return evaluate_jaxpr(inner.jaxpr, inner.consts, operands)
        return evaluate_jaxpr(inner, (), operands)
    if not any(isinstance(operand, GraphArray) for operand in operands):
        return _known(equation, operands)
    if name in _SAME:
        return operands
    kinds = [getattr(atom.aval.dtype, "kind", "") for atom in equation.invars]
    if name in _ELEMENTWISE:
        return [_checked(_ELEMENTWISE[name], operands, kinds)]
    if name == "split":
        return _split(operands[0], params)
    if name == "scan":
        return _scan(operands, params)
    rule = _RULES.get(name)
    if rule is None:
        raise CannotPlan(f"{name} is not an operation on numbers")
    return [rule(operands, params, equation)]


def _source_of(params: dict[str, Any]) -> str:
    """The name of a function with a derivative of its own, behind "jax " if it is one of JAX."""
    source = str(getattr(params["call_jaxpr"].jaxpr.debug_info, "func_src_info", ""))
    name = source.split(" at ")[0]
    return f"jax {name}" if "/jax/_src/" in source.replace("\\", "/") else name


def _checked(name: str, operands: list[Value], kinds: list[str]) -> GraphArray:
    if name not in ("max", "min", "lt", "le", "eq", "ne"):
        whole = name in ("add", "sub", "mul", "neg", "abs", "sign") and "b" not in kinds
        _need_reals(name, [] if whole else kinds)
    return apply(name, *operands)


def _need_reals(name: str, kinds: list[str]) -> None:
    if any(kind != "f" for kind in kinds):
        raise CannotPlan(f"{name} of whole numbers or relations")


def _known(equation: Any, operands: list[Value]) -> list[Value]:
    """What does not depend on any node is computed now; where numpy does it to the last bit, by numpy: JAX
    would compile a program for each operation and shape."""
    name, params = equation.primitive.name, equation.params
    if name in _EXACT:
        return [_EXACT[name](*operands).astype(equation.outvars[0].aval.dtype)]
    if name == "convert_element_type":
        return [operands[0].astype(params["new_dtype"])]
    found = equation.primitive.bind(*operands, **equation.params)
    return [np.asarray(v) for v in (found if equation.primitive.multiple_results else [found])]


def _structural(move: Callable[[np.ndarray, dict[str, Any], Any], np.ndarray]) -> Callable[..., GraphArray]:
    """A rule that only moves elements of its first operand."""

    def rule(operands: list[Value], params: dict[str, Any], equation: Any) -> GraphArray:
        array = operands[0]
        if not isinstance(array, GraphArray) or any(isinstance(o, GraphArray) for o in operands[1:]):
            raise CannotPlan(f"{equation.primitive.name} at places that depend on variables")
        return GraphArray(array.graph, move(array.nodes, params, equation))

    return rule


def _broadcast(nodes: np.ndarray, params: dict[str, Any], _: Any) -> np.ndarray:
    shape = [1] * len(params["shape"])
    for axis, target in enumerate(params["broadcast_dimensions"]):
        shape[target] = nodes.shape[axis]
    return np.broadcast_to(nodes.reshape(shape), params["shape"])


def _slice(nodes: np.ndarray, params: dict[str, Any], _: Any) -> np.ndarray:
    strides = params["strides"] or (1,) * nodes.ndim
    places = zip(params["start_indices"], params["limit_indices"], strides, strict=True)
    return nodes[tuple(slice(a, b, s) for a, b, s in places)]


def _reshape(nodes: np.ndarray, params: dict[str, Any], _: Any) -> np.ndarray:
    order = params.get("dimensions")
    return (nodes if order is None else np.transpose(nodes, order)).reshape(params["new_sizes"])


def _rev(nodes: np.ndarray, params: dict[str, Any], _: Any) -> np.ndarray:
    return np.flip(nodes, params["dimensions"])


def _moved_by_jax(operands: list[Value], params: dict[str, Any], equation: Any) -> GraphArray:
    """Moves that JAX itself makes, with numbers of nodes in place of values."""
    array, *others = operands
    if not isinstance(array, GraphArray) or any(isinstance(o, GraphArray) for o in others):
        raise CannotPlan(f"{equation.primitive.name} at places that depend on variables")
    if "fill_value" in params:
        params = {**params, "fill_value": -1}  # no node: elements beyond the ends of the array are seen
    nodes = np.asarray(equation.primitive.bind(array.nodes, *others, **params))
    if (nodes < 0).any():
        raise CannotPlan(f"{equation.primitive.name} beyond the ends of an array")
    return GraphArray(array.graph, nodes)


def _scatter(operands: list[Value], params: dict[str, Any], equation: Any) -> GraphArray:
    """Elements put into an array at places that are known."""
    array, places, updates = operands
    if isinstance(places, GraphArray):
        raise CannotPlan("scatter at places that depend on variables")
    graph = next(o.graph for o in (array, updates) if isinstance(o, GraphArray))
    whole = [o if isinstance(o, GraphArray) else constants(graph, o) for o in (array, updates)]
    nodes = [part.nodes.astype(float) for part in whole]
    return GraphArray(graph, np.asarray(equation.primitive.bind(nodes[0], places, nodes[1], **params)))


def _scatter_add(operands: list[Value], params: dict[str, Any], equation: Any) -> GraphArray:
    """Elements added to those at places that are known, each place once."""
    array, places, updates = operands
    if isinstance(places, GraphArray):
        raise CannotPlan("scatter-add at places that depend on variables")
    graph = next(o.graph for o in (array, updates) if isinstance(o, GraphArray))
    array, updates = (o if isinstance(o, GraphArray) else constants(graph, o) for o in (array, updates))
    number = np.arange(1.0, updates.size + 1).reshape(updates.shape)
    marks = np.asarray(equation.primitive.bind(np.zeros(array.shape), places, number, **params)).astype(int)
    if marks.sum() != number.sum() or len(distinct(marks[marks > 0])) != updates.size:
        raise CannotPlan("several elements added at one place")
    more = np.append(graph.constant(0.0), updates.nodes.reshape(-1))[marks]
    return apply("add", array, GraphArray(graph, more))


def _concatenate(operands: list[Value], params: dict[str, Any], _: Any) -> GraphArray:
    graph = next(o.graph for o in operands if isinstance(o, GraphArray))
    parts = [o if isinstance(o, GraphArray) else constants(graph, o) for o in operands]
    return GraphArray(graph, np.concatenate([part.nodes for part in parts], params["dimension"]))


def _stack(operands: list[Value], params: dict[str, Any], _: Any) -> GraphArray:
    graph = next(o.graph for o in operands if isinstance(o, GraphArray))
    parts = [o if isinstance(o, GraphArray) else constants(graph, o) for o in operands]
    return GraphArray(graph, np.stack([part.nodes for part in parts], params["axis"]))


def _split(array: GraphArray, params: dict[str, Any]) -> list[Value]:
    cuts = np.cumsum(params["sizes"])[:-1]
    return [GraphArray(array.graph, part) for part in np.split(array.nodes, cuts, params["axis"])]


def _scan(operands: list[Value], params: dict[str, Any]) -> list[Value]:
    """A short loop, written out."""
    length, closed = params["length"], params["jaxpr"]
    if not length or length * max(1, len(closed.jaxpr.eqns)) > MOST_UNROLLED:
        raise CannotPlan("a long loop, or none")
    consts, carried = params["num_consts"], params["num_carry"]
    known, carry = operands[:consts], operands[consts : consts + carried]
    scanned = operands[consts + carried :]
    rows: list[list[Value]] = []
    for k in reversed(range(length)) if params["reverse"] else range(length):
        found = evaluate_jaxpr(
            closed.jaxpr, closed.consts, [*known, *carry, *(part[k] for part in scanned)]
        )
        carry = found[:carried]
        rows.append(found[carried:])
    if params["reverse"]:
        rows.reverse()
    return [*carry, *(_stacked(list(column)) for column in zip(*rows, strict=True))]


def _stacked(parts: list[Value]) -> Value:
    if any(isinstance(part, GraphArray) for part in parts):
        return _stack(parts, {"axis": 0}, None)
    return np.stack(parts)


def _pad(operands: list[Value], params: dict[str, Any], equation: Any) -> GraphArray:
    graph = next(o.graph for o in operands if isinstance(o, GraphArray))
    array, fill = (o if isinstance(o, GraphArray) else constants(graph, o) for o in operands)
    return GraphArray(graph, np.asarray(equation.primitive.bind(array.nodes, fill.nodes, **params)))


def _swapped(name: str) -> Callable[..., GraphArray]:
    return lambda operands, params, _: apply(name, operands[1], operands[0])


def _logical(name: str) -> Callable[..., GraphArray]:
    def rule(operands: list[Value], params: dict[str, Any], equation: Any) -> GraphArray:
        if any(atom.aval.dtype.kind != "b" for atom in equation.invars):
            raise CannotPlan(f"{name} of whole numbers")
        return apply(name, *operands)

    return rule


def _select(operands: list[Value], params: dict[str, Any], equation: Any) -> GraphArray:
    which, *cases = operands
    if len(cases) != 2 or equation.invars[0].aval.dtype.kind != "b":
        raise CannotPlan("a choice between more than two")
    return apply("select", which, cases[1], cases[0])


def _convert(operands: list[Value], params: dict[str, Any], equation: Any) -> GraphArray:
    old, new = equation.invars[0].aval.dtype.kind, np.dtype(params["new_dtype"]).kind
    if new == "f" and np.dtype(params["new_dtype"]) != np.float64:
        raise CannotPlan("numbers of less than 64 bit")
    same = equation.invars[0].aval.dtype == np.dtype(params["new_dtype"])
    if same or new == "f" or (old == "b" and new in "iu"):
        return operands[0]
    if new == "b":
        return apply("ne", operands[0], 0.0)
    raise CannotPlan(f"{old} made {new}")


def _integer_pow(operands: list[Value], params: dict[str, Any], _: Any) -> GraphArray:
    (array,) = operands
    nodes = [array.graph.power(node, params["y"]) for node in array.nodes.reshape(-1).tolist()]
    return GraphArray(array.graph, np.array(nodes, np.int64).reshape(array.shape))


def _combined(name: str, graph: Any, rows: np.ndarray) -> np.ndarray:
    """All elements of each row, by pairs and pairs of pairs: few levels, however long the rows are."""
    while rows.shape[1] > 1:
        half = rows.shape[1] // 2
        pairs = apply(name, GraphArray(graph, rows[:, :half]), GraphArray(graph, rows[:, half : 2 * half]))
        rows = np.concatenate([pairs.nodes, rows[:, 2 * half :]], axis=1)
    return rows[:, 0]


def _reduce(name: str) -> Callable[..., GraphArray]:
    def rule(operands: list[Value], params: dict[str, Any], _: Any) -> GraphArray:
        (array,) = operands
        axes = tuple(params["axes"])
        rest = [axis for axis in range(array.ndim) if axis not in axes]
        shape = tuple(array.shape[axis] for axis in rest)
        rows = np.transpose(array.nodes, (*rest, *axes)).reshape(math.prod(shape), -1)
        if not rows.shape[1]:
            if name not in ("add", "mul"):
                raise CannotPlan("a largest element of none")
            return constants(array.graph, np.full(shape, 0.0 if name == "add" else 1.0))
        return GraphArray(array.graph, _combined(name, array.graph, rows).reshape(shape))

    return rule


def _cumulative(name: str) -> Callable[..., GraphArray]:
    def rule(operands: list[Value], params: dict[str, Any], _: Any) -> GraphArray:
        (array,) = operands
        nodes = np.moveaxis(array.nodes, params["axis"], 0)
        nodes = (nodes[::-1] if params["reverse"] else nodes).copy()
        for k in range(1, len(nodes)):
            one, other = GraphArray(array.graph, nodes[k - 1]), GraphArray(array.graph, nodes[k])
            nodes[k] = apply(name, one, other).nodes
        nodes = nodes[::-1] if params["reverse"] else nodes
        return GraphArray(array.graph, np.moveaxis(nodes, 0, params["axis"]))

    return rule


def _dot_general(operands: list[Value], params: dict[str, Any], equation: Any) -> GraphArray:
    _need_reals("a product of matrices", [atom.aval.dtype.kind for atom in equation.invars])
    graph = next(o.graph for o in operands if isinstance(o, GraphArray))
    a, b = (o if isinstance(o, GraphArray) else constants(graph, o) for o in operands)
    (contract_a, contract_b), (batch_a, batch_b) = params["dimension_numbers"]
    free_a = [k for k in range(a.ndim) if k not in contract_a and k not in batch_a]
    free_b = [k for k in range(b.ndim) if k not in contract_b and k not in batch_b]
    batch = tuple(a.shape[k] for k in batch_a)
    rows = np.transpose(a.nodes, (*batch_a, *free_a, *contract_a))
    columns = np.transpose(b.nodes, (*batch_b, *free_b, *contract_b))
    inner = math.prod(a.shape[k] for k in contract_a)
    shape = (*batch, *(a.shape[k] for k in free_a), *(b.shape[k] for k in free_b))
    if math.prod(shape) * inner > MOST_TERMS:
        raise CannotPlan("a product of large matrices")
    if not inner or not math.prod(shape):
        return constants(graph, np.zeros(shape))
    rows = rows.reshape(math.prod(batch), -1, 1, inner)
    columns = columns.reshape(math.prod(batch), 1, -1, inner)
    terms = apply("mul", GraphArray(graph, rows), GraphArray(graph, columns)).nodes
    return GraphArray(graph, _combined("add", graph, terms.reshape(-1, inner)).reshape(shape))


_RULES: dict[str, Callable[..., GraphArray]] = {
    "broadcast_in_dim": _structural(_broadcast),
    "reshape": _structural(_reshape),
    "squeeze": _structural(lambda nodes, params, _: np.squeeze(nodes, tuple(params["dimensions"]))),
    "expand_dims": _structural(lambda nodes, params, _: np.expand_dims(nodes, params["dimensions"])),
    "transpose": _structural(lambda nodes, params, _: np.transpose(nodes, params["permutation"])),
    "slice": _structural(_slice),
    "rev": _structural(_rev),
    "gather": _moved_by_jax,
    "dynamic_slice": _moved_by_jax,
    "scatter": _scatter,
    "scatter-add": _scatter_add,
    "concatenate": _concatenate,
    "stack": _stack,
    "tile": _structural(lambda nodes, params, _: np.tile(nodes, params["reps"])),
    "pad": _pad,
    "gt": _swapped("lt"),
    "ge": _swapped("le"),
    "and": _logical("and"),
    "or": _logical("or"),
    "xor": _logical("xor"),
    "not": _logical("not"),
    "select_n": _select,
    "convert_element_type": _convert,
    "integer_pow": _integer_pow,
    "square": lambda operands, params, _: apply("mul", operands[0], operands[0]),
    "rsqrt": lambda operands, params, _: apply("div", 1.0, apply("sqrt", operands[0])),
    "exp2": lambda operands, params, _: apply("pow", 2.0, operands[0]),
    "round": lambda operands, params, _: _round(operands, params),
    "reduce_sum": _reduce("add"),
    "reduce_prod": _reduce("mul"),
    "reduce_max": _reduce("max"),
    "reduce_min": _reduce("min"),
    "reduce_and": _reduce("and"),
    "reduce_or": _reduce("or"),
    "cumsum": _cumulative("add"),
    "cumprod": _cumulative("mul"),
    "dot_general": _dot_general,
}


def _round(operands: list[Value], params: dict[str, Any]) -> GraphArray:
    (array,) = operands
    if params["rounding_method"] == jax.lax.RoundingMethod.TO_NEAREST_EVEN:
        return apply("rint", array)
    away = apply("floor", apply("add", apply("abs", array), 0.5))
    return apply("mul", apply("sign", array), away)

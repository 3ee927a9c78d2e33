"""The switches of a function: numbers that stay the same wherever the function is smooth.

A function of time that chooses, rounds or compares is smooth between the times at which one of these
decisions changes. They are read off its trace: the outcome of every comparison, the integer part of every
division with remainder, which operand of a maximum is the larger one, and so on. Two values of a switch
that differ enclose a change, however small the pulse is that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

_INNER = ("jaxpr", "call_jaxpr", "fun_jaxpr")
_LOOPS = ("scan", "while")
_ROUNDED = ("floor", "ceil", "round", "sign")


def switches(function: Callable[..., Any], *arguments: Any) -> Any:
    """All switches of a function that depend on its first argument, as one vector."""
    program = jax.make_jaxpr(function)(*arguments)
    flat = jax.tree_util.tree_leaves(arguments)
    first = len(jax.tree_util.tree_leaves(arguments[0]))
    found: list[Any] = []
    _run(program, flat, [k < first for k in range(len(flat))], found)
    parts = [jnp.nan_to_num(jnp.asarray(part, float)).reshape(-1) for part in found]
    return jnp.concatenate([jnp.zeros(0), *parts])


def _run(program: Any, values: list[Any], moving: list[bool], found: list[Any]) -> tuple[list, list[bool]]:
    """Evaluate a program and note its switches; which results move with the first argument."""
    inner: Any = program.jaxpr if isinstance(program, ClosedJaxpr) else program
    constants = program.consts if isinstance(program, ClosedJaxpr) else ()
    known: dict[Any, tuple[Any, bool]] = {}
    known.update(zip(inner.constvars, ((value, False) for value in constants), strict=True))
    known.update(zip(inner.invars, zip(values, moving, strict=True), strict=True))

    def read(variable: Any) -> tuple[Any, bool]:
        return (variable.val, False) if isinstance(variable, Literal) else known[variable]

    for equation in inner.eqns:
        operands, moves = (
            map(list, zip(*map(read, equation.invars), strict=True)) if equation.invars else ([], [])
        )
        results, moved = _equation(equation, operands, moves, found)
        known.update(zip(equation.outvars, zip(results, moved, strict=True), strict=True))
    pairs = [read(variable) for variable in inner.outvars]
    return [value for value, _ in pairs], [moves for _, moves in pairs]


def _equation(
    equation: Any, operands: list, moves: list[bool], found: list[Any]
) -> tuple[list, list[bool]]:
    name, parameters = equation.primitive.name, equation.params
    if name == "cond" and any(moves):
        return _branches(parameters["branches"], operands, moves, found)
    inner = next(
        (parameters[key] for key in _INNER if isinstance(parameters.get(key), (ClosedJaxpr, Jaxpr))), None
    )
    if inner is not None and name not in _LOOPS and len(_variables(inner)) == len(operands):
        return _run(inner, operands, moves, found)
    results = _evaluated(equation, operands)
    if any(moves):
        found += _noted(name, parameters, operands, results)
    return results, [any(moves)] * len(results)


def _evaluated(equation: Any, operands: list) -> list:
    bound = equation.primitive.get_bind_params(equation.params)
    functions, bound = bound if isinstance(bound, tuple) else ((), bound)  # older versions of JAX: a pair
    results = equation.primitive.bind(*functions, *operands, **bound)
    return list(results) if equation.primitive.multiple_results else [results]


def _variables(program: Any) -> list:
    return (program.jaxpr if isinstance(program, ClosedJaxpr) else program).invars


def _branches(
    branches: Any, operands: list, moves: list[bool], found: list[Any]
) -> tuple[list, list[bool]]:
    """All branches are looked at, one is taken."""
    if moves[0]:
        found.append(operands[0])
    outcomes = [_run(branch, operands[1:], moves[1:], found)[0] for branch in branches]
    index = jnp.clip(jnp.asarray(operands[0], jnp.int32), 0, len(branches) - 1)
    taken = [lax.select_n(index, *values) for values in zip(*outcomes, strict=True)]
    return taken, [True] * len(taken)


def _noted(name: str, parameters: dict[str, Any], operands: list, results: list) -> list[Any]:
    """The switches of one operation."""
    whole = [r for r in results if jnp.issubdtype(r.dtype, jnp.integer) or r.dtype == bool]
    if whole:
        return whole
    if not operands or not all(jnp.issubdtype(jnp.asarray(x).dtype, jnp.floating) for x in operands):
        return []
    x = operands[0]
    if name in _ROUNDED:
        return results
    if name == "abs":
        return [x > 0]
    if name in ("max", "min"):
        return [x > operands[1]]
    if name == "clamp":  # low, x, high
        return [(operands[1] > x).astype(int) + (operands[1] > operands[2])]
    if name == "rem":
        return [jnp.round((x - results[0]) / operands[1])]
    if name == "atan2":  # jumps from pi to -pi where y changes its sign, for x < 0
        return [(x < 0) & (operands[1] < 0)]
    if name in ("reduce_max", "reduce_min"):
        return [x == jnp.expand_dims(results[0], parameters["axes"])]
    if name in ("cummax", "cummin"):
        return [x == results[0]]
    if name == "sort":
        return [jnp.argsort(x, axis=parameters["dimension"])]
    return []

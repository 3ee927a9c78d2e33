"""The operations on numbers that a plan is made of: their values, and their partial derivatives.

Each is known by its name; its number is its place in `OPERATIONS`, which native code compares with. `numpy`
evaluates it on constants and `jax` on arrays; relations are one or zero. `partials` builds, with the graph,
the derivative by each operand: the same formulas serve native code, JAX, and derivatives of derivatives.
They are those of JAX, or as good: a tie of `max` counts half for each side, and a step has the derivative
zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special

Partials = Callable[..., tuple[int | None, ...]]
"""partials(graph, y, *operands): nodes of the derivatives of y by its operands, None where zero."""


@dataclass(frozen=True)
class Operation:
    name: str
    operands: int
    numpy: Callable[..., Any]
    jax: Callable[..., Any]
    partials: Partials | None = None
    """None where all derivatives are zero."""


def _number(relation: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *operands: relation(*operands) * 1.0


def _square(g: Any, a: int) -> int:
    return g.make("mul", a, a)


def _inverse(g: Any, a: int) -> int:
    return g.make("div", g.constant(1.0), a)


def _one_plus(g: Any, a: int) -> int:
    return g.make("add", g.constant(1.0), a)


def _one_minus(g: Any, a: int) -> int:
    return g.make("sub", g.constant(1.0), a)


def _over_root(g: Any, a: int) -> int:
    return _inverse(g, g.make("sqrt", a))


def _power(g: Any, y: int, a: int, b: int) -> tuple[int | None, ...]:
    one, zero = g.constant(1.0), g.constant(0.0)
    flat = g.make("eq", b, zero)
    slope = g.make("mul", b, g.make("pow", a, g.make("select", flat, one, g.make("sub", b, one))))
    by_a = g.make("select", flat, zero, slope)
    if g.is_constant(b):
        return by_a, None
    return by_a, g.make("mul", y, g.make("log", g.make("select", g.make("eq", a, zero), one, a)))


def _of_angle(g: Any, a: int, b: int) -> tuple[int | None, ...]:
    size = g.make("add", _square(g, a), _square(g, b))
    return g.make("div", b, size), g.make("neg", g.make("div", a, size))


def _of_larger(g: Any, first: int, second: int, a: int, b: int) -> tuple[int | None, ...]:
    """`first` is one where a is chosen, `second` where b is; half of each where they are equal."""
    half, tie = g.constant(0.5), g.make("eq", a, b)
    return g.make("select", tie, half, first), g.make("select", tie, half, second)


def _select_partials(g: Any, y: int, c: int, a: int, b: int) -> tuple[int | None, ...]:
    one, zero = g.constant(1.0), g.constant(0.0)
    return None, g.make("select", c, one, zero), g.make("select", c, zero, one)


_TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)

OPERATIONS: tuple[Operation, ...] = (
    Operation("neg", 1, np.negative, jnp.negative, lambda g, y, a: (g.constant(-1.0),)),
    Operation(
        "add", 2, np.add, jnp.add, lambda g, y, a, b: (g.constant(1.0), g.constant(1.0)),
    ),
    Operation(
        "sub", 2, np.subtract, jnp.subtract, lambda g, y, a, b: (g.constant(1.0), g.constant(-1.0)),
    ),
    Operation("mul", 2, np.multiply, jnp.multiply, lambda g, y, a, b: (b, a)),
    Operation(
        "div", 2, np.divide, jnp.divide,
        lambda g, y, a, b: (_inverse(g, b), g.make("neg", g.make("div", y, b))),
    ),
    Operation("pow", 2, np.power, jnp.power, _power),
    Operation("sqrt", 1, np.sqrt, jnp.sqrt, lambda g, y, a: (g.make("div", g.constant(0.5), y),)),
    Operation("exp", 1, np.exp, jnp.exp, lambda g, y, a: (y,)),
    Operation("log", 1, np.log, jnp.log, lambda g, y, a: (_inverse(g, a),)),
    Operation("expm1", 1, np.expm1, jnp.expm1, lambda g, y, a: (_one_plus(g, y),)),
    Operation("log1p", 1, np.log1p, jnp.log1p, lambda g, y, a: (_inverse(g, _one_plus(g, a)),)),
    Operation("sin", 1, np.sin, jnp.sin, lambda g, y, a: (g.make("cos", a),)),
    Operation("cos", 1, np.cos, jnp.cos, lambda g, y, a: (g.make("neg", g.make("sin", a)),)),
    Operation("tan", 1, np.tan, jnp.tan, lambda g, y, a: (_one_plus(g, _square(g, y)),)),
    Operation(
        "asin", 1, np.arcsin, jnp.arcsin, lambda g, y, a: (_over_root(g, _one_minus(g, _square(g, a))),),
    ),
    Operation(
        "acos", 1, np.arccos, jnp.arccos,
        lambda g, y, a: (g.make("neg", _over_root(g, _one_minus(g, _square(g, a)))),),
    ),
    Operation(
        "atan", 1, np.arctan, jnp.arctan, lambda g, y, a: (_inverse(g, _one_plus(g, _square(g, a))),),
    ),
    Operation("sinh", 1, np.sinh, jnp.sinh, lambda g, y, a: (g.make("cosh", a),)),
    Operation("cosh", 1, np.cosh, jnp.cosh, lambda g, y, a: (g.make("sinh", a),)),
    Operation("tanh", 1, np.tanh, jnp.tanh, lambda g, y, a: (_one_minus(g, _square(g, y)),)),
    Operation(
        "asinh", 1, np.arcsinh, jnp.arcsinh, lambda g, y, a: (_over_root(g, _one_plus(g, _square(g, a))),),
    ),
    Operation(
        "acosh", 1, np.arccosh, jnp.arccosh,
        lambda g, y, a: (_over_root(g, g.make("sub", _square(g, a), g.constant(1.0))),),
    ),
    Operation(
        "atanh", 1, np.arctanh, jnp.arctanh, lambda g, y, a: (_inverse(g, _one_minus(g, _square(g, a))),),
    ),
    Operation(
        "cbrt", 1, np.cbrt, jnp.cbrt,
        lambda g, y, a: (_inverse(g, g.make("mul", g.constant(3.0), _square(g, y))),),
    ),
    Operation(
        "abs", 1, np.abs, jnp.abs,
        lambda g, y, a: (
            g.make("select", g.make("lt", a, g.constant(0.0)), g.constant(-1.0), g.constant(1.0)),
        ),
    ),
    Operation(
        "erf", 1, scipy.special.erf, jax.scipy.special.erf,
        lambda g, y, a: (
            g.make("mul", g.constant(_TWO_OVER_ROOT_PI), g.make("exp", g.make("neg", _square(g, a)))),
        ),
    ),
    Operation(
        "erfc", 1, scipy.special.erfc, jax.scipy.special.erfc,
        lambda g, y, a: (
            g.make("mul", g.constant(-_TWO_OVER_ROOT_PI), g.make("exp", g.make("neg", _square(g, a)))),
        ),
    ),
    Operation(
        "logistic", 1, scipy.special.expit, jax.nn.sigmoid,
        lambda g, y, a: (g.make("mul", y, _one_minus(g, y)),),
    ),
    Operation("atan2", 2, np.arctan2, jnp.arctan2, lambda g, y, a, b: _of_angle(g, a, b)),
    Operation(
        "max", 2, np.maximum, jnp.maximum,
        lambda g, y, a, b: _of_larger(g, g.make("lt", b, a), g.make("lt", a, b), a, b),
    ),
    Operation(
        "min", 2, np.minimum, jnp.minimum,
        lambda g, y, a, b: _of_larger(g, g.make("lt", a, b), g.make("lt", b, a), a, b),
    ),
    Operation(
        "rem", 2, np.fmod, jnp.fmod,
        lambda g, y, a, b: (g.constant(1.0), g.make("neg", g.make("trunc", g.make("div", a, b)))),
    ),
    Operation("sign", 1, np.sign, jnp.sign),
    Operation("floor", 1, np.floor, jnp.floor),
    Operation("ceil", 1, np.ceil, jnp.ceil),
    Operation("rint", 1, np.rint, jnp.rint),
    Operation("trunc", 1, np.trunc, jnp.trunc),
    Operation("is_finite", 1, _number(np.isfinite), _number(jnp.isfinite)),
    Operation("not", 1, _number(np.logical_not), _number(jnp.logical_not)),
    Operation("lt", 2, _number(np.less), _number(jnp.less)),
    Operation("le", 2, _number(np.less_equal), _number(jnp.less_equal)),
    Operation("eq", 2, _number(np.equal), _number(jnp.equal)),
    Operation("ne", 2, _number(np.not_equal), _number(jnp.not_equal)),
    Operation("and", 2, _number(np.logical_and), _number(jnp.logical_and)),
    Operation("or", 2, _number(np.logical_or), _number(jnp.logical_or)),
    Operation("xor", 2, _number(np.not_equal), _number(jnp.not_equal)),
    Operation(
        "select", 3, lambda c, a, b: np.where(c != 0, a, b), lambda c, a, b: jnp.where(c != 0, a, b),
        _select_partials,
    ),
)  # fmt: skip

NUMBER = {operation.name: number for number, operation in enumerate(OPERATIONS)}
BY_NAME = {operation.name: operation for operation in OPERATIONS}

"""Native code that reads plans: nothing is compiled for a model.

Every operation has a loop of its own over the nodes of a group: nothing is decided for each of them. Places
are unsigned: numba would look at each whether it counts from the end.

All memory besides arguments and results is made by each call for itself: XLA may call from several threads
at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from .operations import NUMBER

_options: dict[str, Any] = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_part: Any = njit(**_options)
"""Called by native code only: what Python would need to call them takes a third of the time to compile."""

# Values.

_ONE: dict[str, Callable[[float], float]] = {
    "neg": lambda a: -a,
    "sqrt": lambda a: np.sqrt(a),
    "exp": lambda a: np.exp(a),
    "log": lambda a: np.log(a),
    "expm1": lambda a: np.expm1(a),
    "log1p": lambda a: np.log1p(a),
    "sin": lambda a: np.sin(a),
    "cos": lambda a: np.cos(a),
    "tan": lambda a: np.tan(a),
    "asin": lambda a: np.arcsin(a),
    "acos": lambda a: np.arccos(a),
    "atan": lambda a: np.arctan(a),
    "sinh": lambda a: np.sinh(a),
    "cosh": lambda a: np.cosh(a),
    "tanh": lambda a: np.tanh(a),
    "asinh": lambda a: np.arcsinh(a),
    "acosh": lambda a: np.arccosh(a),
    "atanh": lambda a: np.arctanh(a),
    "cbrt": lambda a: np.cbrt(a),
    "abs": lambda a: abs(a),
    "erf": lambda a: math.erf(a),
    "erfc": lambda a: math.erfc(a),
    "logistic": lambda a: 1.0 / (1.0 + np.exp(-a)) if a >= 0 else np.exp(a) / (1.0 + np.exp(a)),
    "sign": lambda a: np.sign(a),
    "floor": lambda a: np.floor(a),
    "ceil": lambda a: np.ceil(a),
    "rint": lambda a: np.rint(a),
    "trunc": lambda a: np.trunc(a),
    "is_finite": lambda a: 1.0 if math.isfinite(a) else 0.0,
    "not": lambda a: 0.0 if a != 0 else 1.0,
}
_TWO: dict[str, Callable[[float, float], float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: np.power(a, b),
    "atan2": lambda a, b: math.atan2(a, b),
    "max": lambda a, b: a if (a >= b or a != a) else b,
    "min": lambda a, b: a if (a <= b or a != a) else b,
    "rem": lambda a, b: np.fmod(a, b),
    "lt": lambda a, b: 1.0 if a < b else 0.0,
    "le": lambda a, b: 1.0 if a <= b else 0.0,
    "eq": lambda a, b: 1.0 if a == b else 0.0,
    "ne": lambda a, b: 1.0 if a != b else 0.0,
    "and": lambda a, b: 1.0 if a != 0 and b != 0 else 0.0,
    "or": lambda a, b: 1.0 if a != 0 or b != 0 else 0.0,
    "xor": lambda a, b: 1.0 if (a != 0) != (b != 0) else 0.0,
}


@_part
def _of(w: Any, place: Any, lanes: int) -> Any:
    """The values of a node in all lanes."""
    first = np.int64(place) * lanes
    return w[first : first + lanes]


def _loop_of_one(function: Callable[[float], float]) -> Any:
    value = _part(function)

    @_part
    def loop(first: int, behind: int, shift: int, a: Any, w: Any, lanes: int) -> None:
        if lanes == 1:
            for k in range(first, behind):
                w[k] = value(w[a[k - shift]])
            return
        for k in range(first, behind):
            out, one = _of(w, k, lanes), _of(w, a[k - shift], lanes)
            for i in range(lanes):
                out[i] = value(one[i])

    return loop


def _loop_of_two(function: Callable[[float, float], float]) -> Any:
    value = _part(function)

    @_part
    def loop(first: int, behind: int, shift: int, a: Any, b: Any, w: Any, lanes: int) -> None:
        if lanes == 1:
            for k in range(first, behind):
                w[k] = value(w[a[k - shift]], w[b[k - shift]])
            return
        for k in range(first, behind):
            out, one, two = _of(w, k, lanes), _of(w, a[k - shift], lanes), _of(w, b[k - shift], lanes)
            for i in range(lanes):
                out[i] = value(one[i], two[i])

    return loop


@_part
def _loop_of_select(
    first: int, behind: int, shift: int, a: Any, b: Any, c: Any, w: Any, lanes: int
) -> None:
    for k in range(first, behind):
        out, which = _of(w, k, lanes), _of(w, a[k - shift], lanes)
        yes, no = _of(w, b[k - shift], lanes), _of(w, c[k - shift], lanes)
        for i in range(lanes):
            out[i] = yes[i] if which[i] != 0 else no[i]


# numba wants numbers of operations, and functions, under names of their own.
_MUL = NUMBER["mul"]
_ADD = NUMBER["add"]
_SUB = NUMBER["sub"]
_NEG = NUMBER["neg"]
_DIV = NUMBER["div"]
_SIN = NUMBER["sin"]
_COS = NUMBER["cos"]
_EXP = NUMBER["exp"]
_SQRT = NUMBER["sqrt"]
_TANH = NUMBER["tanh"]
_SELECT = NUMBER["select"]
_POW = NUMBER["pow"]
_MAX = NUMBER["max"]
_MIN = NUMBER["min"]
_LT = NUMBER["lt"]
_LE = NUMBER["le"]
_LOG = NUMBER["log"]
_EXPM1 = NUMBER["expm1"]
_LOG1P = NUMBER["log1p"]
_TAN = NUMBER["tan"]
_ASIN = NUMBER["asin"]
_ACOS = NUMBER["acos"]
_ATAN = NUMBER["atan"]
_SINH = NUMBER["sinh"]
_COSH = NUMBER["cosh"]
_ASINH = NUMBER["asinh"]
_ACOSH = NUMBER["acosh"]
_ATANH = NUMBER["atanh"]
_CBRT = NUMBER["cbrt"]
_ABS = NUMBER["abs"]
_ERF = NUMBER["erf"]
_ERFC = NUMBER["erfc"]
_LOGISTIC = NUMBER["logistic"]
_SIGN = NUMBER["sign"]
_FLOOR = NUMBER["floor"]
_CEIL = NUMBER["ceil"]
_RINT = NUMBER["rint"]
_TRUNC = NUMBER["trunc"]
_IS_FINITE = NUMBER["is_finite"]
_NOT = NUMBER["not"]
_ATAN2 = NUMBER["atan2"]
_REM = NUMBER["rem"]
_EQ = NUMBER["eq"]
_NE = NUMBER["ne"]
_AND = NUMBER["and"]
_OR = NUMBER["or"]
_XOR = NUMBER["xor"]
_loop_mul = _loop_of_two(_TWO["mul"])
_loop_add = _loop_of_two(_TWO["add"])
_loop_sub = _loop_of_two(_TWO["sub"])
_loop_neg = _loop_of_one(_ONE["neg"])
_loop_div = _loop_of_two(_TWO["div"])
_loop_sin = _loop_of_one(_ONE["sin"])
_loop_cos = _loop_of_one(_ONE["cos"])
_loop_exp = _loop_of_one(_ONE["exp"])
_loop_sqrt = _loop_of_one(_ONE["sqrt"])
_loop_tanh = _loop_of_one(_ONE["tanh"])
_loop_pow = _loop_of_two(_TWO["pow"])
_loop_max = _loop_of_two(_TWO["max"])
_loop_min = _loop_of_two(_TWO["min"])
_loop_lt = _loop_of_two(_TWO["lt"])
_loop_le = _loop_of_two(_TWO["le"])
_loop_log = _loop_of_one(_ONE["log"])
_loop_expm1 = _loop_of_one(_ONE["expm1"])
_loop_log1p = _loop_of_one(_ONE["log1p"])
_loop_tan = _loop_of_one(_ONE["tan"])
_loop_asin = _loop_of_one(_ONE["asin"])
_loop_acos = _loop_of_one(_ONE["acos"])
_loop_atan = _loop_of_one(_ONE["atan"])
_loop_sinh = _loop_of_one(_ONE["sinh"])
_loop_cosh = _loop_of_one(_ONE["cosh"])
_loop_asinh = _loop_of_one(_ONE["asinh"])
_loop_acosh = _loop_of_one(_ONE["acosh"])
_loop_atanh = _loop_of_one(_ONE["atanh"])
_loop_cbrt = _loop_of_one(_ONE["cbrt"])
_loop_abs = _loop_of_one(_ONE["abs"])
_loop_erf = _loop_of_one(_ONE["erf"])
_loop_erfc = _loop_of_one(_ONE["erfc"])
_loop_logistic = _loop_of_one(_ONE["logistic"])
_loop_sign = _loop_of_one(_ONE["sign"])
_loop_floor = _loop_of_one(_ONE["floor"])
_loop_ceil = _loop_of_one(_ONE["ceil"])
_loop_rint = _loop_of_one(_ONE["rint"])
_loop_trunc = _loop_of_one(_ONE["trunc"])
_loop_is_finite = _loop_of_one(_ONE["is_finite"])
_loop_not = _loop_of_one(_ONE["not"])
_loop_atan2 = _loop_of_two(_TWO["atan2"])
_loop_rem = _loop_of_two(_TWO["rem"])
_loop_eq = _loop_of_two(_TWO["eq"])
_loop_ne = _loop_of_two(_TWO["ne"])
_loop_and = _loop_of_two(_TWO["and"])
_loop_or = _loop_of_two(_TWO["or"])
_loop_xor = _loop_of_two(_TWO["xor"])


@_part
def evaluate(groups: Any, a: Any, b: Any, c: Any, w: Any, shift: int, lanes: int) -> None:
    """All results of a plan, into w, which holds inputs and constants; a, b, c are places of operands.

    Several points at a time: w holds, for each place, the values of so many lanes next to each other.
    """
    for g in range(groups.shape[0]):
        o, i, j = groups[g, 0], groups[g, 1], groups[g, 2]
        if o == _MUL:
            _loop_mul(i, j, shift, a, b, w, lanes)
        elif o == _ADD:
            _loop_add(i, j, shift, a, b, w, lanes)
        elif o == _SUB:
            _loop_sub(i, j, shift, a, b, w, lanes)
        elif o == _NEG:
            _loop_neg(i, j, shift, a, w, lanes)
        elif o == _DIV:
            _loop_div(i, j, shift, a, b, w, lanes)
        elif o == _SIN:
            _loop_sin(i, j, shift, a, w, lanes)
        elif o == _COS:
            _loop_cos(i, j, shift, a, w, lanes)
        elif o == _EXP:
            _loop_exp(i, j, shift, a, w, lanes)
        elif o == _SQRT:
            _loop_sqrt(i, j, shift, a, w, lanes)
        elif o == _TANH:
            _loop_tanh(i, j, shift, a, w, lanes)
        elif o == _SELECT:
            _loop_of_select(i, j, shift, a, b, c, w, lanes)
        elif o == _POW:
            _loop_pow(i, j, shift, a, b, w, lanes)
        elif o == _MAX:
            _loop_max(i, j, shift, a, b, w, lanes)
        elif o == _MIN:
            _loop_min(i, j, shift, a, b, w, lanes)
        elif o == _LT:
            _loop_lt(i, j, shift, a, b, w, lanes)
        elif o == _LE:
            _loop_le(i, j, shift, a, b, w, lanes)
        elif o == _LOG:
            _loop_log(i, j, shift, a, w, lanes)
        elif o == _EXPM1:
            _loop_expm1(i, j, shift, a, w, lanes)
        elif o == _LOG1P:
            _loop_log1p(i, j, shift, a, w, lanes)
        elif o == _TAN:
            _loop_tan(i, j, shift, a, w, lanes)
        elif o == _ASIN:
            _loop_asin(i, j, shift, a, w, lanes)
        elif o == _ACOS:
            _loop_acos(i, j, shift, a, w, lanes)
        elif o == _ATAN:
            _loop_atan(i, j, shift, a, w, lanes)
        elif o == _SINH:
            _loop_sinh(i, j, shift, a, w, lanes)
        elif o == _COSH:
            _loop_cosh(i, j, shift, a, w, lanes)
        elif o == _ASINH:
            _loop_asinh(i, j, shift, a, w, lanes)
        elif o == _ACOSH:
            _loop_acosh(i, j, shift, a, w, lanes)
        elif o == _ATANH:
            _loop_atanh(i, j, shift, a, w, lanes)
        elif o == _CBRT:
            _loop_cbrt(i, j, shift, a, w, lanes)
        elif o == _ABS:
            _loop_abs(i, j, shift, a, w, lanes)
        elif o == _ERF:
            _loop_erf(i, j, shift, a, w, lanes)
        elif o == _ERFC:
            _loop_erfc(i, j, shift, a, w, lanes)
        elif o == _LOGISTIC:
            _loop_logistic(i, j, shift, a, w, lanes)
        elif o == _SIGN:
            _loop_sign(i, j, shift, a, w, lanes)
        elif o == _FLOOR:
            _loop_floor(i, j, shift, a, w, lanes)
        elif o == _CEIL:
            _loop_ceil(i, j, shift, a, w, lanes)
        elif o == _RINT:
            _loop_rint(i, j, shift, a, w, lanes)
        elif o == _TRUNC:
            _loop_trunc(i, j, shift, a, w, lanes)
        elif o == _IS_FINITE:
            _loop_is_finite(i, j, shift, a, w, lanes)
        elif o == _NOT:
            _loop_not(i, j, shift, a, w, lanes)
        elif o == _ATAN2:
            _loop_atan2(i, j, shift, a, b, w, lanes)
        elif o == _REM:
            _loop_rem(i, j, shift, a, b, w, lanes)
        elif o == _EQ:
            _loop_eq(i, j, shift, a, b, w, lanes)
        elif o == _NE:
            _loop_ne(i, j, shift, a, b, w, lanes)
        elif o == _AND:
            _loop_and(i, j, shift, a, b, w, lanes)
        elif o == _OR:
            _loop_or(i, j, shift, a, b, w, lanes)
        elif o == _XOR:
            _loop_xor(i, j, shift, a, b, w, lanes)


# Derivatives.


@_part
def push(
    start: Any, coefficient: Any, source: Any, w: Any, d: Any, inputs: int, lanes: int, column: int,
    columns: int,
) -> None:  # fmt: skip
    """Tangents of all nodes into d, which holds those of the inputs: so many directions next to each
    other for each node. Of the points in the columns of w, this is for one."""
    width, first, stride = np.uint64(lanes), np.uint64(column), np.uint64(columns)
    for k in range(len(start) - 1):
        row = np.uint64(inputs + k) * width
        for lane in range(width):
            d[row + lane] = 0.0
        for e in range(start[k], start[k + 1]):
            factor, other = w[coefficient[e] * stride + first], source[e] * width
            if factor != 0.0:
                for lane in range(width):
                    d[row + lane] += factor * d[other + lane]


@_part
def push_one_direction(
    start: Any, coefficient: Any, source: Any, w: Any, d: Any, inputs: int, lanes: int
) -> None:
    """The same for one direction at many points: w and d hold, for each node, values at all of them."""
    for k in range(len(start) - 1):
        out = _of(d, inputs + k, lanes)
        for i in range(lanes):
            out[i] = 0.0
        for e in range(start[k], start[k + 1]):
            factor, other = _of(w, coefficient[e], lanes), _of(d, source[e], lanes)
            for i in range(lanes):
                out[i] += factor[i] * other[i] if factor[i] != 0.0 else 0.0

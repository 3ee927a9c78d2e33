"""Native code that reads plans: nothing is compiled for a model.

All memory besides arguments and results is made by each call for itself: XLA may call from several threads
at once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from .operations import NUMBER

# numba wants numbers of operations as constants.
_NEG, _ADD, _SUB, _MUL, _DIV = (NUMBER[name] for name in "neg add sub mul div".split())
_POW, _SQRT, _EXP, _LOG, _EXPM1, _LOG1P = (NUMBER[n] for n in "pow sqrt exp log expm1 log1p".split())
_SIN, _COS, _TAN, _ASIN, _ACOS, _ATAN = (NUMBER[n] for n in "sin cos tan asin acos atan".split())
_SINH, _COSH, _TANH = (NUMBER[n] for n in "sinh cosh tanh".split())
_ASINH, _ACOSH, _ATANH = (NUMBER[n] for n in "asinh acosh atanh".split())
_CBRT, _ABS, _ERF, _LOGISTIC = (NUMBER[n] for n in "cbrt abs erf logistic".split())
_ATAN2, _MAX, _MIN, _REM = (NUMBER[n] for n in "atan2 max min rem".split())
_SIGN, _FLOOR, _CEIL, _RINT, _TRUNC = (NUMBER[n] for n in "sign floor ceil rint trunc".split())
_IS_FINITE, _NOT, _LT, _LE, _EQ, _NE = (NUMBER[n] for n in "is_finite not lt le eq ne".split())
_AND, _OR, _XOR, _SELECT = (NUMBER[n] for n in "and or xor select".split())


@njit(error_model="numpy")
def _sum_group(o: int, i: int, j: int, at: Any, w: Any, first: int) -> bool:
    """The commonest operations; whether it was one of them."""
    if o == _MUL:
        for k in range(i, j):
            w[k] = w[at[k - first, 0]] * w[at[k - first, 1]]
    elif o == _ADD:
        for k in range(i, j):
            w[k] = w[at[k - first, 0]] + w[at[k - first, 1]]
    elif o == _SUB:
        for k in range(i, j):
            w[k] = w[at[k - first, 0]] - w[at[k - first, 1]]
    elif o == _NEG:
        for k in range(i, j):
            w[k] = -w[at[k - first, 0]]
    elif o == _DIV:
        for k in range(i, j):
            w[k] = w[at[k - first, 0]] / w[at[k - first, 1]]
    else:
        return False
    return True


@njit(error_model="numpy")
def _one(o: int, a: float) -> float:
    """Operations with one operand."""
    if o == _SIN:
        return math.sin(a) if math.isfinite(a) else math.nan
    if o == _COS:
        return math.cos(a) if math.isfinite(a) else math.nan
    if o == _SQRT:
        return np.sqrt(a)
    if o == _EXP:
        return np.exp(a)
    if o == _LOG:
        return np.log(a)
    if o == _TANH:
        return np.tanh(a)
    if o == _TAN:
        return np.tan(a)
    if o == _ASIN:
        return np.arcsin(a)
    if o == _ACOS:
        return np.arccos(a)
    if o == _ATAN:
        return np.arctan(a)
    if o == _SINH:
        return np.sinh(a)
    if o == _COSH:
        return np.cosh(a)
    if o == _ASINH:
        return np.arcsinh(a)
    if o == _ACOSH:
        return np.arccosh(a)
    if o == _ATANH:
        return np.arctanh(a)
    if o == _EXPM1:
        return np.expm1(a)
    if o == _LOG1P:
        return np.log1p(a)
    if o == _CBRT:
        return np.cbrt(a)
    if o == _ABS:
        return abs(a)
    if o == _ERF:
        return math.erf(a)
    if o == _LOGISTIC:
        return 1.0 / (1.0 + np.exp(-a)) if a >= 0 else np.exp(a) / (1.0 + np.exp(a))
    if o == _SIGN:
        return np.sign(a)
    if o == _FLOOR:
        return np.floor(a)
    if o == _CEIL:
        return np.ceil(a)
    if o == _RINT:
        return np.rint(a)
    if o == _TRUNC:
        return np.trunc(a)
    if o == _IS_FINITE:
        return 1.0 if math.isfinite(a) else 0.0
    if o == _NOT:
        return 1.0 - a
    return math.nan


@njit(error_model="numpy")
def _two(o: int, a: float, b: float) -> float:
    """Operations with two operands."""
    if o == _POW:
        return np.power(a, b)
    if o == _ATAN2:
        return math.atan2(a, b)
    if o in (_MAX, _OR):
        return a if (a >= b or a != a) else b
    if o in (_MIN, _AND):
        return a if (a <= b or a != a) else b
    if o == _REM:
        return np.fmod(a, b)
    if o == _LT:
        return 1.0 if a < b else 0.0
    if o == _LE:
        return 1.0 if a <= b else 0.0
    if o == _EQ:
        return 1.0 if a == b else 0.0
    if o in (_NE, _XOR):
        return 1.0 if a != b else 0.0
    return math.nan


@njit(error_model="numpy")
def evaluate(groups: Any, at: Any, w: Any, first: int) -> None:
    """All results of a plan, into w, which holds inputs and constants."""
    for g in range(groups.shape[0]):
        o, i, j = groups[g, 0], groups[g, 1], groups[g, 2]
        if _sum_group(o, i, j, at, w, first):
            continue
        if o == _SELECT:
            for k in range(i, j):
                w[k] = w[at[k - first, 1]] if w[at[k - first, 0]] != 0 else w[at[k - first, 2]]
        elif _is_binary(o):
            for k in range(i, j):
                w[k] = _two(o, w[at[k - first, 0]], w[at[k - first, 1]])
        else:
            for k in range(i, j):
                w[k] = _one(o, w[at[k - first, 0]])


@njit
def _is_binary(o: int) -> bool:
    return o in (_POW, _ATAN2, _MAX, _MIN, _REM, _LT, _LE, _EQ, _NE, _AND, _OR, _XOR)


@njit(error_model="numpy")
def push(start: Any, coefficient: Any, source: Any, w: Any, d: Any, inputs: int) -> None:
    """Tangents of all nodes into d, whose first rows are those of the inputs; a direction a column."""
    lanes = d.shape[1]
    for k in range(len(start) - 1):
        row = inputs + k
        for lane in range(lanes):
            d[row, lane] = 0.0
        for e in range(start[k], start[k + 1]):
            c, from_row = w[coefficient[e]], source[e]
            if c != 0.0:
                for lane in range(lanes):
                    d[row, lane] += c * d[from_row, lane]


@njit(error_model="numpy")
def pull(start: Any, coefficient: Any, source: Any, w: Any, d: Any, inputs: int) -> None:
    """Cotangents of all nodes, from those of the roots."""
    for k in range(len(start) - 2, -1, -1):
        own = d[inputs + k]
        if own != 0.0:
            for e in range(start[k], start[k + 1]):
                c = w[coefficient[e]]
                if c != 0.0:
                    d[source[e]] += c * own

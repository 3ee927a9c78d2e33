"""Python's operators and numpy's protocols, reduced to two hooks.

A class that derives from `ArrayInterface` says in `_apply` what an operator means for it, and in
`_apply_numpy` what a numpy function means. Expressions build a node; declarations, which stand in a
class body and are not yet part of a model, raise an error that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


class LogicalOperators:
    """What can be combined by `&`, `|` and `~`."""

    __slots__ = ()

    def _apply(self, operator: str, *operands: Any) -> Any:
        raise NotImplementedError

    def __and__(self, other: Any) -> Any:
        return self._apply("logical_and", self, other)

    def __rand__(self, other: Any) -> Any:
        return self._apply("logical_and", other, self)

    def __or__(self, other: Any) -> Any:
        return self._apply("logical_or", self, other)

    def __ror__(self, other: Any) -> Any:
        return self._apply("logical_or", other, self)

    def __invert__(self) -> Any:
        return self._apply("logical_not", self)


class ArrayInterface(LogicalOperators):
    """What an array-like object of a modelling language answers to."""

    __slots__ = ()

    def _apply_numpy(self, function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
        raise NotImplementedError

    def _refuse(self, wanted: str, advice: str) -> Any:
        raise NotImplementedError

    # Arithmetic

    def __add__(self, other: Any) -> Any:
        return self._apply("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._apply("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return self._apply("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._apply("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._apply("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._apply("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._apply("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._apply("divide", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self._apply("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._apply("floor_divide", other, self)

    def __mod__(self, other: Any) -> Any:
        return self._apply("remainder", self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._apply("remainder", other, self)

    def __pow__(self, other: Any) -> Any:
        return self._apply("power", self, other)

    def __rpow__(self, other: Any) -> Any:
        return self._apply("power", other, self)

    def __matmul__(self, other: Any) -> Any:
        return self._apply("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return self._apply("matmul", other, self)

    def __neg__(self) -> Any:
        return self._apply("negative", self)

    def __pos__(self) -> Any:
        return self._apply("positive", self)

    def __abs__(self) -> Any:
        return self._apply("absolute", self)

    # Relations. `==` is an equation, so identity has to serve for hashing.

    def __eq__(self, other: Any) -> Any:
        return self._apply("equal", self, other)

    def __ne__(self, other: Any) -> Any:
        return self._apply("not_equal", self, other)

    def __lt__(self, other: Any) -> Any:
        return self._apply("less", self, other)

    def __le__(self, other: Any) -> Any:
        return self._apply("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return self._apply("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return self._apply("greater_equal", self, other)

    def __hash__(self) -> int:
        return id(self) >> 4

    # Indexing and methods of numpy arrays

    def __getitem__(self, index: Any) -> Any:
        return self._apply("getitem", self, index)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __len__(self) -> int:
        return self._apply("len", self)

    @property
    def T(self) -> Any:
        return np.transpose(self)  # type: ignore[call-overload]

    def sum(self, axis: Any = None, keepdims: bool = False) -> Any:
        return np.sum(self, axis=axis, keepdims=keepdims)  # type: ignore[call-overload]

    def mean(self, axis: Any = None, keepdims: bool = False) -> Any:
        return np.mean(self, axis=axis, keepdims=keepdims)  # type: ignore[call-overload]

    def prod(self, axis: Any = None, keepdims: bool = False) -> Any:
        return np.prod(self, axis=axis, keepdims=keepdims)  # type: ignore[call-overload]

    def max(self, axis: Any = None, keepdims: bool = False) -> Any:
        return np.max(self, axis=axis, keepdims=keepdims)  # type: ignore[call-overload]

    def min(self, axis: Any = None, keepdims: bool = False) -> Any:
        return np.min(self, axis=axis, keepdims=keepdims)  # type: ignore[call-overload]

    def cumsum(self, axis: Any = None) -> Any:
        return np.cumsum(self, axis=axis)  # type: ignore[call-overload]

    def std(self, axis: Any = None, keepdims: bool = False) -> Any:
        return np.std(self, axis=axis, keepdims=keepdims)  # type: ignore[call-overload]

    def var(self, axis: Any = None, keepdims: bool = False) -> Any:
        return np.var(self, axis=axis, keepdims=keepdims)  # type: ignore[call-overload]

    def clip(self, low: Any = None, high: Any = None) -> Any:
        return np.clip(self, low, high)  # type: ignore[call-overload]

    def trace(self) -> Any:
        return np.trace(self)  # type: ignore[call-overload]

    def diagonal(self) -> Any:
        return np.diagonal(self)  # type: ignore[call-overload]

    def squeeze(self) -> Any:
        return np.squeeze(self)  # type: ignore[call-overload]

    def dot(self, other: Any) -> Any:
        return np.dot(self, other)  # type: ignore[call-overload]

    def reshape(self, *shape: Any) -> Any:
        target = shape[0] if len(shape) == 1 else shape
        return np.reshape(self, target)  # type: ignore[call-overload]

    def ravel(self) -> Any:
        return np.reshape(self, (-1,))  # type: ignore[call-overload]

    flatten = ravel

    def transpose(self, *axes: Any) -> Any:
        order = axes[0] if len(axes) == 1 else axes
        return np.transpose(self, order or None)  # type: ignore[call-overload]

    # numpy's protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "reduce":  # np.add.reduce is what ndarray.sum calls
            reductions: dict[str, Any] = {
                "add": np.sum,
                "multiply": np.prod,
                "maximum": np.max,
                "minimum": np.min,
            }
            if ufunc.__name__ in reductions:
                kwargs.setdefault("axis", 0)
                return self._apply_numpy(reductions[ufunc.__name__], inputs, kwargs)
        if method != "__call__" or kwargs:
            self._refuse(
                f"np.{ufunc.__name__} with {method if method != '__call__' else ', '.join(kwargs)}",
                "Use the plain function; in-place results do not exist for expressions.",
            )
        if ufunc.__name__ in OPERATOR_UFUNCS:
            return self._apply(ufunc.__name__, *inputs)
        return self._apply_numpy(ufunc, inputs, {})

    def __array_function__(self, func: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        return self._apply_numpy(func, args, kwargs)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._refuse(
            "the target of an assignment",
            "An equation is written with ==, in the list that `equations` returns: x[0] == 3.",
        )

    # Conversions that would lose the expression

    def __bool__(self) -> bool:
        return self._refuse(
            "a truth value",
            "Use where(condition, a, b), or np.where for one without events, in place of Python's `if`; "
            "and &, |, ~ in place of `and`, `or`, `not`, with relations in parentheses: (a > 0) & (b > 0).",
        )

    def __float__(self) -> float:
        return self._refuse("a float", "Use np.sin and the like where math.sin was meant.")

    def __index__(self) -> int:
        return self._refuse("an integer", PLAIN_SIZES)

    def __int__(self) -> int:
        return self._refuse("an integer", "Use np.floor, np.trunc or np.rint where int was meant.")

    __complex__ = __float__

    # Python's rounding

    def __round__(self, digits: int = 0) -> Any:
        return np.round(self, digits)  # type: ignore[call-overload]

    def __floor__(self) -> Any:
        return np.floor(self)

    def __ceil__(self) -> Any:
        return np.ceil(self)


PLAIN_SIZES = (
    "Sizes, counts and indices have to be known before anything is computed: they are plain Python values, "
    "such as n = 3 in the class body, or an argument of __init__."
)
"""What to do where the shape of a model would depend on its data."""

OPERATOR_UFUNCS = frozenset(
    "add subtract multiply divide floor_divide remainder power matmul negative positive absolute "
    "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_not".split()
)


def holds_expression(value: Any) -> bool:
    """Whether there is an expression in nested sequences."""
    if isinstance(value, (list, tuple)):
        return any(holds_expression(item) for item in value)
    return isinstance(value, ArrayInterface) or (isinstance(value, np.ndarray) and value.dtype == object)


def is_number_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and not holds_expression(value) and len(value) > 0

"""What a Python function reads from outside of itself, as far as that can be told by looking.

Tracing a function takes milliseconds; equations in a loop may call it ten thousand times. Where everything
it reads is a number, a text, or a function of which the same holds, comparing these is enough to know that
a trace would be the same. Where it reads anything that can change inside, only a trace can tell.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable
from typing import Any

import jax

TRUSTED = ("jax", "numpy", "scipy", "math", "functools", "operator")
"""Packages whose functions do not change while a program runs."""
_IMMUTABLE = (int, float, complex, bool, str, bytes, type(None), jax.Array)
_MOST_FUNCTIONS = 50


def surroundings(function: Callable[..., Any]) -> tuple[Any, ...] | None:
    """What a function reads, to be compared with what it read before; None if that cannot be told."""
    found: list[Any] = []
    waiting, seen = [function], set[int]()
    while waiting:
        function = waiting.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        if not isinstance(function, types.FunctionType) or len(seen) > _MOST_FUNCTIONS:
            return None
        found.append(_Same(function))
        try:
            read = _values(function)
        except ValueError:  # a variable of the surroundings that has no value yet
            return None
        for value in read:
            if isinstance(value, types.FunctionType) and not _is_trusted(value):
                waiting.append(value)
            elif isinstance(value, _IMMUTABLE):
                found.append(
                    (type(value), repr(value) if isinstance(value, (int, float, complex)) else _Same(value))
                )
            elif not _is_trusted(value):
                return None
    return tuple(found)


class _Same:
    """An object, equal to itself only; kept alive, so that no other one takes its address."""

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def _values(function: types.FunctionType) -> list[Any]:
    """All that the code of a function, and the code inside of it, may look up."""
    values: list[Any] = [cell.cell_contents for cell in function.__closure__ or ()]
    values += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
        values += [function.__globals__[name] for name in code.co_names if name in function.__globals__]
        # A name that is looked for among the built-in ones may become a global one later.
        values += [
            getattr(builtins, name)
            for name in code.co_names
            if name not in function.__globals__ and hasattr(builtins, name)
        ]
    return values


def _is_trusted(value: Any) -> bool:
    if (
        isinstance(value, types.BuiltinFunctionType | type)
        and getattr(value, "__module__", "") == "builtins"
    ):
        return True
    home = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    if not isinstance(home, str) or home.partition(".")[0] not in TRUSTED:
        return False
    # An array has its class from numpy as well, and changes.
    return callable(value) or isinstance(value, types.ModuleType)

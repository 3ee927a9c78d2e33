"""`function`: any JAX function as a part of equations."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from .expression import Expr, call
from .primitives import Primitive


def function(f: Callable[..., Any]) -> Callable[..., Any]:
    """Make a JAX function usable in equations.

    Arguments that are expressions or arrays are passed as JAX arrays; strings, booleans and plain
    numbers are passed as they are. The function may return an array or a tuple, list or dict of them.
    Outside of equations it is the function itself.

    What the function reads from its surroundings may change: each `translate` and `simulate` looks at what
    the function does then, and compiles anew if it does something else.

    >>> import jax.numpy as jnp
    >>> from modia_py import Var, Model, function
    >>> @function
    ... def polar(x, y):
    ...     return jnp.hypot(x, y), jnp.arctan2(y, x)
    """
    primitive = Primitive(getattr(f, "__name__", "function"), f, traced=True)

    @functools.wraps(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return call(primitive, *args, **kwargs) if _any_expression(args, kwargs) else f(*args, **kwargs)

    return wrapped


def _any_expression(args: tuple, kwargs: dict) -> bool:
    return any(
        isinstance(value, Expr) or (isinstance(value, np.ndarray) and value.dtype == object)
        for value in jax.tree_util.tree_leaves((args, kwargs))
    )
